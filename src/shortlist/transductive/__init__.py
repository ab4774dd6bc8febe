"""Exactly k of the given candidates: TransductiveTopK."""

from .estimator import TransductiveTopK

__all__ = ["TransductiveTopK"]
