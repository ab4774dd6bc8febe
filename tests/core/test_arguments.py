"""Every compiled function refuses arrays of a wrong type, size or content."""

import numpy as np
import pytest
from scipy import sparse

from shortlist import RankSVM, TopKSVC, TopPush, TransductiveTopK, _core

from .calls import BARE, CALLS
from .made import D, N, active_set, dual

CASES = [pytest.param(call, id=f"{call.name}-{i}") for i, call in enumerate(CALLS)]


def refused(call, changed):
    """Whether the call is refused cleanly; it may also return, but nothing else."""
    try:
        call(**changed)
    except (ValueError, TypeError):
        return True
    return False


def public(owner):
    return {name for name in vars(owner) if not name.startswith("_")}


def test_every_function_has_a_call():
    names = public(_core) | public(_core.TopKDual) | public(_core.ActiveSet)
    names |= public(_core.GaussianRows64)
    assert names == {call.name for call in CALLS} | BARE


@pytest.mark.parametrize("call", CASES)
def test_the_call_itself_is_valid(call):
    call()


@pytest.mark.parametrize("call", CASES)
def test_outputs_are_not_converted(call):
    for name in call.written:
        array = call.arguments[name]
        other = np.float32 if array.dtype != np.float32 else np.float64
        if call.name in ("centred_rows", "grid_entries", "grid_square"):  # write either precision
            other = np.float16
        with pytest.raises(TypeError):
            call(**{name: array.astype(other)})
        wide = np.zeros((*array.shape[:-1], 2 * array.shape[-1]), array.dtype)
        if array.size:
            with pytest.raises(TypeError):
                call(**{name: wide[..., ::2]})  # a copy of it would be lost
            frozen = array.copy()
            frozen.flags.writeable = False
            with pytest.raises(TypeError):
                call(**{name: frozen})


@pytest.mark.parametrize("call", CASES)
def test_indices_are_not_converted(call):
    for name in call.indices:
        with pytest.raises(TypeError):
            call(**{name: call.arguments[name].astype(np.float64)})


@pytest.mark.parametrize("call", CASES)
def test_sizes_are_checked(call):
    for name, array in call.arrays().items():
        for axis in range(array.ndim):
            # Shorter by one, empty, longer by one: refused, or it makes a smaller problem
            # that is sound in itself. Under the sanitizers a read outside would end the run.
            for changed in (
                np.delete(array, -1, axis) if array.shape[axis] else array,
                np.take(array, [], axis),
                np.concatenate([array, np.take(array, [-1], axis)], axis)
                if array.shape[axis]
                else np.zeros(3, array.dtype),
            ):
                if changed.shape == array.shape:
                    continue
                if not refused(call, {name: np.ascontiguousarray(changed)}):
                    assert (call.name, name, axis) in SMALLER, (name, axis, changed.shape)


# A shorter list of rows to visit, or a matrix with more room than needed, is no mistake.
SMALLER = {
    *(("GaussianRows32", name, axis) for name, axis in (("x", 1), ("memory", 0))),
    *(("GaussianRows64", name, axis) for name, axis in (("x", 1), ("memory", 0))),
    ("column_ranges", "rows", 0),
    ("worst_places", "positive", 0),
    ("highest", "scores", 0),
    ("highest", "position", 0),
    ("worst_labels", "negative", 0),
    ("plane_shares", "product", 0),
    ("plane_shares", "product", 1),
    ("add_rows", "rows", 0),
    ("add_rows", "rows", 1),
    ("add_rows", "out", 0),
    ("gather", "source", 0),
    ("gather", "source", 1),
    ("gather", "out", 0),
    ("gather", "out", 1),
    ("centred_rows", "X", 0),
    ("gaussian_entries", "out", 0),
    ("gaussian_block", "out", 0),
    ("gaussian_block", "out", 1),
    ("grid_entries", "out", 0),
    ("grid_entries", "out", 1),
    ("grid_square", "rows", 0),
    ("grid_square", "out", 0),
    ("grid_square", "out", 1),
    ("gaussian_entries", "out", 1),
    ("pair_steps", "gram", 0),
    ("pair_steps", "gram", 1),
    ("drop", "values", 0),
    ("drop", "skipped", 0),
    ("violation_sums", "start", 0),
    ("partner_sums", "start", 0),
    ("sweep_dense", "order", 0),
    ("sweep_csr", "order", 0),
    ("sweep_near_dense", "order", 0),
    ("sweep_near_csr", "order", 0),
    ("survey", "z", 0),
    ("sweep_kernel", "order", 0),
    ("sweep_kernel", "kernel", 0),
    ("topk_vertices", "z", 1),
    ("TopKDual", "rho", 0),
    ("topk_block", "rho", 0),
    ("topk_losses", "rho", 0),
    ("topk_losses", "z", 1),
    ("topk_feasible", "rho", 0),
    ("topk_feasible", "beta", 0),
    # CSR arrays do not tell how wide their matrix is.
    ("check_csr", "start", 0),
    ("csr_scores", "w", 0),
    ("csr_combine", "out", 0),
    ("csr_combines", "out", 0),
    ("sweep_csr", "w", 0),
    ("sweep_near_csr", "w", 0),
    ("evaluate_csr", "w", 0),
    ("extrapolate_csr", "sum", 0),
    ("ActiveSet", "X", 0),
    ("ActiveSet", "X", 1),
    ("ActiveSet", "start", 0),
}


@pytest.mark.parametrize("value", [-1, -(2**31), 10**6, 2**31 - 1])
@pytest.mark.parametrize("call", CASES)
def test_indices_are_checked(call, value):
    for name in call.indices:
        if name in ("key", "role"):  # compared, never used as a position
            continue
        for at in (0, -1):
            changed = call.arguments[name].copy()
            changed[at] = value
            if at == 0 and value > 0 and name == "start":
                continue  # falls afterwards: below
            with pytest.raises(ValueError, match=r"must"):
                call(**{name: changed})


@pytest.mark.parametrize("call", CASES)
def test_starts_must_not_fall(call):
    if "start" in call.indices:
        changed = call.arguments["start"].copy()
        changed[1] = 10**6
        with pytest.raises(ValueError, match="start must not fall"):
            call(start=changed)


@pytest.mark.parametrize("call", CASES)
def test_numbers_that_are_none_do_no_harm(call):
    for name, array in call.arrays().items():
        if array.dtype.kind != "f" or not array.size:
            continue
        for value in (np.nan, np.inf, -np.inf, 1e308):
            with np.errstate(all="ignore"):
                refused(call, {name: np.full_like(array, value)})


def test_errors_name_the_argument():
    call = next(call for call in CALLS if call.name == "csr_scores")
    with pytest.raises(ValueError, match=r"out must hold 12 values, got 3"):
        call(out=np.zeros(3))
    column = call.arguments["column"].copy()
    column[1] = 9
    with pytest.raises(ValueError, match=r"column must lie between 0 and 5 .*got 9 at position 1"):
        call(column=column)


def test_a_matrix_without_columns():
    none, start = np.zeros(0), np.zeros(4, np.int32)
    out = np.full(3, np.nan)
    _core.csr_scores(start, np.zeros(0, np.int32), none, none, out)
    assert (out == 0.0).all()
    with pytest.raises(ValueError, match="column must lie"):
        _core.csr_scores(np.array([0, 1, 1, 1], np.int32), start[:1], np.ones(1), none, out)


def test_keys_must_not_fall():
    call = next(call for call in CALLS if call.name == "violation_sums")
    with pytest.raises(ValueError, match="key must not fall"):
        call(key=call.arguments["key"][::-1].copy())


def test_skipped_must_rise():
    with pytest.raises(ValueError, match="skipped must rise"):
        _core.drop(np.zeros(5), np.array([2, 2]))


@pytest.mark.parametrize("mode", [-1, 4])
def test_mode_of_pair_steps(mode):
    call = next(call for call in CALLS if call.name == "pair_steps")
    with pytest.raises(ValueError, match="mode must be"):
        call(mode=mode)


def test_pair_steps_without_variables():
    call = next(call for call in CALLS if call.name == "pair_steps")
    none = np.zeros(0)
    nothing = dict.fromkeys(("alpha", "ridge", "upper", "beta", "omega"), none)
    assert call(**nothing, seed=3) == call(**nothing) == (0, False)


def test_long_and_short_row_numbers_agree():
    call = next(call for call in CALLS if call.name == "violation_sums")
    short, long = np.zeros(N), np.zeros(N)
    total = call(vertex=short)
    wide = {k: call.arguments[k].astype(np.int64) for k in ("key", "row")}
    assert call(vertex=long, **wide) == total
    np.testing.assert_array_equal(short, long)
    with pytest.raises(TypeError):
        call(key=wide["key"])


def test_dual_in_the_wrong_order():
    x, W = np.zeros((N, D)), np.zeros((D, 4))
    fresh = dual()
    with pytest.raises(ValueError, match="remember"):
        fresh.extrapolate_dense(x, W, 0.0, 1.0)
    with pytest.raises(ValueError, match="before accept"):
        fresh.accept(1.0)
    with pytest.raises(ValueError, match="before hessian"):
        fresh.hessian(x, 0.0, np.zeros((4 * D, 4 * D)))


@pytest.mark.parametrize("row", [-1, N, 2**40])
def test_rows_of_an_active_set(row):
    qp = active_set()
    with pytest.raises(ValueError, match="row must lie"):
        qp.bound(row, 1.0)
    with pytest.raises(ValueError, match="row must lie"):
        qp.release(row)


def test_restore_needs_a_save():
    qp = _core.ActiveSet(np.ones((2, 1)), np.arange(2), np.array([1.0, -1.0]), *np.ones((2, 2)))
    with pytest.raises(ValueError, match="save before restore"):
        qp.restore()


def test_deadline_is_a_number():
    with pytest.raises(ValueError, match="nan"):
        _core.set_deadline(np.nan)
    with pytest.raises(TypeError):
        _core.set_deadline("soon")


ESTIMATORS = [
    TopPush(k=3),
    TopPush(kernel="rbf"),
    RankSVM(),
    TopKSVC(k=1),
    TransductiveTopK(k=3),
]


@pytest.mark.parametrize("model", ESTIMATORS, ids=repr)
@pytest.mark.parametrize("spoil", ["column", "negative", "start"])
def test_fit_refuses_a_broken_sparse_matrix(model, spoil):
    rng = np.random.default_rng(0)
    X = sparse.random(40, 6, density=0.5, random_state=rng, format="csr")
    X.sort_indices()
    if spoil == "start":
        X.indptr[-1] += 1000
    else:
        X.indices[-1] = 10**7 if spoil == "column" else -5
    X.has_sorted_indices = X.has_canonical_format = True
    with pytest.raises(ValueError, match=r"CSR|ind(ptr|ices|ex)"):
        model.fit(X, np.arange(40) % 2)
