"""What all displays share: colours, dashes, markers, and matplotlib when it is needed."""

from __future__ import annotations

from typing import Any

import numpy as np

BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY, BLACK = (
    "#0072B2",
    "#D55E00",
    "#009E73",
    "#CC79A7",
    "#E69F00",
    "#56B4E9",
    "#000000",
)
COLORS = (BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY, BLACK)
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
GREY = "#4D4D4D"


def pyplot() -> Any:
    """Import matplotlib, or say how to install it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            'Drawing needs matplotlib. Install it with: pip install "shortlist[plot]"'
        ) from error
    return plt


def axes_or_new(ax: Any, **figure_options: Any) -> Any:
    """Return the axes to draw in, new ones unless the user gave some."""
    plt = pyplot()
    if ax is not None:
        return ax
    return plt.subplots(layout="constrained", **figure_options)[1]


def spread_marks(x: np.ndarray, scale: str, number: int = 8, shift: int = 0) -> list[int]:
    """Positions of a few markers, evenly spaced as the axis shows them.

    `shift` moves the markers of the next line, so that lines on top of each
    other still show both shapes.
    """
    if len(x) <= number:
        return list(range(len(x)))
    shown = np.log(np.maximum(x, np.finfo(float).tiny)) if scale == "log" else x
    offset = (0.5 + 0.37 * shift) % 1
    wanted = shown[0] + (np.arange(number) + offset) / number * (shown[-1] - shown[0])
    return sorted(set(np.clip(np.searchsorted(shown, wanted), 0, len(x) - 1).tolist()))


def finish(ax: Any, xlabel: str, ylabel: str) -> None:
    """Label the axes and take away what carries no information."""
    ax.set(xlabel=xlabel, ylabel=ylabel)
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(True, color="0.9", linewidth=0.6)
    ax.set_axisbelow(True)


def legend_above(ax: Any, title: str | None = None, **options: Any) -> None:
    """Put the legend above the axes, where it hides no curve."""
    inches = ax.get_window_extent().width / ax.figure.dpi
    settings = {"ncols": 2 if inches > 4.5 else 1, "fontsize": "small", "frameon": False}
    ax.legend(
        loc="lower left",
        bbox_to_anchor=(0, 1),
        title=title,
        alignment="left",
        **(settings | options),
    )
