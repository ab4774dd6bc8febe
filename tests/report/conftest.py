"""A real shortlist and a real browser."""

import json
import os
import shutil
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer

from shortlist import pick
from shortlist.report import write_report

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--hide-scrollbars",
)


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
    write_report(result, target, rows=rows)
    return target


class Browser:
    """Chromium through its driver, with what it logged."""

    def __init__(self, driver):
        self.driver = driver

    def open(self, path, *, width=1000, scheme="light", media="", motion="no-preference"):
        self.command(
            "Emulation.setEmulatedMedia",
            media=media,
            features=[
                {"name": "prefers-color-scheme", "value": scheme},
                {"name": "prefers-reduced-motion", "value": motion},
            ],
        )
        self.command(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=900,
            deviceScaleFactor=1,
            mobile=False,
        )
        self.requests()
        self.driver.get_log("browser")
        self.driver.get(path.as_uri())

    def command(self, name, **parameters):
        return self.driver.execute_cdp_cmd(name, parameters)

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def find(self, selector):
        return self.driver.find_element("css selector", selector)

    def text(self, selector):
        return self.find(selector).text

    def requests(self):
        """Addresses asked for since the last call."""
        events = [json.loads(e["message"])["message"] for e in self.driver.get_log("performance")]
        return [
            event["params"]["request"]["url"]
            for event in events
            if event["method"] == "Network.requestWillBeSent"
        ]

    def complaints(self):
        """What the console said since the page was opened."""
        return [entry["message"] for entry in self.driver.get_log("browser")]


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


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    binary = next(filter(None, map(shutil.which, BROWSERS)), None)
    helper = shutil.which("chromedriver")
    if binary is None or helper is None:
        pytest.skip(
            "no Chromium and chromedriver found: the report is not tested in a browser; install "
            "the packages chromium and chromium-driver"
        )
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = binary
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    service = webdriver.ChromeService(helper, log_output=os.devnull)
    driver = webdriver.Chrome(options=options, service=service)
    yield Browser(driver)
    driver.quit()
