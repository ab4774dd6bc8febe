"""What ``shortlist pick`` was asked to do, and whether the files allow it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .._files import Outputs
from ._lists import check_ending
from ._look import role_of
from ._tables import Table, TableError, check_file, known_encoding, listed
from ._terms import Said


@dataclass(frozen=True, kw_only=True)
class Request(Said):
    """What ``shortlist pick`` was asked to do; the names are those of its options."""

    candidates: str
    history: str
    label: str | None = None
    outcome: str | None = None
    goal: str = "sum"
    budget: int | float | None = None
    precision: float | None = None
    confidence: float | None = None
    positive: str | None = None
    output: str | None = None
    report: str | None = None
    save: str | None = None
    ids: Sequence[str] = ()
    drop: Sequence[str] = ()
    types: Sequence[str] = ()
    group: str | None = None
    keep_known: bool = False
    effort: str = "normal"
    reasons: int = 3
    encoding: str = "utf-8"
    seed: int = 0
    jobs: int = 1
    force: bool = False
    safe: bool = False
    as_json: bool = False
    title: str | None = None
    # What messages call the two files, where that is not their path.
    names: tuple[str | None, str | None] = (None, None)

    @property
    def roles(self) -> dict[str, str]:
        """Columns that models do not learn from, and what they are."""
        roles = role_of(self.label, self.ids, self.drop, self.group)
        if self.outcome is not None:
            roles[self.outcome] = "outcome"
        named = {"one per": self.one_per, "time": self.time}
        return {name: role for role, name in named.items() if name is not None} | roles

    @property
    def known(self) -> str:
        """The column that says how rows of the history turned out."""
        name = self.label if self.outcome is None else self.outcome
        assert name is not None
        return name

    @property
    def paths(self) -> list[str]:
        """Outputs in the order in which they appear: the list last."""
        return [path for path in (self.report, self.save, self.output) if path is not None]


def check_paths(request: Request) -> Outputs:
    """Say what is wrong with the names of files, before anything is read."""
    for path, ending in ((request.report, ".html"), (request.save, ".skops")):
        if path is not None and not path.lower().endswith(ending):
            raise TableError(f"{path} must end in {ending}.")
    if request.output is not None:
        check_ending(request.output)
    known_encoding(request.encoding)
    outputs = Outputs(*request.paths, force=request.force)
    for path in (request.candidates, request.history):
        if path != "-":
            check_file(path, path)
    return outputs


def check_columns(table: Table, old: Table, request: Request) -> None:
    """Say what the two files do not share."""
    group = [] if request.group is None else [request.group]
    option = "--label" if request.outcome is None else "--outcome"
    old.check_columns([request.known], f"named by {option}")
    old.check_columns(request.drop, "named by --drop")
    old.check_columns(group, "named by --group")
    named = [text.rpartition("=")[0] for text in request.types]
    old.check_columns([name for name in named if name], "named by --type")
    table.check_columns(request.ids, "named by --id")
    request.check(table, old, request.ids)
    grouped = request.group is not None or request.one_per is not None
    if request.only_new and (request.time is None or not grouped):
        raise TableError(
            "--only-new is about what was not known before a window: it needs --time, and --group "
            "or --one-per."
        )
    unused = set(request.roles)
    columns = [name for name in old.columns if name not in unused]
    if not columns:
        raise TableError(
            f"{old.name} has no column to learn from besides {listed(sorted(unused), 5)}."
        )
    has = set(table.columns)
    lacking = [name for name in columns if name not in has]
    if lacking:
        known = {*columns, *unused}
        extra = [name for name in table.columns if name not in known]
        new = f" {table.name} has {listed(extra, 5)}, which {old.name} has not." if extra else ""
        remedy = " ".join(f"--drop {name!r}" for name in lacking[:5])
        raise TableError(
            f"the columns differ: {table.name} lacks {listed(lacking, 5)} of {old.name}.{new} "
            "Give both files the same columns, or add "
            f"{remedy}{' ...' if len(lacking) > 5 else ''}."
        )
