"""Compiled loops. Arrays are C-contiguous; ``out`` arguments are written in place.

Sizes and indices are checked: a wrong one is a ``ValueError`` that names the argument. What
is written, matrices and indices must have the right type, or it is a ``TypeError``. Long
loops handle signals as they run, and those of solvers keep the deadline.
"""

import numpy as np

def set_deadline(seconds: float | None) -> None:
    """Let the solvers' loops of this thread end early after `seconds`; None for no deadline.

    They then return as if their limit of steps had been reached. Sums are never cut short.
    """

def late() -> bool:
    """Whether the deadline of this thread has passed."""

def check_csr(start: np.ndarray, column: np.ndarray, value: np.ndarray, n_columns: int) -> None:
    """Refuse CSR arrays that point outside the matrix."""

def csr_scores(
    start: np.ndarray,
    column: np.ndarray,
    value: np.ndarray,
    w: np.ndarray,
    out: np.ndarray,
    checked: int = 0,
) -> None:
    """Write the product of every row with `w`.

    `checked` is the width of the matrix where a call without it has looked at every column.
    """

def dense_scores(rows: np.ndarray, w: np.ndarray, out: np.ndarray) -> None:
    """Write the product of every float32 row with `w`."""

def dense_combine(rows: np.ndarray, v: np.ndarray, out: np.ndarray) -> None:
    """Add the sum of the float32 rows times `v`."""

def dense_gram(rows: np.ndarray, v: np.ndarray, out: np.ndarray, by_column: bool = False) -> None:
    """Add the squares of the rows, weighted by `v`; only the upper triangle is valid.

    With `by_column`, `rows` holds their columns one after the other.
    """

def row_weights(
    a: np.ndarray,
    b: np.ndarray,
    scores: np.ndarray,
    sign: float,
    level: float,
    per: np.ndarray | None,
    extra: np.ndarray | None,
    D: np.ndarray,
    residual: np.ndarray,
) -> float:
    """Write ``a / (b + per a)`` and ``sign (scores - level) + extra - b``; return the first's sum.

    Without `extra` it is ``per a``, and without both zero.
    """

def row_shift(
    a: np.ndarray,
    b: np.ndarray,
    weight: np.ndarray,
    mu: float,
    da: np.ndarray | None,
    db: np.ndarray | None,
    second: float,
    residual: np.ndarray | None,
    shift: np.ndarray,
) -> None:
    """Write ``(goal - b residual) / a`` with ``goal = mu weight - a b - second da db``."""

def row_rest(
    a: np.ndarray,
    b: np.ndarray,
    weight: np.ndarray,
    mu: float,
    da: np.ndarray | None,
    db: np.ndarray | None,
    second: float,
    residual: np.ndarray,
    shift: np.ndarray | None,
    D: np.ndarray,
    f: np.ndarray,
    Df: np.ndarray,
) -> float:
    """Write ``f = goal / a - residual - shift`` and ``D f``; return the sum of the latter."""

def row_step(
    ds: np.ndarray,
    sign: float,
    d_level: float,
    D: np.ndarray,
    f: np.ndarray,
    residual: np.ndarray,
    h: np.ndarray | None,
    dm: float,
    shift: np.ndarray | None,
    per: np.ndarray | None,
    da: np.ndarray,
    db: np.ndarray,
    d_extra: np.ndarray,
) -> None:
    """Write the changes of multipliers, of slacks, and of what slacks have beside scores."""

def look_ahead(
    a: np.ndarray, b: np.ndarray, da: np.ndarray, db: np.ndarray
) -> tuple[float, float, float, float]:
    """Return least ``da / a`` and ``db / b``, and the sums of ``a db + b da`` and ``da db``."""

def drop(values: np.ndarray, skipped: np.ndarray) -> None:
    """Move the values that are not skipped (sorted indices) to the front, in place."""

def cell_moments(
    scores: np.ndarray, weight: np.ndarray | None, edges: np.ndarray, out: np.ndarray
) -> None:
    """Add number, weight and moments about the lower edge of the scores in every cell."""

def csr_combine(
    start: np.ndarray,
    column: np.ndarray,
    value: np.ndarray,
    v: np.ndarray,
    out: np.ndarray,
    checked: int = 0,
) -> None:
    """Add the sum of the rows weighted by `v`; `checked` as in :func:`csr_scores`."""

def csr_combines(
    start: np.ndarray,
    column: np.ndarray,
    value: np.ndarray,
    v: np.ndarray,
    out: np.ndarray,
    checked: int = 0,
) -> None:
    """Add to each column of `out` the sum of the rows weighted by a row of `v`.

    There are one to three; `checked` as in :func:`csr_scores`.
    """

def csr_gram(
    start: np.ndarray, column: np.ndarray, value: np.ndarray, v: np.ndarray, out: np.ndarray
) -> None:
    """Add the upper triangle of the sum of weighted outer products."""

def column_ranges(rows: np.ndarray, lowest: np.ndarray, highest: np.ndarray) -> None:
    """Write the range of every column, NaN where it holds anything but finite numbers."""

def project_balanced(
    a: np.ndarray,
    upper: np.ndarray | None,
    b: np.ndarray,
    cap: np.ndarray | None,
    alpha: np.ndarray,
    beta: np.ndarray,
) -> None:
    """Project onto the dual feasible set of the threshold problems."""

class _GaussianRows:
    """Rows of the Gaussian kernel among `x`, computed when they are asked for.

    `squares` are gamma times the squares of the rows; `memory` has room for the rows that are
    kept, three at least unless there are fewer.
    """

    def __init__(
        self, x: np.ndarray, squares: np.ndarray, gamma: float, memory: np.ndarray
    ) -> None: ...
    def fill(self, rows: np.ndarray, out: np.ndarray) -> None:
        """Write these rows to `out`."""

class GaussianRows32(_GaussianRows):
    """In float32."""

class GaussianRows64(_GaussianRows):
    """In float64."""

def pair_steps(
    gram: np.ndarray | GaussianRows32 | GaussianRows64,
    alpha: np.ndarray,
    ridge: np.ndarray,
    upper: np.ndarray,
    beta: np.ndarray,
    omega: np.ndarray,
    f: np.ndarray,
    f_beta: np.ndarray,
    state: np.ndarray,
    mode: int,
    lin: float,
    price: float,
    eps: float,
    max_steps: int,
    seed: int = 0,
    loose: float = 0.0,
    patience: int = ...,
    work: int = ...,
    goal: float = 0.0,
    threads: int = 1,
) -> tuple[int, bool]:
    """Take pair steps in place until none violates by `eps`; a seed takes random pairs.

    In the open mode pairs with an alpha may violate by `loose`, where that is more; steps
    among beta end after `patience` of them at a stretch, and the state tells what they still
    violate; a gap of at most `goal` ends them, too. Two `threads` share long steps, whose
    results are the same.

    Returns their number, and whether `max_steps` or `work`, row by row, was used up.
    """

def room(n_rows: int, n_columns: int, single: bool) -> np.ndarray:
    """Return a matrix of anything, which takes memory only where it is written to."""

def add_rows(
    rows: np.ndarray,
    slots: np.ndarray,
    coefficients: np.ndarray,
    out: np.ndarray,
    start: int = 0,
) -> None:
    """Add the chosen rows, from column `start` on, times their coefficients, in double."""

def gather(
    source: np.ndarray,
    rows: np.ndarray,
    columns: np.ndarray,
    out: np.ndarray,
    to_rows: np.ndarray,
    to_columns: np.ndarray,
) -> None:
    """Copy ``source[rows, columns]`` to ``out[to_rows, to_columns]``."""

def centred_rows(X: np.ndarray, rows: np.ndarray, centre: np.ndarray, out: np.ndarray) -> None:
    """Copy the chosen rows, minus `centre`, in the precision of `out`."""

def gaussian_entries(
    inner: np.ndarray,
    row_squares: np.ndarray,
    column_squares: np.ndarray,
    out: np.ndarray,
    slots: np.ndarray,
    start: int,
) -> None:
    """Write ``exp(inner - row_squares - column_squares)`` to rows `slots` of `out`."""

def multiplies_bytes() -> bool:
    """Whether the processor has products of bytes, and this build uses them."""

def grid_codes(
    X: np.ndarray,
    lowest: np.ndarray,
    step: float,
    out: np.ndarray,
    squares: np.ndarray,
    sums: np.ndarray,
    errors: np.ndarray,
) -> None:
    """Write how many steps every value is above the lowest.

    Of these rows the squared lengths and the sums, too, and the squared distances to them:
    infinite where a byte does not hold a value.
    """

def grid_entries(
    codes: np.ndarray,
    squares: np.ndarray,
    sums: np.ndarray,
    rows: np.ndarray,
    columns: np.ndarray,
    scale: float,
    out: np.ndarray,
    slots: np.ndarray,
    to: np.ndarray,
) -> None:
    """Write ``exp(-scale * squared distance)`` to rows `slots` and columns `to` of `out`."""

def grid_square(
    codes: np.ndarray,
    squares: np.ndarray,
    sums: np.ndarray,
    rows: np.ndarray,
    scale: float,
    out: np.ndarray,
    first: int,
    last: int,
) -> None:
    """Write the entries of columns `first` to `last` among the rows: upper part and mirror."""

def add_grid(
    codes: np.ndarray,
    squares: np.ndarray,
    sums: np.ndarray,
    rows: np.ndarray,
    columns: np.ndarray,
    scale: float,
    coefficients: np.ndarray,
    out: np.ndarray,
    single: bool,
) -> None:
    """Add the same entries, in float32 or float64, times each row of coefficients, to `out`."""

def makes_products() -> bool:
    """Whether this processor has the wide registers that make `gaussian_block` fast."""

def gaussian_block(
    rows: np.ndarray,
    row_squares: np.ndarray,
    columns: np.ndarray,
    column_squares: np.ndarray,
    out: np.ndarray,
    slots: np.ndarray,
    start: int,
) -> None:
    """Write Gaussian entries of rows, times twice gamma, and columns; squares times gamma.

    To the rows `slots` of `out`, from column `start` on.
    """

def add_gaussian(
    rows: np.ndarray,
    row_squares: np.ndarray,
    columns: np.ndarray,
    column_squares: np.ndarray,
    coefficients: np.ndarray,
    out: np.ndarray,
) -> None:
    """Add sums of kernel rows to `out`: one for every row of coefficients and every column.

    The entries are ``exp(rows @ columns.T - row_squares - column_squares)``.
    """

def add_gaussian_both(
    rows: np.ndarray,
    row_squares: np.ndarray,
    columns: np.ndarray,
    column_squares: np.ndarray,
    by_row: np.ndarray,
    column_sums: np.ndarray,
    by_column: np.ndarray,
    row_sums: np.ndarray,
) -> None:
    """Add sums of such entries over the rows to `column_sums`, over the columns to `row_sums`."""

def mirror(block: np.ndarray, out: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> None:
    """Write ``out[rows, columns] = block`` and ``out[columns, rows] = block.T``."""

class ActiveSet:
    """Active-set solver of a linear SVM whose rows have their own targets and bounds.

    The first arguments hold the rows: a matrix, or CSR arrays and the number of columns.
    """

    def __init__(self, *rows_stored_sign_target_upper: object) -> None: ...
    @property
    def value(self) -> float:
        """Dual objective of the current multipliers: a lower bound."""

    @property
    def intercept(self) -> float:
        """Current intercept."""

    @property
    def work(self) -> float:
        """Multiplications so far, about."""

    def weights(self) -> np.ndarray:
        """Copy of the current weights."""

    def multipliers(self) -> np.ndarray:
        """Copy of the current multipliers."""

    def save(self) -> None:
        """Remember the current point and bounds."""

    def restore(self) -> None:
        """Go back to what was saved."""

    def bound(self, row: int, upper: float) -> None:
        """Give a row a bound above its multiplier."""

    def release(self, row: int) -> None:
        """Set the bound of a row to zero and move its multiplier there."""

    def optimise(self, ceiling: float, max_pivots: int) -> int:
        """Return 0 at the optimum, 1 once the value exceeds `ceiling`, 2 out of pivots."""

def violation_sums(
    start: np.ndarray,
    key: np.ndarray,
    role: np.ndarray,
    row: np.ndarray,
    weight: np.ndarray,
    scores: np.ndarray,
    width: float,
    vertex: np.ndarray,
    clipped: np.ndarray,
    curved: np.ndarray,
    degree: np.ndarray,
) -> tuple[float, float]:
    """Add every row's sums over its violated pairs; return the totals over the pairs."""

def partner_sums(
    start: np.ndarray,
    key: np.ndarray,
    role: np.ndarray,
    row: np.ndarray,
    weight: np.ndarray,
    scores: np.ndarray,
    width: float,
    values: np.ndarray,
    out: np.ndarray,
) -> None:
    """Add the weighted values of every row's partners within the quadratic zone."""

def topk_vertices(
    rho: np.ndarray,
    pseudo: bool,
    z: np.ndarray,
    y: np.ndarray,
    c: np.ndarray,
    label: np.ndarray,
    value: np.ndarray,
) -> float:
    """Write the best vertex of every row for the scores `z`; return the sum of losses.

    `z` is overwritten by the margins.
    """

def topk_block(
    rho: np.ndarray, pseudo: bool, a: np.ndarray, y: int, q: float, c: float, beta: np.ndarray
) -> None:
    """Solve one block exactly."""

def topk_losses(
    rho: np.ndarray,
    pseudo: bool,
    z: np.ndarray,
    y: np.ndarray,
    c: np.ndarray,
    ridge: np.ndarray,
    slack: np.ndarray,
    out: np.ndarray,
) -> None:
    """Write the losses at the scores `z`, other classes raised by `slack`; overwrites `z`."""

def topk_feasible(
    rho: np.ndarray,
    n_classes: int,
    pseudo: bool,
    c: np.ndarray,
    start: np.ndarray,
    beta: np.ndarray,
    missing: np.ndarray,
) -> None:
    """Move dual variables into their domain; `missing` bounds what rounding leaves."""

class TopKDual:
    """Dual variables of the top-k problems, a few entries per row."""

    def __init__(
        self,
        rho: np.ndarray,
        n_classes: int,
        pseudo: bool,
        y: np.ndarray,
        c: np.ndarray,
        square: np.ndarray,
        ridge: np.ndarray,
    ) -> None: ...
    def sweep_dense(
        self,
        x: np.ndarray,
        w: np.ndarray,
        bias: float,
        order: np.ndarray,
        exact: bool,
        longest: int,
    ) -> int:
        """Visit rows in order; return how many were not resting."""

    def sweep_csr(
        self,
        start: np.ndarray,
        column: np.ndarray,
        value: np.ndarray,
        w: np.ndarray,
        bias: float,
        order: np.ndarray,
        exact: bool,
        longest: int,
    ) -> int:
        """Visit rows in order; return how many were not resting."""

    def sweep_near_dense(
        self, x: np.ndarray, w: np.ndarray, bias: float, order: np.ndarray, longest: int
    ) -> tuple[int, float]:
        """Visit rows, their nearest classes only; return how many, and how much the dual rose.

        `w` has a row for each class.
        """

    def sweep_near_csr(
        self,
        start: np.ndarray,
        column: np.ndarray,
        value: np.ndarray,
        w: np.ndarray,
        bias: float,
        order: np.ndarray,
        longest: int,
    ) -> tuple[int, float]:
        """Visit sparse rows so; `w` has a row for each feature."""

    def spread(self, offset: np.ndarray, count: int) -> None:
        """Take `count` classes of each row, from its offset on, as its nearest."""

    def survey(
        self, z: np.ndarray, first: int, most: int, scales: np.ndarray, losses: np.ndarray
    ) -> tuple[float, float]:
        """Find the `most` nearest classes of the rows from `first` on; add as ``evaluate`` does.

        `z` holds their scores and is overwritten. Threads may survey different rows.
        """

    def sweep_kernel(
        self,
        kernel: np.ndarray,
        first: int,
        z: np.ndarray,
        order: np.ndarray,
        exact: bool,
        longest: int,
    ) -> int:
        """Visit rows in order; return how many were not resting."""

    def evaluate_dense(
        self, x: np.ndarray, w: np.ndarray, bias: float, scales: np.ndarray, losses: np.ndarray
    ) -> tuple[float, float]:
        """Add the losses at every scale; return the sums of alpha_y and of the ridge."""

    def evaluate_csr(
        self,
        start: np.ndarray,
        column: np.ndarray,
        value: np.ndarray,
        w: np.ndarray,
        bias: float,
        scales: np.ndarray,
        losses: np.ndarray,
    ) -> tuple[float, float]:
        """Add the losses at every scale; return the sums of alpha_y and of the ridge."""

    def evaluate_kernel(
        self, z: np.ndarray, scales: np.ndarray, losses: np.ndarray
    ) -> tuple[float, float]:
        """Add the losses at every scale; return the sums of alpha_y and of the ridge."""

    def propose(
        self, x: np.ndarray, w: np.ndarray, bias: float, gamma: float, sum: np.ndarray
    ) -> tuple[float, float, float, float]:
        """Take the proximal step aside; return losses, values, alpha_y and ridge sums."""

    def remember(self) -> None:
        """Keep the present dual point as the start of the next extrapolation."""

    def extrapolate_by_class(
        self, x: np.ndarray, sum: np.ndarray, bias: float, reach: float
    ) -> tuple[float, float, float]:
        """``extrapolate_dense`` with a row of `sum` for each class."""

    def extrapolate_dense(
        self, x: np.ndarray, sum: np.ndarray, bias: float, reach: float
    ) -> tuple[float, float, float]:
        """Propose the projection of the prolonged change since ``remember``.

        The model of the change d is added to `sum`; returns the sums of d at the true
        classes, of ridge times <alpha, d> and of ridge times the square of d.
        """

    def extrapolate_csr(
        self,
        start: np.ndarray,
        column: np.ndarray,
        value: np.ndarray,
        sum: np.ndarray,
        bias: float,
        reach: float,
    ) -> tuple[float, float, float]:
        """Propose the projection of the prolonged change since ``remember``."""

    def accept(self, step: float) -> None:
        """Move towards the last proposal, the whole way with step 1."""

    def hessian(self, x: np.ndarray, bias: float, out: np.ndarray) -> None:
        """Add the upper triangle of the generalised Hessian of the last proposal."""

    def count(self, start: np.ndarray) -> None:
        """Write where each row's entries start."""

    def read(self, label: np.ndarray, value: np.ndarray) -> None:
        """Write the entries of all rows."""

    def count_proposed(self, start: np.ndarray) -> None:
        """Write where each row's entries start in the last proposal."""

    def read_proposed(self, label: np.ndarray, value: np.ndarray) -> None:
        """Write the entries of the last proposal."""

def worst_places(positive: np.ndarray, negative: np.ndarray, place: np.ndarray) -> None:
    """Write how many positives rank above each negative where average precision suffers most.

    Both scores fall.
    """

def highest(scores: np.ndarray, position: np.ndarray) -> None:
    """Write the positions of the highest scores, as many as there is room for; ties in order."""

def worst_labels(
    positive: np.ndarray,
    negative: np.ndarray,
    numerator: np.ndarray,
    offset: np.ndarray,
    least: np.ndarray,
    weight: float,
) -> tuple[int, int]:
    """Return the right and wrong positives of the labels that suffer most; both scores fall.

    The loss of a right and b wrong ones is ``1 - numerator[a] / (b + offset[a])``.
    """

def plane_shares(
    product: np.ndarray,
    loss: np.ndarray,
    share: np.ndarray,
    tolerance: float,
    max_pivots: int,
) -> None:
    """Move the shares to the optimum over the planes, within `tolerance`."""
