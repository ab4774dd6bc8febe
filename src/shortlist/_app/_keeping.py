"""Whether a list kept the promise of the model that made it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ._ledger import Ledger, compare, digest
from ._lists import warn
from ._model_file import SavedModel, load_model
from ._tables import TableError, check_file


def load_promise(against: str) -> SavedModel:
    """Return a saved model that carries a promise."""
    check_file(against, against)
    saved = load_model(Path(against))
    if saved.promises is None:
        raise TableError(
            f"{against} holds no promise: its outcomes are numbers, or it was made by an earlier "
            "version. For labels, make it again with shortlist pick --save."
        )
    return saved


def keep_promise(
    scored: str,
    against: str,
    saved: SavedModel,
    log: str | None,
    found: float,
    k: int,
    listed: int,
    label: str,
    positive: str,
) -> tuple[dict[str, Any], list[str]]:
    """Compare a list with its promise; append it to a ledger and read what that says.

    Parameters
    ----------
    scored : str
        The list.
    against : str
        The model file.
    saved : SavedModel
        What it holds.
    log : str or None
        The ledger.
    found : float
        Hits among the first `k` rows.
    k, listed : int
        Rows that are judged, and rows of the file. A file with more rows than are judged holds
        the candidates; one with as many is the list.
    label, positive : str
        Name of the label's column, and the label that was looked for.

    Returns
    -------
    tuple
        Plain values for programs, and lines for people.
    """
    assert saved.promises is not None
    if (saved.label, saved.positive) != (label, positive):
        warn(
            f"the model looked for {saved.positive!r} in {saved.label!r}, and the outcomes are "
            f"{positive!r} in {label!r}: they may not be about the same thing."
        )
    kept = compare(saved.promises.at(k, listed if listed > k else None), found)
    values: dict[str, Any] = {"promise": kept.record()}
    lines = [str(kept)]
    if log is not None:
        ledger = Ledger(Path(log))
        # What is piped in has no name that would tell it from the next list.
        name = "standard input" if scored == "-" else scored
        content = "-" if scored == "-" else digest(Path(scored))
        if not ledger.add(kept, Path(name).name, f"{content}:{k}", digest(Path(against))):
            warn(f"{log} holds this list of this model already; it is not added again.")
        text, decay = ledger.verdict()
        lines.append(text)
        values["ledger"] = {
            "file": log,
            "lists": len(ledger.lines),
            "evidence": decay.evidence[-1],
            "noticed": decay.noticed,
            "text": text,
        }
    return values, lines
