"""Try random input for some minutes.

    python -m tests.fuzz --minutes 10
    python -m tests.fuzz --minutes 5 --only models estimators
    python -m tests.fuzz --replay tables:123

Every case is a number, and runs in a process that may crash or hang without ending the others.
A finding is printed and its number is added to ``tests/fuzz/corpus.txt``, which the tests run
again: commit it with what mends it. The seed of a run is the time, or ``--seed``.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import os
import select
import signal
import sys
import time
import traceback
from collections import Counter
from pathlib import Path
from typing import Any

from . import TARGETS

sys.path.insert(0, str(Path(__file__).parents[1]))  # the oracles

CORPUS = Path(__file__).with_name("corpus.txt")
PATIENCE = 600  # seconds without a word from a process that is then called hanging
TURN = 20.0  # seconds for each target in turn


def one(target: str, seed: int, shared: Any) -> str | None:
    """Run a case; return what is wrong."""
    try:
        importlib.import_module(f"{__package__}.{target}").run(seed, shared)
    except Exception:
        return traceback.format_exc()
    return None


def turn(target: str, seed: int, shared: Any, seconds: float) -> tuple[int, list[tuple[int, str]]]:
    """Run cases in a process of its own; return how many, and the findings."""
    mine, its = os.pipe()
    child = os.fork()
    if not child:
        os.close(mine)
        # What a case prints is no finding.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.dup2(1, 2)
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            os.write(its, f"{seed}\n".encode())
            wrong = one(target, seed, shared)
            if wrong is not None:
                os.write(its, b"".join(b"!" + line.encode() + b"\n" for line in wrong.split("\n")))
            seed += 1
        os._exit(0)
    os.close(its)
    said = b""
    hangs = False
    while True:
        ready, _, _ = select.select([mine], [], [], PATIENCE)
        if not ready:
            hangs = True
            os.kill(child, signal.SIGKILL)
        piece = os.read(mine, 1 << 16)
        said += piece
        if not piece:
            break
    os.close(mine)
    _, status = os.waitpid(child, 0)
    cases: list[tuple[int, str]] = []
    for line in said.decode().splitlines():
        if line.startswith("!"):
            cases[-1] = (cases[-1][0], cases[-1][1] + line[1:] + "\n")
        else:
            cases.append((int(line), ""))
    if status:
        how = f"said nothing for {PATIENCE} s" if hangs else f"ended with status {status}"
        cases[-1] = (cases[-1][0], f"the process {how}\n")
    return len(cases), [case for case in cases if case[1]]


def keep(target: str, seed: int, wrong: str) -> None:
    """Print a finding and add it to the corpus."""
    print(f"{target}:{seed}\n{wrong}", flush=True)
    with CORPUS.open("a") as file:
        file.write(f"{target}:{seed}  # {wrong.strip().splitlines()[-1][:120]}\n")


def corpus() -> list[tuple[str, int]]:
    """Return the cases that found something once."""
    lines = [line.partition("#")[0].strip() for line in CORPUS.read_text().splitlines()]
    pairs = [line.split(":") for line in lines if line]
    return [(target, int(seed)) for target, seed in pairs]


def main() -> int:
    """Return how many findings there were."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--only", nargs="+", choices=TARGETS, default=TARGETS)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--replay", metavar="TARGET:SEED")
    options = parser.parse_args()
    if options.replay:
        target, _, number = options.replay.partition(":")
        module = importlib.import_module(f"{__package__}.{target}")
        module.run(int(number), module.prepare())
        return 0
    shared = {
        name: importlib.import_module(f"{__package__}.{name}").prepare() for name in options.only
    }
    seed = int(time.time()) * 1000 if options.seed is None else options.seed
    begin = time.monotonic()
    next_seed = dict.fromkeys(options.only, seed)
    cases: Counter[str] = Counter()
    findings: Counter[str] = Counter()
    with contextlib.suppress(KeyboardInterrupt):
        while (left := begin + 60 * options.minutes - time.monotonic()) > 0:
            for name in options.only:
                count, found = turn(name, next_seed[name], shared[name], min(TURN, left))
                next_seed[name] += count
                cases[name] += count
                findings[name] += len(found)
                for number, wrong in found:
                    keep(name, number, wrong)
    print(f"seed {seed}, {(time.monotonic() - begin) / 60:.1f} minutes")
    for name in options.only:
        print(f"{name:12s} {cases[name]:8,d} cases {findings[name]:4d} findings")
    return sum(findings.values())


if __name__ == "__main__":
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ.setdefault(name, "1")  # threads do not survive a fork
    sys.exit(min(main(), 100))
