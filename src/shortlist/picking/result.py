"""The result of :func:`shortlist.pick`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from .._checks import check_number
from .._cutoff import first_k
from .._scores import take_rows
from .._written import percent
from ..certificate import Certificate
from .drift.drift import Drift
from .forecast.comparison import (
    Comparison,
    ExpectedHits,
    Forecast,
    agreed,
    compare_models,
    expectation,
    forecast_hits,
    in_unit_of,
    ranking,
    through,
)
from .forecast.outlook import Outlook
from .forecast.probability import shifted
from .race.combining import HeldOut
from .race.history import as_table
from .reasons.importance import Study, find_importance
from .reasons.reasons import Reasons, find_reasons
from .reasons.subject import Subject
from .terms.plan import ExpectedGain, Plan
from .terms.windows import Window

if TYPE_CHECKING:
    from .forecast.guarantee import Guarantee

# Rows of the longest list that a report explains: each costs some hundred mixed rows to score.
_EXPLAINED = 500


@dataclass(frozen=True, eq=False, repr=False)
class Shortlist:
    r"""The k candidates to act on, and what to expect of them.

    With :math:`h_j(q)` the hits per row of fold :math:`j` when its best rows are taken up
    to the rate :math:`q = k/m` of its weight, the hits among the k of m candidates are
    expected to be

    .. math:: m \sum_j W_j h_j(q) \Bigm/ \sum_j W_j

    where the combination that takes these rows was weighed by the other folds.

    Attributes
    ----------
    k, n_candidates, n_history : int
        Budget, rows to choose from, labelled rows of positive weight.
    n_positive : float
        Weight of the positive rows of the history.
    positive_label : label
        The label that is looked for.
    selected : ndarray of shape (k,)
        Row numbers of the chosen candidates, best first; ties go to the lower number.
    scores : ndarray of shape (n_candidates,)
        Score of every candidate, higher is better.
    probability : ndarray of shape (n_candidates,) or None
        Calibrated probability of every candidate to be positive; None for numeric outcomes.
        Those of the list sum to the expected hits.
    gain : ndarray of shape (n_candidates,)
        What taking each candidate is expected to bring: its probability, or expected outcome,
        times its value, less its cost. Over the list of a label's hits that sums to the
        expected gain.
    expected_gain : ExpectedGain
        ``value``, ``low``, ``high``: what the list brings, in the unit of `value` and `cost`,
        or of a numeric `y`; the expected hits without them.
    windows : tuple of Window
        With `time`: the lists that would have been made in the past, oldest first.
    notes : list of str
        What the terms of the list did, and what is assumed.
    subject : Subject
        The candidates, for the reasons.
    study : Study
        The history and the folds, for :meth:`importance`.
    drift : Drift
        Whether the candidates are like the history (``drift.found``), what has changed
        (``drift.columns``), and whether the forecast was weighted for it or refused.
    plan : Plan
        Makes the list for any budget.
    expected_hits : ExpectedHits or None
        ``value``, ``low``, ``high``, ``confidence``: hits among the selected; None for numeric
        outcomes.
    comparison : Comparison
        The models that were compared.
    forecast : Forecast
        Expected hits for other budgets.
    model : Pipeline
        Features and :class:`TopStack`, fitted to the whole history, where 1 is the positive
        label and 0 the other. ``model[-1].weights_`` says what was combined.
    winner, baseline : str
        Name of what ranks the candidates, "combination" where several models do, and of the
        yardstick.
    verdict : str
        The comparison in words. A difference is followed by half the width of its 90 %
        interval.
    held_out_rows : HeldOut
        Row, fold, label, weight and log odds of the history's rows, by members and weights
        that did not learn from them.
    held_out : tuple of (labels, log odds, weight)
        The same, each row once.
    certificate : Certificate or None
        Of the convex problem that half of the combination's weights come from, or of the only
        model, if it has one.
    settings : dict
        What was done, as plain values, so that it can be repeated; under ``"warnings"``,
        what went wrong in which fits.
    outlook : Outlook
        The folds' results, from which :meth:`at` reads other budgets.
    guarantee : Guarantee or None
        With `precision`: what is guaranteed of this list (``length``, ``str()``), of others
        (``lengths``), and bounds for all lengths at once (``band``).
    shift : float
        Under terms other than `value` and `cost`: what was added to all calibrated log odds.

    See Also
    --------
    pick : Makes it.

    Examples
    --------
    >>> from shortlist import pick
    >>> from shortlist.datasets import load_tumours
    >>> X, y = load_tumours()
    >>> found = pick(X[:300], y[:300], X[300:], k=20, models=["PatMat"])
    >>> len(found.selected), found.at(30).k, len(found.to_frame(X[300:]).columns)
    (20, 30, 34)
    >>> found.expected_hits.low <= found.expected_hits.value <= found.expected_hits.high
    True
    """

    k: int
    n_candidates: int
    n_history: int
    n_positive: float
    positive_label: Any
    selected: np.ndarray
    scores: np.ndarray
    expected_hits: ExpectedHits | None
    comparison: Comparison
    forecast: Forecast
    model: Any
    winner: str
    baseline: str
    verdict: str
    held_out_rows: HeldOut
    certificate: Certificate | None
    settings: dict[str, Any]
    outlook: Outlook
    plan: Plan
    expected_gain: ExpectedGain
    notes: list[str]
    subject: Subject
    drift: Drift
    study: Study
    windows: tuple[Window, ...] = ()
    guarantee: Guarantee | None = None
    shift: float = 0.0

    @property
    def probability(self) -> np.ndarray | None:
        """Probability of every candidate to be positive, in their order."""
        if self.plan.terms.goal != "hits":
            return None
        return self._of_all(shifted(self.plan.probability, self.shift))

    def reasons(self, n: int = 3) -> Any:
        r"""Say why each row is on the list: the columns that move its score most.

        The score is in log odds. What the columns add sums to the distance of the row's score
        from the mean score of all candidates: the Shapley values of the columns. They are
        exact where the combination is linear; elsewhere they are sampled, with a fixed seed.

        Parameters
        ----------
        n : int, default=3
            Reasons for each row, at most.

        Returns
        -------
        pandas.DataFrame
            One row for each reason, the strongest first: ``row``, ``rank``, ``reason`` (its
            number), ``column``, ``value``, ``contribution`` (to the log odds), ``usual`` (what
            the column usually holds) and ``error`` (half the width of the 95 % interval of a
            sampled contribution).

        Examples
        --------
        >>> from shortlist import pick
        >>> from shortlist.datasets import load_tumours
        >>> X, y = load_tumours()
        >>> found = pick(X[:300], y[:300], X[300:], k=2, models=["PatMat"])
        >>> found.reasons(1)[["rank", "reason", "error"]]
           rank  reason  error
        0     1       1    0.0
        1     2       1    0.0
        """
        check_number("n", n, least=1, integer=True)
        return self.explained.to_frame(n)

    def importance(self) -> Any:
        """Say which columns the list rests on: hits that are lost when one is shuffled.

        Fits the models of weight to the folds again, so it takes about as long as their part
        of the race.

        Returns
        -------
        pandas.DataFrame
            One row for each column, the dearest first: ``column``, ``hits_lost`` of a list of
            this length, ``low`` and ``high``, the ends of the 90 % interval.
        """
        rate = self.k / self.n_candidates
        return find_importance(self.study, rate, self.n_candidates, self.settings["seed"])

    @cached_property
    def explained(self) -> Reasons:
        """What every column adds to the score of every row of the list."""
        return find_reasons(
            self.model[-1], self.subject, self.selected, self.scores, self.settings["seed"]
        )

    @property
    def gain(self) -> np.ndarray:
        """What taking each candidate is expected to bring, in their order."""
        told = shifted(self.plan.probability, self.shift)
        return self._of_all(self.plan.terms.candidates.gain(told))

    def _of_all(self, values: np.ndarray) -> np.ndarray:
        """Return values in the order of all candidates; NaN where one was not scored."""
        whole = np.full(len(self.scores), np.nan)
        whole[np.isfinite(self.scores)] = values
        return whole

    @property
    def expected(self) -> ExpectedHits | ExpectedGain:
        """What to expect of the list: hits, or the sum or mean of a numeric outcome."""
        return self.expected_gain if self.expected_hits is None else self.expected_hits

    @property
    def held_out(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Labels, log odds and weights of the rows when they were first held out."""
        rows = self.held_out_rows
        once = np.unique(rows.row, return_index=True)[1]
        return rows.positive[once].astype(int), rows.log_odds[once], rows.weight[once]

    def at(self, k: int | float) -> Shortlist:
        """Return the shortlist of the same model for another budget.

        Nothing is fitted. The model was chosen for the first budget; the comparison
        shows how all of them do at this one.

        Parameters
        ----------
        k : int or float
            Budget: a number, or a fraction in (0, 1) of the candidates, rounded up.

        Returns
        -------
        Shortlist
        """
        places = self.plan.terms.budget(k)
        left_out, chosen_for = self.comparison.left_out, self.settings["k"]
        return replace(
            self,
            **at_budget(
                places,
                self.outlook,
                self.winner,
                self.scores,
                left_out,
                chosen_for,
                self.plan,
                self.drift,
            ),
        )

    def to_frame(self, candidates: Any = None) -> Any:
        """Return the list as a pandas frame: rank, row, score.

        Parameters
        ----------
        candidates : array, sparse matrix or frame, default=None
            The rows that were passed to `pick`; their columns are added. Where one is
            called rank, row or score, the first three are prefixed with ``list_``.

        Returns
        -------
        pandas.DataFrame
            One row for each selected candidate, best first.
        """
        import pandas as pd

        columns: dict[Any, Any] = {}
        if candidates is not None:
            rows = take_rows(as_table(candidates, "candidates"), self.selected)
            if hasattr(rows, "columns"):
                columns = {name: np.asarray(rows[name]) for name in rows.columns}
            else:
                dense = rows.toarray() if sparse.issparse(rows) else rows
                columns = {f"x{j}": column for j, column in enumerate(dense.T)}
        places: dict[Any, Any] = {
            "rank": np.arange(1, len(self.selected) + 1),
            "row": self.selected,
            "score": self.scores[self.selected],
            **(
                {"expected": self.plan.probability[self.selected]}
                if self.probability is None
                else {"probability": self.probability[self.selected]}
            ),
        }
        if self.plan.terms.valued:
            places["gain"] = self.gain[self.selected]
        if places.keys() & columns.keys():
            places = {f"list_{name}": values for name, values in places.items()}
        return pd.DataFrame(places | columns)

    def plot(self, ax: Any = None) -> Any:
        """Draw the expected hits against the budget, with interval and baseline.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw.

        Returns
        -------
        matplotlib Axes
        """
        from ..display._style import BLACK, BLUE, GREY, axes_or_new, finish, legend_above

        ax = axes_or_new(ax)
        line = self.forecast
        label = f"{percent(self.expected.confidence)} interval"
        shade = {"color": BLUE, "alpha": 0.2, "linewidth": 0}
        ax.fill_between(line.budgets, line.low, line.high, label=label, **shade)
        ax.plot(line.budgets, line.hits, color=BLUE, label=self.winner)
        if self.winner != self.baseline:
            ax.plot(
                line.budgets, line.baseline_hits, color=GREY, linestyle="--", label=self.baseline
            )
        ax.axvline(self.k, color=BLACK, linewidth=0.8, linestyle=":", label=f"k = {self.k}")
        ax.set(xlim=(0, None), ylim=(0, None))
        finish(ax, "candidates taken", f"expected {self.comparison.unit}")
        legend_above(ax)
        if self.guarantee is not None:
            self._mark_guaranteed(ax)
        return ax

    def _mark_guaranteed(self, ax: Any) -> None:
        """Add the guaranteed lengths, and what one more row buys, to the picture."""
        from ..display._style import GREY

        assert self.guarantee is not None
        for place, (share, length) in enumerate(self.guarantee.lengths.items()):
            if 0 < length < self.n_candidates:
                ax.axvline(length, color=GREY, linewidth=0.6)
                ax.annotate(
                    percent(share),
                    (length, 0.02 + 0.05 * place),
                    xycoords=("data", "axes fraction"),
                    xytext=(2, 0),
                    textcoords="offset points",
                    fontsize="small",
                )
        beside = ax.twinx()
        line = self.forecast
        beside.plot(line.budgets, line.next_precision, color=GREY, linestyle=":", linewidth=1)
        beside.set(ylim=(0, 1.02), ylabel="hits per further row (dotted)")

    def report(
        self,
        path: str | PathLike[str],
        *,
        rows: Any = None,
        title: str | None = None,
        overwrite: bool = False,
    ) -> None:
        """Write the report, one self-contained HTML page.

        Parameters
        ----------
        path : path
            File to write.
        rows : frame, default=None
            The selected rows, best first, to show in the list.
        title : str, default=None
            Heading of the page.
        overwrite : bool, default=False
            Whether an existing file may be replaced.
        """
        from ..report import write_report

        reasons = self.explained if self.k <= _EXPLAINED else None
        write_report(self, path, rows=rows, title=title, overwrite=overwrite, reasons=reasons)

    def _repr_html_(self) -> str:
        from .notebook import as_html

        return as_html(self)

    def __str__(self) -> str:
        return f"{self.verdict}\n\n{self.comparison}"

    def __repr__(self) -> str:
        return (
            f"<Shortlist: {self.k} of {self.n_candidates} candidates by {self.winner}, "
            f"{self.comparison.written(self.expected.value)} {self.comparison.unit} expected>"
        )


def best_first(scores: np.ndarray, k: int) -> np.ndarray:
    """Row numbers of the `k` highest scores, best first, ties by row number."""
    chosen = np.flatnonzero(first_k(scores, k)[0])
    return chosen[np.argsort(-scores[chosen], kind="stable")]


def at_budget(
    k: int,
    outlook: Outlook,
    winner: str,
    scores: np.ndarray,
    left_out: dict[str, str],
    chosen_for: int,
    plan: Plan,
    drift: Drift,
) -> dict[str, Any]:
    """Return the attributes of a shortlist that depend on the budget."""
    numeric = plan.terms.goal != "hits"
    unit = "sum" if numeric else "hits"
    comparison = compare_models(outlook, winner, k, left_out, unit)
    forecast, expected = forecast_hits(outlook, winner, k)
    if plan.decides:
        listed = plan.at(k, drift.refused is not None)
    else:
        forecast, expected = agreed(forecast, expected, k, plan.probability, outlook.mass)
        gain = ExpectedGain(
            expected.value, expected.low, expected.high, expected.confidence, expected.value
        )
        listed = {
            "selected": best_first(scores, k),
            "expected_hits": expected,
            "expected_gain": gain,
            "notes": [plan.assumed()],
        }
    hits = listed["expected_hits"]
    if drift.refused is not None and hits is not None:
        # None of the rows may be a hit, or all of them.
        terms, chosen = plan.terms.candidates, listed["selected"]
        least, most = -terms.cost[chosen].sum(), (terms.value - terms.cost)[chosen].sum()
        listed["expected_hits"] = replace(hits, low=0.0, high=float(k))
        listed["expected_gain"] = replace(
            listed["expected_gain"], low=float(least), high=float(most)
        )
    promised = listed["expected_gain" if numeric else "expected_hits"]
    comparison = in_unit_of(comparison, promised, plan.terms.goal == "mean")
    said = [ranking(comparison, chosen_for, plan.terms.restricts)]
    if not numeric:
        forecast = through(forecast, promised, k)
        rows = len(listed["selected"])
        said = [expectation(promised, rows, drift.refused is not None), *said]
    return {
        "k": k,
        "guarantee": None,
        "shift": 0.0,
        "comparison": comparison,
        "forecast": forecast,
        "verdict": " ".join(
            [*drift.sentences(), *listed["notes"][:-1], *said, listed["notes"][-1]]
        ),
        **listed,
    }
