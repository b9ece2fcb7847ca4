"""What settings of mixtures are chosen among, and which rows the folds of the choice hold out."""

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mmbn_opt._arguments import whole
from mmbn_opt.data.folds import numeric_folds
from mmbn_opt.data.numeric import NumericDataset
from mmbn_opt.tuning.held_out import candidates

__all__ = ["CMMSettings", "candidate_settings", "held_out_rows"]

COMPONENTS = (1, 2, 3, 4, 5)
TAUS = (0.000025, 0.00025, 0.0025, 0.025, 0.25, 2.5)
ITERATIONS = (0, 10, 30, 100, 300)
"""What "cv" chooses from; the paper tries K = 3, 4, 5, these tau up to 0.25, and no early stop."""


@dataclass(frozen=True)
class CMMSettings:
    """What there may be a choice of."""

    n_components: int
    tau: float
    iterations: int | None


def candidate_settings(n_components: Any, tau: Any, iterations: Any) -> list[CMMSettings]:
    """All combinations: the fewest components first, then the largest tau, then the fewest iterations."""
    limits = candidates("iterations", iterations, ITERATIONS)
    for limit in limits:
        if limit is not None:
            whole("iterations", limit, expected="whole numbers of at least 0 or None")
    ordered = (
        sorted(set(candidates("n_components", n_components, COMPONENTS))),
        sorted(set(candidates("tau", tau, TAUS)), reverse=True),
        sorted(set(limits), key=lambda limit: np.inf if limit is None else limit),
    )
    return [CMMSettings(k, tau, limit) for k, tau, limit in product(*ordered)]


def held_out_rows(data: NumericDataset, rows: NDArray[np.intp], cv: Any, seed: int) -> list[NDArray[np.bool_]]:
    """Which samples each fold of a choice holds out; the copies of a row stay together.

    Parameters
    ----------
    data : NumericDataset
    rows : int array (n_samples,)
        Row that each sample is a copy of.
    cv : int, or list of (train, test) row numbers
    seed : int
    """
    if np.iterable(cv):
        return [np.isin(rows, test) for _, test in cv]
    _, first, copies = np.unique(rows, return_index=True, return_inverse=True)
    alone = NumericDataset.from_arrays(data.z[first], data.codes[first], missing="marginalize", tells=False)
    folds = numeric_folds(alone, cv, seed)[copies.ravel()]
    return [folds == fold for fold in range(cv)]
