"""What would have to be different for another decision: the fewest cells of a row whose change flips it."""

import math
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from itertools import combinations, islice, product
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mmbn_opt._budget import leave_in_time
from mmbn_opt.networks.network import BayesianNetwork

__all__ = ["Flip", "smallest_flip"]

MAX_TRIED = 500_000
"""Rows that are tried before the search goes on without a proof."""

_BLOCK = 20_000


@dataclass(frozen=True, eq=False)
class Flip:
    """A change of a row that makes another class the most probable one.

    Parameters
    ----------
    changes : tuple of (feature, label before or None where it was missing, label after)
        Empty where no change flips the decision.
    label : label
        The class that is predicted after them; before them where there are none.
    proba : float
        Its probability by the network.
    smallest : bool
        Whether it is proved that fewer changes flip nothing.
    tried : int
        Rows that were tried.
    """

    changes: tuple[tuple[str, Hashable, Hashable], ...]
    label: Hashable
    proba: float
    smallest: bool
    tried: int

    def to_frame(self) -> pd.DataFrame:
        """A row a change."""
        return pd.DataFrame(list(self.changes), columns=["feature", "before", "after"])

    def __str__(self) -> str:
        proof = "no fewer changes do" if self.smallest else "fewer changes may do too"
        if not self.changes:
            told = "no change of features does" if self.smallest else "no change was found that does"
            return f"{told}: {self.label} stays"
        changes = ", ".join(
            f"{name}: {'unknown' if before is None else before} -> {after}" for name, before, after in self.changes
        )
        return f"{changes} gives {self.label} ({proof})"


def smallest_flip(
    network: BayesianNetwork,
    codes: NDArray[np.integer],
    *,
    to: int | None = None,
    max_changes: int | None = None,
    max_tried: int = MAX_TRIED,
) -> Flip:
    """The fewest cells whose change gives another decision; of several such changes the one with the surest answer.

    All changes of one cell are tried, then all of two, and so on, so that the first that is found is proved smallest.
    Where that would be more than `max_tried` rows, the cell that moves the odds most is changed again and again, and
    nothing is proved. To learn the value of a missing cell is a change too.

    Parameters
    ----------
    network : BayesianNetwork
    codes : int array (n_features,)
        -1 marks a missing cell.
    to : int or None
        Number of the class that is asked for; None for any other one.
    max_changes : int or None
        Larger changes are not looked for.
    max_tried : int

    Examples
    --------
    >>> from mmbn_opt import DiscreteDataset, naive_bayes
    >>> data = DiscreteDataset.from_arrays([["a", "u"], ["b", "v"], ["b", "u"], ["b", "v"]], [0, 1, 0, 1])
    >>> network = BayesianNetwork.fit(naive_bayes(data), data)
    >>> print(smallest_flip(network, network.encode([["a", "u"]])[0]))
    x1: u -> v gives 1 (no fewer changes do)
    """
    row = np.array(codes, dtype=np.int32)
    decided = int(_proba(network, row[None, :])[0].argmax())
    if to is not None and to == decided:
        return _flip(network, row, row, 0, True)
    cells = _cells_that_matter(network, row)
    most = len(cells) if max_changes is None else min(max_changes, len(cells))
    tried, answers = 0, [_answers(network, row, cell) for cell in cells]
    for size in range(1, most + 1):
        count = _number_of_rows([len(states) for states in answers], size)
        if tried + count > max_tried:
            return _greedy(network, row, cells, decided, to, most, tried)
        best, best_proba = None, -1.0
        for block in _blocks(row, cells, answers, size):
            leave_in_time()
            proba = _proba(network, block)
            found = proba.argmax(axis=1)
            flips = found != decided if to is None else found == to
            sure = np.where(flips, proba.max(axis=1), -1.0)
            at = int(sure.argmax())
            if sure[at] > best_proba:
                best, best_proba = block[at], float(sure[at])
        tried += count
        if best is not None:
            return _flip(network, row, best, tried, True)
    return _flip(network, row, row, tried, most == len(cells))


def _proba(network: BayesianNetwork, rows: NDArray[np.int32]) -> Any:
    return network.posterior(network.log_joint(rows), log=False)


def _answers(network: BayesianNetwork, row: NDArray[np.int32], cell: int) -> list[int]:
    return [code for code in range(network.features[cell].cardinality) if code != row[cell]]


def _cells_that_matter(network: BayesianNetwork, row: NDArray[np.int32]) -> list[int]:
    """Cells of the Markov blanket where nothing is missing; all of them otherwise, since paths may be open."""
    if (row >= 0).all():
        return sorted(network.structure.markov_blanket(network.structure.class_index))
    return list(range(len(row)))


def _number_of_rows(sizes: list[int], size: int) -> int:
    """Coefficient of t^size in the product of (1 + n t) over the cells."""
    counts = [1, *[0] * size]
    for n in sizes:
        for k in range(size, 0, -1):
            counts[k] += n * counts[k - 1]
    return counts[size]


def _blocks(
    row: NDArray[np.int32], cells: list[int], answers: list[list[int]], size: int
) -> Iterator[NDArray[np.int32]]:
    """All rows with exactly `size` cells changed, some at a time."""

    def changed() -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
        for chosen in combinations(range(len(cells)), size):
            places = tuple(cells[k] for k in chosen)
            for states in product(*(answers[k] for k in chosen)):
                yield places, states

    rest = changed()
    while batch := list(islice(rest, _BLOCK)):
        block = np.repeat(row[None, :], len(batch), axis=0)
        places, states = (np.array([pair[k] for pair in batch]) for k in (0, 1))
        np.put_along_axis(block, places, states.astype(np.int32), axis=1)
        yield block


def _greedy(
    network: BayesianNetwork,
    row: NDArray[np.int32],
    cells: list[int],
    decided: int,
    to: int | None,
    most: int,
    tried: int,
) -> Flip:
    """Change the cell that moves the odds against the decision most, until it flips."""
    now, left = row.copy(), list(cells)
    for _ in range(most):
        leave_in_time()
        block = np.concatenate(
            [block for cell in left for block in _blocks(now, [cell], [_answers(network, now, cell)], 1)]
        )
        with np.errstate(invalid="ignore"):
            joint = network.log_joint(block)
            rivals = np.delete(joint, decided, axis=1).max(axis=1) if to is None else joint[:, to]
            odds = np.nan_to_num(rivals - joint[:, decided], nan=-math.inf)
        tried += len(block)
        at = int(odds.argmax())
        (cell,) = np.flatnonzero(block[at] != now)
        now = block[at]
        left.remove(int(cell))
        found = int(_proba(network, now[None, :])[0].argmax())
        if (found != decided) if to is None else (found == to):
            return _flip(network, row, now, tried, False)
    return _flip(network, row, row, tried, False)


def _flip(
    network: BayesianNetwork, before: NDArray[np.int32], after: NDArray[np.int32], tried: int, smallest: bool
) -> Flip:
    proba = _proba(network, after[None, :])[0]
    changes = []
    for cell in np.flatnonzero(before != after):
        states = network.features[cell].states
        old = None if before[cell] < 0 else states[before[cell]]
        changes.append((network.features[cell].name, old, states[after[cell]]))
    label = network.target.states[int(proba.argmax())]
    return Flip(tuple(changes), label, float(proba.max()), smallest, tried)
