"""`ScoreDensityDisplay`: where the scores of both classes lie."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from .._density import class_densities
from .._scores import margins_of
from ..metrics._sample import check_positive, check_score
from ._inputs import fold_scores, labelled_scores
from ._style import BLACK, BLUE, ORANGE, axes_or_new, finish, legend_above


class ScoreDensityDisplay:
    r"""Densities of the scores of positives and negatives, with the threshold.

    Each class has its own Gaussian kernel estimate with Silverman's width,

    .. math:: \hat f(x) = \frac{1}{n h} \sum_i \varphi\Big(\frac{x - s_i}{h}\Big),
              \quad h = 0.9 \min(\sigma, \mathrm{IQR} / 1.34)\, n^{-1/5},

    computed on a grid from binned scores, so ten million scores take a second.
    Both areas are 1: a rare class is as visible as a common one.

    Parameters
    ----------
    grid : ndarray
        Scores at which the densities are known.
    positive, negative : ndarray
        The densities.
    threshold : float, optional
        Where the list is cut.
    recall, fpr : float, optional
        Shares of the positives and of the negatives above the threshold.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn.
    positive_line_, negative_line_ : Line2D
        The densities.
    threshold_line_ : Line2D or None
        The threshold.

    Examples
    --------
    >>> import numpy as np
    >>> from shortlist.display import ScoreDensityDisplay
    >>> rng = np.random.default_rng(0)
    >>> y = rng.random(500) < 0.1
    >>> display = ScoreDensityDisplay.from_predictions(y, 2 * y + rng.normal(size=500), threshold=2)
    >>> bool(display.recall > 10 * display.fpr)
    True
    """

    def __init__(
        self,
        grid: np.ndarray,
        positive: np.ndarray,
        negative: np.ndarray,
        *,
        threshold: float | None = None,
        recall: float | None = None,
        fpr: float | None = None,
    ) -> None:
        self.grid = grid
        self.positive = positive
        self.negative = negative
        self.threshold = threshold
        self.recall = recall
        self.fpr = fpr

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike,
        *,
        threshold: float | str | None = "auto",
        pos_label: Any = None,
        ax: Any = None,
        **plot_options: Any,
    ) -> Self:
        """Score rows with a fitted estimator and draw the densities.

        Parameters
        ----------
        estimator : estimator
            Fitted, with ``decision_function`` or ``predict_proba``.
        X : array-like of shape (n_samples, n_features)
            Rows it has not been fitted to.
        y : array-like of shape (n_samples,)
            Their labels.
        threshold : float, "auto" or None, default="auto"
            Where the list is cut. "auto" asks ``predict``: 0 for a decision
            function and 0.5 for probabilities where that is what it does,
            otherwise midway between the last row taken and the first left out.
        pos_label : label, optional
            The class to look for; ``classes_[1]`` when not given.
        ax : matplotlib Axes, optional
            Where to draw.
        **plot_options : dict
            Passed to :meth:`plot`.

        Returns
        -------
        ScoreDensityDisplay
        """
        positive, scores = labelled_scores(estimator, X, y, pos_label)
        if not isinstance(threshold, str):
            return cls._compute(positive, scores, threshold).plot(ax=ax, **plot_options)
        if threshold != "auto":
            raise ValueError(f"threshold={threshold!r}: give a number, 'auto' or None.")
        label = estimator.classes_[-1] if pos_label is None else pos_label
        taken = np.asarray(estimator.predict(X) == label)
        usual = 0.5 if margins_of(estimator) is None else 0.0
        cut = _cut_of_predict(scores, taken, usual)
        return cls._compute(positive, scores, cut, taken).plot(ax=ax, **plot_options)

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_score: ArrayLike,
        *,
        threshold: float | None = None,
        pos_label: Any = None,
        ax: Any = None,
        **plot_options: Any,
    ) -> Self:
        """Draw the densities from labels and scores.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,)
            Labels of both classes.
        y_score : array-like of shape (n_samples,)
            Scores, higher is better.
        threshold : float, optional
            Where the list is cut.
        pos_label : label, optional
            The positive label; 1 when not given.
        ax : matplotlib Axes, optional
            Where to draw.
        **plot_options : dict
            Passed to :meth:`plot`.

        Returns
        -------
        ScoreDensityDisplay
        """
        positive, scores = check_positive(y_true, pos_label), check_score(y_score).astype(float)
        return cls._compute(positive, scores, threshold).plot(ax=ax, **plot_options)

    @classmethod
    def from_cv_results(
        cls,
        cv_results: Mapping[str, Any],
        X: Any,
        y: ArrayLike,
        *,
        threshold: float | None = None,
        pos_label: Any = None,
        ax: Any = None,
        **plot_options: Any,
    ) -> Self:
        """Draw the densities of the test scores of all folds together.

        Parameters
        ----------
        cv_results : dict
            From ``cross_validate(..., return_estimator=True, return_indices=True)``.
        X : array-like of shape (n_samples, n_features)
            The rows that were cross-validated.
        y : array-like of shape (n_samples,)
            Their labels.
        threshold : float, optional
            Where the list is cut.
        pos_label, ax, **plot_options
            As in :meth:`from_estimator`.

        Returns
        -------
        ScoreDensityDisplay
        """
        folds = fold_scores(cv_results, X, y, pos_label)
        positive, scores = (np.concatenate(part) for part in zip(*folds, strict=True))
        return cls.from_predictions(positive, scores, threshold=threshold, ax=ax, **plot_options)

    @classmethod
    def _compute(
        cls,
        positive: np.ndarray,
        scores: np.ndarray,
        threshold: float | None,
        taken: np.ndarray | None = None,
    ) -> Self:
        if positive.all() or not positive.any():
            raise ValueError(
                f"y_true holds no {'negatives' if positive.all() else 'positives'}; give rows of "
                "both classes to compare their scores."
            )
        grid, *densities = class_densities(positive, scores)
        if threshold is None:
            return cls(grid, *densities)
        if taken is None:
            taken = scores > threshold
        return cls(
            grid,
            *densities,
            threshold=float(threshold),
            recall=float(taken[positive].mean()),
            fpr=float(taken[~positive].mean()),
        )

    def plot(self, ax: Any = None, *, name: str | None = None) -> Self:
        """Draw the densities.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw.
        name : str, optional
            Title of the legend.

        Returns
        -------
        ScoreDensityDisplay
        """
        ax = axes_or_new(ax, figsize=(6.4, 3.6))
        looks = (
            ("negative", ORANGE, "--", "////", self.fpr),
            ("positive", BLUE, "-", None, self.recall),
        )
        for side, color, dash, hatch, share in looks:
            density = getattr(self, side)
            above = "" if share is None else f", {100 * share:.3g} % above"
            ax.fill_between(
                self.grid,
                density,
                facecolor="none" if hatch else color,
                edgecolor=color,
                alpha=0.45 if hatch else 0.25,
                hatch=hatch,
                linewidth=0,
            )
            (line,) = ax.plot(
                self.grid,
                density,
                color=color,
                linestyle=dash,
                linewidth=1.6,
                label=f"{side}s{above}",
            )
            setattr(self, f"{side}_line_", line)
        self.threshold_line_ = None
        if self.threshold is not None:
            self.threshold_line_ = ax.axvline(
                self.threshold,
                color=BLACK,
                linewidth=1.4,
                label=f"threshold {self.threshold:.3g}",
            )
        ax.set_ylim(bottom=0)
        finish(ax, "score", "density")
        legend_above(ax, name)
        self.ax_, self.figure_ = ax, ax.figure
        return self


def _cut_of_predict(scores: np.ndarray, taken: np.ndarray, usual: float) -> float | None:
    """Find the threshold that separates the predicted classes on these rows."""
    if np.array_equal(taken, scores > usual):
        return usual
    if taken.all() or not taken.any():
        return None
    return float(0.5 * scores[taken].min() + 0.5 * scores[~taken].max())
