"""The models that :func:`shortlist.pick` compares, and the features before them."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone, is_classifier
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler
from sklearn.svm import LinearSVC

from ..top.estimators import PatMat, TopPush
from ..transductive.estimator import TransductiveTopK

BASELINE = "logistic regression"

# Rows above which a family is left out: a kernel fit grows with the square of the rows,
# the swap search with rows times candidates.
_KERNEL_ROWS = 3_000
_TRANSDUCTIVE_ROWS = 20_000


@dataclass(frozen=True)
class Model:
    """One contestant of the race.

    Attributes
    ----------
    name : str
        What the comparison calls it.
    family : str
        Contestants of a family differ in their parameters only.
    estimator : estimator
        Unfitted.
    """

    name: str
    family: str
    estimator: Any

    @property
    def is_baseline(self) -> bool:
        """Whether the others are measured against it."""
        return self.name == BASELINE

    @property
    def transductive(self) -> bool:
        """Whether it learns from the rows it will choose from."""
        return isinstance(self.estimator, TransductiveTopK)

    def strengthened(self, factor: float) -> Model:
        """Return the model for a sample: the loss of fewer rows, each counted for more."""
        if factor == 1.0 or "C" not in self.estimator.get_params(deep=False):
            return self
        estimator = clone(self.estimator)
        return replace(self, estimator=estimator.set_params(C=factor * estimator.C))


@dataclass(frozen=True)
class Task:
    """What the choice of models may depend on.

    Attributes
    ----------
    rate : float
        Budget as a share of the candidates.
    n_rows, n_candidates : int
        Rows of the history and candidates.
    sparse : bool
        Whether the features are sparse.
    streamed : bool
        Whether the candidates come in blocks.
    seed : int
        Seed of the models that draw.
    """

    rate: float
    n_rows: int
    n_candidates: int
    sparse: bool
    streamed: bool
    seed: int


def _logistic(task: Task) -> Iterator[tuple[str, Any]]:
    yield "", LogisticRegression(max_iter=1000)
    for C in (0.001, 0.01, 0.1):
        yield f"C={C:g}", LogisticRegression(C=C, max_iter=1000)


def _balanced(task: Task) -> Iterator[tuple[str, Any]]:
    for C in (0.01, 1.0):
        yield f"C={C:g}", LogisticRegression(C=C, class_weight="balanced", max_iter=1000)


def _svc(task: Task) -> Iterator[tuple[str, Any]]:
    for C in (0.001, 0.01, 0.1):
        yield f"C={C:g}", LinearSVC(C=C, dual=False, random_state=task.seed)


def _boosting(task: Task) -> Iterator[tuple[str, Any]]:
    for leaves in (4, 16):
        yield (
            f"leaves={leaves}",
            HistGradientBoostingClassifier(
                max_leaf_nodes=leaves,
                max_iter=100,
                learning_rate=0.1,
                early_stopping=False,
                random_state=task.seed,
            ),
        )


def _rates(task: Task) -> list[float]:
    """Return rates around the budget, rounded, so that names stay short."""
    return sorted({float(f"{np.clip(factor * task.rate, 1e-3, 0.5):.1g}") for factor in (1.0, 4.0)})


def _top_push(task: Task) -> Iterator[tuple[str, Any]]:
    for k in (1, *_rates(task)):
        for C in (0.001, 0.01, 0.1):
            yield f"k={k:g}, C={C:g}", TopPush(k, C=C)


def _pat_mat(task: Task) -> Iterator[tuple[str, Any]]:
    for tau in _rates(task):
        for C in (0.001, 0.01, 0.1):
            yield f"tau={tau:g}, C={C:g}", PatMat(tau, C=C)


def _top_push_rbf(task: Task) -> Iterator[tuple[str, Any]]:
    for C in (0.1, 1.0):
        yield f"k={_rates(task)[-1]:g}, C={C:g}", TopPush(_rates(task)[-1], C=C, kernel="rbf")


def _pat_mat_rbf(task: Task) -> Iterator[tuple[str, Any]]:
    for C in (0.1, 1.0):
        yield f"tau={_rates(task)[-1]:g}, C={C:g}", PatMat(_rates(task)[-1], C=C, kernel="rbf")


def _transductive(task: Task) -> Iterator[tuple[str, Any]]:
    for C in (0.01, 0.1):
        yield f"C={C:g}", TransductiveTopK(C=C, restarts=0, random_state=task.seed)


def _no_reason(task: Task) -> str | None:
    return None


def _dense_only(task: Task) -> str | None:
    return "takes dense features only" if task.sparse else None


def _few_rows(task: Task) -> str | None:
    if task.n_rows > _KERNEL_ROWS:
        return f"a kernel takes too long on {task.n_rows:,} rows (limit {_KERNEL_ROWS:,})"
    return None


def _known_candidates(task: Task) -> str | None:
    if task.streamed:
        return "needs all candidates at once, and they come in blocks"
    if task.n_rows + task.n_candidates > _TRANSDUCTIVE_ROWS:
        rows = task.n_rows + task.n_candidates
        return f"takes too long on {rows:,} rows (limit {_TRANSDUCTIVE_ROWS:,})"
    return None


Family = tuple[Callable[[Task], Iterator[tuple[str, Any]]], Callable[[Task], str | None]]

# Simple and quick ones first: of equals the first is chosen.
FAMILIES: dict[str, Family] = {
    BASELINE: (_logistic, _no_reason),
    "balanced logistic regression": (_balanced, _no_reason),
    "LinearSVC": (_svc, _no_reason),
    "TopPush": (_top_push, _no_reason),
    "PatMat": (_pat_mat, _no_reason),
    "TransductiveTopK": (_transductive, _known_candidates),
    "gradient boosting": (_boosting, _dense_only),
    "TopPush rbf": (_top_push_rbf, _few_rows),
    "PatMat rbf": (_pat_mat_rbf, _few_rows),
}


def contestants(models: Any, task: Task) -> tuple[list[Model], dict[str, str]]:
    """Models to compare, the baseline first, and the families left out with the reason.

    Parameters
    ----------
    models : "auto", list of str or dict
        All families, some of them, or a name and an estimator for each model.
    task : Task
        What the default grids depend on.
    """
    if isinstance(models, Mapping):
        own = [_own(name, estimator) for name, estimator in models.items()]
        if any(model.is_baseline for model in own):
            return sorted(own, key=lambda model: not model.is_baseline), {}
        return [_grid(BASELINE, task)[0], *own], {}
    names = list(FAMILIES) if isinstance(models, str) and models == "auto" else models
    if isinstance(names, str) or not all(name in FAMILIES for name in names) or not len(names):
        raise ValueError(
            f"models={models!r} is not understood; pass 'auto', some of "
            f"{', '.join(repr(name) for name in FAMILIES)} in a list, or a dict of names and "
            "estimators."
        )
    found = [] if BASELINE in names else [_grid(BASELINE, task)[0]]
    left_out: dict[str, str] = {}
    for family, (_, reason) in FAMILIES.items():
        if family not in names:
            continue
        why = reason(task)
        if why is None:
            found += _grid(family, task)
        else:
            left_out[family] = why
    return found, left_out


def _grid(family: str, task: Task) -> list[Model]:
    return [
        Model(_name(family, params), family, estimator)
        for params, estimator in FAMILIES[family][0](task)
    ]


def _name(family: str, params: str) -> str:
    if not params:
        return family
    return f"{family} ({params})" if " " in family else f"{family}({params})"


def _own(name: Any, estimator: Any) -> Model:
    if not isinstance(name, str) or not name:
        raise ValueError(f"models has the key {name!r}; name every model by a string.")
    scores = ["decision_function", "predict_proba"]
    able = hasattr(estimator, "fit") and hasattr(estimator, "get_params")
    if able and not is_classifier(estimator):
        scores.append("predict")
    if not able or not any(hasattr(estimator, method) for method in scores):
        raise ValueError(
            f"models[{name!r}]={estimator!r} cannot rank rows: it needs fit, and "
            "decision_function or predict_proba."
        )
    return Model(name, name, estimator)


def default_features(X: Any) -> Any:
    """Unfitted transformer for rows of this kind.

    Sparse: columns divided by their largest entry. Numbers: median imputation with
    indicators, unit variance. Tables with other columns: skrub's ``TableVectorizer`` first.
    """
    if sparse.issparse(X):
        return MaxAbsScaler()
    numbers = (
        SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True),
        StandardScaler(),
    )
    other = other_columns(X)
    if not other:
        return make_pipeline(*numbers)
    if importlib.util.find_spec("skrub") is None:
        raise ValueError(
            f"X has columns that are not numbers: {', '.join(map(repr, other[:5]))}"
            f"{', ...' if len(other) > 5 else ''}. Install skrub (pip install skrub), which turns "
            "them into features, or pass features=, a transformer of your own."
        )
    from skrub import TableVectorizer

    return make_pipeline(TableVectorizer(), *numbers)


def other_columns(X: Any) -> list[Any]:
    """Columns of a table that hold no numbers; for an array of another type, all of them."""
    if not hasattr(X, "columns"):
        return [] if X.dtype.kind in "biuf" else list(range(X.shape[1]))
    return [name for name in X.columns if not _numeric(X[name].dtype)]


def _numeric(dtype: Any) -> bool:
    kind = getattr(dtype, "kind", None)
    if kind is not None:
        return kind in "biuf"
    return bool(dtype.is_numeric()) or str(dtype) == "Boolean"
