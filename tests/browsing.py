"""A real browser for the tests of pages."""

import json
import os
import shutil

import pytest

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


class Browser:
    """Chromium through its driver, with what it logged."""

    def __init__(self, driver):
        self.driver = driver

    def open(self, path, *, width=1000, scheme="light", media="", motion="no-preference"):
        """Open a file, or an address, as a reader with this screen sees it."""
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
        self.driver.get(path if isinstance(path, str) else path.as_uri())

    def command(self, name, **parameters):
        return self.driver.execute_cdp_cmd(name, parameters)

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def find(self, selector):
        return self.driver.find_element("css selector", selector)

    def text(self, selector):
        return self.find(selector).text

    def requests(self):
        """Addresses asked for since the last call, but those of the browser's own pages."""
        events = [json.loads(e["message"])["message"] for e in self.driver.get_log("performance")]
        return [
            event["params"]["request"]["url"]
            for event in events
            if event["method"] == "Network.requestWillBeSent"
            and not event["params"]["request"]["url"].startswith("chrome")
        ]

    def complaints(self):
        """What the console said since the page was opened."""
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def errors(self):
        """Warnings and errors of the console, without what programs tell of themselves."""
        log = self.driver.get_log("browser")
        return [entry["message"] for entry in log if entry["level"] in ("WARNING", "SEVERE")]


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    binary = next(filter(None, map(shutil.which, BROWSERS)), None)
    helper = shutil.which("chromedriver")
    if binary is None or helper is None:
        pytest.skip(
            "no Chromium and chromedriver found: pages are not tested in a browser; install the "
            "packages chromium and chromium-driver"
        )
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = binary
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    service = webdriver.ChromeService(helper, log_output=os.devnull)
    driver = webdriver.Chrome(options=options, service=service)
    driver.get("about:blank")  # ends the browser's start page, which may still be loading
    yield Browser(driver)
    driver.quit()
