"""Writing files so that they appear complete or not at all."""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import signal
import stat
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar

PIPE = "-"
_NOTE = ".shortlist-journal-"


class Outputs:
    """Files that appear together, when all of them are complete.

    Every file is written under another name in its own folder and renamed at the end, in the
    order given; a failure or an interrupt leaves neither a new nor a changed file. Signals that
    come while files are renamed wait until that is done. Should the process be killed between
    two renames, the last file is missing, so name the one last that others wait for; a journal
    lets the next process that writes to the folder finish what was begun. A replaced file keeps
    its rights, and a link its target.

    Parameters
    ----------
    paths : str
        Files to be written; ``"-"`` is standard output.
    force : bool
        Whether existing files may be replaced.

    Raises
    ------
    FileExistsError, OSError
        Before any work: a file exists, or its folder cannot be written to.

    Examples
    --------
    >>> import os, tempfile
    >>> from shortlist._files import Outputs
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "list.csv")
    ...     with Outputs(path) as outputs:
    ...         _ = outputs[path].write_text("a,b")
    ...         before = os.path.exists(path)
    ...     before, open(path).read()
    (False, 'a,b')
    """

    # Whether this process has published a set of files.
    published: ClassVar[bool] = False

    def __init__(self, *paths: str, force: bool = False) -> None:
        self._force = force
        self._temporary: dict[str, Path] = {}
        # A link is followed: its target is what is written.
        self._targets = {path: Path(os.path.realpath(path)) for path in paths if path != PIPE}
        _finish(self._folders)
        seen: set[Path] = set()
        for path, target in self._targets.items():
            self._check(path, target)
            if target in seen:
                raise FileExistsError(f"{path} is named twice; give every output its own file.")
            seen.add(target)
        if len(self._targets) + paths.count(PIPE) < len(paths):
            twice = next(path for path in paths if paths.count(path) > 1)
            raise FileExistsError(f"{twice} is named twice; give every output its own file.")
        self._paths = paths

    @property
    def _folders(self) -> set[Path]:
        return {target.parent for target in self._targets.values()}

    def _check(self, path: str, target: Path) -> None:
        if target.is_dir():
            raise IsADirectoryError(f"{path} is a folder; name a file in it.")
        if target.exists() and not self._force:
            raise _exists(path)
        folder = target.parent
        if not folder.is_dir():
            raise FileNotFoundError(f"the folder {folder} of {path} does not exist; create it.")
        if not os.access(folder, os.W_OK):
            raise PermissionError(f"the folder {folder} cannot be written to; choose another.")

    def __enter__(self) -> Outputs:
        # Whatever happens between here and the end, the last thing is to tidy up.
        atexit.register(self._discard)
        try:
            with _undisturbed():
                for path in self._paths:
                    self._temporary[path] = self._reserve(path)
        except BaseException:
            self._discard()
            raise
        return self

    def __getitem__(self, path: str) -> Path:
        """Where to write the content of `path`."""
        return self._temporary[path]

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if kind is None:
                self._pour()
                with _undisturbed():
                    self._publish()
        finally:
            with _undisturbed():
                self._discard()
                atexit.unregister(self._discard)

    def _reserve(self, path: str) -> Path:
        target = self._targets.get(path)
        # The ending stays: it says which format to write.
        handle, name = tempfile.mkstemp(
            prefix=".shortlist-",
            suffix=".csv" if target is None else target.suffix,
            dir=None if target is None else target.parent,
        )
        os.close(handle)
        return Path(name)

    def _pour(self) -> None:
        """Write what goes to standard output, for as long as its reader takes."""
        if PIPE in self._temporary:
            with self._temporary[PIPE].open("rb") as content:
                for piece in iter(lambda: content.read(1 << 20), b""):
                    sys.stdout.buffer.write(piece)
            sys.stdout.buffer.flush()

    def _publish(self) -> None:
        # Under a lock, so that the files of two processes do not mix.
        with _locked(self._folders):
            for path, target in self._targets.items():
                self._check(path, target)
                self._set_rights(self._temporary[path], target)
            moves = [(self._temporary[path], target) for path, target in self._targets.items()]
            if len(moves) == 1:
                self._put(*moves[0])
            else:
                self._put_all(moves)
        Outputs.published = True

    def _put_all(self, moves: list[tuple[Path, Path]]) -> None:
        placed: list[Path] = []
        try:
            with _journal(moves, self._force):
                # Never an old list beside a new report: the last goes first and comes last.
                for made, target in reversed(moves) if self._force else ():
                    with contextlib.suppress(FileNotFoundError):
                        os.replace(target, _replaced(made))
                for made, target in moves:
                    self._put(made, target)
                    placed.append(target)
                for made, _ in moves:
                    with contextlib.suppress(OSError):
                        _replaced(made).unlink()
        except BaseException:
            for target in reversed(placed):
                target.unlink(missing_ok=True)
            for made, target in moves:
                with contextlib.suppress(FileNotFoundError):
                    os.replace(_replaced(made), target)
            raise

    def _put(self, made: Path, target: Path) -> None:
        """Give a complete file its name."""
        if self._force:
            os.replace(made, target)
            return
        try:
            # Unlike a rename, a second name is refused where the first exists.
            os.link(made, target)
        except FileExistsError:
            raise _exists(target) from None
        except OSError:
            # No second names here; what was there is seen to a moment before.
            if target.exists():
                raise _exists(target) from None
            os.replace(made, target)

    def _set_rights(self, made: Path, target: Path) -> None:
        if target.exists() and self._force:
            # A replaced file keeps its rights.
            made.chmod(target.stat().st_mode & 0o7777)
        else:
            # mkstemp makes files private; an output gets the user's usual rights.
            mask = os.umask(0)
            os.umask(mask)
            made.chmod(0o666 & ~mask)

    def _discard(self) -> None:
        for temporary in self._temporary.values():
            with contextlib.suppress(FileNotFoundError):
                temporary.unlink()


@contextlib.contextmanager
def _undisturbed() -> Iterator[None]:
    """Let requests to end wait until a few renames are done.

    Handlers are exchanged rather than signals blocked: Python runs a handler in the main
    thread also when another thread got the signal.
    """
    waiting: list[int] = []
    before: dict[int, Any] = {}
    try:
        # Only the main thread may; elsewhere no handler runs.
        with contextlib.suppress(ValueError):
            for name in ("SIGINT", "SIGTERM", "SIGHUP"):
                number = getattr(signal, name, None)
                if number is not None and callable(signal.getsignal(number)):
                    before[number] = signal.signal(number, lambda number, _: waiting.append(number))
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        if waiting:
            before[waiting[0]](waiting[0], None)


def _exists(path: str | Path) -> FileExistsError:
    return FileExistsError(f"{path} exists; add --force to replace it.")


def free_names(*names: str) -> list[str]:
    """Names with the same number appended, none of which exists yet.

    Examples
    --------
    >>> from shortlist._files import free_names
    >>> free_names("surely-not-here.csv", "nor-this.html")
    ['surely-not-here.csv', 'nor-this.html']
    """
    number = 1
    found = list(names)
    while any(Path(name).exists() for name in found):
        number += 1
        found = [f"{Path(name).stem}-{number}{Path(name).suffix}" for name in names]
    return found


@contextlib.contextmanager
def spooled(path: str) -> Iterator[str]:
    """Yield a file that can be read again: `path`, or a copy of standard input for ``"-"``."""
    if path != PIPE:
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="shortlist-") as folder:
        copy = Path(folder) / "standard-input"
        with copy.open("wb") as target:
            for piece in iter(lambda: sys.stdin.buffer.read(1 << 20), b""):
                target.write(piece)
        yield str(copy)


@contextlib.contextmanager
def _locked(folders: set[Path]) -> Iterator[bool]:
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
def _journal(moves: Sequence[tuple[Path, Path]], force: bool) -> Iterator[None]:
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
    handle, name = tempfile.mkstemp(prefix=_NOTE, dir=moves[-1][1].parent)
    note = Path(name)
    try:
        with os.fdopen(handle, "w") as file:
            said = {"moves": [[str(path) for path in move] for move in moves], "force": force}
            file.write(json.dumps(said))
        yield
    finally:
        note.unlink(missing_ok=True)


def _finish(folders: set[Path]) -> None:
    """Finish what processes began in these folders that were killed on the way.

    A note is only there under the lock if its writer is dead. Whoever can write to a folder
    could leave one, so only notes of this user are believed, and only about files that such a
    process makes: hidden ones, beside the name they get.
    """
    with _locked(folders) as held:
        if not held:
            return
        for folder in folders:
            for note in folder.glob(f"{_NOTE}*"):
                with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
                    _finish_one(note)


def _finish_one(note: Path) -> None:
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
        _replaced(made).unlink(missing_ok=True)
    note.unlink()


def _replaced(made: Path) -> Path:
    """Where the file is kept that `made` replaces, until all are in place."""
    return made.with_name(f"{made.name}-before")
