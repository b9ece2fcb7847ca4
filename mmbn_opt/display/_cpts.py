"""The tables of a network as rows of text, for folds below a drawing."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice, product

import numpy as np

from mmbn_opt.display._text import shorten
from mmbn_opt.networks.network import BayesianNetwork

__all__ = ["Table", "cpt_tables", "state_labels"]

_MAX_CELLS = 2500
"""Of all tables together: a page should not weigh more for its folds than for its drawing."""
_MAX_COLUMNS = 12


@dataclass(frozen=True)
class Table:
    """The CPT of one node.

    Parameters
    ----------
    node : str
    parents, states : tuple of str
    rows : tuple of (labels of the parents' states, probabilities)
    left_out : str
        What of it is not here; empty when it is whole.
    """

    node: str
    parents: tuple[str, ...]
    states: tuple[str, ...]
    rows: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]
    left_out: str


def state_labels(network: BayesianNetwork, node: int) -> list[str]:
    """Short labels of a node's states."""
    return [shorten(str(s), 24) for s in network.variables[node].states]


def cpt_tables(network: BayesianNetwork, max_cells: int = _MAX_CELLS) -> list[Table]:
    """One table a node, the class first; of a large network each is cut to its share of `max_cells`."""
    nodes, top = range(len(network.variables)), network.structure.class_index
    order = [top, *(v for v in nodes if v != top)] if network.structure.has_class else list(nodes)
    total = sum(table.size for table in network.log_cpts)
    share = max_cells if total <= max_cells else max(12, max_cells // len(order))
    return [_table(network, node, share) for node in order]


def _table(network: BayesianNetwork, node: int, share: int) -> Table:
    values = np.exp(network.log_cpts[node])
    n_rows, n_states = values.shape
    columns = min(n_states, _MAX_COLUMNS)
    kept = min(n_rows, max(1, share // columns))
    parents = network.structure.parents[node]
    given: Iterator[tuple[str, ...]] = product(*(state_labels(network, p) for p in parents))
    rows = tuple(
        (labels, tuple(f"{p:.4f}" for p in row))
        for labels, row in zip(islice(given, kept), values[:kept, :columns].tolist(), strict=True)
    )
    cut = []
    if kept < n_rows:
        cut.append(f"{n_rows - kept:,} more of {n_rows:,} rows")
    if columns < n_states:
        cut.append(f"{n_states - columns:,} more of {n_states:,} states")
    return Table(
        node=network.variables[node].name,
        parents=tuple(network.variables[p].name for p in parents),
        states=tuple(state_labels(network, node)[:columns]),
        rows=rows,
        left_out=", ".join(cut),
    )
