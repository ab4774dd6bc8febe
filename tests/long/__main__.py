"""Long runs: memory that grows, workers that come and go, disks and networks that fail.

    python -m tests.long fits --count 10000      # one process, memory stays flat
    python -m tests.long picks --count 200       # likewise
    python -m tests.long workers --minutes 10    # a cluster that loses and regains workers
    python -m tests.long disk                    # workers spill to a disk that is full
    python -m tests.long network                 # a proxy that delays, cuts and swallows

Every command prints what it counted and ends with status 1 where an answer was wrong, an error
unclear, memory grew or something hung.
"""

from __future__ import annotations

import argparse
import os
import sys

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(_name, "1")
# Dask tells of every fault at length, here and in its workers.
os.environ.setdefault("DASK_LOGGING__DISTRIBUTED", "critical")


def main() -> int:
    """Return 0 where everything held."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("fits", "picks", "workers", "disk", "network"))
    parser.add_argument("--count", type=int, default=None)
    parser.add_argument("--minutes", type=float, default=10.0)
    options = parser.parse_args()
    if options.what in ("fits", "picks"):
        from . import memory

        return memory.run(options.what, options.count)
    if options.what == "workers":
        from . import workers

        return workers.run(options.minutes)
    if options.what == "disk":
        from . import disk

        return disk.run()
    from . import network

    return network.run()


if __name__ == "__main__":
    sys.exit(main())
