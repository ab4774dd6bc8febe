r"""Thresholds: how the scores of some rows become the number to beat.

A threshold is a convex function that moves with the scores,
:math:`T(s) = \max_{\sum p = 1, p \ge 0} p \cdot s - \psi(p)`. Its maximiser :math:`p`
tells which rows define the top, and :math:`\psi`, homogeneous in the dual weights
:math:`\beta`, is all that the dual needs to know.

A new threshold is one file: a :class:`Threshold`, which answers every question that problems
and solvers ask; its :class:`~shortlist.top.sides.RankedSide`, what its rows look like in the
interior point; and a :class:`Recipe`, which makes it of an estimator's parameters.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, Self

import numpy as np

if TYPE_CHECKING:
    from .kernel_problem import KernelSolution
    from .problem import Solution
    from .sides import RankedSide
    from .sweeps import RankedRows

# Weighted sum of a power of the scores' excess over a level.
Excess = Callable[[float, int], float]


class RankedScores(Protocol):
    """Scores of the rows of the threshold under a model."""

    def cut(self, mass: float, highest: float) -> float:
        """Return the empirical cut, see :func:`~shortlist.top.sweeps.empirical_cut`."""


class Threshold(ABC):
    r"""What problems and solvers ask of a threshold.

    The last questions are those of kernel solvers. A threshold that leaves them unanswered
    is for linear scores.

    Attributes
    ----------
    shift : float
        Constant by which the dual prefers every unit of :math:`\alpha`: a constant of
        :math:`\psi`.
    moment : {"weight", "first", "second"}
        Which moment of the scores above a level tells that the threshold lies above it.
    target : float
        As soon as that moment reaches this.
    """

    @property
    @abstractmethod
    def shift(self) -> float: ...

    @property
    @abstractmethod
    def moment(self) -> str: ...

    @property
    @abstractmethod
    def target(self) -> float: ...

    @abstractmethod
    def value(self, scores: np.ndarray, weight: np.ndarray) -> float:
        """Return the threshold of these scores."""

    @abstractmethod
    def error(self, t: float, count: int, lowest: float, highest: float, excess: Excess) -> float:
        """Bound the rounding error of the threshold `t` of `count` scores in a range."""

    @abstractmethod
    def penalty(self, beta: np.ndarray, weight: np.ndarray) -> float:
        """Return psi of feasible dual weights."""

    @abstractmethod
    def scaled(self, length: float) -> Self:
        """Return T' with ``T(length * s) = length * T'(s)``."""

    @abstractmethod
    def interior(self, working: RankedRows, capped: bool) -> RankedSide:
        """Return its rows as the interior point sees them."""

    @abstractmethod
    def first_rows(self, few: int, many: int, capped: bool) -> tuple[int, float]:
        """Return how many of the highest rows a solver starts with, and their least weight."""

    def caps(self, weight: np.ndarray) -> np.ndarray | None:
        """Largest share of each row, None where there is none."""
        return None

    def projectable(self) -> bool:
        """Whether caps are all there is, so that dual points can be projected."""
        return False

    def kept(self, capped: bool) -> float | None:
        """Weight of the highest scores that determine it, None if all may."""
        return None

    def counting(self, scores: np.ndarray, t: float) -> np.ndarray:
        """Tell which scores may have a part in the threshold `t`."""
        return np.ones(len(scores), dtype=bool)

    def form(self, weight: np.ndarray) -> str:
        r"""Name the shape of the dual over rows of these weights, for compiled pair steps.

        ``"open"`` (:math:`\psi = 0`), ``"tied"`` (0, with the caps
        :math:`\beta_j \le \omega_j m`, :math:`m = \sum\beta / k`), ``"norm"`` or
        ``"priced"`` (the surrogate quantiles); ``"other"``: there are no pair steps for it.
        """
        return "other"

    @property
    def price(self) -> float:
        """Factor of the norm in psi, 0 where there is none."""
        return 0.0

    # What follows is asked by the solvers of kernel models only, which take no threshold whose
    # form is "other": such a one need not answer.

    @property
    def near_weight(self) -> float:
        """Weight of the rows that usually define it: a start for solvers."""
        raise NotImplementedError

    def level(self, beta: np.ndarray, weight: np.ndarray) -> float:
        """Smallest m with ``beta <= m * weight`` that the sum of `beta` allows."""
        raise NotImplementedError

    def lowest_counted(self, scores: np.ndarray, weight: np.ndarray, t: float) -> float:
        """Return a level below which no score has a part in the threshold `t`."""
        raise NotImplementedError

    def restricted(self, share: float) -> Self:
        """Return the same threshold for a random share of the rows."""
        raise NotImplementedError

    def shares(self, scores: np.ndarray, weight: np.ndarray, t: float) -> np.ndarray | None:
        """Maximiser p of ``p . s - psi(p)``, None where the scores leave it open."""
        return None


@dataclass(frozen=True)
class Cutoffs:
    """Scores at which a fitted model cuts, counted from the rows' centre.

    Attributes
    ----------
    offset : float
        What ``decision_function`` subtracts.
    attributes : dict
        Fitted attributes by name.
    """

    offset: float
    attributes: dict[str, float]


@dataclass(frozen=True)
class Recipe(ABC):
    """Which rows make the threshold, and how.

    Attributes
    ----------
    everything : bool
        Whether all rows rank, instead of the negatives.
    """

    everything: bool

    @classmethod
    @abstractmethod
    def of(cls, estimator: Any) -> Recipe:
        """Check an estimator's parameters of the threshold; return what they stand for."""

    @abstractmethod
    def threshold(self, weight: float) -> Threshold:
        """Return the threshold of rows of this weight."""

    @abstractmethod
    def cutoffs(
        self, solution: Solution | KernelSolution, scores: RankedScores | None, threshold: Any
    ) -> Cutoffs:
        """Read the cutoffs off a solution.

        Parameters
        ----------
        solution : Solution or KernelSolution
            The model.
        scores : RankedScores or None
            Scores of the rows of the threshold; None where all are tied.
        threshold : Threshold
            What :meth:`threshold` made.
        """

    @abstractmethod
    def advice(self, row: int) -> str:
        """Explain a zero model; `row` weighs most among those of the threshold."""
