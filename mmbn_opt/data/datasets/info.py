"""What is known about a data set beside its cells."""

from dataclasses import dataclass
from typing import Literal

__all__ = ["ColumnKind", "DatasetInfo"]

ColumnKind = Literal["numeric", "categorical"]


@dataclass(frozen=True)
class DatasetInfo:
    """Size, kinds of columns and provenance of a data set.

    Parameters
    ----------
    name : str
    rows : int
    features : int
        Columns without the class.
    classes : int
    target : str
        Name of the class column.
    kinds : dict of str to {"numeric", "categorical"}
        Of every feature, in column order; the class is not in it.
    train_rows : int or None
        Where a fixed split exists, the first so many rows are for training.
    source : str
    licence : str
    notes : str
    sha256 : str or None
        Of the file as shipped; None for a data set that was fetched.
    """

    name: str
    rows: int
    features: int
    classes: int
    target: str
    kinds: dict[str, ColumnKind]
    train_rows: int | None
    source: str
    licence: str
    notes: str
    sha256: str | None
