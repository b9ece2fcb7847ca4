"""Classifiers of mixtures that are learned on parts of the rows: which parts, and the temperature they agree on."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mmbn_opt._arrays import FloatArray
from mmbn_opt.data.folds import numeric_folds
from mmbn_opt.data.numeric import NumericDataset
from mmbn_opt.mixtures.classifier import MixtureClassifier
from mmbn_opt.scores.calibration import Calibration
from mmbn_opt.tuning.calibration import LEAST_ROWS, HeldOutScores, calibrate_on

__all__ = ["LearnMixture", "calibrate_mixture", "held_out_rows"]

FOLDS = 3
"""Fewer than for networks: a fit of mixtures takes longer than one of tables by orders of magnitude."""

KNEES = (10.0, 1.0, 0.1, 0.01)
"""In medians of the distance between classes."""

ONE_PART_ABOVE, ONE_PART = 1000, 5
"""Rows above which one part is held out, and which share of them it is."""

LearnMixture = Callable[[FloatArray, NDArray[np.intp], float | None], MixtureClassifier | None]
"""From samples, class codes and seconds to a classifier; None when it was cut off."""


def calibrate_mixture(
    data: NumericDataset, learn: LearnMixture, *, seed: int, n_jobs: int | None, seconds: float | None
) -> Calibration:
    """A temperature on the decision values.

    Equal rows stay together, so that a row of weight 2 is that row twice.

    Parameters
    ----------
    data : NumericDataset
    learn : callable
        From samples, class codes and seconds.
    seed : int
        Of the parts.
    n_jobs : int or None
    seconds : float or None
        For all of it.
    """
    if data.n_samples < LEAST_ROWS:
        return Calibration(reason=f"{data.n_samples} rows, fewer than {LEAST_ROWS}")

    def scored(train: NDArray[np.bool_], held_out: NDArray[np.bool_], share: float | None) -> HeldOutScores | None:
        model = learn(data.z[train], data.codes[train], share)
        if model is None:
            return None
        values = model.decision_values(data.z[held_out])
        # A class of one row is always learned from, so that each model knows all classes.
        with np.errstate(divide="ignore"):
            log_proba = np.log(model.proba_of(values))
        return HeldOutScores(values, data.codes[held_out].astype(np.int64), np.ones(int(held_out.sum())), log_proba)

    def parts() -> list[tuple[NDArray[np.bool_], NDArray[np.bool_]]]:
        return [(~held_out, held_out) for held_out in _parts(data, seed) if held_out.any()]

    return calibrate_on(parts, scored, n_jobs=n_jobs, seconds=seconds, knees=KNEES)


def _parts(data: NumericDataset, seed: int) -> list[NDArray[np.bool_]]:
    """Which samples each part holds out."""
    content = np.column_stack([data.codes, data.z])
    _, first, copies = np.unique(content, axis=0, return_index=True, return_inverse=True)
    alone = NumericDataset.from_arrays(data.z[first], data.codes[first], missing="marginalize", tells=False)
    one = len(copies) > ONE_PART_ABOVE
    fold = numeric_folds(alone, ONE_PART if one else FOLDS, seed)[copies.ravel()]
    return [fold == k for k in range(1 if one else FOLDS)]


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
