"""What the papers of the field compare with, certified."""

from .lists import F1, LabelPrecision, PrecisionAtK, RecallAtK
from .metric import Metric, Violation
from .metric_svm import MetricSVM
from .rankings import ROCAUC, AveragePrecision, PartialAUC

__all__ = [
    "F1",
    "ROCAUC",
    "AveragePrecision",
    "LabelPrecision",
    "Metric",
    "MetricSVM",
    "PartialAUC",
    "PrecisionAtK",
    "RecallAtK",
    "Violation",
]
