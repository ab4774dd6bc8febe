"""The lower bound of every rival lies below every model, however early the fit stopped."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawing import draws
from shortlist.rivals import (
    AATP,
    F1,
    ROCAUC,
    AveragePrecision,
    InfinitePush,
    LabelPrecision,
    MetricSVM,
    PartialAUC,
    PrecisionAtK,
    RecallAtK,
    TransductiveSVM,
)

METRICS = [
    PrecisionAtK(3),
    RecallAtK(3),
    PartialAUC(0.5),
    PartialAUC(1.0, 0.25),
    ROCAUC(),
    AveragePrecision(),
    F1(),
    LabelPrecision(3),
]
N, D = 12, 3

pytestmark = pytest.mark.filterwarnings("ignore")


def rows(rng):
    X = rng.normal(size=(N, D)) * rng.choice([1e-3, 1.0, 100.0])
    if rng.random() < 0.5:
        X = np.round(X)
    y = np.arange(N) % 3 == 0
    X[y, 0] += rng.choice([0.0, 1.0])
    return X, y


def models(rng, size, near):
    """Models of many lengths, and some next to the one that was found."""
    yield np.zeros(size)
    for _ in range(10):
        yield rng.normal(size=size) * 10.0 ** rng.uniform(-4, 2)
        yield near + 10.0 ** rng.uniform(-8, 0) * rng.normal(size=size)


def below(dual, value):
    assert dual <= value * (1.0 + 1e-9) + 1e-12


def hinge(margins):
    return np.maximum(1.0 - margins, 0.0)


@draws(60)
@given(st.integers(0, 10**6), st.sampled_from(METRICS), st.sampled_from([1, 4, None]))
def test_of_metrics(seed, metric, max_iter):
    rng = np.random.default_rng(seed)
    X, y = rows(rng)
    C = 10.0 ** rng.uniform(-3, 2)
    fit = MetricSVM(metric, C=C, tol=1e-6, max_iter=max_iter).fit(X, y)
    certificate = fit.certificate_
    assert (certificate.trace.dual <= certificate.primal * (1.0 + 1e-9)).all()
    near = fit.coef_[0] if metric.shift_invariant else np.append(fit.coef_[0], fit.intercept_)
    for u in models(rng, len(near), near):
        scores = X @ u[:D] + (0.0 if metric.shift_invariant else u[D])
        positive, negative = scores[y], scores[~y]
        violation = metric.worst(positive, negative).value(positive, negative)
        below(certificate.dual, 0.5 * u @ u + C * y.sum() * max(violation, 0.0))


@draws(40)
@given(st.integers(0, 10**6), st.sampled_from(["l2", "l1"]), st.sampled_from([1, 3, None]))
def test_of_the_infinite_push(seed, regularization, max_iter):
    rng = np.random.default_rng(seed)
    X, y = rows(rng)
    C = 10.0 ** rng.uniform(-3, 2)
    fit = InfinitePush(regularization, C=C, max_iter=max_iter).fit(X, y)
    for w in models(rng, D, fit.coef_[0]):
        scores = X @ w
        pairs = hinge(scores[y][:, None] - scores[~y][None, :])
        penalty = 0.5 * w @ w if regularization == "l2" else np.abs(w).sum()
        below(fit.certificate_.dual, penalty + C * pairs.sum(axis=0).max())


@draws(30)
@given(st.integers(0, 10**6), st.sampled_from([1, 3, None]))
def test_of_aatp_through_its_row(seed, max_iter):
    rng = np.random.default_rng(seed)
    X, y = rows(rng)
    sign = np.where(y, 1.0, -1.0)
    C = 10.0 ** rng.uniform(-3, 2)
    fit = AATP(0.2, C=C, max_iter=max_iter).fit(X, y)
    for w in models(rng, D, fit.coef_[0]):
        scores = (X - X[fit.boundary_]) @ w
        below(fit.certificate_.dual, 0.5 * w @ w + C * hinge(sign * scores).sum())


@draws(30)
@given(st.integers(0, 10**6), st.sampled_from([1, 3, None]))
def test_of_tsvm_with_its_balance(seed, max_iter):
    rng = np.random.default_rng(seed)
    X, y = rows(rng)
    sign = np.where(y, 1.0, -1.0)
    pool = rows(rng)[0]
    C = 10.0 ** rng.uniform(-3, 2)
    fit = TransductiveSVM(C, max_iter=max_iter).fit(X, y, candidates=pool)
    for w in models(rng, D, fit.coef_[0]):
        b = sign.mean() - pool.mean(axis=0) @ w
        unlabelled = hinge(np.abs(pool @ w + b)).sum()
        value = 0.5 * w @ w + C * hinge(sign * (X @ w + b)).sum() + C * unlabelled
        below(fit.certificate_.dual, value)
