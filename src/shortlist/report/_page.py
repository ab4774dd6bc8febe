"""The whole page: head, sections, style and script in one string."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from . import _sections
from ._figures import Figures, figures
from ._html import Html, element, json_script

if TYPE_CHECKING:
    from ..picking.result import Shortlist


def page(
    shortlist: Shortlist,
    rows: Any = None,
    title: str | None = None,
    columns: Sequence[Mapping[str, Any]] | None = None,
) -> str:
    """Return the report as HTML."""
    fig = figures(shortlist)
    heading = title or f"Shortlist: {shortlist.k:,} of {shortlist.n_candidates:,} candidates"
    read = (
        ()
        if columns is None
        else (("columns", "How the columns were read", _sections.columns(columns)),)
    )
    # Numeric outcomes have no hits to draw against the budget, and no two classes.
    counted = shortlist.expected_hits is not None
    sections = (
        ("asked", "What was asked", _sections.asked(shortlist)),
        ("answer", "The answer", _sections.answer(shortlist, fig)),
        ("list", "The list", _sections.the_list(shortlist, rows, fig)),
        ("comparison", "Compared with the baseline", _sections.comparison(shortlist)),
        *(
            (
                ("budget", "What another budget would buy", _sections.budget(shortlist, fig)),
                ("scores", "How well the scores separate", _sections.densities(shortlist, fig)),
            )
            if counted
            else ()
        ),
        ("certificate", "What is proven", _sections.certificate(shortlist)),
        *read,
        ("done", "What was done", _sections.done(shortlist)),
    )
    style, script = (files(__package__).joinpath(name).read_text("utf-8") for name in _ASSETS)
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=_policy(style, script)),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        # Keeps a browser from asking a server for an icon.
        element("link", rel="icon", href="data:,"),
        element("title", heading),
        element("style", Html(style)),
    )
    version = shortlist.settings["versions"]["shortlist"]
    body = element(
        "body",
        element("a", "Skip to the answer", href="#answer", class_="skip"),
        element("header", element("h1", heading)),
        element(
            "nav",
            element(
                "ul",
                *(element("li", element("a", name, href=f"#{id_}")) for id_, name, _ in sections),
            ),
            aria_label="Sections",
        ),
        element("main", *(_section(*parts) for parts in sections)),
        element(
            "footer",
            element("p", f"Written by shortlist {version} on {datetime.now(UTC):%Y-%m-%d}."),
        ),
        json_script(_data(shortlist, fig), "report-data"),
        element("script", Html(script)),
    )
    return f"<!DOCTYPE html>\n{element('html', head, body, lang='en')}\n"


_ASSETS = ("page.css", "page.js")


def _section(id_: str, title: str, content: Html) -> Html:
    heading = f"{id_}-title"
    return element(
        "section",
        element("h2", title, id=heading),
        content,
        id=id_,
        aria_labelledby=heading,
    )


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


def _data(shortlist: Shortlist, fig: Figures) -> dict[str, Any]:
    """Everything the script needs, as plain values."""
    return {
        "k": shortlist.k,
        "candidates": shortlist.n_candidates,
        "winner": shortlist.winner,
        "baseline": shortlist.baseline,
        "confidence": shortlist.expected.confidence,
        "values": {name: array.tolist() for name, array in fig.values.items()},
        "places": {name: array.tolist() for name, array in fig.places.items()},
    }
