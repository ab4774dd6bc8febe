r"""Promised and found, list after list: whether it is chance or decay.

The null hypothesis is the promise itself: one precision, drawn from what the history leaves open,
holds for all lists of a model. The alternatives let it fall to a part :math:`\theta` from some
list s on. Their likelihood ratios, averaged,

.. math:: E_t = \sum_{s \le t} \pi_s \frac1{|\Theta|} \sum_\theta
    \frac{P_{s, \theta}(x_1, \dots, x_t)}{P_0(x_1, \dots, x_t)}
    + \Bigl(1 - \sum_{s \le t} \pi_s\Bigr)

with :math:`\pi_s = h (1 - h)^{s - 1}`, are a martingale of mean 1 under the promise, so that the
chance that they ever reach :math:`1 / \alpha` is at most :math:`\alpha` (Ville), however long the
ledger grows and however often one looks.

References
----------
A. Ramdas, P. Grünwald, V. Vovk, G. Shafer, "Game-theoretic statistics and safe anytime-valid
inference", Statistical Science 38, 2023.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

from .promise import Promise

LEVEL = 0.05
_FALLS = (0.85, 0.7, 0.5, 0.25)
_HAZARD = 1.0 / 26.0


@dataclass(frozen=True)
class Line:
    """One list of the ledger.

    Attributes
    ----------
    promise : Promise
        What it was promised.
    found : float
        Hits it brought.
    model : str
        What names the model: lists of one model share what its history leaves open.
    """

    promise: Promise
    found: float
    model: str = ""


@dataclass(frozen=True)
class Decay:
    """What a ledger says.

    Attributes
    ----------
    evidence : tuple of float
        The likelihood ratio after every list.
    noticed : int or None
        The list, from 1 on, at which it reached one in `LEVEL`; None if it never did.
    """

    evidence: tuple[float, ...]
    noticed: int | None


def judge(lines: Sequence[Line]) -> Decay:
    """Say whether the lists bring what they were promised.

    Parameters
    ----------
    lines : sequence of Line
        In the order of time.

    Examples
    --------
    >>> from shortlist.picking.forecast.ledger import Line, judge
    >>> from shortlist.picking.forecast.promise import Promise
    >>> promise = Promise(30, 22.0, 17.0, 27.0, 0.9, 2.4)
    >>> judge([Line(promise, found) for found in (21, 24, 22, 20, 23, 22)]).noticed
    >>> judge([Line(promise, found) for found in (21, 24, 13, 12, 14, 11)]).noticed
    4
    """
    plain = [np.log(line.promise.likelihoods(line.found) + 1e-300) for line in lines]
    fallen = [
        np.array([np.log(line.promise.likelihoods(line.found, fall) + 1e-300) for fall in _FALLS])
        for line in lines
    ]
    models = [line.model for line in lines]
    evidence = [_evidence(plain[:t], fallen[:t], models[:t]) for t in range(1, len(lines) + 1)]
    reached = [t for t, value in enumerate(evidence, 1) if value >= 1.0 / LEVEL]
    return Decay(tuple(evidence), reached[0] if reached else None)


def _evidence(plain: list[np.ndarray], fallen: list[np.ndarray], models: list[str]) -> float:
    """Return the averaged likelihood ratio of all lists so far."""
    t = len(plain)
    ratio = np.zeros((t, len(_FALLS)))
    for model in dict.fromkeys(models):
        own = np.array([name == model for name in models])
        null = np.where(own[:, None], np.array(plain), 0.0)
        alternative = np.where(own[:, None, None], np.array(fallen), 0.0)
        before = np.cumsum(null, axis=0) - null
        after = np.cumsum(alternative[::-1], axis=0)[::-1]
        ratio += logsumexp(before[:, None, :] + after, axis=2)
        ratio -= logsumexp(null.sum(axis=0))
    start = _HAZARD * (1.0 - _HAZARD) ** np.arange(t)
    return float(start @ np.exp(ratio).mean(axis=1) + (1.0 - start.sum()))
