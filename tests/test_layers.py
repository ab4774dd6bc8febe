"""Who may import whom: families do not know each other, and what they share knows no family."""

import ast
from pathlib import Path

import pytest

import shortlist

ROOT = Path(shortlist.__file__).parent
FAMILIES = {"top", "topk", "pairs", "transductive", "rivals", "stacking"}
ADDRESSES = {"blocks", "multiclass", "projections", "ranking"}  # old import paths
SHARED = {"_core", "_checks", "_losses", "_solver", "_fit", "certificate", "rows"}
# Above everything: nobody imports these but themselves and the command.
ABOVE = {"_app", "cli", "report"}


def module_of(path):
    parts = path.relative_to(ROOT).with_suffix("").parts
    return parts[:-1] if parts[-1] == "__init__" else parts


def imported(path):
    """Top-level parts of the package that a file imports, and packages of others."""
    package = path.relative_to(ROOT).parent.parts
    ours, others = set(), set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            others |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            if not node.level:
                others.add(node.module.split(".")[0])
                continue
            base = package[: len(package) - node.level + 1]
            target = (*base, *(node.module.split(".") if node.module else ()))
            names = [target] if target else [(alias.name,) for alias in node.names]
            ours |= {name[0] for name in names}
    return ours, others


FILES = sorted(ROOT.rglob("*.py"))


def parts_of(path):
    return (module_of(path) or ("__init__",))[0]


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_families_do_not_import_each_other(family):
    # The head of a stack is a PatMat; the infinite push is a TopPush with the hinge.
    allowed = {"stacking": {"top"}, "rivals": {"top"}}.get(family, set())
    for path in FILES:
        if parts_of(path) == family:
            known = imported(path)[0] & (FAMILIES - {family} - allowed)
            assert not known, f"{path.relative_to(ROOT)} imports {known}"


def test_rows_import_nothing_above_them():
    for path in FILES:
        if parts_of(path) == "rows":
            assert imported(path)[0] <= {"rows", "_core", "_checks"}, path


def test_what_families_share_knows_no_family():
    for path in FILES:
        if parts_of(path) in SHARED:
            assert not imported(path)[0] & FAMILIES, path


def test_metrics_see_no_estimator():
    for path in FILES:
        if parts_of(path) == "metrics":
            assert not imported(path)[0] & (FAMILIES | {"budget", "picking"}), path


def test_only_the_command_imports_click_and_stands_above_all():
    for path in FILES:
        part = parts_of(path)
        ours, others = imported(path)
        if part != "_app":
            assert "click" not in others or part == "cli", path
        if part not in ABOVE | {"picking"}:
            assert not ours & ABOVE, path


def test_nobody_inside_uses_an_old_address():
    for path in FILES:
        if parts_of(path) not in ADDRESSES:
            assert not imported(path)[0] & ADDRESSES, path


def test_imports_are_relative_and_no_private_module_of_others_is_used():
    for path in FILES:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and not node.level:
                assert not node.module.startswith("shortlist"), path
                private = [part for part in node.module.split(".") if part.startswith("_")]
                names = [alias.name for alias in node.names if alias.name.startswith("_")]
                assert node.module == "__future__" or not private + names, path
