"""Which files of the package a call visits, and which of them call each other.

    python -m tests.walks               # all walks of docs/architecture.md
    python -m tests.walks pick files    # some, by a word of their name; "files" lists the files,
                                        # "functions" the functions that run in each

A file is visited if one of its functions runs. Two files call back and forth if a function of
each calls one of the other itself, not by way of another library. Files do not import each other
(``tests/test_layers.py``), so one of the two was handed the function it calls; ``CALLERS``
and ``HANDED_OVER`` say why. Ends with an error if nothing there explains a pair.
"""

import inspect
import os
import sys
import tempfile
import threading
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import shortlist

ROOT = str(Path(shortlist.__file__).parent) + os.sep

# Files that call what anybody hands them.
CALLERS = {
    "_fit.py": "a decorator around fit",
    "certificate.py": "the monitor asks for a proof that would end the fit",
    "dask/_cluster.py": "what a task does with the parts of its group",
    "rows/threads.py": "what each thread does",
}
# The file that makes the call and does not know whom it calls, the other, and what for.
HANDED_OVER = {
    ("rows/cache.py", "top/smo.py"): "long products look at the limits now and then",
    ("top/working_set.py", "top/smo.py"): "long runs of pair steps do so, too",
    ("topk/scores.py", "topk/block.py"): "long sweeps do so, too",
    ("top/level.py", "top/smo.py"): "the level lets in the rows that it misses",
    ("top/sweeps.py", "top/surrogate_quantile.py"): "scores answer the threshold's equation",
    (
        "picking/reasons/reasons.py",
        "_app/_learning.py",
    ): "rows of a file, read where they are wanted",
}


def reason(a: str, b: str) -> str | None:
    """Say why two files may call each other, None where nobody has said it."""
    said = (HANDED_OVER.get((a, b)), HANDED_OVER.get((b, a)), CALLERS.get(a), CALLERS.get(b))
    return next((text for text in said if text is not None), None)


class Walk(NamedTuple):
    """Functions by file, and the pairs of files that call each other, with one call each way."""

    files: dict[str, list[str]]
    pairs: dict[tuple[str, str], tuple[str, str]]

    def unexplained(self) -> list[tuple[str, str]]:
        """Return the pairs that nobody has given a reason for."""
        return [(a, b) for a, b in self.pairs if reason(a, b) is None]


def walk(call: Callable[[], object]) -> Walk:
    """Make a call and look where it goes."""
    files: dict[str, set[str]] = {}
    calls: dict[tuple[str, str], str] = {}

    def look(frame, event, _):
        if event != "call" or frame.f_code.co_name.startswith("<"):
            return
        if not frame.f_code.co_flags & inspect.CO_OPTIMIZED:
            return  # the body of a class: the file is imported, and nothing in it is called
        path = frame.f_code.co_filename
        if not path.startswith(ROOT):
            return
        here = path[len(ROOT) :]
        files.setdefault(here, set()).add(frame.f_code.co_qualname)
        caller = frame.f_back
        if caller is not None and caller.f_code.co_filename.startswith(ROOT):
            there = caller.f_code.co_filename[len(ROOT) :]
            if there != here:
                calls.setdefault((there, here), frame.f_code.co_name)

    threading.setprofile(look)
    sys.setprofile(look)
    try:
        call()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    pairs = {
        (a, b): (calls[b, a], calls[a, b]) for a, b in sorted(calls) if a < b and (b, a) in calls
    }
    return Walk({name: sorted(files[name]) for name in sorted(files)}, pairs)


def walks() -> dict[str, Callable[[], object]]:
    """Return the calls by name; what they need is made beforehand."""
    from click.testing import CliRunner
    from sklearn.datasets import load_breast_cancer
    from sklearn.preprocessing import scale

    from shortlist import RankSVM, TopKSVC, TopPush, TransductiveTopK, pick
    from shortlist._app import app

    X, y = load_breast_cancer(return_X_y=True)
    X = scale(X)
    models = {
        "TopPush": TopPush(),
        "TopPush, kernel": TopPush(kernel="rbf"),
        "RankSVM": RankSVM(),
        "TopKSVC": TopKSVC(k=1),
    }
    found: dict[str, Callable[[], object]] = {
        name: lambda model=model: model.fit(X, y) for name, model in models.items()
    }
    budget = TransductiveTopK(k=20)
    found["TransductiveTopK"] = lambda: budget.fit(X[:400], y[:400], X[400:])
    if find_spec("dask") is not None:
        found["TopPush on dask"] = _on_dask(X, y)
    found["pick"] = lambda: pick(X[:400], y[:400], X[400:], k=20, pos_label=1, effort="quick")

    def command() -> None:
        runner = CliRunner()
        with tempfile.TemporaryDirectory() as folder, runner.isolated_filesystem(folder):
            result = runner.invoke(app, ["demo"])
            assert result.exit_code == 0, result.output

    found["the command, with a report"] = command
    return found


def _on_dask(X, y) -> Callable[[], object]:
    import dask
    import dask.array as da

    from shortlist.dask import TopPush

    model = TopPush()
    rows, labels = da.from_array(X, chunks=(200, 30)), da.from_array(y, chunks=200)

    def fit() -> None:
        with dask.config.set(scheduler="synchronous"):
            model.fit(rows, labels)

    return fit


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    views = {"files", "functions"}.intersection(sys.argv[1:])
    words = [word for word in sys.argv[1:] if word not in views]
    missing: list[tuple[str, str]] = []
    for name, call in walks().items():
        if words and not any(word in name for word in words):
            continue
        visited = walk(call)
        print(f"{name}: {len(visited.files)} files")
        if "files" in views:
            print("   ", ", ".join(visited.files))
        if "functions" in views:
            for file, functions in visited.files.items():
                print(f"    {file}: {', '.join(functions)}")
        for (a, b), (one, other) in visited.pairs.items():
            print(f"    {a} <-> {b} ({one}, {other}): {reason(a, b) or 'NOBODY SAYS WHY'}")
        missing += visited.unexplained()
    sys.exit(bool(missing))
