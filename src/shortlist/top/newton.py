"""The default solver of linear problems: interior-point Newton steps on a working set.

Few negatives are at the top. The problem restricted to some of them is a relaxation,
so its dual point is a lower bound of the whole problem, while one pass over all rows
gives the primal value and the negatives that were missing. The restricted problem is
solved only a little more accurately than the missing rows deserve, so that a dozen
passes suffice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np
from scipy import linalg

from ..certificate import Monitor, Proof
from .interior_point import InteriorPoint
from .problem import NO_BOUND, Bound, Solution, primal_error
from .sweeps import RankedRows, ScaledScores, Start, Sweep, SweptProblem, Wanted

_START_ROWS = 500
# A quantile counts many rows: it starts with as many as make this many numbers.
_START_NUMBERS = 1_000_000
# Steps shorter than this from the last model ask for larger products, a few times.
_SHORT_STEP, _LOOSER, _MOST_LOOSER = 0.15, 5.0, 3
_FIRST_WAIT, _LONGEST_WAIT = 2, 8
_LARGE_EXCESS = 30.0
_STALL = 60


def newton(problem: SweptProblem, monitor: Monitor) -> None:
    """Solve `problem` to the monitor's tolerance.

    Parameters
    ----------
    problem : SweptProblem
        Linear scores.
    monitor : Monitor
        Tolerance, limits and the record of the fit. It is given every proof: a
        :class:`~shortlist.top.problem.Solution`, the best model of all passes, and the
        best dual value of the working sets.
    """
    fit = _Fit(problem, monitor)
    try:
        fit.run()
    except _BeyondDouble:
        fit.give_up()


class _BeyondDouble(ArithmeticError):
    """Numbers left the range or the digits of double precision."""


@contextmanager
def _strictly() -> Iterator[None]:
    """Stop at the first overflow or invalid number. Not around what is not ours."""
    try:
        with np.errstate(divide="raise", invalid="raise", over="raise"):
            yield
    except (ArithmeticError, linalg.LinAlgError) as error:
        raise _BeyondDouble from error


class _Fit:
    """The rounds of one fit: steps on the working set, and passes over all rows."""

    def __init__(self, problem: SweptProblem, monitor: Monitor) -> None:
        self._problem = problem
        self._monitor = monitor
        self._best = _zero(problem)
        self._dual = NO_BOUND
        self._point: InteriorPoint | None = None

    def run(self) -> None:
        """Alternate until the monitor says stop, or nothing is gained any more."""
        problem, monitor = self._problem, self._monitor
        at, working, good = _start(problem, monitor)
        self._take(at)
        point, good = self._start_point(at, working, good)
        with _strictly():
            self._raise_dual(point.dual())
        # The first pass was that of the start.
        full_gap, since_pass, progress_at, wait = self._gap(), 0, 0, _FIRST_WAIT
        if monitor.check(self._best.primal, self._dual.lower, self._prover()):
            return
        while True:
            with _strictly():
                length = point.step()
                if length >= _SHORT_STEP or monitor.iteration >= _MOST_LOOSER:
                    good = None
                if good is not None:
                    point.loosen(_LOOSER)
                self._raise_dual(point.dual())
            monitor.iteration += 1
            since_pass += 1
            if since_pass < wait and self._unsettled(point, full_gap) and not monitor.exhausted():
                continue
            most = max(_START_ROWS, len(point.working))
            sweep = problem.sweep(point.w, Wanted(most, cut=point.cut, known=point.working))
            self._take(_evaluate(problem, point.w, sweep))
            monitor.passes += 1
            since_pass = 0
            gap = self._gap()
            if gap < 0.9 * full_gap:
                progress_at = monitor.iteration
            full_gap = gap
            if monitor.check(self._best.primal, self._dual.lower, self._prover()):
                return
            if monitor.iteration - progress_at >= _STALL:
                return monitor.stall()
            new = sweep.ranked_rows()
            del sweep  # it holds these rows as well, and they may be many
            wait = min(2 * wait, _LONGEST_WAIT)
            if len(new.position):
                if float(new.scores.max()) - point.cut > _LARGE_EXCESS * point.slack:
                    wait = 1
                with _strictly():
                    point.extend(new)
                    self._raise_dual(point.dual())
            del new

    def _unsettled(self, point: InteriorPoint, full_gap: float) -> bool:
        """Whether the restricted problem's gap is still large beside that of the whole."""
        with _strictly():
            restricted = min(point.primal(), self._best.primal) - self._dual.lower
        return restricted > max(0.3 * full_gap, 0.3 * self._monitor.goal * self._best.primal)

    def _gap(self) -> float:
        return self._best.primal - self._dual.lower

    def give_up(self) -> None:
        """End a fit that left double precision: its proofs say how far it got."""
        with np.errstate(all="ignore"):
            self._monitor.accept(self._prover()())
        self._monitor.stall()

    def _start_point(
        self, at: _Point, working: RankedRows, good: Start | None
    ) -> tuple[InteriorPoint, Start | None]:
        terms = (self._problem, at.w, at.positive_scores, working)
        if good is not None:
            try:
                with _strictly():
                    self._point = InteriorPoint(*terms)
                    self._raise_dual(self._point.settle(good))
                return self._point, good
            except _BeyondDouble:
                pass  # scores beyond double precision tell nothing of the multipliers
        with _strictly():
            self._point = InteriorPoint(*terms)
        return self._point, None

    def _take(self, at: _Point) -> None:
        if at.primal < self._best.primal:
            self._best = at

    def _raise_dual(self, bound: Bound) -> None:
        if bound.lower > self._dual.lower:
            self._dual = bound

    def _prover(self) -> Callable[[], Proof]:
        """Return the proof of the best model so far.

        Its objective was computed from a pass over all rows, its lower bound from the
        multipliers of a working set and their rows: only their roundings are left to bound.
        """
        problem, best, dual, point = self._problem, self._best, self._dual, self._point

        def prove() -> Proof:
            scale, off = 0.0, problem.zero_error
            if best.scores is not None:
                scale, off = best.scores.largest, best.scores.threshold_error(best.t)
            terms = (problem.reach, best.w, best.positive_scores, best.t, off)
            top, start = -1, None
            if point is not None and np.isfinite(point.beta).all():
                top = problem.row_number(int(point.working[np.argmax(point.beta)]))
                start = point.solution(best.w)
            solution = Solution(best.w, best.t, scale, top, best.scores, start)
            rounding = primal_error(problem, *terms) + dual.error
            return Proof(solution, best.primal, dual.value, rounding)

        return prove


@dataclass(frozen=True)
class _Point:
    """A model and what a pass told about it."""

    w: np.ndarray
    positive_scores: np.ndarray
    t: float
    primal: float
    scores: ScaledScores | None


def _evaluate(problem: SweptProblem, w: np.ndarray, sweep: Sweep, length: float = 1.0) -> _Point:
    """Return the model `length` times `w`, where `sweep` is of `w`."""
    with _strictly():
        t = sweep.scores.threshold(length)
        w, positive_scores = length * w, length * sweep.positive_scores
        primal = problem.primal_at(w, positive_scores, t)
    return _Point(w, positive_scores, t, primal, ScaledScores(sweep.scores, length))


def _zero(problem: SweptProblem) -> _Point:
    w = np.zeros(problem.n_features)
    scores = np.zeros(len(problem.c))
    return _Point(w, scores, problem.threshold_at_zero, problem.value_at_zero, None)


def _start(problem: SweptProblem, monitor: Monitor) -> tuple[_Point, RankedRows, Start | None]:
    """Return a model, the highest rows of the threshold, and the solution it is from.

    The last model where it is better than zero, else the difference of the class
    means at the best of a few lengths.
    """
    monitor.passes += problem.start_passes + 1
    wanted = _first_rows(problem)
    if problem.start is not None:
        sweep = problem.sweep(problem.start.w, wanted)
        at = _evaluate(problem, problem.start.w, sweep)
        if at.primal < problem.value_at_zero:
            return at, _counting(problem, at, sweep), problem.start
        monitor.passes += 1
    w = problem.mean_difference()
    sweep = problem.sweep(w, wanted)
    longest = 2.0 * problem.value_at_zero
    longest /= 1.0 + longest * float(w @ w)
    lengths = [longest * shrink for shrink in (1.0, 0.3, 0.1, 0.03)]
    at = min((_evaluate(problem, w, sweep, length) for length in lengths), key=lambda p: p.primal)
    return at, _counting(problem, at, sweep), None


def _first_rows(problem: SweptProblem) -> Wanted:
    few = max(_START_ROWS, min(problem.n_features, 2 * _START_ROWS))
    many = _START_NUMBERS // problem.n_features
    return Wanted(*problem.threshold.first_rows(few, many, problem.capped))


def _counting(problem: SweptProblem, at: _Point, sweep: Sweep) -> RankedRows:
    """Scores at the chosen length; of many rows those that count, or the highest."""
    assert at.scores is not None
    found = sweep.ranked_rows()
    found = replace(found, scores=at.scores.length * found.scores)
    if len(found.scores) <= _START_ROWS:
        return found
    kept = problem.threshold.counting(found.scores, at.t)
    kept[np.argpartition(-found.scores, _START_ROWS)[:_START_ROWS]] = True
    if kept.all():
        return found
    index = np.flatnonzero(kept)
    return RankedRows(
        found.position[index], found.scores[index], found.weight[index], found.rows.take(index)
    )
