"""The group of commands: whatever goes wrong ends in one sentence and an exit code."""

from __future__ import annotations

import os
import warnings
from typing import Any

import click

_INTERRUPTED = 130


class Commands(click.Group):
    """Commands that end without a traceback."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; turn what it raises into a message and an exit code."""
        try:
            # What a user can act on is said in the command's own words.
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return super().invoke(ctx)
        except (click.ClickException, click.exceptions.Exit, click.Abort, BrokenPipeError):
            raise
        except KeyboardInterrupt:
            click.echo("\nInterrupted: nothing was written.", err=True)
            ctx.exit(_INTERRUPTED)
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
