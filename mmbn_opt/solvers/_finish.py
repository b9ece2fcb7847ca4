"""From what an engine said to a `SolverResult`: the rules that keep a status honest, in one place.

When is a run OPTIMAL?
    Only if the engine claims so, no limit ended the run, we hold a feasible vector, and the gap between the objective
    that we computed for it and the proved bound is within ``abs_gap``, within ``rel_gap``, or within
    ``feasibility_tol * max(1, |primal|, |dual|)``. The last is what ``rel_gap=0`` means in floating point: engines
    accept vectors and discard subtrees at their feasibility tolerance, so that is as exact as their proofs are. The
    bounds that are returned are never moved to hide what is left of a gap.

When bounds contradict each other
    A dual bound above the objective of a vector that we found feasible is cut back to it when they differ by rounding
    (`CONTRADICTION_TOL`). A larger contradiction means that the engine's bounds are wrong: they are all dropped and the
    status is NUMERICAL_ERROR.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..bounds import ObjectiveBounds
from ..status import Sense, SolutionStatus, TerminationStatus
from ..trace import BoundTrace, TraceRecord, TraceRecorder
from ._incumbents import IncumbentPool
from ._link import EngineAnswer
from .base import Solver, SolverResult, program_bounds

__all__ = ["Claim", "Tolerances", "conclude"]

CONTRADICTION_TOL = 1e-5
"""Relative; feasibility errors of 1e-6 in the rows move an objective by about this much at most."""


@dataclass(frozen=True)
class Claim:
    """An objective that an engine reported at some time without showing the vector."""

    time_sec: float
    value: float


@dataclass(frozen=True)
class Tolerances:
    """Gaps at which OPTIMAL may be said."""

    rel_gap: float
    abs_gap: float
    feasibility_tol: float

    @classmethod
    def of(cls, solver: Solver) -> "Tolerances":
        """The tolerances of a solver's settings."""
        return cls(solver.rel_gap, solver.abs_gap, solver.feasibility_tol)

    def closed(self, bounds: ObjectiveBounds) -> bool:
        """Whether `bounds` meet; see the head of this module."""
        if bounds.primal_bound is None or bounds.dual_bound is None:
            return False
        exact = self.feasibility_tol * max(1.0, abs(bounds.primal_bound), abs(bounds.dual_bound))
        return bounds.is_closed(self.rel_gap, max(self.abs_gap, exact))


def conclude(
    *,
    solver_name: str,
    tolerances: Tolerances,
    pool: IncumbentPool,
    records: Sequence[TraceRecord],
    claims: Sequence[Claim],
    answer: EngineAnswer,
    time_sec: float,
    stats: Mapping[str, Any],
) -> SolverResult:
    """Judge `answer` against the pool and write the final record.

    Parameters
    ----------
    records : sequence of TraceRecord
        The trace so far.
    claims : sequence of Claim
        Shown in the trace only when the final vector confirms the last of them.
    time_sec : float
        Seconds since the call.
    """
    duals = [
        value for value in (records[-1].dual_bound, answer.dual_bound) if value is not None and math.isfinite(value)
    ]
    dual = max(duals, default=None)
    status, note = _judge(answer.termination_status, pool, dual, tolerances)
    if dual is not None and pool.value is not None:
        dual = None if _contradicts(pool.value, dual) else min(dual, pool.value)
    trace = _rewrite(records, claims, pool.value, dual, solver_name, time_sec, answer)
    best = pool.result
    return SolverResult(
        termination_status=status,
        solution_status=pool.status,
        raw_status="; ".join(part for part in (answer.raw_status, note) if part),
        solution=None if best is None else best.solution,
        bounds=program_bounds(None if best is None else best.value, dual),
        trace=trace,
        stats={
            "nodes": answer.nodes,
            "iterations": answer.iterations,
            "solve_sec": time_sec,
            "incumbent_source": None if best is None else best.source,
            "raw_dual_bound": answer.dual_bound,
            **stats,
            **answer.stats,
        },
    )


def _judge(
    claimed: TerminationStatus, pool: IncumbentPool, dual: float | None, tolerances: Tolerances
) -> tuple[TerminationStatus, str]:
    """The status that we can answer for, and why it is not the claimed one."""
    primal = pool.value
    if primal is not None and dual is not None and _contradicts(primal, dual):
        return (
            TerminationStatus.NUMERICAL_ERROR,
            f"its bound {dual!r} contradicts a feasible vector of objective {primal!r}; its bounds were dropped",
        )
    if claimed is TerminationStatus.INFEASIBLE and primal is not None:
        return TerminationStatus.NUMERICAL_ERROR, f"but a feasible vector of objective {primal!r} is known"
    if claimed is TerminationStatus.UNBOUNDED and dual is not None:
        return TerminationStatus.NUMERICAL_ERROR, f"but the objective cannot fall below {dual!r}"
    if claimed is not TerminationStatus.OPTIMAL:
        return claimed, ""
    if pool.status is SolutionStatus.NO_SOLUTION:
        return TerminationStatus.NUMERICAL_ERROR, "but it brought no vector that satisfies the constraints"
    if pool.status is SolutionStatus.NEARLY_FEASIBLE:
        assert pool.result is not None
        return TerminationStatus.NUMERICAL_ERROR, f"but its vector violates a constraint by {pool.result.violation:.3g}"
    bounds = program_bounds(primal, dual)
    if not tolerances.closed(bounds):
        return (
            TerminationStatus.SLOW_PROGRESS,
            f"but the proved gap of {bounds.gap_abs:.3g} (relative {bounds.gap_rel:.3g}) is more than was asked for",
        )
    return TerminationStatus.OPTIMAL, ""


def _contradicts(primal: float, dual: float) -> bool:
    return not program_bounds(primal, dual).is_consistent(CONTRADICTION_TOL)


def _rewrite(
    records: Sequence[TraceRecord],
    claims: Sequence[Claim],
    primal: float | None,
    dual: float | None,
    solver_name: str,
    time_sec: float,
    answer: EngineAnswer,
) -> BoundTrace:
    """The trace with confirmed claims filled in, no dual bound above the final one, and the final record."""
    recorder = TraceRecorder(Sense.MINIMIZE, clock=lambda: time_sec)
    confirmed = list(claims) if primal is not None and claims and primal <= claims[-1].value + _rounding(primal) else []
    for record in records:
        while confirmed and confirmed[0].time_sec <= record.time_sec:
            _record_claim(recorder, confirmed.pop(0), primal, solver_name)
        recorder.record(
            primal=record.primal_bound,
            dual=None if dual is None or record.dual_bound is None else min(record.dual_bound, dual),
            nodes=record.nodes,
            iterations=record.iterations,
            event=record.event,
            source=record.source,
            time_sec=record.time_sec,
        )
    for claim in confirmed:
        _record_claim(recorder, claim, primal, solver_name)
    recorder.record(
        primal=primal, dual=dual, nodes=answer.nodes, iterations=answer.iterations, event="final", source=solver_name
    )
    return recorder.snapshot()


def _record_claim(recorder: TraceRecorder, claim: Claim, primal: float | None, source: str) -> None:
    assert primal is not None
    recorder.record(primal=max(claim.value, primal), event="incumbent", source=source, time_sec=claim.time_sec)


def _rounding(value: float) -> float:
    """By how much logs round the objectives that they print."""
    return CONTRADICTION_TOL * max(1.0, abs(value))
