"""Metrics as scikit-learn scorers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sklearn.metrics import make_scorer

from .names import resolve


def scorer(name: str, *, pos_label: Any = None, **params: Any) -> Callable[..., float]:
    r"""Return a scikit-learn scorer for ``scoring=`` in a search or a cross-validation.

    It scores ``metric(y, f(X))`` with :math:`f` the estimator's
    ``decision_function`` or ``predict_proba``, or ``predict`` for the metrics of
    rankers (``pairwise_accuracy``, ``ndcg``). Higher is better.

    Parameters
    ----------
    name : str
        A metric with its number, such as ``"precision_at_100"``,
        ``"recall_at_5%"``, ``"lift_at_0.01"``, ``"positives_at_top"``,
        ``"precision_at_recall_0.8"``, ``"recall_at_fpr_0.01"``,
        ``"partial_auc_0.1"``; :func:`metric_names` lists all. A count is a count
        in every fold, a percentage follows the size of the fold.
    pos_label : label, default=None
        The positive label. None means 1 (or True); text labels need it.
    **params
        Further parameters of the metric, such as ``ties="pessimistic"``.

    Returns
    -------
    callable
        ``scorer(estimator, X, y)``, made by :func:`sklearn.metrics.make_scorer`:
        it can be pickled, and takes ``sample_weight`` or ``qid`` by metadata
        routing, ``scorer(...).set_score_request(qid=True)``.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.model_selection import GridSearchCV
    >>> from shortlist.metrics import scorer
    >>> X, y = make_classification(300, weights=[0.8], random_state=0)
    >>> search = GridSearchCV(
    ...     LogisticRegression(), {"C": [0.01, 1.0]}, scoring=scorer("precision_at_10%")
    ... ).fit(X, y)
    >>> bool(0.5 < search.best_score_ <= 1)
    True
    """
    entry, named = resolve(name)
    repeated = named.keys() & params.keys()
    if repeated:
        key = repeated.pop()
        raise ValueError(f"{name!r} already sets {key}={named[key]!r}; leave out {key}=.")
    if pos_label is not None:
        params["pos_label"] = pos_label
    return make_scorer(entry.function, response_method=entry.response, **named, **params)
