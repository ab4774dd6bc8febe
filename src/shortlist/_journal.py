"""What a process was about to put in place, so that the next one can finish it."""

from __future__ import annotations

import contextlib
import json
import os
import stat
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

_BEGINS = ".shortlist-journal-"


@contextlib.contextmanager
def locked(folders: set[Path]) -> Iterator[bool]:
    """Hold a lock on folders, always in one order; say whether the system has such locks."""
    try:
        import fcntl
    except ImportError:
        yield False
        return
    held = True
    with contextlib.ExitStack() as stack:
        for folder in sorted(folders):
            try:
                handle = os.open(folder, os.O_RDONLY)
                stack.callback(os.close, handle)
                fcntl.flock(handle, fcntl.LOCK_EX)
            except OSError:
                held = False
        yield held


@contextlib.contextmanager
def journal(moves: Sequence[tuple[Path, Path]], force: bool) -> Iterator[None]:
    """Keep a note of files that are about to get their names, until all have them.

    Parameters
    ----------
    moves : sequence of (Path, Path)
        Complete files under their other names, and the names that they will have.
    force : bool
        Whether files that exist may be replaced.
    """
    if len(moves) < 2:
        # One rename is all or nothing by itself.
        yield
        return
    handle, name = tempfile.mkstemp(prefix=_BEGINS, dir=moves[-1][1].parent)
    note = Path(name)
    try:
        with os.fdopen(handle, "w") as file:
            said = {"moves": [[str(path) for path in move] for move in moves], "force": force}
            file.write(json.dumps(said))
        yield
    finally:
        note.unlink(missing_ok=True)


def finish(folders: set[Path]) -> None:
    """Finish what processes began in these folders that were killed on the way.

    A note is only there under the lock if its writer is dead. Whoever can write to a folder
    could leave one, so only notes of this user are believed, and only about files that such a
    process makes: hidden ones, beside the name they get.
    """
    with locked(folders) as held:
        if not held:
            return
        for folder in folders:
            for note in folder.glob(f"{_BEGINS}*"):
                with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
                    _finish(note)


def _finish(note: Path) -> None:
    state = note.lstat()
    if state.st_uid != os.geteuid() or not stat.S_ISREG(state.st_mode) or state.st_mode & 0o077:
        return
    try:
        said = json.loads(note.read_text())
    except ValueError:
        # Killed while it was written: no name was given yet.
        said = {"moves": [], "force": False}
    for made, target in [(Path(made), Path(target)) for made, target in said["moves"]]:
        if made.parent != target.parent or not made.name.startswith(".shortlist-"):
            return
        if made.is_file():
            if said["force"] or not target.exists():
                os.replace(made, target)
            made.unlink(missing_ok=True)
        replaced(made).unlink(missing_ok=True)
    note.unlink()


def replaced(made: Path) -> Path:
    """Where the file is kept that `made` replaces, until all are in place."""
    return made.with_name(f"{made.name}-before")
