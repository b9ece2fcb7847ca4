"""Rows drawn from a network: exactly given evidence, or weighted by it where that is too large."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mmbn_opt._arrays import FloatArray
from mmbn_opt.exceptions import InputError
from mmbn_opt.networks.engine import Engine
from mmbn_opt.networks.evidence import Evidence
from mmbn_opt.networks.tables import FactorTables

__all__ = ["draw", "weigh"]


def draw(engine: Engine, case: Evidence, n: int, rng: np.random.Generator, max_cells: int) -> NDArray[np.int32]:
    """Codes (n_cases * n, n_nodes) given each case: what is above the evidence backwards, all else forwards.

    Raises
    ------
    InputError
        For a case of probability 0.
    """
    n_nodes = case.codes.shape[1]
    codes = np.repeat(case.codes, n, axis=0)
    for row in range(case.n_cases):
        if not n or not (case.nodes.size or (case.codes[row] >= 0).any()):
            continue
        log, drawn = engine.draw(case, row, rng.random((n, n_nodes)), max_cells)
        if log == -np.inf:
            where = "" if case.index is None else f" of row {case.index[row]!r}"
            raise InputError(
                f"The evidence{where} has probability 0 in the network, so that there is nothing to draw. Leave "
                "findings out, or learn the tables with a pseudo-count (smoothing)."
            )
        codes[row * n : (row + 1) * n] = drawn
    _forwards(engine.tables, codes, rng)
    return codes


def weigh(
    tables: FactorTables, case: Evidence, nodes: Sequence[int], n: int, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray, float]:
    """Share, standard error and effective number of draws for every combination of the states of `nodes`.

    Raises
    ------
    InputError
        When no draw agrees with the evidence.
    """
    codes = np.repeat(case.codes, n, axis=0)
    log_weight = _forwards(tables, codes, rng)
    for node, start in zip(case.nodes, case.starts, strict=True):
        log_weight += case.likelihood[0, start + codes[:, node]]
    top = log_weight.max()
    if not np.isfinite(top):
        raise InputError(
            f"None of {n:,} draws agrees with the evidence: it is too rare to be sampled, or impossible. Draw more "
            "(n_samples), or leave findings out."
        )
    weight = np.exp(log_weight - top)
    weight /= weight.sum()
    cell, n_cells = np.zeros(n, dtype=np.intp), 1
    for v in nodes:
        cell = cell * tables.cardinalities[v] + codes[:, v]
        n_cells *= tables.cardinalities[v]
    share: FloatArray = np.bincount(cell, weights=weight, minlength=n_cells).astype(np.float64)
    # The variance of a ratio of means: sum of (w (1[x] - p))^2, which splits by whether the draw is in the cell.
    squares = np.bincount(cell, weights=weight**2, minlength=n_cells)
    error: FloatArray = np.sqrt(squares * (1.0 - share) ** 2 + (squares.sum() - squares) * share**2)
    return share, error, float(1.0 / (weight**2).sum())


def _forwards(tables: FactorTables, codes: NDArray[np.int32], rng: np.random.Generator) -> FloatArray:
    """Draw what is -1 from its parents, in place; the log-probability of what is there already, given its parents.

    Where parents and child were drawn backwards together, that number means nothing and nobody asks for it.
    """
    card, log_weight = tables.cardinalities, np.zeros(len(codes))
    for node in tables.structure.topological_order():
        row = np.zeros(len(codes), dtype=np.intp)
        for p in tables.structure.parents[node]:
            row *= card[p]
            row += codes[:, p]
        table = tables.log_tables[node]
        known = codes[:, node] >= 0
        if known.all():
            log_weight += table[row, codes[:, node]]
            continue
        # Sums are taken over the rows of the table, or of the sample where these are fewer.
        few = len(table) <= len(codes)
        sums = np.cumsum(np.exp(table if few else table[row]), axis=1)
        point = rng.random(len(codes))
        drawn = np.zeros(len(codes), dtype=np.int32)
        total = sums[:, -1][row] if few else sums[:, -1]
        for state in range(card[node] - 1):
            reached = sums[:, state][row] if few else sums[:, state]
            drawn += point * total >= reached
        if known.any():
            log_weight[known] += table[row[known], codes[known, node]]
            codes[~known, node] = drawn[~known]
        else:
            codes[:, node] = drawn
    return log_weight
