"""Parquet files, through pyarrow."""

from typing import Any

import pandas as pd

from mmbn_opt.exceptions import FormatError, InputError, MissingDependencyError, SizeLimitError
from mmbn_opt.readers.names import refuse_bad_names

__all__ = ["read_parquet"]


def read_parquet(raw: bytes, source: str, max_bytes: int) -> pd.DataFrame:
    """Read the bytes of a Parquet file; types and categories as stored, a named pandas index as columns."""
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
        _refuse_unfit(file, source, max_bytes)
        table = file.read()
        table.validate(full=True)  # text that is no UTF-8 would be found out when it is first looked at
        frame: pd.DataFrame = table.to_pandas()
    except InputError:
        raise
    except Exception as error:
        # pyarrow's own errors, and what its conversion makes of damaged pandas metadata, which can be anything.
        raise FormatError(f"{source}: the Parquet file is damaged ({error}). Copy or download it again.") from error
    named = [name for name in frame.index.names if name is not None]
    return frame.reset_index() if named else frame.reset_index(drop=True)


def _refuse_unfit(file: Any, source: str, max_bytes: int) -> None:
    """Refuse what no table of cells is, and what runs of one value would blow up to."""
    import pyarrow

    nested = [f"{field.name!r} ({field.type})" for field in file.schema_arrow if pyarrow.types.is_nested(field.type)]
    if nested:
        raise FormatError(
            f"{source}: each cell of column {', '.join(nested[:5])} holds several values. "
            "Spread them over columns of their own, or leave the column out."
        )
    metadata = file.metadata
    n_bytes = max(8 * metadata.num_rows * metadata.num_columns, 0)
    if n_bytes > max_bytes:
        raise SizeLimitError(
            f"{source}: {metadata.num_rows:,} rows of {metadata.num_columns} columns take at least {n_bytes:,} bytes; "
            f"the limit is max_bytes={max_bytes:,}. Read fewer columns or rows, or raise the limit."
        )
