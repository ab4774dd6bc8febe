"""The list of public names, read from the package: a new name is in the reference by itself."""

from __future__ import annotations

import importlib
import inspect
from pathlib import Path

from sklearn.base import BaseEstimator

import shortlist

# Heading of each module's names, in the order of the page.
MODULES = {
    "metrics": "Metrics",
    "display": "Displays",
    "rivals": "What the papers compare with",
    "datasets": "Data",
    "blocks": "Rows on disk",
    "onnx": "ONNX",
    "dask": "Clusters",
    "dask.metrics": "Metrics on clusters",
}
CERTIFICATES = ("certificate.Certificate", "certificate.Trace", "certificate.Check")


def sections() -> dict[str, list[str]]:
    """Return headings and names, relative to the package."""
    own = {name: getattr(shortlist, name) for name in shortlist.__all__}
    own = {name: value for name, value in own.items() if not inspect.ismodule(value)}
    estimators = [n for n, v in own.items() if inspect.isclass(v) and issubclass(v, BaseEstimator)]
    warnings = [n for n, v in own.items() if inspect.isclass(v) and issubclass(v, Exception)]
    rest = [name for name in own if name not in (*estimators, *warnings)]
    found = {
        "Estimators": estimators,
        "The whole job": rest,
        "Certificates and warnings": [*CERTIFICATES, *warnings],
    }
    for module, title in MODULES.items():
        if importlib.util.find_spec(f"shortlist.{module}") is None:
            continue
        held = importlib.import_module(f"shortlist.{module}")
        found[title] = [f"{module}.{name}" for name in held.__all__ if _is_ours(held, name)]
    return found


def _is_ours(module: object, name: str) -> bool:
    value = getattr(module, name)
    return not inspect.ismodule(value) and value.__module__.startswith("shortlist")


def write_page(path: Path) -> None:
    """Write the page of all names."""
    lines = [
        "# Reference",
        "",
        "Every public name. Parameters that estimators share mean the same everywhere; `score`, "
        "`get_params` and `set_params` are those of scikit-learn.",
        "",
        "```{eval-rst}",
        ".. currentmodule:: shortlist",
        "",
    ]
    for title, names in sections().items():
        lines += [title, "-" * len(title), "", ".. autosummary::", "   :toctree: generated", ""]
        lines += [*(f"   {name}" for name in sorted(names, key=str.lower)), ""]
    lines.append("```")
    text = "\n".join(lines) + "\n"
    if not path.exists() or path.read_text() != text:
        path.write_text(text)
