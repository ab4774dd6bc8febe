"""The proof that travels with every fit: primal, dual, gap, status and trace."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

Status = Literal["converged", "max_iter", "time_limit", "stopped", "local"]

_TINY = np.finfo(np.float64).tiny
# At an exact optimum the two values may cross by rounding; by more would be a bug.
_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class Check:
    """One evaluation of the certificate during a fit.

    Attributes
    ----------
    seconds : float
        Time since the solver started.
    iteration : int
        Solver iterations so far.
    primal, dual : float
        Best primal and best dual value so far.
    """

    seconds: float
    iteration: int
    primal: float
    dual: float

    @property
    def gap(self) -> float:
        """Absolute duality gap, ``primal - dual``."""
        return self.primal - self.dual

    @property
    def relative_gap(self) -> float:
        """Gap divided by the primal value."""
        return self.gap / max(abs(self.primal), _TINY)


@dataclass(frozen=True, slots=True)
class Trace:
    """The checks of one fit, in order.

    Iterate over it for :class:`Check` records, or use the array attributes to plot.
    """

    checks: tuple[Check, ...] = ()

    def __len__(self) -> int:
        return len(self.checks)

    def __iter__(self) -> Iterator[Check]:
        return iter(self.checks)

    def __getitem__(self, index: int) -> Check:
        return self.checks[index]

    @property
    def seconds(self) -> np.ndarray:
        """Seconds since the start, one per check."""
        return np.array([c.seconds for c in self.checks])

    @property
    def iteration(self) -> np.ndarray:
        """Iterations, one per check."""
        return np.array([c.iteration for c in self.checks], dtype=int)

    @property
    def primal(self) -> np.ndarray:
        """Primal values, one per check."""
        return np.array([c.primal for c in self.checks])

    @property
    def dual(self) -> np.ndarray:
        """Dual values, one per check."""
        return np.array([c.dual for c in self.checks])

    @property
    def relative_gap(self) -> np.ndarray:
        """Relative gaps, one per check."""
        return np.array([c.relative_gap for c in self.checks])


@dataclass(frozen=True, slots=True)
class Certificate:
    r"""How close a fitted model is to the optimum of its problem.

    Weak duality gives :math:`D \le P^\star \le P`, so ``gap = primal - dual``
    bounds the distance of the returned model from the optimum. ``primal`` is the
    objective of the model that was returned, ``dual`` the objective of a feasible
    dual point.

    Attributes
    ----------
    primal, dual : float
        Objective values.
    status : {"converged", "max_iter", "time_limit", "stopped", "local"}
        Why the solver ended. ``"stopped"``: the callback asked for it.
        ``"local"``: the problem is not convex, no bound is claimed.
    tol : float
        The relative gap that was asked for.
    passes : int
        Full passes over the training rows.
    trace : Trace
        Every check on the way.

    Examples
    --------
    >>> from shortlist.certificate import Certificate
    >>> c = Certificate(primal=2.0, dual=1.5, status="max_iter", tol=1e-4)
    >>> c.gap, c.relative_gap
    (0.5, 0.25)
    """

    primal: float
    dual: float
    status: Status
    tol: float
    passes: int = 0
    trace: Trace = field(default_factory=Trace, repr=False)

    @property
    def gap(self) -> float:
        """Absolute duality gap."""
        return self.primal - self.dual

    @property
    def relative_gap(self) -> float:
        """Gap divided by the primal value."""
        return self.gap / max(abs(self.primal), _TINY)


class Monitor:
    """Collects checks, prints them, calls back, and says when to stop.

    A solver calls :meth:`check` with its current primal and dual value each time
    it has evaluated both; ``True`` means stop. The best value of each side is
    kept, because both are valid bounds wherever they were found.

    Parameters
    ----------
    tol : float
        Relative gap to reach.
    max_iter : int
        Iteration limit.
    time_limit : float or None
        Seconds allowed.
    verbose : int
        1 prints one line per check.
    callback : callable or None
        Receives each :class:`Check`; a true return value stops the fit.
    """

    def __init__(
        self,
        tol: float,
        max_iter: int,
        time_limit: float | None = None,
        verbose: int = 0,
        callback: Callable[[Check], object] | None = None,
    ) -> None:
        self.tol = tol
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.verbose = verbose
        self.callback = callback
        self.primal = np.inf
        self.dual = -np.inf
        self.iteration = 0
        self.passes = 0
        self.status: Status | None = None
        self._checks: list[Check] = []
        self._start = time.perf_counter()

    @property
    def seconds(self) -> float:
        """Seconds since the solver started."""
        return time.perf_counter() - self._start

    @property
    def relative_gap(self) -> float:
        """Relative gap between the best values so far."""
        if not np.isfinite(self.primal) or not np.isfinite(self.dual):
            return np.inf
        return (self.primal - self.dual) / max(abs(self.primal), _TINY)

    def exhausted(self) -> bool:
        """Whether the iteration or time budget is spent; records which."""
        if self.iteration >= self.max_iter:
            self.status = "max_iter"
        elif self.time_limit is not None and self.seconds >= self.time_limit:
            self.status = "time_limit"
        return self.status is not None

    def check(self, primal: float, dual: float) -> bool:
        """Record one evaluation; return whether the solver should stop."""
        self.primal = min(self.primal, float(primal))
        self.dual = max(self.dual, float(dual))
        if 0.0 < self.dual - self.primal <= _ROUNDING * abs(self.primal):
            self.dual = self.primal
        record = Check(self.seconds, self.iteration, self.primal, self.dual)
        self._checks.append(record)
        if self.verbose:
            if len(self._checks) == 1:
                print(f"{'seconds':>9} {'iter':>6} {'primal':>15} {'dual':>15} {'gap':>9}")
            print(
                f"{record.seconds:9.3f} {record.iteration:6d} {record.primal:15.8g} "
                f"{record.dual:15.8g} {record.relative_gap:9.2e}",
                flush=True,
            )
        if self.relative_gap <= self.tol:
            self.status = "converged"
        elif self.callback is not None and self.callback(record):
            self.status = "stopped"
        elif not self.exhausted():
            return False
        if self.callback is not None and self.status == "converged":
            self.callback(record)
        return True

    def certificate(self) -> Certificate:
        """Freeze what was recorded into a :class:`Certificate`."""
        return Certificate(
            primal=self.primal,
            dual=self.dual,
            status=self.status or "max_iter",
            tol=self.tol,
            passes=self.passes,
            trace=Trace(tuple(self._checks)),
        )
