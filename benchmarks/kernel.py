"""Kernel models: seconds to a certified gap, against SVC and the published method.

    python -m benchmarks.kernel            every size, about half an hour
    python -m benchmarks.kernel --quick    the two smallest sizes, about a minute
    python -m benchmarks.kernel --only svc one part: caps, coordinate, path or svc
    python -m benchmarks.kernel --only svc --sets fashion0 a9a --rows 10000 --repeats 1

Fashion-MNIST, class 0 (or 6) against the rest, pixels in [0, 1], float32, rbf with gamma
0.01, C = 1, squared hinge; needs ``SHORTLIST_DATA``. Beside SVC also three tables and sparse
sets with gamma="scale", rows drawn at random; and oneDAL's SVC (scikit-learn-intelex). One
thread; times are CPU seconds of this process, kernel included, so that other programs on the
machine do not count. With
``--threads 2`` or more BLAS may use them and times are wall seconds: for an idle machine.
SVC gets the same rows and the cache it likes best; it has one thread. Memory is the peak
of kernel entries held, against the whole float32 matrix; the caches allow a fifth of it
at 50,000 rows, and 45 % for PatMat(0.1), which has twice the support vectors.

The published coordinate method starts from "some feasible value" (the paper) or from
random numbers (its authors' program): "coordinate" does. The start from few negatives,
which `smo` uses, is an improvement of ours; "with our start" gives it to the reference.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC
from threadpoolctl import threadpool_info, threadpool_limits

from benchmarks.data import folder, load_binary
from benchmarks.summary import Summary, parser_of
from shortlist import PatMat, TopPush
from shortlist._losses import SQUARED_HINGE
from shortlist.certificate import Monitor
from shortlist.rows.kernels import KernelMatrix
from shortlist.top.coordinate import coordinate
from shortlist.top.kernel_problem import KernelTopProblem, sparse_start

CLOCK = time.process_time
GAMMA = 0.01
CACHE = 2000.0
REPEATS = 3
SETS = ["fashion0", "fashion6", "magic04", "a9a", "w8a"]
CACHES = {"PatMat(0.1)": 4400.0}
MODELS = {
    "TopPush": lambda **options: TopPush(**options),
    "PatMat(0.01)": lambda **options: PatMat(0.01, **options),
    "PatMat(0.1)": lambda **options: PatMat(0.1, **options),
}
# Cases whose caps bind, where single pairs jam.
BINDING = (
    ("ionosphere", 10, 10.0, 0.05),
    ("ionosphere", 50, 1.0, 0.05),
    ("breast_cancer", 20, 10.0, 0.05),
    ("spambase", 200, 1.0, 0.05),
)


def fashion(n_rows: int, label: int = 0) -> tuple[np.ndarray, np.ndarray]:
    root = folder()
    if root is None:
        sys.exit("Set SHORTLIST_DATA to a folder with fashion_mnist.npz.")
    with np.load(root / "fashion_mnist.npz") as data:
        X, y = data["X_train"], data["y_train"]
        if n_rows > len(X):
            # Test images, and then all of them one pixel to the right.
            X, y = np.concatenate([X, data["X_test"]]), np.concatenate([y, data["y_test"]])
            X, y = np.concatenate([X, np.roll(X, 1, axis=1)]), np.tile(y, 2)
    return (X[:n_rows] / 255.0).astype(np.float32), y[:n_rows] == label


def fit_seconds(model: Any, X: np.ndarray, y: np.ndarray) -> float:
    start = CLOCK()
    model.fit(X, y)
    return CLOCK() - start


def kernel_bytes(model: Any, n_rows: int) -> float:
    """Peak bytes of kernel entries: rows touched, and the matrix of the working set."""
    rows = model._cache_
    held = rows.most_rows * n_rows + rows.most_working
    return held * rows.kernel.dtype.itemsize


def rows_of(name: str, n_rows: int) -> tuple[Any, np.ndarray, float | str]:
    """Rows, labels and gamma: Fashion-MNIST (class 0 or 6 against the rest), or another set."""
    if name.startswith("fashion"):
        X, y = fashion(n_rows, int(name[-1]))
        return X, y, GAMMA
    X, y = load_binary(name)
    some = np.random.default_rng(0).permutation(X.shape[0])[:n_rows]
    return X[some], y[some], "scale"


def rivals(gamma: float | str) -> dict[str, Any]:
    """LIBSVM, and oneDAL where scikit-learn-intelex is installed, in one thread."""
    options = {"kernel": "rbf", "gamma": gamma, "C": 1.0, "cache_size": CACHE}
    found: dict[str, Any] = {"SVC": SVC(**options)}
    try:
        from sklearnex.svm import SVC as OneDal
    except ImportError:
        print("scikit-learn-intelex is not installed: no column for oneDAL.")
        return found
    import daal4py

    # threadpoolctl does not reach its threads.
    daal4py.daalinit(threadpool_info()[0]["num_threads"])
    return {**found, "oneDAL": OneDal(**options)}


def against_svc(names: list[str], sizes: list[int], repeats: int, summary: Summary) -> None:
    print(f"\nSeconds to a relative gap of 1e-3, kernel included, median of {repeats}, in turns.\n")
    print(
        f"{'set':<10}{'rows':>7} {'model':<14}{'ours':>8}{'SVC':>8}{'oneDAL':>8}"
        f"{'SVC/ours':>10}{'ours/oneDAL':>13}{'memory':>8}{'support':>9}"
    )
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in MODELS}
    done = set()
    for data, wanted in product(names, sizes):
        X, y, gamma = rows_of(data, wanted)
        n_rows = X.shape[0]
        if (data, n_rows) in done:
            continue
        done.add((data, n_rows))
        others = rivals(gamma)
        models = {}
        for name, make in MODELS.items():
            cache = CACHES.get(name, CACHE)
            # Warm starts keep the cache, which tells the memory it took.
            options = {"gamma": gamma, "tol": 1e-3, "cache_size": cache, "warm_start": True}
            models[name] = make(kernel="rbf", **options)
        spent: dict[str, list[float]] = {name: [] for name in (*others, *models)}
        told = {}
        for _ in range(repeats):
            for name, model in (*others.items(), *models.items()):
                fresh = clone(model)
                spent[name].append(fit_seconds(fresh, X, y))
                if name in models:
                    share = kernel_bytes(fresh, n_rows) / (4.0 * n_rows**2)
                    told[name] = f"{share:>8.0%}{len(fresh.support_):>9}"
                    told[name] += f"  {fresh.certificate_.status}"
                del fresh  # the next one finds the memory that every other gave back
        middle = {name: float(np.median(times)) for name, times in spent.items()}
        svc, dal = middle["SVC"], middle.get("oneDAL", np.nan)
        for name in models:
            ours = middle[name]
            print(
                f"{data:<10}{n_rows:>7} {name:<14}{ours:>8.2f}{svc:>8.2f}{dal:>8.2f}"
                f"{svc / ours:>10.1f}{ours / dal:>13.2f}{told[name]}",
                flush=True,
            )
            found[name].append((svc / ours, ours / dal))
    for name, pairs in found.items():
        low, high = (f(ratio for ratio, _ in pairs) for f in (min, max))
        to_dal = [ratio for _, ratio in pairs]
        summary.add(
            f"rbf `{name}` to a gap of 1e-3",
            '`SVC(kernel="rbf")`, oneDAL\'s',
            f"{low:.1f}x to {high:.1f}x as fast as SVC; {min(to_dal):.1f} to "
            f"{max(to_dal):.1f} of oneDAL's time",
            f"{', '.join(names)}; {' / '.join(f'{n:,}' for n in sizes)} rows",
        )


def coordinate_seconds(model: Any, K: np.ndarray, y: np.ndarray, ours: bool) -> float:
    """CPU seconds of the published method, from its own start or from ours."""
    positive, negative = np.flatnonzero(y), np.flatnonzero(~y)
    threshold = model._check_parameters().threshold(float(len(negative)))
    problem = KernelTopProblem(
        KernelMatrix(K, None), positive, negative, np.ones(len(y)),
        1.0, SQUARED_HINGE, threshold, cache_bytes=0,
    )  # fmt: skip
    start = CLOCK()
    if ours:
        problem.start = sparse_start(problem, K[:, y].sum(axis=1)[negative])
    coordinate(problem, Monitor(tol=model.tol, max_iter=10**9, time_limit=600.0))
    return CLOCK() - start


def against_coordinate(sizes: list[int], summary: Summary) -> None:
    print("\nSeconds on a precomputed float64 kernel; ratio = coordinate / smo.\n")
    print(
        f"{'rows':>6} {'model':<14}{'gap':>7}{'smo':>8}{'coordinate':>12}{'ratio':>7}"
        f"{'with our start':>16}{'ratio':>7}"
    )
    found: dict[str, list[float]] = {name: [] for name in MODELS}
    for n_rows in sizes:
        X, y = fashion(n_rows)
        K = rbf_kernel(X.astype(np.float64), gamma=GAMMA)
        for name, make in MODELS.items():
            for tol in (1e-3, 1e-6):
                model = make(kernel="precomputed", tol=tol, cache_size=CACHE)
                # The least of three: a fit takes a tenth of a second.
                smo = min(fit_seconds(model, K, y) for _ in range(3))
                slow = [coordinate_seconds(model, K, y, ours) for ours in (False, True)]
                print(
                    f"{n_rows:>6} {name:<14}{tol:>7.0e}{smo:>8.3f}{slow[0]:>12.3f}"
                    f"{slow[0] / smo:>7.1f}{slow[1]:>16.3f}{slow[1] / smo:>7.1f}",
                    flush=True,
                )
                found[name].append(slow[0] / smo)
    for name, ratios in found.items():
        summary.add(
            f"rbf `{name}`, gaps 1e-3 and 1e-6",
            "the published coordinate method",
            f"{min(ratios):.0f}x to {max(ratios):.0f}x faster",
            f"{' / '.join(f'{n:,}' for n in sizes)} rows, precomputed kernel",
        )


def path(summary: Summary) -> None:
    print("\nA path of 8 values, warm against separate fits, CPU seconds, best of 3.\n")
    X, y = fashion(5000)
    strengths, shares = np.geomspace(0.3, 3.0, 8), np.geomspace(0.02, 0.1, 8)
    costs = []
    for name, make in MODELS.items():
        model = make(kernel="rbf", gamma=GAMMA, tol=1e-3, cache_size=CACHE)
        costs.append(one_path(f"rbf {name}, C", model, "C", strengths, X, y))
    note_path(summary, "rbf `TopPush`, `PatMat`", costs, "5,000 rows")
    strengths /= 30.0
    costs = []
    for data in ("spambase", "magic04", "mammography"):
        X, y = load_binary(data)
        for name, model, values in (
            ("C", TopPush(0.05), strengths),
            ("C", PatMat(0.05), strengths),
            ("tau", PatMat(0.05, C=0.03), shares),
            ("C", PatMat(0.05, quantile="all"), strengths),
            ("tau", PatMat(0.05, C=0.03, quantile="all"), shares),
        ):
            costs.append(one_path(f"{data}, {model}, {name}", model, name, values, X, y))
    size = "spambase, magic04, mammography; paths of zero models save nothing"
    note_path(summary, "linear `TopPush(0.05)`, `PatMat`", costs, size)


def one_path(
    label: str, model: TopPush | PatMat, name: str, values: np.ndarray, X: Any, y: np.ndarray
) -> float:
    """Return the cost of a warm path as a share of its separate fits, nan for zero models."""
    spent, steps = {False: np.inf, True: np.inf}, {}
    for _, warm in product(range(REPEATS), (False, True)):
        fresh = clone(model).set_params(warm_start=warm)
        seconds = steps[warm] = 0
        for value in values:
            seconds += fit_seconds(fresh.set_params(**{name: float(value)}), X, y)
            steps[warm] += fresh.n_iter_
        spent[warm] = min(spent[warm], seconds)
    cost = spent[True] / spent[False]
    zero = hasattr(fresh, "coef_") and not fresh.coef_.any()
    print(f"{label:<58}{spent[True]:7.2f} / {spent[False]:6.2f} s = {cost:.2f}   "
          f"{steps[True]} / {steps[False]} steps{', zero models' * zero}", flush=True)  # fmt: skip
    return np.nan if zero else cost


def note_path(summary: Summary, what: str, costs: list[float], size: str) -> None:
    result = f"{np.nanmin(costs):.2f} to {np.nanmax(costs):.2f} of the time"
    summary.add(f"{what}, `warm_start`, 8 values", "separate fits", result, size)


def binding_caps() -> None:
    print("\nTopPush with caps that bind, gap 1e-6.\n")
    for name, k, C, gamma in BINDING:
        X, y = load_binary(name)
        model = TopPush(k, C=C, kernel="rbf", gamma=gamma, tol=1e-6, time_limit=120.0)
        spent = fit_seconds(model, X, y)
        gap = model.certificate_.relative_gap
        print(f"{name:<14} k={k:<4} C={C:<5g} {spent:7.2f} s, gap {gap:.1e}", flush=True)


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--only", choices=("caps", "coordinate", "path", "svc"), help="one part")
    parser.add_argument("--rows", type=int, nargs="+", help="sizes instead of the usual ones")
    parser.add_argument("--sets", nargs="+", default=SETS, help="sets beside SVC")
    parser.add_argument("--repeats", type=int, default=REPEATS, help="runs beside SVC")
    parser.add_argument("--threads", type=int, default=1, help="more than 1: wall seconds")
    options = parser.parse_args()
    quick = options.quick
    if options.threads > 1:
        global CLOCK
        CLOCK = time.perf_counter
    summary = Summary(options.summary)
    sizes = options.rows or ([2000, 5000] if quick else [2000, 5000, 10_000, 20_000, 50_000])
    parts: dict[str, Callable[[], None]] = {
        "caps": binding_caps,
        "coordinate": lambda: against_coordinate(
            options.rows or ([2000] if quick else [5000, 10_000]), summary
        ),
        "path": lambda: path(summary),
        "svc": lambda: against_svc(options.sets, sizes, 1 if quick else options.repeats, summary),
    }
    if quick:
        del parts["path"]
    warnings.simplefilter("ignore")
    with threadpool_limits(options.threads):
        for name, run in parts.items():
            if options.only in (None, name):
                run()
    summary.close()


if __name__ == "__main__":
    main()
