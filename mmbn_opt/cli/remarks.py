"""What is said beside the answer, on stderr."""

from contextlib import suppress

import typer

__all__ = ["remark"]


def remark(text: str) -> None:
    """A line on stderr; a terminal that is gone, or a pipe that nobody reads any more, is no reason to end a run."""
    with suppress(OSError, UnicodeError):
        typer.echo(text, err=True)
