"""Trees of a choice hung from other nodes: the choices for which the canonical one of them stands."""

from collections.abc import Callable, Iterator
from itertools import product

import numpy as np
from numpy.typing import NDArray

from mmbn_opt.programs.choice import ChoiceProgram

__all__ = ["best_turned", "turned_choices"]

NEAR = 1e-7
"""As a share of the objective: choices that are so near to the best of those for which one stands are told too."""


def best_turned(
    program: ChoiceProgram, choice: NDArray[np.intp], check: Callable[[], None]
) -> tuple[list[NDArray[np.intp]], float]:
    """The best of the choices for which one stands, and their objective plus the program's turning cost.

    None, and minus infinity, where nothing is lost by turning. Of trees of n nodes in all there may be n^2 such
    choices, a pass over the samples each: `check` is called between them, and may raise.
    """
    if program.turning_cost == 0.0:
        return [], -np.inf
    found, values = [], []
    for each in turned_choices(program, choice):
        check()
        found.append(each)
        values.append(program.value(program.vector(each)))
    least = min(values)
    near = least + NEAR * max(1.0, abs(least))
    return [each for each, value in zip(found, values, strict=True) if value <= near], least + program.turning_cost


def turned_choices(program: ChoiceProgram, choice: NDArray[np.intp]) -> Iterator[NDArray[np.intp]]:
    """`choice`, and all that a solver leaves out for it (`ChoiceProgram.root_columns`).

    Parameters
    ----------
    program : ChoiceProgram
        With root columns.
    choice : int array (n_nodes,)
        Columns, acyclic; each tree with a root column hangs from its node of least rank.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> parents = np.array([[0, 0, 1], [0, 1, 1], [0, 0, 1], [1, 0, 1], [0, 0, 0]], dtype=bool)
    >>> program = ChoiceProgram(c=np.zeros(5), offsets=np.array([0, 2, 4, 5]), parents=parents, A=sp.csr_array((0, 5)),
    ...     row_upper=np.zeros(0), root_columns=np.array([0, 2, -1]))
    >>> [turned.tolist() for turned in turned_choices(program, np.array([0, 3, 4]))]
    [[0, 3, 4], [1, 2, 4]]
    """
    roots, ranks = program.hanging
    edges = program.parents[choice] & (roots >= 0)  # edges[child, parent], within trees
    near = edges | edges.T
    trees = [_tree(near, root) for root in np.flatnonzero((roots >= 0) & (choice == roots)).tolist()]
    ways = [
        [{}, *(_hung(program, near, node) for node in tree if ranks[node] > ranks[next(iter(tree))])] for tree in trees
    ]
    spare = [_above_hub(program, near, tree) for tree in trees]
    sets = [ways, *([*ways[:t], spare[t], *ways[t + 1 :]] for t in range(len(trees)))]
    return (_changed(choice, changes) for each in sets for changes in product(*each))


def _above_hub(program: ChoiceProgram, near: NDArray[np.bool_], tree: dict[int, int]) -> list[dict[int, int]]:
    """The columns of a tree's nodes, and of the node of spare columns, for each of these by which it may hang."""
    if program.spare_columns is None:
        return []
    found = []
    for column in np.flatnonzero(program.spare_columns).tolist():
        above = np.flatnonzero(program.parents[column]).tolist()
        if any(node not in tree for node in above) or (len(above) == 2 and not near[above[0], above[1]]):
            continue
        columns = _hung(program, near, above[0])
        for node in above:
            first, last = program.offsets[node], program.offsets[node + 1]
            columns[node] = int(first + (~program.parents[first:last].any(axis=1)).argmax())
        found.append({**columns, int(program.owner[column]): column})
    return found


def _tree(near: NDArray[np.bool_], root: int) -> dict[int, int]:
    """Nodes of a tree, each with the one before it on the way from the root, the root with itself."""
    before, front = {root: root}, [root]
    while front:
        node = front.pop()
        for other in np.flatnonzero(near[node]).tolist():
            if other not in before:
                before[other] = node
                front.append(other)
    return before


def _hung(program: ChoiceProgram, near: NDArray[np.bool_], root: int) -> dict[int, int]:
    """The columns of a tree's nodes where it hangs from one of them."""
    roots, _ = program.hanging
    columns = {}
    for node, parent in _tree(near, root).items():
        wanted = program.parents[roots[node]].copy()
        wanted[parent] |= node != parent
        first, last = program.offsets[node], program.offsets[node + 1]
        columns[node] = int(first + (program.parents[first:last] == wanted).all(axis=1).argmax())
    return columns


def _changed(choice: NDArray[np.intp], changes: tuple[dict[int, int], ...]) -> NDArray[np.intp]:
    turned = choice.copy()
    for change in changes:
        turned[list(change)] = list(change.values())
    return turned
