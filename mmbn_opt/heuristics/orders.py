"""Discriminative structures along an order of the features: OMI, OMISP and random orders."""

from itertools import combinations
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from mmbn_opt._arguments import check_arguments
from mmbn_opt._arrays import FloatArray
from mmbn_opt.data.counts import contingency, n_log_n
from mmbn_opt.data.discrete import DiscreteDataset
from mmbn_opt.exceptions import InputError
from mmbn_opt.heuristics.growing import ClassScore, GrowingStructure
from mmbn_opt.networks.smoothing import Smoothing, as_smoothing
from mmbn_opt.networks.structure import Structure

__all__ = ["FeatureOrder", "feature_order", "order_mi"]

FeatureOrder = Literal["OMI", "OMISP", "RO"]

_DECIMALS = 12
"""Informations that agree to so many decimals are equal, whatever the order in which they were added up."""


def order_mi(
    data: DiscreteDataset,
    order: FeatureOrder = "OMI",
    k: int = 1,
    score: ClassScore = "cr",
    seed: int = 0,
    *,
    folds: int | None = None,
    smoothing: float | Smoothing = 1.0,
) -> Structure:
    """Structure found along an order of the features (Pernkopf & Bilmes 2008, section 4).

    The features are put in order by what they tell of the class; then each, in that order, takes the (at most `k`)
    earlier features as parents that raise the score most. It takes none unless the score improves, so that the graph of
    the features may be a forest. Parameters are smoothed maximum likelihood throughout.

    Parameters
    ----------
    data : DiscreteDataset
    order : {"OMI", "OMISP", "RO"}
        By conditional mutual information given all earlier features (eq. 5), given the best single earlier feature
        (eq. 6), or at random.
    k : {1, 2}
        Feature parents beside the class. All sets up to `k` are tried: ``O(N^(k+1))`` evaluations.
    score : {"cr", "cl"}
        Classification rate or conditional log-likelihood.
    seed : int
        Of the random order and of the folds.
    folds : int or None
        Cross-validation folds of the score, 1 to score the training rows themselves. None is the paper's choice: 1 for
        ``k=1`` and 5 for ``k=2``, which overfits otherwise.
    smoothing : float or Smoothing

    Returns
    -------
    Structure
        The class is a parent of every feature. Ties go to fewer parents, then to the lower feature numbers.

    Examples
    --------
    The class is the exclusive or of two features, which no tree by mutual information would join:

    >>> rows = [["a", "a", "u"], ["a", "b", "u"], ["b", "a", "v"], ["b", "b", "v"]] * 5
    >>> data = DiscreteDataset.from_arrays(rows, [0, 1, 1, 0] * 5)
    >>> order_mi(data).parent_names
    {'class': [], 'x0': ['class'], 'x1': ['x0', 'class'], 'x2': ['class']}
    """
    check_arguments(order_mi, locals())
    if k not in (1, 2):
        raise InputError(f"k must be 1 or 2 feature parents, got {k!r}.")
    n_folds = folds if folds is not None else min(5 if k == 2 else 1, max(1, data.n_samples))
    growing = GrowingStructure(data, score, as_smoothing(smoothing), n_folds=n_folds, seed=seed)
    growing.refuse_large(k)
    sequence = feature_order(data, order, seed=seed)
    for position, child in enumerate(sequence):
        earlier = sorted(sequence[:position])
        options = [(child, parents) for size in range(1, k + 1) for parents in combinations(earlier, size)]
        found = growing.best(options)
        if found >= 0:
            growing.add(*options[found])
    return growing.structure()


def feature_order(data: DiscreteDataset, order: FeatureOrder = "OMI", *, seed: int = 0) -> list[int]:
    """Features in the order of `order_mi`'s first step.

    Ties, among them all features that tell nothing more of the class, go to the larger ``I(C; X)``, then to the lower
    number.

    Examples
    --------
    >>> rows = [["a", "a", "u"], ["a", "b", "u"], ["b", "a", "u"], ["b", "b", "v"]] * 5
    >>> feature_order(DiscreteDataset.from_arrays(rows, [0, 1, 1, 1] * 5), "OMISP")
    [0, 1, 2]
    """
    if order == "RO":
        return [int(j) for j in np.random.default_rng(seed).permutation(data.n_features)]
    if order not in ("OMI", "OMISP"):
        raise InputError(f'order must be "OMI", "OMISP" or "RO", got {order!r}.')
    data = data.aggregate()
    marginal = np.array(
        [_information(contingency(data, [j, data.n_features])[:, None]) for j in range(data.n_features)]
    )
    marginal = np.round(marginal / data.total_weight, _DECIMALS)
    return _omi(data, marginal) if order == "OMI" else _omisp(data, marginal)


def _information(counts: FloatArray) -> float:
    """``n I(C; X | Y)`` in nats from counts over (X, Y, C)."""
    of_x_and_c = n_log_n(counts) + n_log_n(counts.sum(axis=(0, 2)))
    return max(0.0, of_x_and_c - n_log_n(counts.sum(axis=0)) - n_log_n(counts.sum(axis=2)))


def _pick(gain: FloatArray, marginal: FloatArray, left: NDArray[np.bool_]) -> int:
    """Largest gain among the features that are left, then largest marginal, then lowest number."""
    ranked = np.lexsort([np.arange(len(gain)), -marginal, -gain])
    return int(ranked[left[ranked]][0])


def _omi(data: DiscreteDataset, marginal: FloatArray) -> list[int]:
    """Next is the feature with the largest ``I(C; X | all before)``.

    The joint patterns of the features before are renumbered as they grow. Patterns with one class tell all there is to
    tell and their rows are left out, which is most rows after a few features.
    """
    n, n_classes = data.n_features, data.n_classes
    left = np.ones(n, dtype=bool)
    pattern = np.zeros(data.n_samples, dtype=np.int64)
    rows = np.arange(data.n_samples)
    sequence: list[int] = []
    gain = marginal
    while len(sequence) < n:
        node = _pick(gain, marginal, left)
        sequence.append(node)
        left[node] = False
        _, pattern = np.unique(pattern * data.cardinalities[node] + data.codes[rows, node], return_inverse=True)
        pattern = pattern.ravel()
        classes = np.zeros((int(pattern.max(initial=-1)) + 1, n_classes), dtype=bool)
        classes[pattern, data.target_codes[rows]] = True
        mixed = (classes.sum(axis=1) > 1)[pattern]
        rows, pattern = rows[mixed], pattern[mixed]
        if not len(rows):
            gain = np.zeros(n)
            continue
        _, pattern = np.unique(pattern, return_inverse=True)
        pattern = pattern.ravel()
        weight, labels = data.sample_weight[rows], data.target_codes[rows]
        base = _entropy(pattern * n_classes + labels, weight) - _entropy(pattern, weight)
        gain = np.zeros(n)
        for j in np.flatnonzero(left):
            with_j = pattern * data.cardinalities[j] + data.codes[rows, j]
            gain[j] = base - _entropy(with_j * n_classes + labels, weight) + _entropy(with_j, weight)
        gain = np.round(np.maximum(gain, 0.0) / data.total_weight, _DECIMALS)
    return sequence


def _entropy(code: NDArray[np.int64], weight: FloatArray) -> float:
    """``n H`` of a variable in nats, up to the ``n log n`` that cancels in informations."""
    if int(code.max()) <= 4 * len(code):
        counts = np.bincount(code, weights=weight)
    else:
        _, dense = np.unique(code, return_inverse=True)
        counts = np.bincount(dense.ravel(), weights=weight)
    return -n_log_n(counts)


def _omisp(data: DiscreteDataset, marginal: FloatArray) -> list[int]:
    """Next is the feature with the largest ``I(C; X | X')`` over the single features X' before."""
    n, c = data.n_features, data.n_features
    left = np.ones(n, dtype=bool)
    gain = marginal
    sequence: list[int] = []
    while len(sequence) < n:
        node = _pick(gain, marginal, left)
        gain = np.zeros(n) if not sequence else gain
        sequence.append(node)
        left[node] = False
        for j in np.flatnonzero(left):
            given = round(_information(contingency(data, [int(j), node, c])) / data.total_weight, _DECIMALS)
            gain[j] = max(gain[j], given)
    return sequence
