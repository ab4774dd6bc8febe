"""The package as a whole: lean to import, documented by examples that run."""

import doctest
import importlib
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest

import shortlist


def test_import_is_lean():
    code = (
        "import sys, shortlist; shortlist.TopPush; "
        "print([m for m in ('click', 'cvxpy', 'sklearn.model_selection') if m in sys.modules]); "
        "import shortlist.display; print('matplotlib' in sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["[]", "False"]


def test_public_names():
    for name in shortlist.__all__:
        assert getattr(shortlist, name) is not None
    assert set(shortlist.__all__) <= set(dir(shortlist))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = shortlist.nothing


MODULES = [
    module.name
    for module in pkgutil.walk_packages(shortlist.__path__, "shortlist.")
    if module.name != "shortlist._core"
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings(name):
    module = importlib.import_module(name)
    assert doctest.testmod(module).failed == 0


def test_ci_runs_the_test_command_of_the_readme():
    root = Path(__file__).parents[1]
    commands = re.findall(r"```sh\n(.*?)\n```", (root / "README.md").read_text(), re.DOTALL)
    (command,) = [command for command in commands if "pytest" in command]
    assert command in (root / ".ci" / "run").read_text()
