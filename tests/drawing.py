"""How many random cases a test draws."""

from hypothesis import settings

# Speed is measured in benchmarks/: a busy machine must not fail a test.
settings.register_profile("all", deadline=None, max_examples=100)
settings.register_profile("usual", settings.get_profile("all"), max_examples=20)


def draws(number, **more):
    """`number` cases with the profile "all"; with "usual" a fifth, or 12 if that is more."""
    share = settings().max_examples / 100
    return settings(max_examples=max(min(number, 12), int(share * number)), **more)
