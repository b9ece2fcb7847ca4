"""What must not outlive this process: programs that it started, and their folders."""

import logging
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from ..._file_lock import FileLock, Held

__all__ = ["Guard", "die_with_parent", "scratch_folder"]

logger = logging.getLogger(__name__)

_LOCK = ".lock"
_WAIT_SEC = 5.0

# One byte says that the program has ended by itself; the end of the pipe without it, that this process is no more.
_WATCH = "import os,sys; sys.stdin.buffer.read(1) or os.kill(int(sys.argv[1]), int(sys.argv[2]))"


class Guard:
    """Kills a program when this process is gone, however it went; a small process of its own waits for that.

    Parameters
    ----------
    pid : int
        Of the program.
    """

    def __init__(self, pid: int) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        if not sys.executable:
            return  # embedded: there is no interpreter to start
        options: dict[str, Any] = {"start_new_session": True}
        if sys.platform == "win32":
            options = {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
        number = signal.SIGTERM if sys.platform == "win32" else signal.SIGKILL
        with suppress(OSError):
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", _WATCH, str(pid), str(int(number))],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                **options,
            )

    def release(self) -> None:
        """The program has ended."""
        if self._process is None:
            return
        with suppress(OSError):
            self._process.communicate(b".", timeout=_WAIT_SEC)


@contextmanager
def scratch_folder(prefix: str) -> Iterator[str]:
    """A folder for files of a program, removed at the end; those of killed processes are named and removed first.

    Parameters
    ----------
    prefix : str
        Of its name, in the system's folder for temporary files.
    """
    place = Path(tempfile.gettempdir())
    _sweep(place, prefix)
    folder = place / f"{prefix}{secrets.token_hex(6)}"
    folder.mkdir(mode=0o700)
    lock: FileLock | None = None
    with suppress(OSError, Held):
        lock = FileLock(folder / _LOCK, prefix)
    try:
        yield str(folder)
    finally:
        if lock is not None:
            lock.release()
        shutil.rmtree(folder, ignore_errors=True)


def _sweep(place: Path, prefix: str) -> None:
    """Remove the folders whose lock nobody holds."""
    try:
        found = [path for path in place.glob(f"{prefix}*") if (path / _LOCK).is_file()]
    except OSError:
        return
    for folder in found:
        # Those of other users cannot be opened, those of living processes are held.
        with suppress(OSError, Held):
            lock = FileLock(folder / _LOCK, prefix)
            lock.release()
            if lock.left_by is None:
                continue  # nobody has signed yet: another process is making it at this moment
            logger.warning("%s was left by a process that was killed and is removed", folder)
            shutil.rmtree(folder, ignore_errors=True)


def die_with_parent() -> None:
    """Have Linux end this process when the thread that started it ends, even inside a library that hears nothing."""
    if sys.platform != "linux":
        return
    import ctypes

    parent = os.getppid()
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)
