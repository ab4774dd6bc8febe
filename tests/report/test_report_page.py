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
from sklearn.model_selection import TimeSeriesSplit

from shortlist import pick
from shortlist.metrics._sample import check_sample
from shortlist.report import write_report
from shortlist.report._figures import _cuts, figures
from shortlist.report._page import page
from shortlist.report._words import count, percent, sentence


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


def test_says_everything_in_order(read, result):
    sections = [a["id"] for tag, a in read.tags if tag == "section"]
    assert sections == [
        "asked",
        "answer",
        "list",
        "comparison",
        "budget",
        "scores",
        "certificate",
        "done",
    ]
    hits = result.expected_hits
    assert "60 of 900 candidates (6.7 %)" in read.text["asked"]
    assert "rows labelled “hit”" in read.text["asked"]
    assert f"expect {count(hits.value)} hits" in read.text["answer"]
    assert f"between {count(hits.low)} and {count(hits.high)}" in read.text["answer"]
    assert sentence(result.verdict) in read.text["answer"]
    for entry in result.comparison:
        assert entry.name in read.text["comparison"]
    assert "Combination is fitted without a certificate" in read.text["certificate"]
    for version in result.settings["versions"].values():
        assert version in read.text["done"]
    assert f"k=60, random_state={result.settings['seed']})\nresult.report" in read.text["done"]


def test_identifiers_are_unique_and_links_stay_inside(read):
    assert len(read.ids) == len(set(read.ids))
    targets = {link[1:] for link in read.links if link.startswith("#")}
    assert targets <= set(read.ids)
    assert all(link.startswith("#") or link == "data:," for link in read.links)


def test_nothing_is_fetched(path):
    html = path.read_text("utf-8")
    assert not re.search(r"https?:|//[a-z]|@import|url\(|style=|\son[a-z]+=", html)
    assert path.stat().st_size < 150_000


def test_policy_names_the_style_and_the_script(path):
    html = path.read_text("utf-8")
    for tag in ("style", "script"):
        content = re.search(rf"<{tag}>(.*?)</{tag}>", html, re.DOTALL)[1]
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{tag}-src &#x27;sha256-{digest}&#x27;" in html
    assert "default-src &#x27;none&#x27;" in html


def test_data_is_what_pick_found(read, result):
    data = json.loads(read.text["report-data"])
    assert data["k"] == 60
    assert data["values"]["k"] == result.forecast.budgets.tolist()
    np.testing.assert_allclose(data["values"]["hits"], result.forecast.hits, rtol=1e-6)
    np.testing.assert_allclose(data["values"]["baseline"], result.forecast.baseline_hits, rtol=1e-6)
    for places in data["places"].values():
        assert min(places) >= 0
        assert max(places) <= 100


def test_the_list_shows_the_best_rows(read, result, rows):
    shown = read.text["list"]
    assert "First 20 of 60, best first" in shown
    assert all(place in shown for place in rows["place"][:20])
    assert not any(f"{place}–" in shown for place in rows["place"][20:])
    assert f"{rows['east'][0]:.6g}" in shown
    assert f"{result.selected[0]:,}" in shown


def test_same_shortlist_same_page(path, result, rows):
    pages = (path.read_text("utf-8"), page(result, rows), page(result, pl.from_pandas(rows)))
    # All but the day: midnight may pass between them.
    assert len({re.sub(r"on \d{4}-\d\d-\d\d", "", html) for html in pages}) == 1


def test_another_budget(result):
    text = Reader(page(result.at(100))).text
    assert "100 of 900 candidates" in text["asked"]
    assert "k=60, random_state=" in text["done"]
    assert ".at(100)" in text["done"]
    assert "chosen for a budget of 60" in text["budget"]


def test_frames_with_anything_in_them(result):
    k = result.k
    frame = pd.DataFrame(
        {
            "a": [None, np.nan, 1.5, np.inf] * (k // 4),
            "b": pd.array([1, None] * (k // 2), dtype="Int64"),
            "c": [pd.NaT, pd.Timestamp("2024-05-01")] * (k // 2),
            "d": ["x" * 500, "Zürich\n<b>"] * (k // 2),
            "e": [True, [1, 2]] * (k // 2),
        }
    )
    frame.columns = ["same", "same", 3, ("a", 1), ""]
    shown = Reader(page(result, frame)).text["list"]
    assert "x" * 80 + "…" in shown
    assert "x" * 81 not in shown
    assert "Zürich\n<b>" in shown
    assert "2024-05-01" in shown
    wide = pd.DataFrame(np.zeros((k, 30)))
    assert "18 more columns are not shown" in Reader(page(result, wide)).text["list"]


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
    read = Reader(page(found, pd.DataFrame(candidates[found.selected])))
    assert ("budget-slider" in read.ids) == (n_candidates > 1)
    assert f"{k:,} of {n_candidates:,} candidates" in read.text["asked"]
    assert "nan" not in re.sub(r"[a-z]*nan[a-z]+", "", read.text["budget"])


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_constant_scores_weights_and_time_order():
    X, y, candidates = line(60, 30)
    flat = pick(0 * X, y, 0 * candidates, 5, models=["PatMat"], cv=2, repeats=1)
    assert "Above the cut" in Reader(page(flat)).text["scores"]
    weight = np.arange(60) % 3
    weighted = pick(X, y, candidates, 5, models=["PatMat"], cv=2, repeats=1, sample_weight=weight)
    assert f"{weighted.n_positive:,.6g} of them positive" in Reader(page(weighted)).text["asked"]
    ordered = pick(X, y, candidates, 5, models=["PatMat"], cv=TimeSeriesSplit(3))
    assert "TimeSeriesSplit" in Reader(page(ordered)).text["done"]


def test_one_class_held_out_has_no_densities(result):
    rows = result.held_out_rows
    none = replace(rows, positive=np.zeros_like(rows.positive))
    lone = replace(result, held_out_rows=none)
    read = Reader(page(lone))
    assert "of one class only" in read.text["scores"]
    assert "cut_x" not in json.loads(read.text["report-data"])["places"]


@given(
    data=st.lists(
        st.tuples(st.booleans(), st.sampled_from([0.0, 1.0, -2.5, 1e9]), st.integers(0, 3)),
        min_size=2,
        max_size=12,
    ),
    share=st.floats(0.01, 1.0),
)
def test_cuts_match_a_list_written_out(data, share):
    y, scores, weight = (np.array(part) for part in zip(*data, strict=True))
    y[:2], weight[:2] = [True, False], [1, 2]
    sample = check_sample(y.astype(int), scores, weight.astype(float))
    (cut,), (found,), (taken,) = _cuts(sample, np.array([share]))
    # Rows by multiplicity, best first; within a tie each row has the tie's mean label.
    rows = np.repeat(np.arange(len(y)), weight)
    rows = rows[np.argsort(-scores[rows], kind="stable")]
    mean = np.array([np.mean(y[rows][scores[rows] == s]) for s in scores[rows]])
    length = share * len(rows)
    part = np.clip(length - np.arange(len(rows)), 0, 1)
    assert found == pytest.approx(part @ mean / y[rows].sum())
    assert taken == pytest.approx(part @ (1 - mean) / (~y[rows]).sum())
    assert cut == scores[rows][min(int(np.ceil(length - 1e-9)), len(rows)) - 1]


def test_shares_at_the_budget_agree_with_the_forecast(result):
    fig = figures(result)
    positives = fig.at("hits", result.n_candidates)
    # The share of positives found is, up to the folds, the forecast's recall.
    assert fig.at("found", 60) == pytest.approx(fig.at("hits", 60) / positives, abs=0.1)
    assert percent(fig.at("found", 900)) == "100 %"
