"""A real shortlist and a real browser."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer

from browsing import browser  # noqa: F401
from shortlist import pick
from shortlist.report import write_report


def discs(n_rows, seed):
    """Hits near the middle, with some noise: no straight line finds them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 2))
    near = np.linalg.norm(X, axis=1) < 0.6
    return X, np.where(near ^ (rng.random(n_rows) < 0.08), "hit", "miss")


@pytest.fixture(scope="session")
def result():
    """60 of 900 candidates from a history of 400, as pick really makes it."""
    X, y = discs(400, 0)
    candidates, _ = discs(900, 1)
    found = pick(X, y, candidates, 60, pos_label="hit", models=["PatMat rbf", "PatMat"])
    assert found.winner != found.baseline
    return found


@pytest.fixture(scope="session")
def kept():
    """A result where nothing beat the baseline."""
    X, y = load_breast_cancer(return_X_y=True)
    found = pick(X[:300], y[:300], X[300:], 40, models={}, cv=3, repeats=1)
    assert found.winner == found.baseline
    return found


@pytest.fixture(scope="session")
def rows(result):
    candidates, _ = discs(900, 1)
    frame = pd.DataFrame(candidates[result.selected], columns=["east", "north"])
    frame.insert(0, "place", [f"field {i % 9}, row {i}" for i in result.selected])
    return frame


@pytest.fixture(scope="session")
def path(result, rows, tmp_path_factory):
    target = tmp_path_factory.mktemp("report") / "report.html"
    write_report(result, target, rows=rows, reasons=result.explained)
    return target


@pytest.fixture
def opened(browser, path):  # noqa: F811
    """The report in the browser."""
    browser.open(path)
    return browser


@pytest.fixture
def server():
    """A server on this machine that remembers what it was asked for."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            listener.asked.append(self.path)
            self.send_error(404)

        def log_message(self, *parts):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as listener:
        listener.asked = []
        listener.url = f"http://127.0.0.1:{listener.server_port}"
        threading.Thread(target=listener.serve_forever, daemon=True).start()
        yield listener
        listener.shutdown()
