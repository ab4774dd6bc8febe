"""What enters a certificate: proofs, never claims."""

import numpy as np
import pytest

from shortlist.certificate import CertificateError, Monitor, Proof


def monitor(**kwargs):
    return Monitor(**{"tol": 1e-3, "max_iter": 100, **kwargs})


def test_a_claim_that_is_proved_converges():
    one = monitor()
    assert one.check(1.0, 1.0 - 1e-4, lambda: Proof("model", 1.0, 1.0 - 1e-4, 1e-5))
    solution, certificate = one.conclude()
    assert (solution, certificate.status) == ("model", "converged")
    assert certificate.primal == 1.0
    assert certificate.dual == pytest.approx(1.0 - 1e-4 - 1e-5, abs=1e-12)


@pytest.mark.parametrize("gap", [1.01e-3, 5e-3, 0.05, 0.5])
def test_a_claim_that_is_not_proved_does_not(gap):
    """Neither then, nor at the end."""
    one = monitor()
    assert not one.check(1.0, 1.0, lambda: Proof("model", 1.0, 1.0 - gap))
    assert one.status is None
    assert one.goal < one.tol
    _, certificate = one.conclude()
    assert certificate.status == "stalled"
    assert certificate.relative_gap == pytest.approx(gap)


def test_a_near_miss_asks_for_a_little_more():
    """And a second one, or a wide one, for much more."""
    one = monitor()
    proofs = iter([Proof("model", 1.0, 1.0 - 1.01e-3), Proof("model", 1.0, 1.0 - 1.005e-3)])
    assert not one.check(1.0, 1.0 - 0.98e-3, lambda: next(proofs))
    assert one.goal == pytest.approx(0.94e-3)
    assert not one.check(1.0, 1.0 - 0.93e-3, lambda: next(proofs))
    assert one.goal < 0.3e-3
    wide = monitor()
    assert not wide.check(1.0, 1.0, lambda: Proof("model", 1.0, 0.9))
    assert wide.goal == pytest.approx(0.3e-3)


def test_rounding_lowers_a_bound():
    """A gap of zero with a rounding above the tolerance proves nothing."""
    one = monitor()
    assert not one.check(1.0, 1.0, lambda: Proof("model", 1.0, 1.0, rounding=0.01))
    _, certificate = one.conclude()
    assert certificate.status != "converged"
    assert certificate.dual == pytest.approx(0.99)


def test_bounds_that_cross_are_an_error():
    one = monitor()
    one.accept(Proof("good", 1.0, 0.9))
    with pytest.raises(CertificateError, match="one of the proofs is wrong"):
        one.accept(Proof("wrong", 2.0, 1.1))


def test_bounds_may_cross_by_their_rounding():
    one = monitor()
    one.accept(Proof("model", 1.0, 1.0 + 1e-6, rounding=1e-5))
    assert one.conclude()[1].gap >= 0.0


def test_the_best_proof_is_returned_with_the_best_bound():
    one = monitor()
    for proof in (Proof("a", 3.0, 1.0), Proof("b", 2.0, 0.5), Proof("c", 2.5, 1.5)):
        one.accept(proof)
    solution, certificate = one.conclude()
    assert (solution, certificate.primal, certificate.dual) == ("b", 2.0, 1.5)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_numbers_that_are_none_prove_nothing(value):
    one = monitor()
    one.accept(Proof("a", 3.0, 1.0))
    one.accept(Proof("b", value, 2.0))
    one.accept(Proof("c", 2.0, -value))
    one.accept(Proof("d", 1.0, 2.9, rounding=np.nan))
    solution, certificate = one.conclude()
    assert (solution, certificate.primal, certificate.dual) == ("c", 2.0, 1.0)


def test_a_claim_without_a_proof_is_none():
    one = monitor()
    one.accept(Proof("model", 1.0, 0.5))
    assert not one.check(1.0, 1.0, None)
    _, certificate = one.conclude()
    assert (certificate.status, certificate.dual) == ("stalled", 0.5)
    with pytest.raises(CertificateError, match="without a model"):
        monitor().conclude()


def test_the_rounding_of_the_bound_is_reported():
    """The model and the bound may come from different proofs."""
    one = monitor()
    one.accept(Proof("exact", 1.0, 0.0))
    one.accept(Proof("other", 1.5, 1.0, rounding=0.2))
    _, certificate = one.conclude()
    assert (certificate.primal, certificate.dual) == (1.0, pytest.approx(0.8))
    assert certificate.rounding == 0.2
