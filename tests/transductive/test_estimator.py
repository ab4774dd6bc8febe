"""TransductiveTopK as its users see it."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from drawing import draws
from shortlist import TransductiveTopK
from shortlist.transductive.estimator import SOLVERS, select


def data(seed=0, n=60, m=50, d=5, gap=1.0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    X = rng.normal(size=(n, d)) + gap * y[:, None]
    return X, y, rng.normal(size=(m, d)) + gap * (rng.random(m) < 0.5)[:, None]


def check_promises(model, candidates, k):
    scores = model.decision_function(candidates)
    assert len(model.selected_) == k
    assert len(set(model.selected_.tolist())) == k
    assert int((scores > 0.0).sum()) <= k
    np.testing.assert_allclose(model.scores_, scores, atol=1e-9 * np.abs(scores).max())
    chosen = model.scores_[model.selected_]
    tolerance = 2e-9 * np.abs(scores).max()
    assert (np.diff(chosen) <= tolerance).all()
    others = np.delete(model.scores_, model.selected_)
    if len(others):
        assert chosen.min() >= others.max() - tolerance
    assert model.objective_ == model.certificate_.primal
    assert model.certificate_.dual <= model.objective_ * (1.0 + 1e-9)


@pytest.mark.parametrize("method", SOLVERS)
@pytest.mark.parametrize(("k", "places"), [(4, 4), (0.1, 3), (1, 1), (22, 22)])
def test_exactly_k_candidates_are_selected(method, k, places):
    X, y, candidates = data(m=22, d=2)
    model = TransductiveTopK(k, solver=method, tol=1e-3).fit(X, y, candidates)
    check_promises(model, candidates, places)
    assert model.k_ == places
    assert model.certificate_.status in ("local", "converged")


@draws(60)
@given(
    seed=st.integers(0, 2**32 - 1),
    method=st.sampled_from(["swap", "feasible_direction"]),
    ugly=st.sampled_from(["none", "rounded", "one candidate", "constant", "huge", "tiny"]),
    own=st.booleans(),
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_promises_hold_on_ugly_data(seed, method, ugly, own):
    rng = np.random.default_rng(seed)
    n, m, d = int(rng.integers(2, 25)), int(rng.integers(1, 25)), int(rng.integers(1, 6))
    X, y, candidates = data(seed, n, m, d)
    if ugly == "rounded":
        X, candidates = np.round(X), np.round(candidates)
    elif ugly == "one candidate":
        candidates[:] = candidates[0]
    elif ugly == "constant":
        X[:], candidates[:] = 1.0, 1.0
    elif ugly in ("huge", "tiny"):
        scale = 1e6 if ugly == "huge" else 1e-6
        X, candidates = scale * X, scale * candidates
    pool = X if own else candidates
    k = int(rng.integers(1, len(pool) + 1))
    model = TransductiveTopK(k, solver=method, restarts=1)
    model.fit(X, y, None if own else candidates)
    check_promises(model, pool, k)


def test_weights_are_multiplicities():
    X, y, candidates = data(1)
    weight = np.random.default_rng(0).integers(0, 4, len(y))
    repeated = np.repeat(np.arange(len(y)), weight)
    shuffled = np.random.default_rng(1).permutation(repeated)
    for pool in (candidates, None):
        weighted = TransductiveTopK(6).fit(X, y, pool, sample_weight=weight)
        plain = TransductiveTopK(6).fit(X[shuffled], y[shuffled], pool)
        np.testing.assert_array_equal(weighted.coef_, plain.coef_)
        np.testing.assert_array_equal(weighted.intercept_, plain.intercept_)
    assert weight[weighted.selected_].min() >= 1
    taken = weight[weighted.selected_].sum()
    assert taken - weight[weighted.selected_[-1]] < 6 <= taken


def test_order_of_rows_and_candidates_does_not_matter():
    X, y, candidates = data(2)
    rng = np.random.default_rng(0)
    rows, places = rng.permutation(len(X)), rng.permutation(len(candidates))
    model = TransductiveTopK(5).fit(X, y, candidates)
    moved = TransductiveTopK(5).fit(X[rows], y[rows], candidates[places])
    np.testing.assert_array_equal(model.coef_, moved.coef_)
    assert set(model.selected_) == set(places[moved.selected_])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", ["dense", "csr", "mixed", "fortran", "pandas", "polars"])
def test_every_kind_of_table_gives_the_same_list(dtype, kind):
    X, y, candidates = (part.astype(dtype) for part in data(3))
    reference = TransductiveTopK(5).fit(X.astype(float), y, candidates.astype(float))
    names = [f"f{i}" for i in range(X.shape[1])]
    tables = {
        "dense": (X, candidates),
        "csr": (sparse.csr_array(X), sparse.csr_matrix(candidates)),
        "mixed": (sparse.csr_matrix(X), candidates),
        "fortran": (np.asfortranarray(X), sparse.csr_array(candidates)),
        "pandas": (pd.DataFrame(X, columns=names), pd.DataFrame(candidates, columns=names)),
        "polars": (pl.DataFrame(X, schema=names), pl.DataFrame(candidates, schema=names)),
    }
    model = TransductiveTopK(5).fit(tables[kind][0], y, tables[kind][1])
    np.testing.assert_allclose(model.objective_, reference.objective_, rtol=1e-6)
    np.testing.assert_array_equal(model.selected_, reference.selected_)
    np.testing.assert_allclose(model.coef_, reference.coef_, rtol=1e-4, atol=1e-6)


def test_string_labels_and_prediction_of_other_rows():
    X, y, candidates = data(4)
    labels = np.array(["no", "yes"])[y]
    model = TransductiveTopK(5).fit(X, labels, candidates)
    assert model.classes_.tolist() == ["no", "yes"]
    other = np.random.default_rng(9).normal(size=(20, X.shape[1]))
    scores = other @ model.coef_[0] + model.intercept_[0]
    np.testing.assert_allclose(model.decision_function(other), scores)
    np.testing.assert_array_equal(model.predict(other) == "yes", scores > 0.0)


def test_fewer_positive_candidates_than_k_give_the_proven_svm():
    X, y, candidates = data(5)
    candidates = candidates - 5.0
    model = TransductiveTopK(10).fit(X, y, candidates)
    assert model.certificate_.status == "converged"
    assert model.certificate_.relative_gap <= 1e-9
    check_promises(model, candidates, 10)
    free = TransductiveTopK(len(candidates)).fit(X, y, candidates)
    assert model.objective_ == pytest.approx(free.objective_, rel=1e-9)


def test_ties_at_the_cut_are_reported_and_go_to_the_first():
    X, y, candidates = data(6, m=8)
    candidates = np.repeat(candidates[:2], 4, axis=0)
    model = TransductiveTopK(2).fit(X, y, candidates)
    top = 0 if model.scores_[0] > model.scores_[4] + 1e-9 else 4
    if abs(model.scores_[0] - model.scores_[4]) <= 1e-9:
        assert model.selected_.tolist() == [0, 1]
        assert model.tied_.tolist() == list(range(8))
    else:
        assert model.selected_.tolist() == [top, top + 1]
        assert model.tied_.tolist() == [top, top + 1, top + 2, top + 3]
    assert not len(TransductiveTopK(3).fit(*data(6)).tied_)


def test_select():
    scores = np.array([1.0, 3.0, 1.0 + 1e-14, -2.0])
    selected, tied = select(scores, np.ones(4), 2)
    assert selected.tolist() == [1, 0]
    assert tied.tolist() == [0, 2]
    selected, tied = select(scores, np.array([1.0, 0.0, 1.0, 1.0]), 2)
    assert selected.tolist() == [0, 2]
    assert not len(tied)
    selected, _ = select(scores, np.array([1.0, 3.0, 1.0, 1.0]), 2)
    assert selected.tolist() == [1]
    assert select(np.zeros(3), np.ones(3), 3)[0].tolist() == [0, 1, 2]


def test_a_time_limit_warns_with_the_gap():
    X, y, candidates = data(7, n=300, m=300, d=20)
    with pytest.warns(ConvergenceWarning, match="time_limit"):
        model = TransductiveTopK(10, time_limit=1e-9).fit(X, y, candidates)
    check_promises(model, candidates, 10)


def test_a_time_limit_holds_within_the_first_quadratic_programme():
    X, y, candidates = data(7, n=3000, m=300, d=40, gap=0.2)
    best = TransductiveTopK(10, restarts=0).fit(X, y, candidates)
    for solver in ("swap", "feasible_direction"):
        model = TransductiveTopK(10, solver=solver, time_limit=1e-3)
        with pytest.warns(ConvergenceWarning, match="time_limit"):
            model.fit(X, y, candidates)
        check_promises(model, candidates, 10)
        assert model.n_iter_ <= 1
        assert model.certificate_.dual <= best.certificate_.dual < best.objective_


def test_nothing_the_user_passed_is_modified():
    X, y, candidates = data(8)
    weight = np.ones(len(y))
    copies = [part.copy() for part in (X, y, candidates, weight)]
    for part in (X, y, candidates, weight):
        part.setflags(write=False)
    model = TransductiveTopK(4)
    parameters = clone(model).get_params()
    model.fit(X, y, candidates, weight)
    assert model.get_params() == parameters
    for part, copy in zip((X, y, candidates, weight), copies, strict=True):
        np.testing.assert_array_equal(part, copy)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"k": 0}, "k must be"),
        ({"k": 51}, "k=51 exceeds the 50 candidates"),
        ({"k": 1.5}, "k must be an integer of at least 1 or a fraction"),
        ({"C": 0.0}, "C must be"),
        ({"solver": "magic"}, "solver must be one of 'auto', 'swap'"),
        ({"restarts": -1}, "restarts must be an integer at least 0"),
        ({"time_limit": 0.0}, "time_limit must be"),
        ({"tol": 0.0}, "tol must be"),
    ],
)
def test_errors_name_the_parameter(parameters, message):
    X, y, candidates = data()
    with pytest.raises(ValueError, match=message):
        TransductiveTopK(**parameters).fit(X, y, candidates)


def test_candidates_must_have_the_same_columns():
    X, y, candidates = data()
    with pytest.raises(ValueError, match="features"):
        TransductiveTopK(3).fit(X, y, candidates[:, :3])
