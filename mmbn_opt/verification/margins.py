"""Margins of samples by the candidates, and cuts of their sum.

For any samples A of a group and any rival class for each of them, ``loss(y) >= sum over m in A of n_m (gamma -
margin_m(y))`` holds for every y, with the margin against that rival. The point of a cut only says which; how it was
rounded cannot make the cut wrong. What is rounded in the coefficients is bounded by column.
"""

import numpy as np
from numpy.typing import NDArray

from mmbn_opt.rigour.enclosed import SAFE, Enclosed, Floats, gamma
from mmbn_opt.rigour.samples import Samples
from mmbn_opt.verification.problem import Problem

__all__ = ["Margins"]


class Margins:
    """Tables of all candidates, looked up by sample.

    ``size`` and ``error`` (n_columns,) bound the coefficients of a cut and what is wrong with them, as multiples of the
    weight of its samples.
    """

    def __init__(self, samples: Samples, problem: Problem) -> None:
        c, n_columns, n_samples = problem.c, len(problem.columns), len(samples.codes)
        self._labels, self._weight, self.gamma = samples.codes[:, c], samples.weight, problem.gamma
        # One number a sample where it has one rival: what its class has above that.
        self._paired = problem.score == "sbm" or samples.cards[c] == 2
        self._place = np.zeros((n_columns, n_samples), dtype=np.int32)
        tables, start = [np.zeros((1, samples.cards[c]))], 1  # the first entry is that of columns without the class
        self.size, self.error = np.zeros(n_columns), np.zeros(n_columns)
        for k, (node, parents) in enumerate(problem.columns):
            if node != c and c not in parents:
                continue
            table = problem.family(samples, node, parents)
            if self._paired and problem.score == "sm":
                table = table.minus(Enclosed(table.value[:, ::-1], table.error[:, ::-1]))
            others = tuple(v for v in parents if v != c)
            self._place[k] = start + samples.joint(others if node == c else (*others, node))
            tables.append(table.value)
            start += len(table.value)
            self.size[k], self.error[k] = (2 - self._paired) * np.abs(table).max(axis=(1, 2))
        self.error = SAFE * (self.error + gamma(n_samples + samples.cards[c]) * self.size)
        self._table = np.concatenate(tables)

    def select(self, columns: NDArray[np.int64], values: Floats) -> tuple[NDArray[np.bool_], NDArray[np.intp]]:
        """Samples whose margin at a point is below gamma, and their nearest rivals, by the operations of the search."""
        scores = np.zeros((len(self._labels), 1 if self._paired else self._table.shape[1]))
        for k, value in zip(columns.tolist(), values.tolist(), strict=True):
            if self._place[k, 0] and value != 0.0:
                rows = self._table[self._place[k]]
                scores += value * (np.take_along_axis(rows, self._labels[:, None], 1) if self._paired else rows)
        margins, rivals = self._margins(scores)
        return margins < self.gamma, rivals

    def _margins(self, scores: Floats) -> tuple[Floats, NDArray[np.intp]]:
        if self._paired:
            return scores[:, 0], np.zeros(len(scores), dtype=np.intp)
        samples = np.arange(len(scores))
        own = scores[samples, self._labels]
        scores[samples, self._labels] = -np.inf
        rivals = scores.argmax(axis=1)
        return own - scores[samples, rivals], rivals

    def cuts(
        self, members: NDArray[np.intp], active: NDArray[np.bool_], rivals: NDArray[np.intp]
    ) -> tuple[Floats, Floats]:
        """Coefficients of cuts of the samples `members`, a row of `active` and `rivals` each, and their weights."""
        weight = active * self._weight[members]
        place, labels = self._place[:, members], self._labels[members]
        rows: Floats = weight @ self._table[place, labels].T
        for c in range(0 if self._paired else self._table.shape[1]):
            rows -= (weight * (rivals == c)) @ self._table[place, c].T
        return rows, weight.sum(axis=1)

    def value(self, choice: list[int]) -> Enclosed:
        """The margin sum of a choice."""
        rows = self._table[self._place[choice]]
        picked = np.take_along_axis(rows, self._labels[None, :, None], 2) if self._paired else rows
        kept = self._weight * np.minimum(self._margins(picked.sum(axis=0))[0], self.gamma)
        error = self.error[choice].sum() + gamma(len(choice) + 1) * self.size[choice].sum()
        error = error * self._weight.sum() + gamma(len(kept) + 1) * np.abs(kept).sum()
        return Enclosed(kept.sum(), SAFE * error)
