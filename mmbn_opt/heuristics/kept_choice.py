"""A choice that keeps side constraints, near what is wanted: node by node, with what each choice rules out."""

import numpy as np
from numpy.typing import NDArray

from mmbn_opt._arrays import FloatArray
from mmbn_opt.networks.candidates import CandidateParents, parent_matrix
from mmbn_opt.programs.boxes import pack_bits, settle
from mmbn_opt.programs.side import SideConstraints

__all__ = ["kept_choice"]

MOST_TURNS = 200
"""Columns that are tried and given up before the search for a choice ends without one."""


def kept_choice(
    candidates: CandidateParents, side: SideConstraints | None, preference: FloatArray
) -> NDArray[np.intp] | None:
    """An acyclic choice that keeps `side`, of columns with high `preference`; None where none was found.

    Nodes choose in the order of how much their best column is preferred. Where constraints allow fewer edges whenever
    they allow more there always is one.

    Parameters
    ----------
    candidates : CandidateParents
    side : SideConstraints or None
    preference : float64 array (n_columns,)

    Examples
    --------
    >>> candidates = CandidateParents((((), (1,)), ((), (0,))))
    >>> side = SideConstraints.of(candidates.offsets, parent_matrix(candidates), rows=np.ones((1, 4)),
    ...     upper=np.array([9.0]))
    >>> kept_choice(candidates, side, np.array([0.0, 2.0, 0.0, 1.0])).tolist()
    [1, 2]
    """
    offsets = candidates.offsets
    bits, roots = pack_bits(parent_matrix(candidates)), np.full(candidates.n_nodes, -1, dtype=np.intp)
    ranks = np.arange(candidates.n_nodes)
    allowed = np.ones(candidates.n_columns, dtype=bool)
    turns = 0
    if not settle(allowed, offsets, bits, roots, ranks, side):
        return None
    for node in np.argsort(-np.maximum.reduceat(preference, offsets[:-1]), kind="stable"):
        first, last = offsets[node], offsets[node + 1]
        while True:
            open_ = first + np.flatnonzero(allowed[first:last])
            if not len(open_):
                return None
            column = int(open_[np.argmax(preference[open_])])
            box = allowed.copy()
            box[first:last] = False
            box[column] = True
            if settle(box, offsets, bits, roots, ranks, side):
                allowed = box
                break
            turns += 1
            allowed[column] = False
            if turns > MOST_TURNS or not settle(allowed, offsets, bits, roots, ranks, side):
                return None
    return np.flatnonzero(allowed).astype(np.intp)
