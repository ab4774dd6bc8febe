"""The proof that travels with every fit: primal, dual, gap, status and trace."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

Status = Literal["converged", "max_iter", "time_limit", "stalled", "stopped", "local"]

_TINY = np.finfo(np.float64).tiny
# At an exact optimum the two values may cross by rounding; by more would be a bug.
_ROUNDING = 1e-12
# How much closer a claim must come after one that failed, and how many may fail.
_SHARPER, _PATIENCE = 0.3, 4


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
    status : {"converged", "max_iter", "time_limit", "stalled", "stopped", "local"}
        Why the solver ended. ``"stalled"``: it cannot come closer, often because of
        rounding. ``"stopped"``: the callback asked for it. ``"local"``: the problem is not
        convex, no bound is claimed.
    tol : float
        The relative gap that was asked for.
    passes : int
        Full passes over the training rows.
    rounding : float
        Bound of the rounding errors of `primal`, and of those that `dual` was lowered by.
    trace : Trace
        Every check on the way, as the solver saw it; the last one is proved.

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
    rounding: float = 0.0
    trace: Trace = field(default_factory=Trace, repr=False)

    @property
    def gap(self) -> float:
        """Absolute duality gap."""
        return self.primal - self.dual

    @property
    def relative_gap(self) -> float:
        """Gap divided by the primal value."""
        return self.gap / max(abs(self.primal), _TINY)


class CollapsedWarning(UserWarning):
    """The optimal model is zero: every row gets the same score."""


class CertificateError(RuntimeError):
    """Primal and dual crossed by more than rounding: a defect of the solver or its proof."""


@dataclass(frozen=True, slots=True)
class Proof:
    r"""Bounds that were checked, and the model they belong to.

    Whoever makes one vouches for three things, all computed in float64 from the model and
    the dual point themselves, not from a solver's running sums: `primal` is the objective
    of `solution` as it will be returned, `dual` is the objective of a feasible dual point,
    and together they are off by at most `rounding`:
    :math:`D - r \le P^\star \le P + r`.

    Attributes
    ----------
    solution : object
        What the estimator returns if this is the best proof.
    primal, dual : float
        Objective values.
    rounding : float
        Bound of the rounding errors of both, added up.
    """

    solution: Any
    primal: float
    dual: float
    rounding: float = 0.0


Prover = Callable[[], Proof]


class Monitor:
    """Collects checks, prints them, calls back, says when to stop, and asks for proofs.

    A solver calls :meth:`check` with its current primal and dual value each time it has
    evaluated both, and with a function that proves them; ``True`` means stop. What the
    solver says is a claim: it goes to the trace and decides when a proof is worth its
    time. Only proofs enter the certificate, and the model that is returned is the one that
    was proved. A claim that its proof does not bear out makes the solver go on, towards a
    smaller :attr:`goal`; after some of these the fit has stalled.

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

    Attributes
    ----------
    goal : float
        Relative gap that the next claim must reach to be put to the proof: `tol`, and less
        after a claim that failed.
    refuted : int
        Claims that failed.
    reserve : float
        Seconds that the last proof will take, as far as the solver knows: the time limit
        is met with it.
    proof : Proof or None
        The best model that was proved.
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
        self.goal = tol
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.verbose = verbose
        self.callback = callback
        self.primal = np.inf
        self.dual = -np.inf
        self.iteration = 0
        self.passes = 0
        self.refuted = 0
        self.reserve = 0.0
        self.status: Status | None = None
        self.proof: Proof | None = None
        self._lower, self._lower_rounding = -np.inf, 0.0
        self._prove: Prover | None = None
        self._checks: list[Check] = []
        self._start = time.perf_counter()

    @property
    def seconds(self) -> float:
        """Seconds since the solver started."""
        return time.perf_counter() - self._start

    @property
    def relative_gap(self) -> float:
        """Relative gap between the best claims so far."""
        return _relative(self.primal, self.dual)

    @property
    def proved_gap(self) -> float:
        """Relative gap between the best proofs so far."""
        return np.inf if self.proof is None else _relative(self.proof.primal, self._lower)

    def exhausted(self) -> bool:
        """Whether the iteration or time budget is spent; records which."""
        if self.iteration >= self.max_iter:
            self.status = "max_iter"
        elif self.time_limit is not None and self.seconds + self.reserve >= self.time_limit:
            self.status = "time_limit"
        return self.status is not None

    def check(self, primal: float, dual: float, prove: Prover | None) -> bool:
        """Record one evaluation; return whether the solver should stop.

        Without a function that proves it, what was proved before is all that counts.
        """
        self.primal = min(self.primal, float(primal))
        self.dual = max(self.dual, float(dual))
        self._prove = prove
        if 0.0 < self.dual - self.primal <= _ROUNDING * abs(self.primal):
            self.dual = self.primal
        if prove is not None and self.relative_gap <= self.goal:
            self.settle()
        record = self._record()
        if self.callback is not None and self.callback(record) and self.status is None:
            self.status = "stopped"
        return self.status is not None or self.exhausted()

    def settle(self) -> None:
        """Put the last claim to the proof: converged, or on to a smaller goal."""
        assert self._prove is not None
        before, claimed = self.proved_gap, self.relative_gap
        self.accept(self._prove())
        assert self.proof is not None
        self._prove = None
        if self.proved_gap <= self.tol:
            self.status = "converged"
        else:
            self.refuted += 1
            least = _SHARPER * self.goal
            if self.refuted == 1 and np.isfinite(self.proved_gap):
                # It may have failed by next to nothing.
                missed = self.proved_gap - claimed
                self.goal = max(least, min(0.95 * self.goal, self.tol - 2.0 * missed))
            else:
                self.goal = least
            if self.refuted >= _PATIENCE and self.proved_gap > 0.9 * before:
                self.status = "stalled"
        self.primal, self.dual = self.proof.primal, self._lower

    def accept(self, proof: Proof) -> None:
        """Take in a proof: its bound, and its model where that is the best."""
        if not np.isfinite(proof.primal) or np.isnan(proof.rounding):
            return
        lower = proof.dual - proof.rounding
        if np.isfinite(lower) and lower > self._lower:
            self._lower, self._lower_rounding = lower, proof.rounding
        if self.proof is None or proof.primal < self.proof.primal:
            self.proof = proof
        crossed = self._lower - self.proof.primal
        if crossed > max(self.proof.rounding, proof.rounding, _ROUNDING * abs(proof.primal)):
            raise CertificateError(
                f"A lower bound of {self._lower!r} was proved and a model of objective "
                f"{self.proof.primal!r}: one of the proofs is wrong. Please report this with "
                "the data."
            )
        if crossed > 0.0:
            # The model's own value may be too low by its rounding, and the gap be that.
            self._lower = self.proof.primal - self.proof.rounding

    def stall(self) -> None:
        """End the fit: the solver cannot come closer."""
        if self.status is None:
            self.status = "stalled"

    def conclude(self) -> tuple[Any, Certificate]:
        """Return the proved model and its certificate, whatever ended the fit."""
        if self._prove is not None:
            self.accept(self._prove())
            self._prove = None
        if self.proof is None:
            raise CertificateError("The solver ended without a model that could be proved.")
        if self.proved_gap <= self.tol:
            self.status = "converged"
        elif self.status is None or self.status == "converged":
            self.status = "stalled"
        self.primal, self.dual = self.proof.primal, self._lower
        last = self._checks[-1] if self._checks else None
        if last is None or (last.primal, last.dual) != (self.primal, self.dual):
            self._record()
        return self.proof.solution, Certificate(
            primal=self.primal,
            dual=self.dual,
            status=self.status,
            tol=self.tol,
            passes=self.passes,
            rounding=max(self.proof.rounding, self._lower_rounding),
            trace=Trace(tuple(self._checks)),
        )

    def _record(self) -> Check:
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
        return record


def _relative(primal: float, dual: float) -> float:
    if not np.isfinite(primal) or not np.isfinite(dual):
        return np.inf
    return (primal - dual) / max(abs(primal), _TINY)
