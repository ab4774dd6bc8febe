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
    """Fit rows that do not fit into memory; return 0 where it ended well or in a clear error."""
    status = 0
    with tempfile.TemporaryDirectory() as folder, small_disk(folder) as kind:
        # Rows of 2 MB are within every limit; of 64 MB, memory spills and the disk fills up;
        # of 256 MB, workers pause.
        for n_rows, memory in ((4000, 600), (100_000, 450), (400_000, 450)):
            judge = Judge(n_rows, 80 if n_rows > 4000 else 8)
            with (
                dask.config.set(
                    {
                        "distributed.worker.memory.target": 0.3,
                        "distributed.worker.memory.spill": 0.4,
                        "distributed.worker.memory.pause": 0.9,
                        "distributed.comm.timeouts.connect": "120s",
                        "shortlist.patience": "60s",
                    }
                ),
                LocalCluster(n_workers=2, threads_per_worker=1, processes=True,
                             dashboard_address=":0", memory_limit=f"{memory}MB",
                             local_directory=folder) as cluster,
                Client(cluster) as client,
            ):  # fmt: skip
                if kind == "limited":
                    client.run(_limit, SMALL << 20)
                for number in range(3):
                    judge.fit(number, client, n_parts=24)
                free = os.statvfs(folder)
                left = free.f_bavail * free.f_frsize / 1e6
            print(f"{n_rows:,} rows, disk {kind}, {left:.1f} MB left: ", end="", flush=True)
            status |= judge.verdict()
    return status
