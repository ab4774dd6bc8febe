"""`TopListDisplay`: the first k of each model, mark by mark."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from .._checks import check_k, list_length
from ..metrics import budget_curve
from ._inputs import fold_scores, labelled_scores, named_models
from ._style import BLUE, ORANGE, axes_or_new, legend_above, pyplot

_UP, _DOWN = 0.42, 0.22


class TopListDisplay:
    r"""Hits and misses by rank, one line of marks per model.

    A hit stands above the line, a miss hangs below it, so the picture reads
    without colour. Rank r of a model carries the expected hit

    .. math:: p_r = h(r) - h(r - 1)

    of :func:`shortlist.metrics.budget_curve`: 1 or 0 without ties; inside a rung
    of equal scores, where the order is arbitrary, its share of positives,
    drawn as a mark that is partly above and partly below.

    Parameters
    ----------
    hits : dict of str to ndarray of shape (k,)
        The expected hit at each rank, per model.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn.
    marks_ : dict
        Per model the hit marks and the miss marks.

    Examples
    --------
    >>> from shortlist.display import TopListDisplay
    >>> display = TopListDisplay.from_predictions(
    ...     [1, 0, 1, 0], {"good": [4, 1, 3, 2], "flat": [0, 0, 0, 0]}, k=2
    ... )
    >>> display.hits["good"].tolist(), display.hits["flat"].tolist()
    ([1.0, 1.0], [0.5, 0.5])
    """

    def __init__(self, hits: Mapping[str, np.ndarray]) -> None:
        self.hits = dict(hits)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike,
        *,
        k: int | float = 50,
        pos_label: Any = None,
        ax: Any = None,
    ) -> Self:
        """Rank rows with one or several fitted estimators and draw their first k.

        Parameters
        ----------
        estimator : estimator or dict of str to estimator
            Fitted, with ``decision_function`` or ``predict_proba``.
        X : array-like of shape (n_samples, n_features)
            Rows they have not been fitted to.
        y : array-like of shape (n_samples,)
            Their labels.
        k : int or float, default=50
            How many ranks to show, a count or a fraction.
        pos_label : label, optional
            The class to look for; ``classes_[1]`` when not given.
        ax : matplotlib Axes, optional
            Where to draw.

        Returns
        -------
        TopListDisplay
        """
        models = named_models(estimator)
        pairs = {n: labelled_scores(model, X, y, pos_label) for n, model in models.items()}
        return cls._from_pairs(pairs, k, ax)

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_score: ArrayLike | Mapping[str, ArrayLike],
        *,
        k: int | float = 50,
        pos_label: Any = None,
        ax: Any = None,
    ) -> Self:
        """Draw the first k from labels and one or several scorings.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,)
            Labels.
        y_score : array-like of shape (n_samples,) or dict of str to array-like
            Scores, higher is better.
        k : int or float, default=50
            How many ranks to show, a count or a fraction.
        pos_label : label, optional
            The positive label; 1 when not given.
        ax : matplotlib Axes, optional
            Where to draw.

        Returns
        -------
        TopListDisplay
        """
        scorings = dict(y_score) if isinstance(y_score, Mapping) else {"": y_score}
        pairs = {name: (y_true, scores) for name, scores in scorings.items()}
        return cls._from_pairs(pairs, k, ax, pos_label)

    @classmethod
    def from_cv_results(
        cls,
        cv_results: Mapping[str, Any],
        X: Any,
        y: ArrayLike,
        *,
        k: int | float = 50,
        pos_label: Any = None,
        ax: Any = None,
    ) -> Self:
        """Draw the first k of every fold under each other.

        Parameters
        ----------
        cv_results : dict
            From ``cross_validate(..., return_estimator=True, return_indices=True)``.
        X : array-like of shape (n_samples, n_features)
            The rows that were cross-validated.
        y : array-like of shape (n_samples,)
            Their labels.
        k : int or float, default=50
            How many ranks of each fold to show, a count or a fraction.
        pos_label, ax
            As in :meth:`from_estimator`.

        Returns
        -------
        TopListDisplay
        """
        folds = fold_scores(cv_results, X, y, pos_label)
        return cls._from_pairs({f"fold {i}": pair for i, pair in enumerate(folds, 1)}, k, ax)

    @classmethod
    def _from_pairs(
        cls, pairs: Mapping[str, Any], k: int | float, ax: Any, pos_label: Any = None
    ) -> Self:
        hits = {}
        for name, (y_true, y_score) in pairs.items():
            found = budget_curve(y_true, y_score, pos_label=pos_label).hits
            length = int(list_length(check_k(k), len(found), whole=True))
            hits[name] = np.diff(found[:length], prepend=0.0)
        return cls(hits).plot(ax=ax)

    def plot(self, ax: Any = None, *, hit_color: str = BLUE, miss_color: str = ORANGE) -> Self:
        """Draw the marks.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw.
        hit_color, miss_color : str
            Colours of the marks.

        Returns
        -------
        TopListDisplay
        """
        longest = max(len(values) for values in self.hits.values())
        ax = axes_or_new(ax, figsize=(7.2, 0.95 + 0.5 * len(self.hits)))
        self.marks_ = {}
        for place, (name, values) in enumerate(self.hits.items()):
            ax.plot([0.4, len(values) + 0.6], [place, place], color="0.6", linewidth=0.7)
            up = _bars(ax, values * -_UP, place, hit_color)
            down = _bars(ax, (1 - values) * _DOWN, place, miss_color)
            self.marks_[name] = (up, down)
            ax.annotate(
                f"{values.sum():.3g} of {len(values)}",
                (1, place),
                xycoords=("axes fraction", "data"),
                xytext=(6, 0),
                textcoords="offset points",
                va="center",
                fontsize="small",
                annotation_clip=False,
            )
        ax.set_xlim(0.4, longest + 0.6)
        ax.set_ylim(len(self.hits) - 0.5, -0.6)
        ax.set_yticks(range(len(self.hits)), list(self.hits))
        ax.tick_params(axis="y", length=0)
        ax.spines[["top", "right", "left"]].set_visible(False)
        ax.set_xlabel("rank")
        hit, miss = (pyplot().Rectangle((0, 0), 1, 1, color=c) for c in (hit_color, miss_color))
        legend_above(
            ax,
            handles=[hit, miss],
            labels=["hit, above the line", "miss, below"],
            ncols=2,
            handlelength=0.8,
            handleheight=0.8,
        )
        self.ax_, self.figure_ = ax, ax.figure
        return self


def _bars(ax: Any, heights: np.ndarray, place: int, color: str) -> Any:
    """Draw one bar per rank, all in one collection; bars of no height are left out."""
    from matplotlib.collections import PolyCollection

    shown = np.flatnonzero(heights)
    left, right = shown + 1 - 0.4, shown + 1 + 0.4
    base, end = np.full(len(shown), float(place)), place + heights[shown]
    corners = [(left, base), (left, end), (right, end), (right, base)]
    verts = np.stack([np.stack(corner, axis=-1) for corner in corners], axis=1)
    return ax.add_collection(PolyCollection(list(verts), facecolor=color, linewidth=0))
