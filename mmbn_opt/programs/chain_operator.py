"""From the parameters of a chain to scores of labellings, and back: what programs and models over sequences share."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from mmbn_opt._arrays import FloatArray, IntArray
from mmbn_opt.programs.chain_kernels import (
    ChainIndex,
    add_symbols,
    best_paths,
    expectations,
    fold_symbols,
    hamming,
    path_features,
    score_directly,
    score_positions,
    spread_symbols,
)

__all__ = ["ChainOperator", "LossPass", "SoftPass", "block_starts", "chain_index", "path_losses"]


def block_starts(n_labels: int, cardinalities: tuple[int, ...]) -> IntArray:
    """Where each row of the tables begins in the vector, and the vector's length.

    Examples
    --------
    One initial row, two of transitions, two of a feature with three symbols.

    >>> block_starts(2, (3,)).tolist()
    [0, 2, 4, 6, 9, 12]
    """
    sizes = [n_labels] * (1 + n_labels) + [s for s in cardinalities for _ in range(n_labels)]
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def chain_index(
    codes: NDArray[np.integer],
    labels: NDArray[np.integer] | None,
    starts: IntArray,
    n_labels: int,
    cardinalities: tuple[int, ...],
) -> ChainIndex:
    """Where each position looks its scores up.

    Parameters
    ----------
    codes : int array (n_positions, n_features)
        Symbol numbers; -1 where a cell is missing, whose term is left out.
    labels : int array (n_positions,) or None
        True labels; None where they are not known.
    starts : int64 array (n_sequences + 1,)
    n_labels : int
    cardinalities : tuple of int
        Symbols of each feature.
    """
    codes = np.ascontiguousarray(codes, dtype=np.int64)
    n_positions, n_features = codes.shape
    width = np.array(cardinalities, dtype=np.int64)
    symbol_start = np.concatenate([[0], np.cumsum(width)]).astype(np.int64)
    emission_start = n_labels + n_labels**2 + n_labels * symbol_start[:-1]
    usual = np.zeros(n_features, dtype=np.int64)
    for f in range(n_features):
        known = codes[codes[:, f] >= 0, f]
        if len(known):
            usual[f] = np.bincount(known).argmax()
    unusual = codes != usual
    rows = np.where(codes >= 0, symbol_start[:-1] + codes, symbol_start[-1] + np.arange(n_features))
    return ChainIndex(
        n_labels=n_labels,
        starts=np.ascontiguousarray(starts, dtype=np.int64),
        labels=np.full(n_positions, -1) if labels is None else np.ascontiguousarray(labels, dtype=np.int64),
        entry=np.where(codes >= 0, emission_start + codes, -1),
        width=width,
        symbol_start=symbol_start,
        emission_start=emission_start,
        usual=usual,
        cell_ptr=np.concatenate([[0], np.cumsum(unusual.sum(axis=1))]).astype(np.int64),
        cells=rows[unusual],
    )


@dataclass(frozen=True, eq=False)
class LossPass:
    """What Viterbi's algorithm finds at a point.

    Parameters
    ----------
    paths : int64 array (n_positions,)
        The labelling of each sequence that is worst for the loss, or best by the score.
    values : float64 array (n_sequences,)
    """

    paths: IntArray
    values: FloatArray


@dataclass(frozen=True, eq=False)
class SoftPass:
    """What the forward-backward algorithm finds at a point.

    Parameters
    ----------
    logs : float64 array (n_sequences,)
        Logarithm of the sum over all labellings.
    marginals : float64 array (n_positions, n_labels)
    features : float64 array (n,)
        How often each entry is looked up, on the average over labellings.
    """

    logs: FloatArray
    marginals: FloatArray
    features: FloatArray


@dataclass(frozen=True, eq=False)
class ChainOperator:
    """Scores of labellings ``sum of the entries of w that they look up``, maximised and summed over all of them.

    Parameters
    ----------
    index : ChainIndex
    row_ptr : int64 array (n_blocks + 1,)
        Where each row of the tables begins in w; see `block_starts`.

    Examples
    --------
    Two labels, one feature of two symbols, the sequence (0, 1).

    >>> index = chain_index(np.array([[0], [1]]), np.array([0, 1]), np.array([0, 2]), 2, (2,))
    >>> chains = ChainOperator(index, block_starts(2, (2,)))
    >>> w = np.log([0.5, 0.5, 0.9, 0.1, 0.1, 0.9, 0.8, 0.2, 0.2, 0.8])
    >>> chains.best(w).paths.tolist(), round(float(np.exp(chains.best(w).values[0])), 4)
    ([0, 0], 0.072)
    >>> round(float(np.exp(chains.soft(w).logs[0])), 4)
    0.178
    """

    index: ChainIndex
    row_ptr: IntArray

    @property
    def n_parameters(self) -> int:
        """Entries of w."""
        return int(self.row_ptr[-1])

    @property
    def n_labels(self) -> int:
        """Labels of a position."""
        return self.index.n_labels

    @property
    def n_positions(self) -> int:
        """Positions of all sequences."""
        return len(self.index.labels)

    @property
    def n_sequences(self) -> int:
        """Sequences."""
        return len(self.index.starts) - 1

    @cached_property
    def own(self) -> FloatArray:
        """How often the true labels look each entry up."""
        return self.features(self.index.labels)

    def scores(self, w: FloatArray) -> FloatArray:
        """What the observations of each position say for each label, shape (n_positions, n_labels)."""
        k = self.n_labels
        out = np.empty((self.n_positions, k))
        if not np.isfinite(w).all():
            score_directly(self.index, w, out)
            return out
        table = np.empty((int(self.index.symbol_start[-1]) + len(self.index.width), k))
        usual_score = np.empty(k)
        spread_symbols(self.index, w, table, usual_score)
        score_positions(self.index, table, usual_score, out)
        return out

    def own_scores(self, w: FloatArray) -> FloatArray:
        """Score of the true labels of each sequence."""
        index, k = self.index, self.n_labels
        terms = self.scores(w)[np.arange(self.n_positions), index.labels]
        before = np.concatenate([[0], index.labels[:-1]])
        steps = w[k + before * k + index.labels]
        steps[index.starts[:-1]] = w[index.labels[index.starts[:-1]]]
        return np.asarray(np.add.reduceat(terms + steps, index.starts[:-1]), dtype=np.float64)

    def best(self, w: FloatArray, gamma: float | None = None, shift: FloatArray | None = None) -> LossPass:
        """The labellings of the largest score; with `gamma`, of score and gamma times the Hamming distance together.

        `shift` (n_positions, n_labels) is added to the scores of the positions.
        """
        scores = self._shifted(w, gamma, shift)
        paths, values = np.empty(self.n_positions, dtype=np.int64), np.empty(self.n_sequences)
        best_paths(self.index.starts, scores, w, self.n_labels, paths, values)
        return LossPass(paths, values)

    def soft(
        self, w: FloatArray, gamma: float | None = None, temperature: float = 1.0, shift: FloatArray | None = None
    ) -> SoftPass:
        """Sums over all labellings of ``exp((score + gamma Hamming) / temperature)``, and means under these weights."""
        scores = self._shifted(w, gamma, shift)
        k = self.n_labels
        pairs = np.zeros((k, k))
        chain = w[: k + k * k]
        if temperature != 1.0:
            scores /= temperature
            chain = chain / temperature
        logs, marginals = expectations(self.index.starts, scores, chain, k, pairs)
        features = self._emissions(marginals)
        features[:k] = marginals[self.index.starts[:-1]].sum(axis=0)
        features[k : k + k * k] = pairs.ravel()
        return SoftPass(logs, marginals, features)

    def _shifted(self, w: FloatArray, gamma: float | None, shift: FloatArray | None) -> FloatArray:
        scores = self.scores(w)
        if gamma is not None:
            hamming(self.index.labels, gamma, scores)
        if shift is not None:
            scores += shift
        return scores

    def _emissions(self, marginals: FloatArray) -> FloatArray:
        table = np.zeros((int(self.index.symbol_start[-1]) + len(self.index.width), self.n_labels))
        add_symbols(self.index, marginals, table)
        out = np.zeros(self.n_parameters)
        fold_symbols(self.index, table, marginals.sum(axis=0), out)
        return out

    def features(self, paths: IntArray) -> FloatArray:
        """How often some labels look each entry up."""
        counted: FloatArray = path_features(self.index, np.ascontiguousarray(paths, dtype=np.int64), self.n_parameters)
        return counted

    def missed(self, marginals: FloatArray) -> float:
        """Mean number of positions whose label is not the true one."""
        own = marginals[np.arange(self.n_positions), self.index.labels]
        return float(self.n_positions - own.sum())


def path_losses(chains: ChainOperator, paths: IntArray) -> FloatArray:
    """Hamming distance of each sequence's labels from the true ones."""
    wrong = (paths != chains.index.labels).astype(np.float64)
    return np.asarray(np.add.reduceat(wrong, chains.index.starts[:-1]), dtype=np.float64)
