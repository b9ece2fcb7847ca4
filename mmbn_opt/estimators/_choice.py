"""Cross-validation inside `fit`: which point of a grid classifies held-out rows best."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from mmbn_opt.data import DiscreteDataset
from mmbn_opt.exceptions import InputError
from mmbn_opt.network import BayesianNetwork
from mmbn_opt.scores import classification_rate
from mmbn_opt.selection import held_out_parts

__all__ = ["Choice", "Learn", "candidates", "choose"]

Learn = Callable[[DiscreteDataset, Mapping[str, Any], float | None], BayesianNetwork]


@dataclass(frozen=True, eq=False)
class Choice:
    """What was chosen, and the rate of every candidate.

    Parameters
    ----------
    settings : dict
    table : DataFrame or None
        One row a candidate: its settings and the mean classification ``rate`` on held-out rows. None where there was
        only one candidate and nothing was tried.
    """

    settings: dict[str, Any]
    table: pd.DataFrame | None = None


def candidates(name: str, given: Any, default: Sequence[Any]) -> tuple[Any, ...]:
    """The values to choose from: the default grid for "cv", the given ones for a list, tuple or array, else one.

    Examples
    --------
    >>> candidates("p", "cv", (0.6, 0.9)), candidates("p", [0.7], (0.6, 0.9)), candidates("p", 0.8, (0.6, 0.9))
    ((0.6, 0.9), (0.7,), (0.8,))
    """
    if isinstance(given, str):
        if given != "cv":
            raise InputError(f'{name} must be a number, a sequence of numbers, or "cv", got {given!r}.')
        return tuple(default)
    values = tuple(given) if isinstance(given, (list, tuple, np.ndarray)) else (given,)
    if not values:
        raise InputError(f"{name} is an empty sequence; give at least one value to choose from.")
    return tuple(v.item() if isinstance(v, np.generic) else v for v in values)


def choose(
    grid: Mapping[str, Sequence[Any]],
    data: DiscreteDataset,
    learn: Learn,
    *,
    seed: int = 0,
    n_jobs: int | None = None,
    seconds: float | None = None,
) -> Choice:
    """Learn every point of a grid on the papers' folds; the highest mean rate wins, ties go to the earlier point.

    Parameters
    ----------
    grid : mapping from setting to values
        The last name varies fastest. With one point nothing is learned.
    data : DiscreteDataset
        One fifth is held out above 1,000 rows; 5-fold cross-validation below.
    learn : callable (data, settings, seconds) -> BayesianNetwork
    seed : int
        Of the folds.
    n_jobs : int or None
        As in ``joblib.Parallel``.
    seconds : float or None
        For all runs together, shared evenly among them.
    """
    points = [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]
    if len(points) == 1:
        return Choice(points[0])
    from joblib import Parallel, delayed

    parts = held_out_parts(data, None, seed)
    share = None if seconds is None else seconds / (len(points) * len(parts))
    rates = Parallel(n_jobs=n_jobs)(
        delayed(_rate)(learn, data, point, train, held_out, share) for point in points for train, held_out in parts
    )
    weights = np.array([data.sample_weight[held_out].sum() for _, held_out in parts])
    # Rounded, so that sums of equal counts tie whatever the order of the rows.
    mean = np.round(np.average(np.reshape(rates, (len(points), len(parts))), axis=1, weights=weights), 12)
    return Choice(points[int(np.argmax(mean))], pd.DataFrame(points, columns=list(grid)).assign(rate=mean))


def _rate(
    learn: Learn, data: DiscreteDataset, point: Mapping[str, Any], train: Any, held_out: Any, seconds: float | None
) -> float:
    part = data.subset(train)
    if len(part.observed_classes()) < 2:
        raise InputError(
            "Cross-validation needs at least two classes in every part that is learned from; give the settings "
            'instead of "cv", or more rows.'
        )
    return classification_rate(learn(part, point, seconds), data.subset(held_out))
