"""The page in a real Chromium."""

import io
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from selenium.webdriver.common.keys import Keys

from shortlist._written import fixed
from shortlist.report import write_report
from shortlist.report._figures import curve
from shortlist.report._words import percent, rough


def shown(browser):
    """What the page says about the chosen budget, by field."""
    return browser.run(
        "return Object.fromEntries([...document.querySelectorAll('[data-show]')]"
        ".map((e) => [e.dataset.show.split(':')[0], e.textContent]))"
    )


def expected(fig, k, n_candidates):
    more = max(1, round(k / 3))
    return {
        "hits": fixed(fig.at("hits", k), 0),
        "low": fixed(fig.at("low", k), 0),
        "high": fixed(fig.at("high", k), 0),
        "rate": percent(k / n_candidates),
        "more": fixed(more, 0),
        "next": rough(fig.at("hits", k + more) - fig.at("hits", k), 0),
        "k": fixed(k, 0),
    }


def set_slider(browser, k):
    browser.run(
        "const s = document.getElementById('budget-slider'); s.value = arguments[0];"
        "s.dispatchEvent(new Event('input'))",
        k,
    )


def test_opens_silently(opened, path):
    assert opened.text("h1") == "60 of 900 candidates"
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


def test_without_script_the_page_is_complete(browser, path, result):
    browser.command("Emulation.setScriptExecutionDisabled", value=True)
    try:
        browser.open(path)
        for tools in ("#budget-controls", "#list-tools"):
            assert not browser.find(tools).is_displayed()
        assert f"about {fixed(result.expected_hits.value, 0)} hits" in browser.text(
            "#budget-answer"
        )
        assert browser.find("#budget .mark").is_displayed()
        assert len(browser.driver.find_elements("css selector", "#list-table tbody tr")) == 60
    finally:
        browser.command("Emulation.setScriptExecutionDisabled", value=False)


def test_every_position_of_the_slider_shows_what_python_says(opened, result):
    fig = curve(result)
    said = shown(opened)
    assert said == expected(fig, 60, result.n_candidates)
    for k in (1, 2, 7, 59, 61, 100, 222, 299, 300):
        set_slider(opened, k)
        assert shown(opened) == expected(fig, k, result.n_candidates)
        assert opened.find("#budget-number").get_property("value") == str(k)


def test_keys_move_slider_sentence_and_marks(opened, result):
    places = (
        "return [...document.querySelectorAll('[data-move]')].map((e) => "
        "['x1', 'cx', 'cy'].map((a) => e.getAttribute(a)))"
    )
    slider = opened.find("#budget-slider")
    first, at_first = opened.text("#budget-answer"), opened.run(places)
    slider.send_keys(Keys.ARROW_RIGHT)
    assert slider.get_property("value") == "61"
    assert opened.text("#budget-answer") != first
    assert opened.run(places) != at_first
    slider.send_keys(Keys.END)
    assert shown(opened)["k"] == "300"
    assert slider.get_attribute("aria-valuetext") == "300 candidates"
    assert opened.run(places)[0][0] == "100.00%"
    slider.send_keys(Keys.HOME)
    assert shown(opened)["k"] == "1"
    opened.find("#budget-reset").send_keys(Keys.ENTER)
    assert opened.text("#budget-answer") == first
    assert opened.run(places) == at_first


def test_the_axis_is_linear_and_the_dot_stays_on_the_line(opened, result):
    fig = curve(result)
    number = opened.find("#budget-number")
    for k in (3, 77, 255):
        number.send_keys(Keys.CONTROL, "a")
        number.send_keys(str(k))
        cx, cy = (
            float(opened.find("#budget .mark[data-move]").get_attribute(a)[:-1])
            for a in ("cx", "cy")
        )
        assert cx == pytest.approx(100 * k / 300, abs=0.05)
        assert cy == pytest.approx(np.interp(cx, fig.places["x"], fig.places["y"]), abs=0.1)


@pytest.mark.parametrize(
    ("typed", "taken"), [("0", "1"), ("99999", "300"), ("", "60"), ("-3", "1")]
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


def ranks(browser):
    return browser.run(
        "return [...document.querySelectorAll('#list-table tbody tr')]"
        ".filter((r) => !r.hidden).map((r) => Number(r.cells[0].textContent))"
    )


def test_the_list_is_searched(opened, rows):
    search = opened.find("#list-search")
    search.send_keys("field 3, ROW")
    wanted = [i + 1 for i, place in enumerate(rows["place"]) if "field 3," in place]
    assert ranks(opened) == wanted
    assert opened.text("#list-count") == f"{len(wanted)} of 60 rows"
    search.send_keys(" nothing like it")
    assert ranks(opened) == []
    search.send_keys(Keys.CONTROL, "a")
    search.send_keys(Keys.DELETE)
    assert ranks(opened) == list(range(1, 61))


def test_the_list_is_sorted_by_any_column(opened, rows):
    heads = opened.driver.find_elements("css selector", "#list-table thead button")
    east = next(head for head in heads if head.text == "east")
    east.send_keys(Keys.ENTER)
    order = rows["east"].sort_values(ascending=False, kind="stable").index
    by_value = [int(np.flatnonzero(rows.index == i)[0]) + 1 for i in order]
    assert ranks(opened) == by_value
    assert opened.run("return arguments[0].parentElement.ariaSort", east) == "descending"
    east.send_keys(Keys.ENTER)
    assert opened.run("return arguments[0].parentElement.ariaSort", east) == "ascending"
    heads[0].send_keys(Keys.ENTER)
    assert ranks(opened) == list(range(1, 61))


def test_reasons_unfold_with_the_keyboard(opened, result):
    summary = opened.find("#list-table summary")
    told = result.reasons(2)
    assert told["column"][0] in summary.text
    summary.send_keys(Keys.ENTER)
    unfolded = opened.text("#list-table details[open] .reasons")
    assert all(column in unfolded for column in told["column"][:2])


def test_the_list_is_downloaded_whole_and_inert(browser, result, rows, tmp_path):
    frame = rows.assign(note=["=1+1", 'a "quoted", one', "two\nlines"] * 20)
    page = tmp_path / "page.html"
    write_report(result, page, rows=frame, reasons=result.explained)
    browser.open(page)
    text = browser.driver.execute_async_script(
        """
        const done = arguments[0];
        URL.createObjectURL = (blob) => { blob.text().then(done); return "#list"; };
        HTMLAnchorElement.prototype.click = () => {};
        document.getElementById("list-download").click();
        """
    )
    read = pd.read_csv(io.StringIO(text))
    assert read["row"].tolist() == result.selected.tolist()
    assert read["note"].tolist() == ["'=1+1", 'a "quoted", one', "two\nlines"] * 20
    np.testing.assert_allclose(read["east"], rows["east"])
    assert read["reason_1"].notna().all()


def test_a_cue_shows_where_the_list_goes_on(browser, path):
    browser.open(path, width=420)
    classes = "return document.querySelector('.frame').className"
    assert "more-below" in browser.run(classes)
    assert "more-right" in browser.run(classes)
    browser.driver.execute_async_script(
        "const box = document.querySelector('.frame .scroll');"
        "box.addEventListener('scroll', () => requestAnimationFrame(() => arguments[0]()));"
        "box.scrollTo({left: 1e6, top: 1e6, behavior: 'instant'})"
    )
    assert browser.run(classes).strip() == "frame"


def test_five_thousand_rows(browser, result, tmp_path):
    many = 5_000
    selected = np.arange(many)
    scores = np.linspace(3.0, -3.0, many)
    plan = replace(result.plan, probability=1 / (1 + np.exp(-scores)))
    hits = replace(
        result.expected_hits, value=float(plan.probability.sum()), low=2300.0, high=2700.0
    )
    long = replace(result, k=many, n_candidates=many, selected=selected, scores=scores, plan=plan,
                   expected_hits=hits)  # fmt: skip
    frame = pd.DataFrame({"name": [f"row {i}" for i in range(many)], "size": scores})
    page = tmp_path / "long.html"
    write_report(long, page, rows=frame)
    browser.open(page)
    assert browser.complaints() == []
    assert len(ranks(browser)) == many
    browser.find("#list-search").send_keys("row 4999")
    assert ranks(browser) == [5000]
    assert "Each dot is 50 rows" in browser.text(".dots")


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
        baseline=f"{result.baseline}{HOSTILE}",
        verdict=HOSTILE,
        positive_label=HOSTILE,
        settings={**result.settings, "warnings": [HOSTILE], "seed": HOSTILE, "cv": HOSTILE},
    )
    page = tmp_path / "hostile.html"
    told = result.explained
    told = replace(told, columns=[HOSTILE] * len(told.columns), usual=[HOSTILE] * len(told.usual))
    write_report(hostile, page, rows=nasty, title=HOSTILE, reasons=told, ids=[HOSTILE])
    browser.open(page)
    assert browser.run("return window.pwned") is None
    assert browser.complaints() == []
    assert browser.run("return document.title") == HOSTILE
    assert browser.run("return document.querySelector('h1').textContent") == HOSTILE
    assert browser.run("return document.querySelectorAll('img').length") == 0
    assert browser.run("return document.querySelectorAll('script').length") == 2
    data = browser.run("return JSON.parse(document.getElementById('report-data').textContent)")
    assert HOSTILE in data["list"]["names"]
    for summary in browser.driver.find_elements("css selector", "#list-table summary")[:3]:
        summary.send_keys(Keys.ENTER)
    browser.find("#list-search").send_keys("<script>")
    set_slider(browser, 1)
    assert shown(browser)["k"] == "1"
    assert browser.run("return window.pwned") is None
    assert browser.run("return document.querySelectorAll('script, img').length") == 2
    assert browser.complaints() == []


def test_a_baseline_that_won_is_compared_with_chance_only(browser, kept, tmp_path):
    page = tmp_path / "kept.html"
    write_report(kept, page)
    browser.open(page)
    assert browser.complaints() == []
    assert browser.run("return document.querySelector('#budget .line.other')") is None
    assert "yardstick ranks the list" in browser.text("#compared")
    slider = browser.find("#budget-slider")
    slider.send_keys(Keys.END)
    assert shown(browser)["k"] == str(min(200, kept.n_candidates))
