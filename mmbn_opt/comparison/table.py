"""What a comparison returns: a tidy table, one row a run, that can also draw and report itself."""

import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pandas as pd

from mmbn_opt._arguments import listed
from mmbn_opt.comparison.judgement import COLUMNS, judge, table_row
from mmbn_opt.comparison.metrics import PerformanceProfile, profile_of, shifted_geometric_mean
from mmbn_opt.comparison.plan import LeftOut
from mmbn_opt.comparison.record import RunRecord
from mmbn_opt.comparison.store import run_file_name
from mmbn_opt.exceptions import InputError
from mmbn_opt.interop.atomic import ensure_directory, write_text_atomic
from mmbn_opt.interop.csv_text import csv_content
from mmbn_opt.interop.run_folder import RunFolder

__all__ = ["Comparison"]

_SECONDS = ("sec_to_proof", "sec_to_gap_1e-2", "sec_to_gap_1e-3", "sec_to_best", "first_incumbent_sec")
_OPTIONAL_WHOLE = ("columns", "integers", "rows", "nonzeros")


class Comparison(pd.DataFrame):
    """Runs of several solvers on several formulations: a `pandas.DataFrame` with one row a run.

    Selections and computations give plain data frames.

    Parameters
    ----------
    runs : iterable of RunRecord
    left_out : iterable of LeftOut
        Pairs of formulation and solver that were not run, with the reason.
    interrupted : bool
        Whether runs are missing because of Ctrl-C.

    Attributes
    ----------
    runs : tuple of RunRecord
        In the order of the rows; each has its `BoundTrace`.
    left_out : tuple of LeftOut
    interrupted : bool

    Notes
    -----
    Columns: ``formulation, solver, seed``; ``status`` (the solver's termination status, or CRASHED, HUNG,
    OUT_OF_MEMORY, RAISED, REFUSED); ``solved`` (ended by its own criterion, and claim, bound and certificate stand);
    ``primal_bound`` (recomputed from the data), ``dual_bound``, ``gap_rel``; ``first_incumbent_sec`` (the trivial start
    counts), ``sec_to_best`` (until the best objective of all runs on the problem was reached), ``sec_to_gap_1e-2``,
    ``sec_to_gap_1e-3``, ``sec_to_proof`` (seconds, NaN where it was not reached); ``primal_integral`` (mean relative
    distance to the best known objective over the whole time limit); ``seconds``, ``peak_memory_mb`` (of the whole
    process, interpreter included); ``claim_ok`` (the solver's own objective is the one that we compute for its
    vector), ``bound_ok`` (no verified incumbent of any run is better than the dual bound), ``certificate_ok``;
    versions, machine, and ``key``.
    """

    _metadata = ["runs", "left_out", "interrupted"]  # noqa: RUF012 -- pandas reads this name

    runs: tuple[RunRecord, ...]
    left_out: tuple[LeftOut, ...]
    interrupted: bool

    def __init__(
        self, runs: Iterable[RunRecord], left_out: Iterable[LeftOut] = (), *, interrupted: bool = False
    ) -> None:
        listed = tuple(runs)
        rows = [table_row(run, judgement) for run, judgement in zip(listed, judge(listed), strict=True)]
        frame = pd.DataFrame(rows, columns=list(COLUMNS)).astype(
            dict.fromkeys(("solved", "claim_ok", "bound_ok"), bool)
            | dict.fromkeys(_OPTIONAL_WHOLE, "Int64")
            | {"certificate_ok": "boolean", "seed": int}
        )
        super().__init__(frame)  # type: ignore[call-arg]  # the stubs know only __new__
        self.runs = listed
        self.left_out = tuple(left_out)
        self.interrupted = interrupted

    @property
    def _constructor(self) -> type[pd.DataFrame]:
        return pd.DataFrame

    @property
    def flagged(self) -> pd.DataFrame:
        """Rows whose claim, bound or certificate was found wrong."""
        wrong = ~self["claim_ok"] | ~self["bound_ok"] | ~self["certificate_ok"].fillna(True).astype(bool)
        return pd.DataFrame(self[wrong])

    def summary(self, shift: float = 1.0) -> pd.DataFrame:
        """One row a solver: what it solved, and shifted geometric means.

        Parameters
        ----------
        shift : float
            Seconds added before the mean; unsolved runs count with their time limit (or the time that they took).

        Returns
        -------
        DataFrame
            ``runs, solved, flagged, failed, sec_to_proof, primal_integral, gap_rel, peak_memory_mb`` by solver. The
            gap's mean leaves out runs without a bound; the primal integral's shift is 0.001.
        """
        rows = {}
        wrong = set(self.flagged.index)
        for solver, part in self.groupby("solver", sort=False):
            limits = part["time_limit"].fillna(part["seconds"])
            times = part["sec_to_proof"].fillna(part["seconds"].where(part["solved"], limits))
            gaps = part["gap_rel"][part["gap_rel"] < math.inf]
            rows[solver] = {
                "runs": len(part),
                "solved": int(part["solved"].sum()),
                "flagged": len(wrong & set(part.index)),
                "failed": sum(self.runs[i].status is None for i in part.index),
                "sec_to_proof": shifted_geometric_mean(times, shift),
                "primal_integral": shifted_geometric_mean(part["primal_integral"], 1e-3),
                "gap_rel": float(gaps.mean()) if len(gaps) else math.nan,
                "peak_memory_mb": float(part["peak_memory_mb"].max()),
            }
        return pd.DataFrame.from_dict(rows, orient="index").rename_axis("solver")

    def performance_profile(
        self, measure: str = "sec_to_proof", *, formulations: Iterable[str] | None = None
    ) -> PerformanceProfile:
        """Dolan and More's performance profile over pairs of formulation and seed.

        Each solver is measured on the problems that it was run on. Where solvers of different kinds share a table,
        name the formulations of one kind, so that all are measured on the same.

        Parameters
        ----------
        measure : {"sec_to_proof", "sec_to_gap_1e-2", "sec_to_gap_1e-3", "sec_to_best", "first_incumbent_sec"}
        formulations : iterable of str or None
            Labels; None takes all.

        Returns
        -------
        PerformanceProfile
            With ``to_frame()`` and ``plot()``; notebooks show the drawing.
        """
        if measure not in _SECONDS:
            raise InputError(f"measure must be one of {', '.join(_SECONDS)}, got {measure!r}.")
        part = pd.DataFrame(self)
        if formulations is not None:
            wanted = list(formulations)
            unknown = sorted(set(wanted) - set(part["formulation"]))
            if unknown:
                raise InputError(
                    f"unknown formulations {unknown}; the table holds [{listed(sorted(set(part['formulation'])))}]."
                )
            part = part[part["formulation"].isin(wanted)]
        problems = [f"{label} {seed}" for label, seed in zip(part["formulation"], part["seed"], strict=True)]
        times = pd.DataFrame({"problem": problems, "solver": list(part["solver"]), "seconds": list(part[measure])})
        return profile_of(times, measure)

    def plot_traces(self, axes: Any = None) -> Any:
        """Gap over time, one drawing a formulation, with matplotlib (extra ``plot``); returns the array of Axes."""
        from mmbn_opt.display.comparison_plots import plot_gaps

        return plot_gaps([(run.formulation, run.solver, run.trace) for run in self.runs], axes=axes)

    def report_html(self, title: str = "Comparison of solvers", command: str | None = None) -> str:
        """One HTML page: summary, profile, gap over time, all runs; it opens without network."""
        from mmbn_opt.display.comparison_report import render_comparison

        return render_comparison(
            pd.DataFrame(self),
            traces=[(run.formulation, run.solver, run.trace) for run in self.runs],
            summary=self.summary(),
            profiles=[self.performance_profile(formulations=group) for group in self._kinds()],
            left_out=[(pair.formulation, pair.solver, pair.reason) for pair in self.left_out],
            title=title,
            command=command,
        )

    def _kinds(self) -> list[list[str]]:
        """Formulations in groups whose solvers overlap: each group can be compared within itself."""
        groups: list[tuple[list[str], set[str]]] = []
        for label, part in self.groupby("formulation", sort=False):
            joined, solvers = [str(label)], set(part["solver"])
            for group in [group for group in groups if group[1] & solvers]:
                groups.remove(group)
                joined, solvers = group[0] + joined, group[1] | solvers
            groups.append((joined, solvers))
        return [labels for labels, _ in groups]

    def write(
        self,
        folder: str | Path | RunFolder,
        *,
        title: str = "Comparison of solvers",
        command: str | None = None,
        spreadsheet: bool = False,
    ) -> Path:
        """Write ``results.csv`` and ``report.html``, both or none, and one JSON file a run under ``runs``.

        With `spreadsheet`, no text in ``results.csv`` is taken for a formula; `mmbn_opt.interop.from_spreadsheet`
        brings the texts back.

        Raises
        ------
        InputError
            If the folder cannot be written, or another run is writing it.
        """
        if not isinstance(folder, RunFolder):
            with RunFolder(folder, command or "") as held:
                return self.write(held, title=title, command=command, spreadsheet=spreadsheet)
        kept = ensure_directory(folder.path / "runs")
        for run in self.runs:
            path = kept / run_file_name(run)
            if not path.exists():
                write_text_atomic(path, run.to_json())
        table = csv_content(pd.DataFrame(self), spreadsheet=spreadsheet)
        folder.publish({"results.csv": table, "report.html": self.report_html(title, command).encode()})
        return folder.path
