"""Numbers as they are written everywhere: in verdicts, tables, reports and on terminals."""

from __future__ import annotations

import math


def fixed(value: float, decimals: int) -> str:
    """Write a number with separators of thousands; halves go to the even neighbour.

    Examples
    --------
    >>> from shortlist._written import fixed
    >>> fixed(12345.65, 1), fixed(-0.04, 1), fixed(2.5, 0)
    ('12,345.6', '0.0', '2')
    """
    return f"{rounded(value, decimals):,.{decimals}f}"


def rounded(value: float, decimals: int) -> float:
    """Round as :func:`fixed` writes: sums that should be equal are, and zero has no sign."""
    scale = 10**decimals
    return round(round(value, 9) * scale) / scale + 0.0


def percent(share: float) -> str:
    """Write a share: about two digits, never more than two decimals.

    Examples
    --------
    >>> from shortlist._written import percent
    >>> percent(0.3), percent(0.0123), percent(0.0004), percent(0)
    ('30 %', '1.2 %', '0.04 %', '0 %')
    """
    value = 100 * share
    if not value:
        return "0 %"
    return f"{fixed(value, 0 if value >= 9.95 else 1 if value >= 0.995 else 2)} %"


def hit_decimals(expected: float) -> int:
    """Decimals for a list with so many hits: whole ones from ten on, tenths below."""
    return 0 if expected >= 9.95 else 1


def sum_decimals(value: float) -> int:
    """Decimals for a sum of this size: three digits or more."""
    size = abs(value)
    return 0 if not math.isfinite(size) or size >= 99.95 else 1 if size >= 9.995 else 2


def amount(value: float, like: float | None = None) -> str:
    """Write a sum with three digits or more, or with as many decimals as another one has.

    Examples
    --------
    >>> from shortlist._written import amount
    >>> amount(41234.6), amount(3.14159), amount(-0.05), amount(3.14159, like=120.0)
    ('41,235', '3.14', '-0.05', '3')
    """
    return fixed(value, sum_decimals(value if like is None else like))
