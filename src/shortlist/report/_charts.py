"""Charts as inline SVG, placed in percent: one drawing fits a telephone, a screen and paper.

Lines are drawn in a nested picture that is stretched to the frame, with strokes that are
not; text and marks sit at percentages of the frame and keep their size.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ._figures import Figures
from ._html import Html, element, join
from ._scale import Scale, Ticks
from ._words import count, percent

if TYPE_CHECKING:
    from ..picking.comparison import Entry


def budget_charts(fig: Figures, k: int, winner: str, baseline: str | None, confidence: str) -> Html:
    """Draw the hits and the precision against the budget, side by side where there is room.

    `baseline` is None where it is the winner itself.
    """
    values, places = fig.values, fig.places
    x_ticks = fig.scales["budget"].ticks(7)
    charts = []
    for name, title, write, divide in (
        ("hits", "Hits expected", count, np.ones_like(values["k"])),
        ("precision", "Precision: share of the list that are hits", percent, values["k"]),
    ):
        scale = fig.scales[name]
        low, high, other = (
            100 - scale.place(values[side] / divide) for side in ("low", "high", "baseline")
        )
        shapes = join(
            area(places["x"], low, high, "band"),
            None if baseline is None else curve(places["x"], other, "line other"),
            curve(places["x"], places[f"{name}_y"], "line winner"),
        )
        y_ticks = scale.ticks(5)
        if name == "precision":
            y_ticks = [(at, f"{100 * float(label):.4g} %") for at, label in y_ticks]
        known = [
            f"{write(fig.at('hits', at) / (at if name == 'precision' else 1))} at {at:,}"
            for at in sorted({1, k, int(values["k"][-1])})
        ]
        rival = "" if baseline is None else f" and for {baseline}"
        label = (
            f"{title} against the budget, for {winner} with its {confidence} interval{rival}. "
            f"{winner}: {', '.join(known)}."
        )
        marks = join(
            mark_line("x", fig.place("x", k)),
            element(
                "circle",
                class_="mark",
                r=5,
                cx=pc(fig.place("x", k)),
                cy=pc(fig.place(f"{name}_y", k)),
                data_move=f"cx:x cy:{name}_y",
            ),
        )
        drawing = frame(label, shapes, marks, x_ticks, y_ticks, "Budget: candidates you handle")
        charts.append(figure(title, drawing))
    entries = [(swatch("line winner", band=True), f"{winner}, with its {confidence} interval")]
    if baseline is not None:
        entries.append((swatch("line other"), baseline))
    key = legend(*entries, (swatch("mark-line", dot=True), "the budget"))
    return join(key, element("div", *charts, class_="charts"))


def density_chart(fig: Figures, k: int, score: str) -> Html:
    """Draw the score densities of both classes, with the cut."""
    scale, density = fig.scales["score"], fig.density
    tallest = max(density["positive"].max(), density["other"].max()) * 1.05
    x = scale.place(density["grid"])
    shapes = []
    for side in ("other", "positive"):
        y = 100 - 100 * density[side] / tallest
        shapes += [
            area(x, np.full_like(y, 100.0), y, f"fill {side}"),
            curve(x, y, f"line {side}"),
        ]
    label = (
        f"Densities of the {score} of positives and of the others in the history, with the cut "
        f"at a budget of {k:,}: {percent(fig.at('found', k))} of the positives and "
        f"{percent(fig.at('taken', k))} of the others lie above it."
    )
    drawing = frame(
        label, join(*shapes), mark_line("cut_x", fig.place("cut_x", k)), scale.ticks(5), [], score
    )
    key = legend(
        (swatch("line positive"), "positives"),
        (swatch("line other"), "others"),
        (swatch("mark-line", dot=False), "the cut"),
    )
    return join(key, figure("Density of the scores, each class with area 1", drawing))


def interval_strip(entry: Entry, scale: Scale, baseline_hits: float) -> Html:
    """Draw one interval on a shared scale: the picture inside a row of the comparison."""
    low, high, at, zero = (
        float(np.clip(scale.place(value), 0, 100))
        for value in (entry.low, entry.high, entry.hits, baseline_hits)
    )
    kind = "winner" if entry.is_winner else "baseline" if entry.is_baseline else "plain"
    return element(
        "svg",
        *(
            element("line", class_="grid", x1=pc(tick), x2=pc(tick), y1="0", y2="100%")
            for tick, _ in scale.ticks(5)
        ),
        element("line", class_="reference", x1=pc(zero), x2=pc(zero), y1="0", y2="100%"),
        element("line", class_=f"range {kind}", x1=pc(low), x2=pc(high), y1="50%", y2="50%"),
        element(
            "circle", class_=f"point {kind}", cx=pc(at), cy="50%", r=6 if kind != "plain" else 4
        ),
        class_="strip",
        aria_hidden="true",
    )


def strip_axis(scale: Scale) -> Html:
    """Draw the ticks below a column of strips."""
    ticks = [
        element("text", label, x=pc(at), y="14", text_anchor="middle", class_="tick")
        for at, label in scale.ticks(5)
    ]
    return element("svg", *ticks, class_="strip axis", aria_hidden="true")


def frame(
    label: str, shapes: Html, marks: Html, x_ticks: Ticks, y_ticks: Ticks, x_title: str
) -> Html:
    """Return a chart: grid, ticks, lines, marks."""
    grid = [
        element("line", class_="grid", x1="0", x2="100%", y1=pc(100 - at), y2=pc(100 - at))
        for at, _ in y_ticks
    ]
    y_labels = [
        element("text", text, x="-8", y=pc(100 - at), dy="0.35em", text_anchor="end", class_="tick")
        for at, text in y_ticks
    ]
    x_labels = [
        join(
            element("line", class_="grid", x1=pc(at), x2=pc(at), y1="0", y2="100%"),
            element("text", text, x=pc(at), y="100%", dy="18", text_anchor="middle", class_="tick"),
        )
        for at, text in x_ticks
    ]
    return element(
        "svg",
        *grid,
        *x_labels,
        element(
            "svg",
            shapes,
            viewBox="0 0 100 100",
            preserveAspectRatio="none",
            width="100%",
            height="100%",
        ),
        element("line", class_="axis", x1="0", x2="100%", y1="100%", y2="100%"),
        *y_labels,
        element("text", x_title, x="50%", y="100%", dy="38", text_anchor="middle", class_="title"),
        marks,
        class_="plot" if y_ticks else "plot bare",
        role="img",
        aria_label=label,
    )


def figure(title: str, drawing: Html) -> Html:
    """Return a chart under its title."""
    return element("figure", element("figcaption", title), drawing)


def curve(x: np.ndarray, y: np.ndarray, class_: str) -> Html:
    """Return a line through points in percent."""
    return element("polyline", points=_points(x, y), class_=class_)


def area(x: np.ndarray, low: np.ndarray, high: np.ndarray, class_: str) -> Html:
    """Return the area between two lines."""
    outline = _points(np.append(x, x[::-1]), np.append(high, low[::-1]))
    return element("polygon", points=outline, class_=class_)


def mark_line(field: str, at: float) -> Html:
    """Return the vertical line that follows the slider."""
    return element(
        "line",
        class_="mark-line",
        x1=pc(at),
        x2=pc(at),
        y1="0",
        y2="100%",
        data_move=f"x1:{field} x2:{field}",
    )


def legend(*entries: tuple[Html, str]) -> Html:
    """Return what the lines mean."""
    return element("ul", *(element("li", *entry) for entry in entries), class_="legend")


def swatch(class_: str, band: bool = False, dot: bool = False) -> Html:
    """Return a sample of a line for the legend."""
    return element(
        "svg",
        element("rect", class_="band", width="100%", height="100%") if band else None,
        element("line", class_=class_, x1="0", x2="100%", y1="50%", y2="50%"),
        element("circle", class_="mark", cx="50%", cy="50%", r=4) if dot else None,
        class_="swatch",
        aria_hidden="true",
    )


def pc(value: float) -> str:
    """Write a place as a percentage of the frame."""
    return f"{value:.2f}%"


def _points(x: np.ndarray, y: np.ndarray) -> str:
    return " ".join(f"{a:.2f},{b:.2f}" for a, b in zip(x, y, strict=True))
