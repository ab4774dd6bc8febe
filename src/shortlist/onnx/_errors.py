"""What cannot be written as ONNX."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class NotConvertible(ValueError):
    """A model, or a part of one, that has no ONNX form."""


def handler(part: Any, known: dict[type, Callable], what: str) -> Callable:
    """Return what writes a part of this type; raise where nothing does."""
    for kind in type(part).__mro__:
        if kind in known:
            return known[kind]
    listed = ", ".join(sorted(kind.__name__ for kind in known))
    raise NotConvertible(
        f"{type(part).__name__} has no ONNX form here for its {what}. Known are: {listed}."
    )
