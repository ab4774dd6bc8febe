"""`write_report`: the page, written whole or not at all."""

from __future__ import annotations

import os
from os import PathLike
from pathlib import Path
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
    target = Path(path)
    if target.exists() and not overwrite:
        raise FileExistsError(
            f"path={str(target)!r} exists already; pass overwrite=True to replace it, or choose "
            "another name."
        )
    html = page(shortlist, rows, title)
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        # Half a surrogate pair, as in a broken file name, has no UTF-8 form.
        part.write_text(html, encoding="utf-8", errors="xmlcharrefreplace")
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)
