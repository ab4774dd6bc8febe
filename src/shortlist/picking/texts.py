"""Tables with columns that are not numbers: what :func:`shortlist.pick` hands to skrub."""

from __future__ import annotations

import importlib.util
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from .._scores import in_double
from .._words import along, count_pieces, learn


class TextPieces(TransformerMixin, BaseEstimator):
    """A column of text as the leading directions of its pieces of words.

    skrub's own encoder computes in single precision, so that a graph in double precision would
    put rows on other sides of a tree's splits. This one computes in double, has an ONNX form,
    finds as many hits and takes a third of the time.

    Parameters
    ----------
    n_components : int, default=30
        The most directions.

    Examples
    --------
    >>> import pandas as pd
    >>> from shortlist.picking.texts import TextPieces
    >>> notes = pd.Series(["paid late", "paid", None, "paid early"], name="note")
    >>> TextPieces(2).fit_transform(notes).shape
    (4, 2)
    """

    __single_column_transformer__ = True  # skrub then hands over one column at a time

    def __init__(self, n_components: int = 30) -> None:
        self.n_components = n_components

    def fit(self, column: Any, y: Any = None) -> TextPieces:
        """Learn weights and directions.

        Parameters
        ----------
        column : Series
            Of pandas or polars.
        y : None
            Not looked at.

        Returns
        -------
        self
        """
        self.name_ = column.name
        self.rarity_, self.directions_ = learn(count_pieces(_texts(column)), self.n_components)
        return self

    def transform(self, column: Any) -> np.ndarray:
        """Return the features.

        Parameters
        ----------
        column : Series
            Of pandas or polars.

        Returns
        -------
        ndarray of shape (n_rows, n_directions)
        """
        return along(count_pieces(_texts(column)), self.rarity_, self.directions_)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the features.

        Parameters
        ----------
        input_features : None
            Not looked at.

        Returns
        -------
        ndarray of str
        """
        return np.array([f"{self.name_}_{number}" for number in range(len(self.directions_))])


def _texts(column: Any) -> list[str]:
    missing = column.is_null() if hasattr(column, "is_null") else column.isna()
    return ["" if gap else str(value) for value, gap in zip(column, missing, strict=True)]


def encoded(other: list[Any]) -> Any:
    """Return a transformer that makes numbers of a table, of its `other` columns too."""
    if importlib.util.find_spec("skrub") is None:
        raise ValueError(
            f"X has columns that are not numbers: {', '.join(map(repr, other[:5]))}"
            f"{', ...' if len(other) > 5 else ''}. Install skrub (pip install skrub), which turns "
            "them into features, or pass features=, a transformer of your own."
        )
    from skrub import TableVectorizer

    # skrub has its features in single precision: models compute in double from here on.
    double = FunctionTransformer(in_double, feature_names_out="one-to-one")
    return make_pipeline(TableVectorizer(high_cardinality=TextPieces()), double)
