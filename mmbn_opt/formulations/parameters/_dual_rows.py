"""What the rows of a problem of parameters are called, and what each weighs in the proof."""

import numpy as np

from ..._arrays import FloatArray
from ...data.discrete import DiscreteDataset
from ...programs.convex import ConvexProgram
from ...programs.log_rows import LogRows
from ...programs.markov import MarkovProgram
from ...programs.safe_names import unique_names
from ...results.duals import DualRows
from ..structure.row_values import Merged
from ._factor_index import ParameterLayout

__all__ = ["entry_names", "limit_rows", "margin_rows", "row_name", "table_rows"]


def row_name(layout: ParameterLayout, data: DiscreteDataset, node: int, row: int) -> str:
    """``age | class=yes, sex=m``: a row of the table of a node; the node alone where it has no parents."""
    names, parents = layout.structure.names, layout.structure.parents[node]
    if not parents:
        return names[node]
    codes = np.unravel_index(row, [layout.card[p] for p in parents])
    told = (f"{names[p]}={_states(data, p)[int(code)]}" for p, code in zip(parents, codes, strict=True))
    return f"{names[node]} | {', '.join(told)}"


def entry_names(layout: ParameterLayout, data: DiscreteDataset) -> tuple[str, ...]:
    """``log P[age=old | class=yes, sex=m]`` for each entry of the vector; a comma in a name may make two the same."""
    return unique_names(
        f"log P[{_entry_name(layout, data, node, row, k)}]"
        for node in layout.nodes
        for row in range(layout.shape(node)[0])
        for k in range(layout.card[node])
    )


def _entry_name(layout: ParameterLayout, data: DiscreteDataset, node: int, row: int, state: int) -> str:
    """``age=old | class=yes, sex=m``: an entry of the table of a node."""
    name = layout.structure.names[node]
    return f"{name}={_states(data, node)[state]}{row_name(layout, data, node, row)[len(name) :]}"


def _states(data: DiscreteDataset, node: int) -> tuple[object, ...]:
    return tuple((*data.features, data.target)[node].states)


def margin_rows(
    program: ConvexProgram | MarkovProgram, data: DiscreteDataset, w: FloatArray, y: FloatArray, weight: float
) -> DualRows:
    """``margin[row 17, yes vs no]``, a row a merged sample and rival, the row being the first of the data with it."""
    margins = program.margins
    sample, rival = np.nonzero(np.arange(margins.n_classes) != margins.labels[:, None])
    states = [str(state) for state in data.target.states]
    first = Merged(data, np.zeros(data.n_samples)).first.tolist()
    own = margins.labels.tolist()
    names = unique_names(
        f"margin[row {first[m]}, {states[own[m]]} vs {states[c]}]"
        for m, c in zip(sample.tolist(), rival.tolist(), strict=True)
    )
    asked = np.broadcast_to(program.delta, (margins.n_samples, margins.n_classes))[sample, rival]
    gamma = program.best_gamma(w) if isinstance(program, ConvexProgram) else 1.0
    return DualRows("margin", names, margins.margins(w)[sample, rival], gamma * asked, weight * y[sample, rival])


def limit_rows(rows: LogRows, w: FloatArray, z: FloatArray, weight: float) -> DualRows:
    """Linear rows, each beside the side that it leans on, or else the nearer one."""
    value = rows.A @ w
    nearer = np.where(np.abs(value - rows.lower) <= np.abs(rows.upper - value), rows.lower, rows.upper)
    return DualRows("limit", rows.names, value, np.where(z != 0, rows.side(z), nearer), weight * z)


def table_rows(
    program: ConvexProgram, layout: ParameterLayout, data: DiscreteDataset, w: FloatArray, y: FloatArray
) -> tuple[DualRows, ...]:
    """``sum[age | class=yes]``, at most 1, and ``log P[age=old | class=yes]``, at least a floor."""
    sums, floors = program.table_multipliers(y)
    weight = program.loss_weight
    rows = [(node, row) for node in layout.nodes for row in range(layout.shape(node)[0])]
    totals = np.add.reduceat(np.exp(w), program.row_ptr[:-1])
    names = unique_names(f"sum[{row_name(layout, data, *place)}]" for place in rows)
    parts = [DualRows("normalization", names, totals, np.ones(len(rows)), 0.0 - weight * sums)]
    if np.isfinite(program.log_floor):
        told = entry_names(layout, data)
        parts.append(DualRows("floor", told, w, np.full(len(w), program.log_floor), weight * floors))
    return tuple(parts)
