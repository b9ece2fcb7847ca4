"""What the search of a box begins with: the tableau at which its parent ended, or that of the root."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ...._arrays import BoolArray, IntArray
from . import _simplex as simplex
from ._families import Family
from ._pool import RowPool, Slots
from ._tableau import Costs, Tableau, initial_tableau, tableau_of

__all__ = ["Beginning"]


@dataclass(frozen=True, eq=False)
class Beginning:
    """The root's tableau, and from it those of all boxes.

    Parameters
    ----------
    costs : Costs
    root : Tableau
    """

    costs: Costs
    root: Tableau

    @classmethod
    def at(
        cls, pool: RowPool, allowed: BoolArray, slots: Slots, costs: Costs, check: Callable[[], None]
    ) -> "Beginning":
        """From the rows that bind at the root; `check` is called now and then."""
        tableau = initial_tableau(pool, allowed, slots, costs)
        while tableau.optimise(allowed, np.inf, 50) == simplex.LIMIT:
            check()
        return cls(costs, tableau.copy_for(allowed, drop_idle=True))

    def from_root(
        self, pool: RowPool, allowed: BoolArray, rows: Slots | None = None, reach: float = math.inf
    ) -> Tableau:
        """The root's tableau in a box, with further rows."""
        count = 0 if rows is None else len(rows)
        if math.isfinite(reach):
            allowed = allowed & self.root.columns(reach)
        tableau = self.root.copy_for(allowed, extra_rows=_room(pool) + count)
        tableau.narrow = math.isfinite(reach)
        if rows is not None:
            tableau.add_rows(pool, np.setdiff1d(rows, tableau.slots()))
        return tableau

    def of(
        self, pool: RowPool, allowed: BoolArray, family: Family, place: int, rows: Slots, reach: float = math.inf
    ) -> tuple[Tableau, dict[int, int]]:
        """Where a box, number `place` of its family, was left, and the ages of its rows; `rows` are the family's.

        Columns whose reduced costs are above `reach` are left out.
        """
        if family.bases is None:
            return self.from_root(pool, allowed, rows, reach), dict.fromkeys(rows.tolist(), 0)
        ages = dict(zip(rows.tolist(), family.ages.tolist(), strict=True))
        room = _room(pool)
        tableau = tableau_of(pool, allowed, rows, family.bases[place], self.costs, extra_rows=room, reach=reach)
        return tableau or self.from_root(pool, allowed, reach=reach), ages

    def begin_again(
        self, pool: RowPool, allowed: BoolArray, tableau: Tableau, basis: IntArray, reach: float, also: BoolArray
    ) -> bool:
        """Let a tableau be that of a basis of its rows, with further columns; False where there is none."""
        slots, room = tableau.slots(), _room(pool)
        wider = tableau_of(pool, allowed, slots, basis, self.costs, extra_rows=room, reach=reach, also=also)
        if wider is not None:
            wider.pivots = tableau.pivots
            tableau.become(wider)
        return wider is not None


def _room(pool: RowPool) -> int:
    """For rows of a few rounds."""
    return 4 * pool.n_groups + 16
