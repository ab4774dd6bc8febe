"""The models that :func:`shortlist.pick` combines where outcomes are numbers.

They learn outcomes in standard units. What they predict is only ranked and put on a line by
the combination, so :class:`shortlist.RankSVM`, which learns from pairs of grades, has its place
among them.
"""

from __future__ import annotations

from collections.abc import Iterator

from sklearn.ensemble import (
    ExtraTreesRegressor,
    HistGradientBoostingRegressor,
    RandomForestRegressor,
)
from sklearn.linear_model import Ridge
from sklearn.svm import SVR

from ...pairs.estimator import RankSVM
from ...rows.formulas import minmax_kernel, tanimoto_kernel
from .models import (
    Family,
    Setting,
    Task,
    always,
    bits_or_counts,
    boosted,
    few_rows,
    forest,
    light,
    with_lightgbm,
    without_lightgbm,
)

BASELINE = "ridge"


def _ridge(task: Task) -> Iterator[Setting]:
    yield "", task.scaled(Ridge())
    for alpha in (100.0,) if task.quick else (10.0, 100.0, 1000.0):
        yield f"alpha={alpha:g}", task.scaled(Ridge(alpha))


def _rank_svm(task: Task) -> Iterator[Setting]:
    for C in (0.1,) if task.quick else (0.1, 1.0):
        yield f"C={C:g}", task.scaled(RankSVM(C, loss="squared_hinge"))


def _rank_svm_rbf(task: Task) -> Iterator[Setting]:
    for C in (1.0,) if task.quick else (1.0, 10.0):
        yield f"C={C:g}", task.scaled(RankSVM(C, loss="squared_hinge", kernel="rbf"))


def _svr_rbf(task: Task) -> Iterator[Setting]:
    for C in (1.0,) if task.quick else (1.0, 10.0):
        yield f"C={C:g}", task.scaled(SVR(C=C))


def _random_forest(task: Task) -> Iterator[Setting]:
    yield from forest(RandomForestRegressor, (1, 4), task, max_features=0.5)


def _extra_trees(task: Task) -> Iterator[Setting]:
    yield from forest(ExtraTreesRegressor, (1, 4), task, max_features=0.5)


def _hist_boosting(task: Task) -> Iterator[Setting]:
    for leaves, trees, rate in boosted(task):
        yield (
            f"leaves={leaves}, trees={trees}",
            HistGradientBoostingRegressor(
                max_leaf_nodes=leaves,
                max_iter=trees,
                learning_rate=rate,
                max_features=0.5,
                early_stopping=False,
                random_state=task.seed,
            ),
        )


def _light_boosting(task: Task) -> Iterator[Setting]:
    from lightgbm import LGBMRegressor

    yield from light(LGBMRegressor, task)


def _rank_svm_sets(task: Task) -> Iterator[Setting]:
    kernel = "tanimoto" if task.kind == "bits" else "minmax"
    for C in (1.0,) if task.quick else (1.0, 10.0):
        yield f"{kernel}, C={C:g}", RankSVM(C, loss="squared_hinge", kernel=kernel)


def _svr_sets(task: Task) -> Iterator[Setting]:
    kernel = tanimoto_kernel if task.kind == "bits" else minmax_kernel
    name = "tanimoto" if task.kind == "bits" else "minmax"
    for C in (1.0,) if task.quick else (1.0, 10.0):
        yield f"{name}, C={C:g}", SVR(C=C, kernel=kernel)


def _dense_sets(task: Task) -> str | None:
    # Support vector regression takes no kernel function of sparse rows.
    return "takes dense features only" if task.sparse else bits_or_counts(task)


# Simple and quick ones first: of equals the first is chosen.
FAMILIES: dict[str, Family] = {
    BASELINE: (_ridge, always),
    "RankSVM": (_rank_svm, always),
    "LightGBM": (_light_boosting, with_lightgbm),
    "gradient boosting": (_hist_boosting, without_lightgbm),
    "extra trees": (_extra_trees, always),
    "random forest": (_random_forest, always),
    "RankSVM rbf": (_rank_svm_rbf, few_rows),
    "SVR rbf": (_svr_rbf, few_rows),
    "RankSVM of sets": (_rank_svm_sets, bits_or_counts),
    "SVR of sets": (_svr_sets, _dense_sets),
}
