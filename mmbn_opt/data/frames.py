"""Tables of any frame library as pandas frames: the one door for polars, pyarrow, modin and whatever narwhals knows."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mmbn_opt._arguments import listed, shown
from mmbn_opt.exceptions import InputError

__all__ = [
    "as_frame",
    "as_pandas",
    "check_columns",
    "n_rows_of",
    "named_by_text",
    "objects_of",
    "rows_of",
    "with_columns",
]


def as_pandas(table: Any) -> Any:
    """A table or column of another library as pandas' own; whatever is neither stays as it is.

    Declared states (an `Enum` of polars, a dictionary of pyarrow) stay declared, missing cells stay missing, and lazy
    tables are computed. Nothing needs pyarrow that has not come from it.

    Examples
    --------
    >>> as_pandas([[1, 2]]), as_pandas(pd.Series([1])).tolist()
    ([[1, 2]], [1])
    """
    if table is None or isinstance(table, (pd.DataFrame, pd.Series, pd.Index, np.ndarray, list, tuple, str)):
        return table
    # Deferred: most tables are pandas' own or arrays.
    import narwhals.stable.v2 as nw

    known = nw.from_native(table, pass_through=True, allow_series=True)
    if isinstance(known, nw.LazyFrame):
        known = known.collect()
    if isinstance(known, nw.Series):
        return pd.Series(_column(known), name=known.name or None)
    if not isinstance(known, nw.DataFrame):
        return table
    names = known.columns
    if len(set(names)) < len(names) or not known.implementation.is_polars():
        return known.to_pandas()
    if not names:
        return pd.DataFrame(index=pd.RangeIndex(len(known)))
    return pd.DataFrame({name: _column(known[name]) for name in names})


def as_frame(table: Any, argument: str = "frame") -> pd.DataFrame:
    """A pandas frame of a table of any frame library.

    Raises
    ------
    InputError
        When it is no table.
    """
    frame = as_pandas(table)
    if not isinstance(frame, pd.DataFrame):
        raise InputError(
            f"{argument} must be a table with named columns (pandas, polars, pyarrow, ...), got "
            f"{type(table).__name__}. Arrays go through DiscreteDataset.from_arrays or pandas.DataFrame(array)."
        )
    return frame


def with_columns(frame: pd.DataFrame, columns: Mapping[str, Any]) -> pd.DataFrame:
    """The frame with some columns replaced or appended, whatever they are called (``assign`` can't do "self").

    Examples
    --------
    >>> with_columns(pd.DataFrame({"a": [1]}), {"self": [2]}).columns.tolist()
    ['a', 'self']
    """
    if not columns:
        return frame
    changed = frame.copy(deep=False)
    for name, values in columns.items():
        changed[name] = values
    return changed


def n_rows_of(values: Any) -> int | None:
    """Rows; None of what has none, and of sparse matrices."""
    try:
        return len(values)
    except TypeError:
        array = np.asarray(values)
        return len(array) if array.ndim else None


def rows_of(table: Any, kept: NDArray[np.bool_]) -> Any:
    """Some rows of a frame, column, array or list, with the types that they have without the others.

    Examples
    --------
    >>> rows_of(["1", 2, 3], np.array([False, True, True]))
    [2, 3]
    """
    table = as_pandas(table)
    if isinstance(table, (pd.DataFrame, pd.Series)):
        return table[kept].infer_objects()
    if isinstance(table, (pd.Index, pd.api.extensions.ExtensionArray)):
        return table[kept]
    if isinstance(table, (list, tuple)):
        return [row for row, stays in zip(table, kept, strict=True) if stays]
    part = np.asarray(table)[kept]
    if part.dtype == object and part.ndim == 1:
        part = pd.Series(part).infer_objects().to_numpy()
    return part


def objects_of(table: Any) -> NDArray[Any]:
    """An array of a list; with text in it as objects, since NumPy would turn the numbers into text too."""
    array = np.asarray(table)
    return np.array(table, dtype=object) if array.dtype.kind in "US" else array


def _column(series: Any) -> Any:
    """Cells as what a pandas frame makes the right column of."""
    import narwhals.stable.v2 as nw

    kind = series.dtype
    if not series.implementation.is_polars():
        return series.to_pandas()
    if isinstance(kind, nw.Enum):
        return pd.Categorical(series.to_list(), categories=list(kind.categories))
    if isinstance(kind, nw.Decimal):
        return series.cast(nw.Float64).to_numpy()
    if kind.is_numeric() or isinstance(kind, (nw.Date, nw.Datetime, nw.Duration)):
        if isinstance(kind, nw.Datetime) and kind.time_zone is not None:
            return pd.Series(series.to_list())
        return series.to_numpy()
    if isinstance(kind, nw.Boolean) and not series.is_null().any():
        return series.to_numpy()
    cells = np.empty(len(series), dtype=object)
    cells[:] = series.to_list()
    return cells


def named_by_text(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame with column names as strings and numbers in the machine's byte order (a view where both are so)."""
    frame = as_frame(frame)
    named = frame.set_axis([str(c) for c in frame.columns], axis=1)
    foreign = {
        j: dtype.newbyteorder("=")
        for j, dtype in enumerate(named.dtypes)
        if isinstance(dtype, np.dtype) and not dtype.isnative
    }
    if foreign:
        # By position, since names may repeat; pandas cannot look values of the other byte order up.
        columns = [
            named.iloc[:, j].astype(foreign[j]) if j in foreign else named.iloc[:, j] for j in range(len(named.columns))
        ]
        named = pd.concat(columns, axis=1)
    return named


def check_columns(frame: pd.DataFrame, target: str | None) -> None:
    """Raise `InputError` when names repeat or the target is absent."""
    names = [str(c) for c in frame.columns]
    repeated = sorted({n for n in names if names.count(n) > 1})
    if repeated:
        raise InputError(f"Column names must be distinct; repeated: [{listed(repeated)}]. Rename or drop the copies.")
    if target is not None and target not in frame.columns:
        raise InputError(f"There is no target column {shown(target)}; the columns are [{listed(names)}].")
