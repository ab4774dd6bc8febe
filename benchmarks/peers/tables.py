"""Ranks, critical differences, wins and losses, from the finished cells."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

BASELINE = "logistic regression"
TIE = 0.005


def grid(rows: Sequence[dict[str, str]], column: str) -> tuple[list[str], list[str], np.ndarray]:
    """Return sets, models and the mean over splits, for sets that every model finished."""
    cells: dict[tuple[str, str], list[float]] = {}
    for row in rows:
        cells.setdefault((row["set"], row["model"]), []).append(float(row[column]))
    models = list(dict.fromkeys(row["model"] for row in rows))
    sets = list(dict.fromkeys(row["set"] for row in rows))
    # A set counts once all its splits are there, for all models.
    most = {s: max(len(cells.get((s, m), [])) for m in models) for s in sets}
    sets = [s for s in sets if all(len(cells.get((s, m), [])) == most[s] for m in models)]
    values = np.array([[np.mean(cells[s, m]) for m in models] for s in sets])
    return sets, models, values


def mean_ranks(values: np.ndarray) -> np.ndarray:
    """Mean rank of every model over the sets; 1 is best, ties share."""
    return stats.rankdata(-values.round(6), axis=1).mean(axis=0)


def critical_difference(n_models: int, n_sets: int, alpha: float = 0.05) -> float:
    """Return Nemenyi's smallest difference of mean ranks that is not noise (Demšar 2006)."""
    quantile = stats.studentized_range.ppf(1 - alpha, n_models, np.inf) / np.sqrt(2)
    return float(quantile * np.sqrt(n_models * (n_models + 1) / (6 * n_sets)))


def against_baseline(values: np.ndarray, models: list[str]) -> list[dict[str, Any]]:
    """Wins, ties and losses over sets, and the mean difference with a bootstrap interval."""
    base = values[:, models.index(BASELINE)]
    rng = np.random.default_rng(0)
    resamples = rng.integers(len(values), size=(10_000, len(values)))
    lines = []
    for name, column in zip(models, values.T, strict=True):
        difference = column - base
        low, high = np.quantile(difference[resamples].mean(axis=1), [0.025, 0.975])
        lines.append(
            {
                "win": int((difference > TIE).sum()),
                "tie": int((np.abs(difference) <= TIE).sum()),
                "loss": int((difference < -TIE).sum()),
                "difference": float(difference.mean()),
                "low": float(low),
                "high": float(high),
                "model": name,
            }
        )
    return lines


def markdown(rows: Sequence[dict[str, str]], columns: dict[str, str], ours: set[str]) -> str:
    """Summary over sets for each quality column, then every set's values."""
    parts = []
    for column, title in columns.items():
        sets, models, values = grid(rows, column)
        if not sets:
            continue
        ranks = mean_ranks(values)
        friedman = stats.friedmanchisquare(*values.T).pvalue if len(sets) > 2 else np.nan
        parts.append(
            f"### {title}\n\n{len(sets)} sets; Friedman p = {friedman:.2g}; mean ranks that "
            f"differ by less than {critical_difference(len(models), len(sets)):.1f} may be "
            "noise (Nemenyi, 5 %).\n"
        )
        parts.append(
            f"| model | mean rank | mean | against {BASELINE} (95 %) | win / tie / loss |\n"
            "|---|---|---|---|---|"
        )
        lines = {line["model"]: line for line in against_baseline(values, models)}
        for i in np.argsort(ranks, kind="stable"):
            line = lines[models[i]]
            name = f"**{models[i]}**" if models[i] in ours else models[i]
            parts.append(
                f"| {name} | {ranks[i]:.1f} | {values[:, i].mean():.3f} "
                f"| {line['difference']:+.3f} ({line['low']:+.3f} to {line['high']:+.3f}) "
                f"| {line['win']} / {line['tie']} / {line['loss']} |"
            )
        parts.append(f"\n<details><summary>{title}, set by set</summary>\n")
        parts.append("| model | " + " | ".join(sets) + " |\n|---" + "|---" * len(sets) + "|")
        best = values.max(axis=1)
        for name, column_values in zip(models, values.T, strict=True):
            cells = [
                f"**{value:.3f}**" if value == top else f"{value:.3f}"
                for value, top in zip(column_values, best, strict=True)
            ]
            parts.append(f"| {name} | " + " | ".join(cells) + " |")
        parts.append("\n</details>\n")
    return "\n".join(parts)


def times(rows: Sequence[dict[str, str]]) -> str:
    """Geometric means of CPU seconds over sets, and their ratio to the baseline."""
    parts = [
        f"| model | fit | predict | tuning | fit, times {BASELINE} |",
        "|---|---|---|---|---|",
    ]
    tables = {column: grid(rows, column) for column in ("fit_s", "predict_s", "tune_s")}
    models = tables["fit_s"][1]
    logs = {column: np.log(np.maximum(t[2], 1e-5)).mean(axis=0) for column, t in tables.items()}
    base = logs["fit_s"][models.index(BASELINE)]
    for i in np.argsort(logs["fit_s"]):
        cells = " | ".join(f"{np.exp(logs[c][i]):.3g} s" for c in tables)
        parts.append(f"| {models[i]} | {cells} | {np.exp(logs['fit_s'][i] - base):.2g}x |")
    return "\n".join(parts)


def rank_plot(
    rows: Sequence[dict[str, str]], columns: dict[str, str], ours: set[str], path: Path
) -> None:
    """Draw the mean ranks, one panel a metric, with the critical difference as a bar."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, panels = plt.subplots(1, len(columns), figsize=(4.6 * len(columns), 5), squeeze=False)
    for panel, (column, title) in zip(panels[0], columns.items(), strict=True):
        sets, models, values = grid(rows, column)
        ranks = mean_ranks(values)
        order = np.argsort(-ranks, kind="stable")
        colours = ["#0b6e99" if models[i] in ours else "#9a9a9a" for i in order]
        panel.hlines(np.arange(len(order)), ranks.min(), ranks[order], color=colours, lw=1)
        panel.scatter(ranks[order], np.arange(len(order)), color=colours, zorder=3)
        panel.set_yticks(np.arange(len(order)), [models[i] for i in order])
        for label, i in zip(panel.get_yticklabels(), order, strict=True):
            label.set_weight("bold" if models[i] in ours else "normal")
        distance = critical_difference(len(models), len(sets))
        top = len(order) - 0.2
        panel.plot([ranks.min(), ranks.min() + distance], [top, top], color="k", lw=2)
        panel.annotate(f"critical difference, {len(sets)} sets", (ranks.min(), top + 0.2), size=8)
        panel.set(title=title, xlabel="mean rank (1 is best)", ylim=(-0.7, len(order) + 0.8))
        panel.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    figure.savefig(path, dpi=100)
    plt.close(figure)
