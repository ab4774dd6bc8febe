"""shortlist against logistic regression, SVMs, forests, boosting and rankers.

    python -m benchmarks.peers                 all sets, five splits: hours
    python -m benchmarks.peers --quick         three bundled sets, two splits, 400 rows
    python -m benchmarks.peers --render        tables and plots from the finished cells

One run, the same splits, one thread. Every model has six candidates and three folds to
choose from them. Finished cells are kept in a CSV file; a rerun skips them.
"""

from __future__ import annotations

import argparse
import datetime
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from threadpoolctl import threadpool_limits

from benchmarks.data import BUNDLED, folder, load_binary, load_multiclass
from benchmarks.peers.models import MULTICLASS, PEERS, Peer
from benchmarks.peers.run import measure, measure_classes, splits
from benchmarks.peers.tables import markdown, rank_plot, times
from benchmarks.store import Store

RESULTS = Path(__file__).parents[1] / "results"
KEEL = tuple(
    f"keel:{name}"
    for name in (
        "page-blocks0",
        "yeast3",
        "yeast1",
        "segment0",
        "abalone-17_vs_7-8-9-10",
        "winequality-red-4",
        "car-good",
        "flare-F",
        "kr-vs-k-three_vs_eleven",
    )
)
FOLDER = (
    "spambase",
    "mammography",
    "german_numer",
    "diabetes",
    "magic04",
    "winequality_white",
    "ionosphere",
    "w8a",
)
OPENML = ("openml:phoneme", "openml:credit-g", "openml:kc1")
CLASSES = ("digits", "letter", "satimage")
BINARY_COLUMNS = {
    "precision_1": "precision in the first 1 %",
    "precision_5": "precision in the first 5 %",
    "pos_at_top": "positives above every negative",
    "recall_1_fpr": "recall at 1 % false alarms",
}
CLASS_COLUMNS = {"top_1": "top-1 accuracy", "top_3": "top-3 accuracy", "top_5": "top-5 accuracy"}


def progress(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def run(
    names: Sequence[str],
    peers: Sequence[Peer],
    load: Callable[[str], tuple[Any, np.ndarray]],
    one: Callable[..., dict],
    store: Store,
    options: argparse.Namespace,
) -> None:
    """Fill the store, split by split, so that every set has some before one has many."""
    for split in range(options.splits):
        for name in names:
            X, y = load(name)
            X = X.toarray() if sparse.issparse(X) else X  # some of the peers take nothing else
            y = y.astype(int)
            train, test = list(splits(y, options.splits, options.rows))[split]
            for peer in peers:
                if store.has(set=name, split=split, model=peer.name):
                    continue
                row = one(peer, X, y, train, test)
                store.add(set=name, split=split, model=peer.name, rows=len(train), **row)
                progress(f"split {split} {name}: {peer.name} {row['tune_s'] + row['fit_s']:.1f} s")


def available(peers: Sequence[Peer]) -> list[Peer]:
    present = []
    for peer in peers:
        reason = peer.missing()
        if reason:
            progress(f"left out: {peer.name} ({reason})")
        else:
            present.append(peer)
    return present


def render(out: Path, command: str) -> None:
    binary = Store(out / "raw" / "peers.csv.gz", ()).rows
    classes = Store(out / "raw" / "peers_classes.csv.gz", ()).rows
    ours = {peer.name for peer in (*PEERS, *MULTICLASS) if peer.ours}
    rank_plot(binary, BINARY_COLUMNS, ours, out / "peers.png")
    note = Path(__file__).with_name("note.md").read_text(encoding="utf-8")
    text = [
        "# Peers, side by side\n",
        f"`{command}`, {datetime.date.today():%Y-%m-%d}. One thread, CPU seconds. Ours in bold.\n",
        note,
        "![Mean ranks of all models](peers.png)\n",
        "## Two classes\n",
        markdown(binary, BINARY_COLUMNS, ours),
        "### Time\n\nGeometric means over the sets.\n",
        times(binary),
        "\n## Many classes\n",
        markdown(classes, CLASS_COLUMNS, ours),
        "### Time\n",
        times(classes),
        "",
    ]
    (out / "peers.md").write_text("\n".join(text), encoding="utf-8")
    progress(f"wrote {out / 'peers.md'}")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="bundled sets, small and few splits")
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--rows", type=int, default=2000, help="largest training set")
    parser.add_argument("--sets", nargs="*", help="only these two-class sets")
    parser.add_argument("--classes", nargs="*", help="only these many-class sets")
    parser.add_argument("--models", nargs="*", help="only models with these names")
    parser.add_argument("--openml", action="store_true", help="also sets from OpenML (network)")
    parser.add_argument("--render", action="store_true", help="only write tables and plots")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder of the results")
    options = parser.parse_args(arguments)
    sets = (*BUNDLED, *KEEL, *(FOLDER if folder() else ()), *(OPENML if options.openml else ()))
    classes = CLASSES if folder() else CLASSES[:1]
    if options.quick:
        sets, classes = tuple(BUNDLED), CLASSES[:1]
        options.splits, options.rows = 2, 400
    if options.sets is not None:
        sets = tuple(options.sets)
    if options.classes is not None:
        classes = tuple(options.classes)
    chosen = [p for p in PEERS if not options.models or p.name in options.models]
    many = [p for p in MULTICLASS if not options.models or p.name in options.models]
    keys = ("set", "split", "model")
    if not options.render:
        os.environ["OMP_NUM_THREADS"] = "1"
        with threadpool_limits(1):
            binary = Store(options.out / "raw" / "peers.csv.gz", keys)
            run(sets, available(chosen), load_binary, measure, binary, options)
            multi = Store(options.out / "raw" / "peers_classes.csv.gz", keys)
            run(classes, available(many), load_multiclass, measure_classes, multi, options)
    words = " ".join(sys.argv[1:] if arguments is None else arguments)
    render(options.out, f"python -m benchmarks.peers {words}".strip())


if __name__ == "__main__":
    main()
