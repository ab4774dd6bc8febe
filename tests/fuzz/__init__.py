"""Random input for tables, model files, reports and estimators; see ``python -m tests.fuzz``.

A target is a module with a function ``prepare()``, which makes what all its cases share, and
``run(seed, shared)``, which makes one case of a number and raises where a promise is broken.
"""

TARGETS = ("tables", "models", "reports", "estimators")
