"""Markup that escapes by construction: text is escaped unless it is :class:`Html`."""

from __future__ import annotations

import json
from html import escape
from typing import Any

_VOID = frozenset({"input", "meta", "link", "br"})


class Html(str):
    """Text that is markup already."""

    __slots__ = ()


def text(value: Any) -> Html:
    """Return `value` as markup: escaped, unless it is markup already."""
    return value if isinstance(value, Html) else Html(escape(str(value)))


def join(*parts: Any) -> Html:
    """Concatenate markup and text; None is left out."""
    return Html("".join(text(part) for part in parts if part is not None))


def element(name: str, /, *children: Any, **attributes: Any) -> Html:
    """Return one element.

    Underscores in attribute names become hyphens and a last one is dropped
    (``class_``, ``aria_label``). None and False leave the attribute out, True
    writes it without a value.

    Examples
    --------
    >>> from shortlist.report._html import element
    >>> element("p", "a < b", class_="note", hidden=True)
    '<p class="note" hidden>a &lt; b</p>'
    """
    written = []
    for key, value in attributes.items():
        if value is None or value is False:
            continue
        attribute = key.removesuffix("_").replace("_", "-")
        written.append(f" {attribute}" if value is True else f' {attribute}="{escape(str(value))}"')
    start = f"<{name}{''.join(written)}>"
    return Html(start if name in _VOID else f"{start}{join(*children)}</{name}>")


def json_script(data: Any, id_: str) -> Html:
    """Return a data block: JSON in which no character can end the element."""
    encoded = json.dumps(data, allow_nan=False, ensure_ascii=True, separators=(",", ":"))
    for character in "<>&":
        encoded = encoded.replace(character, f"\\u{ord(character):04x}")
    return element("script", Html(encoded), type="application/json", id=id_)
