"""Few components in place of a kernel: accuracy at the top and seconds, against the exact model.

    python -m benchmarks.nystroem            two sets, about five minutes
    python -m benchmarks.nystroem --quick    fewer rows and components
    python -m benchmarks.nystroem --pick     what they bring to `pick` on long histories

``make_pipeline(Nystroem(...), model)`` beside the same model with ``kernel="rbf"``, at the
same gamma and C; tolerance 1e-3, one thread, CPU seconds of fit. Accuracy: the share of the
test positives that score above all but 1 % of the test negatives. Needs ``SHORTLIST_DATA``.

``--pick``: hits among the first 1 % and 5 % of the candidates, and CPU seconds, of `pick` with
the components among its contestants and without them.
"""

from __future__ import annotations

import itertools
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.kernel_approximation import Nystroem
from sklearn.pipeline import make_pipeline
from threadpoolctl import threadpool_limits

from benchmarks.data import load_binary
from benchmarks.kernel import fashion
from benchmarks.summary import parser_of
from shortlist import PatMat, TopPush, pick
from shortlist.display._style import COLORS, finish, pyplot
from shortlist.picking.race.models import FAMILIES, few_rows

MODELS = {"TopPush(0.01)": TopPush(0.01), "PatMat(0.01)": PatMat(0.01)}
COMPONENTS = (50, 100, 200, 400, 800)


def rows_of(name: str, n_rows: int) -> tuple[Any, np.ndarray, Any, np.ndarray, float]:
    """Training rows, as many test rows, and gamma."""
    X, y = fashion(2 * n_rows) if name == "fashion0" else load_binary(name)
    some = np.random.default_rng(0).permutation(X.shape[0])[: 2 * n_rows]
    train, test = some[:n_rows], some[n_rows:]
    dense = X[train].toarray() if sparse.issparse(X) else X[train]
    gamma = 0.01 if name == "fashion0" else 1.0 / (X.shape[1] * float(dense.var()))
    return X[train], y[train], X[test], y[test], gamma


def at_the_top(model: Any, X: Any, y: np.ndarray) -> float:
    """Share of the positives above all but 1 % of the negatives."""
    scores = model.decision_function(X)
    return float((scores[y] > np.quantile(scores[~y], 0.99)).mean())


def measure(model: Any, data: tuple[Any, np.ndarray, Any, np.ndarray]) -> tuple[float, float]:
    X, y, X_test, y_test = data
    start = time.process_time()
    model.fit(X, y)
    return time.process_time() - start, at_the_top(model, X_test, y_test)


def made(n_rows: int, n_features: int = 12) -> tuple[np.ndarray, np.ndarray]:
    """Positives in two hundred small clouds: smooth and far from linear."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, n_features))
    centres = 1.2 * rng.normal(size=(200, n_features))
    squares = (X**2).sum(axis=1)[:, None] + (centres**2).sum(axis=1) - 2.0 * X @ centres.T
    near = np.exp(-squares / 8.0).sum(axis=1)
    odds = 4.0 * (near - np.quantile(near, 0.9)) / near.std()
    return X, rng.random(n_rows) < 1.0 / (1.0 + np.exp(-odds))


def long_history(name: str, n_rows: int, seed: int) -> tuple[Any, np.ndarray, Any, np.ndarray]:
    """History and candidates, dense, positives thinned to 5 %; a third are candidates."""
    sources = {"made": made, "fashion0": fashion}
    X, y = sources[name](30_000) if name in sources else load_binary(name)
    rng = np.random.default_rng(seed)
    few = rng.permutation(np.flatnonzero(y))[: int(0.05 / 0.95 * (~y).sum())]
    some = rng.permutation(np.concatenate([np.flatnonzero(~y), few]))
    n_new = min(10_000, len(some) // 3)
    new, past = some[:n_new], some[n_new : n_new + n_rows]
    X = X.toarray() if sparse.issparse(X) else X
    return X[past], y[past], X[new], y[new]


def in_pick(names: list[str], n_rows: int, seeds: range, efforts: list[str]) -> None:
    family = "PatMat rbf"
    settings, suits = FAMILIES[family]
    print(
        f"{'set':<9}{'effort':<9}{'seed':>5}{'rows':>7}{'hits at 1 %':>14}{'at 5 %':>12}"
        f"{'seconds':>16}  raced",
        flush=True,
    )
    for name, effort, seed in itertools.product(names, efforts, seeds):
        X, y, new, truth = long_history(name, n_rows, seed)
        found = {}
        for label, reason in (("without", few_rows), ("with", suits)):
            FAMILIES[family] = (settings, reason)
            start = time.process_time()
            list_ = pick(X, y, new, k=0.05, effort=effort, random_state=seed)
            seconds = time.process_time() - start
            first = truth[list_.selected]
            hits = int(first[: len(new) // 100].sum()), int(first.sum())
            found[label] = (*hits, seconds, any(family in c.name for c in list_.comparison))
        FAMILIES[family] = (settings, suits)
        a, b = found["without"], found["with"]
        print(
            f"{name:<9}{effort:<9}{seed:>5}{len(y):>7}{f'{a[0]} -> {b[0]}':>14}"
            f"{f'{a[1]} -> {b[1]}':>12}{f'{a[2]:.1f} -> {b[2]:.1f}':>16}"
            f"  {'yes' if b[3] else 'no'}",
            flush=True,
        )


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--sets", nargs="+", default=["fashion0", "a9a"], help="sets")
    parser.add_argument("--pick", action="store_true", help="on long histories, in `pick`")
    parser.add_argument("--seeds", type=int, nargs=2, default=[0, 1], help="with --pick")
    parser.add_argument("--efforts", nargs="+", default=["quick"], help="with --pick")
    parser.add_argument("--rows", type=int, default=10_000, help="training rows")
    parser.add_argument("--figure", type=Path, help="where to draw the picture")
    options = parser.parse_args()
    n_rows, components = options.rows, COMPONENTS
    if options.quick:
        n_rows, components = 2000, COMPONENTS[:3]
    warnings.simplefilter("ignore")
    if options.pick:
        with threadpool_limits(1):
            in_pick(options.sets, n_rows, range(*options.seeds), options.efforts)
        return
    drawn = []
    print(f"{'set':<10}{'model':<15}{'components':>11}{'seconds':>9}{'above 1 %':>11}")
    with threadpool_limits(1):
        for name in options.sets:
            *data, gamma = rows_of(name, n_rows)
            for label, model in MODELS.items():
                line = []
                for count in components:
                    features = Nystroem(gamma=gamma, n_components=count, random_state=0)
                    pipeline = make_pipeline(features, model.set_params(kernel="linear", tol=1e-3))
                    line.append((*measure(pipeline, tuple(data)), str(count)))
                exact = model.set_params(kernel="rbf", gamma=gamma, cache_size=1000.0)
                line.append((*measure(exact, tuple(data)), "exact"))
                for seconds, share, count in line:
                    print(
                        f"{name:<10}{label:<15}{count:>11}{seconds:>9.2f}{share:>11.3f}",
                        flush=True,
                    )
                drawn.append((name, label, line))
    if options.figure:
        draw(drawn, options.figure)


def draw(drawn: list[tuple[str, str, list[tuple[float, float, str]]]], path: Path) -> None:
    figure, ax = pyplot().subplots(figsize=(6.5, 4.0), layout="constrained")
    for number, (name, label, line) in enumerate(drawn):
        color = COLORS[number % len(COLORS)]
        *few, (seconds, share, _) = line
        ax.plot([x for x, _, _ in few], [y for _, y, _ in few], "o-", color=color, markersize=4)
        ax.plot([seconds], [share], "*", color=color, markersize=12, label=f"{name}, {label}")
        for x, y, count in few:
            ax.annotate(count, (x, y), fontsize=7, xytext=(2, 3), textcoords="offset points")
    ax.set_xscale("log")
    finish(ax, "CPU seconds of fit", "positives above 99 % of the negatives")
    ax.legend(fontsize="x-small", title="line: components; star: exact kernel", title_fontsize=7)
    figure.savefig(path, dpi=120)


if __name__ == "__main__":
    main()
