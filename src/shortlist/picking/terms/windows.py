"""The list as it would have been made in each window of the past, and where that is heading."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.stats import norm, t

from .replay import Records, possible
from .selection import select
from .times import span

# A trend is one if it is this many standard errors from level: 90 %, two-sided.
_CLEAR = 1.645


@dataclass(frozen=True)
class Window:
    """One list of the past, by models that had seen nothing of its window.

    Attributes
    ----------
    begin, end : float
        Times of its first and last row.
    rows, taken : int
        Rows, or entities, of the window, and how many the list took.
    hits, gain : float
        What these brought.
    spread : float
        Standard error of the mean of a taken row's hit or outcome.
    size : float
        Its budget, as a part of the one that is asked for.
    """

    begin: float
    end: float
    rows: int
    taken: int
    hits: float
    gain: float
    spread: float
    size: float = 1.0

    @property
    def precision(self) -> float:
        """Hits, or outcome, of a taken row."""
        return self.hits / max(1, self.taken)


def past_windows(
    records: Records, fold: np.ndarray, time: np.ndarray, rate: float
) -> tuple[Window, ...]:
    """Make the list in every window, at the same share of its rows, oldest first.

    Parameters
    ----------
    records : Records
        Held-out rows and the rule.
    fold : ndarray
        Window of each row.
    time : ndarray
        Time of each row.
    rate : float
        Budget as a share of the rows, or of the entities.
    """
    found = []
    for number in np.unique(fold):
        rows = np.flatnonzero(fold == number)
        here = records.take(rows)
        units = len(rows) if here.rule.entity is None else len(np.unique(here.rule.entity))
        k = max(1, round(rate * units))
        share = k / max(1, here.rule.k)
        limits = tuple(
            replace(limit, least=np.floor(limit.least * share), most=np.ceil(limit.most * share))
            for limit in here.rule.limits
        )
        rule = possible(replace(here.rule, k=k, limits=limits))
        chosen = select(here.gain, rule)
        hit = here.hit[chosen]
        found.append(
            Window(
                float(time[rows].min()),
                float(time[rows].max()),
                units,
                len(chosen),
                float(hit.sum()),
                float(here.outcome[chosen].sum()),
                _error(hit),
                share,
            )
        )
    return tuple(found)


def _error(hit: np.ndarray) -> float:
    """Return the standard error of a mean; half a hit and half a miss keep it above zero."""
    n = len(hit)
    if n == 0:
        return np.inf
    if ((hit == 0.0) | (hit == 1.0)).all():
        p = (hit.sum() + 0.5) / (n + 1.0)
        return float(np.sqrt(p * (1.0 - p) / n))
    return float(hit.std(ddof=1) / np.sqrt(n)) if n > 1 else np.inf


def levelled(gain: np.ndarray, fold: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Return gains that compare rows of different folds by their places in their own.

    Every fold, or window, was scored by a model of its own, while the candidates have one model
    for all. A bolder model would fill all lists that are drawn from several folds, and scores of
    several models are in a worse order together than those of each alone. So each row gets the
    gain that all rows together have at its place, counted in weight from the top.

    Examples
    --------
    >>> import numpy as np
    >>> from shortlist.picking.terms.windows import levelled
    >>> levelled(np.array([9.0, 8.0, 2.0, 1.0]), np.array([0, 0, 1, 1]), np.ones(4))
    array([8.5, 1.5, 8.5, 1.5])
    """
    own = np.empty(len(gain))
    for number in np.unique(fold):
        rows = fold == number
        own[rows] = _places(gain[rows], weight[rows])
    all_of_them = _places(gain, weight)
    order = np.argsort(all_of_them)
    return np.interp(own, all_of_them[order], gain[order])


def _places(gain: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Return the share of the weight above the middle of each row, best first."""
    order = np.lexsort((np.arange(len(gain)), -gain))
    places = np.empty(len(gain))
    places[order] = (np.cumsum(weight[order]) - 0.5 * weight[order]) / weight.sum()
    return places


def stretch(replayed: np.ndarray, brought: list[float], recent: int | None = None) -> float:
    r"""Return how much wider than its replays the interval of the next window has to be.

    Replays draw rows one by one. Windows differ by more: campaigns, seasons. A new window
    differs from the mean of the R latest by a variance of about :math:`s^2 (1 + 1/R)`. Where
    campaigns outlast a window, neighbours are alike and their plain variance says too little,
    so :math:`s^2` is the largest *semivariance*, half the mean squared difference of windows
    h apart, over all h, and no less than the variance. Where this is more than the replays
    show, it counts, with the quantile of Student's distribution that so few windows ask for.

    Parameters
    ----------
    replayed : ndarray
        What the replays brought.
    brought : list of float
        What the windows brought, oldest first.
    recent : int or None
        Windows that the replays were drawn from; None: all.

    Examples
    --------
    >>> import numpy as np
    >>> from shortlist.picking.terms.windows import stretch
    >>> replayed = np.random.default_rng(0).normal(50, 5, 400)
    >>> stretch(replayed, [50.0, 51.0, 49.0]), stretch(replayed, [20.0, 60.0, 90.0]) > 5
    (1.0, True)
    """
    n = len(brought)
    if n < 2:
        return 1.0
    values = np.asarray(brought, dtype=np.float64)
    apart = [0.5 * float(np.mean((values[h:] - values[:-h]) ** 2)) for h in range(1, n)]
    between = max(float(values.var(ddof=1)), *apart) * (1.0 + 1.0 / min(n, recent or n))
    within = float(np.var(replayed))
    if between <= within or within == 0.0:
        return 1.0
    return float(np.sqrt(between / within) * t.ppf(0.95, n - 1) / norm.ppf(0.95))


def trend(windows: tuple[Window, ...], calendar: bool, numeric: bool) -> list[str]:
    """Say in words how the lists of the past did, and whether they became better or worse.

    Examples
    --------
    >>> from shortlist.picking.terms.windows import Window, trend
    >>> week = 7 * 86400.0
    >>> made = [Window(i * week, (i + 1) * week, 1000, 100, hits, hits, 0.04)
    ...         for i, hits in enumerate((81, 75, 64))]
    >>> trend(tuple(made), calendar=True, numeric=False)
    ['Precision fell from 0.81 to 0.64 in 21 days.']
    """
    made = [window for window in windows if window.taken]
    if len(made) < 2:
        return []
    what = "The mean outcome" if numeric else "Precision"
    level = np.array([window.precision for window in made])
    length = span(made[-1].end - made[0].begin, calendar)
    place = np.arange(len(made)) - (len(made) - 1) / 2.0
    slope = float(place @ level / (place @ place))
    error = np.sqrt(sum((p * w.spread) ** 2 for p, w in zip(place, made, strict=True)))
    if abs(slope) <= _CLEAR * float(error) / float(place @ place):
        between = f"{_figure(level.min())} to {_figure(level.max())}"
        return [f"{what} was {between} in {len(made)} windows of the past, without a trend."]
    way = "fell" if slope < 0 else "rose"
    return [f"{what} {way} from {_figure(level[0])} to {_figure(level[-1])} in {length}."]


def _figure(value: float) -> str:
    return f"{value:,.2f}" if abs(value) < 100 else f"{value:,.0f}"
