"""`BudgetDisplay`: what each list length buys."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from operator import mul
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from .._checks import check_k, list_length
from ..metrics import BudgetBand, BudgetCurve, budget_band, budget_curve
from ._inputs import fold_scores, labelled_scores, model_name
from ._style import (
    BLACK,
    COLORS,
    GREY,
    MARKERS,
    axes_or_new,
    finish,
    legend_above,
    spread_marks,
)

CURVES = ("precision", "recall", "lift")
_DASHES = {"precision": "-", "recall": "--"}
_MAX_POINTS = 2000
_GID = "shortlist-budget"


class BudgetDisplay:
    r"""Precision, recall and lift against the length k of the list.

    .. math:: \mathrm{precision}(k) = h(k)/k, \quad \mathrm{recall}(k) = h(k)/n^+,
              \quad \mathrm{lift}(k) = \mathrm{precision}(k) \cdot n / n^+

    with :math:`h(k)` the expected hits among the first k. Lift is precision in
    another unit, so it needs no curve of its own: the right axis reads it off
    the precision curve.

    Parameters
    ----------
    curve : BudgetCurve
        From :func:`shortlist.metrics.budget_curve`.
    band : BudgetBand, optional
        From :func:`shortlist.metrics.budget_band`.
    k : int, optional
        The chosen list length, marked in the picture.
    name : str, optional
        Name of the model, for the legend.
    band_name : str, optional
        What the band shows, for the legend.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn.
    lines_ : dict
        The curves by name.
    bands_ : dict
        The bands by name.
    chosen_line_ : Line2D or None
        The mark of the chosen k.

    Examples
    --------
    >>> import numpy as np
    >>> from shortlist.display import BudgetDisplay
    >>> rng = np.random.default_rng(0)
    >>> y = rng.random(500) < 0.1
    >>> scores = 2 * y + rng.normal(size=500)
    >>> display = BudgetDisplay.from_predictions(y, scores, k=50, random_state=0)
    >>> round(float(display.curve.precision[49]), 2)
    0.66
    """

    def __init__(
        self,
        curve: BudgetCurve,
        *,
        band: BudgetBand | None = None,
        k: int | None = None,
        name: str | None = None,
        band_name: str | None = None,
    ) -> None:
        self.curve = curve
        self.band = band
        self.k = k
        self.name = name
        self.band_name = band_name

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike,
        *,
        k: int | float | None = None,
        confidence: float | None = 0.95,
        n_resamples: int = 500,
        random_state: Any = 0,
        sample_weight: ArrayLike | None = None,
        pos_label: Any = None,
        name: str | None = None,
        ax: Any = None,
        **plot_options: Any,
    ) -> Self:
        """Score rows with a fitted estimator and draw what each k buys.

        Parameters
        ----------
        estimator : estimator
            Fitted, with ``decision_function`` or ``predict_proba``.
        X : array-like of shape (n_samples, n_features)
            Rows it has not been fitted to.
        y : array-like of shape (n_samples,)
            Their labels.
        k : int or float, optional
            The chosen list length, a count or a fraction.
        confidence : float or None, default=0.95
            Confidence of the pointwise band; None draws none.
        n_resamples : int, default=500
            Resamples behind the band.
        random_state : int, RandomState, Generator or None, default=0
            Seed of the resampling.
        sample_weight : array-like of shape (n_samples,), optional
            Multiplicity of each row.
        pos_label : label, optional
            The class to look for; ``classes_[1]`` when not given.
        name : str, optional
            For the legend; the class name of the estimator when not given.
        ax : matplotlib Axes, optional
            Where to draw.
        **plot_options : dict
            Passed to :meth:`plot`.

        Returns
        -------
        BudgetDisplay
        """
        positive, scores = labelled_scores(estimator, X, y, pos_label)
        return cls.from_predictions(
            positive,
            scores,
            k=k,
            confidence=confidence,
            n_resamples=n_resamples,
            random_state=random_state,
            sample_weight=sample_weight,
            name=model_name(estimator) if name is None else name,
            ax=ax,
            **plot_options,
        )

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_score: ArrayLike,
        *,
        k: int | float | None = None,
        confidence: float | None = 0.95,
        n_resamples: int = 500,
        random_state: Any = 0,
        sample_weight: ArrayLike | None = None,
        pos_label: Any = None,
        name: str | None = None,
        ax: Any = None,
        **plot_options: Any,
    ) -> Self:
        """Draw what each k buys from labels and scores.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,)
            Labels.
        y_score : array-like of shape (n_samples,)
            Scores, higher is better.
        k, confidence, n_resamples, random_state, sample_weight
            As in :meth:`from_estimator`.
        pos_label : label, optional
            The positive label; 1 when not given.
        name, ax, **plot_options
            As in :meth:`from_estimator`.

        Returns
        -------
        BudgetDisplay
        """
        labels: dict[str, Any] = {"sample_weight": sample_weight, "pos_label": pos_label}
        curve = budget_curve(y_true, y_score, **labels)
        band = band_name = None
        if confidence is not None:
            band = budget_band(
                y_true,
                y_score,
                confidence=confidence,
                n_resamples=n_resamples,
                random_state=random_state,
                **labels,
            )
            band_name = f"{100 * confidence:g} % interval"
        chosen = _chosen(k, float(curve.k[-1]))
        display = cls(curve, band=band, k=chosen, name=name, band_name=band_name)
        return display.plot(ax=ax, **plot_options)

    @classmethod
    def from_cv_results(
        cls,
        cv_results: Mapping[str, Any],
        X: Any,
        y: ArrayLike,
        *,
        k: int | float | None = None,
        pos_label: Any = None,
        name: str | None = None,
        ax: Any = None,
        **plot_options: Any,
    ) -> Self:
        """Draw the mean over the folds, with their range as the band.

        Parameters
        ----------
        cv_results : dict
            From ``cross_validate(..., return_estimator=True, return_indices=True)``.
        X : array-like of shape (n_samples, n_features)
            The rows that were cross-validated.
        y : array-like of shape (n_samples,)
            Their labels.
        k : int or float, optional
            The chosen list length within one fold, a count or a fraction.
        pos_label, name, ax, **plot_options
            As in :meth:`from_estimator`.

        Returns
        -------
        BudgetDisplay
            The curves reach as far as the smallest fold.
        """
        folds = fold_scores(cv_results, X, y, pos_label)
        curves = [budget_curve(positive, scores) for positive, scores in folds]
        n = min(len(curve.k) for curve in curves)
        stack = {
            part: np.array([getattr(curve, part)[:n] for curve in curves])
            for part in ("precision", "recall", "lift", "hits")
        }
        mean = BudgetCurve(curves[0].k[:n], **{p: v.mean(axis=0) for p, v in stack.items()})
        ends = {
            f"{part}_{end}": reach(stack[part], axis=0)
            for part in ("precision", "recall")
            for end, reach in (("low", np.min), ("high", np.max))
        }
        display = cls(
            mean,
            band=BudgetBand(mean.k, confidence=np.nan, **ends),
            k=_chosen(k, n),
            name=model_name(cv_results["estimator"][0]) if name is None else name,
            band_name=f"range over {len(folds)} folds",
        )
        return display.plot(ax=ax, **plot_options)

    def plot(
        self, ax: Any = None, *, curves: Sequence[str] = CURVES, name: str | None = None
    ) -> Self:
        """Draw the curves.

        Draw several displays on the same axes to compare models; each line gets
        the next colour and marker, and the dash tells precision from recall.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw.
        curves : sequence of {"precision", "recall", "lift"}
            What to draw. "lift" adds the right axis to the precision curve.
        name : str, optional
            For the legend, instead of the stored name.

        Returns
        -------
        BudgetDisplay
        """
        unknown = [curve for curve in curves if curve not in CURVES]
        if unknown or len(curves) == 0:
            raise ValueError(f"curves={curves!r}: choose some of {', '.join(CURVES)}.")
        ax = axes_or_new(ax, figsize=(6.4, 4.2))
        title = self.name if name is None else name
        prefix = f"{title}: " if title else ""
        lift = "lift" in curves and np.isfinite(self.curve.lift[-1])
        drawn = [c for c in ("precision", "recall") if c in curves or (c == "precision" and lift)]
        self.lines_: dict[str, Any] = {}
        self.bands_: dict[str, Any] = {}
        for curve in drawn:
            text = "precision, lift" if curve == "precision" and lift else curve
            self._draw(ax, curve, prefix + text)
        alone = len(drawn) == sum(line.get_gid() == _GID for line in ax.lines)
        self.chosen_line_ = (
            None if self.k is None else self._mark(ax, self.k, drawn, "" if alone else prefix)
        )
        ax.set_xscale("log")
        ax.xaxis.set_major_formatter("{x:,.0f}")
        ax.set_xlim(left=float(self.curve.k[0]))
        ax.set_ylim(0, 1.02)
        finish(ax, "length of the list, k", ", ".join(drawn))
        if lift:
            self._lift_axis(ax)
        legend_above(ax)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _draw(self, ax: Any, curve: str, label: str) -> None:
        number = sum(line.get_gid() == _GID for line in ax.lines)
        color = COLORS[number % len(COLORS)]
        rows = _thin(len(self.curve.k))
        k = self.curve.k[rows]
        if self.band is not None:
            low, high = (getattr(self.band, f"{curve}_{end}") for end in ("low", "high"))
            first = number == 0 and self.band_name
            self.bands_[curve] = ax.fill_between(
                self.band.k,
                low,
                high,
                color=color,
                alpha=0.18,
                linewidth=0,
                label=self.band_name if first else None,
            )
        (self.lines_[curve],) = ax.plot(
            k,
            getattr(self.curve, curve)[rows],
            color=color,
            linestyle=_DASHES[curve],
            marker=MARKERS[number % len(MARKERS)],
            markevery=spread_marks(k, "log", shift=number),
            markersize=5,
            linewidth=1.6,
            label=label,
            gid=_GID,
        )

    def _mark(self, ax: Any, k: int, drawn: list[str], prefix: str) -> Any:
        row = min(int(np.searchsorted(self.curve.k, k)), len(self.curve.k) - 1)
        values = []
        for curve in drawn:
            value = float(getattr(self.curve, curve)[row])
            values.append(f"{curve} {value:.2f}")
            ax.plot(k, value, "o", markersize=9, markerfacecolor="none", color=BLACK)
        return ax.axvline(
            k,
            color=GREY,
            linestyle=":",
            linewidth=1.4,
            label=f"{prefix}k = {k:g}: " + ", ".join(values),
        )

    def _lift_axis(self, ax: Any) -> None:
        if any(child.get_label() == "lift" for child in ax.child_axes):
            return
        per_precision = float(self.curve.lift[-1] / self.curve.precision[-1])
        right = ax.secondary_yaxis(
            "right", functions=(partial(mul, per_precision), partial(mul, 1 / per_precision))
        )
        right.set_label("lift")
        right.set_ylabel("lift")


def _chosen(k: int | float | None, total: float) -> int | None:
    return None if k is None else int(min(list_length(check_k(k), total, whole=True), total))


def _thin(n: int) -> np.ndarray:
    """Enough rows to look complete on a logarithmic axis."""
    if n <= _MAX_POINTS:
        return np.arange(n)
    return np.unique(np.geomspace(1, n, _MAX_POINTS).astype(int)) - 1
