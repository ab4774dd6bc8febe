"""The reference: every public name is in it, and every docstring is complete."""

from __future__ import annotations

import dataclasses
import doctest
import importlib.util
import inspect
from pathlib import Path
from typing import Any

import pytest

import shortlist

DOCS = Path(__file__).parents[2] / "docs"
if not (DOCS / "reference.py").is_file():
    pytest.skip("the documentation is not here", allow_module_level=True)
spec = importlib.util.spec_from_file_location("reference", DOCS / "reference.py")
reference = importlib.util.module_from_spec(spec)
spec.loader.exec_module(reference)
# Of numpydoc's checks, what a reader would miss: text, parameters, results, order. Types are
# left out where a line names several parameters, as the estimators on dask do.
CHECKS = {
    "GL01", "GL02", "GL03", "GL05", "GL06", "GL07", "GL08", "GL09", "GL10",
    "SS01", "SS02", "SS03", "SS04",
    "PR01", "PR02", "PR05", "PR06", "PR07", "PR08", "PR09", "PR10",
    "RT01", "RT05", "SA02", "SA03", "SA04",
}  # fmt: skip


def listed() -> list[str]:
    """Return the names in the reference."""
    return [name for names in reference.sections().values() for name in names]


def test_every_public_name_is_listed():
    public = {name for name in shortlist.__all__ if not inspect.ismodule(getattr(shortlist, name))}
    assert public <= set(listed())
    modules = {path.parent.name for path in Path(shortlist.__file__).parent.glob("*/__init__.py")}
    public_modules = {name for name in shortlist.__all__ if name in modules}
    assert public_modules <= set(reference.MODULES)


def find(name: str) -> Any:
    """Return what a name means, or skip where its package is not installed."""
    *parents, last = f"shortlist.{name}".split(".")
    try:
        return getattr(importlib.import_module(".".join(parents)), last)
    except ModuleNotFoundError as error:
        pytest.skip(f"{error.name} is not installed")


def is_result(found: Any) -> bool:
    """Whether it is a record that functions return."""
    return dataclasses.is_dataclass(found) or (inspect.isclass(found) and issubclass(found, tuple))


def members(name: str) -> list[str]:
    """Return the name and its public methods that are explained here, not in a class above it."""
    found = find(name)
    names = [f"shortlist.{name}"]
    if inspect.isclass(found):
        above = [find(each) for each in listed() if each.startswith(name.rpartition(".")[0])]
        explained = {m for each in above if each in found.__mro__[1:] for m in vars(each)}
        for method, value in vars(found).items():
            if inspect.isfunction(value) and not method.startswith("_") and method not in explained:
                names.append(f"{names[0]}.{method}")
    return names


@pytest.mark.parametrize("name", listed())
def test_docstring_is_complete(name):
    numpydoc = pytest.importorskip("numpydoc.validate")
    # Fields of a result are its attributes, and some parameters are refused on a cluster.
    left_out = {"PR01"} if is_result(find(name)) or name.startswith("dask.") else set()
    missing = []
    for each in members(name):
        for code, message in numpydoc.validate(each)["errors"]:
            if code in CHECKS - left_out:
                missing.append(f"{each}: {code} {message}")
    assert not missing, "\n".join(missing)


@pytest.mark.parametrize("name", listed())
def test_has_an_example(name):
    found = find(name)
    if is_result(found) or (inspect.isclass(found) and issubclass(found, Exception)):
        pytest.skip("nothing that a user makes")
    assert ">>>" in (inspect.getdoc(found) or ""), f"{name} has no example"


@pytest.mark.parametrize("page", sorted(DOCS.glob("**/*.md")), ids=lambda path: path.stem)
def test_examples_on_pages(page):
    if "_build" in page.parts or "benchmarks" in page.parts:
        pytest.skip("not a page of ours")
    assert doctest.testfile(str(page), module_relative=False).failed == 0
