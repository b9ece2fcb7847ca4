"""Observations two by two: groups of features that tell of each other beyond what the class tells."""

import numpy as np
from numpy.typing import NDArray

__all__ = ["Groups", "conditional_gains"]

Codes = NDArray[np.int64]
_LEAST = 1e-9


def conditional_gains(codes: Codes, labels: Codes) -> NDArray[np.float64]:
    """Mutual information of all pairs of features given the label, less what chance alone would show.

    Parameters
    ----------
    codes : int array (n, n_features)
        From 0 on.
    labels : int array (n,)

    Returns
    -------
    float64 array (n_features, n_features)
        Nats a row. Independent features are near 0, on either side.

    Examples
    --------
    Two equal features, and one of its own.

    >>> codes = np.array([[0, 0, 0], [1, 1, 0], [0, 0, 1], [1, 1, 1]] * 5)
    >>> conditional_gains(codes, np.zeros(20, dtype=int)).round(2).tolist()[0][1:]
    [0.67, -0.02]
    """
    width = codes.max(axis=0) + 1
    ends = np.cumsum(width)
    n, n_symbols = len(codes), int(ends[-1])
    feature = np.repeat(np.arange(len(width)), width)
    total, chance = np.zeros((len(width), len(width))), np.zeros((len(width), len(width)))
    for label in np.unique(labels):
        own = codes[labels == label]
        shown = np.zeros((len(own), n_symbols))
        shown[np.arange(len(own))[:, None], own + (ends - width)] = 1.0
        both, alone = shown.T @ shown, shown.sum(axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            told = np.where(both > 0, both * np.log(both * len(own) / np.outer(alone, alone)), 0.0)
        total += np.add.reduceat(np.add.reduceat(told, ends - width, axis=0), ends - width, axis=1)
        free = np.bincount(feature[alone > 0], minlength=len(width)) - 1.0
        chance += 0.5 * np.outer(free, free)
    found: NDArray[np.float64] = (total - chance) / n
    return found


class Groups:
    """Features that are taken together, learned from rows with labels: the two that gain most, then the next two.

    Parameters
    ----------
    rounds : int
        How often: after two rounds groups have up to four features. Only pairs are made that gain more than by chance.

    Examples
    --------
    >>> values = np.array([["a", "a", "x"], ["b", "b", "x"], ["a", "a", "y"], ["b", "b", "y"]] * 5)
    >>> groups = Groups(1).fit(values, np.array(["c"] * 20))
    >>> groups.members
    [[0, 1], [2]]
    >>> groups.transform(np.array([["b", "b", "y"], ["b", "never seen", "x"]])).tolist()
    [[3, 1], [None, 0]]
    """

    def __init__(self, rounds: int) -> None:
        self.rounds = rounds

    def fit(self, values: NDArray[np.generic], y: NDArray[np.generic]) -> "Groups":
        """Learn the states of each feature, and which of them go together."""
        self.states = [np.unique(column) for column in values.T]
        labels = np.unique(y, return_inverse=True)[1]
        codes = self._codes(values)
        self.members = [[j] for j in range(codes.shape[1])]
        for _ in range(self.rounds):
            joined = self._joined(codes)
            dense = np.column_stack([np.unique(column, return_inverse=True)[1] for column in joined.T])
            self.members = [
                [j for group in pair for j in self.members[group]]
                for pair in _matched(conditional_gains(dense, labels))
            ]
        return self

    def transform(self, values: NDArray[np.generic]) -> NDArray[np.object_]:
        """A column a group; None where a value was never seen."""
        joined = self._joined(self._codes(values))
        found = joined.astype(object)
        found[joined < 0] = None
        return found

    def _codes(self, values: NDArray[np.generic]) -> Codes:
        columns = []
        for states, column in zip(self.states, values.T, strict=True):
            at = np.minimum(np.searchsorted(states, column), len(states) - 1)
            columns.append(np.where(states[at] == column, at, -1))
        return np.column_stack(columns).astype(np.int64)

    def _joined(self, codes: Codes) -> Codes:
        found = []
        for group in self.members:
            number, known = np.zeros(len(codes), dtype=np.int64), np.ones(len(codes), dtype=bool)
            for j in group:
                number = number * len(self.states[j]) + codes[:, j]
                known &= codes[:, j] >= 0
            found.append(np.where(known, number, -1))
        return np.column_stack(found)


def _matched(gains: NDArray[np.float64]) -> list[tuple[int, ...]]:
    """Pairs from the largest gain down, then those that are alone."""
    free, pairs = set(range(len(gains))), list[tuple[int, ...]]()
    first, second = np.triu_indices(len(gains), 1)
    for at in np.argsort(-gains[first, second], kind="stable"):
        i, j = int(first[at]), int(second[at])
        if gains[i, j] <= _LEAST:
            break
        if i in free and j in free:
            pairs.append((i, j))
            free -= {i, j}
    return pairs + [(j,) for j in sorted(free)]
