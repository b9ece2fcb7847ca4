"""The tests that the papers use: intervals, paired tests, counts of wins, ranks over data sets."""

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from mmbn_opt._arguments import checked_number
from mmbn_opt.exceptions import InputError

__all__ = [
    "Friedman", "PairedT", "Wilcoxon", "binomial_half", "friedman", "mean_half", "outperforms_on_folds",
    "outperforms_on_rows", "paired_t", "wilcoxon",
]  # fmt: skip

LEVEL = 0.95


def binomial_half(rate: float, n: int, level: float = LEVEL) -> float:
    """Half of the interval of a rate on `n` test rows, by the normal distribution (Mitchell 1997, eq. 5.1).

    Examples
    --------
    >>> round(100 * binomial_half(0.8734, 1066), 2)  # naive Bayes on chess, Peharz & Pernkopf 2012, Table 2
    2.0
    """
    _share(rate)
    _level(level)
    return float(stats.norm.ppf((1 + level) / 2) * math.sqrt(rate * (1 - rate) / n))


def mean_half(values: ArrayLike, level: float = LEVEL) -> float:
    """Half of Student's interval of the mean of some folds; NaN for a single one.

    Examples
    --------
    >>> round(mean_half([0.9, 0.95, 1.0]), 4)
    0.1242
    """
    _level(level)
    found = np.asarray(values, float)
    if len(found) < 2:
        return math.nan
    return float(stats.t.ppf((1 + level) / 2, len(found) - 1) * found.std(ddof=1) / math.sqrt(len(found)))


@dataclass(frozen=True)
class Wilcoxon:
    """Signed-rank test of two methods over data sets.

    Parameters
    ----------
    for_first, for_second : float
        Sums of the ranks of the sets on which the first (the second) is ahead; that of ties is shared.
    p_value : float
        Two-sided. 1 where all sets are ties.
    """

    for_first: float
    for_second: float
    p_value: float


def wilcoxon(first: ArrayLike, second: ArrayLike) -> Wilcoxon:
    """Wilcoxon's signed-rank test as in Demšar 2006: ties are split evenly between the two.

    Raises
    ------
    InputError
        If the two have not one value a data set, or none.

    Examples
    --------
    >>> wilcoxon([0.9, 0.8, 0.7, 0.6], [0.8, 0.75, 0.72, 0.6])
    Wilcoxon(for_first=7.5, for_second=2.5, p_value=0.5)
    """
    a, b = _pairs(first, second)
    # Rounded: 0.9 - 0.8 and 0.8 - 0.7 are the same difference.
    difference = np.round(a - b, 10)
    ranks = stats.rankdata(np.abs(difference))
    shared = float(ranks[difference == 0].sum()) / 2
    up, down = float(ranks[difference > 0].sum()), float(ranks[difference < 0].sum())
    moved = difference[difference != 0]
    p = float(stats.wilcoxon(moved, zero_method="wilcox").pvalue) if len(moved) else 1.0
    return Wilcoxon(up + shared, down + shared, p)


@dataclass(frozen=True)
class PairedT:
    """One-sided paired t-test over data sets or folds.

    Parameters
    ----------
    ahead : {1, 2, 0}
        Which one has the larger mean; 0 where they are equal.
    p_value : float
        That the one ahead is no better.
    """

    ahead: int
    p_value: float


def paired_t(first: ArrayLike, second: ArrayLike) -> PairedT:
    """One-sided paired t-test, in the direction of the larger mean.

    Examples
    --------
    >>> found = paired_t([0.9, 0.8, 0.85], [0.8, 0.75, 0.7])
    >>> found.ahead, round(found.p_value, 4)
    (1, 0.0371)
    """
    a, b = _pairs(first, second)
    difference = np.round(a - b, 12)
    mean, spread = float(difference.mean()), float(difference.std(ddof=1)) if len(difference) > 1 else math.nan
    ahead = 0 if mean == 0 else 1 if mean > 0 else 2
    if ahead == 0 or len(difference) < 2:
        return PairedT(ahead, 0.5)
    if spread <= 1e-12 * abs(mean):  # the same difference everywhere
        return PairedT(ahead, 0.0)
    return PairedT(ahead, float(stats.t.sf(abs(mean) * math.sqrt(len(difference)) / spread, len(difference) - 1)))


def outperforms_on_folds(first: ArrayLike, second: ArrayLike, level: float) -> bool:
    """Whether the first is ahead on the folds of a set at this level, by the one-sided paired t-test.

    Examples
    --------
    >>> outperforms_on_folds([0.9, 0.8, 0.85], [0.8, 0.75, 0.7], 0.95)
    True
    """
    _level(level)
    found = paired_t(first, second)
    return found.ahead == 1 and found.p_value <= 1 - level


def outperforms_on_rows(first: float, second: float, n: int, level: float) -> bool:
    """Whether a rate is above another on `n` test rows at this level: one-sided, two binomials (Mitchell 1997, 5.5).

    Examples
    --------
    >>> outperforms_on_rows(0.9550, 0.8734, 1066, 0.95), outperforms_on_rows(0.88, 0.8734, 1066, 0.95)
    (True, False)
    """
    for rate in (first, second):
        _share(rate)
    _level(level)
    spread = math.sqrt((first * (1 - first) + second * (1 - second)) / n)
    return first > second and bool(first - second >= stats.norm.ppf(level) * spread)


@dataclass(frozen=True, eq=False)
class Friedman:
    """Friedman's test over data sets, and how far mean ranks must lie apart (Nemenyi).

    Parameters
    ----------
    ranks : Series
        Mean rank of each method, the best first; 1 is the best.
    p_value : float
        That all methods are alike.
    critical_difference : float
        At 95 %.
    sets : int
    """

    ranks: "pd.Series[float]"
    p_value: float
    critical_difference: float
    sets: int

    @property
    def groups(self) -> list[tuple[str, ...]]:
        """Methods that are not told apart, from the best on; a group within another is left out."""
        names, values = [str(name) for name in self.ranks.index], self.ranks.to_numpy()
        found: list[tuple[str, ...]] = []
        last = -1
        for k in range(len(names)):
            end = int(np.flatnonzero(values <= values[k] + self.critical_difference)[-1])
            if end > max(last, k):
                found.append(tuple(names[k : end + 1]))
            last = max(last, end)
        return found


def friedman(table: pd.DataFrame, *, larger_is_better: bool = True) -> Friedman:
    """Ranks of methods (columns) over data sets (rows); a set that some method lacks is left out.

    Raises
    ------
    InputError
        With fewer than two methods or two complete sets.

    Examples
    --------
    >>> rates = pd.DataFrame({"a": [0.9, 0.8, 0.7, 0.95], "b": [0.8, 0.7, 0.6, 0.9], "c": [0.7, 0.75, 0.5, 0.8]})
    >>> found = friedman(rates)
    >>> found.ranks.to_dict(), round(found.critical_difference, 2), found.groups
    ({'a': 1.0, 'b': 2.25, 'c': 2.75}, 1.66, [('a', 'b'), ('b', 'c')])
    """
    complete = table.dropna()
    sets, methods = complete.shape
    if methods < 2 or sets < 2:
        raise InputError(f"ranks need two methods and two data sets that have both, got {methods} and {sets}.")
    values = np.round(complete.to_numpy(float), 10) * (-1.0 if larger_is_better else 1.0)
    ranks = np.apply_along_axis(stats.rankdata, 1, values)
    mean = pd.Series(ranks.mean(axis=0), index=complete.columns).sort_values(kind="stable")
    if methods == 2:  # Friedman's statistic needs three; with two it is the sign test
        first = int((ranks[:, 0] < ranks[:, 1]).sum())
        second = int((ranks[:, 0] > ranks[:, 1]).sum())
        p = float(stats.binomtest(first, first + second).pvalue) if first + second else 1.0
    elif np.ptp(ranks) == 0:
        p = 1.0
    else:
        p = float(stats.friedmanchisquare(*values.T).pvalue)
    quantile = float(stats.studentized_range.ppf(LEVEL, methods, np.inf)) / math.sqrt(2)
    return Friedman(mean, p, quantile * math.sqrt(methods * (methods + 1) / (6 * sets)), sets)


def _pairs(first: ArrayLike, second: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    a, b = np.asarray(first, float), np.asarray(second, float)
    if a.shape != b.shape or a.ndim != 1 or not len(a):
        raise InputError(f"a paired test needs one value of each a set, got shapes {a.shape} and {b.shape}.")
    return a, b


def _share(rate: float) -> None:
    checked_number("rate", rate, 0.0, 1.0)


def _level(level: float) -> None:
    checked_number("level", level, 0.0, 1.0, open_low=True, open_high=True)
