"""Hypothesis without a clock: a busy machine is not a failure."""

from hypothesis import settings

settings.register_profile("no-clock", deadline=None)
settings.load_profile("no-clock")
