import gc
import os
import signal

from hypothesis import settings

import drawing  # noqa: F401

# What is imported and collected stays: looking for garbage in it took a tenth of the time.
gc.disable()

# One thread per worker: the tests run in parallel processes.
os.environ.setdefault("OMP_NUM_THREADS", "1")


def pytest_configure(config):
    # A shell in the background has Ctrl-C ignored, and what it starts inherits that.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    # What a file shares is made once: its tests stay in one process.
    if config.getoption("dist", "no") == "load":
        config.option.dist = "loadfile"
    # "slow or not slow" draws more random cases.
    settings.load_profile("usual" if config.option.markexpr == "not slow" else "all")


def pytest_collection_finish(session):
    gc.freeze()
    gc.enable()
