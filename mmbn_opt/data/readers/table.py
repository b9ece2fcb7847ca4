"""`read_table`: one function for every kind of file, told apart by content and held to the ending."""

import difflib
import os
from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from mmbn_opt._arguments import check_arguments
from mmbn_opt.data.columns import left_out
from mmbn_opt.data.readers.arff import read_arff
from mmbn_opt.data.readers.content import ARFF, DELIMITED, PARQUET, decode, foreign_format, gunzip, is_gzip, text_format
from mmbn_opt.data.readers.delimited import read_delimited
from mmbn_opt.data.readers.limits import chosen_limit
from mmbn_opt.data.readers.parquet import read_parquet
from mmbn_opt.exceptions import FormatError, InputError

__all__ = ["NA_VALUES", "promise", "read_table"]

NA_VALUES = ("", "NA", "NaN", "?")
"""Cells that are missing unless the caller says otherwise."""

_ENDINGS = {
    ".csv": DELIMITED,
    ".tsv": DELIMITED,
    ".tab": DELIMITED,
    ".txt": DELIMITED,
    ".arff": ARFF,
    ".parquet": PARQUET,
    ".pq": PARQUET,
}


def read_table(
    path: str | os.PathLike[str],
    *,
    na_values: Iterable[str] | str = NA_VALUES,
    max_bytes: int | None = None,
    ignore: Iterable[str] | str = (),
) -> pd.DataFrame:
    r"""Read a data file into a frame.

    The content decides how a file is read, and a known ending (.csv, .tsv, .tab, .txt, .arff, .parquet, .pq, each of
    the text ones also with .gz) must agree with it. Any other ending is read by content alone.

    Delimited text: UTF-8, first row names the columns, separator one of ``, ; tab |`` as the first rows use it, runs of
    blanks where none of these parts them, or what a first line ``sep=;`` says; double quotes as in RFC 4180; blank
    lines skipped, blanks around cells dropped. A line that begins with ``#``, ``%`` or ``@`` and has another number of
    cells than the table is a comment (where they stand is logged); the last one above the first row names the columns
    if it fits and that row is one of numbers. Files of other structure learners (blanks; a line with the number of
    states of each column; names or none) give categories. Else a column is

    - int64 if every cell is a whole number, Int64 (nullable) if some are missing besides;
    - float64 if every cell that is not missing is a number, with a point, or with a comma in all columns of the table;
    - text otherwise. Leading zeros ("007"), "inf" and "nan" are text, and so are numbers that a 64-bit type can't hold.

    ARFF: nominal attributes become categories in their declared order, states that no row uses included; numeric and
    integer ones numbers as in delimited text, real ones float64; string and date ones text. Sparse rows are filled in.

    Parquet: missing cells as stored (`na_values` is not applied), and types too, except that decimals and half floats
    become numbers, days moments, times of day durations, and bytes that are UTF-8 text. A named pandas index becomes
    columns. Columns of lists or of other bytes are refused by name.

    Parameters
    ----------
    path : str or path-like
    na_values : iterable of str, default=("", "NA", "NaN", "?")
        Cells of a text file that are missing. In ARFF an unquoted ``?`` always is, and a state that a nominal
        attribute declares never is.
    max_bytes : int or None, default=None
        Limit on what a compressed file unpacks to and on the content of a Parquet file, so that a small file cannot
        fill the memory. None: what the environment variable ``MMBN_MAX_BYTES`` says, or else 200 times the size of the
        file (at least 32 MiB of text or 256 MiB of Parquet, at most 2 GiB), and no table that would take more than four
        fifths of the memory that is available. A limit that is given takes the place of all of these.
    ignore : iterable of str
        Columns to leave out.

    Returns
    -------
    pandas.DataFrame
        Columns and rows in file order; a file with a header and nothing else gives zero rows.

    Raises
    ------
    InputError
        The file can't be read: it does not exist, is a directory, or may not be opened.
    FormatError
        The content is not what the ending says, or is damaged: names the line and the cure.
    SizeLimitError
        The file holds more than `max_bytes`, or than can be read into memory.
    MissingDependencyError
        A Parquet file without pyarrow.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "pets.csv")
    ...     _ = file.write_text("name;legs\nRex;4\nTweety;2\n")
    ...     read_table(file)
         name  legs
    0     Rex     4
    1  Tweety     2
    """
    check_arguments(read_table, locals())
    limit = chosen_limit(max_bytes)
    raw = _bytes_of(path)
    source = os.fspath(path)
    ending, promised, promised_gzip = promise(Path(source).name)
    zipped = is_gzip(raw)
    if zipped and promised and not promised_gzip:
        raise FormatError(
            f"{source}: the file is gzip-compressed, not {promised} as its ending {ending!r} says. "
            f"Rename it to end in {ending + '.gz'!r} or decompress it."
        )
    if promised_gzip and raw and not zipped:
        raise FormatError(
            f"{source}: the file is not gzip-compressed, as its ending {ending!r} says. "
            f"Rename it to end in {ending.removesuffix('.gz')!r} or compress it."
        )
    if zipped:
        raw = gunzip(raw, source, limit)

    found = foreign_format(raw)
    if found is not None and found != PARQUET:
        wanted = f", not {promised} as its ending {ending!r} says" if promised else ""
        raise FormatError(f"{source}: the file is {found}{wanted}. Save the table as CSV, ARFF or Parquet.")
    text = b"" if found == PARQUET else decode(raw, source)
    if found is None:
        found = text_format(text, source)
    if promised and found != promised:
        raise FormatError(
            f"{source}: the file is {found}, not {promised} as its ending {ending!r} says. "
            "Rename it to what it is, or check that it is the file you mean."
        )

    unwanted = frozenset(map(str, [ignore] if isinstance(ignore, str) else ignore))
    missing = frozenset((na_values,) if isinstance(na_values, str) else na_values)
    if found == PARQUET:
        frame = read_parquet(raw, source, limit, unwanted)
    elif found == ARFF:
        frame = read_arff(text, source, missing, trusted=limit is not None)
    else:
        frame = read_delimited(text, source, missing, trusted=limit is not None)
    return frame if found == PARQUET else left_out(frame, unwanted)


def _bytes_of(path: str | os.PathLike[str]) -> bytes:
    file = Path(path)
    try:
        return file.read_bytes()
    except FileNotFoundError:
        raise InputError(f"No such file: {os.fspath(path)}. {_hint(file)}") from None
    except IsADirectoryError:
        raise InputError(f"{os.fspath(path)} is a directory. Name the data file in it.") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(f"{os.fspath(path)!r} can't be read: {reason}. Check the path and its permissions.") from error


def _hint(file: Path) -> str:
    if "://" in str(file) or str(file).startswith(("http:", "https:")):
        return "Addresses are not fetched: download the file first."
    try:
        near = difflib.get_close_matches(file.name, [p.name for p in file.parent.iterdir()], n=1)
    except OSError:
        return f"The folder {str(file.parent)!r} does not exist either; the working directory is {os.getcwd()}."
    if near:
        return f"Did you mean {near[0]!r}?"
    return f"Check the path; the working directory is {os.getcwd()}."


def promise(name: str) -> tuple[str, str | None, bool]:
    """What the ending of a file name says: the ending, the format (None if unknown), and whether it is gzipped."""
    lower = name.lower()
    zipped = lower.endswith(".gz")
    stem = lower.removesuffix(".gz")
    suffix = Path(stem).suffix
    return suffix + ".gz" * zipped, _ENDINGS.get(suffix), zipped
