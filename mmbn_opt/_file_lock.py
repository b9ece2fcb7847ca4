"""A lock that is a file: one process holds it, others can read who that is, and it ends with its process."""

import json
import os
import socket
import sys
import time
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO

__all__ = ["FileLock", "Held", "Holder", "holder_of"]

_FAR = 2**30
"""Position of the byte that Windows locks: what is locked there cannot be read, and who holds the lock must be."""


@dataclass(frozen=True)
class Holder:
    """Who holds a lock, or held it.

    Parameters
    ----------
    pid : int
    host, command, since : str
        Machine, command line, and local time.
    """

    pid: int
    host: str
    command: str
    since: str

    @classmethod
    def here(cls, command: str) -> "Holder":
        """The process that asks."""
        return cls(os.getpid(), socket.gethostname(), command, time.strftime("%Y-%m-%d %H:%M:%S"))

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host} since {self.since} ({self.command})"

    @property
    def lives(self) -> bool:
        """Whether there is a process of this number here; one on another machine is taken to live."""
        if self.host != socket.gethostname():
            return True
        if sys.platform == "win32":
            return True  # os.kill would end it there
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        except OSError:
            return True
        return True


class Held(Exception):
    """Another process holds the lock."""

    def __init__(self, holder: Holder | None) -> None:
        super().__init__(f"held by {holder or 'another process'}")
        self.holder = holder


class FileLock:
    """The lock on `path`, held from construction to `release`.

    Where the file system has locks, this one ends with its process, however that ends. Elsewhere the process that the
    file names is looked for.

    Parameters
    ----------
    path : Path
        Made if absent, removed by `release`.
    command : str
        What the holder is called.

    Attributes
    ----------
    left_by : Holder or None
        A process that held the lock and ended without releasing it.

    Raises
    ------
    Held
        If another process, or another lock of this process, holds it.
    OSError
        If the file cannot be made.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     lock = FileLock(Path(folder) / "lock", "first")
    ...     try:
    ...         FileLock(Path(folder) / "lock", "second")
    ...     except Held as held:
    ...         print(held.holder.command, held.holder.pid == os.getpid())
    ...     lock.release()
    ...     list(Path(folder).iterdir())
    first True
    []
    """

    def __init__(self, path: Path, command: str) -> None:
        self._path = path
        self._by_system = False
        while (stream := self._try()) is None:
            pass
        self._stream: IO[str] = stream
        self.left_by = _read(stream)
        if self.left_by is not None and not self._by_system and self.left_by.lives:
            stream.close()
            raise Held(self.left_by)
        stream.seek(0)
        stream.truncate()
        # A full disk does not keep a run from beginning: who holds the lock is then not told.
        with suppress(OSError):
            json.dump(asdict(Holder.here(command)), stream)
            stream.flush()

    def _try(self) -> IO[str] | None:
        handle = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o644)
        stream = os.fdopen(handle, "r+", encoding="utf-8")
        if sys.platform == "win32":
            import msvcrt

            os.lseek(handle, _FAR, os.SEEK_SET)
            try:
                msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
            except OSError:
                with stream:
                    raise Held(_read(stream)) from None
            self._by_system = True
            return stream
        import fcntl

        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            with stream:
                raise Held(_read(stream)) from None
        except OSError:
            return stream  # a file system that knows no locks
        self._by_system = True
        # Its holder may have removed the file between our opening and locking it.
        with suppress(OSError):
            if os.fstat(handle).st_ino == os.stat(self._path).st_ino:
                return stream
        stream.close()
        return None

    def release(self) -> None:
        """Let others have it."""
        if self._stream.closed:
            return
        if sys.platform == "win32":
            self._stream.close()  # an open file cannot be removed there
        with suppress(OSError):
            self._path.unlink()
        with suppress(OSError):
            self._stream.close()


def holder_of(path: Path) -> Holder | None:
    """The process that holds the lock on `path`, as far as can be told without trying; None where none does."""
    try:
        with path.open(encoding="utf-8") as stream:
            holder = _read(stream)
    except OSError:
        return None
    return holder if holder is not None and holder.lives else None


def _read(stream: IO[str]) -> Holder | None:
    stream.seek(0)
    try:
        holder = Holder(**json.load(stream))
    except (ValueError, TypeError, OSError, RecursionError):
        return None
    texts = all(isinstance(text, str) for text in (holder.host, holder.command, holder.since))
    return holder if texts and type(holder.pid) is int and 0 < holder.pid < 2**31 else None
