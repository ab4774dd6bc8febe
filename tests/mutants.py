"""Break some lines, one at a time, and see which test notices.

    python -m tests.mutants             # all; prints a table, fails if a break survives
    python -m tests.mutants ties exp    # those whose name holds one of the words

Works on a copy of the tree. A line that is no longer there is reported: mend the table.
"""

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from shortlist import _core

from .sanitize import LAUNCH, ROOT, build


class Mutant(NamedTuple):
    """One line and its break, with the tests that should notice."""

    name: str
    file: str
    line: str
    broken: str
    tests: str


MUTANTS = [
    Mutant(
        "certificate: tolerance of the proof",
        "certificate.py",
        'self.proved_gap <= self.tol:\n            self.status = "converged"\n        else:',
        'self.proved_gap <= 9 * self.tol:\n            self.status = "converged"\n        else:',
        "tests/test_monitor.py",
    ),
    Mutant(
        "certificate: rounding of a bound",
        "certificate.py",
        "lower = proof.dual - proof.rounding",
        "lower = proof.dual + proof.rounding",
        "tests/test_monitor.py",
    ),
    Mutant(
        "certificate: bounds that cross",
        "certificate.py",
        "crossed = self._lower - self.proof.primal",
        "crossed = self.proof.primal - self._lower - np.inf",
        "tests/test_monitor.py",
    ),
    Mutant(
        "threshold: mean of the k highest, whole weights",
        "top/top_mean.py",
        "[len(top) - count :].mean())",
        "[len(top) - count - 1 :].mean())",
        "tests/top/test_thresholds.py",
    ),
    Mutant(
        "threshold: share of the last row",
        "top/top_mean.py",
        "(np.cumsum(weight[order]) - weight[order])",
        "np.cumsum(weight[order])",
        "tests/top/test_thresholds.py",
    ),
    Mutant(
        "threshold: price of a surrogate quantile",
        "top/surrogate_quantile.py",
        "return self.mass ** (1.0 / self.loss.power) / self.slope",
        "return self.mass ** (1.0 / self.loss.power) * self.slope",
        "tests/top/test_patmat.py tests/top/test_thresholds.py",
    ),
    Mutant(
        "threshold: edge of a cell",
        "_core/cells.hpp",
        "while (s <= edges[j]) --j;",
        "while (s < edges[j]) --j;",
        "tests/top/test_score_parts.py",
    ),
    Mutant(
        "loss: curvature of the conjugate",
        "_losses.py",
        'SQUARED_HINGE = Loss("squared_hinge", power=2, ridge=0.5, bounded=False)',
        'SQUARED_HINGE = Loss("squared_hinge", power=2, ridge=0.49, bounded=False)',
        "tests/top/test_solvers.py",
    ),
    Mutant(
        "projection: side of the root",
        "_core/projections.hpp",
        "const bool root_is_right = value >= 0.0;",
        "const bool root_is_right = value >= 1e-3;",
        "tests/top/test_projections.py",
    ),
    Mutant(
        "projection: caps of the shares",
        "_core/projections.hpp",
        "if (beta[j] > cap_[j] * total) return false;",
        "if (beta[j] > 1.5 * cap_[j] * total) return false;",
        "tests/top/test_projections.py",
    ),
    Mutant(
        "pair steps: room of the partner",
        "_core/smo.hpp",
        "d = std::min({d, room_up(up), room_down(low)});",
        "d = std::min({d, room_up(up)});",
        "tests/top/test_pair_steps.py",
    ),
    Mutant(
        "pair steps: curvature",
        "_core/smo.hpp",
        "size - 2.0 * static_cast<double>(row_up[low.row]) + ridge(up) + ridge(low), size);",
        "size - 2.0 * static_cast<double>(row_up[low.row]) + ridge(up), size);",
        "tests/top/test_pair_steps.py",
    ),
    Mutant(
        "pair steps: bounded variables",
        "_core/smo.hpp",
        "way_of<T>(room_up(v) > 0.0, room_down(v) > 0.0)",
        "way_of<T>(true, room_down(v) > 0.0)",
        "tests/top/test_pair_steps.py",
    ),
    Mutant(
        "pair steps: the first of equals in two halves",
        "_core/pair_search.hpp",
        "b.up.value > a.up.value ? b.up : a.up",
        "b.up.value >= a.up.value ? b.up : a.up",
        "tests/top/test_shared_steps.py",
    ),
    Mutant(
        "pair steps: the gap that ends them",
        "_core/pair_gap.hpp",
        "0.5 * v * v / ridge[r]",
        "0.25 * v * v / ridge[r]",
        "tests/top/test_pair_steps.py",
    ),
    Mutant(
        "kernel rows: sums over the columns",
        "_core/gaussian_tiles.hpp",
        "back.sums[i + r] += total;",
        "back.sums[i + r] = total;",
        "tests/rows/test_gaussian.py",
    ),
    Mutant(
        "kernel rows: one that gave way",
        "_core/row_source.hpp",
        "slot_[holds_[slot]] = kNone;",
        "",
        "tests/rows/test_gaussian.py",
    ),
    Mutant(
        "grid: bytes are held less 128",
        "_core/grid.hpp",
        "- 256 * codes.sums[rows[i]];",
        "- 255 * codes.sums[rows[i]];",
        "tests/rows/test_grid.py",
    ),
    Mutant(
        "grid: sums of a tile",
        "_core/grid.hpp",
        "now[j] += c[r] * static_cast<double>(entries[j]);",
        "now[j] += c[0] * static_cast<double>(entries[j]);",
        "tests/rows/test_grid.py",
    ),
    Mutant(
        "threads: an error in one of them",
        "rows/threads.py",
        "        helper.result()\n",
        "        helper.exception()\n",
        "tests/rows/test_threads.py",
    ),
    Mutant(
        "grid: sums in the precision of the kernel",
        "rows/grid.py",
        "single = self.dtype == np.float32",
        "single = True",
        "tests/rows/test_grid.py",
    ),
    Mutant(
        "grid: rows that lie beside it",
        "rows/grid.py",
        "+ 2.0 * self.off**2 <= allowed",
        "+ 2.0 * self.off**2 <= 1e9 * allowed",
        "tests/rows/test_grid.py",
    ),
    Mutant(
        "simplex: slope at zero",
        "top/simplex.py",
        "- pull + level < -tol)",
        "- pull - level < -tol)",
        "tests/top/test_simplex.py",
    ),
    Mutant(
        "weights: exp with k + 1",
        "topk/problem.py",
        "rho = np.exp(-j / k)",
        "rho = np.exp(-j / (k + 1))",
        "tests/topk/test_rank_weights.py",
    ),
    Mutant(
        "weights: linear",
        "topk/problem.py",
        "rho = k + 1.0 - j",
        "rho = k + 2.0 - j",
        "tests/topk/test_rank_weights.py",
    ),
    Mutant(
        "weights: equal rows merged",
        "rows/weighted.py",
        "total = np.bincount(group, weights=weight[rows])",
        "total = np.bincount(group)",
        "tests/top/test_top.py tests/topk/test_topk_estimator.py",
    ),
    Mutant(
        "top-k: own class among the highest",
        "_core/topk.hpp",
        "if (!own_seen && next < 0.0) {",
        "if (!own_seen && next < -0.5) {",
        "tests/topk/test_topk_block.py",
    ),
    Mutant(
        "pairs: scores that are not the model's",
        "pairs/proof.py",
        "    error += problem.moved_loss(point, own.total)\n",
        "",
        "tests/pairs/test_proof.py",
    ),
    Mutant(
        "rows: a number that is not finite",
        "_core/rows.hpp",
        "bad[j] += ((a[j] - a[j]) + (b[j] - b[j])) + ((c[j] - c[j]) + (d[j] - d[j]));",
        "bad[j] += ((a[j] - a[j]) + (b[j] - b[j])) + (c[j] - c[j]);",
        "tests/rows/test_rounding.py",
    ),
    Mutant(
        "pairs: ties of the key",
        "_core/ranking.hpp",
        "if (key_[lower->at] < key_[upper->at] &&",
        "if (key_[lower->at] <= key_[upper->at] &&",
        "tests/pairs/test_pairs.py",
    ),
    Mutant(
        "pairs: end of the curved zone",
        "_core/ranking.hpp",
        "lower >= items + upper->far);",
        "lower > items + upper->far);",
        "tests/pairs/test_pairs.py",
    ),
    Mutant(
        "active set: bound of a multiplier",
        "_core/active_set.hpp",
        "if (longest < length) {",
        "if (longest < 0.5 * length) {",
        "tests/transductive/test_active_set.py",
    ),
    Mutant(
        "interrupts: signals are not looked at",
        "_core/interrupt.hpp",
        "if (PyErr_CheckSignals() != 0) throw nanobind::python_error();",
        "",
        "tests/core/test_interrupts.py",
    ),
    Mutant(
        "interrupts: signals are looked at rarely",
        "_core/interrupt.hpp",
        "if (now - signals_handled >= std::chrono::milliseconds(50)) {",
        "if (now - signals_handled >= std::chrono::seconds(50)) {",
        "tests/core/test_interrupts.py",
    ),
    Mutant(
        "interrupts: the deadline is not looked at",
        "_core/interrupt.hpp",
        "return now >= deadline;",
        "return false;",
        "tests/core/test_interrupts.py",
    ),
    Mutant(
        "restarts: a seed without effect",
        "transductive/swap.py",
        "self._random = np.random.default_rng(seed)",
        "self._random = np.random.default_rng(0)",
        "tests/transductive/test_methods.py",
    ),
    Mutant(
        "ties at the cut",
        "_cutoff.py",
        "chosen[tied[:open_places]] = True",
        "chosen[tied[-open_places:]] = True",
        "tests/test_cutoff.py",
    ),
]


class Verdict(NamedTuple):
    caught: bool
    by: str


def judge(mutant: Mutant, tree: Path, scratch: Path) -> Verdict:
    """Break a line of the copy, run its tests, mend it."""
    path = tree / "src" / "shortlist" / mutant.file
    text = path.read_text()
    if text.count(mutant.line) != 1:
        return Verdict(False, f"snippet found {text.count(mutant.line)} times")
    path.write_text(text.replace(mutant.line, mutant.broken))
    try:
        if mutant.file.endswith(".py"):
            site = tree / "src"
        else:
            site = build(tree, scratch, CMAKE_BUILD_TYPE="None", CMAKE_CXX_FLAGS="-O1")
        command = [sys.executable, "-c", LAUNCH, str(site), "-x", "-q", "-p", "no:cacheprovider"]
        command += mutant.tests.split()
        try:
            run = subprocess.run(command, cwd=tree, capture_output=True, text=True, timeout=300)
        except subprocess.TimeoutExpired:
            return Verdict(True, "never ended")
    finally:
        path.write_text(text)
    found = re.search(r"^(?:FAILED|ERROR) (\S+)", run.stdout, re.MULTILINE)
    # A status above 1 is no failed test: nothing was run.
    return Verdict(run.returncode == 1, found[1] if found else f"status {run.returncode}")


def main(words: list[str]) -> int:
    """Judge the mutants whose name holds one of the words; return how many survive."""
    chosen = [m for m in MUTANTS if not words or any(word in m.name for word in words)]
    survivors = 0
    with tempfile.TemporaryDirectory() as folder:
        tree, scratch = Path(folder) / "tree", Path(folder)
        shutil.copytree(
            ROOT, tree, ignore=shutil.ignore_patterns(".git", ".venv", "build", "__pycache__")
        )
        shutil.copy(_core.__file__, tree / "src" / "shortlist")  # for breaks in Python
        for mutant in chosen:
            verdict = judge(mutant, tree, scratch)
            survivors += not verdict.caught
            word = "caught" if verdict.caught else "SURVIVED"
            print(f"{word:9s} {mutant.name:50s} {verdict.by}", flush=True)
    return survivors


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
