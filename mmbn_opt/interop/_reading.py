"""Text of a file that may be hostile: bounded in size, unpacked when its name says so, decoded or refused."""

import gzip
import zlib
from pathlib import Path

from mmbn_opt.data.readers.content import read_at_most
from mmbn_opt.exceptions import FormatError, InputError, SizeLimitError
from mmbn_opt.interop.limits import max_packed_text, max_text

__all__ = ["read_bytes", "read_text"]

_GZIP_MAGIC = b"\x1f\x8b"


def read_text(path: str | Path, what: str, *, max_bytes: int | None = None) -> str:
    """Text of a UTF-8 file, gzip-compressed when the name ends in ``.gz``; see `read_bytes`."""
    try:
        return read_bytes(path, what, max_bytes=max_bytes).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise FormatError(f"{str(path)!r} is not a {what}: byte {error.start} is not UTF-8 text.") from error


def read_bytes(path: str | Path, what: str, *, max_bytes: int | None = None) -> bytes:
    """Content of a file, unpacked when the name ends in ``.gz``.

    Parameters
    ----------
    path : str or Path
    what : str
        The kind of file, for messages.
    max_bytes : int or None
        Limit on the unpacked size; nothing beyond it is read. None: that of the largest network that is written, and
        for a compressed file also 200 times its size (at least 256 MiB).
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
        size = file.stat().st_size
        limit = max_bytes or (max_packed_text(size) if packed else max_text())
        with gzip.open(file) if packed else file.open("rb") as stream:
            content = read_at_most(stream, limit + 1)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise FormatError(f"{str(file)!r} is a damaged gzip file: {error}.") from error
    except FileNotFoundError:
        raise InputError(f"There is no {what} {str(file)!r}; check the path.") from None
    except OSError as error:
        raise InputError(f"Cannot read the {what} {str(file)!r}: {error.strerror or error}.") from error
    if len(content) > limit:
        more = f"unpacks its {size:,} bytes to more than" if packed else "holds more than"
        cure = " If it is to be trusted, decompress it." if packed else ""
        raise SizeLimitError(f"The {what} {str(file)!r} {more} {limit:,} bytes, the limit; it was not read.{cure}")
    return content
