"""Draw the picture of the report: light and dark halves, from the bundled loans.

Needs Chromium and its driver. Run ``python docs/gallery_report.py``; the picture goes to
``docs/gallery/report.png``.
"""

from __future__ import annotations

import base64
import shutil
import tempfile
from io import BytesIO
from pathlib import Path

import numpy as np
from PIL import Image
from selenium import webdriver

from shortlist import pick
from shortlist.datasets import load_credit

TARGET = Path(__file__).parent / "gallery" / "report.png"
WIDTH, HEIGHT = 860, 1290


def write_page(path: Path) -> None:
    """Choose 30 of 300 loans, and report on it."""
    loans, bad = load_credit()
    order = np.random.default_rng(0).permutation(len(loans))
    past, now = order[:700], order[700:]
    found = pick(
        loans.iloc[past], np.where(bad, "bad", "good")[past], loans.iloc[now], 30, pos_label="bad"
    )
    rows = loans.iloc[now].iloc[found.selected]
    found.report(path, rows=rows, title="30 of 300 loans to look at")


def half(driver: webdriver.Chrome, path: Path, scheme: str, first: str) -> Image.Image:
    """Photograph the page from one of its sections on."""
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    driver.get(path.as_uri())
    top = driver.execute_script(
        "return document.querySelector(arguments[0]).getBoundingClientRect().top", first
    )
    clip = {"x": 0, "y": max(0, top - 24), "width": WIDTH, "height": HEIGHT, "scale": 1}
    shot = driver.execute_cdp_cmd(
        "Page.captureScreenshot", {"clip": clip, "captureBeyondViewport": True}
    )
    return Image.open(BytesIO(base64.b64decode(shot["data"]))).convert("RGB")


def main() -> None:
    """Put two halves side by side."""
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"):
        options.add_argument(flag)
    driver = webdriver.Chrome(
        options=options, service=webdriver.ChromeService(shutil.which("chromedriver"))
    )
    size = {"width": WIDTH, "height": HEIGHT, "deviceScaleFactor": 1, "mobile": False}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "report.html")
        write_page(path)
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        halves = [half(driver, path, "light", "header"), half(driver, path, "dark", "#comparison")]
    driver.quit()
    picture = Image.new("RGB", (2 * WIDTH, HEIGHT))
    for i, part in enumerate(halves):
        picture.paste(part, (i * WIDTH, 0))
    picture.quantize(200).save(TARGET, optimize=True)


if __name__ == "__main__":
    main()
