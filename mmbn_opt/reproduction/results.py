"""The runs of an experiment as a table: a row a run, a cell a set and method, and what is behind each cell."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from mmbn_opt.comparison.record import RunOutcome
from mmbn_opt.exceptions import InputError
from mmbn_opt.reproduction.declaration import Experiment, Published
from mmbn_opt.reproduction.measures import MEASURES
from mmbn_opt.reproduction.rows import chosen_runs, rows_of
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
        absent = [name for name in (*_TOLD, "chosen", "versions") if name not in frame]
        if absent:
            raise InputError(
                f"{str(path)!r} is no table of results of an experiment: the column {absent[0]!r} is absent."
            )
        known = frame["dataset"].isin(experiment.sets) & frame["method"].isin(list(experiment.methods))
        left_out = {**experiment.absent, **experiment.not_run}
        # Runs that were kept before a measure was thought of have none, or have it among their choices.
        whole = _with_choices(frame.reindex(columns=list(dict.fromkeys([*COLUMNS, *frame.columns]))))
        return cls(experiment, whole[known].reset_index(drop=True), left_out, planned=int(known.sum()))

    @property
    def answered(self) -> pd.DataFrame:
        """The runs that ended with a model."""
        return self.frame[self.frame["outcome"] == RunOutcome.ANSWERED.name]

    @cached_property
    def chosen(self) -> pd.DataFrame:
        """Those of them that a table shows: where held-out rows choose, the runs with the settings chosen."""
        return chosen_runs(self.experiment, self.answered)

    def values(self) -> pd.DataFrame:
        """The cells without the paper's: a row of the table a row, a column a column; NaN where there is no run."""
        cells = {at: cell.ours for at, cell in self.cells().items() if at[0] != AVERAGE}
        found = pd.Series(cells, dtype=float)
        found.index = pd.MultiIndex.from_tuples(list(cells), names=["dataset", "method"])
        columns = [name for name in self.experiment.shown if any(at[1] == name for at in cells)]
        rows = list(dict.fromkeys(at[0] for at in self._in_order(cells)))
        return found.unstack("method").reindex(index=rows, columns=columns)

    def cells(self) -> dict[tuple[str, str], Cell]:
        """The cells that have a run behind them, by row and column; the row "average" where the paper has one."""
        found = {}
        for label, column in self.experiment.shown.items():
            measure = MEASURES[column.measure]
            for row, dataset, runs, name in rows_of(self.experiment, self.chosen, column):
                values = runs[name].dropna().to_numpy(float)
                if not len(values):
                    continue
                middle = float(np.median(values)) if measure.chosen else float(values.mean())
                half = float("nan") if measure.chosen else self._half(column.measure, runs, values)
                found[row, label] = Cell(
                    measure.factor * middle, measure.factor * half, len(values), self._planned(dataset),
                    self.experiment.paper.get((row, label)), "",
                )  # fmt: skip
        return self._explained(self._averages(self._related(found)))

    def _related(self, cells: dict[tuple[str, str], Cell]) -> dict[tuple[str, str], Cell]:
        """In per cent of the column that all are told by, where there is one."""
        base = self.experiment.relative_to
        if base is None:
            return cells
        return {
            (row, label): replace(cell, ours=100.0 * cell.ours / cells[row, base].ours, half=float("nan"))
            for (row, label), cell in cells.items()
            if (row, base) in cells and cells[row, base].ours > 0
        }

    def _explained(self, cells: dict[tuple[str, str], Cell]) -> dict[tuple[str, str], Cell]:
        return {
            at: replace(cell, why=self._why(*at, cell)) if at[0] != AVERAGE else cell
            for at, cell in self._in_order(cells).items()
        }

    def _in_order(self, cells: dict[tuple[str, str], Any]) -> dict[tuple[str, str], Any]:
        """Sets as they are declared, the rows of each as they came, then columns as they are declared."""
        sets = [*self._sets(), AVERAGE]
        rows = list(dict.fromkeys(row for row, _ in cells))
        rows.sort(key=lambda row: sets.index(row if row in sets else row.rpartition("/")[0]))
        return {
            (row, label): cells[row, label] for row in rows for label in self.experiment.shown if (row, label) in cells
        }

    def _averages(self, cells: dict[tuple[str, str], Cell]) -> dict[tuple[str, str], Cell]:
        """Means over the sets that all columns have, where the paper tells no more of them."""
        told = {dataset for dataset, _ in self.experiment.paper}
        if AVERAGE not in told:
            return cells
        methods = list(dict.fromkeys(method for _, method in cells))
        common = [s for s in self.experiment.sets if s not in told and all((s, m) in cells for m in methods)]
        reason = f"{self.experiment.why.get('*', 'open')} ({len(common)} sets here)"
        return cells | {
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
            every = splits.draws * (1 if splits.apart else len(splits.sizes))
        else:
            every = splits.draws_of(dataset) if dataset in splits.train_rows else splits.folds
        return every if self.experiment.n_splits is None else min(every, self.experiment.n_splits)

    def _half(self, measure: str, runs: pd.DataFrame, values: Any) -> float:
        if len(values) > 1:
            return mean_half(values)
        if measure in _RATES:
            return binomial_half(float(values[0]), int(runs["n_test"].iloc[0]))
        return float("nan")

    def digits(self, label: str) -> int:
        """Digits of the numbers of a column."""
        return MEASURES[self.experiment.shown[label].measure].digits

    def _why(self, dataset: str, method: str, cell: Cell) -> str:
        if cell.paper is None:
            return "in the paper's average" if (AVERAGE, method) in self.experiment.paper else "not in the paper"
        reach = float(np.nansum([cell.half, cell.paper.half or 0.0]))
        if abs(cell.difference) <= reach + 0.5 * 10.0 ** -self.digits(method):
            return "within the intervals"
        reasons = self.experiment.why
        return (
            reasons.get(f"{dataset}/{method}")
            or reasons.get(dataset)
            or reasons.get(dataset.rpartition("/")[0])
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
        rows.append({**told, **record.numbers, **numbers, "chosen": chosen, "versions": versions})
    others = sorted({name for record in records for name in record.numbers} - set(MEASURES))
    frame = pd.DataFrame(rows, columns=[*COLUMNS, *others])
    return _with_choices(frame.astype(dict.fromkeys([*MEASURES, *others], float)))


def _with_choices(frame: pd.DataFrame) -> pd.DataFrame:
    """Measures that are settings, as numbers."""
    for name, measure in MEASURES.items():
        if measure.chosen:
            told = frame["chosen"].astype("string").str.extract(rf"(?:^|; )(?:{'|'.join(measure.chosen)})=([^;]+)")[0]
            frame[name] = pd.to_numeric(told, errors="coerce").astype(float)
    return frame
