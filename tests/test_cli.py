"""What is imported when, and what is said where something is missing."""

import subprocess
import sys
import zipfile

import pytest

import shortlist
from shortlist._app import app

HEAVY = {"sklearn", "pandas", "skrub", "scipy", "rich", "skops", "openpyxl"}


def run(code, *arguments):
    return subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True)


@pytest.mark.parametrize(
    ("package", "arguments"),
    [
        ("click", ("columns", __file__)),
        ("pandas", ("columns", __file__)),
        ("pyarrow", ("columns", __file__)),
        ("skops", ("score", __file__, "--model", "model.skops")),
    ],
)
def test_without_the_extra_the_command_says_what_to_install(package, arguments, tmp_path):
    rows = tmp_path / "rows.csv"
    rows.write_text("a,b\n1,2\n3,4\n")
    model = tmp_path / "model.skops"
    with zipfile.ZipFile(model, "w") as archive:
        archive.writestr("schema.json", "{}")
    files = {__file__: str(rows), "model.skops": str(model)}
    code = f"import sys; sys.modules['{package}'] = None; from shortlist.cli import main; main()"
    done = run(code, *(files.get(word, word) for word in arguments))
    assert done.returncode == 1
    assert 'pip install "shortlist[app]"' in done.stderr
    assert package in done.stderr
    assert "Traceback" not in done.stderr


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


# The command, and then which of some packages it has loaded.
LOADED = """
import sys
from shortlist.cli import main
try:
    main()
except SystemExit as end:
    print("LOADED", end.code, *sorted({names} & sys.modules.keys()))
"""


@pytest.mark.parametrize("command", [(), *((name,) for name in app.commands)])
def test_help_loads_nothing_heavy(command):
    done = run(LOADED.format(names=HEAVY | {"numpy", "pyarrow"}), *command, "--help")
    assert done.stdout.splitlines()[-1] == "LOADED 0", done.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("pick", "no.csv", "--history", "h.csv", "--label", "y", "-k", "1"), "no.csv does not"),
        (("pick", "c.csv", "--history", "no.csv", "--label", "y", "-k", "1"), "no.csv does not"),
        (("pick", "c.csv", "--history", "h.csv", "--label", "z", "-k", "1"), "no column 'z'"),
        (("pick", "c.csv", "--history", "h.csv", "--label", "y", "-k", "9"), "more than the 2"),
        (("pick", "c.csv", "--history", "h.csv", "--label", "w", "-k", "1", "--drop", "y"),
         "--positive"),
        (("pick", "c.csv", "--history", "h.csv", "--label", "y", "-k", "1", "-o", "h.csv"),
         "--force"),
        (("score", "no.csv", "--model", "h.csv"), "no.csv does not exist"),
        (("score", "c.csv", "--model", "no.skops"), "no.skops does not exist"),
        (("score", "c.csv", "--model", "h.csv"), "h.csv is not a model file"),
        (("export", "no.skops", "-o", "m.onnx"), "no.skops does not exist"),
        (("export", "h.csv", "-o", "m.onnx"), "h.csv is not a model file"),
        (("evaluate", "no.csv", "--label", "y", "--score", "x", "-k", "1"), "no.csv does not"),
        (("evaluate", "h.csv", "--label", "y", "--score", "z", "-k", "1"), "no column 'z'"),
        (("columns", "no.csv"), "no.csv does not exist"),
    ],
)  # fmt: skip
def test_errors_are_said_before_anything_heavy_is_loaded(arguments, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "h.csv").write_text("x,w,y\n1,a,0\n2,b,1\n3,a,0\n4,b,1\n")
    (tmp_path / "c.csv").write_text("x,w\n1,a\n2,b\n")
    done = run(LOADED.format(names=HEAVY), *arguments)
    assert said in done.stderr
    assert done.stdout.splitlines()[-1] == "LOADED 1", done.stdout


def test_public_names_only():
    assert dir(shortlist) == sorted([*shortlist.__all__, "__version__"])
    assert all(getattr(shortlist, name) is not None for name in shortlist.__all__)


def test_the_package_is_typed():
    from importlib.resources import files

    assert files("shortlist").joinpath("py.typed").is_file()
