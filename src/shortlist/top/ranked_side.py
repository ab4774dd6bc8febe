r"""The rows of a threshold in the interior point: what every kind of threshold must tell.

Their constraints are :math:`z_j = q + \zeta_j - w \cdot x_j \ge 0` with multipliers
:math:`\beta_j`; what :math:`q` and :math:`\zeta` have to do with the threshold is its own
business. A Newton step changes the model and a few numbers, the *border*: the threshold
first, then those of the side.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from .slacks import Goals, Pair, Pairs, Steps

if TYPE_CHECKING:
    from .sweeps import Candidates


@dataclass(frozen=True)
class RankedEquations:
    """What the Newton system needs of a side, at one point.

    Attributes
    ----------
    D : ndarray
        Weights of the rows.
    residual : ndarray
        Of their constraints.
    border : tuple of ndarray
        Coefficients of the rows in the border's columns.
    corner : ndarray
        The border's own matrix, without the model and without the positives.
    own : object
        What the side remembers of the point.
    """

    D: np.ndarray
    residual: np.ndarray
    border: tuple[np.ndarray, ...]
    corner: np.ndarray
    own: Any = None


@dataclass(frozen=True)
class Rest:
    """What moves the multipliers apart from scores and border, and the slacks."""

    f: np.ndarray
    Df: np.ndarray
    shift: np.ndarray


@dataclass(frozen=True)
class Sums:
    """Totals of the multipliers that a step must bring together."""

    alpha: float
    moved_alpha: float
    target: float


@dataclass(frozen=True)
class SideStep:
    """Changes of the threshold, of q, of the total (None: it follows alpha), of the pairs."""

    dt: float
    dq: float
    d_total: float | None
    pairs: Steps


class RankedSide(ABC):
    """Multipliers and slacks of the rows of the threshold in the working set.

    Parameters
    ----------
    working : Candidates
        The rows to start with.
    """

    # Whether q moves with the threshold: then they share a column of the border.
    joined: ClassVar[bool] = True
    # Signs of the model's part in the equations of the border.
    signs: ClassVar[np.ndarray] = np.array([-1.0])
    # How much of a good model's gap lies in the products, not in the model.
    settled_share: float = 1.0

    def __init__(self, working: Candidates) -> None:
        self.position = working.position
        self.scores = working.scores
        self.weight = working.weight
        self.rows = working.rows
        self.known: np.ndarray | None = None  # shares of an earlier fit
        self.pairs: Pairs = {}
        self.q = 0.0
        self._weigh()

    def _weigh(self) -> None:
        self.even = self.weight / float(self.weight.sum())

    @property
    def whole(self) -> bool:
        """Whether every row stands for itself."""
        return len(self.position) == len(self.scores)

    @property
    def beta(self) -> np.ndarray:
        """The multipliers."""
        return self.pairs["beta_z"].a

    @property
    def cap(self) -> np.ndarray | None:
        """Largest shares of the rows, None where there are none."""
        return None

    def feasible(
        self, beta: np.ndarray, model: np.ndarray, total: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return multipliers of sum `total` and their model, moved into the feasible set."""
        return beta, model

    def add(self, new: Candidates) -> np.ndarray:
        """Take rows in; return their shares of the weight. Their pairs are the caller's."""
        self.position = np.concatenate([self.position, new.position])
        self.scores = np.concatenate([self.scores, new.scores])
        self.weight = np.concatenate([self.weight, new.weight])
        self.rows = self.rows.stack(new.rows)
        if self.known is not None:
            self.known = np.concatenate([self.known, np.zeros(len(new.scores))])
        self._weigh()
        return self.even[-len(new.scores) :]

    def _grow(self, name: str, a: np.ndarray, b: np.ndarray) -> None:
        self.pairs[name] = self.pairs[name].grown(a, b, self.even)

    def _excess(self, new: Candidates) -> float:
        """How far new rows lie above q, at least a little."""
        return max(float((new.scores - self.q).max()), 1e-12 * max(1.0, abs(self.q)))

    @abstractmethod
    def start(self, t: float, total: float, slack: Callable[[], float]) -> None:
        """Choose multipliers of sum `total`, and slacks about as large as `slack`."""

    @abstractmethod
    def centre(self, t: float, total: float, mu: float) -> float:
        """Make every product mu times its weight; return the threshold that goes with it."""

    @abstractmethod
    def extend(self, new: Candidates, total: float, mu: float) -> None:
        """Take rows in."""

    @abstractmethod
    def linearise(self, t: float, total: float) -> RankedEquations:
        """Return what the Newton system needs."""

    @abstractmethod
    def rest(self, part: RankedEquations, goal: Goals) -> Rest:
        """Return what the goals ask of the rows."""

    @abstractmethod
    def right(self, part: RankedEquations, rest: Rest, sums: Sums, goal: Goals) -> np.ndarray:
        """Return the right-hand sides of the border's equations, without the model."""

    @abstractmethod
    def step(
        self, part: RankedEquations, rest: Rest, border: np.ndarray, ds: np.ndarray, goal: Goals
    ) -> SideStep:
        """Return the changes, given those of the border and of the scores."""


def rest_of(side: RankedSide, part: RankedEquations, goal: Goals, shift: np.ndarray) -> Rest:
    """Return what the goals ask of rows whose slacks move by `shift` on their own."""
    f = goal["beta_z"] / side.beta - part.residual - shift
    return Rest(f, part.D * f, shift)


def shift_of(pair: Pair, goal: np.ndarray, residual: np.ndarray) -> np.ndarray:
    """Return how slacks move that have a multiplier of their own."""
    return (goal - pair.b * residual) / pair.a
