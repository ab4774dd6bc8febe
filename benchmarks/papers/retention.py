"""Seed 002: the order of retention times, and the gap that "never approaches a threshold".

The document prints no figures of accuracy; the data are those its author published with the
program. Rows are compared only within one chromatographic system.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.model_selection import KFold
from sklearn.preprocessing import StandardScaler

from shortlist import RankSVM
from shortlist.display._style import COLORS, finish, pyplot
from shortlist.metrics import pairwise_accuracy

from .kernel_pages import save
from .runner import Clock, Record, Settings, Table, certificate, choose, markdown
from .sets import QUICK_ORDER, order, shuffled

SOURCE = "E. Bach, *ROSVM package, mathematical background*, 2020."
SET = "retention_eccb2018"
MODELS = ("linear", "minmax", "minmax, 16 ranks")
SCOPES = ("all systems", "one system")
GRID_C = (0.01, 0.1, 1.0, 10.0, 100.0)
# The document's rule: stop when the gap has fallen to this share of its first value.
RELATIVE_RULE = 0.005
# Its C weighs every pair; these are the values of the table.
PUBLISHED_C = (1 / 16, 1 / 4, 4.0)


def model(kind: str, C: float, **options: Any) -> RankSVM:
    kernel, *ranks = kind.split(", ")
    distance = 16 if ranks else None
    return RankSVM(C, kernel=kernel, max_rank_distance=distance, tol=1e-3, **options)


def features(kind: str, X: np.ndarray, train: np.ndarray) -> np.ndarray:
    """Return counts for minmax, columns of unit variance for a linear model."""
    return StandardScaler().fit(X[train]).transform(X) if kind == "linear" else X


def accuracy(settings: Settings, name: str, trial: str, scope: str, kind: str) -> Iterator[Record]:
    """Pairwise accuracy per system, 5-fold; C by cross-validation inside the training part."""
    X, y, system = order(name)
    kept = np.sort(shuffled(len(y), 0)[: settings.rows])
    X, y, system = X[kept], y[kept], system[kept]
    scores, fold_of = np.zeros(len(y)), np.zeros(len(y), dtype=int)
    groups = [np.arange(len(y))]
    if scope == "one system":
        groups = [np.flatnonzero(system == s) for s in np.unique(system)]
    grid = GRID_C[1:3] if settings.quick else GRID_C
    for rows in groups:
        split = KFold(5, shuffle=True, random_state=int(trial)).split(rows)
        for fold, (a, b) in enumerate(split):
            train, test = rows[a], rows[b]
            Z = features(kind, X, train)
            inner = list(KFold(3, shuffle=True, random_state=0).split(train))[: settings.folds]

            def score(C: float, Z: Any = Z, train: Any = train, inner: Any = inner) -> float:
                values = []
                for i, j in inner:
                    i, j = train[i], train[j]
                    estimator = model(kind, C).fit(Z[i], y[i], qid=system[i])
                    values.append(estimator.score(Z[j], y[j], qid=system[j]))
                return float(np.mean(values))

            C = choose(score, grid, lambda C: abs(np.log(C)))
            estimator = model(kind, C).fit(Z[train], y[train], qid=system[train])
            scores[test], fold_of[test] = estimator.predict(Z[test]), fold
    for s in np.unique(system):
        here = system == s
        yield "accuracy", str(s), pairwise_accuracy(y[here], scores[here], qid=fold_of[here])


def trace(settings: Settings, name: str, C: str, solver: str) -> Iterator[Record]:
    """Primal and dual of the published sum over pairs, minmax kernel."""
    X, y, system = order(name)
    kept = np.sort(shuffled(len(y), 0)[: settings.rows])
    clock = Clock(settings.limit).start()
    estimator = RankSVM(
        float(C),
        kernel="minmax",
        normalize=False,
        solver=solver,
        tol=1e-7,
        callback=clock,
    )
    estimator.fit(X[kept], y[kept], qid=system[kept])
    yield from clock.records()
    # The kept checks are spread on a logarithmic axis: note the published stop exactly.
    for check in clock.checks:
        if check.gap <= RELATIVE_RULE * clock.checks[0].gap:
            yield "rule iteration", "", float(check.iteration)
            yield "rule gap", "", check.relative_gap
            yield "rule excess", "", check.gap / max(check.dual, 1e-300)
            break


def accuracy_cells(settings: Settings) -> Iterable[tuple]:
    for trial, name in product(range(settings.trials), settings.sets):
        for scope, kind in product(SCOPES, MODELS):
            yield name, trial, scope, kind


def trace_cells(settings: Settings) -> Iterable[tuple]:
    yield from product(settings.sets, PUBLISHED_C, ("newton", "fw"))


def show_accuracy(rows: pd.DataFrame, folder: Path) -> str:
    repeats = rows.groupby(["scope", "model"])["trial"].nunique()
    table = rows.groupby(["scope", "model", "x"], sort=False)["value"].agg(["mean", "std"])
    systems = list(dict.fromkeys(rows["x"]))
    lines = []
    for scope, kind in dict.fromkeys((s, m) for s, m, _ in table.index):
        part = table.loc[scope, kind]
        cells = [f"{part['mean'][s]:.3f} ± {np.nan_to_num(part['std'][s]):.3f}" for s in systems]
        lines.append([scope, kind, repeats[scope, kind], *cells, f"{part['mean'].mean():.3f}"])
    header = ["trained on", "model", "repeats", *systems, "mean"]
    return markdown(header, lines) + (
        "\nShare of the pairs of one system and one test fold in the right order; mean ± "
        "standard deviation over the repeats of 5-fold cross-validation.\n"
    )


def show_gap(rows: pd.DataFrame, folder: Path) -> str:
    figure, axes = pyplot().subplots(1, 2, figsize=(9, 3.8), sharey=True, layout="constrained")
    lines = []
    keys = rows.groupby(["C", "solver"], sort=False)
    for number, ((C, solver), part) in enumerate(keys):
        found = certificate(part, tol=1e-7)
        rule = part.set_index("what")["value"]
        last = found.trace[-1]
        stop = ["", "", ""]
        if solver == "fw" and "rule gap" in rule:
            stop = [f"{rule['rule iteration']:.0f}", f"{rule['rule gap']:.1%}"]
            stop.append(f"{rule['rule excess']:.1%}")
        end = (last.iteration, f"{last.seconds:.1f}", f"{last.relative_gap:.1e}")
        lines.append([f"{float(C):g}", solver, *end, *stop])
        for ax, along in zip(axes, ("seconds", "iteration"), strict=True):
            x = np.maximum(getattr(found.trace, along), 1e-3 if along == "seconds" else 1)
            ax.plot(
                x,
                np.maximum(found.trace.relative_gap, 1e-9),
                color=COLORS[number // 2 % len(COLORS)],
                linestyle="-" if solver == "newton" else "--",
                label=f"{solver}, C = {float(C):g}",
            )
    for ax, along in zip(axes, ("CPU seconds", "iteration"), strict=True):
        ax.set_xscale("log")
        ax.set_yscale("log")
        finish(ax, along, "relative gap" if along != "iteration" else "")
    axes[0].legend(fontsize="x-small")
    header = ["C", "solver", "iterations", "CPU s", "relative gap at the end"]
    header += ["iteration of h/h0 < 0.005", "gap / primal there", "gap / dual there"]
    return markdown(header, lines) + "\n" + save(figure, folder, "retention-gap")


TABLES = (
    Table(
        name="retention-accuracy",
        title="Seed 002: pairwise accuracy of retention times, per system",
        source=SOURCE,
        keys=("set", "trial", "scope", "model"),
        cells=accuracy_cells,
        run=accuracy,
        show=show_accuracy,
        full=Settings((SET,), trials=5, folds=3, limit=0.0, rows=1_000_000),
        quick=Settings((QUICK_ORDER,), trials=1, folds=1, limit=0.0, rows=80, quick=True),
    ),
    Table(
        name="retention-gap",
        title="Seed 002: the duality gap converges",
        source=SOURCE,
        keys=("set", "C", "solver"),
        cells=trace_cells,
        run=trace,
        show=show_gap,
        full=Settings((SET,), trials=1, folds=1, limit=60.0, rows=1_000_000),
        quick=Settings((QUICK_ORDER,), trials=1, folds=1, limit=0.05, rows=80, quick=True),
    ),
)
