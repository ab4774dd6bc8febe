"""Files for people who find, cite and release the package."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

import shortlist

ROOT = Path(__file__).parents[2]
if not (ROOT / "CITATION.cff").is_file():
    pytest.skip("not a clone of the repository", allow_module_level=True)


def test_the_citation_names_this_version():
    cited = re.search(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    assert cited is not None
    assert cited[1] == shortlist.__version__


def test_the_version_stands_in_one_place():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert "version" in project["project"]["dynamic"]
    assert project["tool"]["scikit-build"]["metadata"]["version"]["input"].endswith("__init__.py")


def test_the_oldest_versions_are_those_that_are_promised():
    """What CI installs as oldest is what pyproject.toml allows."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = list(project["dependencies"])
    for extra in project["optional-dependencies"].values():
        wanted += extra
    least = dict(re.findall(r"^([\w-]+)(?:\[.*\])?>=([\w.]+)", "\n".join(wanted), re.MULTILINE))
    pinned = re.findall(
        r"^([\w-]+)==([\w.]+)$", (ROOT / ".github" / "oldest.txt").read_text(), re.MULTILINE
    )
    assert {"numpy", "scipy", "scikit-learn"} <= {name for name, _ in pinned}
    for name, version in pinned:
        assert version.startswith(least[name]), f"{name}=={version}, allowed from {least[name]}"


def test_ci_tests_both_ends_by_the_documented_command():
    workflow = (ROOT / ".github" / "workflows" / "test.yml").read_text()
    assert "python -m tests.versions ${{ matrix.versions }}" in workflow
    page = (ROOT / "docs" / "versions.md").read_text()
    for end in ("oldest", "newest"):
        assert f"versions: {end}" in workflow
        assert f"-m tests.versions {end}" in page
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    least = dict(re.findall(r"([\w-]+)>=([\w.]+)", "\n".join(project["dependencies"])))
    least["Python"] = project["requires-python"].removeprefix(">=")
    for name in ("Python", "numpy", "scipy", "scikit-learn"):
        assert f"| {name} | {least[name]} |" in page


def test_ci_builds_the_site():
    assert "\n.ci/docs\n" in (ROOT / ".ci" / "run").read_text()
    assert "run: .ci/docs" in (ROOT / ".github" / "workflows" / "docs.yml").read_text()
