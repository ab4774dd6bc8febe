"""What is imported when, and what is said where something is missing."""

import json
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

import shortlist
from shortlist import cli
from shortlist._app import app
from shortlist.cli import main

ROOT = Path(__file__).parent.parent
HEAVY = {"sklearn", "pandas", "skrub", "scipy", "rich", "skops", "openpyxl"}


def run(code, *arguments):
    return subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True)


@pytest.mark.parametrize("package", ["click", "pandas", "pyarrow"])
def test_without_the_extra_the_command_says_what_to_install(package, tmp_path):
    rows = tmp_path / "rows.csv"
    rows.write_text("a,b\n1,2\n3,4\n")
    code = f"import sys; sys.modules['{package}'] = None; from shortlist.cli import main; main()"
    done = run(code, "columns", str(rows))
    assert done.returncode == 1
    assert 'pip install "shortlist[app]"' in done.stderr
    assert package in done.stderr
    assert "Traceback" not in done.stderr


def test_without_skops_the_command_says_what_to_install(tmp_path, monkeypatch):
    """In this process: with everything else that a model needs, loading takes seconds."""
    rows, model = tmp_path / "rows.csv", tmp_path / "model.skops"
    rows.write_text("a,b\n1,2\n3,4\n")
    with zipfile.ZipFile(model, "w") as archive:
        archive.writestr("schema.json", "{}")
    for name in ("skops", "skops.io"):
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.delitem(sys.modules, "shortlist._app._model_file", raising=False)
    monkeypatch.setattr(sys, "argv", ["shortlist", "score", str(rows), "--model", str(model)])
    with pytest.raises(SystemExit, match=r'skops.*pip install "shortlist\[app\]"'):
        main()


def test_everything_that_the_extra_brings_is_known():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    brought = {re.match(r"[\w-]+", one)[0] for one in project["optional-dependencies"]["app"]}
    # Without LightGBM, boosting is scikit-learn's.
    assert set(cli._EXTRA) == brought - {"lightgbm"}


def test_interrupted_while_loading():
    code = (
        "import sys\n"
        "class Finder:\n"
        "    def find_spec(self, name, *rest):\n"
        "        if name == 'shortlist._app': raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Finder())\n"
        "from shortlist.cli import main; main()"
    )
    done = run(code)
    assert done.returncode == 130
    assert done.stderr.strip() == "Interrupted: nothing was written."


# Commands one after the other in one process: what each said, and what has been loaded by then.
ONE_BY_ONE = """
import contextlib, io, json, sys
from shortlist.cli import main
told = []
for command in json.loads(sys.argv[1]):
    sys.argv[1:] = command
    said = io.StringIO()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(said):
        try:
            main()
        except SystemExit as end:
            told.append((end.code, said.getvalue(), sorted(sys.modules)))
json.dump(told, sys.stdout)
"""


def one_by_one(commands):
    return json.loads(run(ONE_BY_ONE, json.dumps(commands)).stdout)


def test_help_loads_nothing_heavy():
    commands = [["--help"], *([name, "--help"] for name in app.commands)]
    for command, (code, said, loaded) in zip(commands, one_by_one(commands), strict=True):
        assert code == 0, (command, said)
        assert not (HEAVY | {"numpy", "pyarrow"}) & set(loaded), command


def test_errors_are_said_before_anything_heavy_is_loaded(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "h.csv").write_text("x,w,y\n1,a,0\n2,b,1\n3,a,0\n4,b,1\n")
    (tmp_path / "c.csv").write_text("x,w\n1,a\n2,b\n")
    wanted = {
        "pick no.csv --history h.csv --label y -k 1": "no.csv does not",
        "pick c.csv --history no.csv --label y -k 1": "no.csv does not",
        "pick c.csv --history h.csv --label z -k 1": "no column 'z'",
        "pick c.csv --history h.csv --label y -k 9": "more than the 2",
        "pick c.csv --history h.csv --label w -k 1 --drop y": "--positive",
        "pick c.csv --history h.csv --label y -k 1 -o h.csv": "--force",
        "score no.csv --model h.csv": "no.csv does not exist",
        "score c.csv --model no.skops": "no.skops does not exist",
        "score c.csv --model h.csv": "h.csv is not a model file",
        "export no.skops -o m.onnx": "no.skops does not exist",
        "export h.csv -o m.onnx": "h.csv is not a model file",
        "evaluate no.csv --label y --score x -k 1": "no.csv does not",
        "evaluate h.csv --label y --score z -k 1": "no column 'z'",
        "columns no.csv": "no.csv does not exist",
    }
    told = one_by_one([command.split() for command in wanted])
    for (command, words), (code, said, loaded) in zip(wanted.items(), told, strict=True):
        assert code == 1, (command, said)
        assert words in said, command
        assert not HEAVY & set(loaded), command


def test_public_names_only():
    assert dir(shortlist) == sorted([*shortlist.__all__, "__version__"])
    assert all(getattr(shortlist, name) is not None for name in shortlist.__all__)


def test_the_package_is_typed():
    from importlib.resources import files

    assert files("shortlist").joinpath("py.typed").is_file()
