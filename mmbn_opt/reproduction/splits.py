"""Which rows of a table are learned from and which are held out."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold, StratifiedShuffleSplit, train_test_split

from mmbn_opt.exceptions import InputError
from mmbn_opt.reproduction.sources import Table

__all__ = ["Split", "Splits"]

Rows = NDArray[np.intp]
_TRIES = 100
Split = tuple[Rows, Rows]


@dataclass(frozen=True)
class Splits:
    """How tables are split: folds for most, a test part of its own for some.

    Parameters
    ----------
    folds : int
        Of cross-validation, classes in proportion; of labelled sequences, whole ones. Where the data come with folds
        those are taken.
    in_order : bool
        Folds are blocks of rows as they lie in the table, whatever their classes.
    learn : {"all but one", "one"}
        How many of the folds are learned from; the others are held out.
    train_rows : mapping of data set to int
        Sets with one test part: so many rows are learned from. Where the data come with a split of that size it is
        taken, else rows are drawn, classes in proportion.
    draws : int
        How often such rows are drawn.
    given : sequence of str
        Sets of `train_rows` that come with that split, so that there is one, whatever `draws` says.
    sizes : sequence of int
        Instead of folds: training sets of so many rows, `draws` of each size, disjoint and with more than one class
        where that can be; all other rows are held out. Of labelled sequences so many sequences.
    apart : bool
        The sizes are rows of their own in the table, "set/size"; the first draws of all sizes come first.
    seed : int

    Examples
    --------
    >>> from mmbn_opt.reproduction.sources import Source
    >>> corral = Source(None).find("corral")
    >>> [(len(train), len(test)) for train, test in Splits(folds=4).of(corral)]
    [(96, 32), (96, 32), (96, 32), (96, 32)]
    >>> [(len(train), len(test)) for train, test in Splits(train_rows={"corral": 100}, draws=2).of(corral)]
    [(100, 28), (100, 28)]
    >>> [(len(train), len(test)) for train, test in Splits(sizes=(10, 20), draws=1).of(corral)]
    [(10, 118), (20, 108)]
    >>> [(len(train), len(test)) for train, test in Splits(folds=4, learn="one").of(corral)][:2]
    [(32, 96), (32, 96)]
    >>> Splits(folds=4, in_order=True).of(corral)[1][1][[0, -1]].tolist()
    [32, 63]
    """

    folds: int = 5
    learn: Literal["all but one", "one"] = "all but one"
    train_rows: Mapping[str, int] = field(default_factory=dict)
    draws: int = 1
    sizes: Sequence[int] = ()
    apart: bool = False
    seed: int = 0
    in_order: bool = False
    given: Sequence[str] = ()

    def of(self, table: Table, *, complete_only: bool = False) -> list[Split]:
        """(training rows, test rows) of every split of a table, as numbers of its rows.

        Parameters
        ----------
        table : Table
        complete_only : bool
            Leave out rows with missing cells. The split that the data come with is that of all rows.

        Raises
        ------
        InputError
            If the table has too few rows.
        """
        kept = np.flatnonzero(~table.X.isna().any(axis=1).to_numpy()) if complete_only else np.arange(len(table.y))
        labels = table.y.to_numpy()[kept]
        wanted = self.train_rows.get(table.name)
        if wanted is not None and wanted == table.train_rows:
            return [(kept[kept < wanted], kept[kept >= wanted])]
        if self.sizes:
            units = np.arange(len(labels)) if table.sequences is None else table.sequences[kept]
            parts = [self._small(labels, units, size, table.name) for size in self.sizes]
            if self.apart:
                parts = [list(draw) for draw in zip(*parts, strict=True)]
            found = [split for part in parts for split in part]
        elif wanted is not None and table.sequences is None:
            _enough(table.name, len(kept), wanted + 1)
            found = self._drawn(labels, wanted)[: self.draws_of(table.name)]
        else:
            folds = self._folds(table, kept)
            own = [folds == one if self.learn == "one" else folds != one for one in np.unique(folds)]
            found = [(np.flatnonzero(learned), np.flatnonzero(~learned)) for learned in own]
        return [(np.sort(kept[train]), np.sort(kept[test])) for train, test in found]

    def is_cross_validated(self, name: str) -> bool:
        """Whether the spread of the splits tells how sure the mean is; with one test part its size does."""
        return bool(self.sizes) or name not in self.train_rows or self.draws_of(name) > 1

    def draws_of(self, name: str) -> int:
        """How often rows of a set are drawn.

        Examples
        --------
        >>> splits = Splits(train_rows={"a": 10, "b": 10}, draws=5, given=["b"])
        >>> splits.draws_of("a"), splits.draws_of("b")
        (5, 1)
        """
        return 1 if name in self.given else self.draws

    def size_of(self, split: int) -> int:
        """How many rows, or sequences, the training set of a split has, where sizes are given."""
        return self.sizes[split % len(self.sizes) if self.apart else split // self.draws]

    def _folds(self, table: Table, kept: Rows) -> NDArray[np.int64]:
        """The number of each kept row's fold: that of the data, or drawn; all positions of a sequence have one."""
        if table.folds is not None:
            return table.folds[kept]
        if table.sequences is not None:
            members, of = np.unique(table.sequences[kept], return_inverse=True)
            _enough(table.name, len(members), self.folds)
            return (np.random.default_rng(self.seed).permutation(len(members)) % self.folds)[of]
        _enough(table.name, len(kept), self.folds)
        if self.in_order:
            return np.arange(len(kept)) * self.folds // len(kept)
        labels, found = table.y.to_numpy()[kept], np.zeros(len(kept), dtype=np.int64)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # a class may have fewer rows than there are folds
            drawn = StratifiedKFold(self.folds, shuffle=True, random_state=self.seed)
            for number, (_, test) in enumerate(drawn.split(labels, labels)):
                found[test] = number
        return found

    def _drawn(self, labels: NDArray[np.object_], n_train: int) -> list[Split]:
        if np.unique(labels, return_counts=True)[1].min() < 2:
            rows = np.arange(len(labels))
            seeds = range(self.seed, self.seed + self.draws)
            return [tuple(train_test_split(rows, train_size=n_train, random_state=seed)) for seed in seeds]
        drawn = StratifiedShuffleSplit(self.draws, train_size=n_train, random_state=self.seed)
        return list(drawn.split(labels, labels))

    def _small(self, labels: NDArray[np.object_], units: NDArray[np.int64], size: int, name: str) -> list[Split]:
        """Disjoint sets of so many units: rows, or the rows of a sequence."""
        members = np.unique(units)
        _enough(name, len(members), size + 1)
        rng = np.random.default_rng([self.seed, size])
        apart = len(members) // size
        rounds = -(-self.draws // apart)
        for _ in range(_TRIES):
            order: Rows = np.concatenate([rng.permutation(len(members))[: apart * size] for _ in range(rounds)])
            drawn = [order[k * size : (k + 1) * size] for k in range(self.draws)]
            # With one class there is nothing to tell apart.
            if all(len(np.unique(labels[_rows(part, units, members)])) > 1 for part in drawn):
                break
        else:
            _exchange(drawn, labels, units, members, rng)
        parts = [_rows(part, units, members) for part in drawn]
        return [(part, np.setdiff1d(np.arange(len(labels)), part)) for part in parts]


def _rows(part: Rows, units: NDArray[np.int64], members: NDArray[np.int64]) -> Rows:
    """The rows of some units: themselves, or the positions of sequences."""
    return part if len(members) == len(units) else np.flatnonzero(np.isin(units, members[part]))


def _exchange(
    parts: list[Rows],
    labels: NDArray[np.object_],
    units: NDArray[np.int64],
    members: NDArray[np.int64],
    rng: np.random.Generator,
) -> None:
    """Exchange a unit of each part of one class for one that no part has, until there are two classes in it."""
    spare = np.setdiff1d(np.arange(len(members)), np.concatenate(parts))
    for part in parts:
        for _ in range(_TRIES if len(spare) else 0):
            if len(np.unique(labels[_rows(part, units, members)])) > 1:
                break
            at = rng.integers(len(spare))
            part[-1], spare[at] = spare[at], part[-1]


def _enough(name: str, rows: int, needed: int) -> None:
    if rows < needed:
        raise InputError(f"The data set {name!r} has {rows} usable rows; this split needs at least {needed}.")
