"""Pages and plots of seed 001, and the figures it prints."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from shortlist.certificate import Certificate
from shortlist.display._style import COLORS, MARKERS, finish, pyplot, spread_marks

from .kernel_pages import save
from .runner import certificate, markdown

SHOWN = (1, 3, 5, 10)

# Kato, Hirohashi (2019), Tables 6 and 7: top-1, 3, 5, 10 accuracy. Pseudo: Lapin's solver.
PAPER = {
    ("letter", "flat", 1): (0.756, 0.892, 0.937, 0.984),
    ("letter", "flat", 3): (0.759, 0.900, 0.944, 0.984),
    ("letter", "flat", 5): (0.725, 0.910, 0.951, 0.987),
    ("letter", "flat", 10): (0.650, 0.898, 0.961, 0.994),
    ("letter", "linear", 1): (0.756, 0.892, 0.937, 0.984),
    ("letter", "linear", 3): (0.766, 0.891, 0.941, 0.983),
    ("letter", "linear", 5): (0.756, 0.857, 0.934, 0.985),
    ("letter", "linear", 10): (0.713, 0.909, 0.955, 0.991),
    ("letter", "exp", 1): (0.756, 0.892, 0.937, 0.984),
    ("letter", "exp", 3): (0.765, 0.884, 0.943, 0.984),
    ("letter", "exp", 5): (0.744, 0.905, 0.947, 0.986),
    ("letter", "exp", 10): (0.688, 0.908, 0.957, 0.991),
    ("letter", "pseudo", 1): (0.760, 0.887, 0.925, 0.973),
    ("letter", "pseudo", 3): (0.761, 0.901, 0.940, 0.978),
    ("letter", "pseudo", 5): (0.747, 0.906, 0.945, 0.981),
    ("letter", "pseudo", 10): (0.735, 0.907, 0.951, 0.988),
    ("news20", "flat", 1): (0.666, 0.870, 0.921, 0.973),
    ("news20", "flat", 3): (0.664, 0.874, 0.926, 0.972),
    ("news20", "flat", 5): (0.656, 0.876, 0.927, 0.975),
    ("news20", "flat", 10): (0.621, 0.867, 0.929, 0.975),
    ("news20", "linear", 1): (0.666, 0.870, 0.921, 0.973),
    ("news20", "linear", 3): (0.665, 0.871, 0.925, 0.972),
    ("news20", "linear", 5): (0.665, 0.872, 0.925, 0.973),
    ("news20", "linear", 10): (0.650, 0.872, 0.929, 0.976),
    ("news20", "exp", 1): (0.666, 0.870, 0.921, 0.973),
    ("news20", "exp", 3): (0.666, 0.872, 0.924, 0.973),
    ("news20", "exp", 5): (0.662, 0.875, 0.926, 0.974),
    ("news20", "exp", 10): (0.641, 0.873, 0.929, 0.976),
    ("news20", "pseudo", 1): (0.656, 0.837, 0.900, 0.964),
    ("news20", "pseudo", 3): (0.653, 0.860, 0.911, 0.969),
    ("news20", "pseudo", 5): (0.657, 0.867, 0.920, 0.970),
    ("news20", "pseudo", 10): (0.655, 0.875, 0.926, 0.972),
}
# Section 7.1: seconds of the standard Frank-Wolfe method on News20.
PAPER_SECONDS = {("news20", "fw", 1e-3): 62.17, ("news20", "fw", 1e-5): 1102.35}
PAPER_SECONDS |= {("news20", "pairwise", 1e-3): 172.56}


def show_accuracy(rows: pd.DataFrame, folder: Path) -> str:
    found = rows[rows["what"] == "accuracy"].copy()
    found["x"] = found["x"].astype(float).astype(int)
    found["k"] = found["k"].astype(int)
    wide = found.pivot_table(index=["set", "weights", "k"], columns="x", values="value", sort=False)
    wide = wide.reindex(columns=SHOWN)
    text = "The best k for each column (Table 1), ours / paper:\n\n"
    best = wide.groupby(["set", "weights"], sort=False).max()
    lines = []
    for (name, kind), row in best.iterrows():
        paper = np.array([v for key, v in PAPER.items() if key[:2] == (name, kind)])
        top = paper.max(axis=0) if len(paper) else [None] * 4
        lines.append([name, kind, *(_pair(row[k], p) for k, p in zip(SHOWN, top, strict=True))])
    header = ["set", "weights", *(f"top-{k}" for k in SHOWN)]
    text += markdown(header, lines)
    text += "\nEvery k (Tables 6 and 7), ours / paper:\n\n"
    lines = []
    for (name, kind, k), row in wide.iterrows():
        paper = PAPER.get((name, kind, k), [None] * 4)
        pairs = (_pair(row[shown], p) for shown, p in zip(SHOWN, paper, strict=True))
        lines.append([name, kind, k, *pairs])
    return text + markdown(["set", "weights", "k", *header[2:]], lines)


def _pair(ours: float, paper: float | None) -> str:
    return f"{ours:.3f}" + ("" if paper is None else f" / {paper:.3f}")


def traces(rows: pd.DataFrame) -> dict[tuple[str, ...], Certificate]:
    keys = ["set", "solver", "weights", "k", "smoothing"]
    return {tuple(key): certificate(part, tol=0.0) for key, part in rows.groupby(keys, sort=False)}


def reached(trace: Certificate, gap: float) -> str:
    """CPU seconds at which a gap was first seen."""
    for check in trace.trace:
        if check.gap <= gap:
            return f"{check.seconds:.2f}"
    return f"> {trace.trace[-1].seconds:.0f}"


def show_gap(rows: pd.DataFrame, folder: Path) -> str:
    found = traces(rows)
    stuck = {
        key: value
        for *key, value in rows[rows["what"] == "true primal"][["set", "k", "value"]].itertuples(
            index=False
        )
        for key in [tuple(key)]
    }
    lines = []
    for (name, solver, kind, k, _), trace in found.items():
        line = [name, solver, kind, trace.trace[-1].iteration]
        for gap in (1e-3, 1e-5):
            paper = PAPER_SECONDS.get((name, solver, gap)) if kind == "flat" else None
            line += [reached(trace, gap), "" if paper is None else f"{paper:.0f}"]
        remains = stuck[name, k] - trace.dual if kind == "pseudo" else trace.gap
        lines.append([*line, f"{remains:.1e}"])
    header = ["set", "solver", "weights", "iterations", "s to 1e-3", "paper", "s to 1e-5", "paper"]
    text = markdown([*header, "gap of the top-k hinge at the end"], lines) + "\n"
    sets = list(dict.fromkeys(key[0] for key in found))
    figure, axes = pyplot().subplots(
        2, len(sets), figsize=(4.4 * len(sets), 7), layout="constrained", squeeze=False
    )
    for column, name in zip(axes.T, sets, strict=True):
        flat = {s: c for (n, s, w, *_), c in found.items() if n == name and w == "flat"}
        _draw(column[0], flat, "seconds")
        for (n, k), primal in stuck.items():
            if n == name:
                dual = found[name, "auto", "pseudo", k, "0.0"].dual
                column[0].axhline(primal - dual, color="black", ls=":", label="pseudo, for ever")
        column[0].set_title(f"{name}, flat, k = 3", fontsize="medium")
        column[0].legend(fontsize="x-small")
        kinds = {w: c for (n, s, w, *_), c in found.items() if n == name and s == "fw"}
        _draw(column[1], kinds, "iteration")
        column[1].set_title(f"{name}, fw, three weights", fontsize="medium")
        column[1].legend(fontsize="x-small")
    return text + save(figure, folder, "topk-gap")


def show_smoothing(rows: pd.DataFrame, folder: Path) -> str:
    found = traces(rows)
    sets = list(dict.fromkeys(key[0] for key in found))
    solvers = list(dict.fromkeys(key[1] for key in found))
    figure, axes = pyplot().subplots(
        len(sets),
        len(solvers),
        figsize=(3.4 * len(solvers), 3.2 * len(sets)),
        layout="constrained",
        sharey=True,
        squeeze=False,
    )
    lines = []
    for (i, name), (j, solver) in product(enumerate(sets), enumerate(solvers)):
        part = {key[4]: c for key, c in found.items() if key[:2] == (name, solver)}
        _draw(axes[i, j], {f"smoothing {s}": c for s, c in part.items()}, "iteration")
        axes[i, j].set_title(f"{name}, {solver}", fontsize="medium")
        if part:
            axes[i, j].legend(fontsize="x-small")
        lines += [
            [
                name,
                solver,
                s,
                c.trace[-1].iteration,
                first(c, 1e-3),
                reached(c, 1e-3),
                f"{c.gap:.1e}",
            ]
            for s, c in part.items()
        ]
    header = ["set", "solver", "smoothing", "iterations", "iterations to 1e-3", "s to 1e-3"]
    return markdown([*header, "gap at end"], lines) + "\n" + save(figure, folder, "topk-smoothing")


def first(trace: Certificate, gap: float) -> str:
    """Return the iteration at which a gap was first seen among the kept checks."""
    return next((str(c.iteration) for c in trace.trace if c.gap <= gap), "")


def _draw(ax: Any, named: dict[str, Certificate], along: str) -> None:
    ax.set_xscale("log")
    ax.set_yscale("log")
    for i, (label, trace) in enumerate(named.items()):
        x = np.maximum(getattr(trace.trace, along), 1e-3 if along == "seconds" else 1)
        gap = np.maximum(trace.trace.primal - trace.trace.dual, 1e-16)
        ax.plot(
            x,
            gap,
            color=COLORS[i % len(COLORS)],
            marker=MARKERS[i % len(MARKERS)],
            markevery=spread_marks(x, "log", shift=i),
            markersize=4,
            label=label,
        )
    ax.set_ylim(bottom=5e-7)
    finish(ax, "CPU seconds" if along == "seconds" else along, "duality gap")
