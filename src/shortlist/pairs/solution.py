"""What a solver of pairs hands back."""

from __future__ import annotations

from .spaces import Point


class BestPoint:
    """The best model so far, beginning with zero.

    A model that equals the zero model up to rounding is preferred to it: with a tiny C
    the objective cannot tell them apart, but only one of them orders anything.

    Parameters
    ----------
    zero : Point
        The zero model.
    primal : float
        Its objective.
    """

    def __init__(self, zero: Point, primal: float) -> None:
        self.point = zero
        self.primal = primal
        self._at_zero = True

    def offer(self, point: Point, primal: float) -> None:
        """Keep `point` if it is better."""
        bound = self.primal * (1.0 + 1e-12) if self._at_zero else self.primal
        if primal < bound and point.u.any():
            self.point, self.primal, self._at_zero = point, primal, False
