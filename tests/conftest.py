import os
import signal

from hypothesis import settings

# Speed is measured in benchmarks/: a busy machine must not fail a test.
settings.register_profile("no-clock", deadline=None)
settings.load_profile("no-clock")

# One thread per worker: the tests run in parallel processes.
os.environ.setdefault("OMP_NUM_THREADS", "1")


def pytest_configure(config):
    # A shell in the background has Ctrl-C ignored, and what it starts inherits that.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    # What a file shares is made once: its tests stay in one process.
    if config.getoption("dist", "no") == "load":
        config.option.dist = "loadfile"


def pytest_collection_modifyitems(config, items):
    """Draw fewer random cases in the usual run than with ``-m "slow or not slow"``."""
    if config.option.markexpr != "not slow":
        return
    for test in {getattr(item.obj, "__func__", item.obj) for item in items if item.obj}:
        known = getattr(test, "_hypothesis_internal_use_settings", None)
        if known is not None and known.max_examples > 25:
            fewer = max(25, known.max_examples // 3)
            test._hypothesis_internal_use_settings = settings(known, max_examples=fewer)
