"""Cross-validation inside `fit`: which point of a grid classifies held-out rows best."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from mmbn_opt._budget import until_interrupted
from mmbn_opt.data.discrete import DiscreteDataset
from mmbn_opt.exceptions import InputError
from mmbn_opt.networks.network import BayesianNetwork
from mmbn_opt.results.result import Result
from mmbn_opt.results.status import TerminationStatus
from mmbn_opt.scores.predictive import classification_rate
from mmbn_opt.tuning.grid import held_out_parts
from mmbn_opt.tuning.many_runs import run_until_interrupted

__all__ = ["Choice", "Learn", "candidates", "choose", "complete"]

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
    several = isinstance(given, Collection) and not isinstance(given, Mapping)
    values = tuple(given) if several else (given,)
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

    Raises
    ------
    KeyboardInterrupt
        If Ctrl-C came before the first point was complete; later the choice is made among those that are.
    """
    points = [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]
    if len(points) == 1:
        return Choice(points[0])
    parts = held_out_parts(data, None, seed)
    share = None if seconds is None else seconds / (len(points) * len(parts))
    work = [(learn, data, point, train, held_out, share) for point in points for train, held_out in parts]
    rates = run_until_interrupted(_rate, work, n_jobs)
    points = points[: len(rates) // len(parts)]
    if not points:
        raise KeyboardInterrupt
    weights = np.array([data.sample_weight[held_out].sum() for _, held_out in parts])
    # Rounded, so that sums of equal counts tie whatever the order of the rows.
    table = np.reshape(rates[: len(points) * len(parts)], (len(points), len(parts)))
    mean = np.round(np.average(table, axis=1, weights=weights), 12)
    return Choice(points[int(np.argmax(mean))], pd.DataFrame(points, columns=list(grid)).assign(rate=mean))


def complete(result: Result) -> Result:
    """A candidate's result; one that was cut off must not enter a table as if it were complete.

    Raises
    ------
    KeyboardInterrupt
    """
    if result.termination_status is TerminationStatus.INTERRUPTED:
        raise KeyboardInterrupt
    return result


def _rate(
    learn: Learn, data: DiscreteDataset, point: Mapping[str, Any], train: Any, held_out: Any, seconds: float | None
) -> float | None:
    """Classification rate on the held-out rows; None when the run was cut off."""
    part = data.subset(train)
    if len(part.observed_classes()) < 2:
        raise InputError(
            "Cross-validation needs at least two classes in every part that is learned from; give the settings "
            'instead of "cv", or more rows.'
        )
    with until_interrupted() as cut:
        network = learn(part, point, seconds)
    return None if cut else classification_rate(network, data.subset(held_out))
