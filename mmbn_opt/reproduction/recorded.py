"""Runs that were kept: which of them are behind the cells of an experiment."""

from dataclasses import replace
from pathlib import Path

import pandas as pd

from mmbn_opt.reproduction.catalogue import load_experiment
from mmbn_opt.reproduction.declaration import Experiment
from mmbn_opt.reproduction.results import Results

__all__ = ["recorded_results"]


def recorded_results(experiment: Experiment, folder: str | Path) -> Results | None:
    """The kept runs of an experiment, and those of the declarations that it leans on; None where there are none.

    A run of another declaration counts where its method has the same kind and settings, its rows are split in the same
    way, both are timed or neither, and cells that are taken out of held-out rows are the same ones.

    Parameters
    ----------
    experiment : Experiment
    folder : path
        With a ``NAME.csv`` an experiment, as `write_results` writes ``results.csv``.

    Raises
    ------
    InputError
        If a file there is no table of results.
    """
    frames: list[pd.DataFrame] = []
    found: dict[str, set[str]] = {label: set() for label in experiment.methods}
    source: Experiment | None = experiment
    while source is not None:
        path = Path(folder) / f"{source.name}.csv"
        alike = replace(source.splits, train_rows={}) == replace(experiment.splits, train_rows={})
        alike &= source.missing == experiment.missing and source.is_timed == experiment.is_timed
        if experiment.removed:  # whole rows tell nothing of rows without a share of their cells
            alike &= (source.removed, source.patterns) == (experiment.removed, experiment.patterns)
        if path.is_file() and alike:
            rows, ours = source.splits.train_rows, experiment.splits.train_rows
            split_alike = [name for name in experiment.sets if rows.get(name) == ours.get(name)]
            runs = Results.read(source, path).frame
            for label, method in experiment.methods.items():
                same = [name for name, other in source.methods.items() if other == method]
                if same:  # runs of the nearest declaration that has any of a set
                    part = runs[(runs["method"] == same[0]) & runs["dataset"].isin(set(split_alike) - found[label])]
                    frames += [part.assign(method=label)] if len(part) else []
                    found[label] |= set(part["dataset"])
        source = None if source.like is None else load_experiment(source.like)
    if not frames:
        return None
    frame = pd.concat(frames, ignore_index=True)
    left_out = {**experiment.absent, **experiment.not_run}
    return replace(Results.of(experiment, [], left_out, planned=len(frame)), frame=frame)
