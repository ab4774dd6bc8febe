import os
import signal

import pytest

# One thread per worker: the tests run in parallel processes.
os.environ.setdefault("OMP_NUM_THREADS", "1")


@pytest.fixture
def interruptible():
    """Let Ctrl-C raise KeyboardInterrupt, also where the shell had it ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
