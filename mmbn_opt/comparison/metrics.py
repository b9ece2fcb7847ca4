"""Figures of one run and of many: time to a gap, primal integral, shifted geometric mean, performance profile."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from mmbn_opt.exceptions import InputError
from mmbn_opt.results.bounds import ObjectiveBounds
from mmbn_opt.results.trace import BoundTrace
from mmbn_opt.solvers.ending import Tolerances

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "PerformanceProfile",
    "primal_integral",
    "profile_of",
    "seconds_to_gap",
    "seconds_to_objective",
    "shifted_geometric_mean",
]

SMALLEST_SECONDS = 0.01
"""Shorter times are taken as this long in ratios: below it a ratio says more about the clock than about a solver."""


def seconds_to_gap(trace: BoundTrace, rel_gap: float, abs_gap: float = 0.0) -> float:
    """Seconds after which the gap stayed within either tolerance; NaN if it never was.

    Examples
    --------
    >>> from mmbn_opt.results import Sense, TraceRecord
    >>> bounds = [(0.0, 120.0), (1.0, 91.0), (4.0, 90.0)]
    >>> trace = BoundTrace(
    ...     Sense.MAXIMIZE, tuple(TraceRecord(t, 90.0, d, None, None, "bound", "x") for t, d in bounds))
    >>> [seconds_to_gap(trace, gap) for gap in (0.5, 0.02, 0.0)]
    [0.0, 1.0, 4.0]
    """
    tolerances = Tolerances(rel_gap, abs_gap, scale=0.0)
    for record in trace:
        if tolerances.leave_nothing(ObjectiveBounds(trace.sense, record.primal_bound, record.dual_bound)):
            return record.time_sec
    return math.nan


def seconds_to_objective(trace: BoundTrace, best: float | None, rel_distance: float) -> float:
    """Seconds after which the incumbent was within a relative distance of `best`; NaN if it never was."""
    for record in trace:
        if best is None or record.primal_bound is None:
            continue
        if abs(record.primal_bound - best) <= rel_distance * max(abs(best), abs(record.primal_bound)):
            return record.time_sec
    return math.nan


def primal_integral(trace: BoundTrace, best: float | None, horizon: float | None) -> float:
    """Time-average of the incumbent's relative gap to `best` from 0 to `horizon` seconds (Berthold 2013).

    After the run has ended its last incumbent counts on, so that runs of different length can be compared.
    """
    if best is None or not trace.records:
        return 1.0
    last = trace.records[-1]
    if horizon is not None and horizon > last.time_sec:
        trace = BoundTrace(trace.sense, (*trace.records, replace(last, time_sec=horizon)))
    return trace.primal_integral(best)


def shifted_geometric_mean(values: Iterable[float], shift: float = 1.0) -> float:
    """``exp(mean(log(v + shift))) - shift``, which neither the largest nor the smallest values decide alone.

    Examples
    --------
    >>> round(shifted_geometric_mean([0.0, 3.0], shift=1.0), 6)
    1.0
    """
    taken = np.asarray([v for v in values if not math.isnan(v)], dtype=np.float64)
    return float(np.exp(np.log(taken + shift).mean()) - shift) if taken.size else math.nan


@dataclass(frozen=True, eq=False)
class PerformanceProfile:
    """Share of problems that a solver does within a factor of the best solver's time (Dolan & More 2002).

    Parameters
    ----------
    measure : str
        Column of the comparison that is compared, in seconds.
    n_problems : int
        Pairs of formulation and seed.
    ratios : mapping of str to tuple of float
        For each solver the finite ratios to the best, sorted.

    References
    ----------
    .. [1] E. D. Dolan and J. J. More, "Benchmarking optimization software with performance profiles", Mathematical
       Programming 91 (2002).
    """

    measure: str
    n_problems: Mapping[str, int]
    ratios: Mapping[str, tuple[float, ...]]

    def share(self, solver: str, factor: float) -> float:
        """Share of its problems that `solver` does within `factor` times the best time."""
        return sum(r <= factor for r in self.ratios[solver]) / self.n_problems[solver]

    def to_frame(self) -> "pd.DataFrame":
        """One row a factor at which something changes, one column a solver."""
        import pandas as pd

        factors = sorted({1.0, *(r for ratios in self.ratios.values() for r in ratios)})
        rows = {solver: [self.share(solver, factor) for factor in factors] for solver in self.ratios}
        return pd.DataFrame(rows, index=pd.Index(factors, name="factor"))

    def plot(self, ax: Any = None) -> Any:
        """Draw with matplotlib (extra ``plot``); returns the Axes."""
        from mmbn_opt.display.comparison_plots import plot_profile

        return plot_profile(self.ratios, self.n_problems, ax=ax)

    def _repr_html_(self) -> str:
        from mmbn_opt.display.comparison_curves import profile_svg

        return profile_svg(self.ratios, self.n_problems, standalone=True)


def profile_of(times: "pd.DataFrame", measure: str) -> PerformanceProfile:
    """Profile of a table of seconds.

    Parameters
    ----------
    times : DataFrame
        Columns ``problem, solver, seconds``, one row a run; NaN where it did not get there.
    measure : str

    Examples
    --------
    >>> import pandas as pd
    >>> times = pd.DataFrame({
    ...     "problem": ["p", "q", "r"] * 2, "solver": ["a"] * 3 + ["b"] * 3,
    ...     "seconds": [1.0, 2.0, float("nan"), 2.0, 1.0, 5.0]})
    >>> profile = profile_of(times, "seconds")
    >>> [round(profile.share(s, f), 2) for s in ("a", "b") for f in (1.0, 2.0)]
    [0.33, 0.67, 0.67, 1.0]
    """
    if not len(times):
        raise InputError("There are no runs to draw a profile of.")
    seconds = times["seconds"].clip(lower=SMALLEST_SECONDS)
    ratios = seconds / seconds.groupby(times["problem"]).transform("min")
    return PerformanceProfile(
        measure,
        {str(solver): len(part) for solver, part in times.groupby("solver", sort=False)},
        {
            str(solver): tuple(sorted(map(float, part.dropna())))
            for solver, part in ratios.groupby(times["solver"], sort=False)
        },
    )
