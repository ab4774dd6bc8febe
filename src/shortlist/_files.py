"""Writing files so that they appear complete or not at all."""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar

PIPE = "-"


class Outputs:
    """Files that appear together, when all of them are complete.

    Every file is written under another name in its own folder and renamed at the end, in the
    order given; a failure or an interrupt leaves neither a new nor a changed file. Signals that
    come while files are renamed wait until that is done. Should the process be killed between
    two renames, the last file is still missing or old: name the one last that others wait for.
    A replaced file keeps its rights, and a link its target.

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

    def _check(self, path: str, target: Path) -> None:
        if target.is_dir():
            raise IsADirectoryError(f"{path} is a folder; name a file in it.")
        if target.exists() and not self._force:
            raise FileExistsError(f"{path} exists; add --force to replace it.")
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
        with _locked({target.parent for target in self._targets.values()}):
            for path, target in self._targets.items():
                self._check(path, target)
            undo: list[tuple[Path, Path | None]] = []
            try:
                for path, target in self._targets.items():
                    undo.append((target, self._put(path, self._temporary[path], target)))
            except BaseException:
                for target, before in reversed(undo):
                    if before is None:
                        target.unlink(missing_ok=True)
                    else:
                        os.replace(before, target)
                raise
            for _, before in undo:
                if before is not None:
                    before.unlink(missing_ok=True)
        Outputs.published = True

    def _put(self, path: str, temporary: Path, target: Path) -> Path | None:
        """Move a file to its place; return where the one is that was there before."""
        if target.exists() and self._force:
            # A replaced file keeps its rights.
            temporary.chmod(target.stat().st_mode & 0o7777)
            before = temporary.with_name(f"{temporary.name}-before")
            try:
                os.link(target, before)
            except OSError:
                # Where files have no second name, what was there cannot be brought back.
                os.replace(temporary, target)
                return None
            os.replace(temporary, target)
            return before
        # mkstemp makes files private; an output gets the user's usual rights.
        mask = os.umask(0)
        os.umask(mask)
        temporary.chmod(0o666 & ~mask)
        try:
            # Unlike a rename, a second name is refused where the first exists.
            os.link(temporary, target)
        except FileExistsError:
            raise FileExistsError(f"{path} exists; add --force to replace it.") from None
        except OSError:
            os.replace(temporary, target)
        return None

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


@contextlib.contextmanager
def _locked(folders: set[Path]) -> Iterator[None]:
    """Hold a lock on folders, where the system has such; always in one order."""
    try:
        import fcntl
    except ImportError:
        yield
        return
    with contextlib.ExitStack() as stack:
        for folder in sorted(folders):
            try:
                handle = os.open(folder, os.O_RDONLY)
            except OSError:
                continue
            stack.callback(os.close, handle)
            with contextlib.suppress(OSError):
                fcntl.flock(handle, fcntl.LOCK_EX)
        yield


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
