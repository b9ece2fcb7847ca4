"""Parquet files, through pyarrow."""

import pandas as pd

from mmbn_opt.exceptions import FormatError, MissingDependencyError
from mmbn_opt.readers.names import refuse_bad_names

__all__ = ["read_parquet"]


def read_parquet(raw: bytes, source: str) -> pd.DataFrame:
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
        table = file.read()
    except (pyarrow.ArrowException, OSError) as error:
        raise FormatError(f"{source}: the Parquet file is damaged ({error}). Copy or download it again.") from error
    frame: pd.DataFrame = table.to_pandas()
    named = [name for name in frame.index.names if name is not None]
    return frame.reset_index() if named else frame.reset_index(drop=True)
