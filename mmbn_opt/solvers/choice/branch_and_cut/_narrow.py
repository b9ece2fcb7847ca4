"""Programs of boxes without the columns that are too dear to enter, and what is done where one was not too dear.

A column is left out of a box's program while its reduced cost is above the box's reach, a share of the gap. Nothing is
lost in what is proved: every bound is the least over all columns that the box allows (`TreeProof.prove`). Where an
optimum is above the bound that its multipliers prove, columns were missed, and come in.
"""

import math

import numpy as np

from ...._arrays import IntArray
from ....programs.tree_proof import TreeProof
from . import _simplex as simplex
from ._beginning import Beginning
from ._effort import making_steps, pricing_steps, widening_steps
from ._pool import RowPool
from ._tableau import Tableau

__all__ = ["share_of_gap", "take_in_all", "take_in_missed"]

NARROW_COLUMNS = 550
"""Up to here a program's pivots take less than to take in what was missed."""

REACH = 0.04
"""As a share of the gap: above it a reduced cost leaves its column out."""

MOST_PRICED = 100
"""Pivots for columns that were missed; where more are needed a program is begun again."""


def share_of_gap(reach: float | None, n_columns: int) -> float:
    """The reach of a tree's boxes as a share of what they lack; `reach` if that is told.

    Examples
    --------
    >>> share_of_gap(None, 2000), share_of_gap(None, 200), share_of_gap(0.1, 200)
    (0.04, inf, 0.1)
    """
    if reach is not None:
        return reach
    return REACH if n_columns > NARROW_COLUMNS else math.inf


def take_in_missed(
    tableau: Tableau, began: IntArray, bound: float, proof: TreeProof, pool: RowPool, beginning: Beginning,
    reach: float,
) -> float:  # fmt: skip
    """Let in the columns that a program missed, which is to be optimised again then; the steps that took, 0 for none.

    Parameters
    ----------
    tableau : Tableau
        As the dual simplex left it.
    began : int array
        The basis, of the same rows, from which that began: what no missing column would have lowered.
    bound : float
        What the multipliers proved, of which the proof has the reduced costs.
    proof, pool, beginning
    reach : float
    """
    missing = proof.allowed & ~tableau.columns()
    near = missing & (proof.rise <= reach)
    if tableau.status == simplex.OPTIMAL:
        if tableau.z - tableau.shift <= bound or not near.any():
            return 0.0
        before = tableau.pivots
        if tableau.widen(pool, beginning.costs, np.flatnonzero(near), proof.allowed, MOST_PRICED):
            return pricing_steps(tableau, tableau.pivots - before + 1)
    if tableau.status == simplex.LIMIT or not near.any():
        reach = math.inf
    if beginning.begin_again(pool, proof.allowed, tableau, began, reach, tableau.columns() | near):
        return making_steps(tableau.height, tableau.width)
    return 0.0


def take_in_all(tableau: Tableau, proof: TreeProof, pool: RowPool, beginning: Beginning) -> float:
    """Let in all columns of the box, and those that were missed by a trifle into the basis; the steps that took."""
    if not tableau.narrow or tableau.status != simplex.OPTIMAL:
        return 0.0
    new, before = np.flatnonzero(proof.allowed & ~tableau.columns()), tableau.pivots
    tableau.widen(pool, beginning.costs, new, proof.allowed, 10 * MOST_PRICED)
    tableau.narrow = False
    return widening_steps(tableau, len(new)) + pricing_steps(tableau, tableau.pivots - before)
