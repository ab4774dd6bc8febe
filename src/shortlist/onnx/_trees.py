"""Trees of scikit-learn and LightGBM as one ONNX node in double precision.

skl2onnx writes trees in single precision. A row then takes another branch where its
value and the split agree to seven digits, and its score jumps.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from ._errors import NotConvertible
from ._graph import Graph

# Codes of the ONNX standard.
_LESS_OR_EQUAL, _SUM, _NO_TRANSFORM = 0, 1, 0


@dataclass(frozen=True)
class Tree:
    """One tree in arrays; the root is node 0.

    Attributes
    ----------
    feature, split : ndarray
        A row goes left where its feature is not above the split.
    left, right : ndarray
        Children.
    leaf : ndarray of bool
        Whether the node is one.
    value : ndarray
        What a leaf adds.
    missing_left : ndarray of bool
        Where a missing value goes.
    """

    feature: np.ndarray
    split: np.ndarray
    left: np.ndarray
    right: np.ndarray
    leaf: np.ndarray
    value: np.ndarray
    missing_left: np.ndarray


def sum_of_trees(graph: Graph, x: str, trees: Iterable[Tree]) -> str:
    """Sum over the trees of the leaf of every row, of shape (n_rows,)."""
    roots: list[int] = []
    parts: dict[str, list[np.ndarray]] = {
        name: [] for name in ("features", "splits", "missing", "true", "false", "tleaf", "fleaf")
    }
    weights: list[np.ndarray] = []
    n_nodes = n_leaves = 0
    for tree in trees:
        if tree.leaf[0]:
            # The standard has no tree without a split: one whose sides are the same leaf.
            tree = _with_a_split(tree)
        roots.append(n_nodes)
        inner = np.flatnonzero(~tree.leaf)
        leaves = np.flatnonzero(tree.leaf)
        place = np.empty(len(tree.leaf), dtype=np.int64)
        place[inner] = n_nodes + np.arange(len(inner))
        place[leaves] = n_leaves + np.arange(len(leaves))
        parts["features"].append(tree.feature[inner])
        parts["splits"].append(tree.split[inner])
        parts["missing"].append(tree.missing_left[inner])
        parts["true"].append(place[tree.left[inner]])
        parts["false"].append(place[tree.right[inner]])
        parts["tleaf"].append(tree.leaf[tree.left[inner]])
        parts["fleaf"].append(tree.leaf[tree.right[inner]])
        weights.append(tree.value[leaves])
        n_nodes += len(inner)
        n_leaves += len(leaves)
    whole = {name: np.concatenate(columns) for name, columns in parts.items()}
    splits = whole.pop("splits").astype(np.float64)
    integers = {name: column.astype(np.int64) for name, column in whole.items()}
    total = graph.add(
        "TreeEnsemble",
        x,
        domain="ai.onnx.ml",
        aggregate_function=_SUM,
        post_transform=_NO_TRANSFORM,
        n_targets=1,
        tree_roots=roots,
        nodes_featureids=integers["features"],
        nodes_splits=splits,
        nodes_modes=np.full(n_nodes, _LESS_OR_EQUAL, dtype=np.uint8),
        nodes_missing_value_tracks_true=integers["missing"],
        nodes_truenodeids=integers["true"],
        nodes_falsenodeids=integers["false"],
        nodes_trueleafs=integers["tleaf"],
        nodes_falseleafs=integers["fleaf"],
        leaf_weights=np.concatenate(weights).astype(np.float64),
        leaf_targetids=np.zeros(n_leaves, dtype=np.int64),
    )
    return graph.add("Squeeze", total, graph.axes(1))


def _with_a_split(tree: Tree) -> Tree:
    zeros, ones = np.zeros(2, dtype=np.int64), np.ones(2, dtype=np.int64)
    return Tree(
        feature=zeros,
        split=zeros.astype(float),
        left=ones,
        right=ones,
        leaf=np.array([False, True]),
        value=np.array([0.0, float(tree.value[0])]),
        missing_left=np.ones(2, dtype=bool),
    )


def forest_trees(model: Any) -> list[Tree]:
    """Trees of a forest: leaves hold the share of the second class, or the mean outcome."""
    trees = []
    for member in model.estimators_:
        inner = member.tree_
        held = inner.value[:, 0, :]
        missing = getattr(inner, "missing_go_to_left", np.zeros(inner.node_count))
        trees.append(
            Tree(
                feature=inner.feature,
                split=inner.threshold,
                left=inner.children_left,
                right=inner.children_right,
                leaf=inner.children_left < 0,
                value=held[:, 1] / held.sum(axis=1) if is_classifier(model) else held[:, 0],
                missing_left=np.asarray(missing, dtype=bool),
            )
        )
    return trees


def histogram_trees(model: Any) -> tuple[list[Tree], float]:
    """Trees and starting value of scikit-learn's histogram gradient boosting."""
    trees = []
    for (predictor,) in model._predictors:
        nodes = predictor.nodes
        if nodes["is_categorical"].any():
            raise NotConvertible(
                f"{type(model).__name__} has splits over categories, which have no ONNX form: "
                "encode the categories as columns of 0 and 1."
            )
        trees.append(
            Tree(
                feature=nodes["feature_idx"].astype(np.int64),
                split=nodes["num_threshold"].astype(np.float64),
                left=nodes["left"].astype(np.int64),
                right=nodes["right"].astype(np.int64),
                leaf=nodes["is_leaf"].astype(bool),
                value=nodes["value"].astype(np.float64),
                missing_left=nodes["missing_go_to_left"].astype(bool),
            )
        )
    return trees, float(np.ravel(model._baseline_prediction)[0])


def lightgbm_trees(model: Any) -> list[Tree]:
    """Trees of a fitted model of LightGBM."""
    return [_lightgbm_tree(each["tree_structure"]) for each in _dump(model)["tree_info"]]


def _dump(model: Any) -> dict[str, Any]:
    # With early stopping, only the first rounds count.
    return model.booster_.dump_model(num_iteration=getattr(model, "best_iteration_", None) or None)


def _lightgbm_tree(root: dict[str, Any]) -> Tree:
    rows: list[list[float]] = []

    def visit(node: dict[str, Any]) -> int:
        place = len(rows)
        if "split_feature" not in node:
            rows.append([0, 0.0, -1, -1, 1, node["leaf_value"], 0])
            return place
        if node["decision_type"] != "<=" or node["missing_type"] == "Zero":
            raise NotConvertible(
                "LightGBM has splits over categories or takes zero for missing, which have no "
                "ONNX form: encode the categories as columns of 0 and 1."
            )
        # Without missing values in the history, LightGBM reads one as zero.
        left = node["default_left"] if node["missing_type"] == "NaN" else node["threshold"] >= 0.0
        rows.append([node["split_feature"], node["threshold"], -1, -1, 0, 0.0, left])
        rows[place][2] = visit(node["left_child"])
        rows[place][3] = visit(node["right_child"])
        return place

    visit(root)
    columns = np.array(rows, dtype=np.float64).T
    feature, left, right = (columns[i].astype(np.int64) for i in (0, 2, 3))
    return Tree(feature, columns[1], left, right, columns[4] > 0, columns[5], columns[6] > 0)
