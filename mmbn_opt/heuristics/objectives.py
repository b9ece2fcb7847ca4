"""What the local search minimises: a loss of one column choice a node, with a fast best replacement."""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from mmbn_opt._arrays import FloatArray
from mmbn_opt._budget import leave_in_time
from mmbn_opt.scores.margins import MarginTables

__all__ = ["LinearLoss", "Loss", "MarginLoss", "costly_first"]

Choice = NDArray[np.intp]

_BLOCK_STEPS = 5e7
"""Elementary steps of a kernel between two looks at the clock."""

_CALL_STEPS = 60_000
"""What a call costs beside its loops, its arguments included."""


class Loss(Protocol):
    """A loss over choices (one column a node) with a current choice that moves."""

    work: float
    """Rough number of elementary steps of one replacement over all columns."""

    steps: int
    """What was done so far, in steps of about a nanosecond, counted: equal calls count alike on every machine."""

    def reset(self, choice: Choice) -> float:
        """Make `choice` the current one; its loss."""

    def replace(self, old_column: int, new_column: int) -> None:
        """Exchange one column of the current choice."""

    def best_replacement(self, old_column: int, columns: Choice, cutoff: float) -> tuple[int, float]:
        """Best column in place of `old_column` with a loss below `cutoff`, or (-1, cutoff)."""


class MarginLoss:
    """``sum_m n_m (gamma_m - min(gamma_m, margin_m))``, what lacks of each gamma, plus a cost of each chosen column.

    Parameters
    ----------
    tables : MarginTables
    gamma : float or float64 array (n_samples,)
    cost : float64 array (n_columns,) or None
    """

    def __init__(self, tables: MarginTables, gamma: float | FloatArray, cost: FloatArray | None = None) -> None:
        self._tables = tables = tables.without_rivals()
        self._gamma = self._wanted = np.full(tables.n_samples, gamma, dtype=np.float64)
        self._free, self._has_cost = np.zeros(tables.n_columns), cost is not None and bool(np.any(cost))
        self._cost = self._free if cost is None else cost
        self._linear = 0.0
        self._scores = np.zeros((tables.n_samples, tables.n_classes))
        self._lookup, self._labels, self._weight = tables.lookup, tables.labels, tables.weight
        self._rest = np.empty_like(self._scores)
        width = 1 if tables.binary else tables.n_classes
        self._at_once = max(1, int(_BLOCK_STEPS / (tables.n_samples * width)))
        self.work = float(tables.n_columns) * tables.n_samples * width
        self.steps = 0
        self._steps_a_sample = 4 + width * 7 // 10

    def reset(self, choice: Choice) -> float:
        """Sum the scores of a choice; its loss."""
        from mmbn_opt.heuristics._local_search_kernels import sample_losses, score_choice

        tables = self._tables
        scores = self._rest  # scratch space here
        score_choice(tables.table, *tables.lookup, np.asarray(choice, dtype=np.intp), scores)
        self.steps += len(choice) * tables.n_samples * (2 + tables.n_classes)
        losses = sample_losses(tables.labels, tables.weight, self._gamma, tables.binary, scores)
        self.steps += _CALL_STEPS + 100 * tables.n_samples  # mostly the sort
        # Costly samples first: a bad replacement is given up early.
        order = costly_first(losses)
        self._lookup, self._scores = tables.lookup.of_samples(order), np.take(scores, order, axis=0)
        self._labels, self._weight = tables.labels[order], tables.weight[order]
        self._wanted = self._gamma[order]
        self._linear = float(self._cost[choice].sum())
        return float(losses.sum()) + self._linear

    def replace(self, old_column: int, new_column: int) -> None:
        """Exchange one column of the current choice."""
        self._add(new_column, 1.0)
        self._add(old_column, -1.0)
        self._linear += float(self._cost[new_column] - self._cost[old_column])

    def _add(self, column: int, sign: float) -> None:
        from mmbn_opt.heuristics._local_search_kernels import add_column

        add_column(self._tables.table, *self._lookup, column, self._scores, sign)
        self.steps += self._tables.n_samples * (2 + self._tables.n_classes)

    def best_replacement(self, old_column: int, columns: Choice, cutoff: float) -> tuple[int, float]:
        """Best column in place of `old_column`, or (-1, cutoff)."""
        from mmbn_opt.heuristics._local_search_kernels import best_replacement

        t, at_once = self._tables, self._at_once
        best, least = -1, cutoff
        begin = self._free[: len(columns)]
        if self._has_cost:
            begin = self._linear - self._cost[old_column] + self._cost[columns]
        for first in range(0, len(columns), at_once):
            leave_in_time()
            column, loss, looked = best_replacement(
                t.table,
                *self._lookup,
                self._labels,
                self._weight,
                self._wanted,
                t.binary,
                self._scores,
                old_column,
                columns[first : first + at_once],
                begin[first : first + at_once],
                least,
                self._rest,
            )
            self.steps += int(looked) * self._steps_a_sample
            if column >= 0:
                best, least = int(column), float(loss)
        self.steps += _CALL_STEPS
        return best, least


def costly_first(losses: FloatArray) -> NDArray[np.intp]:
    """An order in which losses fall, but for those that differ by less than a hundredth; these stay as they were.

    Numbers of two bytes are sorted several times as fast as those of eight: these are the exponent and seven digits.
    """
    with np.errstate(over="ignore"):  # infinite ones come first
        digits = losses.astype(np.float32).view(np.uint32) >> np.uint32(16)
    order: NDArray[np.intp] = np.argsort(np.uint16(0xFFFF) - digits.astype(np.uint16), kind="stable")
    return order


class LinearLoss:
    """Minus the sum of local scores."""

    def __init__(self, local_scores: FloatArray) -> None:
        self._cost = -local_scores
        self._loss = 0.0
        self.work = float(len(local_scores))
        self.steps = 0

    def reset(self, choice: Choice) -> float:
        """Make `choice` the current one; its loss."""
        self._loss = float(self._cost[choice].sum())
        return self._loss

    def replace(self, old_column: int, new_column: int) -> None:
        """Exchange one column of the current choice."""
        self._loss += float(self._cost[new_column] - self._cost[old_column])

    def best_replacement(self, old_column: int, columns: Choice, cutoff: float) -> tuple[int, float]:
        """Best column in place of `old_column`, or (-1, cutoff)."""
        self.steps += _CALL_STEPS + len(columns)
        if not len(columns):
            return -1, cutoff
        best = int(columns[np.argmin(self._cost[columns])])
        loss = self._loss + float(self._cost[best] - self._cost[old_column])
        return (best, loss) if loss < cutoff else (-1, cutoff)
