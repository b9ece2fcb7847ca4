"""Joint and posterior probabilities of many rows at once: blocks that stay in cache, one look-up a factor and class."""

import logging
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mmbn_opt._arrays import FloatArray
from mmbn_opt.networks.structure import Structure
from mmbn_opt.networks.tables import FactorTables

__all__ = ["MANY_ROWS", "features_that_tell", "features_with_children", "log_joint_observed", "normalize_rows"]

logger = logging.getLogger(__name__)

Factor = tuple[tuple[int, ...], FloatArray]
"""Features of a factor, the node last, and its table (n_classes or 1, cells).

Where a node may be missing there is one cell more, the last: log 1.
"""

_BLOCK = 8192
"""Rows of a block; the working arrays of a few classes then fit into the cache of a core."""

MANY_ROWS = 1 << 19
"""Rows from which on compiled code is worth the time that it takes to load; it gives the same to the last digit."""


def log_joint_observed(tables: FactorTables, codes: NDArray[np.integer[Any]]) -> FloatArray:
    """``log P(c, observed part of x)`` for every class of rows that need no summation.

    A missing feature without children drops out, since its table sums to one; other features must be there (see
    `features_with_children`).

    Parameters
    ----------
    tables : FactorTables
    codes : integer array (n_samples, n_features)
        State numbers; -1 only in features without children.

    Returns
    -------
    float64 array (n_samples, n_classes)

    Examples
    --------
    >>> from mmbn_opt import BayesianNetwork, DiscreteDataset, naive_bayes
    >>> data = DiscreteDataset.from_arrays([["x"], ["y"]], [0, 1])
    >>> network = BayesianNetwork.fit(naive_bayes(data), data)
    >>> np.exp(log_joint_observed(network.tables, np.array([[0], [1]]))).round(3).tolist()
    [[0.333, 0.167], [0.167, 0.333]]
    """
    card, with_missing = tables.cardinalities, bool((codes < 0).any())
    factors = _factors_of(tables, with_missing=with_missing)
    n_classes = card[tables.structure.class_index]
    out = np.empty((len(codes), n_classes))
    if len(codes) >= MANY_ROWS:
        _add_up(factors, codes, card, out)
        return out
    for start in range(0, len(codes), _BLOCK):
        block = codes[start : start + _BLOCK]
        total = np.zeros((n_classes, len(block)))
        for features, cells in factors:
            cell = _cells(block, features, card, with_missing=with_missing)
            if len(cells) == 1:
                total += cells[0].take(cell)
                continue
            for k in range(n_classes):
                total[k] += cells[k].take(cell)
        out[start : start + _BLOCK] = total.T
    return out


def _factors_of(tables: FactorTables, *, with_missing: bool) -> list[Factor]:
    card, c = tables.cardinalities, tables.structure.class_index
    n_classes = card[c]
    factors: list[Factor] = []
    for node, (parents, table) in enumerate(zip(tables.structure.parents, tables.log_tables, strict=True)):
        if node == c:
            features, cells = tuple(parents), table.T
        elif c in parents:
            features = (*parents[:-1], node)
            cells = table.reshape(-1, n_classes, card[node]).transpose(1, 0, 2).reshape(n_classes, -1)
        else:
            features, cells = (*parents, node), table.reshape(1, -1)
        if with_missing:
            cells = np.concatenate([cells, np.zeros((len(cells), 1))], axis=1)
        factors.append((features, cells))
    return factors


def _add_up(
    factors: Sequence[tuple[tuple[int, ...], FloatArray]],
    codes: NDArray[np.integer[Any]],
    card: Sequence[int],
    out: FloatArray,
) -> None:
    """What the loop of `log_joint_observed` does, compiled."""
    from mmbn_opt.networks._posterior_kernels import add_factors

    width = max(len(features) for features, _ in factors)
    members = np.full((len(factors), width), -1, dtype=np.int64)
    for row, (features, _) in zip(members, factors, strict=True):
        row[: len(features)] = features
    wide = [np.broadcast_to(cells, (out.shape[1], cells.shape[1])).T for _, cells in factors]
    ends = np.cumsum([len(table) for table in wide])
    add_factors(codes, members, np.array(card, dtype=np.int64), np.ascontiguousarray(np.concatenate(wide)), ends, out)


def _cells(
    block: NDArray[np.integer[Any]], features: Sequence[int], card: Sequence[int], *, with_missing: bool
) -> NDArray[np.intp]:
    """Number of each row's cell in a table over `features`, the last one varying fastest; -1 where that is missing."""
    cell = np.zeros(len(block), dtype=np.intp)
    for number, v in enumerate(features):
        if number:
            cell *= card[v]
        cell += block[:, v]
    if features and with_missing:
        cell[block[:, features[-1]] < 0] = -1
    return cell


def features_with_children(structure: Structure) -> list[int]:
    """Features that cannot just be left out when they are missing: parents of the class or of other features.

    Examples
    --------
    >>> from mmbn_opt import Structure
    >>> features_with_children(Structure.from_names(["a", "b"], "class", [("class", "a"), ("a", "b")]))
    [0]
    """
    return sorted({p for parents in structure.parents for p in parents} - {structure.class_index})


def features_that_tell(structure: Structure) -> list[int]:
    """Features that bear on the class while nothing else is known: those that share an ancestor with it, or are one.

    Examples
    --------
    >>> from mmbn_opt import Structure
    >>> features_that_tell(Structure.from_names(["a", "b", "c"], "class", [("class", "a"), ("b", "a")]))
    [0]
    """
    c = structure.class_index
    above = {c, *structure.ancestors(c)}
    near = above.union(*(structure.descendants(v) for v in above))
    return sorted(near - {c})


def normalize_rows(joint: FloatArray, fallback: Callable[[], FloatArray], *, log: bool) -> FloatArray:
    """``P(c | x)`` from ``log P(c, x)``, in place; rows that are impossible under every class get `fallback`.

    Parameters
    ----------
    joint : float64 array (n_samples, n_classes)
        Overwritten by the answer.
    fallback : callable () -> float64 array (n_classes,)
        Logarithms; asked for where they are needed, since a prior may have to be summed out.
    log : bool
        Whether the answer is ``log P(c | x)``.

    Examples
    --------
    >>> joint = np.array([[np.log(0.1), np.log(0.3)], [-np.inf, -np.inf]])
    >>> normalize_rows(joint, lambda: np.log([0.5, 0.5]), log=False).round(3).tolist()
    [[0.25, 0.75], [0.5, 0.5]]
    """
    n_impossible = 0
    given = cache(fallback)
    for start in range(0, len(joint), _BLOCK):
        rows = joint[start : start + _BLOCK]
        scores = np.ascontiguousarray(rows.T)
        top = scores.max(axis=0)
        impossible = np.isneginf(top)
        if impossible.any():
            n_impossible += int(impossible.sum())
            scores[:, impossible] = given()[:, None]
            top = scores.max(axis=0)
        scores -= top
        weights = np.exp(scores)
        total = weights.sum(axis=0)
        if log:
            scores -= np.log(total)
            rows[:] = scores.T
        else:
            weights /= total
            rows[:] = weights.T
    if n_impossible:
        logger.warning(
            "%d of %d rows are impossible under every class; they get the class prior", n_impossible, len(joint)
        )
    return joint
