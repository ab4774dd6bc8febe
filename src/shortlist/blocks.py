"""Training data that is read block by block: for rows that do not fit in memory."""

from .top.stream.blocks import Blocks

__all__ = ["Blocks"]
