"""Measuring the top of a list: metrics with fair ties, intervals, curves and scorers.

Every binary metric is ``metric(y_true, y_score, ..., sample_weight=None,
pos_label=None)``. Scores must be finite; equal scores count by their exact mean
over all orders unless ``ties`` says otherwise; a weight is the multiplicity of
its row. Where a metric has no value (no positives) it returns NaN with
scikit-learn's ``UndefinedMetricWarning``.
"""

from .at_k import enrichment_factor, lift_at_k, precision_at_k, recall_at_k
from .at_threshold import (
    positives_at_quantile,
    positives_at_top,
    precision_at_recall,
    recall_at_fpr,
    recall_at_precision,
)
from .curve import BudgetBand, BudgetCurve, budget_band, budget_curve
from .discoveries import DiscoveryBand, conformal_selection, false_discovery_band
from .intervals import Comparison, Interval, compare, interval
from .names import metric_names
from .ranking import (
    average_precision,
    bedroc,
    ndcg,
    pairwise_accuracy,
    partial_auc,
    top_k_accuracy,
)
from .scorers import scorer

__all__ = [
    "BudgetBand",
    "BudgetCurve",
    "Comparison",
    "DiscoveryBand",
    "Interval",
    "average_precision",
    "bedroc",
    "budget_band",
    "budget_curve",
    "compare",
    "conformal_selection",
    "enrichment_factor",
    "false_discovery_band",
    "interval",
    "lift_at_k",
    "metric_names",
    "ndcg",
    "pairwise_accuracy",
    "partial_auc",
    "positives_at_quantile",
    "positives_at_top",
    "precision_at_k",
    "precision_at_recall",
    "recall_at_fpr",
    "recall_at_k",
    "recall_at_precision",
    "scorer",
    "top_k_accuracy",
]
