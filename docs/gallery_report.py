"""Draw the pictures of the report: on a screen, by night and on a telephone, from real loans.

Needs Chromium and its driver. Run ``python docs/gallery_report.py``; the picture goes to
``docs/gallery/report.png``. ``report.txt`` beside it holds the digest of what it was made from
and the number of its headline, so that a test can tell when it, or the README, is stale.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import shutil
import tempfile
from io import BytesIO
from pathlib import Path

FOLDER = Path(__file__).parent / "gallery"
TARGET, DIGEST = FOLDER / "report.png", FOLDER / "report.txt"
SOURCES = Path(__file__).parent.parent / "src" / "shortlist" / "report"
HEIGHT, PHONE, DESKTOP = 1400, 390, 900


def digest() -> str:
    """Return what names all of the report, and this file."""
    made = hashlib.sha256()
    files = [file for file in SOURCES.rglob("*") if file.suffix in (".css", ".html", ".js", ".py")]
    for file in (*sorted(files), Path(__file__)):
        made.update(file.name.encode() + file.read_bytes().replace(b"\r\n", b"\n"))
    return made.hexdigest()


def write_page(folder: Path) -> Path:
    """Let ``shortlist demo`` choose 30 of 300 loans, and return its report."""
    from shortlist._app._demonstration import run_demo

    with contextlib.chdir(folder):
        run_demo(budget=30, seed=0, force=True)
    return folder / "report.html"


def main() -> None:
    """Put three views side by side."""
    from PIL import Image
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"):
        options.add_argument(flag)
    driver = webdriver.Chrome(
        options=options, service=webdriver.ChromeService(shutil.which("chromedriver"))
    )

    def view(path: Path, width: int, scheme: str, first: str, unfold: bool) -> Image.Image:
        """Photograph the page from one of its parts on."""
        size = {"width": width, "height": HEIGHT, "deviceScaleFactor": 1, "mobile": False}
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        driver.get(path.as_uri())
        if unfold:
            driver.execute_script("document.querySelector('#list-table details').open = true")
        top = driver.execute_script(
            "return document.querySelector(arguments[0]).getBoundingClientRect().top", first
        )
        clip = {"x": 0, "y": max(0, top - 24), "width": width, "height": HEIGHT, "scale": 1}
        shot = driver.execute_cdp_cmd(
            "Page.captureScreenshot", {"clip": clip, "captureBeyondViewport": True}
        )
        return Image.open(BytesIO(base64.b64decode(shot["data"]))).convert("RGB")

    with tempfile.TemporaryDirectory() as folder:
        path = write_page(Path(folder))
        views = [
            view(path, DESKTOP, "light", "header", True),
            view(path, DESKTOP, "dark", "#budget", False),
            view(path, PHONE, "light", "header", False),
        ]
        headline = driver.find_element("css selector", ".headline strong").text
    driver.quit()
    picture = Image.new("RGB", (sum(part.width for part in views), HEIGHT), "white")
    left = 0
    for part in views:
        picture.paste(part, (left, 0))
        left += part.width
    picture.quantize(160).save(TARGET, optimize=True)
    DIGEST.write_text(f"{digest()}\n{headline}\n", "utf-8")


if __name__ == "__main__":
    main()
