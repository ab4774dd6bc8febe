"""Model files: they score or are refused; no code of theirs runs, and nothing crashes."""

from __future__ import annotations

import copy
import io
import json
import random
import sys
import tempfile
import warnings
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from shortlist import PatMat, TopPush
from shortlist._app._deciding import read_columns
from shortlist._app._features import Features
from shortlist._app._model_file import SavedModel, save_model

from .commands import command, damaged

NUMBERS = [0, 1, -1, 7, 255, 2**31, 2**63, -(2**31), 10**30, 0.5, -1e308, True, None, "", [], {}]
TYPES = [("os", "system"), ("builtins", "eval"), ("subprocess", "Popen"), ("numpy", "load"),
         ("sklearn.svm", "SVC"), ("builtins", "dict"), ("a\x1b[31m", "b\n")]  # fmt: skip
FORBIDDEN = ("os.system", "os.exec", "os.posix_spawn", "subprocess.Popen", "socket.connect")


def prepare() -> dict[str, Any]:
    """Return model files of every sort of structure, and rows for them."""
    rng = np.random.default_rng(0)
    n = 60
    rows = pd.DataFrame(
        {
            "x": rng.normal(size=n).astype(str),
            "at": pd.date_range("2023-01-01", periods=n, freq="7h").strftime("%d.%m.%Y %H:%M"),
            "kind": rng.choice(["a", "b"], n),
            "words": [f"row number {i}" for i in range(n)],
        }
    )
    columns, typed = read_columns(rows)
    features = Features(columns, typed)
    made = features.make(typed).to_numpy()
    y = (rng.random(n) < 0.5).astype(int)
    models = [
        TopPush(),
        PatMat(0.2, kernel="rbf"),
        LogisticRegression(),
        HistGradientBoostingClassifier(max_iter=3, min_samples_leaf=5),
        RandomForestClassifier(3, random_state=0),
    ]
    try:
        from lightgbm import LGBMClassifier
    except ImportError:
        pass
    else:
        models.append(LGBMClassifier(n_estimators=3, min_child_samples=5, verbose=-1, n_jobs=1))
    files = []
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for model in models:
            path = Path(folder) / "m.skops"
            pipeline = Pipeline([("scale", StandardScaler()), ("model", model)]).fit(made, y)
            save_model(SavedModel(pipeline, columns, features, "y", "1", [], "any", {}), path)
            files.append(path.read_bytes())
    return {"files": files, "rows": rows.head(5).to_csv(index=False).encode()}


def nodes(tree: Any) -> list[Any]:
    """Return every container of a JSON tree."""
    found = [tree]
    for child in tree.values() if isinstance(tree, dict) else tree:
        if isinstance(child, dict | list):
            found += nodes(child)
    return found


def changed_tree(rng: random.Random, content: bytes) -> bytes:
    """Change a few things that a schema says."""
    tree = json.loads(content)
    for _ in range(rng.randint(1, 4)):
        node = rng.choice([node for node in nodes(tree) if node] or [tree])
        if not node:
            continue
        key = rng.choice(list(node)) if isinstance(node, dict) else rng.randrange(len(node))
        what = rng.random()
        if what < 0.15 and isinstance(node, dict):
            node["__module__"], node["__class__"] = rng.choice(TYPES)
        elif what < 0.3:
            del node[key]
        elif what < 0.5:
            node[key] = copy.deepcopy(rng.choice(nodes(tree)))
        else:
            node[key] = rng.choice(NUMBERS)
    return json.dumps(tree).encode()


def changed_array(rng: random.Random, content: bytes) -> bytes:
    """Change values, shape or type of an array."""
    try:
        array = np.load(io.BytesIO(content), allow_pickle=False)
    except Exception:
        return damaged(rng, content)
    array = np.array(array)
    what = rng.random()
    if what < 0.6 and array.size:
        flat = array.reshape(-1)
        for _ in range(rng.randint(1, 3)):
            number = rng.choice([-1, 0, 1, 10**6, -(2**31), 2**31 - 1, float("nan"), float("inf")])
            place = rng.randrange(flat.size)
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    if array.dtype.names:
                        flat[rng.choice(array.dtype.names)][place] = number
                    else:
                        flat[place] = number
                except (ValueError, OverflowError, TypeError):
                    pass
    elif what < 0.8:
        array = array.reshape(-1)[: rng.randint(0, array.size)]
    elif not array.dtype.names:
        array = array.astype(rng.choice(["f4", "i1", "i8", "U3", "c16", "?"]))
    file = io.BytesIO()
    np.save(file, array, allow_pickle=False)
    return file.getvalue()


def changed(rng: random.Random, files: list[bytes]) -> bytes:
    """Damage the file, its schema, an array, or mix parts of two."""
    content = rng.choice(files)
    if rng.random() < 0.2:
        return damaged(rng, content)
    parts, others = ({name: archive.read(name) for name in archive.namelist()}
                     for archive in (zipfile.ZipFile(io.BytesIO(file))
                                     for file in (content, rng.choice(files))))  # fmt: skip
    what = rng.random()
    name = rng.choice(list(parts))
    if what < 0.5:
        parts["schema.json"] = changed_tree(rng, parts["schema.json"])
    elif what < 0.9:
        arrays = [each for each in parts if each != "schema.json"] or [name]
        name = rng.choice(arrays)
        parts[name] = changed_array(rng, parts[name])
    else:
        parts[name] = rng.choice(list(others.values()))
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for each, value in parts.items():
            archive.writestr(each, value)
    return file.getvalue()


_watching: list[str] = []


def _watch(event: str, arguments: Any) -> None:
    if _watching and event in FORBIDDEN:
        _watching.append(event)


_hooked: list[bool] = []


def run(seed: int, shared: dict[str, Any]) -> None:
    """Score with a changed model."""
    if not _hooked:
        sys.addaudithook(_watch)
        _hooked.append(True)
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory() as name, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        folder = Path(name)
        (folder / "m.skops").write_bytes(changed(rng, shared["files"]))
        (folder / "c.csv").write_bytes(shared["rows"])
        _watching[:] = ["watching"]
        try:
            done = command(folder, "score", str(folder / "c.csv"), "--model",
                           str(folder / "m.skops"), "-o", str(folder / "o.csv"))  # fmt: skip
        finally:
            events, _watching[:] = _watching[1:], []
        assert not events, events
        assert "\x1b" not in done.output
