"""Boxes of allowed columns of a choice program: what cannot be chosen any more, and how one node parts a box.

Compiled, on words of 64 bits; `mmbn_opt.programs.tree_proof` keeps the boxes of a search.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mmbn_opt._arrays import BoolArray, kernel
from mmbn_opt.programs.side import SideConstraints

__all__ = ["cluster_row", "holds_before", "pack_bits", "propagate", "settle", "split_box"]

Bits = NDArray[np.uint64]


def cluster_row(
    members: BoolArray, owner: NDArray[np.intp], parents: BoolArray, roots: NDArray[np.intp], ranks: NDArray[np.intp]
) -> BoolArray:
    """Columns that give a member of a node set its parents from outside: in an acyclic choice at least one is 1.

    `owner` is the node of each column, `parents` the parents in each column. Where trees hang from their node of least
    rank (`ChoiceProgram.root_columns`) the root columns of members above the least rank among them are left out: the
    tree of a member of least rank hangs from that one, or is entered from outside, or its root is one without a root
    column.
    """
    row: BoolArray = members[owner] & ~(parents & members).any(axis=1)
    rooted = members & (roots >= 0)
    if rooted.any():
        row[roots[rooted & (ranks > ranks[members].min())]] = False
    return row


def pack_bits(parents: BoolArray) -> Bits:
    """Rows of a bool matrix as words of 64 bits, lowest bit first."""
    n_words = max(1, -(-parents.shape[1] // 64))
    words = np.zeros((len(parents), n_words), dtype=np.uint64)
    for j in range(parents.shape[1]):
        words[:, j // 64] |= parents[:, j].astype(np.uint64) << np.uint64(j % 64)
    return words


@kernel(nogil=True)
def propagate(
    allowed: BoolArray, offsets: NDArray[np.intp], bits: Bits, roots: NDArray[np.intp], ranks: NDArray[np.intp]
) -> bool:
    """Take away columns that close a cycle with edges common to all columns of their nodes; False if none is left.

    `allowed` is changed in place; `bits` are the parents of each column in words. Where ``roots[t] >= 0``, node t may
    not take that column above a node of smaller rank (`ChoiceProgram.root_columns`).
    """
    nodes = len(offsets) - 1
    n_words = bits.shape[1]
    one = np.uint64(1)
    below = np.zeros((nodes, n_words), dtype=np.uint64)
    common = np.zeros(n_words, dtype=np.uint64)
    changed = True
    while changed:
        changed = False
        below[:] = 0
        for i in range(nodes):
            count = 0
            for k in range(offsets[i], offsets[i + 1]):
                if allowed[k]:
                    for w in range(n_words):
                        common[w] = bits[k, w] if count == 0 else common[w] & bits[k, w]
                    count += 1
            if count == 0:
                return False
            for j in range(nodes):
                if (common[j >> 6] >> np.uint64(j & 63)) & one:
                    below[j, i >> 6] |= one << np.uint64(i & 63)
        for middle in range(nodes):
            for top in range(nodes):
                if (below[top, middle >> 6] >> np.uint64(middle & 63)) & one:
                    for w in range(n_words):
                        below[top, w] |= below[middle, w]
        for i in range(nodes):
            for k in range(offsets[i], offsets[i + 1]):
                if allowed[k]:
                    for w in range(n_words):
                        if bits[k, w] & below[i, w]:
                            allowed[k] = False
                            changed = True
                            break
        for top in range(nodes):
            k = roots[top]
            if k >= 0 and allowed[k] and _root_of_smaller(top, k, allowed, offsets, bits, ranks, below[top]):
                changed = True
    return True


@kernel(nogil=True)
def holds_before(allowed: BoolArray, offsets: NDArray[np.integer[Any]], choice: NDArray[np.intp]) -> bool:
    """Whether the first columns of a box precede those of `choice`: the smaller one at the first node that differs.

    Nodes without an allowed column are passed over.
    """
    for node in range(len(choice)):
        for k in range(offsets[node], offsets[node + 1]):
            if allowed[k]:
                if k != choice[node]:
                    return bool(k < choice[node])
                break
    return False


def settle(
    allowed: BoolArray, offsets: NDArray[np.intp], bits: Bits, roots: NDArray[np.intp], ranks: NDArray[np.intp],
    side: SideConstraints | None,
) -> bool:  # fmt: skip
    """`propagate`, and what side constraints take away, until nothing more goes; False if no choice is left."""
    went = True
    while went:
        if not propagate(allowed, offsets, bits, roots, ranks):
            return False
        if side is None:
            return True
        alive, went = side.narrow(allowed)
        if not alive:
            return False
    return True


@kernel(nogil=True)
def _root_of_smaller(
    top: int, root: int, allowed: BoolArray, offsets: NDArray[np.intp], bits: Bits, ranks: NDArray[np.intp], below: Bits
) -> bool:
    """Keep nodes of smaller rank from under `top` as a root: its root column goes, or columns that hang them there."""
    one = np.uint64(1)
    for i in range(len(ranks)):
        if ranks[i] < ranks[top] and (below[i >> 6] >> np.uint64(i & 63)) & one:
            allowed[root] = False
            return True
    for k in range(offsets[top], offsets[top + 1]):
        if allowed[k] and k != root:
            return False
    gone = False
    for i in range(len(ranks)):
        if ranks[i] >= ranks[top]:
            continue
        for k in range(offsets[i], offsets[i + 1]):
            if allowed[k]:
                hangs = (bits[k, top >> 6] >> np.uint64(top & 63)) & one != 0
                for w in range(len(below)):
                    hangs = hangs or bits[k, w] & below[w] != 0
                if hangs:
                    allowed[k] = False
                    gone = True
    return gone


@kernel(nogil=True)
def split_box(
    allowed: BoolArray,
    columns: NDArray[np.intp],
    node: int,
    offsets: NDArray[np.intp],
    bits: Bits,
    roots: NDArray[np.intp],
    ranks: NDArray[np.intp],
    boxes: BoolArray,
) -> BoolArray:
    """Boxes in which `node` takes one of `columns` each, propagated; which of them are not empty."""
    alive = np.empty(len(columns), dtype=np.bool_)
    for b in range(len(columns)):
        boxes[b] = allowed
        for k in range(offsets[node], offsets[node + 1]):
            boxes[b, k] = k == columns[b]
        alive[b] = propagate(boxes[b], offsets, bits, roots, ranks)
    return alive
