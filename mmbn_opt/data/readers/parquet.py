"""Parquet files, through pyarrow."""

from collections.abc import Collection
from typing import Any

import pandas as pd

from mmbn_opt._arguments import shown
from mmbn_opt.data.columns import left_out
from mmbn_opt.data.readers.arrow_types import refuse_nested, with_plain_types
from mmbn_opt.data.readers.limits import ENVIRONMENT, refuse_beyond_memory, unpacked_limit
from mmbn_opt.data.readers.names import refuse_bad_names
from mmbn_opt.exceptions import FormatError, InputError, MissingDependencyError, SizeLimitError

__all__ = ["read_parquet"]


_SMALL, _LARGEST = 256 * 2**20, 2 * 2**30
"""What any file may hold, and what none may, where nobody has chosen a limit."""


def read_parquet(raw: bytes, source: str, max_bytes: int | None, ignore: Collection[str] = ()) -> pd.DataFrame:
    """Read the bytes of a Parquet file; plain types and categories as stored, a named pandas index as columns.

    See `with_plain_types` for all the other types.

    Parameters
    ----------
    raw : bytes
    source : str
        The file, for messages.
    max_bytes : int or None
        None: in proportion to the file, and to the memory.
    ignore : collection of str
        Columns that are not read, whatever is in them.
    """
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise MissingDependencyError(
            f"{source}: reading Parquet needs pyarrow, which is not installed. "
            "Install it by: pip install 'mmbn-opt[parquet]'"
        ) from error
    try:
        file = pyarrow.parquet.ParquetFile(pyarrow.BufferReader(raw))
        refuse_bad_names(file.schema_arrow.names, source)
        left_out(pd.DataFrame(columns=file.schema_arrow.names), ignore)  # refuses names that no column has
        kept = [field.name for field in file.schema_arrow if field.name not in ignore]
        _refuse_unfit(file, kept, len(raw), source, max_bytes)
        table = _unfolded(file, kept, raw, source, max_bytes)
        table.validate(full=True)  # text that is no UTF-8 would be found out when it is first looked at
        frame: pd.DataFrame = with_plain_types(table, source).to_pandas(date_as_object=False)
    except InputError:
        raise
    except Exception as error:
        # pyarrow's own errors, and what its conversion makes of damaged pandas metadata, which can be anything.
        raise FormatError(f"{source}: the Parquet file is damaged ({error}). Copy or download it again.") from error
    named = [name for name in frame.index.names if name is not None]
    return frame.reset_index() if named else frame.reset_index(drop=True)


def _refuse_unfit(file: Any, kept: Collection[str], packed: int, source: str, max_bytes: int | None) -> None:
    """Refuse what no table of cells is, and what runs of one value would blow up to."""
    refuse_nested([field for field in file.schema_arrow if field.name in kept], source)
    metadata = file.metadata
    cells = max(metadata.num_rows * metadata.num_columns, 0)
    # Of the row groups and not of their columns: pyarrow ends the process where a column's metadata is damaged.
    pages = sum(metadata.row_group(k).total_byte_size for k in range(metadata.num_row_groups))
    _refuse_over(
        max(8 * cells, pages),
        packed,
        source,
        max_bytes,
        f"{metadata.num_rows:,} rows of {metadata.num_columns} columns",
    )
    if max_bytes is None:
        refuse_beyond_memory(source, "a table", cells, 0)


def _refuse_over(n_bytes: int, packed: int, source: str, max_bytes: int | None, what: str) -> None:
    limit = max_bytes or unpacked_limit(packed, least=_SMALL, most=_LARGEST)
    if n_bytes > limit:
        raise SizeLimitError(
            f"{source}: {what} take at least {n_bytes:,} bytes; the limit is max_bytes={limit:,}. Read fewer columns "
            f"or rows, or raise the limit: max_bytes of read_table, or {ENVIRONMENT}."
        )


def _unfolded(file: Any, kept: Collection[str], raw: bytes, source: str, max_bytes: int | None) -> Any:
    """The columns that stay, each repeated text counted as often as it stands there, and only then written out."""
    import numpy as np
    import pyarrow
    import pyarrow.compute
    import pyarrow.parquet

    schema = file.schema_arrow
    kinds = pyarrow.types
    repeatable = (kinds.is_string, kinds.is_large_string, kinds.is_binary, kinds.is_large_binary)
    ours = [field for field in schema if field.name in kept]
    texts = [field.name for field in ours if any(is_kind(field.type) for is_kind in repeatable)]
    folded = pyarrow.parquet.ParquetFile(pyarrow.BufferReader(raw), read_dictionary=texts).read(columns=list(kept))
    for name in texts:
        column = folded.column(name)
        if not pyarrow.types.is_dictionary(column.type):
            continue
        n_bytes = 0
        for chunk in column.chunks:
            lengths = np.asarray(pyarrow.compute.binary_length(chunk.dictionary).fill_null(0), dtype=np.int64)
            used = np.asarray(chunk.indices.drop_null(), dtype=np.int64)
            n_bytes += int(lengths[used].sum()) if len(lengths) else 0
        _refuse_over(
            n_bytes, len(raw), source, max_bytes, f"the texts of column {shown(name)}, which are stored once each,"
        )
        folded = folded.set_column(
            folded.column_names.index(name), schema.field(name), column.cast(schema.field(name).type)
        )
    return folded
