"""The tests of a declaration on the runs that there are."""

from collections.abc import Iterator
from itertools import combinations

import pandas as pd

from mmbn_opt.reproduction.results import Results
from mmbn_opt.reproduction.statistics import (
    Friedman,
    friedman,
    outperforms_on_folds,
    outperforms_on_rows,
    paired_t,
    wilcoxon,
)

__all__ = ["compared", "ranks_of", "standing", "widely_run", "wins"]

_LEVELS = (0.68, 0.95)
_SMALLER_IS_BETTER = ("error", "log_loss", "calibration_error", "gap", "fit_seconds", "predict_seconds", "parameters")


def wins(results: Results) -> pd.DataFrame:
    """On how many sets the method of the row outperforms that of the column, "at 68 % / at 95 %".

    One-sided paired t-test over the folds of a set; on a set with one test part two binomials. Sets on which one of the
    two lacks a split of the other are not counted.

    Returns
    -------
    DataFrame
        Of texts.
    """
    methods = [m for m in results.experiment.methods if m in set(results.answered["method"])]
    counts = pd.DataFrame("-", index=methods, columns=methods)
    for first in methods:
        for second in (m for m in methods if m != first):
            decided = [_outperforms(results, first, second, level) for level in _LEVELS]
            counts.loc[first, second] = "/".join(str(number) for number in decided)
    return counts


def _outperforms(results: Results, first: str, second: str, level: float) -> int:
    number = 0
    for dataset, runs in results.chosen.groupby("dataset", sort=False):
        both = runs.pivot_table(index="split", columns="method", values="accuracy")
        if first not in both or second not in both:
            continue
        pairs = both[[first, second]]
        if pairs.isna().to_numpy().any():
            continue
        if results.experiment.splits.is_cross_validated(str(dataset)):
            number += len(pairs) > 1 and outperforms_on_folds(pairs[first], pairs[second], level)
        else:
            n = int(runs["n_test"].iloc[0])
            number += outperforms_on_rows(float(pairs[first].iloc[0]), float(pairs[second].iloc[0]), n, level)
    return number


def compared(results: Results, test: str) -> Iterator[str]:
    """A line for each pair of methods: the signed-rank test, or the paired t-test, over the sets that both have.

    Parameters
    ----------
    results : Results
    test : {"wilcoxon", "paired-t"}
    """
    table = results.values()
    sign = -1.0 if results.experiment.measure in _SMALLER_IS_BETTER else 1.0
    for first, second in combinations(table.columns, 2):
        both = table[[first, second]].dropna()
        if len(both) < 2:
            yield f"{first} against {second}: only {len(both)} data sets have both"
            continue
        a, b = sign * both[first].to_numpy(float), sign * both[second].to_numpy(float)
        if test == "wilcoxon":
            ranks = wilcoxon(a, b)
            yield (
                f"{first} against {second}: ranks {ranks.for_first:g} and {ranks.for_second:g}, "
                f"p = {ranks.p_value:.3g} ({len(both)} sets)"
            )
        else:
            found = paired_t(a, b)
            ahead = {0: "neither", 1: first, 2: second}[found.ahead]
            yield f"{first} against {second}: {ahead} is ahead, p = {found.p_value:.3g} ({len(both)} sets)"


def ranks_of(results: Results) -> Friedman | None:
    """Friedman's test on the sets that all methods of `widely_run` have; None with fewer than two of these."""
    table = widely_run(results.values()).dropna()
    if table.shape[0] < 2 or table.shape[1] < 2:
        return None
    return friedman(table, larger_is_better=results.experiment.measure not in _SMALLER_IS_BETTER)


def widely_run(table: pd.DataFrame) -> pd.DataFrame:
    """The columns with at least half as many rows as that with most, so that one that was begun leaves rows to compare.

    Examples
    --------
    >>> rates = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": [1.0, 2.0, None], "c": [None, None, 3.0]})
    >>> list(widely_run(rates))
    ['a', 'b']
    """
    rows = table.notna().sum()
    kept: pd.DataFrame = table.loc[:, (rows > 0) & (2 * rows >= rows.max())]
    return kept


def standing(found: Friedman) -> list[str]:
    """What Friedman's test says, in lines."""
    told = [f"{name} {rank:.2f}" for name, rank in found.ranks.items()]
    groups = [", ".join(group) if len(group) <= 3 else f"{group[0]} to {group[-1]}" for group in found.groups]
    return [
        f"mean ranks on {found.sets} sets: {', '.join(told)}",
        f"Friedman p = {found.p_value:.3g}; ranks closer than {found.critical_difference:.2f} (Nemenyi, 95 %) are not "
        f"told apart: {'; '.join(groups) or 'none'} (in the order of the ranks)",
    ]
