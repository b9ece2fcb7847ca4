"""Runs held against each other: what counts as solved, whose bound another run's incumbent contradicts."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mmbn_opt.comparison.metrics import primal_integral, seconds_to_gap, seconds_to_objective
from mmbn_opt.comparison.record import RunRecord
from mmbn_opt.results.bounds import ObjectiveBounds
from mmbn_opt.results.status import TerminationStatus
from mmbn_opt.solvers.ending import Tolerances

__all__ = ["COLUMNS", "GAPS", "Judgement", "judge", "table_row"]

GAPS = {"sec_to_gap_1e-2": 1e-2, "sec_to_gap_1e-3": 1e-3}
"""Column and relative gap."""

BEST_TOLERANCE = 1e-6
"""Relative distance at which an incumbent is as good as the best known."""

COLUMNS = (
    "formulation", "solver", "seed", "status", "solved", "primal_bound", "dual_bound", "gap_rel", "first_incumbent_sec",
    "sec_to_best", *GAPS, "sec_to_proof", "primal_integral", "seconds", "peak_memory_mb", "claim_ok", "bound_ok",
    "certificate_ok", "claimed_primal", "own_value", "sense", "raw_status", "detail", "solver_version", "time_limit",
    "columns", "integers", "rows", "nonzeros", "versions", "machine", "key",
)  # fmt: skip

_FINISHED = (TerminationStatus.OPTIMAL, TerminationStatus.LOCALLY_OPTIMAL)


@dataclass(frozen=True)
class Judgement:
    """What the other runs on the same problem say of a run.

    Parameters
    ----------
    bound_ok : bool
        No verified incumbent is better than the run's dual bound.
    best : float or None
        The best verified objective of the problem over all runs.
    """

    bound_ok: bool
    best: float | None

    def trusted(self, run: RunRecord) -> bool:
        """Whether nothing that the run says has been found wrong."""
        return self.bound_ok and run.claim_ok and run.certificate_ok is not False

    def solved(self, run: RunRecord) -> bool:
        """Whether the run ended by its own criterion and nothing that it says has been found wrong."""
        return run.status in _FINISHED and self.trusted(run)


def judge(runs: Sequence[RunRecord]) -> list[Judgement]:
    """Judge each run by all runs on the same formulation.

    An incumbent is verified where the formulation has evaluated its model on the data, which is so for each incumbent
    of a trace. One of a run whose certificate failed does not count: its model may violate constraints.
    """
    best: dict[str, float] = {}
    for run in runs:
        value = run.bounds.primal_bound
        if value is None or run.certificate_ok is False:
            continue
        if ObjectiveBounds(run.sense, best.get(run.formulation)).better_primal(value):
            best[run.formulation] = value
    return [
        Judgement(
            ObjectiveBounds(run.sense, best.get(run.formulation), run.bounds.dual_bound).is_consistent(),
            best.get(run.formulation),
        )
        for run in runs
    ]


def table_row(run: RunRecord, judgement: Judgement) -> dict[str, Any]:
    """The run as a row of the table; times to a gap are told only where bound and claim stand."""
    solved, trusted = judgement.solved(run), judgement.trusted(run)
    bounds, trace = run.bounds, run.trace
    first = trace.first_incumbent_sec()
    proof = seconds_to_gap(trace, Tolerances(run.rel_gap, run.abs_gap).relative, run.abs_gap)
    proved = solved and run.status is TerminationStatus.OPTIMAL
    values: dict[str, Any] = {
        "formulation": run.formulation,
        "solver": run.solver,
        "seed": run.seed,
        "status": run.label,
        "solved": solved,
        "primal_bound": _number(bounds.primal_bound),
        "dual_bound": _number(bounds.dual_bound),
        "gap_rel": bounds.gap_rel,
        "first_incumbent_sec": _number(first),
        "sec_to_best": seconds_to_objective(trace, judgement.best, BEST_TOLERANCE),
        **{name: seconds_to_gap(trace, gap, run.abs_gap) if trusted else math.nan for name, gap in GAPS.items()},
        "sec_to_proof": math.nan if not proved else run.seconds if math.isnan(proof) else proof,
        "primal_integral": primal_integral(trace, judgement.best, run.time_limit),
        "seconds": run.seconds,
        "peak_memory_mb": math.nan if run.peak_memory is None else run.peak_memory / 1024**2,
        "claim_ok": run.claim_ok,
        "bound_ok": judgement.bound_ok,
        "certificate_ok": run.certificate_ok,
        "claimed_primal": _number(run.claimed_primal),
        "own_value": _number(run.own_value),
        "sense": run.sense.value,
        "raw_status": run.raw_status,
        "detail": "; ".join(filter(None, (run.detail, run.failed_checks))),
        "solver_version": run.solver_version,
        "time_limit": _number(run.time_limit),
        **{name: run.size.get(name) for name in ("columns", "integers", "rows", "nonzeros")},
        "versions": ", ".join(f"{name} {number}" for name, number in run.versions.items()),
        "machine": run.machine,
        "key": run.key,
    }
    return {name: values[name] for name in COLUMNS}


def _number(value: float | None) -> float:
    return math.nan if value is None else float(value)
