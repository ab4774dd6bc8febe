"""The whole job: pick, and the shortlist it returns."""

from .job import pick
from .result import Shortlist

__all__ = ["Shortlist", "pick"]
