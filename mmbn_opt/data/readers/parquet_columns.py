"""Parquet files and folders of them, a column at a time: tables that are larger than memory."""

import os
from collections.abc import Collection, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mmbn_opt._arguments import listed, shown
from mmbn_opt._budget import leave_in_time
from mmbn_opt.data.columns import left_out
from mmbn_opt.data.readers.arrow_types import refuse_nested, with_plain_types
from mmbn_opt.data.readers.limits import refuse_beyond_memory
from mmbn_opt.data.readers.names import refuse_bad_names
from mmbn_opt.exceptions import FormatError, InputError, MissingDependencyError

__all__ = ["ParquetColumns", "taken"]

_ENDINGS = (".parquet", ".pq")

_GLANCE = 4096
"""Rows in which all cells of a column have mostly come."""

_ROWS_AT_ONCE = 1 << 16


def taken(
    table: NDArray[Any], numbers: NDArray[np.unsignedinteger[Any]], out: NDArray[Any] | None = None
) -> NDArray[Any]:
    """``table[numbers]`` of very many numbers, without wide copies of them.

    Examples
    --------
    >>> taken(np.array([5, 7]), np.array([1, 0, 1], dtype=np.uint8)).tolist()
    [7, 5, 7]
    """
    found = np.empty(len(numbers), dtype=table.dtype) if out is None else out
    for start in range(0, len(numbers), _ROWS_AT_ONCE):
        rows = slice(start, start + _ROWS_AT_ONCE)
        found[rows] = table[numbers[rows]]
    return found


class ParquetColumns:
    """Columns of a Parquet file, or of all the files of a folder in the order of their names, read when asked for.

    Types are those of `read_table`. Files of a folder must have the same columns; their order may differ.

    Parameters
    ----------
    path : path-like
        A file or a folder.
    ignore : collection of str
        Columns to leave out.

    Raises
    ------
    InputError
        No such file or folder, or none in it.
    FormatError
        A damaged file, or files that do not fit together: names the file.
    MissingDependencyError
        Without pyarrow.
    """

    def __init__(self, path: str | os.PathLike[str], ignore: Collection[str] = ()) -> None:
        self._source = os.fspath(path)
        self._files = [(str(file), self._opened(file)) for file in self._listed(Path(path))]
        first, schema = self._files[0][0], self._files[0][1].schema_arrow
        refuse_bad_names(schema.names, first)
        left_out(pd.DataFrame(columns=schema.names), ignore)  # refuses names that no column has
        for name, file in self._files[1:]:
            missing, further = set(schema.names) - set(file.schema_arrow.names), set(file.schema_arrow.names)
            if missing or (further := further - set(schema.names)):
                what = f"lacks {listed(sorted(missing))}" if missing else f"has {listed(sorted(further))} besides"
                raise FormatError(
                    f"{name}: the file {what}, compared with {first}. Files of a folder must have the same columns; "
                    "move those that belong to another table, or write them anew."
                )
        unnamed = set(self._unnamed_index(schema))
        self.names = [n for n in schema.names if n not in unnamed and n not in set(ignore)]
        for name, file in self._files:
            refuse_nested([field for field in file.schema_arrow if field.name in self.names], name)
        self._refuse_mixed_kinds()

    @cached_property
    def n_rows(self) -> int:
        """Rows of all files."""
        return sum(file.metadata.num_rows for _, file in self._files)

    def column(self, name: str) -> pd.Series:
        """One column of all files, its cells as `read_table` would give them."""
        refuse_beyond_memory(self._source, f"column {shown(name)}", self.n_rows, 0)
        return self._series(name, [self._plain(name, source, file) for source, file in self._files])

    def numbered(self, name: str, most: int) -> tuple[pd.Series, NDArray[np.unsignedinteger[Any]]] | None:
        """The different cells of a column, as `column` has them, and for each row the number of its cell.

        A file is in memory at a time. None where there are more than `most` different cells, or where it cannot be
        told which are equal.

        Examples
        --------
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     pd.DataFrame({"a": ["x", "y", "x", "z"]}).to_parquet(f"{folder}/rows.parquet")
        ...     cells, numbers = ParquetColumns(folder).numbered("a", 10)
        ...     cells.tolist(), numbers.tolist()
        (['x', 'y', 'z'], [0, 1, 0, 2])
        """
        tables, parts = [], []
        for source, file in self._files:
            leave_in_time()
            table = self._plain(name, source, file)
            found = _first_rows(table.column(table.column_names.index(name)), most)
            if found is None:
                return None
            first, numbers = found
            tables.append(table.take(first))
            parts.append(numbers)
        cells = self._series(name, tables)
        try:
            which, known = pd.factorize(cells, use_na_sentinel=False)
        except TypeError:  # cells that are no labels; who makes states of them says which
            return None
        if len(known) > most:
            return None
        which = np.asarray(which, dtype=np.min_scalar_type(max(0, len(known) - 1)))
        done = 0
        every: NDArray[np.unsignedinteger[Any]] = np.empty(self.n_rows, dtype=which.dtype)
        ends = np.cumsum([0, *(table.num_rows for table in tables)])
        for begin, end, numbers in zip(ends[:-1], ends[1:], parts, strict=True):
            taken(which[begin:end], numbers, every[done : done + len(numbers)])
            done += len(numbers)
        _, first_of = np.unique(which, return_index=True)
        distinct: pd.Series = cells.iloc[first_of].reset_index(drop=True)
        return distinct, every

    @staticmethod
    def _plain(name: str, source: str, file: Any) -> Any:
        """One column of one file."""
        try:
            table = file.read(columns=[name])
            table.validate(full=True)
        except Exception as error:
            raise ParquetColumns._damaged(source, error) from error
        return with_plain_types(table, source)

    def _series(self, name: str, parts: list[Any]) -> pd.Series:
        """A column of several tables as pandas has it."""
        import pyarrow

        try:
            table = pyarrow.concat_tables(parts, promote_options="permissive").unify_dictionaries()
        except pyarrow.ArrowException as error:
            raise self._unfit(name, str(error)) from error
        frame = table.to_pandas(date_as_object=False)
        if name not in frame.columns:
            frame = frame.reset_index()  # a named index of pandas
        series: pd.Series = frame[name].reset_index(drop=True)
        return series

    def blocks(self, n_rows: int) -> Iterator[tuple[pd.DataFrame, float]]:
        """Blocks of rows of all columns, as `read_table` has them, and the share of the rows up to their ends."""
        import pyarrow

        holes, done = self._whole_numbers_with_holes(), 0
        for source, file in self._files:
            begun = done
            try:
                for batch in file.iter_batches(n_rows, columns=self.names):
                    table = pyarrow.Table.from_batches([batch])
                    table.validate(full=True)
                    frame = with_plain_types(table, source).to_pandas(date_as_object=False)
                    if any(name is not None for name in frame.index.names):
                        frame = frame.reset_index()
                    for name in holes & set(frame.columns):  # beside a missing cell, they are real numbers in pandas
                        if frame[name].dtype.kind in "iu":
                            frame[name] = frame[name].astype("float64")
                    for place, (name, numbers) in enumerate(self._row_numbers(file).items()):
                        if name not in frame.columns:  # where the number of rows is not that of the file
                            within = done - begun
                            frame.insert(place, name, numbers[within : within + len(frame)])
                    done += len(frame)
                    yield frame.reset_index(drop=True), done / max(1, self.n_rows)
            except InputError:
                raise
            except (pyarrow.ArrowException, OSError) as error:
                raise self._damaged(source, error) from error

    def _whole_numbers_with_holes(self) -> set[str]:
        """Columns of whole numbers of which a cell is missing; each is read once for it."""
        import pyarrow

        found = set()
        for source, file in self._files:
            kinds = {field.name: field.type for field in file.schema_arrow}
            whole = [name for name in self.names if pyarrow.types.is_integer(kinds[name])]
            try:
                for batch in file.iter_batches(columns=whole) if whole else ():
                    found |= {name for name, column in zip(whole, batch.columns, strict=True) if column.null_count}
            except (pyarrow.ArrowException, OSError) as error:
                raise self._damaged(source, error) from error
        return found

    @staticmethod
    def _row_numbers(file: Any) -> dict[str, range]:
        """Row numbers that pandas keeps under a name, as a rule in place of a column."""
        index = (file.schema_arrow.pandas_metadata or {}).get("index_columns", [])
        kept = [each for each in index if isinstance(each, dict) and each.get("name") is not None]
        return {each["name"]: range(each["start"], each["stop"], each["step"]) for each in kept}

    @staticmethod
    def _damaged(source: str, error: Exception) -> FormatError:
        return FormatError(f"{source}: the Parquet file is damaged ({error}). Copy or download it again.")

    def _unfit(self, name: str, told: str) -> FormatError:
        return FormatError(
            f"{self._source}: column {shown(name)} is of types that do not go together in the files of this folder "
            f"({told}). Write the files anew with one type."
        )

    def _refuse_mixed_kinds(self) -> None:
        """Refuse text in one file and numbers in another: no type would hold both."""
        import pyarrow

        for name in self.names:
            kinds = {}
            for source, file in self._files:
                kind = file.schema_arrow.field(name).type
                kind = kind.value_type if pyarrow.types.is_dictionary(kind) else kind
                text = pyarrow.types.is_string(kind) or pyarrow.types.is_large_string(kind)
                if not pyarrow.types.is_null(kind):
                    kinds[text] = f"{kind} in {source}"
            if len(kinds) > 1:
                raise self._unfit(name, "; ".join(kinds.values()))

    @staticmethod
    def _unnamed_index(schema: Any) -> list[str]:
        """Columns in which pandas keeps row numbers that have no name."""
        columns = (schema.pandas_metadata or {}).get("index_columns", [])
        return [c for c in columns if isinstance(c, str) and c.startswith("__index_level_")]

    @staticmethod
    def _opened(file: Path) -> Any:
        try:
            import pyarrow.parquet
        except ImportError as error:
            raise MissingDependencyError(
                f"{file}: reading Parquet needs pyarrow, which is not installed. "
                "Install it by: pip install 'mmbn-opt[parquet]'"
            ) from error
        try:
            return pyarrow.parquet.ParquetFile(file, memory_map=True)
        except Exception as error:
            raise FormatError(f"{file}: this is no Parquet file, or a damaged one ({error}).") from error

    @staticmethod
    def _listed(path: Path) -> list[Path]:
        if path.is_file():
            return [path]
        if not path.is_dir():
            raise InputError(f"No such file or folder: {path}. Check the path; the working directory is {os.getcwd()}.")
        found = sorted(p for p in path.rglob("*") if p.suffix.lower() in _ENDINGS and not p.name.startswith((".", "_")))
        if not found:
            raise InputError(f"{path} has no file that ends in {' or '.join(_ENDINGS)}.")
        parted = next((part for p in found for part in p.relative_to(path).parts[:-1] if "=" in part), None)
        if parted is not None:
            raise InputError(
                f"{path} is parted by folders such as {parted!r}, whose names hold a column that the files lack. "
                "Write the table without partitions."
            )
        return found


def _first_rows(column: Any, most: int) -> tuple[NDArray[np.intp], NDArray[np.unsignedinteger[Any]]] | None:
    """Of each different cell the number of its first row, and for each row the number of its cell."""
    import pyarrow

    try:
        coded = column.dictionary_encode().unify_dictionaries()
    except pyarrow.ArrowException:  # a type of pandas' own
        return None
    n_cells = len(coded.chunk(0).dictionary) if coded.num_chunks else 0
    if n_cells > most:
        return None
    # The last number stands for missing cells.
    numbers = np.empty(len(column), dtype=np.min_scalar_type(n_cells))
    first, done = np.full(n_cells + 1, len(column), dtype=np.intp), 0
    for chunk in coded.chunks:
        codes = numbers[done : done + len(chunk)]
        codes[:] = chunk.indices.fill_null(n_cells).to_numpy(zero_copy_only=False)
        for part in (slice(_GLANCE), slice(_GLANCE, None)):
            if (first == len(column)).any():
                own = np.full_like(first, len(column))
                rows = np.arange(done, done + len(codes))[part][::-1]
                own[codes[part][::-1]] = rows  # of equal ones the last, which is the first row
                first = np.minimum(first, own)
        done += len(codes)
    # Categories that are declared and do not occur have no row.
    there = first < len(column)
    if not there[:-1].all():
        taken((np.cumsum(there) - 1).clip(min=0).astype(numbers.dtype), numbers.copy(), numbers)
    return first[there], numbers
