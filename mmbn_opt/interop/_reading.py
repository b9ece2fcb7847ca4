"""Text of a file that may be hostile: bounded in size, unpacked when its name says so, decoded or refused."""

import gzip
import zlib
from pathlib import Path

from mmbn_opt.exceptions import FormatError, InputError, SizeLimitError
from mmbn_opt.readers.content import read_at_most

__all__ = ["MAX_BYTES", "read_text"]

MAX_BYTES = 256 * 2**20
"""Largest file, after unpacking, that the readers take."""

_GZIP_MAGIC = b"\x1f\x8b"


def read_text(path: str | Path, what: str, *, max_bytes: int = MAX_BYTES) -> str:
    """Text of a UTF-8 file, gzip-compressed when the name ends in ``.gz``.

    Parameters
    ----------
    path : str or Path
    what : str
        The kind of file, for messages.
    max_bytes : int
        Limit on the unpacked size; nothing beyond it is read.
    """
    file = Path(path)
    try:
        with file.open("rb") as stream:
            packed = stream.read(2) == _GZIP_MAGIC
        if packed != (file.suffix == ".gz"):
            raise FormatError(
                f"{str(file)!r} is gzip-compressed although its name does not end in .gz; rename it."
                if packed
                else f"{str(file)!r} ends in .gz but is not gzip-compressed; rename or compress it."
            )
        with gzip.open(file) if packed else file.open("rb") as stream:
            content = read_at_most(stream, max_bytes + 1)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise FormatError(f"{str(file)!r} is a damaged gzip file: {error}.") from error
    except FileNotFoundError:
        raise InputError(f"There is no {what} {str(file)!r}; check the path.") from None
    except OSError as error:
        raise InputError(f"Cannot read the {what} {str(file)!r}: {error.strerror or error}.") from error
    if len(content) > max_bytes:
        raise SizeLimitError(
            f"The {what} {str(file)!r} holds more than {max_bytes:,} bytes, the limit; it was not read."
        )
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise FormatError(f"{str(file)!r} is not a {what}: byte {error.start} is not UTF-8 text.") from error
