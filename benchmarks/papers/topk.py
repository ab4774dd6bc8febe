"""Seed 001, Tables 1, 6 and 7 and Figures 2 to 4: the weighted top-k SVM.

``pseudo`` is the loss that the earlier solvers (Lapin, Chu) minimise under the name of the
top-k hinge. As in the paper, a fit stops at an absolute duality gap of 1e-3, in the paper's
unit: the objective of :class:`~shortlist.TopKSVC` divided by C times the number of rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold

from shortlist import TopKSVC

from . import topk_pages
from .runner import Clock, Record, Settings, Table, choose
from .sets import QUICK_CLASSES, classes, subset

SOURCE = "T. Kato, Y. Hirohashi, *Learning weighted top-k support vector machine*, ACML 2019."
SETS = ("letter", "news20", "satimage")
SHOWN = topk_pages.SHOWN
KINDS = ("flat", "linear", "exp", "pseudo")
GRID_C = tuple(10.0**e for e in range(-3, 4))
GAP = 1e-3
SMOOTHINGS = (0.0, 1e-3, 1e-2, 1e-1)
REFERENCES = ("fw", "away", "pairwise")


def model(kind: str, k: int, C: float, n_rows: int, **options: Any) -> TopKSVC:
    if kind == "pseudo":
        options["loss"] = "pseudo"
    else:
        options["weights"] = kind
    options.setdefault("callback", lambda check: check.gap <= GAP * C * n_rows)
    return TopKSVC(k, C=C, tol=1e-9, **options)


def accuracies(estimator: TopKSVC, X: Any, y: np.ndarray, n_classes: int) -> np.ndarray:
    return np.array([estimator.top_k_score(X, y, k) if k < n_classes else 1.0 for k in SHOWN])


def accuracy(settings: Settings, name: str, kind: str, trained_k: str) -> Iterator[Record]:
    """Test accuracies; C is chosen by 3-fold cross-validation for each of them."""
    data = classes(name)
    kept = subset(len(data.y), settings.rows, 0)
    X, y = data.X[kept], data.y[kept]
    n_classes = len(np.unique(y))
    folds = StratifiedKFold(3, shuffle=True, random_state=0).split(X, y)
    grid = GRID_C[2:4] if settings.quick else GRID_C
    means = {C: np.zeros(len(SHOWN)) for C in grid}
    for train, test in list(folds)[: settings.folds]:
        for C in grid:
            estimator = model(kind, int(trained_k), C, len(train))
            estimator.fit(X[train], y[train])
            means[C] += accuracies(estimator, X[test], y[test], n_classes)
    final: dict[float, np.ndarray] = {}
    for i, k in enumerate(SHOWN):
        C = choose(lambda C, i=i: means[C][i], grid, lambda C: abs(np.log(C)))
        if C not in final:
            estimator = model(kind, int(trained_k), C, len(y)).fit(X, y)
            final[C] = accuracies(estimator, data.X_test, data.y_test, n_classes)
        yield "accuracy", k, float(final[C][i])
        yield "C", k, C


def trace(
    settings: Settings, name: str, solver: str, kind: str, k: str, smoothing: str
) -> Iterator[Record]:
    """Duality gap against time, C = 1 (the paper's lambda = 1/n), to 1e-5 or the limit."""
    data = classes(name)
    kept = subset(len(data.y), settings.rows, 0)
    X, y = data.X[kept], data.y[kept]
    n = len(y)
    clock = Clock(settings.limit, enough=lambda check: check.gap <= 1e-5, unit=n).start()
    options = {"solver": solver, "smoothing": float(smoothing), "callback": clock}
    estimator = model(kind, int(k), 1.0, n, **options)
    estimator.fit(X, y)
    yield from clock.records()
    if kind == "pseudo":
        # Its dual is feasible for the true problem: this gap is what remains for ever.
        yield "true primal", "", true_objective(estimator, X, y, int(k))


def true_objective(estimator: TopKSVC, X: Any, y: np.ndarray, k: int) -> float:
    """Regularised flat top-k hinge of a fitted model at C = 1, in the paper's unit."""
    scores = X @ estimator.coef_.T
    rows = np.arange(len(y))
    place = np.searchsorted(estimator.classes_, y)
    margins = 1.0 + scores - scores[rows, place][:, None]
    margins[rows, place] = 0.0
    top = -np.partition(-margins, k - 1, axis=1)[:, :k]
    loss = np.maximum(top.mean(axis=1), 0.0).mean()
    return float(0.5 * np.vdot(estimator.coef_, estimator.coef_) / len(y) + loss)


def accuracy_cells(settings: Settings) -> Iterable[tuple]:
    for k, name in product(SHOWN, settings.sets):
        if name == "satimage" and k > 5:
            continue  # six classes
        for kind in KINDS:
            yield name, kind, k


def solver_cells(settings: Settings) -> Iterable[tuple]:
    for name in settings.sets:
        solvers = ["auto", "block", "block_fw", *REFERENCES]
        for solver in solvers:
            yield name, solver, "flat", 3, 0.0
        yield name, "auto", "pseudo", 3, 0.0
        for kind in ("linear", "exp"):
            yield name, "auto", kind, 3, 0.0
            yield name, "fw", kind, 3, 0.0


def smoothing_cells(settings: Settings) -> Iterable[tuple]:
    for name in settings.sets:
        for solver, smoothing in product((*REFERENCES, "auto"), SMOOTHINGS):
            yield name, solver, "flat", 3, smoothing


QUICK = Settings((QUICK_CLASSES,), trials=1, folds=1, limit=0.05, rows=120, quick=True)
TRACE_KEYS = ("set", "solver", "weights", "k", "smoothing")

TABLES = (
    Table(
        name="topk-accuracy",
        title="Seed 001, Tables 1, 6 and 7: top-k accuracies",
        source=SOURCE,
        keys=("set", "weights", "k"),
        cells=accuracy_cells,
        run=accuracy,
        show=topk_pages.show_accuracy,
        full=Settings(SETS, trials=1, folds=3, limit=0.0, rows=1_000_000),
        quick=QUICK,
    ),
    Table(
        name="topk-gap",
        title="Seed 001, Figures 2 and 4: duality gap against time",
        source=SOURCE,
        keys=TRACE_KEYS,
        cells=solver_cells,
        run=trace,
        show=topk_pages.show_gap,
        full=Settings(SETS, trials=1, folds=1, limit=60.0, rows=1_000_000),
        quick=QUICK,
    ),
    Table(
        name="topk-smoothing",
        title="Seed 001, Figure 3: effect of smoothing",
        source=SOURCE,
        keys=TRACE_KEYS,
        cells=smoothing_cells,
        run=trace,
        show=topk_pages.show_smoothing,
        full=Settings(("news20", "news20_short"), trials=1, folds=1, limit=60.0, rows=1_000_000),
        quick=QUICK,
    ),
)
