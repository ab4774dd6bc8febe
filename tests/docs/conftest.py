"""The built site."""

import os
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from browsing import browser  # noqa: F401


@pytest.fixture(scope="session")
def site():
    """Folder of the built pages, named by SHORTLIST_SITE: see .ci/docs."""
    named = os.environ.get("SHORTLIST_SITE")
    if not named:
        pytest.skip("SHORTLIST_SITE names no built site; .ci/docs builds and tests it")
    folder = Path(named).resolve()
    assert (folder / "index.html").is_file(), f"{folder} holds no site"
    return folder


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *parts):
        pass


@pytest.fixture(scope="session")
def address(site):
    """Where the site is served."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=site)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
