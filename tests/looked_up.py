"""What scikit-learn looks up again and again, looked up once: a twentieth of the time of all tests.

Both answers depend on a type alone, so nothing is tested less.
"""

import functools

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils import validation


def look_up_once():
    """Remember the parameters of a class, and that arrays are no tables."""
    names_of = functools.cache(BaseEstimator._get_param_names.__func__)
    BaseEstimator._get_param_names = classmethod(lambda cls: list(names_of(cls)))
    is_table = getattr(validation, "_nw_into_df_or_series", None)
    if is_table is not None:  # of newer versions
        validation._nw_into_df_or_series = lambda x: (
            type(x) is not np.ndarray and not sparse.issparse(x) and is_table(x)
        )
