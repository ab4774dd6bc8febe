import contextlib
import gc
import os
import signal

import pytest
from hypothesis import settings

import drawing  # noqa: F401
from looked_up import look_up_once

# What is imported and collected stays: looking for garbage in it took a tenth of the time.
gc.disable()

# One thread per worker: the tests run in parallel processes.
os.environ.setdefault("OMP_NUM_THREADS", "1")


def pytest_configure(config):
    # A shell in the background has Ctrl-C ignored, and what it starts inherits that.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    look_up_once()
    # What a file shares is made once: its tests stay in one process.
    if config.getoption("dist", "no") == "load":
        config.option.dist = "loadfile"
    # "slow or not slow" draws more random cases.
    settings.load_profile("usual" if config.option.markexpr == "not slow" else "all")


# What costs a list most, how much of it is enough, and the tests that try it whole.
FEW = dict.fromkeys(("quick", "normal", "thorough"), 12)
LESS = [
    ("shortlist.picking.drift.telling._TREES", 3, {"test_drift"}),  # there a third
    ("shortlist.stacking.heads.BAGS", 3, {"test_heads", "test_topstack"}),
    ("shortlist.picking.terms.replay._REPLAYS", 60, {"test_replay"}),
    ("shortlist.picking.race.models._FOLD_TREES", FEW, {"test_race"}),
    ("shortlist.picking.race.models._FINAL_TREES", FEW, {"test_race"}),
    ("shortlist.picking.race.models._HURRIED_TREES", 10, {"test_race"}),
    # There is one thread here; every limit looks through all libraries that are loaded.
    ("shortlist.picking.race.race.threadpool_limits", contextlib.nullcontext, {"test_notebook"}),
    ("shortlist.picking.drift.drift.threadpool_limits", contextlib.nullcontext, {"test_notebook"}),
]


@pytest.fixture(scope="module", autouse=True)
def less_of_it(request):
    """Tests of lists pay for drift, forests and their combination as much as they look at them.

    With "slow" nothing is spared.
    """
    module = request.module.__name__.rpartition(".")[2]
    with pytest.MonkeyPatch.context() as patch:
        if request.config.option.markexpr == "not slow":
            for name, number, whole in LESS:
                if module not in whole:
                    patch.setattr(name, number)
        yield


def pytest_collection_finish(session):
    gc.freeze()
    gc.enable()
