"""The data sets that come with the package."""

import gzip
import io
import json
from functools import cache
from importlib import resources
from typing import Any, Literal, overload

import pandas as pd

from mmbn_opt._arguments import check_arguments
from mmbn_opt.data.datasets.info import DatasetInfo
from mmbn_opt.exceptions import InputError

__all__ = ["dataset_names", "load_dataset"]

_TARGET = "class"


def dataset_names() -> tuple[str, ...]:
    """Names that `load_dataset` knows.

    Examples
    --------
    >>> dataset_names()
    ('iris', 'car', 'vote', 'corral', 'mofn-3-7-10')
    """
    return tuple(_manifest())


@overload
def load_dataset(name: str, *, return_info: Literal[False] = False) -> pd.DataFrame: ...
@overload
def load_dataset(name: str, *, return_info: Literal[True]) -> tuple[pd.DataFrame, DatasetInfo]: ...
def load_dataset(name: str, *, return_info: bool = False) -> pd.DataFrame | tuple[pd.DataFrame, DatasetInfo]:
    """Load a data set that comes with the package.

    Parameters
    ----------
    name : str
        One of `dataset_names()`.
    return_info : bool, default=False
        Whether to return the `DatasetInfo` as well.

    Returns
    -------
    frame : pandas.DataFrame
        Features first, then the column ``class``. Numeric columns are float64; categorical ones and the class hold
        text, also where it looks like a number. A missing cell is NaN.
    info : DatasetInfo
        Only with ``return_info=True``.

    Raises
    ------
    InputError
        An unknown name; the message lists the known ones.

    Examples
    --------
    >>> frame, info = load_dataset("car", return_info=True)
    >>> frame.shape, info.classes, info.kinds["safety"]
    ((1728, 7), 4, 'categorical')
    """
    check_arguments(load_dataset, locals())
    entry = _manifest().get(name)
    if entry is None:
        raise InputError(
            f"No data set {name!r} comes with mmbn_opt. There are: {', '.join(dataset_names())}. "
            "Others can be fetched by load_openml(name)."
        )
    text = gzip.decompress(_data_file(entry["file"]).read_bytes())
    names = text[: text.index(b"\n")].decode("utf-8").strip().split(",")
    kinds = dict(zip(names[:-1], entry["feature_kinds"], strict=True))
    types = {column: "float64" if kinds.get(column) == "numeric" else "str" for column in names}
    frame = pd.read_csv(io.BytesIO(text), dtype=types, keep_default_na=False, na_values=[""])
    if not return_info:
        return frame
    kept = ("name", "rows", "features", "classes", "train_rows", "source", "licence", "notes", "sha256")
    return frame, DatasetInfo(target=_TARGET, kinds=kinds, **{key: entry[key] for key in kept})


@cache
def _manifest() -> dict[str, dict[str, Any]]:
    return {entry["name"]: entry for entry in json.loads(_data_file("manifest.json").read_text(encoding="utf-8"))}


def _data_file(name: str) -> resources.abc.Traversable:
    return resources.files("mmbn_opt.data.datasets") / "data" / name
