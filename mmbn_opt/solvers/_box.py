"""What can be said of a program before any solver is asked: the bound of its box, and programs without columns."""

import numpy as np

from ..program import MixedIntegerProgram

__all__ = ["box_bound", "empty_program_is_feasible", "scale_of"]


def box_bound(program: MixedIntegerProgram) -> float | None:
    """A lower bound on the objective from column bounds and choice groups alone; None when it is not finite.

    Every column takes its cheapest bound, and every choice group the cheapest of its columns, of which exactly one is
    1: ``sum_g min_{j in g} c_j + sum_{j in no group} min(c_j l_j, c_j u_j) + offset``.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> program = MixedIntegerProgram(
    ...     c=np.array([-1.0, -2.0, -3.0]), A=sp.csr_array((0, 3)), row_lower=np.zeros(0), row_upper=np.zeros(0),
    ...     col_lower=np.zeros(3), col_upper=np.array([1.0, 1.0, 4.0]), integrality=np.ones(3, dtype=bool),
    ...     choice_groups=(np.array([0, 1]),))
    >>> box_bound(program)
    -14.0
    """
    cost = program.c
    free = np.ones(cost.size, dtype=bool)
    total = program.offset
    for group in program.choice_groups:
        # A column in two groups would be counted twice, which is no bound.
        if free[group].all() and np.unique(group).size == group.size:
            free[group] = False
            total += float(cost[group].min())
    used = free & (cost != 0.0)
    cheapest = np.where(cost[used] > 0, program.col_lower[used], program.col_upper[used])
    total += float(cost[used] @ cheapest)
    return total if np.isfinite(total) else None


def scale_of(program: MixedIntegerProgram) -> float:
    """What the terms of the objective add up to, about: the size of the bound of the box, at least 1."""
    return max(1.0, abs(box_bound(program) or 0.0))


def empty_program_is_feasible(program: MixedIntegerProgram, tolerance: float) -> bool:
    """Whether a program without columns satisfies its rows, whose activities are all zero."""
    return bool((program.row_lower <= tolerance).all() and (program.row_upper >= -tolerance).all())
