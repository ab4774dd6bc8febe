"""The picture in the README shows the page as it is now."""

import importlib.util
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from shortlist._app import app

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def gallery():
    spec = importlib.util.spec_from_file_location("gallery_report", ROOT / "docs/gallery_report.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_picture_is_not_stale(gallery):
    assert gallery.TARGET.stat().st_size > 50_000
    made_from, headline = gallery.DIGEST.read_text("utf-8").split()
    assert made_from == gallery.digest(), (
        "the report has changed since its picture was taken: run python docs/gallery_report.py"
    )
    readme = (ROOT / "README.md").read_text("utf-8")
    assert f"expect about {headline} of these 30 to be bad" in readme


def test_a_change_of_the_report_changes_its_digest(gallery, monkeypatch, tmp_path):
    (tmp_path / "_words.py").write_text("one", "utf-8")
    monkeypatch.setattr(gallery, "SOURCES", tmp_path)
    before = gallery.digest()
    (tmp_path / "_words.py").write_text("two", "utf-8")
    assert gallery.digest() != before


@pytest.mark.slow
def test_the_demo_still_gives_the_number_of_the_picture(gallery, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, ["demo"])
    assert done.exit_code == 0, done.output
    expected = int(re.search(r"Expect about (\d+) of 30", done.output)[1])
    headline = int(gallery.DIGEST.read_text("utf-8").split()[1])
    # Other versions of what it stands on may round to the next number.
    assert abs(expected - headline) <= 1, "run python docs/gallery_report.py, and see the README"
