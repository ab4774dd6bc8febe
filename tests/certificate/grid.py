"""Every estimator x solver x kernel x precision x storage, on nasty data, after every exit.

    python -m tests.certificate.grid                # every combination on every kind of data
    python -m tests.certificate.grid RankSVM fw     # those whose name holds all of the words

Exits take turns over the kinds. Prints the counts and every false certificate; exits with
status 1 if there is one. The tests run a sample of it.
"""

from __future__ import annotations

import functools
import itertools
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))  # the oracles

from shortlist import PatMat, RankSVM, TopKSVC, TopPush, TransductiveTopK

from . import pair_problems, top_problems, topk_problems, transductive_problems
from .nasty import KINDS, Nasty, check_certificate, exact_kernel, make, stored
from .top_kernel_problems import kernel_objective
from .topk_problems import several_classes

KERNELS = (
    *("linear", "rbf", "poly", "sigmoid", "laplacian", "chi2", "tanimoto", "minmax"),
    *("precomputed", "callable"),
)
TOPK_SOLVERS = ("block", "block_fw", "fw", "away", "pairwise")
IN_MEMORY = ("dense", "csr", "memmap")
N_ROWS = 24


class Combination(NamedTuple):
    """One place of the grid."""

    estimator: str
    kernel: str
    solver: str
    storage: str
    dtype: str

    def __str__(self) -> str:
        return "-".join(self)


def _places() -> Iterator[tuple[str, str, str, str]]:
    for name in ("TopPush", "PatMat"):
        yield from itertools.product([name], ["linear"], ["newton"], [*IN_MEMORY, "blocks", "dask"])
        yield from itertools.product([name], KERNELS, ["smo", "coordinate"], IN_MEMORY)
    yield from itertools.product(["TopPush"], ["linear"], ["accelerated"], IN_MEMORY)
    yield from itertools.product(["TopKSVC"], ["linear"], ["proximal_newton"], IN_MEMORY)
    yield from itertools.product(["TopKSVC"], KERNELS, TOPK_SOLVERS, IN_MEMORY)
    yield from itertools.product(["RankSVM"], KERNELS, ["newton", "fw"], IN_MEMORY)
    curved = [kernel for kernel in KERNELS if kernel != "linear"]
    yield from itertools.product(["RankSVM"], curved, ["interior_point"], IN_MEMORY)
    yield from itertools.product(["RankSVM"], ["linear"], ["newton", "fw"], ["dask"])
    solvers = ["swap", "feasible_direction", "exact"]
    yield from itertools.product(["TransductiveTopK"], ["linear"], solvers, IN_MEMORY)


# Kernel matrices and functions of dense rows, and the chi-squared kernel, take no sparse ones.
GRID = [
    Combination(*place, dtype)
    for place in _places()
    for dtype in ("float32", "float64")
    if not (place[3] == "csr" and place[1] in ("chi2", "precomputed", "callable"))
]


def _stop(check: Any) -> bool:
    return check.iteration >= 2


EXITS: dict[str, dict[str, Any]] = {
    "end": {},
    "max_iter": {"max_iter": 3},
    "time_limit": {"time_limit": 1e-9},
    "callback": {"callback": _stop},
    "stall": {"tol": 1e-300, "max_iter": 150},
}


class Problem(NamedTuple):
    """Data with labels of the family, and the kernel's own parameters."""

    data: Nasty
    y: np.ndarray
    group: np.ndarray
    options: dict[str, Any]


@functools.lru_cache(maxsize=64)
def problem(estimator: str, kernel: str, dtype: str, kind: str) -> Problem:
    """Return nasty data for one combination."""
    data = make(kind, 3, N_ROWS).cast(dtype)
    if kernel in ("chi2", "minmax"):
        data = Nasty(kind, np.abs(data.X), data.y, data.weight)
    gamma = 0.5 / pair_problems.spread(data.X)
    options: dict[str, Any] = {"kernel": kernel, "gamma": gamma, "degree": 2, "coef0": 1.0}
    if kernel == "callable":
        options["kernel"] = functools.partial(_gaussian, gamma=gamma)
    if kernel == "precomputed":
        matrix = exact_kernel("rbf", data.X, gamma, 2, 1.0).astype(dtype)
        data = Nasty(kind, matrix, data.y, data.weight)
    y, group = data.y, np.zeros(N_ROWS, dtype=int)
    if estimator == "TopKSVC":
        data = several_classes(data, 3, np.random.default_rng(0))
        y = data.y
    if estimator == "RankSVM":
        y, group = pair_problems.targets(data, 3, 5)[0], np.arange(N_ROWS) // (N_ROWS // 3)
    return Problem(data, y, group, options)


def _gaussian(A: np.ndarray, B: np.ndarray, gamma: float) -> np.ndarray:
    difference = A[:, None].astype(np.float64) - B[None].astype(np.float64)
    return np.exp(-gamma * (difference**2).sum(axis=2))


def model_of(place: Combination, given: Problem, **options: Any) -> Any:
    """Return the unfitted estimator."""
    options = {"solver": place.solver, "tol": 1e-3, "max_iter": 2000, **options}
    if place.estimator == "TransductiveTopK":
        return TransductiveTopK(k=3, C=2.0, restarts=1, **options)
    own: dict[str, Any] = {"C": 2.0, **given.options, **options}
    if place.solver == "coordinate":
        own["max_iter"] = min(own["max_iter"], 500)
    if place.estimator == "TopPush":
        return _of("TopPush", place)(1 if place.solver == "coordinate" else 2, **own)
    if place.estimator == "PatMat":
        return _of("PatMat", place)(0.2, **own)
    if place.estimator == "TopKSVC":
        own["max_iter"] = min(own["max_iter"], 150)
        return TopKSVC(2, fit_intercept=True, **own)
    return _of("RankSVM", place)(**own)


def _of(name: str, place: Combination) -> Any:
    if place.storage != "dask":
        return {"TopPush": TopPush, "PatMat": PatMat, "RankSVM": RankSVM}[name]
    from shortlist import dask

    return getattr(dask, name)


def fit(model: Any, place: Combination, given: Problem, folder: Any) -> Any:
    """Fit the estimator on the rows as the combination stores them."""
    data = Nasty(given.data.name, given.data.X, given.y, given.data.weight)
    arguments = list(stored(data, place.storage, folder))
    if place.estimator == "RankSVM":
        group: Any = given.group
        if place.storage == "dask":
            import dask.array as da

            group = da.from_array(group, chunks=N_ROWS // 3)
        arguments.insert(2, group)
    if place.estimator == "TransductiveTopK":
        arguments.insert(2, None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(*arguments)


def objective(model: Any, place: Combination, given: Problem) -> float:
    """Return the objective at the public attributes, in extended precision."""
    data, K = given.data, None
    if place.kernel == "precomputed":
        K = data.X.astype(np.longdouble)
    elif place.kernel != "linear":
        name = "rbf" if place.kernel == "callable" else place.kernel
        K = exact_kernel(name, data.X, *(given.options[p] for p in ("gamma", "degree", "coef0")))
    if place.estimator == "TopKSVC":
        return topk_problems.objective(model, data, K)
    if place.estimator == "RankSVM":
        value = pair_problems.objective(model, data, given.y, given.group, K)
        return float(value(pair_problems.coefficients(model, N_ROWS)))
    if place.kernel == "linear":
        return top_problems.objective(model, data)
    assert K is not None
    return kernel_objective(model, data, K)


@functools.lru_cache(maxsize=64)
def known(estimator: str, kernel: str, dtype: str, kind: str) -> float:
    """Return the objective of the default solver's model: no lower bound may exceed it."""
    place = Combination(estimator, kernel, "auto", "dense", dtype)
    given = problem(estimator, kernel, dtype, kind)
    model = fit(model_of(place, given, tol=1e-7, max_iter=20_000), place, given, ".")
    return objective(model, place, given)


def run(place: Combination, kind: str, way: str, folder: Any) -> str:
    """Fit and check one combination; return the status of its fit."""
    given = problem(place.estimator, place.kernel, place.dtype, kind)
    model = model_of(place, given, **EXITS[way])
    if place.estimator == "TopPush" and given.data.full_weight[given.y == 0].sum() < 2:
        model.k = 1
    try:
        fit(model, place, given, folder)
    except ValueError as error:
        # Weights below one are caps, which coordinate does not take.
        if "cannot be used" in str(error) and place.solver in ("coordinate", "fw"):
            return "not offered"
        raise
    status = str(model.certificate_.status)
    if place.estimator == "TransductiveTopK":
        transductive_problems.check(model, given.data, None)
        return status
    value = objective(model, place, given)
    upper = np.inf
    if status == "local":
        assert model.certificate_.dual == 0.0
    elif model.get_params().get("k") != 1 or place.estimator != "TopPush":
        upper = known(place.estimator, place.kernel, place.dtype, kind)
    check_certificate(model.certificate_, value, upper, 1e-8)
    return status


def main(words: list[str]) -> int:
    """Run the combinations whose name holds all words; return how many are false."""
    count: Counter[str] = Counter()
    chosen = [place for place in GRID if all(word in str(place) for word in words)]
    with tempfile.TemporaryDirectory() as folder:
        for kind_number, kind in enumerate(KINDS):
            for number, place in enumerate(chosen):
                way = list(EXITS)[(number + kind_number) % len(EXITS)]
                try:
                    count[run(place, kind, way, folder)] += 1
                except Exception as error:
                    count["false"] += 1
                    print(f"{place}, {kind}, {way}: {type(error).__name__}: {error}", flush=True)
    print(f"{len(chosen)} combinations on {len(KINDS)} kinds of data:", dict(count))
    return count["false"]


if __name__ == "__main__":
    sys.exit(bool(main(sys.argv[1:])))
