"""Which runs stand behind a row of a table: those of a set, of a size, without a share of the cells; as chosen."""

from collections.abc import Iterator

import pandas as pd

from mmbn_opt.reproduction.declaration import Column, Experiment
from mmbn_opt.reproduction.measures import rate_without

__all__ = ["chosen_runs", "row_name", "rows_of"]


def row_name(dataset: str, within: str) -> str:
    """What a row of a set is called in a table, and in the declaration.

    Examples
    --------
    >>> row_name("chains", "20")
    'chains/20'
    """
    return f"{dataset}/{within}"


def rows_of(experiment: Experiment, runs: pd.DataFrame, column: Column) -> Iterator[tuple[str, str, pd.DataFrame, str]]:
    """(row, set, runs, name of the number) of each row that a column has runs for."""
    of_method = runs[runs["method"] == column.method]
    for name, part in of_method.groupby("dataset", sort=False):
        dataset = str(name)
        if experiment.removed:
            yield from (
                (row_name(dataset, f"{100 * share:g}%"), dataset, part, rate_without(share))
                for share in experiment.removed
                if rate_without(share) in part
            )
        elif experiment.splits.apart:
            sizes = part["split"].map(experiment.splits.size_of)
            for size in sorted(sizes.unique()):
                yield row_name(dataset, str(size)), dataset, part[sizes == size], column.measure
        else:
            yield dataset, dataset, part, column.measure


def chosen_runs(experiment: Experiment, runs: pd.DataFrame) -> pd.DataFrame:
    """The runs of each method with the settings that its held-out rows chose; of other methods, all.

    A choice is made for each set, and where sizes lie apart for each size, by the mean accuracy over the splits; only
    settings with as many splits as any other count, so that an unfinished one is no favourite.
    """
    kept = []
    for method, part in runs.groupby("method", sort=False):
        on = experiment.methods[str(method)].chosen_on
        if on == "training rows":
            kept.append(part)
            continue
        by = ["dataset"]
        if experiment.splits.apart:
            part = part.assign(_size=part["split"].map(experiment.splits.size_of))
            by.append("_size")
        for _, group in part.groupby(by, sort=False):
            looked = group[group["split"] == group["split"].min()] if on == "first split" else group
            rates = looked.groupby("chosen", sort=False)["accuracy"].agg(["mean", "size"])
            complete = rates[rates["size"] == rates["size"].max()]
            kept.append(group[group["chosen"] == complete["mean"].idxmax()].drop(columns="_size", errors="ignore"))
    return pd.concat(kept).sort_index() if kept else runs
