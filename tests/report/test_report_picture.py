"""The picture in the README shows the page as it is now."""

import importlib.util
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_picture_is_not_stale():
    spec = importlib.util.spec_from_file_location("gallery_report", ROOT / "docs/gallery_report.py")
    gallery = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(gallery)
    assert gallery.TARGET.stat().st_size > 50_000
    made_from, headline = gallery.DIGEST.read_text("utf-8").split()
    assert made_from == gallery.digest(), (
        "the report has changed since its picture was taken: run python docs/gallery_report.py"
    )
    readme = (ROOT / "README.md").read_text("utf-8")
    assert f"expect about {headline} of these 30 to be bad" in readme
