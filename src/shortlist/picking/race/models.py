"""The models that :func:`shortlist.pick` combines, each with its own features before it.

A contestant is a whole estimator on rows of numbers: trees take them as they are, missing
values included; linear and kernel models impute and scale first, and some of them see ranks in
place of numbers, or weighed words. What comes before all of them, turning a table into numbers,
is :func:`default_features`.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone, is_classifier
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.impute import SimpleImputer
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, QuantileTransformer, StandardScaler
from sklearn.svm import SVC

from ...top.estimators import PatMat
from ..texts import encoded

BASELINE = "logistic regression"
EFFORTS = ("quick", "normal", "thorough")

# A history of more rows is long: a heat on few of its rows chooses who races.
LONG = {"quick": 6_000, "normal": 6_000, "thorough": 20_000}
# Folds that are visited then, at least; None: all.
_FOLDS = {"quick": 1, "normal": 2, "thorough": None}
# Rows of the history that race; more say little more.
RACE_ROWS = 100_000
# A kernel fit grows with the square of the rows: beyond so many, a few components of the
# kernel's features stand in for it, where the rows are dense.
_KERNEL_ROWS = 10_000
_COMPONENTS = 200
# Where a history has more rows than the first, each tree of a forest draws the second of them,
# anew and with replacement, which is why the first is larger.
_TREE_ROWS = {"quick": (15_000, 10_000), "normal": (15_000, 10_000), "thorough": (20_000, 20_000)}
_FORESTS = (
    RandomForestClassifier,
    ExtraTreesClassifier,
    RandomForestRegressor,
    ExtraTreesRegressor,
)
# All trees of a forest together see about as many rows: its size on disk grows with them.
_FOREST_ROWS = 1_500_000
_FEWEST_TREES = 100
# Steps from a column's numbers to ranks.
_QUANTILES = 200
# Trees in the folds, and in the model that ranks the candidates.
_FOLD_TREES = {"quick": 100, "normal": 100, "thorough": 300}
_HURRIED_TREES = 60
_FINAL_TREES = {"quick": 200, "normal": 500, "thorough": 1000}


@dataclass(frozen=True)
class Model:
    """One contestant.

    Attributes
    ----------
    name : str
        What the comparison calls it.
    family : str
        Contestants of a family differ in their parameters only.
    estimator : estimator
        Unfitted; for the folds.
    final : estimator
        The same for the whole history: forests grow more trees.
    is_baseline : bool
        Whether the others are measured against it.
    tree_rows : int or None
        Rows that each tree of a forest draws; None: it sees all, or this is no forest of ours.
    """

    name: str
    family: str
    estimator: Any
    final: Any
    is_baseline: bool = False
    tree_rows: int | None = None

    def for_rows(self, n_rows: int, final: bool = False) -> Any:
        """Return the estimator for so many rows to learn from."""
        estimator = self.final if final else self.estimator
        if self.tree_rows is None or n_rows <= self.tree_rows:
            return estimator
        return clone(estimator).set_params(bootstrap=True, max_samples=self.tree_rows / n_rows)


@dataclass(frozen=True)
class Task:
    """What the choice of models may depend on.

    Attributes
    ----------
    rate : float
        Budget as a share of the candidates.
    n_rows : int
        Rows of the history.
    sparse : bool
        Whether the features are sparse.
    kind : "bits", "counts" or None
        What the features hold, where it suggests a kernel.
    effort : "quick", "normal" or "thorough"
        How many settings compete.
    seed : int
        Seed of the models that draw.
    """

    rate: float
    n_rows: int
    sparse: bool
    kind: str | None
    effort: str
    seed: int

    @property
    def quick(self) -> bool:
        """Whether one setting of a family has to do."""
        return self.effort == "quick"

    @property
    def long(self) -> bool:
        """Whether a heat chooses who races."""
        return self.n_rows > LONG[self.effort]

    @property
    def folds(self) -> int | None:
        """Folds to visit, at least; None: all."""
        return _FOLDS[self.effort] if self.long else None

    @property
    def hurried(self) -> bool:
        """Whether a long history is to be raced quickly."""
        return self.folds is not None

    def some(self, settings: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the settings of a family that compete.

        There are few: more of them are more chances to be taken by luck, and cost hits.
        """
        return settings[:1] if self.quick else settings

    @property
    def tau(self) -> float:
        """Part of the list that Pat&Mat looks at: wide, because a short one is noisy."""
        return float(np.clip(self.rate, 0.1, 0.5))

    def scaled(self, estimator: Any) -> Any:
        """Put imputation and scaling before an estimator."""
        if self.sparse:
            return make_pipeline(MaxAbsScaler(), estimator)
        impute = SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True)
        return make_pipeline(impute, StandardScaler(), estimator)

    def ranked(self, estimator: Any, shape: str = "uniform") -> Any:
        """Put imputation and ranks among the history's rows before an estimator; dense rows.

        No value is far away then, and a linear model bends: half of a skewed column's rows
        are half of its range.
        """
        ranks = QuantileTransformer(
            n_quantiles=max(2, min(_QUANTILES, self.n_rows // 2)),
            output_distribution=shape,
            random_state=self.seed,
        )
        # Scaled before, because ranks of the normal shape take 1e-7 for zero.
        before = self.scaled(ranks).named_steps.values()
        return make_pipeline(*before, StandardScaler(), estimator)


Setting = tuple[str, Any]


def _logistic(task: Task) -> Iterator[Setting]:
    yield "", task.scaled(LogisticRegression(max_iter=1000))
    if task.hurried:
        return
    if task.sparse:
        words = LogisticRegression(C=10.0, max_iter=1000)
        yield "tf-idf, C=10", make_pipeline(TfidfTransformer(), words)
    else:
        yield "ranks, C=0.01", task.ranked(LogisticRegression(C=0.01, max_iter=1000))


def forest(kind: type, leaves: tuple[int, ...], task: Task, **settings: Any) -> Iterator[Setting]:
    """Forests of one kind, with leaves of different sizes."""
    trees = _HURRIED_TREES if task.hurried else _FOLD_TREES[task.effort]
    for leaf in leaves if task.hurried else task.some(leaves):
        one = kind(trees, min_samples_leaf=leaf, random_state=task.seed, **settings)
        yield f"leaf={leaf}", one


def _random_forest(task: Task) -> Iterator[Setting]:
    yield from forest(RandomForestClassifier, (1, 4), task)


def _extra_trees(task: Task) -> Iterator[Setting]:
    yield from forest(ExtraTreesClassifier, (1, 4), task)


def boosted(task: Task) -> tuple[tuple[int, int, float], ...]:
    """Return leaves, trees and learning rate of each setting of boosting."""
    if task.hurried:
        return ((31, 150, 0.07),)
    return task.some(((15, 200, 0.05), (7, 300, 0.05)))


def _hist_boosting(task: Task) -> Iterator[Setting]:
    for leaves, trees, rate in boosted(task):
        yield (
            f"leaves={leaves}, trees={trees}",
            HistGradientBoostingClassifier(
                max_leaf_nodes=leaves,
                max_iter=trees,
                learning_rate=rate,
                max_features=0.5,
                early_stopping=False,
                random_state=task.seed,
            ),
        )


def light(kind: Callable[..., Any], task: Task) -> Iterator[Setting]:
    """Yield settings of LightGBM, for labels or for numbers."""
    for leaves, trees, rate in boosted(task):
        yield (
            f"leaves={leaves}, trees={trees}",
            kind(
                num_leaves=leaves,
                n_estimators=trees,
                learning_rate=rate,
                colsample_bytree=0.5,
                subsample=0.8,
                subsample_freq=1,
                n_jobs=1,
                verbose=-1,
                random_state=task.seed,
            ),
        )


def _light_boosting(task: Task) -> Iterator[Setting]:
    from lightgbm import LGBMClassifier

    yield from light(LGBMClassifier, task)


def _pat_mat(task: Task) -> Iterator[Setting]:
    for C in task.some((0.1, 0.01)):
        yield f"tau={task.tau:g}, C={C:g}", task.scaled(PatMat(task.tau, C=C))


def _pat_mat_rbf(task: Task) -> Iterator[Setting]:
    if few_rows(task) is None:
        yield f"tau={task.tau:g}, C=1", task.scaled(PatMat(task.tau, C=1.0, kernel="rbf"))
        return
    # Scaled columns have a variance of one: this gamma, 1 / n_features, is then "scale".
    components = Nystroem(n_components=_COMPONENTS, random_state=task.seed)
    model = task.scaled(components)
    model.steps.append(("patmat", PatMat(task.tau, C=1.0, tol=1e-3)))
    yield f"{_COMPONENTS} components, tau={task.tau:g}, C=1", model


def _svc_rbf(task: Task) -> Iterator[Setting]:
    svc = SVC(C=10.0, class_weight="balanced")
    if task.sparse:
        yield "C=10", task.scaled(svc)
    else:
        yield "normal scores, C=10", task.ranked(svc, "normal")


def _pat_mat_sets(task: Task) -> Iterator[Setting]:
    kernel = "tanimoto" if task.kind == "bits" else "minmax"
    yield f"{kernel}, tau={task.tau:g}, C=1", PatMat(task.tau, C=1.0, kernel=kernel)


def always(task: Task) -> str | None:
    """Nothing speaks against a family."""
    return None


def few_rows(task: Task) -> str | None:
    """Say why a kernel is left out."""
    if task.n_rows > _KERNEL_ROWS:
        return f"a kernel takes too long on {task.n_rows:,} rows (limit {_KERNEL_ROWS:,})"
    return None


def few_or_dense_rows(task: Task) -> str | None:
    """Say why a kernel is left out that components can stand in for."""
    return few_rows(task) if task.sparse else None


def bits_or_counts(task: Task) -> str | None:
    """Say why a kernel of sets is left out."""
    return "for bits and counts only" if task.kind is None else few_rows(task)


def with_lightgbm(task: Task) -> str | None:
    """Say why LightGBM is left out."""
    try:
        importlib.import_module("lightgbm")
    except ImportError:
        return "LightGBM is not installed (pip install lightgbm)"
    except OSError as error:  # it needs libgomp of the system, which slim images lack
        return f"LightGBM is installed but does not load: {error}"
    return None


def without_lightgbm(task: Task) -> str | None:
    """Say why scikit-learn's boosting is left out."""
    if task.sparse:
        return "takes dense features only"
    return None if with_lightgbm(task) else "LightGBM takes its place"


Family = tuple[Callable[[Task], Iterator[Setting]], Callable[[Task], str | None]]

# Simple and quick ones first: of equals the first is chosen.
FAMILIES: dict[str, Family] = {
    BASELINE: (_logistic, always),
    "PatMat": (_pat_mat, always),
    "LightGBM": (_light_boosting, with_lightgbm),
    "gradient boosting": (_hist_boosting, without_lightgbm),
    "extra trees": (_extra_trees, always),
    "random forest": (_random_forest, always),
    "PatMat rbf": (_pat_mat_rbf, few_or_dense_rows),
    "SVC rbf": (_svc_rbf, few_rows),
    "PatMat of sets": (_pat_mat_sets, bits_or_counts),
}

# Families that are there to be asked for: dropping them costs no hits.
_ON_REQUEST = ("PatMat",)


def _too_dear(family: str, task: Task) -> str | None:
    """Say why a family is left out unless it is asked for: half of a quick race's time."""
    if family == "random forest" and task.hurried:
        return f"extra trees take its place: effort {task.effort}, {task.n_rows:,} rows"
    return None


def contestants(
    models: Any,
    task: Task,
    own_features: bool = False,
    families: Mapping[str, Family] = FAMILIES,
) -> tuple[list[Model], dict[str, str]]:
    """Models to combine, the baseline first, and the families left out with the reason.

    Parameters
    ----------
    models : "auto", list of str or dict
        The families that earn their place, some by name, or a name and an estimator for each
        model.
    task : Task
        What the default grids depend on.
    own_features : bool
        Whether the user's models take the features as they are; otherwise they are imputed
        and scaled for them.
    families : mapping
        What there is; the first is the baseline.
    """
    baseline = next(iter(families))
    yardstick = replace(_grid(baseline, task, families)[0], is_baseline=True)
    if isinstance(models, Mapping):
        own = [_own(name, estimator) for name, estimator in models.items()]
        if not own_features:
            own = [
                replace(m, estimator=task.scaled(m.estimator), final=task.scaled(m.final))
                for m in own
            ]
        first = [replace(model, is_baseline=True) for model in own if model.name == baseline]
        return [*(first or [yardstick]), *(m for m in own if m.name != baseline)], {}
    auto = isinstance(models, str) and models == "auto"
    names = [name for name in families if name not in _ON_REQUEST] if auto else models
    if isinstance(names, str) or not all(name in families for name in names) or not len(names):
        raise ValueError(
            f"models={models!r} is not understood; pass 'auto', some of "
            f"{', '.join(repr(name) for name in families)} in a list, or a dict of names and "
            "estimators."
        )
    found = [yardstick]
    left_out: dict[str, str] = {}
    for family, (_, reason) in families.items():
        if family not in names:
            continue
        why = reason(task) or (_too_dear(family, task) if auto else None)
        if why is None:
            found += [m for m in _grid(family, task, families) if m.name != baseline]
        else:
            left_out[family] = why
    return found, left_out


def _grid(family: str, task: Task, families: Mapping[str, Family]) -> list[Model]:
    most, drawn = _TREE_ROWS[task.effort]
    return [
        Model(
            _name(family, params),
            family,
            estimator,
            _grown(estimator, task),
            tree_rows=drawn if task.n_rows > most and isinstance(estimator, _FORESTS) else None,
        )
        for params, estimator in families[family][0](task)
    ]


def _grown(estimator: Any, task: Task) -> Any:
    """Return the estimator for the whole history."""
    if not isinstance(estimator, _FORESTS):
        return estimator
    affordable = max(_FEWEST_TREES, _FOREST_ROWS // min(task.n_rows, _TREE_ROWS[task.effort][0]))
    trees = min(_FINAL_TREES[task.effort], affordable)
    return clone(estimator).set_params(n_estimators=trees)


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
    return Model(name, name, estimator, estimator)


def kind_of(X: Any) -> str | None:
    """Say whether numeric rows hold bits or counts, mostly zero; None for anything else."""
    if hasattr(X, "columns") or X.dtype.kind not in "biuf":
        return None
    values = X.data if sparse.issparse(X) else np.asarray(X)
    filled = np.count_nonzero(values) / max(1, X.shape[0] * X.shape[1])
    if X.shape[1] < 50 or filled > 0.5 or not np.isfinite(values).all() or (values < 0).any():
        return None
    if ((values == 0) | (values == 1)).all():
        return "bits"
    return "counts" if (values == np.floor(values)).all() else None


def as_numbers() -> Any:
    """Return a transformer that makes an array of any table of numbers and scales nothing."""
    return StandardScaler(with_mean=False, with_std=False)


def default_features(X: Any) -> Any:
    """Unfitted transformer that makes numbers of rows of this kind.

    Numbers stay as they are, missing ones too. Tables with other columns: skrub's
    ``TableVectorizer``.
    """
    other = [] if sparse.issparse(X) else other_columns(X)
    return encoded(other) if other else as_numbers()


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
