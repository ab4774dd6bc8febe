"""Memory for kernel entries."""

from __future__ import annotations

import math

import numpy as np

from .. import _core


def room(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """Return an array of anything, which takes memory only where it is written to.

    Unlike ``numpy.empty`` it does not ask for huge pages. These are cheaper where the machine
    has them at hand (0.1 ns a byte at the first touch instead of 0.5), but several times dearer
    where a virtual machine must ask its host for each of them (2 ns).
    """
    dtype = np.dtype(dtype)
    return _core.memory(math.prod(shape) * dtype.itemsize).view(dtype).reshape(shape)
