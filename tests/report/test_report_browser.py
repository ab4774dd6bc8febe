"""The page in a real Chromium."""

import base64
import re
from dataclasses import replace

import numpy as np
import pytest
from selenium.webdriver.common.keys import Keys

from shortlist.report import write_report
from shortlist.report._figures import figures
from shortlist.report._words import count, fixed, percent

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


@pytest.fixture
def opened(browser, path):
    browser.open(path)
    return browser


def shown(browser):
    """What the page says about the chosen budget, by field."""
    return browser.run(
        "return Object.fromEntries([...document.querySelectorAll('[data-show]')]"
        ".map((e) => [e.dataset.show.split(':')[0], e.textContent]))"
    )


def expected(fig, k, n_candidates):
    fields = {name: count(fig.at(name, k)) for name in ("hits", "low", "high", "baseline")}
    shares = {
        "rate": k / n_candidates,
        "precision": fig.at("hits", k) / k,
        "found": fig.at("found", k),
        "taken": fig.at("taken", k),
    }
    return {
        **fields,
        **{name: percent(share) for name, share in shares.items()},
        "random": count(fig.at("random", k)),
        "k": fixed(k, 0),
    }


def set_slider(browser, position):
    browser.run(
        "const s = document.getElementById('budget-slider'); s.value = arguments[0];"
        "s.dispatchEvent(new Event('input'))",
        position,
    )


def test_opens_silently(opened, path):
    assert opened.text("h1") == "Shortlist: 60 of 900 candidates"
    asked = opened.requests()
    assert [url for url in asked if not url.startswith("data:")] == [path.as_uri()]
    assert opened.complaints() == []


def test_a_request_or_an_error_would_be_noticed(browser, server, tmp_path):
    page = tmp_path / "noisy.html"
    page.write_text(f"<img src='{server.url}/x.png'><script>nothing.here()</script>")
    browser.open(page)
    assert f"{server.url}/x.png" in browser.requests()
    assert server.asked == ["/x.png"]
    assert any("nothing is not defined" in text for text in browser.complaints())


def test_the_policy_stops_requests_and_foreign_scripts(opened, server):
    outcome = opened.driver.execute_async_script(
        """
        const done = arguments[arguments.length - 1];
        const stopped = [];
        addEventListener("securitypolicyviolation", (e) => {
          stopped.push(e.effectiveDirective);
          if (stopped.length === 4) done(stopped.sort());
        });
        const image = new Image();
        image.src = `${arguments[0]}/x.png`;
        const script = document.createElement("script");
        script.textContent = "window.foreign = true";
        document.body.append(script);
        const style = document.createElement("style");
        style.textContent = "body { color: red }";
        document.body.append(style);
        fetch(arguments[0]).catch(() => {});
        """,
        server.url,
    )
    assert outcome == ["connect-src", "img-src", "script-src-elem", "style-src-elem"]
    assert opened.run("return window.foreign") is None
    assert server.asked == []


def test_script_changes_nothing_until_the_reader_does(opened, path):
    parsed = opened.run(
        "return new DOMParser().parseFromString(arguments[0], 'text/html')"
        ".querySelector('main').textContent",
        path.read_text("utf-8"),
    )
    assert opened.run("return document.querySelector('main').textContent") == parsed


def test_without_script_the_page_is_complete(browser, path, result):
    browser.command("Emulation.setScriptExecutionDisabled", value=True)
    try:
        browser.open(path)
        assert not browser.find("#budget-controls").is_displayed()
        assert f"expect {count(result.expected_hits.value)} hits" in browser.text("#budget-answer")
        assert browser.find("#budget .mark").is_displayed()
    finally:
        browser.command("Emulation.setScriptExecutionDisabled", value=False)


def test_every_position_of_the_slider_shows_what_python_says(opened, result):
    fig = figures(result)
    for position, k in enumerate(fig.values["k"]):
        set_slider(opened, position)
        assert shown(opened) == expected(fig, k, result.n_candidates)
        assert opened.find("#budget-number").get_property("value") == str(int(k))


def test_any_number_is_interpolated(opened, result):
    fig = figures(result)
    number = opened.find("#budget-number")
    for k in (1, 2, 61, 333, 757, 899, 900):
        number.send_keys(Keys.CONTROL, "a")
        number.send_keys(str(k))
        assert shown(opened) == expected(fig, k, result.n_candidates)
        position = int(opened.find("#budget-slider").get_property("value"))
        assert fig.values["k"][position] <= k


def test_keys_move_slider_sentence_and_marks(opened, result):
    places = (
        "return [...document.querySelectorAll('[data-move]')].map((e) => "
        "['x1', 'cx', 'cy'].map((a) => e.getAttribute(a)))"
    )
    slider = opened.find("#budget-slider")
    first, at_first = opened.text("#budget-answer"), opened.run(places)
    slider.send_keys(Keys.ARROW_RIGHT)
    fig = figures(result)
    position = int(np.searchsorted(fig.values["k"], 60)) + 1
    assert slider.get_property("value") == str(position)
    assert opened.text("#budget-answer") != first
    moved = opened.run(places)
    # Both vertical lines, both dots and the cut.
    assert len(moved) == 5
    assert moved != at_first
    assert moved[0][0] == f"{fig.places['x'][position]:.2f}%"
    slider.send_keys(Keys.END)
    assert shown(opened)["k"] == "900"
    assert shown(opened)["rate"] == "100 %"
    assert slider.get_attribute("aria-valuetext") == "900 candidates"
    assert opened.run(places)[0][0] == "100.00%"
    slider.send_keys(Keys.HOME)
    assert shown(opened)["k"] == "1"
    opened.find("#budget-reset").send_keys(Keys.ENTER)
    assert opened.text("#budget-answer") == first
    assert opened.run(places) == at_first


def test_the_dot_stays_on_the_line(opened, result):
    fig = figures(result)
    x, y = fig.places["x"], fig.places["hits_y"]
    number = opened.find("#budget-number")
    for k in (3, 77, 505):
        number.send_keys(Keys.CONTROL, "a")
        number.send_keys(str(k))
        cx, cy = (
            float(opened.find("#budget .mark[data-move]").get_attribute(a)[:-1])
            for a in ("cx", "cy")
        )
        assert cy == pytest.approx(np.interp(cx, x, y), abs=0.1)


@pytest.mark.parametrize(
    ("typed", "taken"), [("0", "1"), ("99999", "900"), ("", "60"), ("-3", "1")]
)
def test_impossible_numbers(opened, typed, taken):
    before = shown(opened)
    number = opened.find("#budget-number")
    number.send_keys(Keys.CONTROL, "a")
    number.send_keys(Keys.DELETE, typed)
    assert number.get_attribute("aria-invalid") == "true"
    assert shown(opened) == before or typed == "99999"
    number.send_keys(Keys.TAB)
    assert number.get_property("value") == taken
    assert number.get_attribute("aria-invalid") is None
    assert shown(opened)["k"] == taken


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
        "return [...document.querySelectorAll('svg.plot text, .controls *, .tiles *, h1, p')]"
        ".filter((e) => e.getBoundingClientRect().right > innerWidth + 1"
        " || e.getBoundingClientRect().left < -1).map((e) => e.textContent)"
    )
    assert outside == []
    sizes = browser.run(
        "return [...document.querySelectorAll('svg text')].map((e) => "
        "e.getBoundingClientRect().height)"
    )
    assert min(sizes) >= 12


def test_keyboard_reaches_everything_and_shows_where_it_is(opened):
    reached = []
    for _ in range(60):
        opened.driver.switch_to.active_element.send_keys(Keys.TAB)
        name, outline = opened.run(
            "const e = document.activeElement, s = getComputedStyle(e);"
            "return [e.id || e.tagName + ' ' + (e.getAttribute('aria-label') || e.textContent),"
            " s.outlineStyle === 'none' ? 0 : parseFloat(s.outlineWidth)]"
        )
        if name.startswith("BODY") or name in reached:
            break
        assert outline >= 2, name
        reached.append(name)
    assert reached[0] == "A Skip to the answer"
    for wanted in ("budget-slider", "budget-number", "budget-reset", "DIV The list"):
        assert wanted in reached
    assert sum(name.startswith("SUMMARY") for name in reached) == 3


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
        "button": 1,
        "navigation": 1,
        "region": 9,
        "table": 2,
    }.items():
        assert len(named[role]) >= least, role
        assert all(named[role]), role
    for landmark in ("main", "banner", "contentinfo"):
        assert len(named[landmark]) == 1
    status = next(node for node in nodes if node["role"]["value"] == "status")
    live = {p["name"]: p["value"]["value"] for p in status["properties"]}
    assert live["live"] == "polite"
    levels = opened.run(
        "return [...document.querySelectorAll('h1,h2,h3,h4')].map((h) => Number(h.tagName[1]))"
    )
    assert levels == [1] + 8 * [2]


def test_motion_only_where_it_is_welcome(browser, path):
    script = "return getComputedStyle(document.documentElement).scrollBehavior"
    browser.open(path)
    assert browser.run(script) == "smooth"
    browser.open(path, motion="reduce")
    assert browser.run(script) == "auto"


def test_print(browser, path):
    browser.open(path, media="print", scheme="dark", width=700)
    for selector in ("#budget-controls", "nav", "details"):
        assert not browser.find(selector).is_displayed()
    assert browser.find("#budget .plot").is_displayed()
    assert browser.run("return document.documentElement.scrollWidth") <= 700
    browser.command("Emulation.setEmulatedMedia", media="")
    pdf = base64.b64decode(browser.command("Page.printToPDF", preferCSSPageSize=True)["data"])
    pages = len(re.findall(rb"/Type\s*/Page\b", pdf))
    assert 2 <= pages <= 6


def test_a_wide_list_is_cut_on_paper_and_says_so(browser, result, rows, tmp_path):
    words = {f"column {j}": ["some words in a cell"] * len(rows) for j in range(9)}
    page = tmp_path / "wide.html"
    write_report(result, page, rows=rows.assign(**words))
    browser.open(page, media="print", width=672)
    assert browser.run("return document.documentElement.scrollWidth") <= 672
    assert browser.text("#list .paper") == "On paper: 6 of the 12 columns."
    shown = [
        cell.text
        for cell in browser.driver.find_elements("css selector", "#list thead th")
        if cell.is_displayed()
    ]
    assert shown[4:] == ["place", "east", "north", "column 0", "column 1", "column 2"]
    browser.open(page)
    assert not browser.find("#list .paper").is_displayed()


def test_the_comparison_fits_a_telephone(browser, path):
    browser.open(path, width=360)
    wide, room = browser.run(
        "const e = document.querySelector('#comparison .scroll');"
        "return [e.scrollWidth, e.clientWidth]"
    )
    assert wide <= room


HOSTILE = "</script><script>window.pwned=1</script><img src=x onerror=window.pwned=1>&\"'é漢\u2028"


def test_text_of_the_user_is_only_text(browser, result, rows, tmp_path):
    nasty = rows.rename(columns={"place": HOSTILE}).assign(note=HOSTILE)
    entries = tuple(
        replace(e, name=f"{e.name}{HOSTILE}" if e.is_winner or e.is_baseline else e.name)
        for e in result.comparison
    )
    hostile = replace(
        result,
        comparison=replace(result.comparison, entries=entries, left_out={HOSTILE: HOSTILE}),
        winner=f"{result.winner}{HOSTILE}",
        baseline=f"{result.baseline}{HOSTILE}",
        verdict=HOSTILE,
        positive_label=HOSTILE,
        settings={**result.settings, "warnings": [HOSTILE], "seed": HOSTILE, "cv": HOSTILE},
    )
    page = tmp_path / "hostile.html"
    write_report(hostile, page, rows=nasty, title=HOSTILE)
    browser.open(page)
    assert browser.run("return window.pwned") is None
    assert browser.complaints() == []
    assert browser.run("return document.title") == HOSTILE
    assert browser.run("return document.querySelector('h1').textContent") == HOSTILE
    assert browser.run("return document.querySelectorAll('img').length") == 0
    assert browser.run("return document.querySelectorAll('script').length") == 2
    data = browser.run("return JSON.parse(document.getElementById('report-data').textContent)")
    assert data["winner"] == hostile.winner
    set_slider(browser, 0)
    assert shown(browser)["k"] == "1"


def test_a_baseline_that_won_is_compared_with_chance_only(browser, kept, tmp_path):
    page = tmp_path / "kept.html"
    write_report(kept, page)
    browser.open(page)
    assert browser.complaints() == []
    assert "baseline" not in shown(browser)
    assert browser.text("#budget-answer").count("with logistic regression") == 0
    assert "comes with no proof" in browser.text("#certificate")
    slider = browser.find("#budget-slider")
    slider.send_keys(Keys.END)
    assert shown(browser)["k"] == str(kept.n_candidates)
