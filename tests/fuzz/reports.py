"""Reports: whatever the rows hold, the page stays inert and its data stay data."""

from __future__ import annotations

import json
import random
import re
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pandas as pd

from shortlist import pick
from shortlist.report._page import page

NASTY = [
    "<script>alert(1)</script>", "</script><script>", "<!--", "-->", "]]>", "<img src=x onerror=a>",
    '" onmouseover="a', "' style='x", "javascript:alert(1)", "&lt;b&gt;", "&amp;", "&#0;", "\x00",
    "\ud800", "\u2028", "\u202e", "{{ 7 * 7 }}", "{% raw %}", "</style>", "<svg/onload=a>", "\r\n",
    "%3Cscript%3E", "https://example.com/x.js", "//x.example/y", "<base href=x>", "𝕏", "a" * 5000,
    "<form action=x>", "=cmd|' /C calc'!A0", "", " ", "`${1}`", "\\u003cscript\\u003e",
]  # fmt: skip


class Reader(HTMLParser):
    """What a browser would act on."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: set[str] = set()
        self.links: list[str] = []
        self.data = ""
        self._inside = False
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        known = dict(attributes)
        self.tags.append(tag)
        self.attributes |= set(known)
        self.links += [str(known[name]) for name in ("href", "src", "action") if name in known]
        self._inside = known.get("id") == "report-data"

    def handle_data(self, data: str) -> None:
        if self._inside:
            self.data += data

    def handle_endtag(self, tag: str) -> None:
        self._inside = False


def prepare() -> dict[str, Any]:
    """Return a small shortlist, and what its page holds when the rows are harmless."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(120, 2)), columns=["east", "north"])
    y = np.where(X["east"] + rng.normal(size=120) > 0.5, "hit", "miss")
    new = pd.DataFrame(rng.normal(size=(40, 2)), columns=["east", "north"])
    found = pick(X, y, new, 8, pos_label="hit", models=["PatMat"], cv=2, repeats=1)
    plain = Reader(page(found, new.iloc[found.selected], reasons=found.explained))
    return {"found": found, "plain": plain}


def text(rng: random.Random) -> str:
    return "".join(rng.choice(NASTY) if rng.random() < 0.7 else chr(rng.choice([*range(1, 300)]))
                   for _ in range(rng.randint(1, 4)))  # fmt: skip


def cell(rng: random.Random) -> Any:
    return rng.choice([text(rng), text(rng), rng.gauss(0, 1), None, float("nan"), float("inf"),
                       10**30, pd.NaT, pd.Timestamp("2024-01-01"), b"<b>", True])  # fmt: skip


def run(seed: int, shared: dict[str, Any]) -> None:
    """Draw a page of nasty rows, names, labels and settings."""
    rng = random.Random(seed)
    found, plain = shared["found"], shared["plain"]
    k = len(found.selected)
    rows = pd.DataFrame({str(i): [cell(rng) for _ in range(k)] for i in range(rng.randint(1, 6))})
    rows.columns = [text(rng) if rng.random() < 0.8 else rng.choice([3, None, ("a", 1)])
                    for _ in rows.columns]  # fmt: skip
    found = replace(
        found,
        positive_label=text(rng),
        settings={**found.settings, "warnings": [text(rng), text(rng)]},
    )
    described = [
        {"name": str(name), "kind": text(rng), "example": text(rng), "missing": 1, "unreadable": 0,
         "distinct": 7, "done": text(rng), "notes": [text(rng)]}
        for name in rows.columns
    ]  # fmt: skip
    html = page(found, rows, title=text(rng), reasons=found.explained,
                columns=described if rng.random() < 0.5 else None)  # fmt: skip
    html = html.encode("utf-8", "xmlcharrefreplace").decode()  # as it is written
    read = Reader(html)
    assert set(read.tags) <= set(plain.tags) | {"dl", "dt", "dd", "li", "ul", "td", "th"}
    for tag in ("script", "style", "meta", "link", "base", "form", "iframe", "img"):
        assert read.tags.count(tag) == plain.tags.count(tag), tag
    assert not [name for name in read.attributes if name.startswith("on")]
    assert "style" not in read.attributes
    assert all(link.startswith("#") or link == "data:," for link in read.links), read.links
    policy = r"(script|style)-src &#39;sha256-[^&]+&#39;"
    assert len(re.findall(policy, html)) == 2
    assert len(json.loads(read.data)["list"]["rows"]) == k
