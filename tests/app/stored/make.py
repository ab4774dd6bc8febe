"""Write the model files that later versions must read.

    python -m tests.app.stored.make format-2/oldest     # with the oldest versions installed

Done once for each format and each end of the supported versions (tests/versions.py), when the
format is new. Files that are here are never written again: that they are read is the test.
"""

import functools
import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import sklearn
from click.testing import CliRunner
from sklearn.pipeline import Pipeline

from shortlist import picking
from shortlist._app import app
from shortlist._app._deciding import read_columns
from shortlist._app._features import Features
from shortlist._app._model_file import SavedModel, save_model
from shortlist.picking.race import models, regressors
from shortlist.picking.race.models import Task, as_numbers
from shortlist.stacking import SumStack, TopStack

HERE = Path(__file__).parent
N = 60


def table() -> pd.DataFrame:
    """Rows with gaps, dates, categories and text; nothing is drawn."""
    i = np.arange(N)
    words = np.array(["late", "paid", "letter"])
    return pd.DataFrame(
        {
            "amount": np.where(i % 9, ((i * 37) % 101 / 10).astype(str), ""),
            "at": pd.date_range("2023-01-01", periods=N, freq="7h").strftime("%d.%m.%Y %H:%M"),
            "kind": np.array(["a", "b", "c"])[(i * 7) % 3],
            "note": [f"{words[j % 3]} {words[j % 2]} {words[j // 20]}" for j in i],
        }
    )


def outcomes() -> np.ndarray:
    """What each row brought."""
    return (np.arange(N) * 37) % 101 + 3.0 * (np.arange(N) % 3)


def write_families(path: Path, numeric: bool) -> None:
    """A stack of every family of models, with small trees."""
    columns, typed = read_columns(table())
    features = Features(columns, typed)
    families = regressors.FAMILIES if numeric else models.FAMILIES
    task = Task(rate=0.1, n_rows=N, sparse=False, kind=None, effort="quick", seed=0)
    members = []
    for name, (make, _) in families.items():
        if name.endswith("of sets"):
            continue
        _, estimator = next(iter(make(task)))
        for few in {"n_estimators", "max_iter"} & set(estimator.get_params()):
            estimator.set_params(**{few: 3})
        members.append((name, estimator))
    y = outcomes() if numeric else (outcomes() > 50).astype(int)
    stack = SumStack(members, cv=2) if numeric else TopStack(members, head="mean", cv=2)
    pipeline = Pipeline([("numbers", as_numbers()), ("model", stack)])
    pipeline.fit(features.make(typed).to_numpy(), y)
    versions = {"sklearn": sklearn.__version__}
    save_model(SavedModel(pipeline, columns, features, "y", "1", [], "all", versions), path)


def write_picked(path: Path, folder: Path) -> None:
    """What the command saves."""
    rows = table()
    rows.assign(y=(outcomes() > 50).astype(int)).to_csv(folder / "history.csv", index=False)
    rows.to_csv(folder / "rows.csv", index=False)
    quick = functools.partial(picking.pick, models=["PatMat"], cv=3, repeats=1)
    asked = f"pick {folder / 'rows.csv'} --history {folder / 'history.csv'} --label y -k 5 --force"
    before, picking.pick = picking.pick, quick
    try:
        done = CliRunner().invoke(
            app, [*asked.split(), "-o", str(folder / "list.csv"), "--save", str(path)]
        )
    finally:
        picking.pick = before
    assert done.exit_code == 0, done.output
    (folder / "history.csv").unlink()
    (folder / "list.csv").unlink()


def scores_of(path: Path, rows: Path) -> list[float]:
    """Scores of the rows, in their order, as the command gives them."""
    done = CliRunner().invoke(app, ["score", str(rows), "--model", str(path), "--json"])
    assert done.exit_code == 0, done.output
    listed = json.loads(done.stdout)["list"]
    found = {entry["row"]: entry["score"] for entry in listed}
    return [found[row] for row in sorted(found)]


def main(folder: Path) -> None:
    """Write the three files and what they score."""
    folder.mkdir(parents=True)
    write_picked(folder / "picked.skops", folder)
    write_families(folder / "labels.skops", numeric=False)
    write_families(folder / "outcomes.skops", numeric=True)
    known = {path.stem: scores_of(path, folder / "rows.csv") for path in folder.glob("*.skops")}
    (folder / "scores.json").write_text(json.dumps(known, indent=0, sort_keys=True) + "\n")


if __name__ == "__main__":
    main(HERE / sys.argv[1])
