"""The group of commands: whatever goes wrong ends in one sentence and an exit code."""

from __future__ import annotations

import contextlib
import os
import signal
import warnings
from collections.abc import Iterator
from typing import Any

import click

from .. import __version__

_INTERRUPTED = 130


class Stopped(BaseException):
    """The process was asked to end, by a signal."""


@contextlib.contextmanager
def _ends_cleanly() -> Iterator[None]:
    """Turn requests to end into an exception, so that nothing half-written stays behind."""

    def stop(number: int, frame: object) -> None:
        raise Stopped(number)

    before = {}
    # Only the main thread may; elsewhere the program around decides.
    with contextlib.suppress(ValueError):
        for name in ("SIGTERM", "SIGHUP"):
            number = getattr(signal, name, None)
            if number is not None and signal.getsignal(number) == signal.SIG_DFL:
                before[number] = signal.signal(number, stop)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class Commands(click.Group):
    """Commands that end without a traceback."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; turn what it raises into a message and an exit code."""
        try:
            # What a user can act on is said in the command's own words.
            with warnings.catch_warnings(), _ends_cleanly():
                warnings.simplefilter("ignore")
                return super().invoke(ctx)
        except (click.ClickException, click.exceptions.Exit, click.Abort, BrokenPipeError):
            raise
        except KeyboardInterrupt:
            click.echo(f"\nInterrupted: {_written()} was written.", err=True)
            ctx.exit(_INTERRUPTED)
        except Stopped as stopped:
            click.echo(f"Stopped: {_written()} was written.", err=True)
            ctx.exit(128 + int(stopped.args[0]))
        except ModuleNotFoundError:
            raise
        except MemoryError:
            raise click.ClickException(
                "there is not enough memory for the history; pass fewer of its rows."
            ) from None
        except Exception as error:
            if os.environ.get("SHORTLIST_DEBUG"):
                raise
            raise click.ClickException(_sentence(error)) from None


def _written() -> str:
    from .._files import Outputs

    return "everything" if Outputs.published else "nothing"


def _sentence(error: Exception) -> str:
    """Errors of this library are written for users; others are named, to be reported."""
    text = str(error).strip()
    if isinstance(error, OSError) and error.strerror is not None:
        return f"{error.filename}: {error.strerror}." if error.filename else f"{error.strerror}."
    if isinstance(error, ValueError | OSError) and text:
        return text
    return (
        f"unexpected {type(error).__name__}: {text.splitlines()[0] if text else 'no message'} "
        "(set SHORTLIST_DEBUG=1 to see where)"
    )


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="shortlist")
def app() -> None:
    """Choose the few rows to act on: learn from labelled rows, rank the others.

    Files are CSV, TSV, Parquet, Feather or .xlsx; "-" reads standard input and writes standard
    output.

    \b
    Exit codes:
      0    done
      1    could not be done: a file or its content does not allow it
      2    the command was not understood
      130  interrupted with Ctrl-C; nothing was written
      129, 143  asked to end by SIGHUP or SIGTERM; nothing was written
    """  # noqa: D301
