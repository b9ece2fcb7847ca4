"""Log-parameters by the names of their tables, rows and entries, and constraints as linear rows on them."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._arguments import listed, shown
from ..._arrays import FloatArray
from ...data.cells import as_state
from ...data.discrete import DiscreteDataset
from ...exceptions import InfeasibleError, InputError
from ...programs.log_rows import LogRows
from ...programs.safe_names import unique_names
from ...programs.tables import BOUND_RADIUS
from ._factor_index import ParameterLayout

__all__ = ["LogEntries", "ParameterConstraint", "Row", "kept_point", "largest_violation", "linear_rows"]

KEPT = 1e-6
"""Violation of a row, in nats, up to which a point keeps it."""

Row = tuple[dict[int, float], float, float]
"""Coefficients by entry, and the two sides."""


class LogEntries:
    """The log-parameters of a problem, by names: where each table, row and entry is in the vector.

    Parameters
    ----------
    layout : ParameterLayout
    data : DiscreteDataset
    """

    def __init__(self, layout: ParameterLayout, data: DiscreteDataset) -> None:
        self.layout = layout
        self._variables = (*data.features, data.target)
        self.class_name = data.class_name

    def node(self, name: str, asked: object) -> int:
        """The number of a node that has a table in the vector."""
        names = self.layout.structure.names
        known = [names[v] for v in self.layout.nodes]
        if name not in known:
            why = "has no table that the posterior depends on" if name in names else "is no node"
            raise InputError(
                f"{asked}: {shown(name)} {why}; tables have the class and its children, [{listed(known)}]."
            )
        return names.index(name)

    def states(self, node: int) -> tuple[Any, ...]:
        """The states of a node, in order."""
        return tuple(as_state(state) for state in self._variables[node].states)

    def state(self, node: int, state: Any, asked: object) -> int:
        """The number of a state."""
        known = self.states(node)
        # Labels that a file was read with as text may be numbers to whoever names them.
        alike = [k for k, one in enumerate(known) if str(one) == str(as_state(state))]
        if as_state(state) not in known and len(alike) == 1:
            return alike[0]
        if as_state(state) not in known:
            name = self.layout.structure.names[node]
            raise InputError(f"{asked}: {shown(name)} has no state {shown(state)}; it has [{listed(known)}].")
        return known.index(as_state(state))

    def parents(self, node: int, row: int) -> dict[str, Any]:
        """States of the parents in a row of the table of a node, by name."""
        structure = self.layout.structure
        parents = structure.parents[node]
        codes = np.unravel_index(row, [self.layout.card[p] for p in parents]) if parents else ()
        return {structure.names[p]: self.states(p)[int(code)] for p, code in zip(parents, codes, strict=True)}

    def rows(self, node: int, given: Mapping[str, Any], asked: object) -> Iterator[int]:
        """Rows of the table of a node in which the parents named in `given` are in these states."""
        names, parents = self.layout.structure.names, self.layout.structure.parents[node]
        wanted = {}
        for name, state in given.items():
            if name not in [names[p] for p in parents]:
                raise InputError(
                    f"{asked}: {shown(name)} is no parent of {shown(names[node])}; its parents are "
                    f"[{listed(names[p] for p in parents)}]."
                )
            wanted[name] = self.states(names.index(name))[self.state(names.index(name), state, asked)]
        for row in range(self.layout.shape(node)[0]):
            if wanted.items() <= self.parents(node, row).items():
                yield row

    def place(self, node: int, row: int, state: int) -> int:
        """Where an entry is in the vector."""
        start = self.layout.starts[self.layout.nodes.index(node)]
        return start + row * self.layout.card[node] + state


@dataclass(frozen=True)
class ParameterConstraint(ABC):
    """Rows that are linear in the logarithms of a network's probabilities.

    One of one's own is a frozen dataclass with ``__str__``, what it is called, and `rows`.
    """

    @abstractmethod
    def rows(self, entries: LogEntries) -> Iterator[Row]:
        """Coefficients by place in the vector, lower and upper side, a row each; `InputError` for unknown names."""


def linear_rows(
    constraints: tuple[ParameterConstraint, ...], layout: ParameterLayout, data: DiscreteDataset
) -> LogRows | None:
    """All rows of some constraints; None where there are none."""
    import scipy.sparse as sp

    entries = LogEntries(layout, data)
    places: list[tuple[int, int, float]] = []
    lower: list[float] = []
    upper: list[float] = []
    names: list[str] = []
    for constraint in constraints:
        for terms, low, high in constraint.rows(entries):
            places += [(len(names), place, value) for place, value in terms.items() if value != 0.0]
            lower.append(low)
            upper.append(high)
            names.append(f"limit[{constraint}]")
    if not names:
        return None
    rows, columns = (np.array([one[k] for one in places], dtype=np.intp) for k in (0, 1))
    values = np.array([value for _, _, value in places], dtype=np.float64)
    matrix = sp.csr_array((values, (rows, columns)), shape=(len(names), layout.size))
    return LogRows(matrix, np.array(lower), np.array(upper), unique_names(names))


def largest_violation(rows: LogRows, w: FloatArray) -> tuple[float, str]:
    """The violation of the row that is missed most, and its name."""
    activity = rows.A @ w
    missed = np.maximum(rows.lower - activity, activity - rows.upper)
    worst = int(np.argmax(missed))
    return max(float(missed[worst]), 0.0), rows.names[worst]


def kept_point(
    constraints: tuple[ParameterConstraint, ...],
    layout: ParameterLayout,
    data: DiscreteDataset,
    w: FloatArray,
    log_floor: float,
) -> FloatArray:
    """The point nearest to `w` that keeps all constraints.

    Raises
    ------
    InfeasibleError
        Where there is none; it names constraints that contradict each other (a deletion filter).
    """

    def tried(some: tuple[ParameterConstraint, ...]) -> tuple[FloatArray | None, bool]:
        """A point, or None and whether it is proved that there is none."""
        rows = linear_rows(some, layout, data)
        if rows is None:
            return w, False
        point = rows.nearest(w, layout.row_ptr, log_floor)
        if rows.violation(point) <= KEPT:
            return point, False
        return None, rows.contradict(layout.row_ptr, max(log_floor, -BOUND_RADIUS))

    point, proved = tried(constraints)
    if point is not None:
        return point
    kept = constraints
    for constraint in constraints:
        rest = tuple(one for one in kept if one is not constraint)
        found, sure = tried(rest)
        if found is None:
            kept, proved = rest, sure
    told = "; ".join(map(str, kept))
    there = "are" if proved else "were found"
    if len(kept) == 1:
        reason = "rows sum to at most 1, and no entry is below min_prob"
        raise InfeasibleError(f"No tables {there} that keep the constraint [{told}]: {reason}. Relax one of these.")
    raise InfeasibleError(
        f"No tables {there} that keep these {len(kept)} constraints together: [{told}]. Without any one of them there "
        "are some: relax or leave out one."
    )
