import gc
import os
import signal

import pytest
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


# What costs a short list most, in numbers that its own tests try whole.
LESS = {
    "test_drift": ("shortlist.picking.drift.telling._TREES", 3),
    "test_heads": ("shortlist.stacking.heads.BAGS", 3),
    "test_topstack": ("shortlist.stacking.heads.BAGS", 3),
    "test_replay": ("shortlist.picking.terms.replay._REPLAYS", 60),
}


@pytest.fixture(scope="module", autouse=True)
def less_of_it(request):
    """Tests of lists pay for drift and for the combination only as much as they look at them.

    With "slow" nothing is spared.
    """
    module = request.module.__name__.rpartition(".")[2]
    with pytest.MonkeyPatch.context() as patch:
        if request.config.option.markexpr == "not slow" and module not in LESS:
            for name, number in LESS.values():
                patch.setattr(name, number)
        yield


def pytest_collection_finish(session):
    gc.freeze()
    gc.enable()
