"""The page as text: what it says, for real and for awkward shortlists."""

import base64
import hashlib
import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import TimeSeriesSplit

from shortlist import pick
from shortlist._written import amount
from shortlist.picking.drift.drift import Drift
from shortlist.report import write_report
from shortlist.report._figures import _smooth, curve, dots
from shortlist.report._page import _json, page
from shortlist.report._rows import listed


class Reader(HTMLParser):
    """Elements, identifiers and the text by section."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.ids, self.links, self.text = [], [], [], {}
        self.section = None
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attributes):
        known = dict(attributes)
        self.tags.append((tag, known))
        if "id" in known:
            self.ids.append(known["id"])
        self.links += [known[name] for name in ("href", "src", "action") if name in known]
        if tag in ("section", "script", "style"):
            self.section = known.get("id", tag)

    def handle_data(self, data):
        self.text[self.section] = self.text.get(self.section, "") + data


@pytest.fixture(scope="module")
def read(path):
    return Reader(path.read_text("utf-8"))


def test_the_answer_comes_first_and_settings_last(read, result):
    sections = [a["id"] for tag, a in read.tags if tag == "section"]
    assert sections == ["answer", "list", "budget", "belief", "compared", "settings"]
    hits = result.expected_hits
    answer = read.text["answer"]
    assert f"Of these 60, expect about {hits.value:.0f} to be “hit”" in answer
    assert f"Between {hits.low:.0f} and {hits.high:.0f}, with 90 % probability" in answer
    assert f"about {result.comparison.baseline.hits:.0f}." in answer
    for entry in result.comparison:
        assert entry.name in read.text["compared"]
    for version in result.settings["versions"].values():
        assert version in read.text["settings"]
    assert f"k=60, random_state={result.settings['seed']})\nfound.report" in read.text["settings"]


def test_dots_show_the_forecast(result):
    for k in (1, 20, 60, 100, 437):
        here = result.at(k)
        drawn = dots(here)
        assert len(drawn["marks"]) == min(k, 100)
        filled = drawn["filled"] * drawn["unit"]
        assert abs(filled - here.expected_hits.value) <= max(0.5, drawn["unit"]) + 1e-9
        kinds = [mark["kind"] for mark in drawn["marks"]]
        order = ["sure", "expected", "possible", "none"]
        assert kinds == sorted(kinds, key=order.index)


def test_identifiers_are_unique_and_links_stay_inside(read):
    assert len(read.ids) == len(set(read.ids))
    targets = {link[1:] for link in read.links if link.startswith("#")}
    assert targets <= set(read.ids)
    assert all(link.startswith("#") or link == "data:," for link in read.links)


def test_nothing_is_fetched(path):
    html = path.read_text("utf-8")
    assert not re.search(r"https?:|//[a-z]|@import|url\(|\sstyle=|\son[a-z]+=", html)
    assert path.stat().st_size < 150_000


def test_a_hundred_rows_fit_in_300_kilobytes(result, tmp_path):
    wide = pd.DataFrame(
        {f"a column {j}": [f"cell {j} of {i}" for i in range(100)] for j in range(30)}
    )
    target = tmp_path / "wide.html"
    longer = result.at(100)
    write_report(longer, target, rows=wide, reasons=longer.explained)
    assert target.stat().st_size <= 300_000


def test_policy_names_the_style_and_the_script(path):
    html = path.read_text("utf-8")
    for tag in ("style", "script"):
        content = re.search(rf"<{tag}>(.*?)</{tag}>", html, re.DOTALL)[1]
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{tag}-src &#39;sha256-{digest}&#39;" in html
    assert "default-src &#39;none&#39;" in html


def test_data_is_what_pick_found(read, result):
    data = json.loads(read.text["report-data"])
    assert data["k"] == 60
    assert len(data["list"]["rows"]) == 60
    np.testing.assert_array_equal([row[1] for row in data["list"]["rows"]], result.selected)
    chance = [row[3] for row in data["list"]["rows"]]
    assert sum(chance) == pytest.approx(result.expected_hits.value, abs=0.1)
    at = data["values"]["k"].index(60)
    assert data["values"]["hits"][at] == pytest.approx(result.expected_hits.value, abs=1e-4)
    for places in data["places"].values():
        assert min(places) >= 0
        assert max(places) <= 100


def test_the_curve_is_linear_smooth_and_never_falls(result):
    fig = curve(result)
    k = fig.values["k"]
    np.testing.assert_allclose(fig.places["x"], 100 * k / k[-1], atol=0.01)
    for name in ("hits", "low", "high", "baseline", "random"):
        line = fig.values[name]
        assert (np.diff(line) >= -1e-9).all(), name
    assert (fig.values["low"] <= fig.values["hits"] + 1e-9).all()
    assert (fig.values["hits"] <= fig.values["high"] + 1e-9).all()
    # Steps of whole hits are gone: no step of the band is much larger than its neighbours.
    for name in ("low", "high"):
        slopes = np.diff(fig.values[name]) / np.diff(k)
        assert np.abs(np.diff(slopes)).max() < 0.35
    expected = result.expected_hits
    assert fig.at("low", 60) == pytest.approx(min(expected.low, expected.value))
    assert fig.at("high", 60) == pytest.approx(expected.high)


@given(st.lists(st.floats(0, 5), min_size=1, max_size=60))
def test_smoothing_never_makes_a_line_fall(steps):
    x = np.arange(1.0, len(steps) + 1.0)
    made = _smooth(x, np.cumsum(np.round(steps)))
    assert (np.diff(made) >= -1e-9).all()


def test_the_whole_list_is_there_with_its_reasons(read, result, rows):
    shown = read.text["list"]
    assert all(place in shown for place in rows["place"])
    assert f"{rows['east'][0]:.6g}" in shown
    told = result.reasons(1).iloc[0]
    assert f"{told['column']}" in shown
    assert sum(tag == "details" for tag, _ in read.tags) >= 60


def test_no_repr_and_no_gossip_about_losers(result, read):
    gossip = "PatMat: 6 of 33 fits collapsed to the zero model"
    entries = tuple(
        replace(e, weight=0.0) if e.family == "PatMat" else e for e in result.comparison
    )
    other = replace(
        result,
        comparison=replace(result.comparison, entries=entries),
        settings={**result.settings, "warnings": [gossip, "This matters."]},
    )
    html = page(other)
    assert gossip not in html
    assert "This matters." in Reader(html).text["answer"]
    visible = " ".join(text for section, text in read.text.items() if section in read.ids)
    assert not re.search(r"[A-Z][A-Za-z]+\((?:\w+=|\))|<\w+ object|array\(", read.text["belief"])
    assert "StandardScaler" not in visible


def test_same_shortlist_same_page(path, result, rows):
    ours = result.explained
    pages = (
        path.read_text("utf-8"),
        page(result, rows, reasons=ours),
        page(result, pl.from_pandas(rows), reasons=ours),
    )
    # All but the day: midnight may pass between them.
    assert len({re.sub(r"on \d{4}-\d\d-\d\d", "", html) for html in pages}) == 1


def test_another_budget(result):
    text = Reader(page(result.at(100))).text
    assert "100 of 900 candidates" in text["settings"]
    assert "k=60, random_state=" in text["settings"]
    assert ".at(100)" in text["settings"]
    assert "weighed for a budget of 60" in text["budget"]


def test_drift_is_said_and_a_refusal_takes_the_place_of_the_forecast(result):
    found = Drift(0.001, 0.7, ["x0: usually 2, was 1"], 210.0, weight=np.ones(400))
    text = Reader(page(replace(result, drift=found))).text
    assert "not like the history (x0: usually 2, was 1)" in text["answer"]
    assert "rests on 210" in text["answer"]
    refused = replace(found, weight=None, refused="62% of the candidates are new")
    text = Reader(page(replace(result, drift=refused))).text
    assert "No forecast can be given" in text["answer"]
    assert "62% of the candidates are new" in text["answer"]
    assert "expect" not in text["answer"]


def test_frames_with_anything_in_them(result):
    k = result.k
    frame = pd.DataFrame(
        {
            "a": [None, np.nan, 1.5, np.inf] * (k // 4),
            "b": pd.array([1, None] * (k // 2), dtype="Int64"),
            "c": [pd.NaT, pd.Timestamp("2024-05-01")] * (k // 2),
            "d": ["x" * 500, "Zürich\n<b>"] * (k // 2),
        }
    )
    frame.columns = ["same", "same", 3, ("a", 1)]
    shown = Reader(page(result, frame)).text["list"]
    assert "x" * 80 + "…" in shown
    assert "x" * 81 not in shown
    assert "Zürich\n<b>" in shown
    assert "2024-05-01" in shown
    wide = pd.DataFrame(np.zeros((k, 30)))
    assert "26 more columns unfold" in Reader(page(result, wide)).text["list"]


def test_wrong_rows_are_named(result, rows):
    with pytest.raises(TypeError, match=r"rows must be a pandas or polars frame.*got ndarray"):
        page(result, rows.to_numpy())
    with pytest.raises(ValueError, match="rows holds 120 rows and the shortlist 60"):
        page(result, pd.concat([rows, rows]))


def test_files_are_whole_and_not_replaced_unasked(result, rows, tmp_path):
    target = tmp_path / "a page.html"
    target.write_text("mine")
    with pytest.raises(FileExistsError, match=r"a page\.html' exists already; pass overwrite=True"):
        result.report(target)
    with pytest.raises(ValueError, match="rows holds"):
        result.report(target, rows=pd.concat([rows, rows]), overwrite=True)
    assert target.read_text() == "mine"
    result.report(target, overwrite=True, title="Ours, \ud800")
    assert "<h1>Ours, &#55296;</h1>" in target.read_text("utf-8")
    assert [file.name for file in tmp_path.iterdir()] == ["a page.html"]
    with pytest.raises(FileNotFoundError, match="does not exist"):
        write_report(result, tmp_path / "missing" / "report.html")


def line(n, n_candidates, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 1))
    return X, (X[:, 0] + rng.normal(size=n) > 0.5).astype(int), rng.normal(size=(n_candidates, 1))


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(("n_candidates", "k"), [(1, 1), (2, 1), (2, 2), (50, 50), (3000, 1)])
def test_extreme_budgets(n_candidates, k):
    X, y, candidates = line(40, n_candidates)
    found = pick(X, y, candidates, k, models=["PatMat"], cv=2, repeats=1)
    read = Reader(page(found, pd.DataFrame(candidates[found.selected]), reasons=found.explained))
    assert ("budget-slider" in read.ids) == (n_candidates > 1)
    assert f"{k:,} of {n_candidates:,} candidates" in read.text["settings"]
    for section in ("answer", "budget", "belief"):
        assert "nan" not in re.sub(r"[a-z]*nan[a-z]+", "", read.text[section])


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_constant_scores_weights_and_time_order():
    X, y, candidates = line(60, 30)
    flat = pick(0 * X, y, 0 * candidates, 5, models=["PatMat"], cv=2, repeats=1)
    assert "Of these 5, expect" in Reader(page(flat, reasons=flat.explained)).text["answer"]
    weight = np.arange(60) % 3
    weighted = pick(X, y, candidates, 5, models=["PatMat"], cv=2, repeats=1, sample_weight=weight)
    assert f"{weighted.n_positive:,.6g} of them positive" in Reader(page(weighted)).text["settings"]
    ordered = pick(X, y, candidates, 5, models=["PatMat"], cv=TimeSeriesSplit(3))
    assert "TimeSeriesSplit" in Reader(page(ordered)).text["settings"]


@given(st.text())
def test_data_cannot_end_its_element(content):
    written = _json({"name": content})
    assert "<" not in written
    assert json.loads(written)["name"] == content


def test_a_list_by_value_shows_what_each_row_is_worth():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 3))
    y = X[:, 0] + rng.standard_normal(400) > 0.8
    worth = 10.0 + 90.0 * rng.random(400)
    options = {"models": {"logistic regression": LogisticRegression()}, "cv": 3, "k": 8}
    found = pick(X[:200], y[:200], X[200:], value=(worth[:200], worth[200:]), **options)
    shown = listed(found, None, None, ())
    gains = found.gain[found.selected]
    assert [row["worth"] for row in shown["rows"]] == [amount(gain) for gain in gains]
    assert gains.sum() == pytest.approx(found.expected_gain.value)
    assert found.probability[found.selected].sum() == pytest.approx(found.expected_hits.value)
    plain = pick(X[:200], y[:200], X[200:], **options)
    assert all(row["worth"] is None for row in listed(plain, None, None, ())["rows"])
