"""Dual values of rows, a kind of row at a time, and all of them as one labelled table."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from mmbn_opt._arrays import FloatArray

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["DualRows", "duals_frame"]

NOTHING = 1e-6
"""Share of the largest dual value up to which one is what a solver left of nothing, and no row that binds."""


@dataclass(frozen=True, eq=False)
class DualRows:
    """Rows of one kind with what they weigh.

    Parameters
    ----------
    kind : str
    names : sequence of str
    value, limit : float64 arrays (n_rows,)
        What the row's expression is at the answer, and what it is held against.
    dual : float64 array (n_rows,)
        What the optimal value gains for each unit by which the limit is raised.
    """

    kind: str
    names: tuple[str, ...]
    value: FloatArray
    limit: FloatArray
    dual: FloatArray


def duals_frame(parts: Iterable[DualRows]) -> "pd.DataFrame":
    """One row a row: ``kind``, ``name``, ``value``, ``limit``, ``dual``, ``binds``.

    Examples
    --------
    >>> rows = DualRows("margin", ("row 0", "row 3"), np.array([2.0, 9.0]), np.array([4.0, 4.0]), np.array([1.0, 0.0]))
    >>> duals_frame([rows]).to_dict("list")["binds"]
    [True, False]
    """
    import pandas as pd

    frames, parts = [], list(parts)
    least = NOTHING * max(float(np.abs(part.dual).max(initial=0.0)) for part in parts)
    for part in parts:
        columns = {"value": part.value, "limit": part.limit, "dual": part.dual, "binds": np.abs(part.dual) > least}
        frames.append(pd.DataFrame({"kind": part.kind, "name": list(part.names), **columns}))
    return pd.concat(frames, ignore_index=True)
