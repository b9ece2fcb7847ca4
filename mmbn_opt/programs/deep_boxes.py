"""Open boxes that wait on the disk in sorted runs, of which memory holds where each begins and its least value."""

import math
import tempfile
import weakref
from pathlib import Path
from typing import BinaryIO, cast

import numpy as np
from numpy.typing import NDArray

__all__ = ["DeepBoxes", "box_record"]


def box_record(n_columns: int) -> np.dtype[np.void]:
    """A box: its value and number, where its parting was written, its depth, and the bits of its allowed columns."""
    bits = -(-n_columns // 8)
    return np.dtype([("value", "<f8"), ("number", "<i8"), ("place", "<i8"), ("depth", "<i4"), ("bits", "u1", (bits,))])


class DeepBoxes:
    """Boxes in a file without a name, which is gone with the process.

    Parameters
    ----------
    n_columns : int
    folder : Path or None
        Where the file is; None for the place of temporary files.

    Examples
    --------
    >>> deep = DeepBoxes(8)
    >>> boxes = np.zeros(3, dtype=box_record(8))
    >>> boxes["value"], boxes["number"] = [1.0, 2.0, 4.0], [7, 8, 9]
    >>> deep.add(boxes)
    >>> deep.add(np.array([(3.0, 5, 0, 0, [255])], dtype=boxes.dtype))
    >>> len(deep), deep.least, deep.take(2)["number"].tolist(), deep.least
    (4, 1.0, [7, 8], 3.0)
    """

    def __init__(self, n_columns: int, folder: Path | None = None) -> None:
        self._folder = folder
        self.record = box_record(n_columns)
        self._file: BinaryIO | None = None
        self._runs: list[tuple[float, int, int]] = []  # least value, first and behind the last of the records
        self._size = 0

    def __len__(self) -> int:
        return sum(behind - first for _, first, behind in self._runs)

    @property
    def least(self) -> float:
        """Least value of all; inf where there are none."""
        return min((value for value, _, _ in self._runs), default=math.inf)

    def add(self, boxes: NDArray[np.void]) -> None:
        """Boxes in the order of their values.

        Raises
        ------
        OSError
            If there is no room; none of them was taken.
        """
        if not len(boxes):
            return
        if self._file is None:
            self._file = cast(BinaryIO, tempfile.TemporaryFile(prefix=".boxes-", dir=self._folder))  # noqa: SIM115
            weakref.finalize(self, self._file.close)
        self._file.seek(self._size * self.record.itemsize)
        self._file.write(boxes.tobytes())
        self._file.flush()
        self._runs.append((float(boxes["value"][0]), self._size, self._size + len(boxes)))
        self._size += len(boxes)

    def take(self, count: int) -> NDArray[np.void]:
        """The first boxes, at most so many, of the run that holds the least; they are here no longer."""
        assert self._file is not None
        number = min(range(len(self._runs)), key=lambda each: self._runs[each][0])
        _, first, behind = self._runs[number]
        end = min(first + count, behind)
        found = self._read(first, min(end + 1, behind))
        if end < behind:
            self._runs[number] = (float(found["value"][-1]), end, behind)
        else:
            del self._runs[number]
        if not self._runs:
            self._size = 0
            self._file.truncate(0)
        return found[: end - first]

    def _read(self, first: int, behind: int) -> NDArray[np.void]:
        assert self._file is not None
        self._file.seek(first * self.record.itemsize)
        return np.frombuffer(self._file.read((behind - first) * self.record.itemsize), dtype=self.record)
