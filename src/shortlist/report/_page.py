"""The whole page: from a shortlist to what the template shows, written whole or not at all."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.resources import files
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._files import Outputs
from .._written import fixed
from ..picking.forecast.comparison import COMBINATION
from ._figures import Curve, Scale, calibration, curve, dots, rounded_around, tested
from ._rows import listed
from ._words import (
    COVERED,
    DASH,
    certified,
    combined,
    duration,
    end,
    ends,
    family,
    percent,
    plain,
    rough,
    sentence,
    signed,
)

if TYPE_CHECKING:
    from ..picking.forecast.comparison import Comparison, Entry
    from ..picking.reasons.reasons import Reasons
    from ..picking.result import Shortlist


def write_report(
    shortlist: Shortlist,
    path: str | PathLike[str],
    *,
    rows: Any = None,
    title: str | None = None,
    overwrite: bool = False,
    columns: Sequence[Mapping[str, Any]] | None = None,
    reasons: Reasons | None = None,
    ids: Sequence[str] = (),
    importance: Any = None,
) -> None:
    """Write the report of a shortlist, one self-contained HTML page.

    Parameters
    ----------
    shortlist : Shortlist
        From :func:`shortlist.pick`.
    path : path
        File to write.
    rows : pandas or polars frame, default=None
        The selected rows, best first. Columns that name a row and those that matter most are
        shown; the others unfold with the reasons.
    title : str, default=None
        Heading of the page.
    overwrite : bool, default=False
        Whether an existing file may be replaced.
    columns : sequence of mappings, default=None
        How the columns of a file were read: name, kind, example, missing, distinct, done,
        notes. The command line passes them.
    reasons : Reasons, default=None
        Why the rows are on the list; ``shortlist.explained``.
    ids : sequence of str, default=()
        Columns that name a row: shown first.
    importance : frame, default=None
        Hits that columns are worth, from ``shortlist.importance()``.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn.datasets import load_breast_cancer
    >>> from shortlist import pick
    >>> from shortlist.report import write_report
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> result = pick(X[:300], y[:300], X[300:], k=50, models=["PatMat"], cv=3, repeats=1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_report(result, Path(folder) / "report.html")
    ...     (Path(folder) / "report.html").read_text("utf-8")[:15]
    '<!DOCTYPE html>'
    """
    target = Path(path)
    if target.exists() and not overwrite:
        raise FileExistsError(
            f"path={str(target)!r} exists already; pass overwrite=True to replace it, or choose "
            "another name."
        )
    html = page(shortlist, rows, title, columns, reasons, ids, importance)
    name = str(target)
    with Outputs(name, force=True) as outputs:
        # Half a surrogate pair, as in a broken file name, has no UTF-8 form.
        outputs[name].write_text(html, encoding="utf-8", errors="xmlcharrefreplace")


def page(
    shortlist: Shortlist,
    rows: Any = None,
    title: str | None = None,
    columns: Sequence[Mapping[str, Any]] | None = None,
    reasons: Reasons | None = None,
    ids: Sequence[str] = (),
    importance: Any = None,
) -> str:
    """Return the report as HTML."""
    style, script = (files(__package__).joinpath(name).read_text("utf-8") for name in _ASSETS)
    # Numeric outcomes have no hits to draw against the budget.
    fig = None if shortlist.expected_hits is None else curve(shortlist)
    table = listed(shortlist, rows, reasons, ids)
    s = shortlist
    context = {
        "title": title or f"{s.k:,} of {s.n_candidates:,} candidates",
        "policy": _policy(style, script),
        "style": style,
        "script": script,
        "today": f"{datetime.now(UTC):%Y-%m-%d}",
        "k": s.k,
        "n": s.n_candidates,
        "label": str(s.positive_label),
        "answer": _answer(s, fig),
        "list": table,
        "worth": _worth(importance),
        "budget": None if fig is None else _budget(s, fig),
        "belief": _belief(s),
        "compared": _compared(s),
        "settings": _settings(s, columns),
        "data": _json(
            {
                "k": s.k,
                "candidates": s.n_candidates,
                "decimals": s.comparison.decimals,
                "values": {} if fig is None else {n: _short(v) for n, v in fig.values.items()},
                "places": {} if fig is None else {n: _short(v) for n, v in fig.places.items()},
                "list": table["data"],
                "file": "shortlist.csv",
            }
        ),
    }
    return _environment().get_template("page.html").render(context)


_ASSETS = ("page.css", "page.js")


def _environment() -> Any:
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined
    except ImportError as error:
        raise ImportError(
            "the report is made with Jinja2, which is not installed; pip install 'shortlist[app]'."
        ) from error
    made = Environment(
        loader=PackageLoader(__package__),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {"percent": percent, "whole": lambda value: fixed(value, 0)}
    return made


def _short(line: Any) -> list[float]:
    return [float(f"{value:.7g}") for value in line]


def _json(content: Any) -> str:
    """Return JSON that cannot end the script it stands in."""
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for mark in "<>&\u2028\u2029":
        text = text.replace(mark, f"\\u{ord(mark):04x}")
    return text


def _policy(style: str, script: str) -> str:
    """Allow this style and this script, by their digests, and nothing else."""
    digests = [
        base64.b64encode(hashlib.sha256(part.encode()).digest()).decode()
        for part in (style, script)
    ]
    return (
        f"default-src 'none'; style-src 'sha256-{digests[0]}'; script-src 'sha256-{digests[1]}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def _answer(s: Shortlist, fig: Curve | None) -> dict[str, Any]:
    hits, written = s.expected, s.comparison.written
    listed_rows = len(s.selected)
    return {
        "rows": listed_rows,
        "value": written(hits.value),
        "low": end(s.comparison, hits.low),
        "high": end(s.comparison, hits.high),
        "confidence": percent(hits.confidence),
        "counted": fig is not None,
        "goal": s.settings["goal"],
        "random": None if fig is None else rough(fig.at("random", s.k), s.comparison.decimals),
        "baseline": None
        if fig is None or s.winner == s.baseline
        else written(s.comparison.baseline.hits),
        "baseline_name": s.baseline,
        "refused": s.drift.refused,
        "drift": s.drift.sentences()[:1],
        "weighted": s.drift.sentences()[1:] if s.drift.refused is None else [],
        # The headline of a numeric outcome has said it already.
        "terms": [text for text in s.notes[:-1] if not text.startswith("Expect ")],
        "assumed": s.notes[-1],
        "dots": None if fig is None else dots(s),
        "guaranteed": s.guarantee is not None,
        "verdict": sentence(s.verdict),
        "worth_knowing": [text for text in s.settings["warnings"] if not _of_a_fit(text)],
    }


def _of_a_fit(text: str) -> bool:
    """Say whether a warning is about fits of a contestant: for the settings, not the answer."""
    return " fits " in text or "left the race" in text


def _worth(importance: Any) -> list[tuple[str, str, str]]:
    """Return the columns that cost hits when they are shuffled."""
    if importance is None:
        return []
    return [
        (str(name), fixed(lost, 1), f"{fixed(low, 1)} to {fixed(high, 1)}")
        for name, lost, low, high in importance.head(8).itertuples(index=False, name=None)
        if lost > 0
    ]


def _ticks(scale: Scale, number: int) -> list[dict[str, str]]:
    return [{"at": f"{at:.2f}%", "back": f"{100 - at:.2f}%", "text": text}
            for at, text in scale.ticks(number)]  # fmt: skip


def _budget(s: Shortlist, fig: Curve) -> dict[str, Any]:
    reach = int(fig.values["k"][-1])
    rival = None if s.winner == s.baseline else s.baseline
    more, written = max(1, round(s.k / 3)), s.comparison.written
    shown = sorted({*range(0, reach + 1, max(1, reach // 10)), s.k, reach} - {0})
    return {
        "reach": reach,
        "moves": len(fig.values["k"]) > 1,
        "rival": rival,
        "now": {
            "hits": written(fig.at("hits", s.k)),
            **{name: fixed(fig.at(name, s.k), 0) for name in ("low", "high")},
        },
        "rate": percent(s.k / s.n_candidates),
        "more": more,
        "next": rough(fig.at("hits", s.k + more) - fig.at("hits", s.k), s.comparison.decimals),
        "band": fig.band(),
        "lines": {name: fig.line(name) for name in ("hits", "baseline", "random")},
        "guaranteed": None if s.guarantee is None else s.guarantee.other_lengths(),
        "x_ticks": _ticks(fig.budgets, 6),
        "y_ticks": _ticks(fig.hits, 5),
        "x": f"{float(fig.budgets.place(s.k)):.2f}%",
        "y": f"{100 - float(fig.hits.place(fig.at('hits', s.k))):.2f}%",
        "chosen_for": s.settings["k"],
        "confidence": percent(s.expected.confidence),
        "table": [
            [
                fixed(b, 0),
                written(fig.at("hits", b)),
                ends(s.comparison, fig.at("low", b), fig.at("high", b)),
                percent(fig.at("hits", b) / b),
                *([written(fig.at("baseline", b))] if rival else []),
                rough(fig.at("random", b), s.comparison.decimals),
            ]
            for b in shown
        ],
    }


def _belief(s: Shortlist) -> dict[str, Any]:
    counted = s.expected_hits is not None
    folds = tested(s) if counted else []
    scale = Scale(0.0, float(max(s.k, 1)))
    parts = calibration(s) if counted else []
    proof, limits = certified(s.certificate, s.winner)
    return {
        "how": s.settings["cv"],
        "counted": counted,
        "unit": s.comparison.unit,
        "folds": [
            {"hits": fixed(hits, 1), "x": f"{float(scale.place(hits)):.2f}%"} for hits in folds
        ],
        "line": None
        if s.plan.decides
        else f"{min(100.0, float(scale.place(s.expected.value))):.2f}%",
        "ticks": _ticks(scale, 6),
        "parts": [
            {
                "said": percent(part["said"]),
                "were": percent(part["were"]),
                "rows": f"{part['rows']:,}",
                "x": f"{100 * part['said']:.1f}%",
                "y": f"{100 - 100 * part['were']:.1f}%",
            }
            for part in parts
        ],
        "drift": _drift(s),
        "covered": COVERED,
        "proof": proof,
        "limits": limits,
    }


def _drift(s: Shortlist) -> str:
    drift = s.drift
    if drift.p_value != drift.p_value:
        return (
            "Whether the candidates are like the history was not tested: there are too few of "
            "them, or their rows come in groups."
        )
    if drift.found:
        return " ".join(drift.sentences())
    return (
        "They look alike: a model that was trained to tell candidates from history could not "
        f"(it was right on {percent(drift.auc)} of mixed pairs; guessing is right on half)."
    )


def _compared(s: Shortlist) -> dict[str, Any]:
    found: Comparison = s.comparison
    entries = list(found)
    first = {entry.family: entry for entry in reversed(entries)}
    main = {entry.name for entry in (*first.values(), found.winner, found.baseline)}
    best = [entry for entry in entries if entry.name in main]
    scale = rounded_around(min(e.low for e in best), max(e.high for e in best), 5)
    members = [entry for entry in entries if entry.family != COMBINATION]
    return {
        "sentence": _why_this(found, s.k),
        "rows": [_entry(entry, scale, found) for entry in best],
        "ticks": _ticks(scale, 5),
        "confidence": percent(s.expected.confidence),
        "unit": found.unit,
        "number": len(members),
        "all": [
            (
                entry.name,
                found.written(entry.hits),
                ends(found, entry.low, entry.high),
                signed(found, entry),
                DASH if entry.family == COMBINATION else percent(entry.weight),
                duration(entry.seconds),
            )
            for entry in entries
        ],
        "left_out": [f"{name}: {reason}" for name, reason in found.left_out.items()],
    }


def _why_this(found: Comparison, k: int) -> str:
    """Say in words a manager knows what the comparison came to."""
    winner, baseline = found.winner, found.baseline
    if winner.is_baseline:
        return "Nothing that was tried beat the yardstick, so the yardstick ranks the list."
    name = "The combination" if winner.family == COMBINATION else sentence(winner.name)
    gap = found.difference(winner)
    size = found.written(abs(gap))
    if size == found.written(0.0):
        return f"{name} finds as much in a list of {k:,} as the yardstick, {baseline.name}."
    if found.unit != "hits":
        how = (
            "may be chance"
            if abs(winner.difference) <= winner.difference_error
            else "is more than chance"
        )
        return (
            f"{name} brings {size} {'more' if gap >= 0 else 'less'} with {k:,} rows "
            f"than the yardstick, {baseline.name}: a difference that {how}."
        )
    said = f"{name} finds {size} {'more' if gap >= 0 else 'fewer'} hits in a list of {k:,}"
    if abs(winner.difference) <= winner.difference_error:
        return f"{said} than the yardstick, {baseline.name}: a difference that may be chance."
    return f"{said} than the yardstick, {baseline.name}: more than chance explains."


def _entry(entry: Entry, scale: Scale, found: Comparison) -> dict[str, Any]:
    low, high, at, reference = (
        f"{min(100.0, max(0.0, float(scale.place(value)))):.2f}%"
        for value in (entry.low, entry.high, entry.hits, found.baseline.hits)
    )
    return {
        "name": family(entry.family),
        "kind": "winner" if entry.is_winner else "baseline" if entry.is_baseline else "plain",
        "hits": found.written(entry.hits),
        "interval": ends(found, entry.low, entry.high),
        "difference": signed(found, entry),
        "low": low,
        "high": high,
        "at": at,
        "zero": reference,
    }


def _settings(s: Shortlist, columns: Sequence[Mapping[str, Any]] | None) -> dict[str, Any]:
    settings = s.settings
    members = [entry for entry in s.comparison if entry.family != COMBINATION]
    families = dict.fromkeys(entry.family for entry in members)
    used = {entry.family for entry in members if entry.weight}
    later = "" if s.k == settings["k"] else f".at({s.k})"
    names = {"sklearn": "scikit-learn", "python": "Python"}
    return {
        "pairs": [
            ("Budget", f"{s.k:,} of {s.n_candidates:,} candidates"),
            *_looked_for(s),
            ("Tried", f"{len(members)} models of {len(families)} kinds: {', '.join(families)}"),
            ("Combined", combined(s.comparison)),
            ("Judged by", f"{settings['scoring']}, {settings['cv']}"),
            ("Seed", settings["seed"]),
            ("Fits", f"{settings['n_fits']:,} in {duration(settings['seconds'])}"),
            *((names.get(name, name), version) for name, version in settings["versions"].items()),
        ],
        "problems": [
            text
            for text in settings["warnings"]
            if _of_a_fit(text) and text.partition(":")[0] in used
        ],
        "code": (
            "from shortlist import pick\n\n"
            f"found = pick(X, y, candidates, k={settings['k']}, random_state={settings['seed']!r})"
            f'{later}\nfound.report("report.html")'
        ),
        "certificate": _certificate(s),
        "columns": [
            (
                column["name"],
                column["kind"],
                column["example"],
                f"{column['missing'] + column['unreadable']:,}",
                f"{column['distinct']:,}",
                column["done"],
            )
            for column in columns or ()
        ],
        "remarks": [f"{c['name']}: {note}" for c in columns or () for note in c["notes"]],
        "version": settings["versions"]["shortlist"],
    }


def _looked_for(s: Shortlist) -> list[tuple[str, str]]:
    if s.expected_hits is None:
        return [
            ("Looked for", f"the largest {s.settings['goal']} of a numeric outcome"),
            ("History", f"{s.n_history:,} rows whose outcome is known"),
        ]
    return [
        ("Looked for", f"“{s.positive_label}”"),
        ("History", f"{s.n_history:,} labelled rows, {s.n_positive:,.6g} of them positive"),
    ]


def _certificate(s: Shortlist) -> list[tuple[str, str]]:
    found = s.certificate
    if found is None:
        return []
    of, rivals = (
        ("of the weights", "No weights")
        if s.winner == COMBINATION
        else ("of this model", "No model")
    )
    return [
        (f"Training objective {of}", plain(found.primal)),
        (f"{rivals} can go below", plain(found.dual) if found.status != "local" else DASH),
        ("How training ended", found.status),
    ]
