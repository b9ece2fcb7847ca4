"""What a file is, judged by its bytes."""

import gzip
import io
import re
import zlib
from typing import BinaryIO

from mmbn_opt.data.readers.limits import ENVIRONMENT, EXPANSION, unpacked_limit
from mmbn_opt.exceptions import FormatError, SizeLimitError

__all__ = [
    "ARFF",
    "DELIMITED",
    "PARQUET",
    "decode",
    "foreign_format",
    "gunzip",
    "is_gzip",
    "read_at_most",
    "text_format",
]

DELIMITED = "delimited text"
ARFF = "an ARFF file"
PARQUET = "a Parquet file"

_PART = 1 << 20
_SMALL_TEXT = 32 * 2**20
"""What any compressed table may unpack to."""
_LARGEST_TEXT = 2 * 2**30

_SIGNATURES = (
    (rb"\x1f\x8b", "gzip-compressed twice"),
    (rb"PK\x03\x04", "a ZIP archive or an Excel workbook"),
    (rb"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an Excel workbook of the old kind"),
    (rb"BZh[1-9]1AY&SY", "bzip2-compressed"),
    (rb"\xfd7zXZ\x00", "xz-compressed"),
    (rb"\x28\xb5\x2f\xfd", "Zstandard-compressed"),
    (rb"7z\xbc\xaf\x27\x1c", "a 7-Zip archive"),
    (rb".{257}ustar", "a tar archive"),
    (rb"%PDF-", "a PDF document"),
    (rb"\x89PNG|\xff\xd8\xff", "an image"),
    (rb"\x89HDF\r\n\x1a\n", "an HDF5 file"),
    (rb"\x93NUMPY", "a NumPy array file"),
    (rb"\x80[\x02-\x05]", "a Python pickle"),
    (rb"SQLite format 3\x00", "a SQLite database"),
    (rb"ARROW1\x00\x00", "an Arrow file"),
    (rb"\s*<(?i:!doctype html|html)", "an HTML page (a failed download?)"),
    (rb"\s*<\?xml", "an XML document"),
    (rb'\s*(\{\s*"|\[\s*[\[{])', "a JSON document"),
)
_WIDE_BOMS = (
    (b"\xff\xfe\x00\x00", "UTF-32"),
    (b"\x00\x00\xfe\xff", "UTF-32"),
    (b"\xff\xfe", "UTF-16"),
    (b"\xfe\xff", "UTF-16"),
)


def is_gzip(raw: bytes) -> bool:
    """Whether the bytes begin a gzip stream."""
    return raw.startswith(b"\x1f\x8b")


def read_at_most(stream: BinaryIO | gzip.GzipFile, n_bytes: int) -> bytes:
    """Up to so many bytes, taken in parts: one request for the limit would allocate it for the smallest file.

    Examples
    --------
    >>> read_at_most(io.BytesIO(b"abc"), 2)
    b'ab'
    """
    parts = []
    left = n_bytes
    while left > 0 and (part := stream.read(min(left, _PART))):
        parts.append(part)
        left -= len(part)
    return b"".join(parts)


def gunzip(raw: bytes, source: str, max_bytes: int | None) -> bytes:
    """Decompress, or say that the stream is damaged or holds too much; nothing beyond is unpacked.

    Parameters
    ----------
    raw : bytes
    source : str
        The file, for messages.
    max_bytes : int or None
        None: in proportion to the compressed size.
    """
    limit = max_bytes or unpacked_limit(len(raw), least=_SMALL_TEXT, most=_LARGEST_TEXT)
    try:
        with gzip.open(io.BytesIO(raw)) as stream:
            content = read_at_most(stream, limit + 1)
    except (EOFError, OSError, zlib.error) as error:
        raise FormatError(
            f"{source}: the gzip stream is damaged ({error}). Copy or download the file again."
        ) from error
    if len(content) > limit:
        if max_bytes is None:
            told = f"{limit:,}, the limit for a file of this size (at most {EXPANSION} times as much)"
        else:
            told = f"max_bytes={limit:,}"
        raise SizeLimitError(
            f"{source}: the {len(raw):,} compressed bytes unpack to more than {told}. If the file is "
            f"to be trusted, decompress it, or raise the limit: max_bytes of read_table, or {ENVIRONMENT}."
        )
    return content


def foreign_format(raw: bytes) -> str | None:
    """Format of a file that is not plain text, told by its first bytes; None if nothing is recognised."""
    if raw.startswith(b"PAR1") and b"\x00" in raw:
        return PARQUET
    return next((name for pattern, name in _SIGNATURES if re.match(pattern, raw, re.DOTALL)), None)


def decode(raw: bytes, source: str, first_line: int = 1) -> bytes:
    r"""UTF-8 bytes without byte order mark and with \n line ends; other encodings are refused by name.

    `first_line` is the number in the file of the line that `raw` begins with.
    """
    for mark, name in _WIDE_BOMS:
        if raw.startswith(mark):
            raise FormatError(_wrong_encoding(source, f"the text is encoded as {name}", name))
    if b"\x00" in raw:
        sample = raw[:1000]
        if max(sample[0::2].count(0), sample[1::2].count(0)) > len(sample) // 4:
            raise FormatError(_wrong_encoding(source, "the text seems to be encoded as UTF-16", "UTF-16LE"))
        raise FormatError(f"{source}: the file is binary, not text. Save the table as CSV, ARFF or Parquet.")
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + first_line
        found = (
            f"byte 0x{raw[error.start]:02x} in line {line} is not UTF-8; the encoding may be Latin-1 or Windows-1252"
        )
        raise FormatError(_wrong_encoding(source, found, "WINDOWS-1252")) from None
    return raw.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n").replace(b"\r", b"\n")


def text_format(text: bytes, source: str) -> str:
    """ARFF or delimited, by the first line that is neither blank nor a % comment."""
    if not text.strip():
        raise FormatError(f"{source}: the file is empty. Check that it is the file you mean.")
    return ARFF if re.match(rb"(\s*%[^\n]*\n)*\s*@(?i:relation|attribute)\s", text) else DELIMITED


def _wrong_encoding(source: str, found: str, name: str) -> str:
    return f"{source}: {found}. Save it as UTF-8, for example by: iconv -f {name} -t UTF-8 OLD > NEW"
