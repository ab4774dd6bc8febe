import os
import signal

import pytest
from hypothesis import settings

# Speed is measured in benchmarks/: a busy machine must not fail a test.
settings.register_profile("no-clock", deadline=None)
settings.load_profile("no-clock")

# One thread per worker: the tests run in parallel processes.
os.environ.setdefault("OMP_NUM_THREADS", "1")


def pytest_configure(config):
    # What a file shares is made once: its tests stay in one process.
    if config.getoption("dist", "no") == "load":
        config.option.dist = "loadfile"


@pytest.fixture
def interruptible():
    """Let Ctrl-C raise KeyboardInterrupt, also where the shell had it ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
