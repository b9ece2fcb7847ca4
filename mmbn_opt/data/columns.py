"""Columns of a table by name: those to leave out, and others in their place."""

import difflib
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from mmbn_opt._arguments import listed, shown
from mmbn_opt.exceptions import InputError

__all__ = ["frame_of_array", "left_out"]


def left_out(frame: pd.DataFrame, ignore: Iterable[str] | str, target: str | None = None) -> pd.DataFrame:
    """The frame without some columns, which are told apart by the text of their names.

    Parameters
    ----------
    frame : DataFrame
    ignore : iterable of names, or a single one
    target : str or None
        The class column, which must stay.

    Raises
    ------
    InputError
        A name that is no column, or the class column's.

    Examples
    --------
    >>> left_out(pd.DataFrame({"id": [1], "a": [2], 3: [4]}), ["id", 3]).columns.tolist()
    ['a']
    """
    names = [ignore] if isinstance(ignore, str) or not isinstance(ignore, Iterable) else list(ignore)
    wanted = [str(name) for name in names]
    if not wanted:
        return frame
    known = [str(column) for column in frame.columns]
    for name in wanted:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"Did you mean {shown(near[0])}?" if near else f"The columns are {listed(known)}."
            raise InputError(f"ignore (--drop on the command line) names the unknown column {shown(name)}. {hint}")
        if target is not None and name == str(target):
            raise InputError(
                f"ignore (--drop on the command line) names the class column {shown(name)}, which is needed."
            )
    gone = set(wanted)
    return frame.loc[:, [name not in gone for name in known]]


def frame_of_array(X: Any, feature_names: Sequence[str] | None) -> pd.DataFrame:
    """A two-dimensional array as a frame; columns are called x0, x1, ... unless named."""
    array = np.asarray(X)
    if array.ndim != 2:
        raise InputError(f"X must be two-dimensional (n_samples, n_features), got shape {array.shape}.")
    names = [f"x{j}" for j in range(array.shape[1])] if feature_names is None else [str(n) for n in feature_names]
    if len(names) != array.shape[1]:
        raise InputError(f"{len(names)} feature names for {array.shape[1]} columns.")
    return pd.DataFrame(array, columns=names)
