"""Features of typed rows: made once, without a look at any label.

Numbers and dates keep their scale; a category becomes a feature for each of its values; text
the leading directions of its pieces of words (Deerwester et al., 1990). Nothing here uses
labels, so the features of the whole history are made once, and folds are cut from them:
a held-out row has no part in what a model learns about the label.

Pieces are the words themselves and their runs of three and four letters, hashed. They are
found once for every different word, not once for every row: that is most of the time.
"""

from __future__ import annotations

import re
import zlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any, Self

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.utils.extmath import randomized_svd

from ._columns import CATEGORY, DATE, NUMBER, Column, Columns

# Features that all text columns share, and the most and least for one of them; a column of
# single words, such as names and codes, says less than one of sentences.
_TEXT_FEATURES, _MOST, _MOST_WORDS, _LEAST = 60, 20, 10, 2
_BUCKETS = 1 << 13
# Different texts from which the directions are found.
_TEXTS = 20_000
_WORD = re.compile(r"\w+|[^\w\s]+")
_DAY = 86400.0
# Standard deviations from the mean beyond which a number is not looked at more closely.
FAR = 1e6


class Part(ABC):
    """What a column becomes."""

    @abstractmethod
    def fit(self, values: np.ndarray) -> Self:
        """Learn from the history."""

    @abstractmethod
    def names(self, name: str) -> list[str]:
        """Names of the features of a column of this name."""

    @abstractmethod
    def make(self, values: np.ndarray) -> np.ndarray:
        """Return the features of cells."""

    def fit_make(self, values: np.ndarray) -> np.ndarray:
        """Learn from the history, and return its features."""
        return self.fit(values).make(values)


class Numbers(Part):
    """A column of numbers, and whether one is missing."""

    def fit(self, values: np.ndarray) -> Self:
        """Learn the median, for gaps."""
        known = values[~np.isnan(values)]
        self.middle = float(np.median(known)) if len(known) else 0.0
        self.gaps = bool(len(known) < len(values))
        return self

    def names(self, name: str) -> list[str]:
        """Names of the features."""
        return [name, f"{name} is missing"] if self.gaps else [name]

    def make(self, values: np.ndarray) -> np.ndarray:
        """Return the features."""
        gap = np.isnan(values)
        filled = np.where(gap, self.middle, values)
        return np.column_stack([filled, gap]) if self.gaps else filled[:, None]


class Dates(Part):
    """A column of dates: when, and the recurring parts of it."""

    _PARTS = ("", "year", "month", "day", "weekday", "hour")

    def fit(self, values: np.ndarray) -> Self:
        """Learn the median of every part, for gaps."""
        self.parts = [Numbers().fit(part) for part in self._split(values)]
        for part in self.parts[1:]:
            part.gaps = False
        return self

    @staticmethod
    def _split(values: np.ndarray) -> list[np.ndarray]:
        known = ~np.isnan(values)
        whole = np.where(known, values, 0.0).astype(np.int64).astype("datetime64[s]")
        days, months = whole.astype("datetime64[D]"), whole.astype("datetime64[M]")
        years = whole.astype("datetime64[Y]")
        parts = (
            whole.astype(np.int64) / _DAY,
            years.astype(np.int64) + 1970,
            (months - years).astype(np.int64) + 1,
            (days - months.astype("datetime64[D]")).astype(np.int64) + 1,
            (days.astype(np.int64) + 3) % 7,
            (whole - days).astype(np.int64) // 3600,
        )
        return [np.where(known, part, np.nan) for part in parts]

    def names(self, name: str) -> list[str]:
        """Names of the features."""
        return [
            made
            for part, learned in zip(self._PARTS, self.parts, strict=True)
            for made in learned.names(f"{name} {part}".strip())
        ]

    def make(self, values: np.ndarray) -> np.ndarray:
        """Return the features."""
        split = zip(self.parts, self._split(values), strict=True)
        return np.column_stack([learned.make(part) for learned, part in split])


class Categories(Part):
    """A column of few different values: a feature for each."""

    def fit(self, values: np.ndarray) -> Self:
        """Learn the values."""
        self.values = sorted(set(values.tolist()))
        return self

    def names(self, name: str) -> list[str]:
        """Names of the features."""
        return [f"{name} = {value}" for value in self.values]

    def make(self, values: np.ndarray) -> np.ndarray:
        """Return the features; a new value has none of them."""
        return (values[:, None] == np.array(self.values, dtype=object)[None, :]).astype(float)


class Pieces(Part):
    """A column of text: the leading directions of its pieces of words.

    Parameters
    ----------
    n_features : int
        Directions, at most.
    """

    def __init__(self, n_features: int) -> None:
        self.n_features = n_features

    def fit(self, values: np.ndarray) -> Self:
        """Learn how rare each piece is, and the directions."""
        self.fit_make(values)
        return self

    def fit_make(self, values: np.ndarray) -> np.ndarray:
        """Learn, and return the features: the pieces are found once for both."""
        codes, found = pd.factorize(values)
        texts = found.tolist()
        single = sum(" " not in text for text in texts) > len(texts) / 2
        most = min(self.n_features, _MOST_WORDS) if single else self.n_features
        every = _pieces(texts)
        pieces = every[:: max(1, len(texts) // _TEXTS)]
        rows = pieces.shape[0]
        met = pieces.getnnz(axis=0)
        self.rarity = np.log((1.0 + rows) / (1.0 + met)) + 1.0
        count = min(most, max(1, min(rows, int((met > 0).sum()))))
        _, _, right = randomized_svd(
            self._weighed(pieces), count, n_iter=4, random_state=0, flip_sign=True
        )
        self.directions = right.astype(np.float32)
        return self._along(every)[codes]

    def _along(self, pieces: Any) -> np.ndarray:
        made: np.ndarray = self._weighed(pieces) @ self.directions.T.astype(np.float64)
        return made

    def _weighed(self, pieces: Any) -> Any:
        weighed = pieces @ sparse.diags(self.rarity)
        length = np.sqrt(np.asarray(weighed.multiply(weighed).sum(axis=1)).ravel())
        return sparse.diags(1.0 / np.where(length > 0.0, length, 1.0)) @ weighed

    def names(self, name: str) -> list[str]:
        """Names of the features."""
        return [f"{name}, words {number}" for number in range(1, len(self.directions) + 1)]

    def make(self, values: np.ndarray) -> np.ndarray:
        """Return the features."""
        codes, texts = pd.factorize(values)
        return self._along(_pieces(texts.tolist()))[codes]


def _pieces(texts: Sequence[str]) -> Any:
    """Count the pieces of each text: rows are texts, columns are hashes of pieces."""
    known: dict[str, int] = {}
    words: list[int] = []
    ends = [0]
    for text in texts:
        words += [known.setdefault(word, len(known)) for word in _WORD.findall(text.lower())]
        ends.append(len(words))
    counts = sparse.csr_matrix(
        (np.ones(len(words)), words, ends), shape=(len(texts), max(len(known), 1))
    )
    hashes: list[int] = []
    bounds = [0]
    for word in known:
        hashes += _hashes(word)
        bounds.append(len(hashes))
    if not known:
        bounds.append(0)
    spelled = sparse.csr_matrix(
        (np.ones(len(hashes)), hashes, bounds), shape=(max(len(known), 1), _BUCKETS)
    )
    return (counts @ spelled).tocsr()


def _hashes(word: str) -> Iterable[int]:
    framed = f" {word} "
    runs = [
        framed[start : start + size] for size in (3, 4) for start in range(len(word) + 3 - size)
    ]
    return [
        zlib.crc32(piece.encode("utf-8", "surrogatepass")) % _BUCKETS for piece in (framed, *runs)
    ]


class Features:
    """From typed rows to numbers of unit variance, without gaps.

    Parameters
    ----------
    columns : Columns
        How the columns are read.
    typed : DataFrame
        The history, so read.

    Examples
    --------
    >>> import pandas as pd
    >>> from shortlist._app._deciding import read_columns
    >>> from shortlist._app._features import Features
    >>> columns, typed = read_columns(pd.DataFrame({"paid": ["1", "3"], "by": ["Ann", "Bo"]}))
    >>> Features(columns, typed).make(typed).round(1)
       paid  by = Ann  by = Bo
    0  -1.0       1.0     -1.0
    1   1.0      -1.0      1.0
    """

    def __init__(self, columns: Columns, typed: pd.DataFrame) -> None:
        texts = sum(column.kind not in (NUMBER, DATE, CATEGORY) for column in columns.used)
        each = int(np.clip(_TEXT_FEATURES // max(texts, 1), _LEAST, _MOST))
        self._parts = {column.name: _part(column, each) for column in columns.used}
        made = self._joined(typed, "fit_make")
        # In units of the largest, so that squares of huge and tiny numbers are numbers.
        unit = np.maximum(np.abs(made).max(axis=0, initial=0.0), 1e-300)
        middle, spread = (made / unit).mean(axis=0), (made / unit).std(axis=0)
        # A feature that never changes tells nothing.
        self.kept = np.flatnonzero(spread > 1e-12)
        self.middle, self.spread = ((part * unit)[self.kept] for part in (middle, spread))
        self._first: tuple[pd.DataFrame, pd.DataFrame] | None = (typed, self._scaled(made, typed))

    def _joined(self, typed: pd.DataFrame, how: str) -> np.ndarray:
        made = [getattr(part, how)(typed[name].to_numpy()) for name, part in self._parts.items()]
        return np.hstack([np.empty((len(typed), 0)), *made])

    def _scaled(self, made: np.ndarray, typed: pd.DataFrame) -> pd.DataFrame:
        with np.errstate(over="ignore"):
            scaled = (made[:, self.kept] - self.middle) / self.spread
        scaled = np.clip(scaled, -FAR, FAR)
        return pd.DataFrame(scaled, columns=self.names, index=typed.index)

    @property
    def names(self) -> list[str]:
        """Names of the features."""
        every = [made for name, part in self._parts.items() for made in part.names(name)]
        return _distinct([every[place] for place in self.kept])

    @property
    def owners(self) -> list[str]:
        """The column behind each feature."""
        every = [name for name, part in self._parts.items() for _ in part.names(name)]
        return [every[place] for place in self.kept]

    def make(self, typed: pd.DataFrame) -> pd.DataFrame:
        """Return the features of rows."""
        if self._first is not None and self._first[0] is typed:
            return self._first[1]
        return self._scaled(self._joined(typed, "make"), typed)

    @property
    def categories(self) -> dict[str, list[str]]:
        """Values of the columns that are categories."""
        return {
            name: part.values for name, part in self._parts.items() if isinstance(part, Categories)
        }

    def forget(self) -> None:
        """Let the features of the history go."""
        self._first = None

    def to_plain(self) -> dict[str, Any]:
        """Return all that was learned, as plain values and arrays."""
        return {
            "parts": {name: _plain(part) for name, part in self._parts.items()},
            "middle": self.middle,
            "spread": self.spread,
            "kept": self.kept,
        }

    @classmethod
    def from_plain(cls, content: Any) -> Features:
        """Make them again; raise where the content is not what :meth:`to_plain` returns."""
        made = cls.__new__(cls)
        made._parts = {str(name): _from_plain(part) for name, part in content["parts"].items()}
        made.kept = _array(content["kept"], np.integer, 1)
        made.middle, made.spread = (
            _array(content[key], np.floating, 1) for key in ("middle", "spread")
        )
        made._first = None
        count = sum(len(part.names("")) for part in made._parts.values())
        if not len(made.kept) == len(made.middle) == len(made.spread) or not (
            len(made.kept) == 0 or (made.kept.min() >= 0 and made.kept.max() < count)
        ):
            raise ValueError("the features do not fit together")
        return made


def _part(column: Column, each: int) -> Part:
    if column.kind == NUMBER:
        return Numbers()
    if column.kind == DATE:
        return Dates()
    return Categories() if column.kind == CATEGORY else Pieces(each)


_KINDS: dict[str, Any] = {part.__name__: part for part in (Numbers, Dates, Categories, Pieces)}


def _plain(part: Any) -> dict[str, Any]:
    content = dict(vars(part), kind=type(part).__name__)
    if isinstance(part, Dates):
        content["parts"] = [_plain(inner) for inner in part.parts]
    return content


def _from_plain(content: dict[str, Any]) -> Any:
    kind = _KINDS[content["kind"]]
    part = kind.__new__(kind)
    if kind is Numbers:
        part.middle, part.gaps = float(content["middle"]), bool(content["gaps"])
    elif kind is Dates:
        part.parts = [_from_plain(inner) for inner in content["parts"]]
        if len(part.parts) != len(Dates._PARTS) or not all(
            isinstance(inner, Numbers) for inner in part.parts
        ):
            raise ValueError("the parts of a date do not fit together")
    elif kind is Categories:
        part.values = [str(value) for value in content["values"]]
    else:
        part.rarity = _array(content["rarity"], np.floating, 1)
        part.directions = _array(content["directions"], np.floating, 2)
        part.n_features = len(part.directions)
        if part.rarity.shape != (_BUCKETS,) or part.directions.shape[1] != _BUCKETS:
            raise ValueError("the pieces of words do not fit together")
    return part


def _array(value: Any, kind: type, dimensions: int) -> np.ndarray:
    if (
        not isinstance(value, np.ndarray)
        or not np.issubdtype(value.dtype, kind)
        or value.ndim != dimensions
        or not np.isfinite(value).all()
    ):
        raise ValueError("an array is not what it should be")
    return value


def _distinct(names: list[str]) -> list[str]:
    """Names of which none is twice: models take no others."""
    seen: set[str] = set()
    found = []
    for name in names:
        new, number = name, 1
        while new in seen:
            number += 1
            new = f"{name} ({number})"
        seen.add(new)
        found.append(new)
    return found
