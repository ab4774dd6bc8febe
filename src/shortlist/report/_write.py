"""`write_report`: the page, written whole or not at all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._files import Outputs
from ._page import page

if TYPE_CHECKING:
    from ..picking.reasons.reasons import Reasons
    from ..picking.result import Shortlist


def write_report(
    shortlist: Shortlist,
    path: str | PathLike[str],
    *,
    rows: Any = None,
    title: str | None = None,
    overwrite: bool = False,
    columns: Sequence[Mapping[str, Any]] | None = None,
    reasons: Reasons | None = None,
    ids: Sequence[str] = (),
    importance: Any = None,
) -> None:
    """Write the report of a shortlist, one self-contained HTML page.

    Parameters
    ----------
    shortlist : Shortlist
        From :func:`shortlist.pick`.
    path : path
        File to write.
    rows : pandas or polars frame, default=None
        The selected rows, best first. Columns that name a row and those that matter most are
        shown; the others unfold with the reasons.
    title : str, default=None
        Heading of the page.
    overwrite : bool, default=False
        Whether an existing file may be replaced.
    columns : sequence of mappings, default=None
        How the columns of a file were read: name, kind, example, missing, distinct, done,
        notes. The command line passes them.
    reasons : Reasons, default=None
        Why the rows are on the list; ``shortlist.explained``.
    ids : sequence of str, default=()
        Columns that name a row: shown first.
    importance : frame, default=None
        Hits that columns are worth, from ``shortlist.importance()``.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn.datasets import load_breast_cancer
    >>> from shortlist import pick
    >>> from shortlist.report import write_report
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> result = pick(X[:300], y[:300], X[300:], k=50, models=["PatMat"], cv=3, repeats=1)
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
    html = page(shortlist, rows, title, columns, reasons, ids, importance)
    name = str(target)
    with Outputs(name, force=True) as outputs:
        # Half a surrogate pair, as in a broken file name, has no UTF-8 form.
        outputs[name].write_text(html, encoding="utf-8", errors="xmlcharrefreplace")
