"""Fits on a cluster against those in memory, never waiting for ever."""

from __future__ import annotations

import threading
import warnings
from collections import Counter
from typing import Any

import dask.array as da
import numpy as np

import shortlist
from shortlist import dask as on_dask

CASES: list[tuple[str, dict[str, Any], bool]] = [
    ("TopPush", {"k": 20}, False),
    ("PatMat", {"tau": 0.05}, False),
    ("RankSVM", {"loss": "squared_hinge"}, True),
]


class Judge:
    """Fits the same rows again and again; counts right answers, clear errors and the rest."""

    def __init__(self, n_rows: int = 4000, n_features: int = 8) -> None:
        rng = np.random.default_rng(3)
        y = rng.random(n_rows) < 0.1
        X = rng.normal(size=(n_rows, n_features)) + 1.2 * y[:, None]
        self.rows = X, y.astype(int), np.arange(n_rows) // 25
        self.counts: Counter[str] = Counter()
        self.wanted = {}
        for name, terms, ranked in CASES:
            model = getattr(shortlist, name)(tol=1e-6, **terms)
            model.fit(*(self.rows if ranked else self.rows[:2]))
            self.wanted[name] = model.certificate_.primal

    def fit(self, number: int, client: Any, n_parts: int = 8, seconds: float = 600.0) -> str:
        """Fit once through a client; return what came of it."""
        name, terms, ranked = CASES[number % len(CASES)]
        step = -(-len(self.rows[1]) // (25 * n_parts)) * 25  # groups stay whole
        parts = [da.from_array(v, chunks=(step, v.shape[1])[: v.ndim] if v.ndim == 2 else step)
                 for v in (self.rows if ranked else self.rows[:2])]  # fmt: skip
        found: list[Any] = []

        def work() -> None:
            try:
                with warnings.catch_warnings(), client.as_current():
                    warnings.simplefilter("ignore")
                    model = getattr(on_dask, name)(tol=1e-6, **terms).fit(*parts)
                found.append(model.certificate_)
            except Exception as error:
                found.append(error)

        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        thread.join(seconds)
        said = self._judged(name, found)
        self.counts[said.partition(":")[0]] += 1
        if said != "right":
            print(f"fit {number} ({name}): {said.splitlines()[0][:200]}", flush=True)
        return said

    def _judged(self, name: str, found: list[Any]) -> str:
        if not found:
            return "HANG"
        if isinstance(found[0], Exception):
            error = found[0]
            clear = isinstance(error, RuntimeError | OSError) and len(str(error)) > 20
            # What dask says of a task that killed its workers again and again.
            clear |= type(error).__name__ == "KilledWorker"
            return f"{'clear error' if clear else 'UNCLEAR'}: {type(error).__name__}: {error}"
        close = abs(found[0].primal - self.wanted[name]) <= 1e-4 * abs(self.wanted[name])
        return "right" if found[0].status == "converged" and close else f"WRONG: {found[0]}"

    def verdict(self) -> int:
        """Print the counts; return 1 where one of them should be zero."""
        print(", ".join(f"{count} {what}" for what, count in sorted(self.counts.items())))
        return int(any(self.counts[word] for word in ("HANG", "UNCLEAR", "WRONG")))
