"""Compiled sums over contingency tables, many tables in one pass; imported only when tables are counted."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mmbn_opt._arrays import FloatArray, IntArray, kernel

__all__ = ["add_to_cells", "cell_sums"]

_BLOCK = 4096
"""Samples whose joint codes are made at a time: they stay in the first cache."""


@kernel(nogil=True)
def add_to_cells(
    columns: NDArray[np.unsignedinteger[Any]], nodes: IntArray, card: IntArray, weight: FloatArray, counts: FloatArray
) -> None:
    """Add the weight of every sample to its cell of the table over `nodes`, flat, the last node fastest.

    Parameters
    ----------
    columns : unsigned array (n_nodes, n_samples)
    nodes : int64 array (n_members,)
    card : int64 array (n_nodes,)
    weight : float64 array (n_samples,)
    counts : float64 array (n_cells,)
    """
    cells = np.empty(_BLOCK, dtype=np.int64)
    for start in range(0, len(weight), _BLOCK):
        share = weight[start : start + _BLOCK]
        cell = cells[: len(share)]
        cell[:] = 0
        for node in nodes:
            states, values = card[node], columns[node, start : start + _BLOCK]
            for i in range(len(cell)):
                cell[i] = cell[i] * states + values[i]
        for i in range(len(cell)):
            counts[cell[i]] += share[i]


@kernel(nogil=True)
def _entropy_term(count: float, n_log_n: FloatArray) -> float:
    return n_log_n[int(count)] if n_log_n.size else count * math.log(count)


@kernel(nogil=True)
def cell_sums(
    columns: NDArray[np.int32],
    card: NDArray[np.int64],
    weight: FloatArray,
    sets: NDArray[np.int32],
    pseudo: FloatArray,
    n_log_n: FloatArray,
    counts: FloatArray,
) -> FloatArray:
    """Sum of a function of every count of every table.

    Sets that follow one another and differ in their last node share the joint code of the others. Tables with more
    cells than there are samples are read sample by sample, so that empty cells cost nothing.

    Parameters
    ----------
    columns : int32 array (n_nodes, n_samples)
    card : int64 array (n_nodes,)
    weight : float64 array (n_samples,)
    sets : int32 array (n_sets, width)
        Nodes of each table; -1 stands for none and comes first.
    pseudo : float64 array (n_sets,)
        0: the function is ``n log n``; above 0: ``log Gamma(n + pseudo) - log Gamma(pseudo)``.
    n_log_n : float64 array
        ``n log n`` of whole numbers, where all counts are whole; else empty.
    counts : float64 array
        Zeros, as many as the largest table has cells; zeros again on return.
    """
    n_sets, width = sets.shape
    n_samples = weight.size
    sums = np.zeros(n_sets)
    code = np.zeros(n_samples, dtype=np.int64)
    outer = 1
    for s in range(n_sets):
        same = s > 0
        for k in range(width - 1):
            if s == 0 or sets[s, k] != sets[s - 1, k]:
                same = False
        if not same:
            code[:] = 0
            outer = 1
            for k in range(width - 1):
                node = sets[s, k]
                if node >= 0:
                    outer *= card[node]
                    for m in range(n_samples):
                        code[m] = code[m] * card[node] + columns[node, m]
        last = sets[s, width - 1]
        cells = outer
        if last >= 0:
            states = card[last]
            cells *= states
            for m in range(n_samples):
                counts[code[m] * states + columns[last, m]] += weight[m]
        else:
            states = 1
            for m in range(n_samples):
                counts[code[m]] += weight[m]
        total = 0.0
        a = pseudo[s]
        log_gamma_a = math.lgamma(a) if a > 0.0 else 0.0
        by_cell = cells <= n_samples
        for place in range(cells if by_cell else n_samples):
            cell = place
            if not by_cell:
                cell = code[place] * states + (columns[last, place] if last >= 0 else 0)
            count = counts[cell]
            if count > 0.0:
                total += math.lgamma(count + a) - log_gamma_a if a > 0.0 else _entropy_term(count, n_log_n)
                counts[cell] = 0.0
        sums[s] = total
    return sums
