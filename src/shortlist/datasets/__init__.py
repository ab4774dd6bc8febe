"""Small data sets that need no download, posed as questions about the top of a list.

Loans and drugs come with this package, tumours and digits with scikit-learn; payments are
simulated.
"""

from __future__ import annotations

import csv
from importlib.resources import files
from typing import Any

import numpy as np
from sklearn import datasets

from .transactions import make_transactions

__all__ = ["load_credit", "load_digit", "load_drugs", "load_tumours", "make_transactions"]


def load_credit() -> tuple[Any, np.ndarray]:
    """Find the bad ones among 1,000 loans: numbers, categories and missing values.

    The Statlog (German Credit) data of H. Hofmann, from the UCI repository, licence
    CC BY 4.0, https://doi.org/10.24432/C5NC77. The codes are spelled out; where savings or
    property are unknown the value is missing; sex with marital status, and foreign worker,
    are left out. Needs pandas.

    Returns
    -------
    X : DataFrame of shape (1000, 18)
        What was known when the loan was asked for; amounts in Deutsche Mark.
    y : ndarray of bool
        True for a bad loan, 300 of them.

    Examples
    --------
    >>> from shortlist.datasets import load_credit
    >>> X, y = load_credit()
    >>> X.shape, int(y.sum()), X["purpose"].iloc[0]
    ((1000, 18), 300, 'radio or television')
    """
    import pandas as pd

    with files(__package__).joinpath("credit.csv").open("rb") as file:
        # "none" is an answer here.
        table = pd.read_csv(file, keep_default_na=False, na_values=[""])
    y = table.pop("bad").to_numpy(dtype=bool)
    return table, y


def load_digit(digit: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Find the images of one digit among 1,797 handwritten ones, 8 x 8 pixels each.

    Parameters
    ----------
    digit : int, default=1
        The digit to look for, 0 to 9. About one image in ten shows it.

    Returns
    -------
    X : ndarray of shape (1797, 64)
        Grey levels, 0 to 16.
    y : ndarray of bool
        True where the image shows the digit.

    Examples
    --------
    >>> from shortlist.datasets import load_digit
    >>> X, y = load_digit(8)
    >>> X.shape, int(y.sum())
    ((1797, 64), 174)
    """
    if digit not in range(10):
        raise ValueError(f"digit must be an integer from 0 to 9, got digit={digit!r}.")
    X, target = datasets.load_digits(return_X_y=True)
    return X, target == digit


def load_drugs() -> tuple[np.ndarray, np.ndarray]:
    """Find the beta blockers among 77 drugs, each written as a line of text.

    The lines are canonical SMILES without stereochemistry. Drugs of other classes that share
    parts with beta blockers are among the rest: their opposites, antiarrhythmics, expectorants.

    Returns
    -------
    X : ndarray of str, of shape (77, 2)
        Name and SMILES.
    y : ndarray of bool
        True for a beta blocker, 18 of them.

    Examples
    --------
    >>> from shortlist.datasets import load_drugs
    >>> X, y = load_drugs()
    >>> X.shape, int(y.sum()), X[0].tolist()
    ((77, 2), 18, ['acebutolol', 'CCCC(=O)Nc1ccc(OCC(O)CNC(C)C)c(C(C)=O)c1'])
    """
    text = files(__package__).joinpath("drugs.csv").read_text(encoding="utf-8")
    rows = np.array(list(csv.reader(text.splitlines()))[1:])
    return rows[:, :2], rows[:, 2] == "1"


def load_tumours() -> tuple[np.ndarray, np.ndarray]:
    """Find the malignant ones among 569 breast tumours, 30 measurements each.

    Returns
    -------
    X : ndarray of shape (569, 30)
        Measurements of cell nuclei.
    y : ndarray of bool
        True for malignant, 212 of them.

    Examples
    --------
    >>> from shortlist.datasets import load_tumours
    >>> X, y = load_tumours()
    >>> X.shape, int(y.sum())
    ((569, 30), 212)
    """
    X, target = datasets.load_breast_cancer(return_X_y=True)
    return X, target == 0
