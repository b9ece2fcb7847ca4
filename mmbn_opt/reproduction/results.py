"""The runs of an experiment as a table: a row a run, a cell a set and method, and what is behind each cell."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from mmbn_opt.comparison.record import RunOutcome
from mmbn_opt.exceptions import InputError
from mmbn_opt.reproduction.declaration import Experiment, Published
from mmbn_opt.reproduction.measures import MEASURES
from mmbn_opt.reproduction.statistics import binomial_half, mean_half
from mmbn_opt.reproduction.trial import TrialRecord

__all__ = ["AVERAGE", "Cell", "Results"]

_TOLD = ("dataset", "method", "split", "outcome", "detail", "certificate", "n_train", "n_test", "time_limit", "seconds")
COLUMNS = (*_TOLD, *MEASURES, "chosen", "versions")
AVERAGE = "average"
_RATES = ("accuracy", "error", "train_accuracy")


@dataclass(frozen=True)
class Cell:
    """One cell of a table.

    Parameters
    ----------
    ours : float
        Mean over the runs, in the unit of the table (per cent for rates).
    half : float
        Half of the 95 % interval; NaN where it is not known.
    runs, planned : int
    paper : Published or None
    why : str
        What the difference to the paper comes from, as far as that is known.
    """

    ours: float
    half: float
    runs: int
    planned: int
    paper: Published | None
    why: str

    @property
    def difference(self) -> float:
        """Ours less the paper's; NaN without the paper's."""
        return float("nan") if self.paper is None else self.ours - self.paper.value


@dataclass(frozen=True, eq=False)
class Results:
    """What came of an experiment.

    Parameters
    ----------
    experiment : Experiment
    frame : DataFrame
        A row a run, `COLUMNS`.
    left_out : mapping of set or method to str
    planned : int
        Runs that the experiment asks for here.
    interrupted : bool
    """

    experiment: Experiment
    frame: pd.DataFrame
    left_out: Mapping[str, str]
    planned: int
    interrupted: bool = False

    @classmethod
    def of(
        cls,
        experiment: Experiment,
        records: Sequence[TrialRecord],
        left_out: Mapping[str, str],
        *,
        planned: int,
        interrupted: bool = False,
    ) -> "Results":
        """From the records of runs."""
        return cls(experiment, _frame(records), dict(left_out), planned, interrupted)

    @classmethod
    def read(cls, experiment: Experiment, path: str | Path) -> "Results":
        """From a ``results.csv`` that was written before; runs of sets and methods that are not declared are left out.

        Raises
        ------
        InputError
            If the file is none.
        """
        try:
            frame = pd.read_csv(path, dtype=dict.fromkeys(("dataset", "method", "outcome", "detail"), str))
        except (OSError, ValueError) as error:
            raise InputError(f"{str(path)!r} can't be read as results of an experiment: {error}.") from error
        absent = [name for name in COLUMNS if name not in frame]
        if absent:
            raise InputError(
                f"{str(path)!r} is no table of results of an experiment: the column {absent[0]!r} is absent."
            )
        known = frame["dataset"].isin(experiment.sets) & frame["method"].isin(list(experiment.methods))
        left_out = {**experiment.absent, **experiment.not_run}
        return cls(experiment, frame[known].reset_index(drop=True), left_out, planned=int(known.sum()))

    @property
    def answered(self) -> pd.DataFrame:
        """The runs that ended with a model."""
        return self.frame[self.frame["outcome"] == RunOutcome.ANSWERED.name]

    def values(self, measure: str | None = None) -> pd.DataFrame:
        """Mean of a measure over the splits, a row a set and a column a method; NaN where there is no run."""
        name = self.experiment.measure if measure is None else measure
        found = self.answered.pivot_table(index="dataset", columns="method", values=name, aggfunc="mean", dropna=False)
        rows = [s for s in self._sets() if s in found.index]
        columns = [m for m in self.experiment.methods if m in found.columns]
        return found.reindex(index=rows, columns=columns) * MEASURES[name].factor

    def cells(self) -> dict[tuple[str, str], Cell]:
        """The cells that have a run behind them, by set and method; the row "average" where the paper has one."""
        found = {}
        measure = MEASURES[self.experiment.measure]
        for (dataset, method), runs in self.answered.groupby(["dataset", "method"], sort=False):
            values = runs[self.experiment.measure].dropna().to_numpy(float)
            if not len(values):
                continue
            mean, half = float(values.mean()), self._half(str(dataset), runs, values)
            published = self.experiment.paper.get((str(dataset), str(method)))
            planned = self._planned(str(dataset))
            cell = Cell(measure.factor * mean, measure.factor * half, len(values), planned, published, "")
            found[str(dataset), str(method)] = Cell(
                cell.ours, cell.half, cell.runs, planned, published, self._why(str(dataset), str(method), cell)
            )
        return found | self._averages(found)

    def _averages(self, cells: Mapping[tuple[str, str], Cell]) -> dict[tuple[str, str], Cell]:
        """Means over the sets that all methods have, where the paper tells no more."""
        if not any(dataset == AVERAGE for dataset, _ in self.experiment.paper):
            return {}
        methods = list(dict.fromkeys(method for _, method in cells))
        common = [s for s in self.experiment.sets if all((s, m) in cells for m in methods)]
        reason = f"{self.experiment.why.get('*', 'open')} ({len(common)} here)"
        return {
            (AVERAGE, m): Cell(
                float(np.mean([cells[s, m].ours for s in common])), float("nan"), sum(cells[s, m].runs for s in common),
                sum(cells[s, m].planned for s in common), self.experiment.paper.get((AVERAGE, m)), reason,
            )
            for m in methods if common
        }  # fmt: skip

    def failures(self) -> list[str]:
        """A line for each run that ended without a model."""
        failed = self.frame[self.frame["outcome"] != RunOutcome.ANSWERED.name]
        return [f"{r.method} on {r.dataset}, split {r.split}: {r.outcome}: {r.detail}" for r in failed.itertuples()]

    def _sets(self) -> list[str]:
        seen = self.frame["dataset"].unique().tolist()
        return [*(s for s in self.experiment.sets if s in seen), *(s for s in seen if s not in self.experiment.sets)]

    def _planned(self, dataset: str) -> int:
        splits = self.experiment.splits
        if splits.sizes:
            every = len(splits.sizes) * splits.draws
        else:
            every = splits.draws if dataset in splits.train_rows else splits.folds
        return every if self.experiment.n_splits is None else min(every, self.experiment.n_splits)

    def _half(self, dataset: str, runs: pd.DataFrame, values: Any) -> float:
        if len(values) > 1:
            return mean_half(values)
        if self.experiment.measure in _RATES:
            return binomial_half(float(values[0]), int(runs["n_test"].iloc[0]))
        return float("nan")

    def _why(self, dataset: str, method: str, cell: Cell) -> str:
        if cell.paper is None:
            return "not in the paper"
        reach = float(np.nansum([cell.half, cell.paper.half or 0.0]))
        if abs(cell.difference) <= reach + 0.5 * 10.0 ** -MEASURES[self.experiment.measure].digits:
            return "within the intervals"
        reasons = self.experiment.why
        return (
            reasons.get(f"{dataset}/{method}")
            or reasons.get(dataset)
            or reasons.get(method)
            or reasons.get("*", "open")
        )


def _frame(records: Sequence[TrialRecord]) -> pd.DataFrame:
    rows = []
    for record in records:
        told = {name: getattr(record, name) for name in _TOLD if name != "outcome"} | {"outcome": record.outcome.name}
        numbers = {name: record.numbers.get(name) for name in MEASURES}
        chosen = "; ".join(f"{key}={value}" for key, value in record.chosen.items())
        versions = "; ".join(f"{key} {value}" for key, value in record.versions.items())
        rows.append({**told, **numbers, "chosen": chosen, "versions": versions})
    frame = pd.DataFrame(rows, columns=list(COLUMNS))
    return frame.astype(dict.fromkeys(MEASURES, float))
