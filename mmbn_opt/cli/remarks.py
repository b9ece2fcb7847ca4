"""What is said beside the answer, on stderr: remarks, progress, warnings and the log, as loud as was asked for."""

import logging
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from typing import Any

import typer

from mmbn_opt.cli.parsing import typed_options
from mmbn_opt.cli.wording import in_options

__all__ = ["Loudness", "loudness", "remark", "remarking", "set_loudness", "tell_unused"]


class Loudness(IntEnum):
    """How much is said."""

    QUIET = 0
    """The answer, and why there is none."""
    USUAL = 1
    """Progress, and what was done with the data."""
    INFO = 2
    """The log as well."""
    DEBUG = 3
    """The log for those who look for a fault, that of the solver included."""


_LEVELS = {
    Loudness.QUIET: logging.ERROR,
    Loudness.USUAL: logging.WARNING,
    Loudness.INFO: logging.INFO,
    Loudness.DEBUG: logging.DEBUG,
}


@dataclass
class _Told:
    loudness: Loudness = Loudness.USUAL


_told = _Told()


class _Remarks(logging.Handler):
    """Log records as remarks."""

    def emit(self, record: logging.LogRecord) -> None:
        """Say one record."""
        with suppress(Exception):
            place = f" {record.name}" if _told.loudness is Loudness.DEBUG else ""
            text = f"{record.levelname.lower()}{place}: {in_options(record.getMessage())}"
            _write(text if record.exc_info is None else f"{text}\n{_traceback(record)}")


def remark(text: str) -> None:
    """A line on stderr; a terminal that is gone, or a pipe that nobody reads any more, is no reason to end a run."""
    if _told.loudness > Loudness.QUIET:
        _write(text)


def loudness() -> Loudness:
    """How much is to be said."""
    return _told.loudness


def set_loudness(wanted: Loudness) -> None:
    """Say this much from here on."""
    _told.loudness = wanted
    logging.getLogger("mmbn_opt").setLevel(_LEVELS[wanted])


@contextmanager
def remarking() -> Iterator[None]:
    """Warnings and the log of this package go to stderr while a command runs, a line each."""
    logger, handler, before = logging.getLogger("mmbn_opt"), _Remarks(), _told.loudness
    level = logger.level
    logger.addHandler(handler)
    set_loudness(Loudness.USUAL)
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _say_warning
            yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
        _told.loudness = before


def _say_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    remark(f"warning: {in_options(str(message))}")


def _traceback(record: logging.LogRecord) -> str:
    return logging.Formatter().formatException(record.exc_info) if record.exc_info else ""


def _write(text: str) -> None:
    with suppress(OSError, UnicodeError):
        typer.echo(text, err=True)


def tell_unused(context: typer.Context, method: StrEnum, of_methods: Mapping[str, tuple[StrEnum, ...]]) -> None:
    """What was asked for and plays no part is said: who set it expects that it does something."""
    given = typed_options(context)
    for name, methods in of_methods.items():
        if name in given and method not in methods:
            remark(f"{given[name]} plays no part in --method {method.value}; it is of {' and '.join(methods)}")
