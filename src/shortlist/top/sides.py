r"""Both sides of the interior point: the rows with a loss and those of the threshold.

Every constraint of a row has a slack and a multiplier, whose *product* goes to zero.
On the central path every product has a known value :math:`\mu`; for a fixed model the
multiplier of one row is then the root of a quadratic (:func:`bent`, :func:`boxed`).

**Rows with a loss.** :math:`\alpha_i y_i = 0` with :math:`y_i = w \cdot x_i - t - 1 + \xi_i`.
The slack of the squared hinge is a function of its multiplier, :math:`\xi_i = r\alpha_i / c_i`;
that of the hinge has one of its own, :math:`\gamma_i \xi_i = 0` with
:math:`\gamma_i = c_i - \alpha_i`.

**Rows of the threshold.** :math:`z_j = q + \zeta_j - w \cdot x_j \ge 0` with multipliers
:math:`\beta_j`; what :math:`q` and :math:`\zeta` have to do with the threshold is its own
business, and :class:`RankedSide` lists what it must tell. A Newton step changes the model and
a few numbers, the *border*: the threshold first, then those of the side.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from scipy.optimize import brentq

from .. import _core
from .._losses import Loss
from ..rows.operators import Rows

if TYPE_CHECKING:
    from .sweeps import RankedRows


@dataclass(frozen=True)
class ProductStep:
    """Changes of both factors of a product."""

    da: np.ndarray
    db: np.ndarray


@dataclass(frozen=True)
class Outlook:
    """Longest step that keeps both factors positive; the sum's change with length and square."""

    length: float
    linear: float
    quadratic: float


@dataclass(frozen=True)
class Product:
    """Two positive vectors whose product goes to zero.

    Attributes
    ----------
    a, b : ndarray
        Multipliers and slacks.
    weight : ndarray
        Share of every product in mu.
    reach : float
        How much of `a` one step may take away.
    """

    a: np.ndarray
    b: np.ndarray
    weight: np.ndarray
    reach: float = 1.0

    def ahead(self, step: ProductStep) -> Outlook:
        """Look where a step would lead."""
        fall, other, linear, quadratic = _core.look_ahead(self.a, self.b, step.da, step.db)
        finite(linear + quadratic)
        worst = min(fall / self.reach, other)
        return Outlook(np.inf if worst >= 0.0 else -1.0 / worst, linear, quadratic)

    def total(self) -> float:
        """Sum of the products."""
        return float(self.a @ self.b)

    def moved(self, step: ProductStep, length: float) -> Product:
        """Return the factors after a step."""
        return Product(
            moved(self.a, step.da, length), moved(self.b, step.db, length), self.weight, self.reach
        )

    def centred(self, a: np.ndarray, mu: float) -> Product:
        """Return these multipliers with the slacks that make every product mu."""
        return Product(a, mu * self.weight / a, self.weight, self.reach)

    def grown(self, a: np.ndarray, b: np.ndarray, weight: np.ndarray) -> Product:
        """Return the factors with more rows; `weight` is that of all."""
        return Product(np.concatenate([self.a, a]), np.concatenate([self.b, b]), weight, self.reach)


Products = dict[str, Product]
Steps = dict[str, ProductStep]


@dataclass(frozen=True)
class Goals:
    """The change wanted of every product: to mu, less a share of the last step squared."""

    products: Products
    mu: float
    last: Steps | None = None
    second_order: float = 0.0

    def terms(self, name: str) -> list[Any]:
        """Return a product and its goal as compiled loops take them."""
        product, last = self.products[name], None if self.last is None else self.last[name]
        step = (None, None) if last is None else (last.da, last.db)
        return [product.a, product.b, product.weight, self.mu, *step, self.second_order]

    def number(self, name: str) -> float:
        """Return the goal of a product of single numbers."""
        a, b, weight, mu, da, db, second = self.terms(name)
        wanted = mu * weight[0] - a[0] * b[0]
        return float(wanted if da is None else wanted - second * da[0] * db[0])


def finite(number: float) -> float:
    """Return a number that compiled loops gave; they do not raise where it left the range."""
    if not math.isfinite(number):
        raise FloatingPointError("A sum over the rows is not finite.")
    return number


def moved(values: np.ndarray, change: np.ndarray, length: float) -> np.ndarray:
    """Return the values after a step, in the memory of the change."""
    change *= length
    change += values
    return change


def bent(margin: np.ndarray, curvature: np.ndarray, mu: np.ndarray) -> np.ndarray:
    """Return x > 0 with ``mu / x = margin + curvature * x``."""
    root = np.sqrt(margin * margin + 4.0 * curvature * mu)
    ahead = margin >= 0.0
    return np.where(ahead, 2.0 * mu, root - margin) / np.where(
        ahead, np.abs(margin) + root, 2.0 * curvature
    )


def boxed(margin: np.ndarray, cap: np.ndarray, mu: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return x in (0, cap) with ``mu / x - mu / (cap - x) = margin``, and ``cap - x``."""
    pull = np.abs(margin) * cap
    smaller = 2.0 * mu * cap / (pull + 2.0 * mu + np.hypot(pull, 2.0 * mu))
    ahead = margin >= 0.0
    return np.where(ahead, smaller, cap - smaller), np.where(ahead, cap - smaller, smaller)


def recalled(
    x: np.ndarray, margin: np.ndarray, cap: np.ndarray, mu: np.ndarray, reach: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return known multipliers, moved to where margins known within `reach` have them.

    At a margin of zero any multiplier is right; the scores do not tell it.
    """
    least, most_rest = boxed(margin + reach, cap, mu)
    most, least_rest = boxed(margin - reach, cap, mu)
    return np.clip(x, least, most), np.clip(cap - x, least_rest, most_rest)


def crossing(function: Callable[[float], float], low: float, high: float) -> float:
    """Return where a decreasing function is zero; the ends are moved until they enclose it."""
    width = max(high - low, 1e-300)
    while function(low) < 0.0:
        low, width = low - width, 2.0 * width
    while function(high) > 0.0:
        high, width = high + width, 2.0 * width
    tiny = max(1e-14 * max(abs(low), abs(high)), 1e-300)
    return float(brentq(function, low, high, xtol=tiny, rtol=1e-14, maxiter=200, disp=False))


@dataclass(frozen=True)
class Rest:
    """What moves the multipliers apart from scores and border, and the slacks.

    `shift` is how slacks move on their own, None where they do not.
    """

    f: np.ndarray
    Df: np.ndarray
    sum_Df: float
    shift: np.ndarray | None


@dataclass(frozen=True)
class PositiveEquations:
    """Weights of the rows in the Newton system, their sum, and residuals of their equations.

    `per_alpha` is how the slack of the loss answers to alpha; `columns` holds the weights and,
    below them, what the last goal asked of the rows.
    """

    E: np.ndarray
    total: float
    residual: np.ndarray
    per_alpha: np.ndarray
    columns: np.ndarray


class PositiveSide:
    """Multipliers and slacks of the rows with a loss.

    Parameters
    ----------
    rows : Rows
        The rows.
    scores, c, weight : ndarray
        Their scores, the weights of their losses, and their multiplicities.
    loss : Loss
        The loss.
    """

    def __init__(
        self, rows: Rows, scores: np.ndarray, c: np.ndarray, weight: np.ndarray, loss: Loss
    ) -> None:
        self.rows = rows
        self.scores = scores
        self.c = c
        self.ridge = loss.ridge / c
        self.bounded = loss.bounded
        self.even = weight / float(weight.sum())
        self.known: np.ndarray | None = None  # multipliers of an earlier fit, in units of c
        self.products: Products = {}

    @property
    def alpha(self) -> np.ndarray:
        """The multipliers."""
        return self.products["alpha_y"].a

    def start(self, t: float) -> None:
        """Choose multipliers for a model of which nothing is known."""
        violation = 1.0 + t - self.scores
        xi = np.maximum(violation, 0.3)
        alpha = 0.5 * self.c if self.bounded else 2.0 * self.c * xi
        self.products = {"alpha_y": Product(alpha, np.maximum(xi - violation, 0.3), self.even)}
        if self.bounded:
            self.products["gamma_xi"] = Product(self.c - alpha, xi, self.even)

    def centre(self, t: float, mu: float) -> None:
        """Set multipliers and slacks so that every product is mu times its weight."""
        c, target = self.c, mu * self.even
        margin = self.scores - t - 1.0
        if self.bounded:
            alpha, gamma = boxed(margin, c, target)
            if self.known is not None:
                typical = mu / float(c.sum())
                alpha, gamma = recalled(self.known * c, margin, c, target, typical)
            self.products["gamma_xi"] = self.products["gamma_xi"].centred(gamma, mu)
        else:
            alpha = bent(margin, self.ridge, target)
        self.products["alpha_y"] = self.products["alpha_y"].centred(alpha, mu)

    def linearise(self, t: float) -> PositiveEquations:
        """Return what the Newton system needs."""
        ay, extra, per_alpha = self.products["alpha_y"], None, self.ridge
        if self.bounded:
            gx = self.products["gamma_xi"]
            extra, per_alpha = gx.b, gx.b / gx.a
        columns, residual = np.empty((2, len(ay.a))), np.empty(len(ay.a))
        terms = (ay.a, ay.b, self.scores, 1.0, t + 1.0, per_alpha, extra)
        total = finite(_core.row_weights(*terms, columns[0], residual))
        return PositiveEquations(columns[0], total, residual, per_alpha, columns)

    def rest(self, part: PositiveEquations, goal: Goals) -> Rest:
        """Return what moves alpha apart from the scores and the threshold."""
        shift = shift_of(goal, "gamma_xi", None) if self.bounded else None
        return rest_of(goal, "alpha_y", part.residual, part.E, shift, part.columns[1])

    def step(self, part: PositiveEquations, rest: Rest, dt: float, ds: np.ndarray) -> Steps:
        """Return the changes, given those of the threshold and of the scores."""
        equations = (part.E, rest.f, part.residual)
        change, dxi = row_step(ds, 1.0, dt, *equations, shift=rest.shift, per=part.per_alpha)
        steps = {"alpha_y": change}
        if self.bounded:
            steps["gamma_xi"] = ProductStep(-change.da, dxi)
        return steps


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
class Sums:
    """Totals of the multipliers that a step must bring together."""

    alpha: float
    moved_alpha: float
    target: float


@dataclass(frozen=True)
class SideStep:
    """Changes of the threshold, of q, of the total (None: it follows alpha), of the products."""

    dt: float
    dq: float
    d_total: float | None
    products: Steps


class RankedSide(ABC):
    """Multipliers and slacks of the rows of the threshold in the working set.

    Parameters
    ----------
    working : RankedRows
        The rows to start with.
    """

    # Whether q moves with the threshold: then they share a column of the border.
    joined: ClassVar[bool] = True
    # Signs of the model's part in the equations of the border.
    signs: ClassVar[np.ndarray] = np.array([-1.0])
    # How much of a good model's gap lies in the products, not in the model.
    settled_share: float = 1.0

    def __init__(self, working: RankedRows) -> None:
        self.position = working.position
        self.scores = working.scores
        self.weight = working.weight
        self.rows = working.rows
        self.known: np.ndarray | None = None  # shares of an earlier fit
        self.products: Products = {}
        self.q = 0.0
        self.even = self.weight / float(self.weight.sum())

    @property
    def whole(self) -> bool:
        """Whether every row stands for itself."""
        return len(self.position) == len(self.scores)

    @property
    def beta(self) -> np.ndarray:
        """The multipliers."""
        return self.products["beta_z"].a

    @property
    def cap(self) -> np.ndarray | None:
        """Largest shares of the rows, None where there are none."""
        return None

    def feasible(
        self, beta: np.ndarray, model: np.ndarray, total: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return multipliers of sum `total` and their model, moved into the feasible set."""
        return beta, model

    def add(self, new: RankedRows) -> np.ndarray:
        """Take rows in; return their shares of the weight. Their products are the caller's."""
        self.position = np.concatenate([self.position, new.position])
        self.scores = np.concatenate([self.scores, new.scores])
        self.weight = np.concatenate([self.weight, new.weight])
        self.rows = self.rows.stack(new.rows)
        if self.known is not None:
            self.known = np.concatenate([self.known, np.zeros(len(new.scores))])
        self.even = self.weight / float(self.weight.sum())
        return self.even[-len(new.scores) :]

    def _grow(self, name: str, a: np.ndarray, b: np.ndarray) -> None:
        self.products[name] = self.products[name].grown(a, b, self.even)

    def _excess(self, new: RankedRows) -> float:
        """How far new rows lie above q, at least a little."""
        return max(float((new.scores - self.q).max()), 1e-12 * max(1.0, abs(self.q)))

    @abstractmethod
    def start(self, t: float, total: float, slack: Callable[[], float]) -> None:
        """Choose multipliers of sum `total`, and slacks about as large as `slack`."""

    @abstractmethod
    def centre(self, t: float, total: float, mu: float) -> float:
        """Make every product mu times its weight; return the threshold that goes with it."""

    @abstractmethod
    def extend(self, new: RankedRows, total: float, mu: float) -> None:
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


def rest_of(
    goal: Goals,
    name: str,
    residual: np.ndarray,
    D: np.ndarray,
    shift: np.ndarray | None = None,
    Df: np.ndarray | None = None,
) -> Rest:
    """Return what the goals ask of rows whose slacks move by `shift` on their own."""
    f = np.empty(len(D))
    Df = np.empty(len(D)) if Df is None else Df
    terms = [*goal.terms(name), residual, shift, D, f, Df]
    sum_Df = finite(_core.row_rest(*terms))
    return Rest(f, Df, sum_Df, shift)


def shift_of(goal: Goals, name: str, residual: np.ndarray | None) -> np.ndarray:
    """Return how slacks move that have a multiplier of their own."""
    shift = np.empty(len(goal.products[name].a))
    _core.row_shift(*[*goal.terms(name), residual, shift])
    return shift


def row_step(
    ds: np.ndarray,
    sign: float,
    d_level: float,
    D: np.ndarray,
    f: np.ndarray,
    residual: np.ndarray,
    h: np.ndarray | None = None,
    dm: float = 0.0,
    shift: np.ndarray | None = None,
    per: np.ndarray | None = None,
) -> tuple[ProductStep, np.ndarray]:
    """Return the changes of multipliers and slacks, and of what slacks have beside scores.

    `h` and `per` say how these answer to a change of `dm` in the border and to multipliers.
    """
    da, db, d_extra = np.empty((3, len(ds)))
    _core.row_step(ds, sign, d_level, D, f, residual, h, dm, shift, per, da, db, d_extra)
    return ProductStep(da, db), d_extra


def weights_of(
    product: Product,
    scores: np.ndarray,
    q: float,
    per: np.ndarray | None = None,
    extra: np.ndarray | None = None,
) -> tuple[np.ndarray, float, np.ndarray]:
    """Return the weights of the threshold's rows, their sum, and residuals of their constraints.

    Slacks beside the scores, `extra`, answer to multipliers by `per`, or are that times these.
    """
    D, residual = np.empty((2, len(scores)))
    terms = (product.a, product.b, scores, -1.0, q, per, extra)
    return D, finite(_core.row_weights(*terms, D, residual)), residual


def boxed_or_recalled(
    side: RankedSide, most: np.ndarray, total: float, mu: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return multipliers between zero and `most` at the side's q, and what is left to `most`."""
    margin, target = side.q - side.scores, mu * side.even
    if side.known is None:
        return boxed(margin, most, target)
    return recalled(side.known * total, margin, most, target, mu / total)


def start_slack(value_at_zero: float, *sides: PositiveSide | RankedSide) -> float:
    """Slack to start with: scores hardly exceed it, nor need they exceed the margin of 1."""
    length = max(float(side.even @ side.rows.squared_norms()) for side in sides)
    return 3.0 * min(1.0, max(2.0 * value_at_zero * length, 1e-100))
