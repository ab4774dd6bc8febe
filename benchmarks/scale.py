"""Rows beyond memory: the same answer, passes, memory, and growth with workers.

    python -m benchmarks.scale            every section, about half an hour
    python -m benchmarks.scale --quick    small sizes, a few minutes
    python -m benchmarks.scale disk       one section: same, disk, workers or rows

One thread per process. Ratios compare times of one run. Growth with workers and the time
of a reading pass depend on what else the machine does: run it on idle cores.
"""

from __future__ import annotations

import itertools
import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
from distributed import Client, LocalCluster, wait
from threadpoolctl import threadpool_limits

import shortlist
from benchmarks.data import BUNDLED, folder, load_binary
from benchmarks.summary import Summary, parser_of
from shortlist import dask as on_dask
from shortlist.blocks import Blocks
from shortlist.rows.operators import as_rows

FEATURES = 30
N_PARTS = 8
ROUNDS = 2
TOP_PUSH = on_dask.TopPush(10, C=0.001, tol=1e-3)
PAT_MAT = on_dask.PatMat(0.01, C=0.001, tol=1e-3)
RANK_SVM = on_dask.RankSVM(C=0.001, tol=1e-3)
SETS = ("w8a", "nsl_kdd", "spambase")
MODELS = {
    "TopPush(10)": ("TopPush", {"k": 10, "C": 0.01}),
    "PatMat(.05)": ("PatMat", {"tau": 0.05, "C": 0.01}),
}


def chunks_of(n_rows: int, n_parts: int) -> tuple[int, ...]:
    """Nearly equal chunks; where there are many, the second is empty."""
    ends = np.linspace(0, n_rows, n_parts + 1).astype(int)
    if n_parts > 3:
        ends[2] = ends[1]
    return tuple(np.diff(ends).tolist())


def same_answer(quick: bool, summary: Summary) -> None:
    print("Largest relative difference of the primal value from the fit in memory, tol=1e-7.")
    print("Partitions sorted by class (some hold one class) and shuffled; 4 and 37 have an empty")
    print("one. 'blocks': read block by block.\n")
    print(f"{'set':<16}{'model':<14}{'1':>10}{'4':>10}{'37':>10}{'blocks':>10}")
    names = SETS if folder() is not None else tuple(BUNDLED)
    worst = 0.0
    for name in names[-1:] if quick else names:
        X, y = load_binary(name)
        for label, (kind, parameters) in MODELS.items():
            terms = {"tol": 1e-7, **parameters}
            primal = getattr(shortlist, kind)(**terms).fit(X, y).certificate_.primal
            cells = []
            for n_parts in (1, 4, 37):
                differences = []
                for order in (
                    np.argsort(y, kind="stable"),
                    np.random.default_rng(0).permutation(len(y)),
                ):
                    cut = chunks_of(len(y), n_parts)
                    blocks = np.split(np.arange(len(y)), np.cumsum(cut)[:-1])
                    rows = da.concatenate(
                        [
                            da.from_array(X[order[block]], chunks=-1, asarray=False)
                            for block in blocks
                        ]
                    )
                    model = getattr(on_dask, kind)(**terms)
                    model.fit(rows, da.from_array(y[order], chunks=(cut,)))
                    differences.append(abs(model.certificate_.primal / primal - 1.0))
                cells.append(max(differences))
            model = getattr(shortlist, kind)(**terms).fit(Blocks(X, y, block_bytes=1 << 20))
            cells.append(abs(model.certificate_.primal / primal - 1.0))
            worst = max(worst, *cells)
            print(f"{name:<16}{label:<14}" + "".join(f"{cell:10.1e}" for cell in cells), flush=True)
    print(f"\nworst {worst:.1e}, target 1e-6\n")
    summary.add(
        "the same answer on dask and in blocks",
        "the primal value in memory",
        f"within {worst:.0e}",
        ", ".join(names[-1:] if quick else names),
    )


def write_negatives(path: Path, n_rows: int) -> None:
    """Seeded rows, written in pieces so that this process stays small."""
    rng = np.random.default_rng(0)
    header = {"descr": "<f4", "fortran_order": False, "shape": (n_rows, FEATURES)}
    with open(path, "wb") as out:
        np.lib.format.write_array_header_2_0(out, header)
        for start in range(0, n_rows, 100_000):
            size = min(100_000, n_rows - start)
            rng.standard_normal((size, FEATURES), dtype=np.float32).tofile(out)
        out.flush()
        os.fsync(out.fileno())  # or its pages would be written back while the fit reads


class Forgotten(Blocks):
    """Blocks of a file whose pages the system forgets before every pass: larger than memory."""

    def __init__(self, path: str) -> None:
        super().__init__([positives(), path], y=[1, 0])
        self.path = path

    def read(self) -> Iterator[Any]:
        with open(self.path, "rb") as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        yield from super().read()


def positives() -> np.ndarray:
    rng = np.random.default_rng(1)
    return rng.standard_normal((2000, FEATURES), dtype=np.float32) + np.float32(1.5)


# Runs in a process of its own, so that the peak of its memory is that of the fit.
DISK = """
import json, resource, sys, time
import shortlist
from benchmarks.scale import Forgotten, positives
from shortlist.blocks import Blocks

path, kind, parameters = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
blocks = Forgotten(path) if sys.argv[4] == "disk" else Blocks([positives(), path], y=[1, 0])

def read():
    start = time.perf_counter()
    for block in blocks.read():
        pass
    return time.perf_counter() - start

reading = [read() for _ in range(3)]
start = time.perf_counter()
model = getattr(shortlist, kind)(tol=1e-3, **parameters).fit(blocks)
seconds = time.perf_counter() - start
reading += [read() for _ in range(3)]
certificate = model.certificate_
print(json.dumps({
    "passes": certificate.passes, "gap": certificate.relative_gap, "seconds": seconds,
    "reading": reading, "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6,
}))
"""


def on_disk(quick: bool, summary: Summary) -> None:
    n_rows = 1_000_000 if quick else 10_000_000
    models = (
        ("TopPush", {"C": 0.001}),
        ("TopPush", {"k": 100, "C": 0.001}),
        ("TopPush", {"k": 0.001, "C": 0.001}),
        ("PatMat", {"tau": 0.001, "C": 0.001}),
        ("PatMat", {"tau": 0.01, "C": 0.001}),
    )
    print(f"{n_rows:,} x {FEATURES} float32 negatives in a file, 2,000 positives, gap 1e-3.")
    print("'reading': seconds of a pass of pure reading by the same code, of six the median and")
    print("the range. 'ratio': seconds / (passes x that median). From the disk: the file's pages")
    print("are dropped before every pass, as if it were larger than the memory.\n")
    header = ("model", "from", "passes", "gap", "seconds", "reading", "", "ratio", "peak GB")
    print("{:<30}{:<8}{:>7}{:>10}{:>9}{:>9}{:>13}{:>7}{:>9}".format(*header))
    told_all = []
    with tempfile.TemporaryDirectory() as where:
        path = Path(where) / "negatives.npy"
        write_negatives(path, n_rows)
        for (kind, parameters), place in itertools.product(models, ("disk", "memory")):
            arguments = [str(path), kind, json.dumps(parameters), place]
            command = [sys.executable, "-W", "ignore", "-c", DISK, *arguments]
            run = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
            told = json.loads(run.stdout)
            reading = sorted(told["reading"])
            usual = float(np.median(reading))
            told["ratio"] = told["seconds"] / (told["passes"] * usual)
            told_all.append((place, told))
            terms = ", ".join(f"{name}={value:g}" for name, value in parameters.items())
            print(
                f"{f'{kind}({terms})':<30}{place:<8}{told['passes']:7d}{told['gap']:10.1e}"
                f"{told['seconds']:9.1f}{usual:9.2f}{f'({reading[0]:.2f}-{reading[-1]:.2f})':>13}"
                f"{told['ratio']:7.2f}{told['peak']:9.2f}",
                flush=True,
            )
    for place in ("disk", "memory"):
        runs = [told for where, told in told_all if where == place]
        ratios = [told["ratio"] for told in runs]
        summary.add(
            "negatives in a file, gap 1e-3",
            f"a pass of pure reading, from the {place}",
            f"{min(ratios):.1f} to {max(ratios):.1f} times as long a pass, "
            f"{min(t['passes'] for t in runs)} to {max(t['passes'] for t in runs)} passes, "
            f"peak {max(t['peak'] for t in runs):.2f} GB",
            f"{n_rows:,} x {FEATURES} float32",
        )
    print("\ntargets: at most 30 passes, ratio at most 3, peak below 1.5 GB\n")


def partition(n_rows: int, n_features: int, seed: int) -> np.ndarray:
    """Seeded rows; the first 1/1000 of them are the positives."""
    rows = np.random.default_rng(seed).standard_normal((n_rows, n_features), dtype=np.float32)
    rows[: n_rows // 1000] += np.float32(1.5)
    return rows


def cluster_rows(client: Client, n_rows: int, n_features: int) -> tuple[Any, Any]:
    """Rows and labels in the memory of the workers, as many on each."""
    size, workers = n_rows // N_PARTS, list(client.nthreads())
    homes = [workers[seed % len(workers)] for seed in range(N_PARTS)]
    parts = [
        (
            client.submit(partition, size, n_features, seed, workers=[home]),
            client.submit(labels_of, size, workers=[home], pure=False),
        )
        for seed, home in enumerate(homes)
    ]
    wait(parts)
    X = [da.from_delayed(rows, (size, n_features), np.float32) for rows, _ in parts]
    y = [da.from_delayed(labels, (size,), bool) for _, labels in parts]
    data = dask.persist(da.concatenate(X), da.concatenate(y))
    wait(data)
    return data


def ranked_rows(X: Any) -> tuple[Any, Any, Any]:
    """Add two grades and groups of a hundred rows, where the rows are."""
    grade = (X[:, :5].sum(axis=1) > 3.0).astype(np.float64)
    group = da.arange(len(X), chunks=X.chunks[0]) // 100
    grade, group = dask.persist(grade, group)
    wait([grade, group])
    return X, grade, group


def labels_of(n_rows: int) -> np.ndarray:
    return np.arange(n_rows) < n_rows // 1000


def files_of(folder: Path, n_rows: int, n_features: int) -> list[str]:
    """Write the same rows as Parquet files, a label in the last column."""
    names = []
    for seed in range(N_PARTS):
        rows = partition(n_rows // N_PARTS, n_features, seed)
        frame = pd.DataFrame(rows, columns=[f"x{i}" for i in range(n_features)])
        frame["y"] = labels_of(len(rows))
        names.append(str(folder / f"{seed}.parquet"))
        frame.to_parquet(names[-1])
    return names


class Team:
    """A cluster, and the times of its fits.

    The rows are on the workers before; given files, a fit has to read them.
    """

    def __init__(
        self,
        n_workers: int,
        n_rows: int,
        n_features: int,
        files: list[str] | None = None,
        model: Any = TOP_PUSH,
    ) -> None:
        self.model = model
        self.cluster = LocalCluster(
            n_workers=n_workers, threads_per_worker=1, processes=True, dashboard_address=None
        )
        self.client = Client(self.cluster, set_as_default=False)
        self.files = files
        if files is None:
            with self.client.as_current():
                self.data: tuple[Any, ...] = cluster_rows(self.client, n_rows, n_features)
                if isinstance(model, on_dask.RankSVM):
                    self.data = ranked_rows(self.data[0])
        self.times: list[float] = []

    def fit(self) -> int:
        """Fit once, note the seconds, return the passes."""
        for name in self.files or ():
            Path(name).read_bytes()  # into the page cache, which a busy system may empty
        with self.client.as_current():
            start = time.perf_counter()
            if self.files is not None:
                table = dd.read_parquet(self.files)
                self.data = table.drop(columns="y"), table["y"]
            model = self.model.fit(*self.data)
            self.times.append(time.perf_counter() - start)
        return model.certificate_.passes

    def close(self) -> None:
        self.client.close()
        self.cluster.close()


def scan(n_rows: int, n_features: int, ready: Any, out: Any) -> None:
    """Note the seconds of the fastest of some plain passes over rows of this process."""
    X = as_rows(partition(n_rows, n_features, 0))
    w = np.ones(n_features)
    seconds = []
    ready.wait()
    for _ in range(10):
        start = time.perf_counter()
        X.scores(w)
        seconds.append(time.perf_counter() - start)
    out.put(float(np.median(seconds)))


def bound(n_rows: int, n_features: int) -> float:
    """Return the growth of plain passes by two processes, half the rows each, without Dask."""
    context = multiprocessing.get_context("spawn")
    slowest = []
    for n_processes in (1, 2):
        ready, out = context.Barrier(n_processes), context.Queue()
        terms = (n_rows // n_processes, n_features, ready, out)
        processes = [context.Process(target=scan, args=terms) for _ in range(n_processes)]
        for process in processes:
            process.start()
        slowest.append(max(out.get() for _ in processes))
        for process in processes:
            process.join()
    return slowest[0] / slowest[1]


def with_workers(quick: bool, summary: Summary) -> None:
    n_rows = 400_000 if quick else 2_000_000
    print(f"{n_rows:,} rows in {N_PARTS} partitions: TopPush(10), PatMat(0.01) and RankSVM with")
    print("groups of 100 rows, gap 1e-3. A cluster of one and one of two workers in turn, alone,")
    print("with some fits each; seconds of all fits but the first, the fastest first. 'growth': of")
    print("the fastest. 'files': the fit reads Parquet files from the page cache; otherwise the")
    print("rows are on the workers. 'bound': growth of two processes that only score their rows,")
    print("without Dask: the cores share the memory. Needs two idle cores; target 1.5.\n")
    repeats = 2 if quick else 4
    with tempfile.TemporaryDirectory() as name:
        for n_features in (FEATURES,) if quick else (FEATURES, 100):
            place = Path(name) / str(n_features)
            place.mkdir()
            files = files_of(place, n_rows, n_features)
            grow(n_rows, n_features, repeats, summary, files)
    for n_features in (FEATURES, 100) if quick else (FEATURES, 100, 300):
        grow(n_rows, n_features, repeats, summary)
    for model in (RANK_SVM,) if quick else (RANK_SVM, PAT_MAT):
        grow(n_rows, FEATURES, repeats, summary, model=model)
    print()


def grow(
    n_rows: int,
    n_features: int,
    repeats: int,
    summary: Summary,
    files: list[str] | None = None,
    model: Any = TOP_PUSH,
) -> None:
    times: dict[int, list[float]] = {1: [], 2: []}
    for n_workers in (1, 2) * ROUNDS:
        team = Team(n_workers, n_rows, n_features, files, model)
        for _ in range(1 + repeats):
            passes = team.fit()
        team.close()
        times[n_workers] += team.times[1:]
    one, two = (sorted(times[n_workers]) for n_workers in (1, 2))
    found = f"growth {one[0] / two[0]:.2f}, of the medians {np.median(one) / np.median(two):.2f}"
    if files is None and model is TOP_PUSH:
        found += f", bound {bound(n_rows, n_features):.2f}"
    name = type(model).__name__
    kind = f"{name}, {n_features} float32 features" + (", files" if files else "")
    print(f"{kind}, {passes} passes: {found}")
    for label, times in (("1 worker ", one), ("2 workers", two)):
        print(f"  {label} " + " ".join(f"{seconds:.2f}" for seconds in times), flush=True)
    what = f"`shortlist.dask.{name}`, {n_features} features"
    what += ", from Parquet files" if files else ""
    summary.add(f"{what}, two workers", "one", found, f"{n_rows:,} rows")


def with_rows(quick: bool, summary: Summary) -> None:
    sizes = [100_000, 400_000] if quick else [500_000, 1_000_000, 2_000_000, 4_000_000]
    print("Seconds per pass against rows, 2 workers, TopPush(10), gap 1e-3, fastest of 4:")
    per_pass = []
    for n_rows in sizes:
        team = Team(2, n_rows, FEATURES)
        passes = [team.fit() for _ in range(4)][-1]
        team.close()
        seconds = min(team.times)
        per_pass.append(seconds / passes)
        print(
            f"{n_rows:>12,}{seconds:9.2f} s{passes:5d} passes{per_pass[-1]:9.3f} s/pass", flush=True
        )
    slope = np.polyfit(np.log(sizes), np.log(per_pass), 1)[0]
    print(f"slope {slope:.2f}, target at most 1.1\n")
    summary.add(
        "`shortlist.dask.TopPush`, growth",
        "the number of rows",
        f"log-log slope {slope:.2f}",
        f"{sizes[0]:,} to {sizes[-1]:,} rows, 2 workers",
    )


SECTIONS = {"same": same_answer, "disk": on_disk, "workers": with_workers, "rows": with_rows}


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("sections", nargs="*", choices=[*SECTIONS, []], help="only these")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    summary = Summary(options.summary)
    with threadpool_limits(1):
        for name in options.sections or SECTIONS:
            SECTIONS[name](options.quick, summary)
    summary.close()


if __name__ == "__main__":
    main()
