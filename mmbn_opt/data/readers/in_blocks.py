"""Tables of files a block of rows at a time, each with the types that the whole file gives its columns."""

import csv
import gzip
import os
import zlib
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, cast

import pandas as pd

from mmbn_opt.data.columns import left_out
from mmbn_opt.data.readers.cell_texts import CellKind, Column, Numbers, Signs, decimal_comma
from mmbn_opt.data.readers.content import DELIMITED, PARQUET, decode, foreign_format, is_gzip, text_format
from mmbn_opt.data.readers.declared import is_unnamed
from mmbn_opt.data.readers.delimited import after_lines, names_of, parsed, refuse_ragged
from mmbn_opt.data.readers.layout import BLANKS, Layout, find_layout, first_line, marked_widths, records
from mmbn_opt.data.readers.parquet_columns import ParquetColumns
from mmbn_opt.data.readers.table import NA_VALUES, promise, read_table
from mmbn_opt.exceptions import FormatError

__all__ = ["TableBlocks"]

BLOCK_BYTES = 8 << 20
"""Bytes of text in a block; what is made of them takes some twenty times as much."""

_BLOCK_ROWS = 65_536
"""Rows of a Parquet file in a block."""

_HEAD_BYTES = 1 << 17
"""Of text that tells how all of it is laid out, at least: what `find_layout` looks at, and more."""

_MOST_BLOCKS = 4
"""Of a row that does not end: it is an open quotation mark, most likely, and the whole file says where."""


class _AsAWhole(Exception):
    """The file is of a form that tells what it holds only as a whole."""


@dataclass(frozen=True)
class TableBlocks:
    r"""The rows of a file in blocks, as `read_table` has them, in a memory that does not grow with the file.

    Delimited text, compressed or not, is read twice: once for the types of its columns, which any cell may decide, and
    then row by row; Parquet is read by row groups. What only the whole file tells (ARFF, a file of less than a block,
    cells parted by blanks, comments below the first rows, streams) comes in one block, read by `read_table` itself.

    Parameters
    ----------
    path : path-like
    na_values : iterable of str
    ignore : collection of str
        Columns to leave out.
    block_bytes : int
        Of text; the first block holds what tells the form of the file in any case.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "t.csv")
    ...     _ = file.write_text("a,b\n1,x\n2,y\n0.5,z\n")
    ...     [block["a"].tolist() for block, _ in TableBlocks(file, block_bytes=8)]
    [[1.0, 2.0, 0.5]]
    """

    path: str | os.PathLike[str]
    na_values: Iterable[str] = NA_VALUES
    ignore: Collection[str] = ()
    block_bytes: int = field(default_factory=lambda: BLOCK_BYTES)

    def __iter__(self) -> Iterator[tuple[pd.DataFrame, float]]:
        """Each block, and the share of the file that is read once it is done with."""
        file = Path(self.path)
        if not file.is_file() or file.stat().st_size <= self.block_bytes:
            yield self._whole(), 1.0
            return
        try:
            blocks = self._parquet() if _kind(file) == PARQUET else self._text()
        except _AsAWhole:
            yield self._whole(), 1.0
            return
        yield from blocks

    def _whole(self) -> pd.DataFrame:
        return read_table(self.path, na_values=self.na_values, ignore=self.ignore)

    def _parquet(self) -> Iterator[tuple[pd.DataFrame, float]]:
        return ParquetColumns(self.path, self.ignore).blocks(_BLOCK_ROWS)

    def _text(self) -> Iterator[tuple[pd.DataFrame, float]]:
        text = _Text(os.fspath(self.path), frozenset(self.na_values), self.block_bytes)
        kinds = text.kinds()
        return ((left_out(frame, self.ignore), share) for frame, share in text.frames(kinds))


class _Text:
    """Delimited text, whose first block tells how all of it is laid out."""

    def __init__(self, source: str, missing: frozenset[str], block_bytes: int) -> None:
        self._source, self._missing, self._block_bytes = source, missing, block_bytes
        with _opened(source) as (stream, _):
            raw = stream.read(max(block_bytes, _HEAD_BYTES))
        head = decode(raw[: _outside_quotes(raw)], source)
        if not head or text_format(head, source) != DELIMITED or is_unnamed(head):
            raise _AsAWhole
        layout = find_layout(head, source)
        if layout.separator == BLANKS:
            raise _AsAWhole
        begins = first_line(layout.text)
        if not layout.text[begins:].strip():
            raise _AsAWhole
        self._head, self._layout, self._separator = head, layout, layout.separator
        self._line = 1 + layout.text.count(b"\n", 0, begins)
        self._names, self._name_lines = names_of(layout.text[begins:], layout.separator, source, self._line)

    def kinds(self) -> list[CellKind]:
        """What each column is, as all of its cells decide."""
        signs = self._signs(())
        if any(each.has_decimal_commas for each in signs):
            signs = self._signs(range(len(self._names)))  # points decide what commas mean, and texts tell of them
        comma = decimal_comma(signs, self._source)
        return [each.kind(comma=comma) for each in signs]

    def _signs(self, texts_only: Collection[int]) -> list[Signs]:
        found: list[Signs] | None = None
        for columns, _ in self._columns(texts_only):
            here = [column.signs for column in columns]
            found = here if found is None else [a.joined(b) for a, b in zip(found, here, strict=True)]
        if found is None:
            raise _AsAWhole  # names and no rows
        return found

    def frames(self, kinds: list[CellKind]) -> Iterator[tuple[pd.DataFrame, float]]:
        """The blocks, with columns of these kinds."""
        texts = [j for j, kind in enumerate(kinds) if kind == "text"]
        for columns, share in self._columns(texts):
            pairs = zip(columns, kinds, strict=True)
            yield pd.DataFrame({column.name: column.typed(kind) for column, kind in pairs}), share

    def _columns(self, texts_only: Collection[int]) -> Iterator[tuple[list[Column | Numbers], float]]:
        line, width = 1, len(self._names)
        for number, (raw, share) in enumerate(self._parts()):
            if number:
                # A line end first: what looks like a byte order mark is none here.
                body, at = decode(b"\n" + raw, self._source, line - 1)[1:], line
                line += body.count(b"\n")
                self._refuse_comments(body)
            else:
                text = decode(raw, self._source)
                layout = self._layout if text == self._head else find_layout(text, self._source)
                line += text.count(b"\n")
                body = after_lines(layout.text[first_line(layout.text) :], self._name_lines)
                at = self._line + self._name_lines
            refuse_ragged(body, Layout(body, self._separator), width, self._source, at)
            if body.strip():
                yield parsed(body, self._separator, self._names, self._missing, texts_only), share

    def _refuse_comments(self, text: bytes) -> None:
        """Leave it to the whole file whether lines with a mark of comments are some."""
        widths = marked_widths(text, self._separator)
        if widths and (widths != {len(self._names)} or self._layout.text != self._head):
            raise _AsAWhole

    def _parts(self) -> Iterator[tuple[bytes, float]]:
        """The file in parts that end where a row does."""
        size = max(1, Path(self._source).stat().st_size)
        with _opened(self._source) as (stream, file):
            left = stream.read(max(0, _HEAD_BYTES - self._block_bytes))
            while new := stream.read(self._block_bytes):
                left += new
                cut = self._end_of_rows(left)
                if cut:
                    yield left[:cut], min(1.0, file.tell() / size)
                    left = left[cut:]
                elif len(left) > _MOST_BLOCKS * self._block_bytes:
                    raise _AsAWhole
            if left:
                yield left, 1.0

    def _end_of_rows(self, text: bytes) -> int:
        """Where the last row ends that ends here: a quoted cell may hold line ends."""
        cut = text.rfind(b"\n") + 1
        if not cut or b'"' not in text:
            return cut
        rows, complete = records(text[:cut].replace(b"\r\n", b"\n").replace(b"\r", b" "), self._separator), 0
        try:
            for _ in rows:
                complete = rows.line_num
        except (csv.Error, UnicodeDecodeError):
            return len(text) - len(after_lines(text, complete)) if complete else 0
        return cut


def _outside_quotes(text: bytes) -> int:
    """The last end of a line before which quotation marks come in pairs; the last one at all where there is none."""
    last = end = text.rfind(b"\n") + 1
    odd = text.count(b'"', 0, end) % 2
    while odd and end > 0:
        before = text.rfind(b"\n", 0, end - 1) + 1
        odd = (odd + text.count(b'"', before, end)) % 2
        end = before
    return end or last


@contextmanager
def _opened(source: str) -> Iterator[tuple[IO[bytes], IO[bytes]]]:
    """The content of a file, unpacked, and the file."""
    with open(source, "rb") as file:
        zipped = is_gzip(file.read(2))
        file.seek(0)
        if not zipped:
            yield file, file
            return
        try:
            with gzip.open(file) as unpacked:
                yield cast(IO[bytes], unpacked), file
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise FormatError(
                f"{source}: the gzip stream is damaged ({error}). Copy or download the file again."
            ) from error


def _kind(file: Path) -> str:
    """What a file is, where it is what its ending says and can be read in blocks."""
    _, promised, promised_gzip = promise(file.name)
    with file.open("rb") as stream:
        zipped = is_gzip(stream.read(2))
    with _opened(str(file)) as (content, _):
        head = content.read(_HEAD_BYTES)
    found = PARQUET if head.startswith(b"PAR1") and not zipped else foreign_format(head) or DELIMITED
    if found not in (DELIMITED, PARQUET) or (promised and (promised != found or zipped != promised_gzip)):
        raise _AsAWhole
    return found
