"""The sections of the report, each from a shortlist to markup."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..picking.comparison import COMBINATION
from ._charts import budget_charts, density_chart, interval_strip, strip_axis
from ._figures import Figures
from ._html import Html, element, join
from ._scale import rounded_around
from ._tables import data_table, definitions, listed_rows, scrolling
from ._words import (
    DASH,
    certified,
    combined,
    count,
    duration,
    fixed,
    percent,
    plain,
    sentence,
    signed,
)

if TYPE_CHECKING:
    from ..picking.comparison import Entry
    from ..picking.result import Shortlist

_SHOWN_BUDGETS = 15


def asked(shortlist: Shortlist) -> Html:
    """Say what was given and wanted."""
    s = shortlist
    members = [entry for entry in s.comparison if entry.family != COMBINATION]
    families = dict.fromkeys(entry.family for entry in members)
    return definitions(
        ("Budget", f"{s.k:,} of {s.n_candidates:,} candidates ({percent(s.k / s.n_candidates)})"),
        *_looked_for(s),
        ("Tried", f"{len(members)} models of {len(families)} kinds: {', '.join(families)}"),
        ("Combined", combined(s.comparison)),
        ("Judged by", f"{s.settings['scoring']}, {s.settings['cv']}"),
    )


def _looked_for(s: Shortlist) -> list[tuple[str, str]]:
    if s.expected_hits is None:
        return [
            ("Looked for", f"the largest {s.settings['goal']} of a numeric outcome"),
            ("History", f"{s.n_history:,} rows whose outcome is known"),
        ]
    return [
        ("Looked for", f"rows labelled “{s.positive_label}”"),
        ("History", f"{s.n_history:,} labelled rows, {s.n_positive:,.6g} of them positive"),
    ]


def answer(shortlist: Shortlist, fig: Figures) -> Html:
    """Say what to expect, in one sentence, then in four figures."""
    s, hits = shortlist, shortlist.expected
    if s.expected_hits is None:
        return _sum_answer(s)
    expected = element(
        "p",
        f"Of the {s.k:,} candidates on this list, expect ",
        element("strong", f"{count(hits.value)} hits"),
        f": with {percent(hits.confidence)} probability between {count(hits.low)} and "
        f"{count(hits.high)}.",
        class_="answer",
    )
    tiles = [
        (count(hits.value), "hits expected"),
        (f"{count(hits.low)} to {count(hits.high)}", f"{percent(hits.confidence)} interval"),
        (percent(hits.value / s.k), "precision"),
        (count(fig.at("random", s.k)), "hits by picking at random"),
    ]
    return join(
        expected,
        element("p", sentence(s.verdict), class_="verdict"),
        element(
            "ul",
            *(
                element("li", element("b", value), " ", element("span", what))
                for value, what in tiles
            ),
            class_="tiles",
        ),
        element(
            "p",
            "This holds if the candidates are like the history: drawn in the same way, with the "
            "same share of positives.",
            class_="note",
        ),
        notes("Worth knowing", s.settings["warnings"]),
    )


def _sum_answer(s: Shortlist) -> Html:
    """Say what numeric outcomes to expect."""
    gain = s.expected_gain
    return join(
        element(
            "p",
            f"Of the {len(s.selected):,} candidates on this list, expect ",
            element("strong", f"a {s.settings['goal']} of {count(gain.value)}"),
            f": with {percent(gain.confidence)} probability between {count(gain.low)} and "
            f"{count(gain.high)}.",
            class_="answer",
        ),
        element("p", sentence(s.verdict), class_="verdict"),
        notes("Worth knowing", s.settings["warnings"]),
    )


def the_list(shortlist: Shortlist, rows: Any, fig: Figures) -> Html:
    """Show the first rows of the list."""
    return listed_rows(shortlist, rows, fig)


def comparison(shortlist: Shortlist) -> Html:
    """Compare the best of each kind in a table of drawn intervals; list all below."""
    found = shortlist.comparison
    entries = list(found)
    first = {entry.family: entry for entry in reversed(entries)}
    main = {entry.name for entry in (*first.values(), found.winner, found.baseline)}
    best = [entry for entry in entries if entry.name in main]
    scale = rounded_around(min(e.low for e in best), max(e.high for e in best), 5)
    confidence = percent(shortlist.expected.confidence)
    body = [
        element(
            "tr",
            element(
                "th",
                element("div", _named(entry), interval_strip(entry, scale, found.baseline.hits)),
                scope="row",
            ),
            *_figures_of(entry),
        )
        for entry in best
    ]
    axis = element(
        "tr",
        element("td", element("div", element("span", f"{found.unit} expected"), strip_axis(scale))),
        element("td", colspan=3),
        aria_hidden="true",
    )
    drawn = element(
        "table",
        element(
            "caption",
            f"Best of each kind. Dot: {found.unit} expected; bar: interval; dashed: baseline.",
        ),
        _head("Model", found.unit.capitalize(), f"{confidence} interval", "To baseline"),
        element("tbody", *body, axis),
        class_="comparison",
    )
    complete = data_table(
        f"All {len(entries)} models",
        ("Model", found.unit.capitalize(), "Interval", "To baseline", "Weight", "Time"),
        [
            (
                entry.name,
                count(entry.hits),
                f"{count(entry.low)} to {count(entry.high)}",
                DASH
                if entry.is_baseline
                else signed(entry.shown_difference, entry.difference_error),
                DASH if entry.family == COMBINATION else percent(entry.weight),
                duration(entry.seconds),
            )
            for entry in entries
        ],
    )
    return join(
        scrolling(drawn, "Comparison of the models"),
        element(
            "p",
            "± is half the width of the interval of the difference, paired on the same folds. "
            "The combination ranks the candidates: a weighted mean of the models' log odds. Its "
            "figure on each fold comes from weights that were found on the other folds, so it is "
            "not flattered by the choice of the weights.",
            class_="note",
        ),
        notes("Not tried", [f"{name}: {reason}" for name, reason in found.left_out.items()]),
        complete,
    )


def budget(shortlist: Shortlist, fig: Figures) -> Html:
    """Show what each budget buys, with a slider."""
    s = shortlist
    baseline = None if s.winner == s.baseline else s.baseline
    confidence = percent(s.expected.confidence)
    k = fig.values["k"]
    last = len(k) - 1
    position = min(int(k.searchsorted(s.k)), last)
    controls = element(
        "div",
        element("label", "Budget", for_="budget-slider"),
        element(
            "input",
            type="range",
            id="budget-slider",
            min=0,
            max=last,
            step=1,
            value=position,
            aria_valuetext=f"{s.k:,} candidates",
        ),
        element("label", "as a number", for_="budget-number"),
        element(
            "input",
            type="number",
            id="budget-number",
            min=1,
            max=s.n_candidates,
            step=1,
            value=s.k,
        ),
        element("button", f"Back to {s.k:,}", type="button", id="budget-reset"),
        class_="controls",
        id="budget-controls",
        role="group",
        aria_label="Try another budget",
        hidden=True,
    )

    def show(field: str, write: str, text: str) -> Html:
        return element("strong", text, data_show=f"{field}:{write}")

    against = (
        None
        if baseline is None
        else join(
            show("baseline", "count", count(fig.at("baseline", s.k))),
            f" with {baseline}, ",
        )
    )
    spoken = element(
        "p",
        "With a budget of ",
        show("k", "whole", fixed(s.k, 0)),
        " (",
        show("rate", "percent", percent(s.k / s.n_candidates)),
        " of the candidates) expect ",
        show("hits", "count", count(fig.at("hits", s.k))),
        " hits, between ",
        show("low", "count", count(fig.at("low", s.k))),
        " and ",
        show("high", "count", count(fig.at("high", s.k))),
        ": a precision of ",
        show("precision", "percent", percent(fig.at("hits", s.k) / s.k)),
        ". For comparison: ",
        against,
        show("random", "count", count(fig.at("random", s.k))),
        " at random.",
        class_="answer small",
        id="budget-answer",
        role="status",
        aria_live="polite",
    )
    shown = sorted(
        {*(round(i * last / (_SHOWN_BUDGETS - 1)) for i in range(_SHOWN_BUDGETS)), position}
    )
    table = data_table(
        "The figures behind both charts",
        ("Budget", "Hits", "Interval", "Precision", *([baseline] if baseline else []), "At random"),
        [
            (
                fixed(b, 0),
                count(fig.at("hits", b)),
                f"{count(fig.at('low', b))} to {count(fig.at('high', b))}",
                percent(fig.at("hits", b) / b),
                *([count(fig.at("baseline", b))] if baseline else []),
                count(fig.at("random", b)),
            )
            for b in (float(k[i]) for i in shown)
        ],
    )
    charts = budget_charts(fig, s.k, s.winner, baseline, confidence)
    note = element(
        "p",
        f"The model was chosen for a budget of {s.settings['k']:,}; other budgets cut its list "
        "elsewhere, nothing is fitted again.",
        class_="note",
    )
    return join(controls if last else None, spoken, charts, note, table)


def densities(shortlist: Shortlist, fig: Figures) -> Html:
    """Show where the scores of both classes lie and where the list is cut."""
    s = shortlist
    if not fig.density:
        return element("p", "The rows scored in cross-validation are of one class only.")
    x = "score, in standard deviations of its fold"
    spoken = element(
        "p",
        "Above the cut of the chosen budget lie ",
        element("strong", percent(fig.at("found", s.k)), data_show="found:percent"),
        " of the positives and ",
        element("strong", percent(fig.at("taken", s.k)), data_show="taken:percent"),
        " of the others. The scores are those of the history, each row scored by a model that had "
        "not seen it; the cut takes the same share of them as the budget takes of the candidates.",
    )
    step = max(1, len(fig.density["grid"]) // 12)
    table = data_table(
        "The figures behind the chart",
        ("Score", "Density of positives", "Density of others"),
        [
            tuple(plain(float(fig.density[part][i])) for part in ("grid", "positive", "other"))
            for i in range(0, len(fig.density["grid"]), step)
        ],
    )
    return join(spoken, density_chart(fig, s.k, x), table)


def certificate(shortlist: Shortlist) -> Html:
    """Say what is proven about the training of the chosen model."""
    found = shortlist.certificate
    proof, limits = certified(found, shortlist.winner)
    words = join(element("p", element("strong", proof)), element("p", limits))
    if found is None:
        return words
    return join(
        words,
        definitions(
            ("Training objective of this model", plain(found.primal)),
            ("No model can go below", plain(found.dual) if found.status != "local" else DASH),
            ("Difference", plain(found.gap) if found.status != "local" else DASH),
            ("Asked for, relative", plain(found.tol)),
            ("How training ended", found.status),
        ),
    )


def columns(read: Sequence[Mapping[str, Any]]) -> Html:
    """Show how the columns of the files were read."""
    remarks = [f"{column['name']}: {note}" for column in read for note in column["notes"]]
    return join(
        element("p", "Decided once, from the history, and applied to the candidates as it is."),
        notes("Worth a look", remarks),
        data_table(
            f"All {len(read):,} columns",
            ("Column", "Kind", "Example", "Missing", "Different", "What was done"),
            [
                (
                    column["name"],
                    column["kind"],
                    column["example"],
                    f"{column['missing'] + column['unreadable']:,}",
                    f"{column['distinct']:,}",
                    column["done"],
                )
                for column in read
            ],
        ),
    )


def done(shortlist: Shortlist) -> Html:
    """List what was done, and how to do it again."""
    s, settings = shortlist, shortlist.settings
    later = "" if s.k == settings["k"] else f".at({s.k})"
    code = (
        "from shortlist import pick\n\n"
        f"result = pick(X, y, candidates, k={settings['k']}, random_state={settings['seed']!r})"
        f'{later}\nresult.report("report.html")'
    )
    names = {"sklearn": "scikit-learn", "python": "Python"}
    return join(
        definitions(
            ("Ranked by", s.winner),
            ("Baseline", s.baseline),
            ("Features", settings["features"]),
            ("Validation", settings["cv"]),
            ("Judged by", settings["scoring"]),
            ("Seed", settings["seed"]),
            ("Fits", f"{settings['n_fits']:,} in {duration(settings['seconds'])}"),
            *((names.get(name, name), version) for name, version in settings["versions"].items()),
        ),
        element(
            "p",
            "The same rows, versions, seed and settings give the same list. Defaults left out:",
        ),
        scrolling(element("pre", element("code", code)), "How to repeat"),
    )


def notes(title: str, items: list[str]) -> Html | None:
    """Return a short list of remarks, or nothing."""
    if not items:
        return None
    return element(
        "div",
        element("p", element("strong", title)),
        element("ul", *(element("li", item) for item in items)),
        class_="notes",
    )


def _named(entry: Entry) -> Html:
    parts = [("chosen", entry.is_winner), ("baseline", entry.is_baseline)]
    badges = [element("em", part, class_=f"badge {part}") for part, its in parts if its]
    return element("span", entry.name, *badges)


def _figures_of(entry: Entry) -> list[Html]:
    difference = (
        DASH if entry.is_baseline else signed(entry.shown_difference, entry.difference_error)
    )
    cells = (count(entry.hits), f"{count(entry.low)} to {count(entry.high)}", difference)
    return [element("td", cell, class_="number") for cell in cells]


def _head(*names: str) -> Html:
    return element("thead", element("tr", *(element("th", name, scope="col") for name in names)))
