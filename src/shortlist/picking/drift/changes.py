"""Columns of two tables, compared one by one: which have changed, and how, in words.

Numbers are compared by Kolmogorov and Smirnov's test, categories by their counts, texts by
whether their most frequent words are there, gaps by their shares. Dates are not compared: new rows
are later than old ones, as a rule, and that alone says nothing. Each p-value is multiplied
by the number of all comparisons (Bonferroni). What is compared depends on both tables together,
never on which of them a row is in.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date
from functools import partial
from numbers import Number
from typing import Any

import numpy as np
from scipy import sparse
from scipy.stats import chi2, chi2_contingency, ks_2samp

from ..._written import percent
from ..reasons.subject import column_values

_NAMED = 3
# Rows that a test expects in each of its cells.
_EXPECTED = 5.0
# Part of the rows below which an entry of a sparse column is told by its being there.
_SPARSE = 0.1
_WORDS = 30
_LETTERS = 1_000
_WORD = re.compile(r"\w+")
_DATE = re.compile(r"\d{1,4}([-/.])\d{1,2}\1\d{1,4}\b")


@dataclass(frozen=True)
class Change:
    """How a column differs between two tables.

    Attributes
    ----------
    size : float
        Between 0 and 1.
    p_value : float
        Chance of it without a change.
    told : callable
        Returns it in words.
    """

    size: float
    p_value: float
    told: Callable[[], str]


def changed_columns(old: Any, new: Any, names: list[Any], level: float) -> tuple[float, list[str]]:
    """Return the chance of the largest change without drift, and the columns that have changed.

    The most changed column is named first.
    """
    changes = list(_sparse(old, new, names) if sparse.issparse(old) else _dense(old, new, names))
    sure = [(change, name) for change, name in changes if change.p_value * len(changes) < level]
    sure.sort(key=lambda entry: (-entry[0].size, entry[0].p_value))
    first: dict[Any, Change] = {}
    for change, name in sure:
        first.setdefault(name, change)
    smallest = min((change.p_value * len(changes) for change, _ in changes), default=1.0)
    named = [f"{name}: {change.told()}" for name, change in list(first.items())[:_NAMED]]
    return min(1.0, smallest), named


def _dense(old: Any, new: Any, names: list[Any]) -> Iterator[tuple[Change, Any]]:
    for place, name in enumerate(names):
        for change in _changes(column_values(old, place), column_values(new, place)):
            yield change, name


def _sparse(old: Any, new: Any, names: list[Any]) -> Iterator[tuple[Change, Any]]:
    old, new = old.tocsc(), new.tocsc()
    counts = [np.diff(side.indptr) for side in (old, new)]
    rows = old.shape[0], new.shape[0]
    everywhere = counts[0] + counts[1]
    least = _EXPECTED * sum(rows) / min(rows)
    rare = np.flatnonzero((everywhere >= least) & (everywhere < _SPARSE * sum(rows)))
    compared = _shares(counts[0][rare], counts[1][rare], rows, "not zero")
    for change, place in zip(compared, rare, strict=True):
        yield change, names[place]
    for place in np.flatnonzero(everywhere >= _SPARSE * sum(rows)):
        yield _numbers(column_values(old, int(place)), column_values(new, int(place))), names[place]


def _changes(old: np.ndarray, new: np.ndarray) -> Iterator[Change]:
    gaps = [missing(side) for side in (old, new)]
    count = [int(gap.sum()) for gap in gaps]
    rows = len(old), len(new)
    if sum(count):
        yield next(_shares(np.array(count[:1]), np.array(count[1:]), rows, "missing"))
    old, new = (side[~gap] for side, gap in zip((old, new), gaps, strict=True))
    if not len(old) or not len(new):
        return
    kind = kind_of_column(np.append(old, new))
    if kind == "number":
        yield _numbers(old, new)
    elif kind == "category":
        yield _categories(old.astype(str), new.astype(str))
    elif kind == "text":
        yield from _words(old, new)


def _shares(
    before: np.ndarray, after: np.ndarray, rows: tuple[int, int], what: str
) -> Iterator[Change]:
    """Compare counts of what a row has or has not."""
    n, m = rows
    met = before + after
    off = np.maximum(np.abs(before * m - after * n) - 0.5 * (n + m), 0.0)
    # Yates's: the counts are whole.
    spread = np.maximum(met * (n + m - met) * float(n) * m, 1e-300)
    p_values = chi2.sf(off**2 * (n + m) / spread, 1)
    for a, b, p_value in zip(before / n, after / m, p_values, strict=True):
        yield Change(float(abs(a - b)), float(p_value), partial(_told_shares, what, a, b))


def _told_shares(what: str, before: float, after: float) -> str:
    return f"{what} in {percent(after)} of the candidates, {percent(before)} of the history"


def _numbers(old: np.ndarray, new: np.ndarray) -> Change:
    before, after = old.astype(float), new.astype(float)
    test = ks_2samp(before, after, method="asymp")

    def told() -> str:
        low, middle, high = np.quantile(before, [0.25, 0.5, 0.75])
        lower, centre, higher = np.quantile(after, [0.25, 0.5, 0.75])
        spread = max(high - low, 1e-300)
        wider = (higher - lower) / spread
        outside = float(np.mean((after < before.min()) | (after > before.max())))
        if outside > 0.2:
            return f"{percent(outside)} of the candidates lie outside of what was seen"
        if abs(centre - middle) < 0.25 * spread and not 2 / 3 < wider < 1.5:
            return f"spread {wider:.2g} times what it was"
        return f"usually {centre:.4g}, was {middle:.4g}"

    return Change(float(test.statistic), float(test.pvalue), told)


def _categories(old: np.ndarray, new: np.ndarray) -> Change:
    values, code = np.unique(np.append(old, new), return_inverse=True)
    before = np.bincount(code[: len(old)], minlength=len(values))
    after = np.bincount(code[len(old) :], minlength=len(values))
    least = _EXPECTED * len(code) / min(len(old), len(new))
    # Rare values together: the test counts on cells that are not nearly empty.
    often = before + after >= least
    table = np.array([np.append(side[often], side[~often].sum()) for side in (before, after)])
    table = table[:, table.sum(axis=0) > 0]
    p_value = float(chi2_contingency(table)[1]) if table.shape[1] > 1 else 1.0
    gap = after / len(new) - before / len(old)

    def told() -> str:
        unseen = float(after[before == 0].sum() / len(new))
        if unseen > 0.05:
            return f"{percent(unseen)} of the candidates have values never seen"
        most = int(np.argmax(np.abs(gap)))
        return (
            f"{str(values[most])[:40]!r} is {percent(after[most] / len(new))} of the candidates, "
            f"was {percent(before[most] / len(old))}"
        )

    return Change(float(0.5 * np.abs(gap).sum()), p_value, told)


def _words(old: np.ndarray, new: np.ndarray) -> Iterator[Change]:
    words = frequent_words(np.append(old, new))
    before, after = (has_words(side, words).sum(axis=0) for side in (old, new))
    for at, word in enumerate(words):
        counts = before[at : at + 1], after[at : at + 1]
        yield from _shares(*counts, (len(old), len(new)), repr(word))


def _words_of(text: Any) -> set[str]:
    """Return the words of a text, of its beginning where it is long."""
    return set(_WORD.findall(str(text)[:_LETTERS].lower()))


def has_words(texts: np.ndarray, words: list[str]) -> np.ndarray:
    """Return which texts have which words, of shape (n_texts, n_words)."""
    place = {word: at for at, word in enumerate(words)}
    made = np.zeros((len(texts), len(words)), dtype=bool)
    for row, text in enumerate(texts):
        made[row, [place[word] for word in _words_of(text) if word in place]] = True
    return made


def frequent_words(texts: np.ndarray) -> list[str]:
    """Return the words that most texts have, but not nearly all; words of as many by name."""
    counts = Counter(word for text in texts for word in _words_of(text))
    some = [(-n, word) for word, n in counts.items() if 20 <= n <= 0.95 * len(texts)]
    return [word for _, word in sorted(some)[:_WORDS]]


def _is_date(value: Any) -> bool:
    return isinstance(value, date) or (isinstance(value, str) and bool(_DATE.match(value)))


def kind_of_column(values: np.ndarray) -> str:
    """Return what known values are: "number", "date", "category" or "text"."""
    if values.dtype.kind in "mM" or (values.dtype.kind in "OU" and all(map(_is_date, values))):
        return "date"
    numbers = values.dtype.kind == "O" and all(isinstance(value, Number) for value in values)
    if numbers or values.dtype.kind in "iufb":
        return "number"
    # Nearly all values differ: names and texts, of which the words may come again.
    return "text" if len(set(map(str, values))) > 0.5 * len(values) else "category"


def missing(values: np.ndarray) -> np.ndarray:
    """Return where a column has gaps."""
    if values.dtype.kind == "O":
        return np.array([value is None or value != value for value in values], dtype=bool)
    if values.dtype.kind in "mM":
        return np.asarray(np.isnat(values))
    return np.isnan(values) if values.dtype.kind == "f" else np.zeros(len(values), dtype=bool)
