r"""From log odds to probabilities that hold at the top of the list.

Beta calibration: with :math:`p = \sigma(z)`,

.. math:: \operatorname{logit} \hat p = a \ln p - b \ln (1 - p) + c, \qquad a, b \ge 0,

fitted to held-out log odds :math:`z` by maximum likelihood. It is monotone, has a slope of its
own at the top, and contains the identity. Isotonic regression of the same rows bends wherever
they do, and jumps. The mean of the two probabilities misses the hits of a list by less than
either, or than Platt's sigmoid (``benchmarks/results/pick_trust.md``); it is monotone, too,
and never flat.

References
----------
M. Kull, T. Silva Filho, P. Flach, "Beta calibration", AISTATS 2017.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import brentq, minimize
from scipy.special import expit, log_expit, logit
from sklearn.isotonic import IsotonicRegression

# A prior of this many rows at the identity: few held-out rows must not bend the curve.
_PRIOR = 5.0


@dataclass(frozen=True, eq=False)
class Calibration:
    """A monotone map of log odds.

    Attributes
    ----------
    a, b, c : float
        Its parameters; 1, 1, 0 is the identity.
    shift : float
        Added to the log odds, for another share of positives.
    knots : tuple of ndarray or None
        Log odds and probabilities between which the isotonic part is linear; None: only the
        beta part counts.
    """

    a: float
    b: float
    c: float
    shift: float = 0.0
    knots: tuple[np.ndarray, np.ndarray] | None = None

    def __call__(self, log_odds: np.ndarray) -> np.ndarray:
        """Return probabilities."""
        z = np.asarray(log_odds, dtype=np.float64)
        bent = expit(self.a * log_expit(z) - self.b * log_expit(-z) + self.c + self.shift)
        if self.knots is None:
            return bent
        steps = np.interp(z, *self.knots)
        if self.shift:
            steps = expit(logit(steps) + self.shift)
        return np.asarray(0.5 * (bent + steps))

    def at_base_rate(self, rate: float, seen: float) -> Calibration:
        """Return the map where `rate` of the rows are positive, instead of `seen`."""
        return replace(self, shift=float(logit(rate) - logit(seen)))


def calibrate(log_odds: np.ndarray, positive: np.ndarray, weight: np.ndarray) -> Calibration:
    """Fit the map to held-out rows.

    Parameters
    ----------
    log_odds : ndarray
        Of rows that were not learned from.
    positive : ndarray of bool
        Their labels.
    weight : ndarray
        Their weights.

    Examples
    --------
    >>> import numpy as np
    >>> from shortlist.picking.forecast.probability import calibrate
    >>> rng = np.random.default_rng(0)
    >>> z = rng.normal(size=20_000)
    >>> hit = rng.random(20_000) < 1 / (1 + np.exp(-2 * z + 1))
    >>> p = calibrate(z, hit, np.ones(20_000))(z)
    >>> bool(abs(p[z > 1].mean() - hit[z > 1].mean()) < 0.02)
    True
    """
    left, right = log_expit(log_odds), -log_expit(-log_odds)
    sign = np.where(positive, 1.0, -1.0)
    scale = _PRIOR / max(float(weight.sum()), 1.0)
    used, weight = weight, weight / weight.sum()

    def loss(theta: np.ndarray) -> tuple[float, np.ndarray]:
        a, b, c = theta
        z = a * left + b * right + c
        slope = -weight * sign * expit(-sign * z)
        away = theta - np.array([1.0, 1.0, 0.0])
        value = -float(weight @ log_expit(sign * z)) + 0.5 * scale * float(away @ away)
        gradient = np.array([slope @ left, slope @ right, slope.sum()]) + scale * away
        return value, gradient

    found = minimize(
        loss,
        np.array([1.0, 1.0, 0.0]),
        jac=True,
        method="L-BFGS-B",
        bounds=[(0.0, None), (0.0, None), (None, None)],
    )
    steps = IsotonicRegression(y_min=0.0, y_max=1.0).fit(log_odds, positive, sample_weight=used)
    a, b, c = map(float, found.x)
    return Calibration(a, b, c, knots=(steps.X_thresholds_, steps.y_thresholds_))


def shift_towards(probability: np.ndarray, hits: float) -> float:
    r"""Return what to add to the log odds of a list, so that it sums to so many hits.

    The c of :math:`\sum_i \sigma(z_i + c) + \sigma(c) = s + \frac12`, with the log odds z and the
    hits s: half a hit and half a miss are added. Without them, as many hits as rows would make
    every candidate a sure one, those that are not on the list as well.

    Examples
    --------
    >>> import numpy as np
    >>> from shortlist.picking.forecast.probability import shift_towards, shifted
    >>> p = np.tile([0.8, 0.5], 50)
    >>> shift = shift_towards(p, 50.0)
    >>> round(shift, 2), round(float(shifted(p, shift).sum()), 1)
    (-0.69, 50.2)
    >>> round(shift_towards(np.array([0.9]), 1.0), 2)
    0.31
    """
    z = logit(_doubtful(probability))
    # Replays whose bias was taken out may have more hits than rows.
    wanted = 0.5 + min(max(hits, 0.0), float(len(z)))

    def excess(c: float) -> float:
        return float(expit(z + c).sum() + expit(c)) - wanted

    # Log odds are at most 21: beyond these ends all of a list, or none, is half a row too much.
    return float(brentq(excess, -60.0, 60.0))


def shifted(probability: np.ndarray, shift: float) -> np.ndarray:
    """Return probabilities with the log odds shifted, in the same order."""
    if not shift:
        return probability
    return np.asarray(expit(logit(_doubtful(probability)) + shift))


def _doubtful(probability: np.ndarray) -> np.ndarray:
    """Return probabilities whose log odds are finite."""
    return np.clip(probability, 1e-9, 1 - 1e-9)
