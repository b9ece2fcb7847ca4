"""Files that are written whole or not at all."""

import os
import secrets
from collections.abc import Iterable
from pathlib import Path

from mmbn_opt.exceptions import InputError

__all__ = ["ensure_directory", "refuse_unwritable", "write_bytes_atomic", "write_parts_atomic", "write_text_atomic"]


def write_bytes_atomic(path: str | Path, content: bytes) -> Path:
    """Write `content` to `path` so that a reader sees the old file or the new one, never a part.

    A temporary file in the same folder is filled, flushed to the disk and renamed. Devices and pipes, which cannot be
    replaced, are written to directly; a symbolic link keeps pointing where it did.

    Parameters
    ----------
    path : str or Path
    content : bytes

    Returns
    -------
    Path
        The path, for the caller to report.

    Raises
    ------
    InputError
        If the folder is absent or cannot be written, or if `path` is a folder.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_bytes_atomic(Path(folder) / "a.txt", b"whole").read_bytes()
    b'whole'
    """
    return write_parts_atomic(path, (content,))


def write_parts_atomic(path: str | Path, parts: Iterable[bytes]) -> Path:
    """Write what comes in parts as `write_bytes_atomic` writes it at once; an error of who makes them leaves no file.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_parts_atomic(Path(folder) / "a.txt", (b"in ", b"parts")).read_bytes()
    b'in parts'
    """
    given = Path(path)
    try:
        if given.exists() and not given.is_file() and not given.is_dir():
            with given.open("wb") as stream:
                stream.writelines(parts)
            return given
        refuse_unwritable(given)
        _replace(Path(os.path.realpath(given)), parts)
    except OSError as error:
        raise InputError(
            f"Cannot write {str(given)!r}: {error.strerror or error}. Free the place or choose another path."
        ) from error
    return given


def write_text_atomic(path: str | Path, text: str) -> Path:
    """Write `text` as UTF-8, whole or not at all; see `write_bytes_atomic`."""
    return write_bytes_atomic(path, text.encode("utf-8"))


def ensure_directory(path: str | Path) -> Path:
    """Make a folder for output, parents included; it may exist already.

    Raises
    ------
    InputError
        If `path` is a file, or if the folder cannot be made or written.
    """
    folder = Path(path)
    if folder.exists() and not folder.is_dir():
        raise InputError(f"The output folder {str(folder)!r} is a file; choose another folder or remove the file.")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"Cannot make the output folder {str(folder)!r}: {error.strerror or error}. Choose another folder."
        ) from error
    if not os.access(folder, os.W_OK | os.X_OK):
        raise InputError(
            f"The output folder {str(folder)!r} is not writable; change its permissions or choose another folder."
        )
    return folder


def refuse_unwritable(path: str | Path) -> None:
    """Say what is wrong with the path of a file before there is anything to write to it.

    Raises
    ------
    InputError
        If its folder is absent or cannot be written, or if it is a folder itself.
    """
    given = Path(path)
    target = Path(os.path.realpath(given))
    if target.is_dir():
        raise InputError(f"Cannot write {str(given)!r}: it is a folder. Give the path of a file in it.")
    if not target.parent.is_dir():
        raise InputError(
            f"Cannot write {str(given)!r}: the folder {str(target.parent)!r} does not exist. "
            "Make it or choose another path."
        )
    if not target.exists() and not os.access(target.parent, os.W_OK | os.X_OK):
        raise InputError(
            f"Cannot write {str(given)!r}: the folder {str(target.parent)!r} is not writable. Choose another path."
        )


def _replace(target: Path, parts: Iterable[bytes]) -> None:
    # The name is short whatever the target is called, so that it fits where the target's fits.
    temporary = target.parent / f".mmbn-{secrets.token_hex(6)}.tmp"
    # os.open, since its mode goes through the umask like that of any new file; tempfile would leave 0600.
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.writelines(parts)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
