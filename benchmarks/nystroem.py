"""Few components in place of a kernel: accuracy at the top and seconds, against the exact model.

    python -m benchmarks.nystroem            two sets, about five minutes
    python -m benchmarks.nystroem --quick    fewer rows and components

``make_pipeline(Nystroem(...), model)`` beside the same model with ``kernel="rbf"``, at the
same gamma and C; tolerance 1e-3, one thread, CPU seconds of fit. Accuracy: the share of the
test positives that score above all but 1 % of the test negatives. Needs ``SHORTLIST_DATA``.
"""

from __future__ import annotations

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
from shortlist import PatMat, TopPush
from shortlist.display._style import COLORS, finish, pyplot

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


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--sets", nargs="+", default=["fashion0", "a9a"], help="sets")
    parser.add_argument("--rows", type=int, default=10_000, help="training rows")
    parser.add_argument("--figure", type=Path, help="where to draw the picture")
    options = parser.parse_args()
    n_rows, components = options.rows, COMPONENTS
    if options.quick:
        n_rows, components = 2000, COMPONENTS[:3]
    warnings.simplefilter("ignore")
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
