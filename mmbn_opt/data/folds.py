"""Folds and held-out rows, drawn class by class and whatever the order of the rows."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mmbn_opt._arguments import checked_number
from mmbn_opt.data.discrete import DiscreteDataset
from mmbn_opt.data.frames import as_pandas
from mmbn_opt.data.numeric import NumericDataset
from mmbn_opt.exceptions import InputError

__all__ = [
    "draw_held_out",
    "draw_rows",
    "holdout_rows",
    "numeric_folds",
    "stratified_folds",
    "take_rows",
    "weighed_parts",
]

Rows = NDArray[np.intp]


def holdout_rows(labels: NDArray[np.integer], *, test_fraction: float = 1 / 3, seed: int = 0) -> tuple[Rows, Rows]:
    """Row numbers of a training and a test part, classes in proportion where each has at least two rows.

    Examples
    --------
    >>> train, test = holdout_rows(np.array([0, 1] * 6), test_fraction=1 / 3)
    >>> len(train), len(test)
    (8, 4)
    """
    from sklearn.model_selection import train_test_split  # a second at the start of whoever holds nothing out

    rare = np.bincount(labels - labels.min()).min() < 2
    train, test = train_test_split(
        np.arange(len(labels)), test_size=test_fraction, random_state=seed, stratify=None if rare else labels
    )
    return np.sort(train), np.sort(test)


def stratified_folds(data: DiscreteDataset, n_folds: int, seed: int = 0) -> NDArray[np.int32]:
    """Fold of each row: classes dealt out in turn, whatever the order of the rows.

    Examples
    --------
    >>> data = DiscreteDataset.from_arrays([["a"]] * 6, [0, 0, 0, 0, 1, 1])
    >>> fold = stratified_folds(data, 2)
    >>> [int(data.target_codes[fold == k].sum()) for k in range(2)], np.bincount(fold).tolist()
    ([1, 1], [3, 3])
    """
    return _deal(*_sorted_rows(data), n_folds, seed).astype(np.int32)


def weighed_parts(
    merged: DiscreteDataset, n_folds: int, *, one_above: float, seed: int
) -> list[tuple[DiscreteDataset, DiscreteDataset]]:
    """Parts to learn from and parts held out, the same for a row of weight 2 and for that row twice.

    The rows of a class lie in a random order along a line, each as long as its weight, and the line is dealt out to the
    folds in pieces of one row's usual weight. So a heavy row is shared among folds, as its copies would be, and scaling
    all weights changes nothing.

    Parameters
    ----------
    merged : DiscreteDataset
        From `DiscreteDataset.aggregate`.
    n_folds : int
    one_above : float
        Above that many pieces only the first fold is held out.
    seed : int

    Returns
    -------
    list of (DiscreteDataset, DiscreteDataset)
        Empty where no class has two pieces.

    Examples
    --------
    >>> data = DiscreteDataset.from_arrays([["a"], ["b"], ["c"]], [0, 0, 1], sample_weight=[3.0, 1.0, 2.0])
    >>> [(train.total_weight, held.total_weight) for train, held in weighed_parts(data, 2, one_above=100, seed=0)]
    [(3.0, 3.0), (3.0, 3.0)]
    """
    weight = merged.sample_weight
    piece = float(np.quantile(weight, 0.25, method="lower"))
    rng = np.random.default_rng(seed)
    codes = merged.target_codes
    order = np.concatenate([rng.permutation(np.flatnonzero(codes == c)) for c in merged.observed_classes()])
    # Rounded, so that the ends of pieces meet whatever the unit of the weights.
    ends = np.round(np.cumsum(weight[order]) / piece, 6)
    starts = np.concatenate([[0.0], ends[:-1]])
    pieces = np.bincount(codes, weights=weight, minlength=len(merged.target.states)) / piece
    # A class of a single piece is learned from: without it there may be nothing to tell apart.
    alone = pieces[codes[order]] < 2 - 1e-6
    parts = []
    for fold in range(1 if ends[-1] > one_above else n_folds):
        share = np.zeros(len(order))
        share[order] = np.where(alone, 0.0, piece * (_dealt(ends, fold, n_folds) - _dealt(starts, fold, n_folds)))
        rest = weight - share
        held = [replace(merged.subset(w > 1e-9 * piece), sample_weight=w[w > 1e-9 * piece]) for w in (rest, share)]
        if held[1].n_samples:
            parts.append((held[0], held[1]))
    return parts


def _dealt(length: NDArray[np.float64], fold: int, n_folds: int) -> NDArray[np.float64]:
    """How much of the line from 0 to `length`, in pieces, a fold has."""
    rounds = np.floor(length / n_folds)
    dealt: NDArray[np.float64] = rounds + np.clip(length - n_folds * rounds - fold, 0.0, 1.0)
    return dealt


def draw_rows(data: DiscreteDataset, fraction: Any, seed: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Rows to learn from and rows held out, drawn class by class from the sorted rows."""
    share = "a DiscreteDataset or a share of the rows in (0, 1)"
    fraction = checked_number("validation", fraction, 0.0, 1.0, open_low=True, open_high=True, expected=share)
    held_out = _draw(*_sorted_rows(data), fraction, keep=1, seed=seed)  # a class keeps a row to be learned from
    return np.flatnonzero(~held_out), np.flatnonzero(held_out)


def numeric_folds(data: NumericDataset, n_folds: int, seed: int) -> NDArray[np.intp]:
    """Fold of each row, classes spread evenly; -1 for the only sample of a class, which is always learned from.

    Examples
    --------
    >>> data = NumericDataset.from_arrays([[1.0], [2.0], [3.0], [4.0], [5.0]], ["a", "a", "b", "b", "c"])
    >>> folds = numeric_folds(data, 2, seed=0)
    >>> sorted(folds[:2].tolist()), sorted(folds[2:4].tolist()), int(folds[4])
    ([0, 1], [0, 1], -1)
    """
    return _deal(*_sorted_rows(data), n_folds, seed, single=-1)


def draw_held_out(data: NumericDataset, fraction: float, *, keep: int, seed: int) -> NDArray[np.bool_]:
    """Rows to hold out, drawn class by class from the sorted rows; each class keeps `keep` rows to be learned from."""
    return _draw(*_sorted_rows(data), fraction, keep=keep, seed=seed)


def take_rows(X: Any, y: Any, rows: NDArray[np.bool_] | Rows) -> tuple[Any, NDArray[Any]]:
    """Some rows of the samples and of their labels, by a mask or by number; a number may come more than once."""
    X = as_pandas(X)
    part = X.iloc[rows] if isinstance(X, pd.DataFrame) else np.asarray(X)[rows]
    return part, np.asarray(y)[rows]


def _sorted_rows(data: DiscreteDataset | NumericDataset) -> tuple[Rows, NDArray[np.integer]]:
    """Row numbers in an order of their content, so that no draw depends on the order of the file; class codes."""
    if isinstance(data, NumericDataset):
        return np.lexsort([*data.z.T[::-1], data.codes]), data.codes
    return np.lexsort([data.sample_weight, *data.codes.T[::-1], data.target_codes]), data.target_codes


def _by_class(order: Rows, codes: NDArray[np.integer], seed: int) -> Iterator[Rows]:
    """The rows of each class that has some, shuffled."""
    rng = np.random.default_rng(seed)
    for c in np.unique(codes):
        yield rng.permutation(order[codes[order] == c])


def _deal(order: Rows, codes: NDArray[np.integer], n_folds: int, seed: int, *, single: int | None = None) -> Rows:
    """Fold of each row, classes dealt out one after the other; `single` for the only row of a class, where given."""
    folds = np.zeros(len(order), dtype=np.intp)
    dealt = 0
    for rows in _by_class(order, codes, seed):
        if len(rows) == 1 and single is not None:
            folds[rows] = single
        else:
            # The next class goes on where this one ended, so that the folds have nearly equal sizes.
            folds[rows] = (dealt + np.arange(len(rows))) % n_folds
            dealt += len(rows)
    return folds


def _draw(order: Rows, codes: NDArray[np.integer], fraction: float, *, keep: int, seed: int) -> NDArray[np.bool_]:
    """Which rows to hold out, a share of each class, of which `keep` rows are left."""
    held_out = np.zeros(len(order), dtype=bool)
    for rows in _by_class(order, codes, seed):
        count = min(round(fraction * len(rows)), len(rows) - keep)
        held_out[rows[: max(count, 0)]] = True
    if not held_out.any():
        raise InputError(f"validation={fraction:g} of {len(order)} rows leaves no row to validate on; raise it.")
    return held_out
