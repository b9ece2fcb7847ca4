"""A run folder is one run: its files arrive together or not at all, and nobody else writes there meanwhile.

The files of a run are written to a hidden folder beside the old ones and flushed to the disk. Renaming that folder is
the moment at which the run is published; its files are then moved to their places, the manifest last. Whatever ends
the process, the folder holds the old run, the new run, or a published one that the next to come moves into place.
"""

import logging
import os
import secrets
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from mmbn_opt._budget import now
from mmbn_opt._file_lock import FileLock, Held
from mmbn_opt.exceptions import FormatError, InputError
from mmbn_opt.interop._version import package_version
from mmbn_opt.interop.atomic import ensure_directory
from mmbn_opt.interop.run_manifest import MANIFEST, ForeignManifest, Manifest, mismatch, read_manifest

__all__ = ["OLD_NAMES", "UNFINISHED", "RunFolder", "finish_publishing", "text_of_run"]

logger = logging.getLogger(__name__)

UNFINISHED = "unfinished"
"""Folder of the best so far while a run goes on; it stays when the run is killed."""

OLD_NAMES = ("model.json", "network.bif", "report.html", "result.json", "trace.csv", "violations.csv")
"""Files of a run from before there were manifests."""

_LOCK = ".mmbn-lock"
_STAGED, _PUBLISHED, _PART, _OLD = ".mmbn-stage-", ".mmbn-new-", ".mmbn-part-", ".mmbn-old-"

_PUBLISHING_SEC = 5.0
"""How long a reader waits for a run that is being moved into place."""


class RunFolder:
    """The folder of one run, held until `close`; a context manager.

    Parameters
    ----------
    path : str or Path
        Made if absent.
    command : str
        What is told to others who want the folder, and written into the manifest.

    Raises
    ------
    InputError
        If another run holds the folder (who, is told), or if it cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as out:
    ...     with RunFolder(out) as folder:
    ...         written = folder.publish({"a.txt": b"one", "b.txt": b"two"})
    ...     with RunFolder(out) as folder:
    ...         written = folder.publish({"a.txt": b"three"})
    ...     sorted(path.name for path in Path(out).iterdir())
    ['a.txt', 'manifest.json']
    """

    def __init__(self, path: str | Path, command: str = "") -> None:
        self.path = ensure_directory(path)
        self._command = command
        self._run = secrets.token_hex(8)
        self._lock = _lock(self.path, command)
        try:
            if self._lock.left_by is not None:
                logger.warning("%s: %s ended without leaving it", self.path, self._lock.left_by)
            _tidy(self.path)
            _refuse_foreign(self.path)
        except BaseException:
            self._lock.release()
            raise

    def publish(self, contents: Mapping[str, bytes]) -> list[Path]:
        """Make these the files of the folder, all of them or none; those of an older run go.

        Files that no run wrote stay.

        Raises
        ------
        InputError
            If they cannot be written; the older run is then still there.
        """
        staged = self.path / f"{_STAGED}{self._run}"
        with _written(self.path, staged):
            self._stage(staged, contents, "finished", durable=True)
            for name in contents:
                if (self.path / name).is_dir():
                    raise IsADirectoryError(21, "a folder has the name of this file", str(self.path / name))
            published = self.path / f"{_PUBLISHED}{self._run}"
            staged.rename(published)
        try:
            _flush(self.path)
            _move_into_place(self.path, published)
            shutil.rmtree(self.path / UNFINISHED, ignore_errors=True)
        except OSError as error:
            raise InputError(
                f"The results are whole in {str(published)!r} but could not be moved to {str(self.path)!r}: "
                f"{error.strerror or error}. The next command that opens the folder tries again."
            ) from error
        return [self.path / name for name in contents]

    def keep_unfinished(self, contents: Mapping[str, bytes]) -> None:
        """Replace the folder ``unfinished`` by these files: what a run that is killed leaves behind.

        Raises
        ------
        InputError
            If they cannot be written.
        """
        part, old = self.path / f"{_PART}{self._run}", self.path / f"{_OLD}{self._run}"
        with _written(self.path, part):
            # Not flushed to the disk: a killed process takes nothing with it that the system has.
            self._stage(part, contents, "unfinished", durable=False)
            with suppress(FileNotFoundError):
                (self.path / UNFINISHED).rename(old)
            part.rename(self.path / UNFINISHED)
        shutil.rmtree(old, ignore_errors=True)

    @property
    def has_unfinished(self) -> bool:
        """Whether this run has kept something."""
        with suppress(FormatError):
            kept = read_manifest(self.path / UNFINISHED)
            return kept is not None and kept.run == self._run
        return False

    def close(self) -> None:
        """Let others write here."""
        self._lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _stage(self, folder: Path, contents: Mapping[str, bytes], state: str, *, durable: bool) -> None:
        manifest = Manifest.of(
            contents, run=self._run, command=self._command, version=package_version(), state=state  # type: ignore[arg-type]
        )  # fmt: skip
        folder.mkdir()
        for name, content in {**contents, MANIFEST: manifest.to_json().encode()}.items():
            try:
                with (folder / name).open("wb") as stream:
                    stream.write(content)
                    stream.flush()
                    if durable:
                        os.fsync(stream.fileno())
            except OSError as error:
                error.filename = error.filename or name  # a full disk does not say which
                raise
        if durable:
            _flush(folder)


def text_of_run(path: str | Path, read: Callable[[], str]) -> str:
    """Text of a file, held against the manifest that lies beside it.

    Parameters
    ----------
    path : str or Path
    read : callable
        Reads it.

    Raises
    ------
    FormatError
        If the manifest says that the file is of another run, or was changed.
    """
    file = Path(path)
    folder, end, looks = file.parent, now() + _PUBLISHING_SEC, 0
    while True:
        text, looks = read(), looks + 1
        try:
            manifest = read_manifest(folder)
        except ForeignManifest:
            return text
        moving = bool(_published(folder))
        if manifest is None and not moving:
            return text
        if manifest is not None and (file.name not in manifest.files or manifest.fits(file.name, text.encode())):
            return text
        # Text and manifest may be from before and after a run was published; the second look tells.
        if not finish_publishing(folder) and looks > 1 and not moving:
            break
        if now() > end:
            raise FormatError(
                f"{str(file)!r} cannot be trusted: a run was ended while its files were moved to {str(folder)!r}. "
                "Any command of mmbn-opt that may write there completes them."
            )
        time.sleep(0.02)
    assert manifest is not None
    raise FormatError(
        f"{str(file)!r} is not the one of this run: {MANIFEST} beside it, written {manifest.written} by "
        f"{manifest.command or 'mmbn_opt'!r}, has another checksum for it. Run that command again; if the file was "
        f"changed on purpose, copy it to another folder and give that."
    )


def _lock(folder: Path, command: str) -> FileLock:
    try:
        return FileLock(folder / _LOCK, command)
    except Held as held:
        raise InputError(
            f"The folder {str(folder)!r} is being written by {held.holder or 'another process'}. Wait for its end, "
            "or choose another folder."
        ) from None
    except OSError as error:
        raise InputError(
            f"The folder {str(folder)!r} cannot be written: {error.strerror or error}. Choose another folder."
        ) from error


@contextmanager
def _written(folder: Path, staged: Path) -> Iterator[None]:
    """Leave nothing behind of what could not be written as a whole."""
    try:
        yield
    except BaseException as error:
        shutil.rmtree(staged, ignore_errors=True)
        if not isinstance(error, OSError):
            raise
        name = f" ({Path(str(error.filename)).name})" if error.filename else ""
        raise InputError(
            f"Cannot write to the folder {str(folder)!r}: {error.strerror or error}{name}. What is there was not "
            "changed. Free the place or choose another folder."
        ) from error


def _published(folder: Path) -> list[Path]:
    """Runs that are published but not yet in place."""
    try:
        return sorted(folder.glob(f"{_PUBLISHED}*"))
    except OSError:
        return []


def finish_publishing(folder: Path) -> bool:
    """Move a published run into place unless its process is about to; whether there was one."""
    if not _published(folder):
        return False
    with suppress(Held, OSError):
        lock = FileLock(folder / _LOCK, "a reader of the folder")
        try:
            for published in _published(folder):
                _move_into_place(folder, published)
        finally:
            lock.release()
    return True


def _move_into_place(folder: Path, published: Path) -> None:
    """Can be broken off anywhere and begun again."""
    manifest = read_manifest(published)
    if manifest is not None:
        with suppress(FormatError):
            # What an older run left and this one does not have; files that no run wrote are not ours to remove.
            older = read_manifest(folder)
            known = OLD_NAMES if (folder / "result.json").exists() else OLD_NAMES[:-1]
            for name in older.files if older is not None else known:
                if name not in manifest.files and (folder / name).is_file():
                    logger.info("%s of an earlier run is removed", folder / name)
                    (folder / name).unlink()
        for name in manifest.files:
            with suppress(FileNotFoundError):  # it was moved before
                (published / name).replace(folder / name)
        (published / MANIFEST).replace(folder / MANIFEST)
        _flush(folder)
    shutil.rmtree(published, ignore_errors=True)


def _tidy(folder: Path) -> None:
    """Finish, or name and remove, what processes left that were killed here."""
    for published in _published(folder):
        _move_into_place(folder, published)
        logger.warning("%s: the results of a run that was ended while it wrote them are now complete", folder)
    kept = folder / UNFINISHED
    for part in folder.glob(f"{_PART}*"):
        if not kept.exists() and _is_whole(part):
            part.rename(kept)
    for pattern in (f"{_STAGED}*", f"{_PART}*", f"{_OLD}*", ".mmbn-*.tmp", "runs/.mmbn-*.tmp"):
        for left in folder.glob(pattern):
            logger.warning("%s was left by a run that was killed and is removed", left)
            shutil.rmtree(left) if left.is_dir() else left.unlink(missing_ok=True)
    with suppress(FormatError):
        mine, theirs = read_manifest(folder), read_manifest(kept)
        if theirs is None:
            return
        if mine is not None and mine.run == theirs.run:
            shutil.rmtree(kept, ignore_errors=True)  # it was finished after all
        else:
            logger.warning(
                "%s holds the best of a run that did not finish (%s, %s); it goes when this run has something of its "
                "own",
                kept, theirs.command or "mmbn_opt", theirs.written,
            )  # fmt: skip


def _is_whole(folder: Path) -> bool:
    try:
        manifest = read_manifest(folder)
    except FormatError:
        return False
    return manifest is not None and not mismatch(folder, manifest)


def _refuse_foreign(folder: Path) -> None:
    """What others wrote under our names is not overwritten."""
    try:
        read_manifest(folder)
        kept = folder / UNFINISHED
        if kept.exists() and read_manifest(kept) is None:
            raise FormatError(f"{str(kept)!r} was not written by a run of mmbn_opt. Choose another output folder.")
    except FormatError as error:
        raise InputError(str(error)) from error


def _flush(folder: Path) -> None:
    """Have the names in a folder on the disk, where folders can be flushed."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
