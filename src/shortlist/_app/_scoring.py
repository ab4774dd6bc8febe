"""The work of ``shortlist score``."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import click
import numpy as np

from .._files import Outputs, spooled
from ._lists import Listed, check_ending, print_json, warn, write_list
from ._tables import Table, TableError, check_file, check_model, known_encoding

if TYPE_CHECKING:
    from ._model_file import SavedModel


def run_score(
    candidates: str,
    *,
    model: str,
    budget: int | float | None,
    output: str | None,
    ids: Sequence[str],
    encoding: str,
    force: bool,
    safe: bool,
    as_json: bool,
) -> None:
    """Do what ``shortlist score`` says."""
    if output is None and not as_json:
        output = "-"
    if output is not None:
        check_ending(output)
    known_encoding(encoding)
    with ExitStack() as stack:
        outputs = Outputs(*(() if output is None else (output,)), force=force)
        if candidates != "-":
            check_file(candidates, candidates)
        check_model(model)
        from ..picking.race.history import check_budget
        from ..picking.result import best_first
        from ._model_file import load_model

        saved = load_model(Path(model))
        path = stack.enter_context(spooled(candidates))
        table = Table(path, "standard input" if candidates == "-" else candidates, encoding)
        table.check_columns(ids, "named by --id")
        _check_columns(table, saved, model)
        if not table.n_rows:
            raise TableError(f"{table.name} has a line of names and no rows.")
        k = table.n_rows if budget is None else check_budget(budget, table.n_rows)
        # Ids of the history come along where the file has them.
        named = list(dict.fromkeys([*ids, *(i for i in saved.ids if i in table.columns)]))
        stack.enter_context(outputs)
        scores, notes = _scores(table, saved, model)
        for note in notes:
            warn(note)
        selected = best_first(scores, k)
        chosen = Listed(selected, scores[selected], ids=named)
        if output is not None:
            write_list(outputs[output], output, chosen.blocks(table), safe)
        listed = chosen.entries(table) if as_json else []
    if as_json:
        print_json(
            {
                "command": "score",
                "k": k,
                "candidates": table.n_rows,
                "model": saved.winner,
                "positive_label": saved.positive,
                "warnings": notes,
                "files": {"output": output},
                "list": listed,
            }
        )
    elif output != "-":
        click.echo(f"{saved.winner} ranked {table.n_rows:,} rows; the best {k:,} are in {output}.")


def _check_columns(table: Table, saved: SavedModel, model: str) -> None:
    lacking = [name for name in saved.columns.names if name not in set(table.columns)]
    if len(lacking) == 1:
        table.check_columns(lacking, f"which {model} has learned from")
    if lacking:
        listed = ", ".join(repr(name) for name in lacking[:8])
        more = f" and {len(lacking) - 8} more" if len(lacking) > 8 else ""
        raise TableError(
            f"{table.name} lacks {len(lacking)} columns that {model} has learned from: "
            f"{listed}{more}."
        )


def _scores(table: Table, saved: SavedModel, model: str) -> tuple[np.ndarray, list[str]]:
    from .._scores import positive_scores
    from ._columns import StrangeCount
    from ._model_file import ModelFileError

    parts: list[np.ndarray] = []
    for block in table.blocks():
        try:
            if not parts:
                strange = StrangeCount(saved.columns, saved.features.categories)
            typed = strange.add(saved.columns.apply(block))
            made = saved.features.make(typed).to_numpy()
            parts.append(positive_scores(saved.pipeline, made, 1))
        except (TableError, MemoryError):
            raise
        except Exception as error:
            # Parts that were read one by one need not fit together.
            raise ModelFileError(
                f"{model} cannot score rows ({type(error).__name__}): its parts do not fit "
                "together; make it again with shortlist pick --save."
            ) from error
    return np.concatenate(parts), list(strange.warnings())
