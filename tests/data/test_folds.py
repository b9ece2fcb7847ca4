"""Folds and held-out rows: even, class by class, the same for discrete and numeric samples, whatever their order."""

import numpy as np
import pytest

from mmbn_opt.data.discrete import DiscreteDataset
from mmbn_opt.data.folds import draw_held_out, draw_rows, numeric_folds, stratified_folds, take_rows
from mmbn_opt.data.numeric import NumericDataset
from mmbn_opt.exceptions import InputError


def samples(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return np.arange(30)[:, np.newaxis], rng.permutation([0] * 14 + [1] * 9 + [2] * 7)


def test_folds_are_even_and_keep_the_classes_in_proportion() -> None:
    y = np.array([0] * 11 + [1] * 7 + [2])
    data = NumericDataset.from_arrays(np.random.default_rng(0).normal(size=(19, 2)), y)
    folds = numeric_folds(data, 3, seed=0)
    assert folds[18] == -1
    sizes = np.bincount(folds[folds >= 0])
    assert np.ptp(sizes) <= 1
    for c in (0, 1):
        assert np.ptp(np.bincount(folds[y == c], minlength=3)) <= 1


def test_discrete_and_numeric_samples_are_dealt_and_drawn_alike() -> None:
    X, y = samples()
    discrete, numeric = DiscreteDataset.from_arrays(X, y), NumericDataset.from_arrays(X, y)
    np.testing.assert_array_equal(stratified_folds(discrete, 4, 7), numeric_folds(numeric, 4, 7))
    train, held_out = draw_rows(discrete, 0.3, 7)
    np.testing.assert_array_equal(np.flatnonzero(draw_held_out(numeric, 0.3, keep=1, seed=7)), held_out)
    assert sorted([*train, *held_out]) == list(range(30))
    assert np.bincount(y[held_out]).tolist() == [4, 3, 2]


def test_the_order_of_the_rows_does_not_matter() -> None:
    X, y = samples()
    order = np.random.default_rng(1).permutation(30)
    one, other = NumericDataset.from_arrays(X, y), NumericDataset.from_arrays(X[order], y[order])
    np.testing.assert_array_equal(numeric_folds(one, 3, 0)[order], numeric_folds(other, 3, 0))
    held_out = draw_held_out(one, 0.4, keep=2, seed=0)
    np.testing.assert_array_equal(held_out[order], draw_held_out(other, 0.4, keep=2, seed=0))


def test_a_class_keeps_what_it_needs_and_too_small_a_share_is_refused() -> None:
    X, y = samples()
    data = NumericDataset.from_arrays(X, y)
    assert np.bincount(y[draw_held_out(data, 0.9, keep=6, seed=0)]).tolist() == [8, 3, 1]
    with pytest.raises(InputError, match=r"validation=0\.01 of 30 rows leaves no row"):
        draw_held_out(data, 0.01, keep=1, seed=0)


def test_rows_are_taken_by_mask_and_by_number() -> None:
    X, y = samples()
    by_number = take_rows(X, y, np.array([2, 2, 0]))
    assert (by_number[0].ravel().tolist(), by_number[1].tolist()) == ([2, 2, 0], y[[2, 2, 0]].tolist())
    by_mask = take_rows(X, y, np.arange(30) < 2)
    assert (by_mask[0].ravel().tolist(), by_mask[1].tolist()) == ([0, 1], y[:2].tolist())
