"""Who may import whom: families do not know each other, and what they share knows no family.

Nobody imports in a circle, not even late, and attributes are born in ``__init__``.
"""

import ast
import functools
from collections import defaultdict
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import shortlist

ROOT = Path(shortlist.__file__).parent
FAMILIES = {"top", "topk", "pairs", "transductive", "rivals", "stacking"}
ADDRESSES = {"blocks", "multiclass", "projections", "ranking"}  # old import paths
SHARED = {"_core", "_checks", "_losses", "_solver", "_fit", "certificate", "rows"}
# Above everything: nobody imports these but themselves and the command.
ABOVE = {"_app", "cli", "report"}


@functools.cache
def parsed(path):
    return ast.parse(path.read_text(encoding="utf-8"))


def module_of(path):
    parts = path.relative_to(ROOT).with_suffix("").parts
    return parts[:-1] if parts[-1] == "__init__" else parts


@functools.cache
def imported(path):
    """Top-level parts of the package that a file imports, and packages of others."""
    package = path.relative_to(ROOT).parent.parts
    ours, others = set(), set()
    for node in ast.walk(parsed(path)):
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


FILES = dict.fromkeys(sorted(ROOT.rglob("*.py")))


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
        tree = parsed(path)
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and not node.level:
                assert not node.module.startswith("shortlist"), path
                private = [part for part in node.module.split(".") if part.startswith("_")]
                names = [alias.name for alias in node.names if alias.name.startswith("_")]
                assert node.module == "__future__" or not private + names, path


def file_of(target):
    """Return the file of a module of the package, None where it is a name in one."""
    path = ROOT.joinpath(*target)
    for found in (path.with_suffix(".py"), path / "__init__.py"):
        if found in FILES:
            return found
    return None


def imports_of(path):
    """Files that a file imports when it is loaded or later; not for types only."""
    package = path.relative_to(ROOT).parent.parts
    tree = parsed(path)
    for_types = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level and id(node) not in for_types:
            base = package[: len(package) - node.level + 1]
            target = (*base, *(node.module.split(".") if node.module else ()))
            for alias in node.names:
                found.add(file_of((*target, alias.name)) or file_of(target))
    return found - {None, path}


def test_nobody_imports_in_a_circle():
    # Raises with the circle: two files that import each other call back and forth.
    order = list(TopologicalSorter({path: imports_of(path) for path in FILES}).static_order())
    assert len(order) == len(FILES)


BIRTHS = ("__init__", "__new__", "__post_init__")


def assigned(function):
    """Attributes that a method sets on its object."""
    me = function.args.args[0].arg if function.args.args else None
    return {
        node.attr
        for node in ast.walk(function)
        if isinstance(node, ast.Attribute)
        and isinstance(node.ctx, ast.Store)
        and isinstance(node.value, ast.Name)
        and node.value.id == me
    }


def methods(node):
    plain = [method for method in node.body if isinstance(method, ast.FunctionDef)]
    return [m for m in plain if "classmethod" not in map(ast.unparse, m.decorator_list)]


def born(node, classes, seen=frozenset()):
    """Attributes that objects of a class have from the start, by whatever parent."""
    found = set()
    for part in node.body:
        targets = [part.target] if isinstance(part, ast.AnnAssign) else getattr(part, "targets", [])
        found |= {target.id for target in targets if isinstance(target, ast.Name)}
    for method in methods(node):
        if method.name in BIRTHS:
            found |= assigned(method)
        elif any(text.endswith(".setter") for text in map(ast.unparse, method.decorator_list)):
            found.add(method.name)
    for base in node.bases:
        for parent in classes[ast.unparse(base).split("[")[0].split(".")[-1]]:
            if parent is not node and id(parent) not in seen:
                found |= born(parent, classes, seen | {id(node)})
    return found


def late_attributes(trees):
    """Attributes that are born later, apart from learned ones, whose names end in "_"."""
    classes = defaultdict(list)
    for tree in trees:
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                classes[node.name].append(node)
    return {
        f"{node.name}.{name}, in {method.name}"
        for nodes in list(classes.values())
        for node in nodes
        for method in methods(node)
        if method.name not in BIRTHS
        for name in assigned(method) - born(node, classes)
        if not name.endswith("_")
    }


def test_attributes_are_born_in_init():
    trees = [parsed(path) for path in FILES]
    assert late_attributes(trees) == set()


def test_a_late_attribute_is_found():
    late = """
class Parent:
    def __init__(self): self.a = 0
class Child(Parent):
    def go(self):
        self.a, self.b = 1, 2
        self.learned_ = 3
"""
    assert late_attributes([ast.parse(late)]) == {"Child.b, in go"}
