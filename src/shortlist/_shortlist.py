"""The result of :func:`shortlist.pick`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from os import PathLike
from typing import Any

import numpy as np

from ._choice import CONFIDENCE, Evidence, Outlook
from ._history import check_budget
from ._scores import take_rows
from .certificate import Certificate


@dataclass(frozen=True)
class ExpectedHits:
    """How many of the list are expected to be positive.

    Attributes
    ----------
    value : float
        Expected number.
    low, high : float
        Ends of the interval that holds the actual number with probability `confidence`.
    confidence : float
        That probability.
    """

    value: float
    low: float
    high: float
    confidence: float


@dataclass(frozen=True)
class Entry:
    """One model of the comparison.

    Attributes
    ----------
    name, family : str
        The model, with and without its parameters.
    hits : float
        Expected hits among the k candidates.
    low, high : float
        Ends of the interval of the hits.
    difference : float
        Hits more than the baseline, on the folds both have run.
    difference_error : float
        Half the width of the interval of the difference: noise alone stays below it.
    is_baseline, is_winner : bool
        Its part in the comparison.
    fits : int
        Folds it has run; those with fewer than the winner left the race early.
    seconds : float
        Time of its fits.
    """

    name: str
    family: str
    hits: float
    low: float
    high: float
    difference: float
    difference_error: float
    is_baseline: bool
    is_winner: bool
    fits: int
    seconds: float


@dataclass(frozen=True)
class Comparison:
    """The models that were compared, best first; those that left early come last.

    Attributes
    ----------
    entries : tuple of Entry
        One for each model.
    k : int
        The budget.
    left_out : dict
        Families that were not tried, with the reason.
    """

    entries: tuple[Entry, ...]
    k: int
    left_out: dict[str, str]

    def __len__(self) -> int:
        return len(self.entries)

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries)

    def __getitem__(self, index: int) -> Entry:
        return self.entries[index]

    def to_frame(self) -> Any:
        """Return a pandas frame, one row for each model."""
        import pandas as pd

        return pd.DataFrame([vars(entry) for entry in self.entries])

    def __str__(self) -> str:
        head = ("model", f"hits of {self.k}", f"{CONFIDENCE:.0%} interval", "to baseline", "folds")
        rows = [head]
        for e in self.entries:
            mark = " *" if e.is_winner else ""
            gain = "baseline" if e.is_baseline else f"{e.difference:+.1f} ± {e.difference_error:.1f}"
            rows.append(
                (e.name + mark, f"{e.hits:.1f}", f"{e.low:.0f} to {e.high:.0f}", gain, str(e.fits))
            )
        width = [max(len(row[column]) for row in rows) for column in range(len(head))]
        lines = [
            "  ".join(
                cell.ljust(w) if column == 0 else cell.rjust(w)
                for column, (cell, w) in enumerate(zip(row, width, strict=True))
            ).rstrip()
            for row in rows
        ]
        lines += [f"not tried: {name}: {why}" for name, why in self.left_out.items()]
        return "\n".join(lines)


@dataclass(frozen=True, eq=False)
class Forecast:
    """Expected hits for every budget.

    Attributes
    ----------
    budgets : ndarray of int
        Increasing, from 1 to the number of candidates.
    hits, low, high : ndarray
        Expected hits of the chosen model, and the ends of their interval.
    baseline_hits : ndarray
        Expected hits of the baseline.
    """

    budgets: np.ndarray
    hits: np.ndarray
    low: np.ndarray
    high: np.ndarray
    baseline_hits: np.ndarray

    @property
    def precision(self) -> np.ndarray:
        """Expected hits divided by the budget."""
        return self.hits / self.budgets


@dataclass(frozen=True, eq=False)
class Shortlist:
    """The k candidates to act on, and what to expect of them.

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
    expected_hits : ExpectedHits
        Hits among the selected, with an interval.
    comparison : Comparison
        The models that were compared.
    forecast : Forecast
        Expected hits for other budgets.
    model : Pipeline
        Features and winner, fitted to the whole history, where 1 is the positive label
        and 0 the other.
    winner, baseline : str
        Names of the chosen model and of the one it had to beat.
    verdict : str
        The comparison in words.
    held_out : tuple of (labels, scores, weight)
        Rows of the history with the winner's scores from the fold that did not see them:
        scores of a fold in units of their standard deviation, zero at the fold's cut, so
        that folds can be drawn together.
    certificate : Certificate or None
        Of the winner, if it has one.
    settings : dict
        What was done, as plain values, so that it can be repeated.
    """

    k: int
    n_candidates: int
    n_history: int
    n_positive: float
    positive_label: Any
    selected: np.ndarray
    scores: np.ndarray
    expected_hits: ExpectedHits
    comparison: Comparison
    forecast: Forecast
    model: Any
    winner: str
    baseline: str
    verdict: str
    held_out: tuple[np.ndarray, np.ndarray, np.ndarray]
    certificate: Certificate | None
    settings: dict[str, Any]
    _evidence: tuple[Evidence, ...]
    _outlook: Outlook

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
        places = check_budget(k, self.n_candidates)
        return replace(
            self, **_at_budget(
                places, self.scores, self._evidence, self._outlook, self.winner,
                self.comparison.left_out,
            )
        )  # fmt: skip

    def to_frame(self, candidates: Any = None) -> Any:
        """Return the list as a pandas frame: rank, row, score.

        Parameters
        ----------
        candidates : array or frame, default=None
            The rows that were passed to `pick`; their columns are added.
        """
        import pandas as pd

        frame = pd.DataFrame(
            {
                "rank": np.arange(1, self.k + 1),
                "row": self.selected,
                "score": self.scores[self.selected],
            }
        )
        if candidates is None:
            return frame
        rows = take_rows(candidates, self.selected)
        names = getattr(rows, "columns", None)
        columns = (
            {name: np.asarray(rows[name]) for name in names}
            if names is not None
            else {f"x{j}": column for j, column in enumerate(np.asarray(rows).T)}
        )
        return pd.concat([frame, pd.DataFrame(columns)], axis=1)

    def plot(self, ax: Any = None) -> Any:
        """Draw the forecast with its interval, the baseline and the budget.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw.

        Returns
        -------
        matplotlib Axes
        """
        from .display._style import BLACK, COLORS, GREY, axes_or_new

        ax = axes_or_new(ax)
        f = self.forecast
        ax.fill_between(
            f.budgets, f.low, f.high, color=COLORS[0], alpha=0.2, linewidth=0,
            label=f"{self.expected_hits.confidence:.0%} interval",
        )  # fmt: skip
        ax.plot(f.budgets, f.hits, color=COLORS[0], label=self.winner)
        if self.winner != self.baseline:
            ax.plot(f.budgets, f.baseline_hits, color=GREY, linestyle="--", label=self.baseline)
        ax.axvline(self.k, color=BLACK, linewidth=0.8, linestyle=":")
        ax.set(xlabel="budget k", ylabel="expected hits")
        ax.legend()
        return ax

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
        from .report import write_report

        write_report(self, path, rows=rows, title=title, overwrite=overwrite)

    def __str__(self) -> str:
        return f"{self.verdict}\n\n{self.comparison}"


def best_first(scores: np.ndarray, k: int) -> np.ndarray:
    """Row numbers of the `k` highest scores, best first, ties by row number."""
    return np.argsort(-scores, kind="stable")[:k]


def _at_budget(
    k: int,
    scores: np.ndarray,
    evidence: tuple[Evidence, ...],
    outlook: Outlook,
    winner: str,
    left_out: dict[str, str],
) -> dict[str, Any]:
    """Everything in a shortlist that depends on the budget."""
    chosen = next(model for model in evidence if model.name == winner)
    baseline = evidence[0]
    full = len(outlook.fold_weight)
    entries = []
    for model in evidence:
        hits, low, high = outlook.hits(model, k)
        difference, error = outlook.difference(model, baseline, k)
        entries.append(
            Entry(
                model.name, model.family, hits, low, high, difference, error,
                model is baseline, model is chosen, len(model.folds), model.seconds,
            )
        )  # fmt: skip
    entries.sort(key=lambda entry: (-(entry.fits == full), -entry.hits))
    m = outlook.n_candidates
    budgets = np.unique(np.append(np.geomspace(1, m, min(m, 199)).round().astype(int), k))
    along = np.array([outlook.hits(chosen, int(b), outlook.shrink) for b in budgets])
    base = np.array([outlook.hits(baseline, int(b))[0] for b in budgets])
    value, low, high = along[np.searchsorted(budgets, k)]
    expected = ExpectedHits(float(value), float(low), float(high), CONFIDENCE)
    comparison = Comparison(tuple(entries), k, left_out)
    return {
        "k": k,
        "selected": best_first(scores, k),
        "expected_hits": expected,
        "comparison": comparison,
        "forecast": Forecast(budgets, *along.T, base),
        "verdict": _verdict(comparison, expected),
    }


def _verdict(comparison: Comparison, expected: ExpectedHits) -> str:
    winner = next(entry for entry in comparison if entry.is_winner)
    baseline = next(entry for entry in comparison if entry.is_baseline)
    k = comparison.k
    if winner is not baseline:
        text = (
            f"{winner.name} finds {winner.hits:.0f} of {k}, {baseline.name} {baseline.hits:.0f}; "
            f"difference {winner.difference:.0f} ± {winner.difference_error:.0f}."
        )
    else:
        rivals = [e for e in comparison if e is not baseline and e.fits == baseline.fits]
        text = f"{baseline.name} finds {baseline.hits:.0f} of {k}"
        if rivals:
            rival = rivals[0]
            text += (
                f"; nothing beats it beyond noise. Nearest is {rival.name} with {rival.hits:.0f}; "
                f"difference {rival.difference:.0f} ± {rival.difference_error:.0f}"
            )
        text += "."
    return (
        f"{text} Expect {expected.value:.0f} hits, {expected.low:.0f} to {expected.high:.0f} "
        f"with {expected.confidence:.0%} probability."
    )
