"""Decisions by expected cost: what each mistake costs, and the class whose cost is least on average."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from mmbn_opt._arguments import listed, shown
from mmbn_opt._arrays import FloatArray
from mmbn_opt.data.cells import as_state
from mmbn_opt.exceptions import InputError

__all__ = ["cost_matrix", "expected_cost"]


def cost_matrix(cost: Any, classes: Sequence[Any]) -> FloatArray:
    """What it costs to say class j where the class is i, shape (n_classes, n_classes).

    Parameters
    ----------
    cost : array (n_classes, n_classes), DataFrame, or mapping
        Rows are true classes and columns what is said, in the order of `classes`, or by label in a frame. A mapping
        ``{(true, said): cost}`` leaves out what costs 0 (the right answers) or 1 (the other mistakes).
    classes : sequence of labels

    Raises
    ------
    InputError

    Examples
    --------
    >>> cost_matrix({("ill", "well"): 20.0}, ["ill", "well"]).tolist()
    [[0.0, 20.0], [1.0, 0.0]]
    """
    labels = [as_state(label) for label in classes]
    if isinstance(cost, Mapping):
        matrix = 1.0 - np.eye(len(labels))
        for pair, value in cost.items():
            if not isinstance(pair, tuple) or len(pair) != 2 or any(as_state(one) not in labels for one in pair):
                raise InputError(
                    f"A key of cost must be (true class, said class) from [{listed(labels)}], got {shown(pair)}."
                )
            matrix[labels.index(as_state(pair[0])), labels.index(as_state(pair[1]))] = _number(value, pair)
        return matrix
    if isinstance(cost, pd.DataFrame):
        for what, found in (("rows", cost.index), ("columns", cost.columns)):
            named = [as_state(one) for one in found]
            if sorted(map(str, named)) != sorted(map(str, labels)):
                raise InputError(f"The {what} of cost must be the classes [{listed(labels)}], got [{listed(named)}].")
        rows, columns = ({str(as_state(one)): k for k, one in enumerate(axis)} for axis in (cost.index, cost.columns))
        cost = cost.to_numpy()[np.ix_([rows[str(one)] for one in labels], [columns[str(one)] for one in labels])]
    try:
        matrix = np.array(cost, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"cost must be a table of numbers, got {shown(cost)}: {error}.") from None
    if matrix.shape != (len(labels), len(labels)):
        raise InputError(
            f"cost has shape {matrix.shape}; it needs a row and a column for each of the {len(labels)} classes "
            f"[{listed(labels)}]."
        )
    if not np.isfinite(matrix).all():
        raise InputError("cost must hold finite numbers; a mistake that must never happen costs a large one.")
    return matrix


def expected_cost(proba: FloatArray, cost: FloatArray) -> FloatArray:
    """Mean cost of saying each class, shape (n_samples, n_classes), under the probabilities of the classes.

    Examples
    --------
    >>> expected_cost(np.array([[0.1, 0.9]]), np.array([[0.0, 20.0], [1.0, 0.0]])).tolist()
    [[0.9, 2.0]]
    """
    mean: FloatArray = proba @ cost
    return mean


def _number(value: Any, of: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = float("nan")
    if not np.isfinite(number):
        raise InputError(f"The value of {shown(of)} must be a finite number, got {shown(value)}.")
    return number
