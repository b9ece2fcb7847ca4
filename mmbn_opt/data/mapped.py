"""Discrete data whose codes lie in a file: tables of which only one column fits into memory."""

import os
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mmbn_opt._arrays import FloatArray
from mmbn_opt._budget import leave_in_time
from mmbn_opt.data.discrete import DiscreteDataset
from mmbn_opt.exceptions import InputError

__all__ = ["CodeFile", "MappedDataset"]

FILE = "codes.npy"

_BLOCK = 1 << 24
"""Codes that are copied at a time."""

_ROWS_AT_ONCE = 1 << 20


class MappedDataset(DiscreteDataset):
    """A `DiscreteDataset` whose codes are read from a file as they are needed; its rows are not merged.

    `DiscreteDataset.from_parquet` makes it where ``codes_in`` names a folder. It goes wherever a data set goes. What
    counts (structures by scores, naive Bayes, TAN, tables) reads blocks of rows; the file must stay as long as the data
    set is used. A `subset` is in memory.
    """

    @property
    def file(self) -> str:
        """The file that the codes lie in, a row a column of the table, the class last."""
        return str(self.codes.filename)  # type: ignore[attr-defined]

    @cached_property
    def tables(self) -> dict[tuple[int, ...], FloatArray]:
        """Tables that were counted before, flat, by their nodes in ascending order."""
        return {}

    def aggregate(self) -> DiscreteDataset:
        """The data set itself: to merge rows takes several times the memory of their codes."""
        return self

    def subset(self, rows: Any) -> DiscreteDataset:
        """The given rows (index array, boolean mask or slice), in memory."""
        return DiscreteDataset(
            np.array(self.codes[rows], dtype=np.int32, order="F"),
            np.array(self.target_codes[rows], dtype=np.int32),
            self.features,
            self.target,
            np.array(self.sample_weight[rows]),
            remarks=self.remarks,
        )

    @cached_property
    def _seen(self) -> tuple[list[int], NDArray[np.int64], NDArray[np.int64]]:
        """Classes that occur, and the least and the largest code of each feature, from one look at the file."""
        least = np.full(self.n_features, np.iinfo(np.int64).max)
        largest = np.full(self.n_features, -1)
        classes = np.zeros(self.n_classes, dtype=np.bool_)
        for start in range(0, self.n_samples, _ROWS_AT_ONCE):
            leave_in_time()
            rows = slice(start, start + _ROWS_AT_ONCE)
            codes = self.codes[rows]
            least, largest = np.minimum(least, codes.min(axis=0)), np.maximum(largest, codes.max(axis=0))
            classes[self.target_codes[rows]] = True
        return np.flatnonzero(classes).tolist(), least, largest

    def observed_classes(self) -> list[int]:
        """Class codes that occur."""
        return list(self._seen[0])

    def constant_features(self) -> list[int]:
        """Features with one observed state."""
        _, least, largest = self._seen
        return np.flatnonzero(least == largest).tolist()

    def drawn(self, n_samples: int) -> tuple[NDArray[np.intp], DiscreteDataset]:
        """About so many rows, evenly along the file: their numbers, and they in memory, of one weight.

        Weights sum to the number of all rows. A few runs of neighbours would be read faster; but neighbours are often
        alike.
        """
        count = min(n_samples, self.n_samples)
        rows = np.arange(count) * self.n_samples // count
        return rows, replace(self.subset(rows), sample_weight=np.full(count, self.n_samples / count))


class CodeFile:
    """Columns of codes in a file of a folder, in the smallest integer type that holds them all.

    Parameters
    ----------
    folder : path-like
        Made where it is absent; a file of codes in it is not overwritten.
    n_columns, n_rows : int

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = CodeFile(folder, 2, 3)
    ...     file.write(0, np.array([0, 1, 2]), 3)
    ...     file.write(1, np.array([0, 300, 2]), 301)
    ...     file.columns().dtype, file.columns().tolist()
    (dtype('int16'), [[0, 1, 2], [0, 300, 2]])
    """

    def __init__(self, folder: str | os.PathLike[str], n_columns: int, n_rows: int) -> None:
        self._path = self.refuse_used(folder)
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._codes = self._made(self._path, np.dtype(np.int8), (n_columns, n_rows))
        except OSError as error:
            raise InputError(
                f"codes_in: {str(self._path)!r} cannot be written: {error.strerror or error}. Name another folder."
            ) from error

    @staticmethod
    def refuse_used(folder: str | os.PathLike[str]) -> Path:
        """Where the codes go in a folder; `InputError` if there are some already."""
        path = Path(folder) / FILE
        if path.exists():
            raise InputError(f"codes_in: {str(path)!r} exists, and a data set may be using it. Name another folder.")
        return path

    @staticmethod
    def _made(path: Path, kind: np.dtype[Any], shape: tuple[int, ...]) -> NDArray[Any]:
        codes: NDArray[Any] = np.lib.format.open_memmap(path, mode="w+", dtype=kind, shape=shape)
        return codes

    def write(self, column: int, codes: NDArray[np.integer[Any]], n_states: int) -> None:
        """Put one column in its place."""
        kind = np.min_scalar_type(-n_states)
        if kind.itemsize > self._codes.dtype.itemsize:
            self._widen(kind)
        for start in range(0, codes.size, _BLOCK):
            leave_in_time()
            self._codes[column, start : start + _BLOCK] = codes[start : start + _BLOCK]

    def _widen(self, kind: np.dtype[Any]) -> None:
        wider = self._path.with_suffix(".wider")
        codes = self._made(wider, kind, self._codes.shape)
        for column in range(len(codes)):
            leave_in_time()
            codes[column] = self._codes[column]
        self._codes = codes
        wider.replace(self._path)

    def columns(self) -> NDArray[Any]:
        """The codes (n_columns, n_rows), to be read only."""
        self._codes.flush()  # type: ignore[attr-defined]
        read: NDArray[Any] = np.lib.format.open_memmap(self._path, mode="r")
        return read

    def remove(self) -> None:
        """Delete the file: what was to be in it is not complete."""
        self._path.unlink(missing_ok=True)
