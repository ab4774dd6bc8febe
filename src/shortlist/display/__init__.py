"""Pictures of the top of a list, in scikit-learn's display convention.

Every display has ``from_estimator`` or ``from_certificate`` style constructors
that compute and draw, keeps what it computed, and can be drawn again with
``plot``. Colours are those of Okabe and Ito, and every difference in colour is
repeated by a marker, a dash, a hatch or a position, so that the pictures can be
read in grey print. matplotlib is needed only when something is drawn:
``pip install "shortlist[plot]"``.

The precision-recall curve is scikit-learn's own :class:`PrecisionRecallDisplay`.
"""

from sklearn.metrics import PrecisionRecallDisplay

from .budget import BudgetDisplay
from .convergence import ConvergenceDisplay
from .density import ScoreDensityDisplay
from .top_list import TopListDisplay

__all__ = [
    "BudgetDisplay",
    "ConvergenceDisplay",
    "PrecisionRecallDisplay",
    "ScoreDensityDisplay",
    "TopListDisplay",
]
