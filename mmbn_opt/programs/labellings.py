"""Distributions over the labellings of sequences, written down as one array, and their means."""

import numpy as np

from mmbn_opt._arrays import FloatArray, IntArray
from mmbn_opt.programs.chain_operator import ChainOperator

__all__ = ["means_of_labellings", "mixed_labellings", "soft_labellings", "soft_parts"]

_MIXED = -1.0
"""In the place of gamma: what follows are labellings with their weights."""


def soft_labellings(w: FloatArray, gamma: float, tau: float) -> FloatArray:
    """Distributions over labellings as one array: those with weights ``exp((score + gamma Hamming) / tau)``.

    Examples
    --------
    >>> soft_labellings(np.array([0.5, -1.0]), 5.0, 0.1).tolist()
    [5.0, 0.1, 0.5, -1.0]
    """
    return np.concatenate([[gamma, tau], w])


def soft_parts(y: FloatArray, n_parameters: int) -> tuple[float, float, FloatArray] | None:
    """Gamma, temperature and parameters that `soft_labellings` wrote down; None where these are no such numbers.

    Examples
    --------
    >>> soft_parts(np.array([5.0, 0.1, 0.5]), 1), soft_parts(np.array([5.0, 0.0, 0.5]), 1)
    ((5.0, 0.1, array([0.5])), None)
    """
    if len(y) != 2 + n_parameters or not np.isfinite(y).all():
        return None
    gamma, tau = float(y[0]), float(y[1])
    return (gamma, tau, y[2:]) if gamma >= 0.0 and tau > 0.0 else None


def mixed_labellings(starts: IntArray, sequences: IntArray, weights: FloatArray, paths: list[IntArray]) -> FloatArray:
    """Distributions over labellings as one array: some labellings with their weights, the rest on the true ones.

    Parameters
    ----------
    starts : int64 array (n_sequences + 1,)
    sequences : int64 array (n_labellings,)
    weights : float64 array (n_labellings,)
    paths : list of int64 arrays
        As long as the sequence that each belongs to.

    Examples
    --------
    >>> mixed_labellings(np.array([0, 2]), np.array([0]), np.array([0.5]), [np.array([1, 0])]).tolist()
    [-1.0, 0.0, 0.5, 1.0, 0.0]
    """
    parts = [np.array([_MIXED])]
    parts += [np.concatenate([[i, share], path]) for i, share, path in zip(sequences, weights, paths, strict=True)]
    return np.concatenate(parts)


def means_of_labellings(chains: ChainOperator, y: FloatArray) -> tuple[float, FloatArray]:
    """Mean number of wrong labels, and mean of what the true labels look up less what the labellings do.

    What is no distribution counts as the true labels alone; negative weights count as none, and more than 1 a sequence
    is scaled down.

    Parameters
    ----------
    chains : ChainOperator
    y : float64 array
        As `soft_labellings` or `mixed_labellings` make it.
    """
    nothing = 0.0, np.zeros(chains.n_parameters)
    if len(y) and y[0] == _MIXED:
        return _means_of_mixture(chains, y[1:])
    parts = soft_parts(y, chains.n_parameters)
    if parts is None:
        return nothing
    gamma, tau, w = parts
    soft = chains.soft(w, gamma, tau)
    return chains.missed(soft.marginals), chains.own - soft.features


def _means_of_mixture(chains: ChainOperator, y: FloatArray) -> tuple[float, FloatArray]:
    index, k = chains.index, chains.n_labels
    found: list[tuple[int, float, IntArray]] = []
    at = 0
    while at < len(y):
        i = int(y[at])
        if not 0 <= i < chains.n_sequences:
            return 0.0, np.zeros(chains.n_parameters)
        low, high = int(index.starts[i]), int(index.starts[i + 1])
        path = y[at + 2 : at + 2 + high - low].astype(np.int64)
        if len(path) != high - low or path.min() < 0 or path.max() >= k:
            return 0.0, np.zeros(chains.n_parameters)
        found.append((i, max(float(y[at + 1]), 0.0), path))
        at += 2 + high - low
    total = np.zeros(chains.n_sequences)
    for i, share, _ in found:
        total[i] += share
    missed, v = 0.0, np.zeros(chains.n_parameters)
    for i, share, path in found:
        part = share / max(1.0, total[i])
        low, high = int(index.starts[i]), int(index.starts[i + 1])
        own = index.labels[low:high]
        missed += part * float((path != own).sum())
        for sign, labels in ((part, own), (-part, path)):
            np.add.at(v, labels[:1], sign)
            np.add.at(v, k + labels[:-1] * k + labels[1:], sign)
            entries = index.entry[low:high]
            places = (entries + labels[:, None] * index.width)[entries >= 0]
            np.add.at(v, places, sign)
    return missed, v
