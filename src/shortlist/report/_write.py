"""`write_report`: the page, written whole or not at all."""

from __future__ import annotations

from os import PathLike
from typing import Any

from ._page import page


def write_report(
    shortlist: Any,
    path: str | PathLike[str],
    *,
    rows: Any = None,
    title: str | None = None,
    overwrite: bool = False,
) -> None:
    """Write the report of a shortlist, one self-contained HTML page.

    Parameters
    ----------
    shortlist : Shortlist
        From :func:`shortlist.pick`.
    path : path
        File to write.
    rows : pandas or polars frame, default=None
        The selected rows, best first, to show in the list; the first 20 of them
        and the first 12 columns are shown.
    title : str, default=None
        Heading of the page.
    overwrite : bool, default=False
        Whether an existing file may be replaced.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn.datasets import load_breast_cancer
    >>> from shortlist import pick
    >>> from shortlist.report import write_report
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> result = pick(X[:300], y[:300], X[300:], k=50, models=["TopPush"], cv=3, repeats=1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_report(result, Path(folder) / "report.html")
    ...     (Path(folder) / "report.html").read_text("utf-8")[:15]
    '<!DOCTYPE html>'
    """
    html = page(shortlist, rows, title)
    with open(path, "w" if overwrite else "x", encoding="utf-8") as file:
        file.write(html)
