"""Models in production without Python: ONNX.

:func:`to_onnx` writes a fitted model, or the whole pipeline that :func:`shortlist.pick`
returns. :func:`register` teaches skl2onnx the estimators of this library, for pipelines
with steps of its own. Needs ``pip install "shortlist[onnx]"``.
"""

from __future__ import annotations

from ._errors import NotConvertible
from ._register import register
from ._write import to_onnx

__all__ = ["NotConvertible", "register", "to_onnx"]
