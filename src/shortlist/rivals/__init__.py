"""What the papers of the field compare with, certified."""

from .aatp import AATP
from .infinite_push import InfinitePush
from .lists import F1, LabelPrecision, PrecisionAtK, RecallAtK
from .metric import Metric, Violation
from .metric_svm import MetricSVM
from .rankings import ROCAUC, AveragePrecision, PartialAUC
from .transductive_svm import TransductiveSVM

__all__ = [
    "AATP",
    "F1",
    "ROCAUC",
    "AveragePrecision",
    "InfinitePush",
    "LabelPrecision",
    "Metric",
    "MetricSVM",
    "PartialAUC",
    "PrecisionAtK",
    "RecallAtK",
    "TransductiveSVM",
    "Violation",
]
