"""Features of typed rows: made once, without a look at any label.

Numbers and dates keep their scale; a category becomes a feature for each of its values; text
the leading directions of its pieces of words (Deerwester et al., 1990). Nothing here uses
labels, so the features of the whole history are made once, and folds are cut from them:
a held-out row has no part in what a model learns about the label.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from .._words import BUCKETS, along, count_pieces, learn
from ._columns import CATEGORY, DATE, NUMBER, Column, Columns

# Features that all text columns share, and the most and least for one of them; a column of
# single words, such as names and codes, says less than one of sentences.
_TEXT_FEATURES, _MOST, _MOST_WORDS, _LEAST = 60, 20, 10, 2
_DAY = 86400.0
# Standard deviations from the mean beyond which a number is not looked at more closely.
FAR = 1e6


class Encoder(ABC):
    """What a column becomes. Its fields are what was learned from the history."""

    @abstractmethod
    def names(self, name: str) -> list[str]:
        """Names of the features of a column of this name."""

    @abstractmethod
    def make(self, values: np.ndarray) -> np.ndarray:
        """Return the features of cells."""


@dataclass(frozen=True)
class Numbers(Encoder):
    """A column of numbers, and whether one is missing.

    Attributes
    ----------
    middle : float
        The median, for gaps.
    gaps : bool
        Whether there are any.
    """

    middle: float
    gaps: bool

    @classmethod
    def of(cls, values: np.ndarray) -> Numbers:
        """Learn from the history."""
        known = values[~np.isnan(values)]
        middle = float(np.median(known)) if len(known) else 0.0
        return cls(middle, bool(len(known) < len(values)))

    def names(self, name: str) -> list[str]:
        """Names of the features."""
        return [name, f"{name} is missing"] if self.gaps else [name]

    def make(self, values: np.ndarray) -> np.ndarray:
        """Return the features."""
        gap = np.isnan(values)
        filled = np.where(gap, self.middle, values)
        return np.column_stack([filled, gap]) if self.gaps else filled[:, None]


@dataclass(frozen=True)
class Dates(Encoder):
    """A column of dates: when, and the recurring parts of it.

    Attributes
    ----------
    parts : list of Numbers
        Every part as a column of numbers; the first says which dates are missing.
    """

    parts: list[Numbers]
    PARTS: ClassVar = ("", "year", "month", "day", "weekday", "hour")

    @classmethod
    def of(cls, values: np.ndarray) -> Dates:
        """Learn from the history."""
        when, *others = (Numbers.of(part) for part in cls._split(values))
        return cls([when, *(replace(part, gaps=False) for part in others)])

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
            for part, learned in zip(self.PARTS, self.parts, strict=True)
            for made in learned.names(f"{name} {part}".strip())
        ]

    def make(self, values: np.ndarray) -> np.ndarray:
        """Return the features."""
        split = zip(self.parts, self._split(values), strict=True)
        return np.column_stack([learned.make(part) for learned, part in split])


@dataclass(frozen=True)
class Categories(Encoder):
    """A column of few different values: a feature for each."""

    values: list[str]

    @classmethod
    def of(cls, values: np.ndarray) -> Categories:
        """Learn from the history."""
        return cls(sorted(set(values.tolist())))

    def names(self, name: str) -> list[str]:
        """Names of the features."""
        return [f"{name} = {value}" for value in self.values]

    def make(self, values: np.ndarray) -> np.ndarray:
        """Return the features; a new value has none of them."""
        return (values[:, None] == np.array(self.values, dtype=object)[None, :]).astype(float)


@dataclass(frozen=True)
class Pieces(Encoder):
    """A column of text: the leading directions of its pieces of words.

    Attributes
    ----------
    rarity : ndarray
        Weight of each piece.
    directions : ndarray
        One per feature.
    """

    rarity: np.ndarray
    directions: np.ndarray

    @classmethod
    def of(cls, values: np.ndarray, most: int) -> tuple[Pieces, np.ndarray]:
        """Learn `most` directions from the history; return its features, too.

        The pieces are found once for both.
        """
        codes, found = pd.factorize(values)
        texts = found.tolist()
        single = sum(" " not in text for text in texts) > len(texts) / 2
        most = min(most, _MOST_WORDS) if single else most
        pieces = count_pieces(texts)
        made = cls(*learn(pieces, most))
        return made, along(pieces, made.rarity, made.directions)[codes]

    def names(self, name: str) -> list[str]:
        """Names of the features."""
        return [f"{name}, words {number}" for number in range(1, len(self.directions) + 1)]

    def make(self, values: np.ndarray) -> np.ndarray:
        """Return the features."""
        codes, texts = pd.factorize(values)
        return along(count_pieces(texts.tolist()), self.rarity, self.directions)[codes]


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
        learned = {
            column.name: _learn(column, typed[column.name].to_numpy(), each)
            for column in columns.used
        }
        self._encoders = {name: encoder for name, (encoder, _) in learned.items()}
        made = _side_by_side(len(typed), [part for _, part in learned.values()])
        # In units of the largest, so that squares of huge and tiny numbers are numbers.
        unit = np.maximum(np.abs(made).max(axis=0, initial=0.0), 1e-300)
        middle, spread = (made / unit).mean(axis=0), (made / unit).std(axis=0)
        # A feature that never changes tells nothing.
        self.kept = np.flatnonzero(spread > 1e-12)
        self.middle, self.spread = ((part * unit)[self.kept] for part in (middle, spread))
        self._first: tuple[pd.DataFrame, pd.DataFrame] | None = (typed, self._scaled(made, typed))

    def _scaled(self, made: np.ndarray, typed: pd.DataFrame) -> pd.DataFrame:
        with np.errstate(over="ignore"):
            scaled = (made[:, self.kept] - self.middle) / self.spread
        scaled = np.clip(scaled, -FAR, FAR)
        return pd.DataFrame(scaled, columns=self.names, index=typed.index)

    @property
    def names(self) -> list[str]:
        """Names of the features."""
        every = [made for name, encoder in self._encoders.items() for made in encoder.names(name)]
        return _distinct([every[place] for place in self.kept])

    @property
    def owners(self) -> list[str]:
        """The column behind each feature."""
        every = [name for name, encoder in self._encoders.items() for _ in encoder.names(name)]
        return [every[place] for place in self.kept]

    def make(self, typed: pd.DataFrame) -> pd.DataFrame:
        """Return the features of rows."""
        if self._first is not None and self._first[0] is typed:
            return self._first[1]
        made = [encoder.make(typed[name].to_numpy()) for name, encoder in self._encoders.items()]
        return self._scaled(_side_by_side(len(typed), made), typed)

    @property
    def categories(self) -> dict[str, list[str]]:
        """Values of the columns that are categories."""
        return {
            name: encoder.values
            for name, encoder in self._encoders.items()
            if isinstance(encoder, Categories)
        }

    def forget(self) -> None:
        """Let the features of the history go."""
        self._first = None

    def to_plain(self) -> dict[str, Any]:
        """Return all that was learned, as plain values and arrays."""
        return {
            "parts": {name: _plain(encoder) for name, encoder in self._encoders.items()},
            "middle": self.middle,
            "spread": self.spread,
            "kept": self.kept,
        }

    @classmethod
    def from_plain(cls, content: Any) -> Features:
        """Make them again; raise where the content is not what :meth:`to_plain` returns."""
        made = cls.__new__(cls)
        made._encoders = {str(name): _from_plain(part) for name, part in content["parts"].items()}
        made.kept = _array(content["kept"], np.integer, 1)
        made.middle, made.spread = (
            _array(content[key], np.floating, 1) for key in ("middle", "spread")
        )
        made._first = None
        count = sum(len(encoder.names("")) for encoder in made._encoders.values())
        if not len(made.kept) == len(made.middle) == len(made.spread) or not (
            len(made.kept) == 0 or (made.kept.min() >= 0 and made.kept.max() < count)
        ):
            raise ValueError("the features do not fit together")
        return made


def _learn(column: Column, values: np.ndarray, each: int) -> tuple[Encoder, np.ndarray]:
    """Learn what a column becomes; return its features, too."""
    if column.kind == NUMBER:
        encoder: Encoder = Numbers.of(values)
    elif column.kind == DATE:
        encoder = Dates.of(values)
    elif column.kind == CATEGORY:
        encoder = Categories.of(values)
    else:
        return Pieces.of(values, each)
    return encoder, encoder.make(values)


def _side_by_side(rows: int, made: list[np.ndarray]) -> np.ndarray:
    return np.hstack([np.empty((rows, 0)), *made])


def _plain(encoder: Encoder) -> dict[str, Any]:
    content = dict(vars(encoder), kind=type(encoder).__name__)
    if isinstance(encoder, Dates):
        content["parts"] = [_plain(part) for part in encoder.parts]
    return content


def _from_plain(content: dict[str, Any]) -> Encoder:
    kind = content["kind"]
    if kind == "Numbers":
        return Numbers(float(content["middle"]), bool(content["gaps"]))
    if kind == "Dates":
        parts = [_from_plain(part) for part in content["parts"]]
        numbers = [part for part in parts if isinstance(part, Numbers)]
        if not len(numbers) == len(parts) == len(Dates.PARTS):
            raise ValueError("the parts of a date do not fit together")
        return Dates(numbers)
    if kind == "Categories":
        return Categories([str(value) for value in content["values"]])
    if kind == "Pieces":
        rarity = _array(content["rarity"], np.floating, 1)
        directions = _array(content["directions"], np.floating, 2)
        if rarity.shape != (BUCKETS,) or directions.shape[1] != BUCKETS:
            raise ValueError("the pieces of words do not fit together")
        return Pieces(rarity, directions)
    raise ValueError(f"{kind!r} is no kind of features")


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
