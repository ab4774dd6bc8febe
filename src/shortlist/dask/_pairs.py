r"""Pairs of rows that lie in partitions: every pass returns d-vectors and sums.

With whole groups inside partitions the loss is a sum over partitions,

.. math:: P(w) = \tfrac12\|w\|^2 + c \sum_b L_b(X_b w),

and so are the model of the proposed dual point :math:`\sum_b X_b^T\alpha_b` and the
product :math:`\sum_b X_b^T L_b''X_b v`. Each partition is an in-memory
:class:`~shortlist.pairs.problem.PairProblem` of its own with :math:`c = 1`; it stays
where its rows are. The solvers are those of memory. Between passes the workers keep
nothing but the partitions.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial, reduce
from typing import Any

import numpy as np
from sklearn.utils import check_array, check_consistent_length, column_or_1d

from .._checks import check_weight
from .._losses import Loss
from ..pairs.plan import pair_weight, sample_rows, small_groups
from ..pairs.problem import PairProblem
from ..pairs.proof import Evidence
from ..pairs.spaces import FeatureSpace, LinearSpace, Point
from ..rows.operators import Rows
from ..rows.rounding import Reach, gamma
from ..top.stream.first_pass import as_matrix
from ._cluster import Groups, each, gather
from ._partitions import bytes_of

# The most that sampled rows may take in the client's memory, as float64.
_SAMPLE_BYTES = 1 << 26
_LEAST_PER_PART = 100


@dataclass(frozen=True)
class PartitionPairs:
    """One partition, ready to be asked for sums.

    Attributes
    ----------
    problem : PairProblem or None
        Its pairs, each of weight 1; None where there are none.
    groups : ndarray
        The groups that have rows here.
    n_rows : int
        Rows of positive weight.
    n_bytes : int
        Size of these rows.
    """

    problem: PairProblem | None
    groups: np.ndarray
    n_rows: int
    n_bytes: int = 0

    def __sizeof__(self) -> int:
        """Return the bytes by which Dask reckons where to work and when to spill."""
        return self.n_bytes


@dataclass(frozen=True)
class PartitionFacts:
    """What the client knows of a partition: a few numbers, and its groups."""

    groups: np.ndarray
    n_rows: int
    n_pairs: float = 0.0
    compared: float = 0.0
    n_bytes: int = 0
    length: float = 0.0
    vertex_error: float = 0.0
    centre: np.ndarray | None = None


def prepare(
    index: int,
    X: Any,
    y: Any,
    qid: Any,
    sample_weight: Any,
    loss: Loss,
    max_rank_distance: int | None,
) -> PartitionPairs:
    """Check the rows of a partition and plan its pairs; runs where the rows are."""
    if not X.shape[0]:
        return PartitionPairs(None, np.empty(0), 0)
    try:
        X = as_matrix(X)
        y = column_or_1d(y, dtype=np.float64)
        check_array(y, ensure_2d=False, input_name="y")
        qid = np.zeros(len(y), dtype=np.intp) if qid is None else column_or_1d(qid)
        check_consistent_length(X, y, qid)
        weight = check_weight(sample_weight, len(y))
    except ValueError as error:
        raise ValueError(f"Partition {index}: {error}") from error
    used = np.flatnonzero(weight)
    if not len(used):
        return PartitionPairs(None, np.empty(0), 0)
    if len(used) < len(y):
        X, y, qid, weight = X[used], y[used], qid[used], weight[used]
    groups, group = np.unique(qid, return_inverse=True)
    # Pairs lie inside partitions, so each has a centre of its own.
    space = LinearSpace.of(X)
    problem = PairProblem(space, y, group, weight, 1.0, loss, max_rank_distance, normalize=False)
    return PartitionPairs(problem if problem.n_pairs else None, groups, len(y), bytes_of(X))


def facts(part: PartitionPairs) -> PartitionFacts:
    """Return what the client needs to know of a partition."""
    problem = part.problem
    if problem is None:
        return PartitionFacts(part.groups, part.n_rows)
    assert isinstance(problem.space, LinearSpace)
    return PartitionFacts(
        part.groups,
        part.n_rows,
        problem.n_pairs,
        problem.compared,
        sys.getsizeof(part),
        problem.space.length,
        problem.vertex_error,
        problem.space.centre,
    )


@dataclass(frozen=True)
class DaskSums:
    """Sums over the violated pairs of all partitions; see ``ModelSums``."""

    problem: DaskPairs
    point: Point
    width: float
    hinge: float
    slack: float
    violated: float
    total: float
    curved_pairs: float
    proposed: np.ndarray

    def along(self, step: Point) -> float:
        """Return the inner product of the proposed dual point's model with `step`."""
        return float(self.proposed @ step.u)

    def model(self) -> Point:
        """Return the model of the proposed dual point."""
        return Point(self.problem.space, self.proposed)

    def curved_model(self) -> Point:
        """Return the part of that model that comes from curved pairs; one pass."""
        return self._lifted("curved_model")

    def vertex_model(self) -> Point:
        """Return the model of the vertex; one pass."""
        return self._lifted("vertex_model")

    def _lifted(self, which: str) -> Point:
        summed = self.problem.add_up(_model_of, self.point.u, self.width, which)
        return Point(self.problem.space, self.problem.c * summed)


class DaskPairs:
    """The pair problem of all partitions; offers what ``PairProblem`` offers to solvers.

    Parameters
    ----------
    parts : list
        :class:`PartitionPairs` records, kept on the workers.
    known : list of PartitionFacts
        What they told.
    size : int
        Number of features.
    C : float
        Weight of the loss.
    loss : Loss
        Loss of a pair.
    max_rank_distance : int or None
        Keep pairs at most that many ranks apart.
    normalize : bool
        As in :class:`~shortlist.RankSVM`.
    """

    def __init__(
        self,
        parts: list[Any],
        known: list[PartitionFacts],
        size: int,
        C: float,
        loss: Loss,
        max_rank_distance: int | None,
        normalize: bool,
    ) -> None:
        self.loss = loss
        self.max_rank_distance = max_rank_distance
        n_rows, length = sum(fact.n_rows for fact in known), max(fact.length for fact in known)
        self.space = FeatureSpace(n_rows, size, length)
        self.n_pairs = float(sum(fact.n_pairs for fact in known))
        self.c = 1.0
        if self.n_pairs:
            compared = float(sum(fact.compared for fact in known))
            self.c = pair_weight(C, compared, self.n_pairs, normalize)
        # Partitions without a pair are not asked again.
        useful = [i for i, fact in enumerate(known) if fact.n_pairs]
        self._parts = [parts[i] for i in useful]
        self._groups = Groups.of(self._parts, [known[i].n_bytes for i in useful])
        self._rows = np.array([known[i].n_rows for i in useful])
        self._n_groups = sum(len(known[i].groups) for i in useful)
        self._count = n_rows + len(useful)
        worst = max((known[i].vertex_error for i in useful), default=0.0)
        self.vertex_error = worst + 3.0 * gamma(self._count)

    @property
    def offers(self) -> frozenset[str]:
        """Capabilities that solvers may need."""
        return frozenset(
            {"sum over pairs"} | ({"sum over hinged pairs"} if self.loss.bounded else set())
        )

    @property
    def freedom(self) -> float:
        """Degrees of freedom of a model."""
        return self.space.size

    @property
    def value_at_zero(self) -> float:
        """Primal value of the zero model: every pair has loss 1."""
        return self.c * self.n_pairs

    def zero(self) -> Point:
        """Return the zero model."""
        return Point(self.space, np.zeros(self.space.size))

    def add_up(self, task: Callable[..., np.ndarray], u: np.ndarray, *args: Any) -> np.ndarray:
        """Run ``task(problem, u, *args)`` on every partition and add the arrays: one pass."""
        return self._groups.add_up(partial(_on_part, task), u, *args)

    def sums(self, point: Point, width: float) -> DaskSums:
        """Sum over the pairs at a model, with the hinge rounded on `width`; one pass."""
        summed = self.add_up(_sums, point.u, width)
        hinge, slack, violated, total = self.c * summed[:4]
        proposed = self.c * summed[5:]
        return DaskSums(self, point, width, hinge, slack, violated, total, summed[4], proposed)

    def reckoned(self, sums: Any, model: Point) -> None:
        """Return nothing: the sums are proved by computing them anew."""

    def moved_loss(self, point: Point, total: float) -> float:
        """Return no bound: nothing is proved by the sums at hand."""
        return math.inf

    def evidence(self, u: np.ndarray, width: float) -> Evidence:
        """Return what a proof needs of a model; one pass."""
        summed = self.add_up(_evidence, u, width, self._count)
        return Evidence.unpacked(self.c * summed)

    def bend(self, sums: DaskSums, step: Point) -> tuple[Point, float]:
        """Return the second derivative of the loss times `step`, and its product with it."""
        image = self.c * self.add_up(_bend, sums.point.u, sums.width, step.u)
        return Point(self.space, image), float(image @ step.u)

    def sample(self, count: int) -> PairProblem:
        """Bring about `count` rows to the client, 64 MB of them at most."""
        count = min(count, max(_LEAST_PER_PART, _SAMPLE_BYTES // (8 * self.space.size)))
        n_rows = int(self._rows.sum())
        chosen = np.arange(len(self._parts))
        if n_rows > count:
            most = max(1, count // _LEAST_PER_PART)
            chosen = np.sort(np.random.default_rng(0).permutation(chosen)[:most])
        share = min(1.0, count / float(self._rows[chosen].sum()))
        whole = small_groups(n_rows, self._n_groups, count)
        quotas = np.ceil(share * self._rows[chosen]).astype(int).tolist()
        drawn = gather(each(partial(_draw, whole), [self._parts[i] for i in chosen], quotas))
        ends = np.cumsum([0, *(int(part.group.max()) + 1 for part in drawn)])
        part = PairProblem(
            LinearSpace(
                reduce(lambda rows, more: rows.stack(more), (p.rows for p in drawn)),
                Reach(max(p.reach.length for p in drawn), max(p.reach.entries for p in drawn)),
            ),
            np.concatenate([p.y for p in drawn]),
            np.concatenate([p.group + end for p, end in zip(drawn, ends[:-1], strict=True)]),
            np.concatenate([p.weight for p in drawn]),
            1.0,
            self.loss,
            self.max_rank_distance,
            normalize=False,
        )
        return part.weighing(self.value_at_zero)


@dataclass(frozen=True)
class _Drawn:
    """Sampled rows of one partition."""

    rows: Rows
    reach: Reach
    y: np.ndarray
    group: np.ndarray
    weight: np.ndarray


def _on_part(
    task: Callable[..., np.ndarray], part: PartitionPairs, u: np.ndarray, *args: Any
) -> np.ndarray:
    assert part.problem is not None
    return task(part.problem, Point(part.problem.space, u), *args)


def _sums(problem: PairProblem, point: Point, width: float) -> np.ndarray:
    sums = problem.sums(point, width)
    numbers = [sums.hinge, sums.slack, sums.violated, sums.total, sums.curved_pairs]
    return np.concatenate([numbers, sums.model().u])


def _evidence(problem: PairProblem, point: Point, width: float, count: float) -> np.ndarray:
    return problem.evidence(point.u, width, count).packed()


def _model_of(problem: PairProblem, point: Point, width: float, which: str) -> np.ndarray:
    return getattr(problem.sums(point, width), which)().u


def _bend(problem: PairProblem, point: Point, width: float, step: np.ndarray) -> np.ndarray:
    curved = problem.laplacian(point.f, width, problem.space.scores(step))
    return problem.space.lift(curved)


def _draw(whole: bool, part: PartitionPairs, count: int) -> _Drawn:
    problem = part.problem
    assert problem is not None
    assert isinstance(problem.space, LinearSpace)
    chosen = sample_rows(problem.group, count, whole)
    rows, reach = problem.space.rows.take(chosen), problem.space.reach
    return _Drawn(rows, reach, problem.y[chosen], problem.group[chosen], problem.weight[chosen])
