"""Workers that must spill, to a disk that is full."""

from __future__ import annotations

import contextlib
import os
import resource
import subprocess
import tempfile
from collections.abc import Iterator

import dask
from distributed import Client, LocalCluster

from .answers import Judge

SMALL = 4  # megabytes of the disk


@contextlib.contextmanager
def small_disk(folder: str) -> Iterator[str]:
    """Mount a few megabytes; where that is not allowed, files may not grow beyond them."""
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={SMALL}m", "shortlist", folder],
        capture_output=True,
    )  # fmt: skip
    try:
        yield "full" if mounted.returncode == 0 else "limited"
    finally:
        if mounted.returncode == 0:
            subprocess.run(["umount", "-l", folder], check=False)


def _limit(size: int) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def run() -> int:
    """Fit rows that are to be spilled; return 0 where it ended well or in a clear error."""
    status = 0
    with tempfile.TemporaryDirectory() as folder, small_disk(folder) as kind:
        judge = Judge(4000, 600)
        # A worker takes about 220 MB before it holds a row: those it gets, 19 MB in all, are
        # spilled at once where it may have 180, and it pauses where it may have 240.
        for what, memory in (("spills", {"spill": 0.4}), ("pauses", {"spill": 0.4, "pause": 0.53})):
            judge.counts.clear()
            with (
                dask.config.set(
                    {
                        "distributed.worker.memory.target": 0.01,
                        **{f"distributed.worker.memory.{k}": v for k, v in memory.items()},
                        "distributed.comm.timeouts.connect": "120s",
                        "shortlist.patience": "60s",
                    }
                ),
                LocalCluster(n_workers=2, threads_per_worker=1, processes=True,
                             dashboard_address=":0", memory_limit="450MB",
                             local_directory=folder) as cluster,
                Client(cluster) as client,
            ):  # fmt: skip
                if kind == "limited":
                    client.run(_limit, SMALL << 20)
                least = SMALL * 1e6
                for number in range(3):
                    judge.fit(number, client, n_parts=24)
                    disk = os.statvfs(folder)
                    least = min(least, disk.f_bavail * disk.f_frsize)
            print(f"{what}, disk {kind} ({least / 1e6:.1f} MB left): ", end="", flush=True)
            status |= judge.verdict()
    return status
