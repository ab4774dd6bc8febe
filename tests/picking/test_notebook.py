"""A shortlist in a notebook."""

from dataclasses import replace
from html import escape
from html.parser import HTMLParser

import numpy as np
from sklearn.linear_model import LogisticRegression

from shortlist import pick
from shortlist.datasets import load_tumours


def test_verdict_and_head_are_shown_and_text_is_escaped():
    X, y = load_tumours()
    models = {"logistic regression": LogisticRegression()}
    found = pick(X[:200], y[:200], X[200:], k=12, models=models, cv=3, repeats=1)
    page = found._repr_html_()
    assert escape(found.verdict) in page
    assert "and 2 more" in page
    shown = []

    class Cells(HTMLParser):
        def handle_data(self, data):
            shown.append(data)

    Cells().feed(page)
    assert [str(row) for row in found.selected[:10]] == shown[shown.index("1") + 1 :][:40:4]
    evil = replace(found, winner="<script>alert(1)</script>", scores=np.asarray(found.scores))
    assert "<script" not in evil._repr_html_()
