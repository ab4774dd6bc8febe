"""`ConvergenceDisplay`: how a fit closed its duality gap."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np

from ..certificate import Certificate
from ._inputs import inner_model, named_models
from ._style import COLORS, GREY, MARKERS, finish, pyplot, spread_marks

PANELS = ("objective", "gap")


class ConvergenceDisplay:
    r"""Primal value, dual value and relative gap of one or several fits.

    The optimum lies between the primal and the dual curve. The lower panel shows
    how far apart they are,

    .. math:: \mathrm{gap} = (P - D) / |P|,

    against the tolerance that was asked for. A fit with status "local" claims no
    bound: only its primal curve is drawn.

    Parameters
    ----------
    certificates : dict of str to Certificate
        The certificates by name.

    Attributes
    ----------
    axes_ : ndarray of matplotlib Axes
        One per panel.
    ax_, figure_ : matplotlib Axes and Figure
        The first panel and the figure.
    lines_ : dict
        Per name a dict with "primal", "dual" and "gap", as far as drawn.

    Examples
    --------
    >>> from shortlist.certificate import Certificate, Check, Trace
    >>> from shortlist.display import ConvergenceDisplay
    >>> checks = [Check(0.1 * i, i, 1 + 0.5**i, 1 - 0.5**i) for i in range(8)]
    >>> certificate = Certificate(
    ...     checks[-1].primal, checks[-1].dual, "max_iter", tol=1e-3, trace=Trace(tuple(checks))
    ... )
    >>> display = ConvergenceDisplay.from_certificate(certificate)
    >>> len(display.lines_[""]["gap"].get_xdata())
    8
    """

    def __init__(self, certificates: Mapping[str, Certificate]) -> None:
        self.certificates = dict(certificates)

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None, **plot_options: Any) -> Self:
        """Draw the fits of one or several estimators.

        Parameters
        ----------
        estimator : estimator or dict of str to estimator
            Fitted, with ``certificate_``, alone or inside a pipeline or a search.
        ax : matplotlib Axes or sequence of them, optional
            Where to draw.
        **plot_options : dict
            Passed to :meth:`plot`.

        Returns
        -------
        ConvergenceDisplay
        """
        models = named_models(estimator)
        found = {name: _certificate(name, model) for name, model in models.items()}
        return cls.from_certificates(found, ax=ax, **plot_options)

    @classmethod
    def from_certificate(
        cls, certificate: Certificate, *, name: str = "", ax: Any = None, **plot_options: Any
    ) -> Self:
        """Draw one certificate.

        Parameters
        ----------
        certificate : Certificate
            The ``certificate_`` of a fit.
        name : str, optional
            For the legend.
        ax : matplotlib Axes or sequence of them, optional
            Where to draw.
        **plot_options : dict
            Passed to :meth:`plot`.

        Returns
        -------
        ConvergenceDisplay
        """
        return cls.from_certificates({name: certificate}, ax=ax, **plot_options)

    @classmethod
    def from_certificates(
        cls, certificates: Mapping[str, Certificate], *, ax: Any = None, **plot_options: Any
    ) -> Self:
        """Draw several certificates together.

        Parameters
        ----------
        certificates : dict of str to Certificate
            The certificates by name.
        ax : matplotlib Axes or sequence of them, optional
            Where to draw.
        **plot_options : dict
            Passed to :meth:`plot`.

        Returns
        -------
        ConvergenceDisplay
        """
        for name, certificate in certificates.items():
            if len(certificate.trace) == 0:
                raise ValueError(
                    f"The certificate {name!r} has an empty trace, so there is nothing to draw. "
                    "Take it from a fit that ran a solver."
                )
        return cls(certificates).plot(ax=ax, **plot_options)

    def plot(self, ax: Any = None, *, x: str = "seconds", panels: Sequence[str] = PANELS) -> Self:
        """Draw the panels.

        Parameters
        ----------
        ax : matplotlib Axes or sequence of them, optional
            One per panel; new ones above each other when not given.
        x : {"seconds", "iteration"}, default="seconds"
            What runs along the bottom.
        panels : sequence of {"objective", "gap"}
            Which panels to draw.

        Returns
        -------
        ConvergenceDisplay
        """
        if x not in ("seconds", "iteration"):
            raise ValueError(f"x={x!r}: choose 'seconds' or 'iteration'.")
        if not panels or any(panel not in PANELS for panel in panels):
            raise ValueError(f"panels={panels!r}: choose some of {', '.join(PANELS)}.")
        self.axes_ = _panel_axes(ax, len(panels))
        self.lines_: dict[str, dict[str, Any]] = {name: {} for name in self.certificates}
        scale = self._x_scale(x)
        for panel, axes in zip(panels, self.axes_, strict=True):
            axes.set_xscale(scale)
            for number, (name, certificate) in enumerate(self.certificates.items()):
                draw = _draw_objective if panel == "objective" else _draw_gap
                self.lines_[name].update(draw(axes, name, certificate, x, number))
            if panel == "objective":
                axes.set_yscale(self._objective_scale())
            elif any("gap" in drawn for drawn in self.lines_.values()):
                axes.set_yscale("log")
                self._tolerances(axes)
            else:
                axes.text(0.5, 0.5, "no bound claimed", transform=axes.transAxes, ha="center")
                axes.set_yticks([])
            finish(axes, x if axes is self.axes_[-1] else "", _YLABELS[panel])
            if axes.get_legend_handles_labels()[1]:
                axes.legend(fontsize="small", framealpha=0.85)
        self.ax_, self.figure_ = self.axes_[0], self.axes_[0].figure
        return self

    def _x_scale(self, x: str) -> str:
        """Logarithmic when one fit takes more than five times as long as another."""
        ends = [float(getattr(c.trace, x)[-1]) for c in self.certificates.values()]
        return "log" if 0 < 5 * min(ends) < max(ends) else "linear"

    def _objective_scale(self) -> str:
        """Logarithmic when positive primal values span more than a factor of 30."""
        primal = np.concatenate([c.trace.primal for c in self.certificates.values()])
        primal = primal[np.isfinite(primal)]
        return "log" if len(primal) and 0 < 30 * primal.min() < primal.max() else "linear"

    def _tolerances(self, axes: Any) -> None:
        for tol in sorted({c.tol for c in self.certificates.values() if c.tol > 0}):
            axes.axhline(tol, color=GREY, linestyle=":", linewidth=1.4, label=f"tol = {tol:g}")


_YLABELS = {"objective": "objective", "gap": "relative gap"}


def _certificate(name: str, estimator: Any) -> Certificate:
    estimator = inner_model(estimator)
    if not hasattr(estimator, "certificate_"):
        raise ValueError(
            f"{name} has no certificate_. Fit it first; only shortlist's estimators have one."
        )
    return estimator.certificate_


def _panel_axes(ax: Any, number: int) -> np.ndarray:
    plt = pyplot()
    if ax is None:
        figure = plt.figure(figsize=(6.4, 0.9 + 2.3 * number), layout="constrained")
        return figure.subplots(number, 1, sharex=True, squeeze=False)[:, 0]
    axes = np.atleast_1d(np.asarray(ax, dtype=object)).ravel()
    if len(axes) != number:
        raise ValueError(
            f"ax has {len(axes)} axes for {number} panels. Give one per panel, or choose the "
            "panels, such as panels=['gap']."
        )
    return axes


def _line(axes: Any, x: np.ndarray, y: np.ndarray, number: int, dash: str, label: str) -> Any:
    shown = np.isfinite(y)
    (line,) = axes.plot(
        x[shown],
        y[shown],
        color=COLORS[number % len(COLORS)],
        linestyle=dash,
        marker=MARKERS[number % len(MARKERS)],
        markevery=spread_marks(x[shown], axes.get_xscale(), shift=number),
        markersize=4.5,
        linewidth=1.6,
        label=label,
    )
    return line


def _draw_objective(
    axes: Any, name: str, certificate: Certificate, x: str, number: int
) -> dict[str, Any]:
    trace = certificate.trace
    along = getattr(trace, x)
    prefix = f"{name} " if name else ""
    lines = {"primal": _line(axes, along, trace.primal, number, "-", prefix + "primal")}
    if certificate.status != "local":
        lines["dual"] = _line(axes, along, trace.dual, number, "--", prefix + "dual")
    return lines


def _draw_gap(
    axes: Any, name: str, certificate: Certificate, x: str, number: int
) -> dict[str, Any]:
    if certificate.status == "local":
        return {}
    trace = certificate.trace
    gap = trace.relative_gap
    gap = np.where(gap > 0, gap, np.nan)
    return {"gap": _line(axes, getattr(trace, x), gap, number, "-", name)}
