"""The built site: links, nothing from elsewhere, and how it looks in a browser."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

PAGES = [
    "index.html",
    "start.html",
    "guide/top.html",
    "guide/estimators.html",
    "guide/troubleshooting.html",
    "auto_examples/index.html",
    "auto_examples/models/plot_thresholds.html",
    "api/index.html",
    "api/generated/shortlist.TopPush.html",
    "papers.html",
    "benchmarks/README.html",
    "benchmarks/results/peers.html",
]


class Page(HTMLParser):
    """Links, loaded files and anchors of a page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.anchors: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        if found.get("id"):
            self.anchors.add(found["id"])
        if tag == "a" and found.get("href"):
            self.links.append(found["href"])
        for name in ("src", "href") if tag != "a" else ():
            if found.get(name):
                self.loaded.append(found[name])


@pytest.fixture(scope="module")
def pages(site):
    return {path: Page(path) for path in site.rglob("*.html") if "_static" not in path.parts}


def test_every_link_leads_somewhere(pages, site):
    broken = []
    for path, page in pages.items():
        for link in [*page.links, *page.loaded]:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc or link == "#":
                continue
            target = path if not parts.path else (path.parent / unquote(parts.path)).resolve()
            if target.is_dir():
                target /= "index.html"
            if not target.is_file():
                broken.append(f"{path.relative_to(site)}: {link}")
            elif (
                parts.fragment
                and target in pages
                and unquote(parts.fragment) not in pages[target].anchors
            ):
                broken.append(f"{path.relative_to(site)}: {link} (no such anchor)")
    assert not broken, "\n".join(sorted(set(broken))[:40])


def test_nothing_is_loaded_from_elsewhere(pages, site):
    foreign = {
        f"{path.relative_to(site)}: {link}"
        for path, page in pages.items()
        for link in page.loaded
        if urlsplit(link).netloc
    }
    assert not foreign, "\n".join(sorted(foreign)[:20])


def test_every_example_has_a_picture(site):
    shown = sorted((site / "auto_examples").rglob("plot_*.html"))
    assert len(shown) >= 14
    for path in shown:
        assert "sphx-glr-single-img" in path.read_text() or "sphx-glr-multi" in path.read_text(), (
            path
        )


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize(
    ("width", "scheme"),
    [(1280, "light"), (390, "light"), (1280, "dark"), (390, "dark")],
    ids=str,
)
def test_in_a_browser(address, browser, page, width, scheme):
    browser.open(f"{address}/{page}", width=width, scheme=scheme)
    browser.run("return document.fonts.ready.then(() => true)")
    assert browser.errors() == []
    assert [url for url in browser.requests() if address not in url and "data:" not in url] == []
    # Nothing sticks out: wide tables and equations scroll by themselves.
    wide = browser.run("return document.scrollingElement.scrollWidth")
    assert wide <= width
    shade = browser.run("return getComputedStyle(document.body).backgroundColor")
    level = sum(float(part) for part in shade.split("(")[1].strip(")").split(",")[:3]) / 3
    assert level < 80 if scheme == "dark" else level > 200


def test_equations_are_set(address, browser):
    browser.open(f"{address}/guide/estimators.html")
    browser.driver.set_script_timeout(600)
    drawn = browser.driver.execute_async_script(
        "const done = arguments[0];"
        "(function look() {"
        "  const all = document.querySelectorAll('mjx-container svg').length;"
        "  if (all > 5) done(all); else setTimeout(look, 100);"
        "})();"
    )
    assert drawn > 5
    assert "Math input error" not in browser.text("main")


def test_search_finds_an_estimator(address, browser):
    browser.open(f"{address}/search.html?q=PatMat")
    browser.driver.set_script_timeout(600)
    found = browser.driver.execute_async_script(
        "const done = arguments[0];"
        "(function look() {"
        "  const all = document.querySelectorAll('#search-results ul.search li a');"
        "  if (all.length) done([...all].map(a => a.href)); else setTimeout(look, 100);"
        "})();"
    )
    assert any("shortlist.PatMat" in link for link in found)
    assert browser.errors() == []
