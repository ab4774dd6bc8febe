"""Writing files so that they appear complete or not at all."""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType

PIPE = "-"


class Outputs:
    """Files that appear together, when all of them are complete.

    Every file is written under another name in its own folder and renamed at the end;
    a failure or an interrupt leaves neither a new nor a changed file.

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

    def __init__(self, *paths: str, force: bool = False) -> None:
        self._force = force
        self._temporary: dict[str, Path] = {}
        seen: set[Path] = set()
        for path in paths:
            if path == PIPE:
                continue
            self._check(Path(path))
            if Path(path).resolve() in seen:
                raise FileExistsError(f"{path} is named twice; give every output its own file.")
            seen.add(Path(path).resolve())
        self._paths = paths

    def _check(self, path: Path) -> None:
        if path.is_dir():
            raise IsADirectoryError(f"{path} is a folder; name a file in it.")
        if path.exists() and not self._force:
            raise FileExistsError(f"{path} exists; add --force to replace it.")
        folder = path.parent
        if not folder.is_dir():
            raise FileNotFoundError(f"the folder {folder} of {path} does not exist; create it.")
        if not os.access(folder, os.W_OK):
            raise PermissionError(f"the folder {folder} cannot be written to; choose another.")

    def __enter__(self) -> Outputs:
        try:
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
                self._publish()
        finally:
            self._discard()

    @staticmethod
    def _reserve(path: str) -> Path:
        target = Path(path)
        folder = None if path == PIPE else target.parent
        # The ending stays: it says which format to write.
        handle, name = tempfile.mkstemp(
            prefix=".shortlist-", suffix=".csv" if path == PIPE else target.suffix, dir=folder
        )
        os.close(handle)
        return Path(name)

    def _publish(self) -> None:
        for path in self._temporary:
            if path != PIPE:
                self._check(Path(path))
        for path, temporary in self._temporary.items():
            if path == PIPE:
                with temporary.open("rb") as content:
                    for piece in iter(lambda: content.read(1 << 20), b""):
                        sys.stdout.buffer.write(piece)
                sys.stdout.buffer.flush()
        for path, temporary in self._temporary.items():
            if path != PIPE:
                # mkstemp makes files private; an output gets the user's usual rights.
                mask = os.umask(0)
                os.umask(mask)
                temporary.chmod(0o666 & ~mask)
                os.replace(temporary, path)

    def _discard(self) -> None:
        for temporary in self._temporary.values():
            with contextlib.suppress(FileNotFoundError):
                temporary.unlink()


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
