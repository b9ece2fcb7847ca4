"""Runs on disk, one file each: a comparison that was killed goes on where it was."""

import logging
import re
from json import JSONDecodeError
from pathlib import Path
from typing import Any, ClassVar, Generic, Protocol, Self, TypeVar

from mmbn_opt.exceptions import FormatError
from mmbn_opt.interop.atomic import ensure_directory, write_text_atomic

__all__ = ["RunStore", "run_file_name"]

logger = logging.getLogger(__name__)

_CURE = "Remove the file to run it again."


class Storable(Protocol):
    """A record that is kept as one JSON file."""

    names: ClassVar[tuple[str, str, str]]
    """The fields by which a reader knows it: two labels and a number; a plan of the run has them too."""

    def to_json(self) -> str:
        """As a JSON text."""

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read what `to_json` wrote; FormatError for anything else."""


Record = TypeVar("Record", bound=Storable)


def run_file_name(run: Any, names: tuple[str, str, str] = ("formulation", "solver", "seed")) -> str:
    """Name of the file of a run: readable first, and unique by its key."""
    first, second, number = (getattr(run, name) for name in names)
    words = re.sub(r"[^A-Za-z0-9]+", "-", f"{first}-{second}").strip("-")[:80]
    return f"{words}-{number}-{run.key}.json"


class RunStore(Generic[Record]):
    """The files of the runs below a folder, or nothing when there is no folder.

    Parameters
    ----------
    folder : str, Path or None
        Runs are in its folder ``runs``.
    kind : type
        Of the records.
    """

    def __init__(self, folder: str | Path | None, kind: type[Record]) -> None:
        self._folder = None if folder is None else ensure_directory(Path(folder) / "runs")
        self._kind = kind

    def find(self, run: Any) -> Record | None:
        """The record of a run that has been done, or None; a file that was cut short counts as not done.

        Raises
        ------
        FormatError
            If there is a file under the name of the run's that is no record of it; the message has the place.
        """
        if self._folder is None:
            return None
        path = self._folder / run_file_name(run, self._kind.names)
        try:
            record = self._kind.from_json(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        except OSError as error:
            raise FormatError(f"{str(path)!r} cannot be read: {error.strerror or error}. {_CURE}") from error
        except UnicodeDecodeError as error:
            raise FormatError(f"{str(path)!r} is no text in UTF-8 (byte {error.start}). {_CURE}") from error
        except FormatError as error:
            if isinstance(error.__cause__, JSONDecodeError):  # what a crash of the machine leaves
                logger.warning("%s was cut short and is run again: %s", path, error)
                return None
            raise FormatError(f"{str(path)!r}: {error}") from error
        for name in ("key", *self._kind.names):
            mine, theirs = getattr(run, name), getattr(record, name)
            if mine != theirs:
                raise FormatError(f"{str(path)!r} is of another run: its {name} is {theirs!r}, not {mine!r}. {_CURE}")
        return record

    def keep(self, record: Record) -> None:
        """Write a record, whole or not at all."""
        if self._folder is not None:
            write_text_atomic(self._folder / run_file_name(record, self._kind.names), record.to_json())
