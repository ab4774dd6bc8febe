"""The page for everyone, in a real Chromium: contrast, widths, keyboard, readers, paper."""

import base64
import re
from itertools import pairwise

import pytest
from selenium.webdriver.common.keys import Keys

from shortlist.report import write_report

CONTRAST = """
const parse = (color) => {
  const parts = color.match(/[\\d.]+/g).map(Number);
  return {rgb: parts.slice(0, 3), alpha: parts.length > 3 ? parts[3] : 1};
};
const light = (rgb) => {
  const [r, g, b] = rgb.map((v) => {
    v /= 255;
    return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const behind = (element) => {
  for (let at = element; at; at = at.parentElement) {
    const color = parse(getComputedStyle(at).backgroundColor);
    if (color.alpha === 1) return color.rgb;
  }
  return [255, 255, 255];
};
const found = [];
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walker.nextNode()) {
  const element = walker.currentNode.parentElement;
  if (!walker.currentNode.data.trim() || element.closest("script, style")) continue;
  if (!element.getClientRects().length) continue;
  const style = getComputedStyle(element);
  const ink = parse(element instanceof SVGElement ? style.fill : style.color);
  const [high, low] = [light(ink.rgb), light(behind(element))].sort((a, b) => b - a);
  found.push([(high + 0.05) / (low + 0.05), walker.currentNode.data.trim().slice(0, 40)]);
}
return found;
"""

GRAPHICS = """
const light = (color) => {
  const [r, g, b] = color.match(/[\\d.]+/g).slice(0, 3).map(Number).map((v) => {
    v /= 255;
    return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const page = light(getComputedStyle(document.body).backgroundColor);
return [...document.querySelectorAll(".line, .range, .mark-line, .reference")].map((shape) => {
  const [high, low] = [light(getComputedStyle(shape).stroke), page].sort((a, b) => b - a);
  return (high + 0.05) / (low + 0.05);
});
"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("media", ["", "print"])
def test_contrast(browser, path, scheme, media):
    browser.open(path, scheme=scheme, media=media)
    browser.run("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
    found = browser.run(CONTRAST)
    assert len(found) > 200
    assert [entry for entry in found if entry[0] < 4.5] == []
    assert min(browser.run(GRAPHICS)) >= 3
    dark = browser.run("return getComputedStyle(document.body).backgroundColor") != (
        "rgb(255, 255, 255)"
    )
    assert dark == (scheme == "dark" and not media)


@pytest.mark.parametrize("width", [320, 360, 800, 1600])
def test_fits_any_width(browser, path, width):
    browser.open(path, width=width)
    assert browser.run("return document.documentElement.scrollWidth") <= width
    outside = browser.run(
        "return [...document.querySelectorAll('svg.plot text, .tools > *, .dots *, h1, p')]"
        ".filter((e) => !e.closest('.unseen') && e.getBoundingClientRect().right > innerWidth + 1"
        " || e.getBoundingClientRect().left < -1).map((e) => e.textContent)"
    )
    assert outside == []
    sizes = browser.run(
        "return [...document.querySelectorAll('svg text')].map((e) => "
        "e.getBoundingClientRect().height).filter((height) => height > 0)"
    )
    assert min(sizes) >= 12


def test_keyboard_reaches_everything_and_shows_where_it_is(opened):
    reached = []
    for _ in range(120):
        opened.driver.switch_to.active_element.send_keys(Keys.TAB)
        name, outline = opened.run(
            "const e = document.activeElement, s = getComputedStyle(e);"
            "return [e.id || e.tagName + ' ' + (e.getAttribute('aria-label') || e.textContent),"
            " s.outlineStyle === 'none' ? 0 : parseFloat(s.outlineWidth)]"
        )
        if name.startswith("BODY"):
            break
        assert outline >= 2, name
        reached.append(name)
    assert reached[0] == "A Skip to the answer"
    wanted = [
        "list-search",
        "list-download",
        "DIV The list, best first",
        "BUTTON Rank",
        "budget-slider",
        "budget-number",
        "budget-reset",
        "SUMMARY What was done",
    ]
    places = [reached.index(name) for name in wanted]
    # In the order in which they are read.
    assert places == sorted(places)


def test_accessibility_tree(opened):
    opened.command("Accessibility.enable")
    nodes = [
        node
        for node in opened.command("Accessibility.getFullAXTree")["nodes"]
        if not node.get("ignored")
    ]
    named = {}
    for node in nodes:
        named.setdefault(node["role"]["value"], []).append(node.get("name", {}).get("value", ""))
    for role, least in {
        "image": 3,
        "slider": 1,
        "spinbutton": 1,
        "searchbox": 1,
        "button": 4,
        "navigation": 1,
        "region": 7,
        "table": 2,
    }.items():
        assert len(named[role]) >= least, role
        assert all(named[role]), role
    for landmark in ("main", "banner", "contentinfo"):
        assert len(named[landmark]) == 1
    for status in (node for node in nodes if node["role"]["value"] == "status"):
        live = {p["name"]: p["value"]["value"] for p in status["properties"]}
        assert live["live"] == "polite"
    levels = opened.run(
        "return [...document.querySelectorAll('h1,h2,h3,h4')].map((h) => Number(h.tagName[1]))"
    )
    assert levels[:2] == [1, 2]
    assert all(b - a <= 1 for a, b in pairwise(levels))


def test_motion_only_where_it_is_welcome(browser, path):
    script = "return getComputedStyle(document.documentElement).scrollBehavior"
    browser.open(path)
    assert browser.run(script) == "smooth"
    browser.open(path, motion="reduce")
    assert browser.run(script) == "auto"


def test_print(browser, path):
    browser.open(path, media="print", scheme="dark", width=700)
    for selector in ("#budget-controls", "#list-tools", "nav", "#budget details"):
        assert not browser.find(selector).is_displayed()
    assert browser.find("#budget .plot").is_displayed()
    assert browser.run("return document.documentElement.scrollWidth") <= 700
    # Sheets repeat the text of a head, not its buttons; a number keeps its unit.
    heads = browser.run(
        "return [...document.querySelectorAll('#list-table thead th')].map((head) => ["
        "head.dataset.column === undefined || getComputedStyle(head, '::before').content,"
        "head.querySelector('button')?.offsetParent === undefined ? null : "
        "head.querySelector('button').offsetParent])"
    )
    assert all(text is True or len(text) > 2 for text, _ in heads)
    assert not any(button for _, button in heads)
    lines = browser.run(
        "const cell = document.querySelector('#list-table .chance');"
        "return cell.querySelector('span').getClientRects().length"
    )
    assert lines == 1
    browser.command("Emulation.setEmulatedMedia", media="")
    pdf = base64.b64decode(browser.command("Page.printToPDF", preferCSSPageSize=True)["data"])
    pages = len(re.findall(rb"/Type\s*/Page\b", pdf))
    assert 2 <= pages <= 8


def test_a_wide_list_fits_on_paper(browser, result, rows, tmp_path):
    words = {f"column {j}": ["some words in a cell"] * len(rows) for j in range(9)}
    page = tmp_path / "wide.html"
    write_report(result, page, rows=rows.assign(**words), reasons=result.explained)
    browser.open(page, media="print", width=672)
    assert browser.run("return document.documentElement.scrollWidth") <= 672


def test_the_comparison_fits_a_telephone(browser, path):
    browser.open(path, width=360)
    wide, room = browser.run(
        "const e = document.querySelector('#compared .scroll');"
        "return [e.scrollWidth, e.clientWidth]"
    )
    assert wide <= room
