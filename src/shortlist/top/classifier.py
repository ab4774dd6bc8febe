"""What the two-class estimators share: parameters, the fit path, scoring."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from .._checks import check_choice, check_number, check_seed, outside
from .._fit import ROW_DTYPES, BinaryData, atomic, solve, validate_binary
from .._losses import LOSSES
from ..certificate import Certificate, Check, CollapsedWarning
from ..rows.formulas import NamedKernel
from ..rows.kernels import KernelFunction, KernelMatrix, kernel_function
from ..rows.operators import as_rows
from ..rows.threads import team
from ..rows.weighted import merge_duplicates
from .kernel_problem import DualPoint, KernelSolution, KernelTopProblem
from .problem import Solution, TopProblem
from .stream.blocks import Blocks
from .stream.first_pass import BlockData, read_blocks
from .sweeps import Start
from .thresholds import Recipe

# Solvers that work on kernel entries even where the kernel is linear.
_KERNEL_SOLVERS = ("smo", "coordinate")
_SLICE_BYTES = 32_000_000
# Gaps that float32 entries reach; proofs are in float64 always.
_NARROW_TOL = 1e-5


class TopClassifier(ClassifierMixin, BaseEstimator):
    """Base of the estimators: a subclass says which recipe makes its threshold."""

    _recipe: ClassVar[type[Recipe]]
    # Others, each taken instead where a parameter is above zero.
    _recipes_by_parameter: ClassVar[Mapping[str, type[Recipe]]] = {}
    _previous: dict[str, Any]  # what was learned before, while a fit runs

    def __init__(
        self,
        *,
        C: float,
        loss: str,
        kernel: str | KernelFunction,
        gamma: str | float,
        degree: int,
        coef0: float,
        solver: str,
        tol: float,
        max_iter: int | None,
        time_limit: float | None,
        cache_size: float,
        warm_start: bool,
        random_state: Any,
        verbose: int,
        callback: Callable[[Check], object] | None,
        pos_label: Any,
    ) -> None:
        self.C = C
        self.loss = loss
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.cache_size = cache_size
        self.warm_start = warm_start
        self.random_state = random_state
        self.verbose = verbose
        self.callback = callback
        self.pos_label = pos_label

    @atomic
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or Blocks
            Training rows: dense or CSR, float32 or float64 are used as they are. With
            ``kernel="precomputed"``, the kernel matrix of the training rows.
            :class:`~shortlist.blocks.Blocks` are read block by block and bring labels and
            weights of their own.
        y : array-like of shape (n_samples,)
            Labels of two classes; `pos_label` is the one to push up.
        sample_weight : array-like of shape (n_samples,), default=None
            Multiplicity of every row, fractions allowed.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        self._learn(X, y, sample_weight)
        return self

    def _learn(self, X: Any, y: Any, sample_weight: Any) -> None:
        if isinstance(X, Blocks):
            if y is not None or sample_weight is not None:
                raise ValueError(
                    "y and sample_weight must be left out where X is Blocks: give them to "
                    "Blocks(source, y, sample_weight)."
                )
            recipe = self._check_parameters(in_blocks=True)
            self._fit_blocks(recipe, read_blocks(self, X, recipe.everything))
            return
        recipe = self._check_parameters()
        data = validate_binary(self, X, y, sample_weight, reach=self._linear())
        with nullcontext() if self._linear() else team():
            self._learn_rows(recipe, data)

    def _learn_rows(self, recipe: Recipe, data: BinaryData) -> None:
        """Learn from checked rows in memory."""
        if not self._linear() and not self._precomputed():
            data = merged(data)
        ranked = data.negative
        if recipe.everything:
            ranked = np.concatenate([data.positive, data.negative])
        threshold = recipe.threshold(float(data.weight[ranked].sum()))
        terms = (data.positive, ranked, data.weight, float(self.C), LOSSES[self.loss], threshold)
        if self._linear():
            problem: Any = TopProblem(data.X, *terms, reach=data.reach)
            problem.start = self._last_solution()
        else:
            problem = self._kernel_problem(data, terms)
        solved = solve(self, problem)
        self._keep(recipe, data.classes, problem, *solved, data.X)

    def _check_parameters(self, in_blocks: bool = False) -> Recipe:
        check_number("C", self.C, above=0.0)
        check_choice("loss", self.loss, LOSSES)
        check_number("cache_size", self.cache_size, above=0.0)
        if in_blocks and not self._linear():
            raise ValueError(
                f"kernel={self.kernel!r}, solver={self.solver!r} needs all rows in memory: rows "
                "in blocks take kernel='linear' and solver='auto'."
            )
        kind = self._recipe
        for name, other in self._recipes_by_parameter.items():
            check_number(name, getattr(self, name), least=0.0)
            if getattr(self, name) > 0.0:
                kind = other
        return kind.of(self)

    def _fit_blocks(self, recipe: Recipe, data: BlockData) -> None:
        threshold = recipe.threshold(data.summary.ranked_weight)
        problem = data.problem(float(self.C), LOSSES[self.loss], threshold)
        problem.start = self._last_solution()
        solved = solve(self, problem)
        self._keep(recipe, data.classes, problem, *solved)

    def _keep(
        self,
        recipe: Recipe,
        classes: np.ndarray,
        problem: Any,
        solution: Solution | KernelSolution,
        certificate: Certificate,
        n_iter: int,
        X: Any = None,
    ) -> None:
        """Store what was learned."""
        self.classes_ = classes
        if isinstance(solution, Solution):
            self._keep_linear(solution, problem.centre)
        else:
            self._keep_kernel(solution, problem, X)
        cutoffs = recipe.cutoffs(solution, solution.ranked_scores(problem), problem.threshold)
        self._offset_ = cutoffs.offset
        for name, value in cutoffs.attributes.items():
            setattr(self, name, value + self._origin)
        if "coef_" in vars(self):
            self.intercept_ = np.array([-self._offset_ - self._origin])
        self.certificate_ = certificate
        self.n_iter_ = n_iter
        if certificate.status == "converged" and not self._nonzero(solution):
            warnings.warn(
                f"{type(self).__name__} collapsed: the zero model is optimal within tol. "
                + recipe.advice(solution.top_ranked),
                CollapsedWarning,
                stacklevel=outside(),
            )

    def _linear(self) -> bool:
        return (
            isinstance(self.kernel, str)
            and self.kernel == "linear"
            and self.solver not in _KERNEL_SOLVERS
        )

    def _precomputed(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    def _kernel_problem(self, data: BinaryData, terms: tuple) -> KernelTopProblem:
        X, threshold = data.X, terms[-1]
        if threshold.form(data.weight[terms[1]]) == "other":
            raise ValueError(
                f"kernel={self.kernel!r}, solver={self.solver!r}: the threshold "
                f"{type(threshold).__name__} is for linear scores. Choose kernel='linear' and "
                "solver='auto', or other parameters of the threshold."
            )
        self._kernel_ = None
        if self._precomputed():
            if sparse.issparse(X) or X.shape[0] != X.shape[1]:
                kind = "sparse" if sparse.issparse(X) else "dense"
                raise ValueError(
                    "kernel='precomputed' needs X to be the dense square matrix of the "
                    f"training rows, got a {kind} matrix of shape {X.shape}."
                )
        else:
            self._kernel_ = kernel_function(
                self.kernel,
                X,
                gamma=self.gamma,
                degree=self.degree,
                coef0=self.coef0,
                weight=data.weight,
                # Merged rows come in an order that depends on their contents only.
                rows=np.concatenate([data.positive, data.negative]),
            )
        problem = KernelTopProblem(
            KernelMatrix(X, self._kernel_, narrow=self.tol >= _NARROW_TOL),
            *terms,
            cache_bytes=int(self.cache_size * 1e6),
            seed=check_seed(self.random_state),
        )
        problem.indefinite = not problem.kernel.is_positive(
            np.concatenate([data.positive, data.negative]), centred=True
        )
        if self.warm_start:
            mark = self._fingerprint(data, terms[1])
            if mark == self._previous.get("_mark_"):
                problem.start = self._previous["_point_"]
                # A function may compute other entries than it did: only a point is reused.
                if not callable(self.kernel) and self._previous["_cache_"] is not None:
                    problem.cache = self._previous["_cache_"].of(problem.kernel)
            self._mark_ = mark
        return problem

    def _fingerprint(self, data: BinaryData, ranked: np.ndarray) -> str:
        """Digest of everything that must not change between warm-started fits."""
        X = data.X
        parts = (X.data, X.indices, X.indptr) if sparse.issparse(X) else (X,)
        digest = hashlib.blake2b(
            repr((X.shape, self.kernel, self.gamma, self.degree, self.coef0, self.cache_size,
                  self.random_state)).encode()
        )  # fmt: skip
        for part in (*parts, data.positive, ranked, data.weight):
            digest.update(np.ascontiguousarray(part).data.cast("B"))
        return digest.hexdigest()

    def _last_solution(self) -> Start | None:
        previous = self._previous
        w = previous.get("coef_")
        # The scores of the zero model do not tell which rows matter: nothing to reuse.
        if not self.warm_start or w is None or not w.any() or w.shape[1] != self.n_features_in_:
            return None
        return previous.get("_start_") or Start(w[0])

    @staticmethod
    def _nonzero(solution: Solution | KernelSolution) -> bool:
        w = solution.w if isinstance(solution, Solution) else solution.coefficients
        return bool(w.any())

    def _keep_linear(self, solution: Solution, centre: np.ndarray | None) -> None:
        self.coef_ = solution.w[None, :]
        self._centre_ = centre
        if self.warm_start:
            self._start_ = solution.start

    def _keep_kernel(self, solution: KernelSolution, problem: KernelTopProblem, X: Any) -> None:
        c = solution.coefficients
        if self.warm_start:
            self._point_: DualPoint = solution.point
            self._cache_ = problem.cache
        self.support_ = np.flatnonzero(c)
        self.dual_coef_ = c[self.support_][None, :]
        if self._kernel_ is None:
            self.support_vectors_ = np.empty((0, 0))
        else:
            self.support_vectors_ = X[self.support_]
        if isinstance(self._kernel_, NamedKernel) and self._kernel_.name == "linear":
            # The pairs worked on rows less their centre.
            self._centre_ = self._kernel_.centre
            rows = self._kernel_.centred(X[self.support_].astype(np.float64))
            self.coef_ = as_rows(rows).combine(self.dual_coef_[0])[None, :]

    @property
    def _origin(self) -> float:
        """Score of the centre: thresholds of scores counted from there are lower by it."""
        centre = vars(self).get("_centre_")
        return 0.0 if centre is None else float(centre @ self.coef_[0])

    def decision_function(self, X: Any) -> np.ndarray:
        """Score minus threshold of every row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to score; with ``kernel="precomputed"``, their kernel with every
            training row. Kernel rows are scored in slices of bounded memory.

        Returns
        -------
        ndarray of shape (n_samples,)
            Positive where the row ranks above the threshold.
        """
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=ROW_DTYPES, reset=False)
        if "coef_" in vars(self):
            # From the centre, rows far from the origin keep their digits.
            return as_rows(X, vars(self).get("_centre_")).scores(self.coef_[0]) - self._offset_
        out = np.full(X.shape[0], -self._offset_)
        if not len(self.support_):
            return out
        step = max(1, _SLICE_BYTES // (8 * len(self.support_)))
        for start in range(0, X.shape[0], step):
            part = X[start : start + step]
            if self._kernel_ is None:
                entries = part[:, self.support_]
            else:
                entries = self._kernel_(part, self.support_vectors_)
            out[start : start + step] += entries @ self.dual_coef_[0]
        return out

    def predict(self, X: Any) -> np.ndarray:
        """Label of every row: positive where the score exceeds the threshold.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to label.

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels from ``classes_``.
        """
        scores = self.decision_function(X)
        return self.classes_[(scores > 0.0).astype(np.intp)]

    def __getstate__(self) -> dict[str, Any]:
        # Kernel rows and multipliers serve the next warm start, not a stored model.
        state = dict(super().__getstate__())
        for name in ("_cache_", "_mark_", "_point_", "_start_"):
            state.pop(name, None)
        return state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = not self._precomputed()
        tags.input_tags.pairwise = self._precomputed()
        return tags


def merged(data: BinaryData) -> BinaryData:
    """Return the data with identical rows of a class counted as one."""
    weight = data.weight.copy()
    positive = merge_duplicates(data.X, data.positive, weight)
    negative = merge_duplicates(data.X, data.negative, weight)
    return BinaryData(data.X, data.classes, positive, negative, weight)
