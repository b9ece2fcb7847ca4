"""Classification scores of a structure that grows parent by parent: kept up to date, searched in compiled loops."""

from math import prod
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from mmbn_opt._arguments import shown, whole
from mmbn_opt._arrays import FloatArray
from mmbn_opt.data.counts import MAX_TABLE_CELLS
from mmbn_opt.data.discrete import DiscreteDataset
from mmbn_opt.data.folds import stratified_folds
from mmbn_opt.exceptions import InputError, SizeLimitError
from mmbn_opt.networks.smoothing import Smoothing
from mmbn_opt.networks.structure import Structure

__all__ = ["ClassScore", "GrowingStructure"]

Parents = tuple[int, ...]

ClassScore = Literal["cr", "cl"]

_FLOOR = 1e-5
"""Replaces smaller probabilities while structures are compared (Pernkopf & Bilmes 2008, section 5)."""


class GrowingStructure:
    """Naive Bayes to which features are added as parents of features, under maximum-likelihood parameters.

    Parameters
    ----------
    data : DiscreteDataset
    score : {"cr", "cl"}
        Classification rate or conditional log-likelihood.
    smoothing : Smoothing
    n_folds : int
        1 scores the samples with the parameters that were learned from them; more scores each fold with the parameters
        learned from the others. Folds hold the classes in proportion and do not depend on the order of the rows.
    seed : int
        Of the folds.
    """

    def __init__(
        self, data: DiscreteDataset, score: ClassScore, smoothing: Smoothing, *, n_folds: int = 1, seed: int = 0
    ) -> None:
        if score not in ("cr", "cl"):
            raise InputError(f'score must be "cr" or "cl", got {shown(score)}.')
        expected = f"a whole number from 1 to the number of rows ({data.n_samples})"
        self.n_folds = whole("folds", n_folds, 1, max(1, data.n_samples), expected=expected)
        data.require_learnable()
        self._names = (data.feature_names, data.class_name)
        self._smoothing = smoothing
        self.by_likelihood = score == "cl"
        self.card = np.array(data.cardinalities[:-1], dtype=np.int64)
        self.n_classes = data.n_classes
        self.refuse_large(0)
        self.parents: list[Parents] = [()] * data.n_features
        if n_folds == 1:
            data = data.aggregate()
            self.fold = np.zeros(data.n_samples, dtype=np.int32)
        else:
            data = data.subset(np.lexsort([data.sample_weight, *data.codes.T[::-1], data.target_codes]))
            self.fold = stratified_folds(data, n_folds, seed)
        narrow = np.int8 if self.card.max(initial=0) < 128 else np.int32
        self.columns = np.ascontiguousarray(data.codes.T.astype(narrow))
        self.labels = data.target_codes.astype(np.int32)
        self.weight: FloatArray = np.ascontiguousarray(data.sample_weight)
        self.tolerance = 1e-9 * float(self.weight.sum())
        self._start()
        self._refresh()

    @property
    def n_features(self) -> int:
        """Number of features."""
        return len(self.card)

    def refuse_large(self, n_parents: int) -> None:
        """Raise `SizeLimitError` when the table of some feature and so many feature parents would be too large.

        A search that gives every pair or triple of features a trial meets the largest one for certain, so that this is
        said before it begins.
        """
        widest = np.argsort(-self.card, kind="stable")[: n_parents + 1]
        cells = self.n_folds * self.n_classes * prod(int(self.card[j]) for j in widest)
        if cells > MAX_TABLE_CELLS:
            features, class_name = self._names
            states = ", ".join(f"{shown(features[j])} ({self.card[j]:,})" for j in widest)
            folds = f", for each of {self.n_folds} folds," if self.n_folds > 1 else ""
            raise SizeLimitError(
                f"A table over the states of {states} and {shown(class_name)} ({self.n_classes}){folds} would have "
                f"{cells:,} cells; the limit is {MAX_TABLE_CELLS:,}. Use fewer parents, merge states, or leave such a "
                "column out."
            )

    @property
    def value(self) -> float:
        """Score of the current structure: a rate, or nats."""
        if self.by_likelihood:
            return float(self.weight @ self.log_posterior)
        return float(self.weight @ self.right / self.weight.sum())

    def structure(self) -> Structure:
        """The current structure; the class is a parent of every feature."""
        features, class_name = self._names
        c = len(features)
        return Structure(features, class_name, (*((*parents, c) for parents in self.parents), ()))

    def pseudo(self, child: int, parents: Parents) -> float:
        """Pseudo-count of a cell of the factor of `child` with feature parents."""
        configurations = self.n_classes * int(np.prod(self.card[list(parents)], dtype=np.int64))
        return self._smoothing.per_cell(int(self.card[child]), configurations)

    def best(self, candidates: list[tuple[int, Parents]]) -> int:
        """Number of the candidate (child, its feature parents) that raises the score most, or -1 when none does.

        The children must have no feature parents yet. Ties go to the earlier candidate.
        """
        if not candidates:
            return -1
        first = np.array([parents[0] for _, parents in candidates], dtype=np.int64)
        second = np.array([parents[1] if len(parents) > 1 else -1 for _, parents in candidates], dtype=np.int64)
        child = np.array([j for j, _ in candidates], dtype=np.int64)
        nothing = np.zeros(len(candidates), dtype=np.int64)
        return self.best_of(
            child, first, second, np.arange(len(candidates)),
            pseudo=np.array([self.pseudo(j, parents) for j, parents in candidates]),
            cached=(np.zeros(1), nothing - 1, nothing, nothing), bound=np.zeros(len(candidates)),
        )  # fmt: skip

    def best_of(
        self,
        child: NDArray[np.int64],
        first: NDArray[np.int64],
        second: NDArray[np.int64],
        sequence: NDArray[np.int64],
        *,
        pseudo: FloatArray,
        cached: tuple[FloatArray, NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]],
        bound: FloatArray,
    ) -> int:
        """`best` over arrays; see `_score_kernels.best_parents`."""
        from mmbn_opt.heuristics._score_kernels import best_parents

        found, _ = best_parents(
            child, first, second, sequence, self.columns, self.card, self.fold, self.n_folds, self.labels, self.weight,
            self.scores, self.margin, self.right, self.wrong_before, self.log_posterior, self.base, self.base_start,
            pseudo, _FLOOR, self.by_likelihood, self.tolerance, *cached, bound,
        )  # fmt: skip
        return int(found)

    def add(self, child: int, parents: Parents) -> None:
        """Give `child`, which has no feature parents yet, the feature parents `parents`."""
        from mmbn_opt.heuristics._score_kernels import delta_table

        configurations = int(np.prod(self.card[list(parents)], dtype=np.int64))
        n_states, n_classes = int(self.card[child]), self.n_classes
        cell = self.fold.astype(np.int64)
        for v in (*parents, child):
            cell = cell * self.card[v] + self.columns[v]
        size = self.n_folds * configurations * n_states
        counts = self._count(cell, size)
        delta = np.empty(size * n_classes)
        delta_table(
            counts, self.n_folds, configurations, n_states, n_classes, self.pseudo(child, parents), _FLOOR,
            self.base[self.base_start[child] :], delta, np.empty(size),
        )  # fmt: skip
        self.scores += delta.reshape(size, n_classes)[cell]
        self.parents[child] = parents
        self._refresh()

    # -- upkeep -------------------------------------------------------------------------------------------------

    def _start(self) -> None:
        """Scores of naive Bayes, and the log-factors of features without feature parents."""
        n_folds, n_classes = self.n_folds, self.n_classes
        prior = self._count(self.fold, n_folds)
        per_cell = self._smoothing.per_cell(n_classes, 1)
        self.scores = self._shares(prior.reshape(n_folds, n_classes), per_cell, axis=1)[self.fold]
        sizes = n_folds * self.card * n_classes
        self.base_start = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        self.base = np.empty(int(self.base_start[-1]))
        for j, n_states in enumerate(self.card.tolist()):
            cell = self.fold * n_states + self.columns[j]
            counts = self._count(cell, n_folds * n_states)
            table = self._shares(counts.reshape(n_folds, n_states, n_classes), self.pseudo(j, ()), axis=1)
            self.base[self.base_start[j] : self.base_start[j + 1]] = table.ravel()
            self.scores += table.reshape(-1, n_classes)[cell]

    def _count(self, cell: NDArray[Any], n_cells: int) -> FloatArray:
        """Weight by (cell, class), flat."""
        code = cell * self.n_classes + self.labels
        return np.bincount(code, weights=self.weight, minlength=n_cells * self.n_classes).astype(np.float64)

    def _shares(self, counts: FloatArray, pseudo: float, *, axis: int) -> FloatArray:
        """Log of smoothed shares along an axis, each fold (axis 0) from the counts of the others."""
        if self.n_folds > 1:
            counts = counts.sum(axis=0, keepdims=True) - counts
        total = counts.sum(axis=axis, keepdims=True) + pseudo * counts.shape[axis]
        share = np.where(total > 0, (counts + pseudo) / np.where(total > 0, total, 1.0), 1.0 / counts.shape[axis])
        logs: FloatArray = np.log(np.maximum(share, _FLOOR))
        return logs

    def _refresh(self) -> None:
        """Margins of the new scores; samples with small ones move to the front."""
        from mmbn_opt.heuristics._score_kernels import TIE

        rows = np.arange(len(self.labels))
        own = self.scores[rows, self.labels]
        rivals = self.scores.copy()
        rivals[rows, self.labels] = -np.inf
        margin = np.abs(own - rivals.max(axis=1))
        ahead = np.arange(self.n_classes) < self.labels[:, None]
        lost = (rivals > own[:, None] + TIE) | (ahead & (rivals >= own[:, None] - TIE))
        right = np.logical_not(np.any(lost, axis=1))
        order = np.argsort(margin, kind="stable")
        self.columns = np.ascontiguousarray(self.columns[:, order])
        self.labels, self.weight, self.fold = self.labels[order], self.weight[order], self.fold[order]
        self.scores, self.margin, self.right = self.scores[order], margin[order], right[order]
        self.wrong_before = np.concatenate([[0.0], np.cumsum(self.weight * ~self.right)])
        self.log_posterior = (
            own[order] - np.logaddexp.reduce(self.scores, axis=1) if self.by_likelihood else np.zeros(1)
        )
