"""What cannot be written as ONNX."""

from __future__ import annotations


class NotConvertible(ValueError):
    """A model, or a part of one, that has no ONNX form."""
