"""What the columns of a table mean, and the features made of them.

Types are read once, from the history, and applied to the candidates: a column is a
number, a date or text. skrub reads them and turns dates and text into features. Its
``TableVectorizer`` would do the same in one piece, but it guesses the types again in
every fold, and a file of the fitted one repeats its parts: 780 MB for 100 columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from skrub import DatetimeEncoder, StringEncoder, ToDatetime, ToFloat
from skrub.core import RejectColumn

# How files spell a missing value, apart from blanks; compared in lower case.
_MISSING = frozenset(
    ["", "na", "n/a", "#n/a", "nan", "-nan", "null", "nil", "?", "...", "-", "<na>"]
)
# Text of more different values than this is taken apart into pieces of words.
_CATEGORIES = 30
# Features that all text columns share, and the most and least for one of them.
_TEXT_FEATURES, _MOST, _LEAST = 120, 30, 2
_ABSENT = "(missing)"
# A share of missing values this much higher than in the history is worth a warning.
_MORE_MISSING = 0.3


@dataclass(frozen=True)
class ColumnTypes:
    """Types of the feature columns, as the history has them.

    Attributes
    ----------
    numbers : dict
        Name and fitted ``skrub.ToFloat`` of each column of numbers.
    dates : dict
        Name and fitted ``skrub.ToDatetime`` of each column of dates.
    texts : list of str
        Columns of categories and free text.
    empty : list of str
        Columns without a value; they are not used.
    missing : dict
        Share of missing values of each column that is used.
    """

    numbers: dict[str, Any]
    dates: dict[str, Any]
    texts: list[str]
    empty: list[str]
    missing: dict[str, float]

    @property
    def used(self) -> list[str]:
        """Columns that become features, in the order of the history."""
        return list(self.missing)

    def apply(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Return rows in these types; values that do not fit are missing."""
        typed = {}
        for name in self.used:
            column = _without_blanks(rows[name])
            if name in self.numbers:
                typed[name] = _as_number(column, self.numbers[name])
            elif name in self.dates:
                typed[name] = self.dates[name].transform(column)
            else:
                typed[name] = _as_text(column)
        return pd.DataFrame(typed, index=rows.index)


def read_types(rows: pd.DataFrame) -> tuple[ColumnTypes, pd.DataFrame]:
    """Find the types of the columns and return them with the typed rows.

    Examples
    --------
    >>> import pandas as pd
    >>> from shortlist._columns import read_types
    >>> rows = pd.DataFrame({"age": ["31", "?", "29"], "since": ["2020-01-31", "2021-02-28", ""]})
    >>> types, typed = read_types(rows)
    >>> list(types.numbers), list(types.dates), typed["age"].tolist()
    (['age'], ['since'], [31.0, nan, 29.0])
    """
    types = ColumnTypes({}, {}, [], [], {})
    typed = {}
    for name in rows.columns:
        column = _without_blanks(rows[name])
        share = float(column.isna().mean())
        if share == 1.0:
            types.empty.append(name)
            continue
        types.missing[name] = share
        typed[name] = _read_type(name, column, types)
    return types, pd.DataFrame(typed, index=rows.index)


def _read_type(name: str, column: pd.Series, types: ColumnTypes) -> pd.Series:
    if pd.api.types.is_bool_dtype(column):
        column = column.astype(float)
    # 20240131 is a day; 2024 and 1500 are numbers.
    days = column.dtype == object and bool(
        column.dropna().astype(str).str.fullmatch(r"(19|20)\d{6}").all()
    )
    found: Mapping[str, tuple[Any, dict[str, Any]]] = {
        "number": (ToFloat(), types.numbers),
        "date": (ToDatetime(), types.dates),
    }
    for kind in ("date", "number") if days else ("number", "date"):
        reader, home = found[kind]
        try:
            typed = reader.fit_transform(column)
        except RejectColumn:
            continue
        home[name] = reader
        return _finite(typed) if kind == "number" else typed
    types.texts.append(name)
    return _as_text(column)


def _without_blanks(column: pd.Series) -> pd.Series:
    """Turn the ways in which files say "missing" into missing values."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        column = column.astype(object)
    if not (pd.api.types.is_object_dtype(column) or pd.api.types.is_string_dtype(column)):
        return column
    column = column.astype(object)
    blank = [value is None or _is_blank(value) for value in column]
    return column.mask(np.asarray(blank, dtype=bool), None)


def _is_blank(value: Any) -> bool:
    if isinstance(value, str):
        return value.strip().lower() in _MISSING
    return isinstance(value, float) and value != value


def _as_number(column: pd.Series, reader: Any) -> pd.Series:
    if pd.api.types.is_bool_dtype(column):
        column = column.astype(float)
    return _finite(reader.transform(column))


def _finite(column: pd.Series) -> pd.Series:
    values = column.to_numpy(dtype=np.float64, na_value=np.nan)
    return pd.Series(np.where(np.isfinite(values), values, np.nan), column.index, name=column.name)


def _as_text(column: pd.Series) -> pd.Series:
    """Text without gaps: that a value is missing may mean something, too."""
    return column.map(lambda value: _ABSENT if pd.isna(value) is True else str(value)).astype(
        object
    )


def make_features(types: ColumnTypes, rows: pd.DataFrame) -> Pipeline:
    """Return the unfitted transformer from typed rows to scaled numbers without gaps.

    Dates become year, month, day, weekday, hour and seconds; text of few values a column for
    each of them; other text the leading directions of its pieces of words (tf-idf, then
    SVD), fewer for each column where there are many.
    """
    # Text that is unique in every row may still hold words; a category repeats itself.
    few = [name for name in types.texts if rows[name].nunique() <= _CATEGORIES]
    many = [name for name in types.texts if name not in few]
    each = int(np.clip(_TEXT_FEATURES // max(len(many), 1), _LEAST, _MOST))
    steps: list[tuple[str, Any, Any]] = [("numbers", "passthrough", list(types.numbers))]
    steps += [(f"date {name}", DatetimeEncoder(add_weekday=True), name) for name in types.dates]
    one_hot = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    steps.append(("categories", one_hot, few))
    steps += [
        (f"text {name}", StringEncoder(n_components=each, random_state=0), name) for name in many
    ]
    return make_pipeline(
        ColumnTransformer([step for step in steps if len(step[2])]),
        SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True),
        StandardScaler(),
    )


class MissingCount:
    """Missing values of the candidates' columns, counted block by block.

    Parameters
    ----------
    types : ColumnTypes
        Types and shares of missing values of the history.
    """

    def __init__(self, types: ColumnTypes) -> None:
        self._types = types
        self._missing = pd.Series(0, index=types.used)
        self._rows = 0

    def add(self, typed: pd.DataFrame) -> pd.DataFrame:
        """Count a block of typed rows and return it."""
        texts = typed[self._types.texts] == _ABSENT
        self._missing = self._missing.add(typed.isna().sum().add(texts.sum(), fill_value=0))
        self._rows += len(typed)
        return typed

    def warnings(self) -> Iterable[str]:
        """Columns that are missing, or cannot be read, far more often than in the history."""
        for name, before in self._types.missing.items():
            share = float(self._missing[name]) / max(self._rows, 1)
            if share - before > _MORE_MISSING:
                kind = (
                    "a number"
                    if name in self._types.numbers
                    else "a date"
                    if name in self._types.dates
                    else "text"
                )
                yield (
                    f"column {name!r} is missing or not {kind} in {share:.0%} of the candidates, "
                    f"{before:.0%} of the history: check that both files mean the same."
                )
