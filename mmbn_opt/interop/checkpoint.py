"""A checkpoint folder: the tree file of one search, over any number of sessions, and who writes it now."""

import json
import logging
import math
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from mmbn_opt._arrays import IntArray
from mmbn_opt._budget import now
from mmbn_opt._file_lock import FileLock, Held
from mmbn_opt.exceptions import InputError
from mmbn_opt.interop._version import package_version
from mmbn_opt.interop.atomic import ensure_directory, write_text_atomic
from mmbn_opt.interop.tree_file import TreeFile
from mmbn_opt.interop.tree_header import difference
from mmbn_opt.programs.tree_progress import Incumbent, Progress
from mmbn_opt.programs.tree_records import Kind, text_of

__all__ = ["LOCK", "STATUS", "TREE", "Checkpoint", "locked_folder", "open_checkpoint"]

logger = logging.getLogger(__name__)

TREE, STATUS, LOCK = "tree.mmbn", "run.json", ".tree-lock"

SYNC_SEC = 10.0
"""How often what was written is brought to the disk, and told in ``run.json``."""


class Checkpoint:
    """The folder of a search that can be gone on with, held until `close`.

    Parameters
    ----------
    path : str or Path
        Made if absent.

    Raises
    ------
    InputError
        If another process holds it, or if it cannot be written.
    FormatError
        If it holds a tree file that is none, or a later version's.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = ensure_directory(path)
        self._lock = locked_folder(self.path, LOCK)
        self._file: TreeFile | None = None
        self._since = now()
        self._last: Progress | None = None
        try:
            if self._lock.left_by is not None:
                words = "%s: %s ended without leaving it; its search is gone on with"
                logger.warning(words, self.path, self._lock.left_by)
            with suppress(FileNotFoundError):
                self._file = TreeFile(self.path / TREE)
        except OSError as error:
            self._lock.release()
            raise InputError(f"Cannot open {str(self.path / TREE)!r}: {error.strerror or error}.") from error
        except BaseException:
            self._lock.release()
            raise

    def bind(self, header: dict[str, Any]) -> None:
        """Keep the tree of this problem here, and of no other one.

        Raises
        ------
        InputError
            If its tree is that of another problem or of other settings; what differs is named.
        """
        if self._file is None:
            self._file = TreeFile.create(self.path / TREE, header)
        elif (other := difference(self._file.header, json.loads(text_of(header)))) is not None:
            raise InputError(
                f"checkpoint: {str(self.path)!r} holds the search of another problem: {other}. Ask what was asked "
                "then, or give another folder."
            )

    @property
    def file(self) -> TreeFile:
        """The tree file, once it is bound."""
        assert self._file is not None
        return self._file

    # -- what a solver asks for -------------------------------------------------------------------------------------

    def records(self) -> Iterator[tuple[int, Kind, bytes]]:
        """All records; then a torn tail is cut off, and a session begins."""
        yield from self.file.records()
        if torn := self.file.cut():
            logger.warning("%s: the last %d bytes were not whole and were cut off", self.file.path, torn)
        session = {"product": package_version(), "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}
        self.write(Kind.SESSION, text_of(session))

    def read(self, place: int) -> tuple[Kind, bytes]:
        """The record at a place."""
        return self.file.read(place)

    def write(self, kind: Kind, payload: bytes) -> int:
        """Append a record; its place."""
        return self.file.write(kind, payload)

    def look(self, progress: Progress) -> None:
        """Where the search stands."""
        self._last = progress
        if now() - self._since >= SYNC_SEC:
            self._tell(progress, "running")

    def end(self, payload: bytes) -> None:
        """The search is over, for now."""
        with suppress(OSError):  # of what could not be written the solver has told already
            self.write(Kind.END, payload)
        self._tell(self._last, json.loads(payload)["status"])

    def answered(self, progress: Progress, choice: IntArray, status: str) -> None:
        """The search was over before a solver was called: what it found."""
        if self._file is None:
            return
        found = Incumbent(progress.seconds, progress.objective, choice)
        with suppress(OSError):
            self.write(Kind.INCUMBENT, found.encode())
            self.write(Kind.PROGRESS, progress.encode())
        self._last = progress
        self.end(text_of({"status": status, "seconds": progress.seconds}))

    def _tell(self, progress: Progress | None, state: str) -> None:
        self._since = now()
        with suppress(OSError):
            self.file.sync()
        if progress is None:
            return
        content = {
            "problem": {name: said for name, said in self.file.header["problem"].items() if name != "limits"},
            "settings": self.file.header["settings"],
            "state": state,
            "seconds": round(progress.seconds, 1),
            "boxes": progress.boxes,
            **{name: finite_or_none(getattr(progress, name)) for name in ("objective", "bound")},
            "mmbn_opt_version": package_version(),
            "written": time.strftime("%Y-%m-%d %H:%M:%S"),
        }
        with suppress(InputError):  # for people alone; the tree file says the same
            write_text_atomic(self.path / STATUS, json.dumps(content, indent=2, ensure_ascii=False) + "\n")

    def close(self) -> None:
        """Let others write here."""
        if self._file is not None:
            self._file.close()
        self._lock.release()


def finite_or_none(value: float | None) -> float | None:
    """A number that JSON has a word for."""
    return value if value is not None and math.isfinite(value) else None


def locked_folder(folder: Path, lock: str) -> FileLock:
    """The lock on a checkpoint folder; `InputError` where another process holds it, and where there can be none."""
    try:
        return FileLock(folder / lock, "checkpoint")
    except Held as held:
        raise InputError(
            f"The checkpoint {str(folder)!r} is in use by {held.holder or 'another process'}. Wait for its end, or "
            "give another folder."
        ) from None
    except OSError as error:
        raise InputError(
            f"The checkpoint {str(folder)!r} cannot be written: {error.strerror or error}. Give another folder."
        ) from error


def open_checkpoint(path: str | Path) -> Checkpoint:
    """The checkpoint in a folder, held."""
    return Checkpoint(path)
