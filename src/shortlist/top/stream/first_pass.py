"""The first pass over rows in blocks: validation, classes, and what a problem needs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_array
from sklearn.utils.validation import validate_data

from ..._checks import check_both_count, check_two_classes, check_weight, positive_last
from ..._fit import ROW_DTYPES
from ..._losses import Loss
from ..thresholds import Threshold
from .blocks import Blocks
from .streamed import StreamedProblem
from .visits import BlockLayout, BlockProblem, Summary, summarise


@dataclass(frozen=True)
class BlockData:
    """Validated two-class data in blocks.

    Attributes
    ----------
    classes : ndarray
        The two labels; the second is the positive class.
    summary : Summary
        Of all blocks.
    problem : callable
        Makes the problem of C, a loss and a threshold.
    """

    classes: np.ndarray
    summary: Summary
    problem: Callable[..., BlockProblem]


def as_matrix(X: Any, finite: bool = True) -> Any:
    """Return a block as float32 or float64, dense by rows or CSR; check that it is finite.

    A data frame has its columns together: scoring would put its rows together in every pass.
    """
    if not sparse.issparse(X) and not hasattr(X, "iloc"):
        X = np.asarray(X)
        if not finite and X.dtype in ROW_DTYPES and X.ndim == 2:
            return X
    return check_array(
        X,
        accept_sparse="csr",
        dtype=ROW_DTYPES,
        order="C",
        ensure_all_finite=finite,
        ensure_min_samples=0,
        input_name="X",
    )


def first_visit(
    X: Any, y: Any, weight: Any, classes: np.ndarray, first: int, everything: bool
) -> tuple[Summary, BlockLayout]:
    """Validate labels and weights of a block, and summarise it.

    `X` is validated; the labels may be one for all its rows.
    """
    y = np.asarray(y)
    if y.ndim and y.shape != (X.shape[0],):
        raise ValueError(
            f"y must hold one label for each of the {X.shape[0]} rows of X, got shape {y.shape}."
        )
    code = y == classes[1]
    known = code | (y == classes[0])
    if not known.all():
        raise ValueError(
            f"y holds {y[~known].tolist()[0]!r}, which was not among the labels "
            f"{classes.tolist()} when they were read first: every pass must yield the same blocks."
        )
    code = np.broadcast_to(code, X.shape[:1])
    if not X.shape[0]:
        weight = None
    elif weight is not None:
        weight = check_weight(weight, X.shape[0])
    return summarise(X, code, weight, first, everything)


def read_blocks(estimator: Any, blocks: Blocks, everything: bool) -> BlockData:
    """Check the training data of a two-class estimator, block by block.

    `everything` says whether the positives belong to the threshold too.
    """
    classes = blocks.classes()
    check_two_classes(estimator, classes)
    classes = positive_last(classes, estimator.pos_label)
    layouts: list[BlockLayout] = []
    summaries: list[Summary] = []
    first = 0
    for number, block in enumerate(blocks.read()):
        try:
            validate_data(estimator, block.X, reset=number == 0, skip_check_array=True)
            summary, layout = first_visit(
                as_matrix(block.X), block.y, block.weight, classes, first, everything
            )
        except ValueError as error:
            raise ValueError(f"Block {number} (from row {first}): {error}") from error
        layouts.append(layout)
        summaries.append(summary)
        if len(summaries) > 64:
            summaries = [Summary.merged(summaries)]
        first += layout.n_rows
    if not summaries:
        raise ValueError(
            "source brought no block, though it had labels: a function must return a fresh "
            "iterator at each call."
        )
    total = Summary.merged(summaries)
    check_both_count((total.negative_weight, len(total.positive_weight)), classes)
    read = partial(_read_again, blocks, layouts)
    passes = 1 + blocks.label_passes

    def problem(C: float, loss: Loss, threshold: Threshold) -> BlockProblem:
        return StreamedProblem(read, layouts, total, C, loss, threshold, passes)

    return BlockData(classes, total, problem)


def _read_again(blocks: Blocks, layouts: list[BlockLayout]) -> Iterator[Any]:
    """Yield the matrix of every block; they must be as many and as long as before."""
    count = 0
    for block in blocks.read():
        X = as_matrix(block.X, finite=False)
        if count == len(layouts) or X.shape[0] != layouts[count].n_rows:
            break
        yield X
        count += 1
    else:
        if count == len(layouts):
            return
    raise ValueError(
        f"source brought other blocks than in the first pass, from block {count} on: every "
        "pass must yield the same ones. A function must return a fresh iterator at each call."
    )
