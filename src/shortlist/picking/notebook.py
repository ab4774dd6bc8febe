"""A shortlist in a notebook: the verdict, and the head of the list."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .result import Shortlist

_ROWS = 10


def as_html(shortlist: Shortlist) -> str:
    """Return markup for a notebook; nothing in it runs or loads.

    Parameters
    ----------
    shortlist : Shortlist
        From :func:`shortlist.pick`.

    Examples
    --------
    >>> from shortlist import pick
    >>> from shortlist.datasets import load_tumours
    >>> from shortlist.picking.notebook import as_html
    >>> X, y = load_tumours()
    >>> found = pick(X[:300], y[:300], X[300:], k=20, models=["PatMat"])
    >>> "of 20" in as_html(found), as_html(found).count("<tr>")
    (True, 11)
    """
    shown = shortlist.selected[:_ROWS]
    expected = (
        shortlist.plan.probability if shortlist.probability is None else shortlist.probability
    )
    rows = "".join(
        f"<tr><td>{rank}</td><td>{int(row):,}</td><td>{shortlist.scores[row]:.4g}</td>"
        f"<td>{expected[row]:.3g}</td></tr>"
        for rank, row in enumerate(shown, 1)
    )
    left = len(shortlist.selected) - len(shown)
    more = f"<p>and {left:,} more: <code>.to_frame()</code> has all of them</p>" if left else ""
    brings = "expected" if shortlist.probability is None else "probability"
    head = "".join(f"<th>{name}</th>" for name in ("rank", "row", "score", brings))
    return (
        f"<div><p><b>{shortlist.k:,} of {shortlist.n_candidates:,} candidates</b>, by "
        f"{escape(shortlist.winner)}</p><p>{escape(shortlist.verdict)}</p>"
        f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>{more}</div>"
    )
