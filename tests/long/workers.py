"""A cluster whose workers are killed, sent away and called back while it fits."""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from collections import Counter

import dask
from distributed import Client, LocalCluster

from .answers import Judge

EVERY = 4.0  # seconds between faults


def run(minutes: float) -> int:
    """Fit for some minutes; return 0 where every answer was right or a clear error."""
    rng = random.Random(0)
    judge = Judge()
    faults: Counter[str] = Counter()
    over = threading.Event()
    with (
        dask.config.set({"distributed.comm.timeouts.connect": "120s"}),
        # Faults come more often than dask's patience for a task that saw several.
        dask.config.set({"distributed.scheduler.allowed-failures": 1000}),
        LocalCluster(n_workers=3, threads_per_worker=1, processes=True, dashboard_address=":0",
                     memory_limit=0) as cluster,
        Client(cluster) as client,
    ):  # fmt: skip

        def disturb() -> None:
            while not over.wait(EVERY):
                what = rng.choice(["kill", "kill", "stop", "fewer", "more"])
                try:
                    if what in ("kill", "stop"):
                        nanny = rng.choice(list(cluster.workers.values()))
                        pid = nanny.pid
                        if pid is None:
                            continue
                        os.kill(pid, signal.SIGKILL if what == "kill" else signal.SIGSTOP)
                        if what == "stop":
                            time.sleep(2.0)
                            os.kill(pid, signal.SIGCONT)
                    else:
                        cluster.scale(1 if what == "fewer" else 3)
                    faults[what] += 1
                except (ProcessLookupError, IndexError):
                    continue

        thread = threading.Thread(target=disturb, daemon=True)
        thread.start()
        begin, number = time.monotonic(), 0
        while time.monotonic() - begin < 60 * minutes:
            if judge.fit(number, client) == "HANG":
                break
            number += 1
        over.set()
        thread.join()
        cluster.scale(3)
        client.wait_for_workers(3)
    said = ", ".join(f"{count} {what}" for what, count in sorted(faults.items()))
    print(f"{number} fits in {minutes:g} minutes; faults: {said}")
    return judge.verdict()
