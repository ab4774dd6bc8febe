"""Exact projections: pure functions."""

from __future__ import annotations

import numpy as np

from .. import _core


def project_balanced(
    a: np.ndarray,
    b: np.ndarray,
    *,
    upper: np.ndarray | None = None,
    cap: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    r"""Project onto the dual feasible set of a top-of-the-list problem.

    .. math:: \min \|\alpha - a\|^2 + \|\beta - b\|^2 \quad \text{subject to} \quad
              \textstyle\sum\alpha = \sum\beta = S, \; 0 \le \alpha_i \le u_i, \;
              0 \le \beta_j \le \pi_j S

    in expected linear time. Without bounds this is Algorithm 2 of Li, Jin and Zhou,
    "Top rank optimization in linear time" (2014), corrected: as printed it can loop
    for ever or return a wrong point.

    Parameters
    ----------
    a, b : ndarray
        The point to project.
    upper : ndarray or None
        :math:`u`, bounds of :math:`\alpha`.
    cap : ndarray or None
        :math:`\pi`, bounds of :math:`\beta` as shares of the total; their sum must
        be at least 1.

    Returns
    -------
    alpha, beta : ndarray
        The nearest feasible point.

    Examples
    --------
    >>> import numpy as np
    >>> from shortlist.top.projections import project_balanced
    >>> project_balanced(np.array([1.0]), np.array([1.0, -0.5]))
    (array([1.]), array([1., 0.]))
    """
    a = np.ascontiguousarray(a, dtype=np.float64)
    b = np.ascontiguousarray(b, dtype=np.float64)
    if upper is not None:
        upper = np.ascontiguousarray(upper, dtype=np.float64)
    if cap is not None:
        cap = np.ascontiguousarray(cap, dtype=np.float64)
        if cap.sum() < 1.0 - 1e-12:
            raise ValueError(f"cap must sum to at least 1, got {cap.sum():g}")
    alpha, beta = np.empty_like(a), np.empty_like(b)
    _core.project_balanced(a, upper, b, cap, alpha, beta)
    return alpha, beta
