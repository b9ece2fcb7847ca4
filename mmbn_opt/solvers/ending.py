"""When a run may be called OPTIMAL, and what becomes of an engine's words: the rules that keep a status honest.

When is a gap closed?
    `Tolerances.closed` is the only judge, for solvers, formulations and certificates alike. A gap is closed when the
    relative gap is at most ``rel_gap``, or the absolute one at most ``abs_gap``: what was asked is what is granted. Two
    named figures say what zero means in floating point. ``rel_gap=0`` stands for `EXACT_GAP`, since engines accept
    vectors and discard subtrees at their feasibility tolerance; a positive ``rel_gap`` is taken at its word, however
    small. No absolute gap is told from a rounding error below `ABSOLUTE_FLOOR` times the scale of the sums: that alone
    can close a gap where the optimum is 0. The bounds that are returned are never moved to hide what is left of a gap.

When is a run OPTIMAL?
    Only if the engine claims so, no limit ended the run, we hold a feasible vector, and the gap between the objective
    that we computed for it and the proved bound is closed.

When bounds contradict each other
    A dual bound above the objective of a vector that we found feasible is cut back to it when they differ by rounding
    (`CONTRADICTION_TOL`). A larger contradiction means that the engine's bounds are wrong: they are all dropped and the
    status is NUMERICAL_ERROR.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..results.bounds import ObjectiveBounds
from ..results.status import Sense, SolutionStatus, TerminationStatus
from ..results.trace import BoundTrace, TraceRecord, TraceRecorder
from .base import Solver, SolverResult, program_bounds
from .hosting.link import EngineAnswer
from .incumbents import IncumbentPool

__all__ = [
    "ABSOLUTE_FLOOR",
    "ENGINE_SHARE",
    "EXACT_GAP",
    "OBJECTIVE_TOLERANCE",
    "Claim",
    "Tolerances",
    "conclude",
    "judge",
]

EXACT_GAP = 1e-6
"""Relative gap that ``rel_gap=0`` stands for: floating-point proofs are not finer. The gap is reported as it is."""

ABSOLUTE_FLOOR = 1e-12
"""Absolute gap that no solver tells from none, as a share of the scale of the sums behind the objective."""

ENGINE_SHARE = 0.999
"""Share of a positive ``rel_gap`` that engines are asked for: their sums and ours differ in the last digits."""

OBJECTIVE_TOLERANCE = 1e-8
"""Relative difference that two ways of summing the same objective may have."""

CONTRADICTION_TOL = 1e-5
"""Relative; feasibility errors of 1e-6 in the rows move an objective by about this much at most."""


@dataclass(frozen=True)
class Claim:
    """An objective that an engine reported at some time without showing the vector."""

    time_sec: float
    value: float


@dataclass(frozen=True)
class Tolerances:
    """Gaps at which OPTIMAL may be said; see the head of this module.

    Parameters
    ----------
    rel_gap, abs_gap : float
        As asked for.
    scale : float
        What the absolute values of the objective's terms add up to, about.

    Examples
    --------
    >>> from mmbn_opt.solvers.base import program_bounds
    >>> Tolerances(rel_gap=0.0, abs_gap=0.0).closed(program_bounds(100.0, 99.99995))
    True
    >>> Tolerances(rel_gap=1e-7, abs_gap=0.0).closed(program_bounds(100.0, 99.99995))
    False
    >>> Tolerances(rel_gap=1e-7, abs_gap=0.0, scale=50.0).closed(program_bounds(0.0, -4e-11))
    True
    """

    rel_gap: float
    abs_gap: float
    scale: float = 1.0

    @classmethod
    def of(cls, solver: Solver, scale: float = 1.0) -> "Tolerances":
        """What a solver's settings ask for."""
        return cls(solver.rel_gap, solver.abs_gap, scale)

    @property
    def relative(self) -> float:
        """The relative gap that counts as closed."""
        return self.rel_gap if self.rel_gap > 0 else EXACT_GAP

    @property
    def absolute(self) -> float:
        """The absolute gap that counts as closed."""
        return max(self.abs_gap, ABSOLUTE_FLOOR * self.scale)

    def closed(self, bounds: ObjectiveBounds) -> bool:
        """Whether `bounds` meet, so that OPTIMAL may be said."""
        return self._within(bounds, self.relative)

    def leave_nothing(self, bounds: ObjectiveBounds) -> bool:
        """Whether to go on could bring nothing: as `closed`, but here ``rel_gap=0`` is zero."""
        return self._within(bounds, self.rel_gap)

    def _within(self, bounds: ObjectiveBounds, relative: float) -> bool:
        if bounds.primal_bound is None or bounds.dual_bound is None:
            return False
        return bounds.gap_abs <= self.absolute or bounds.gap_rel <= relative


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
        nodes=answer.nodes,
        iterations=answer.iterations,
        seconds=time_sec,
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
    return judge(claimed, program_bounds(primal, dual), tolerances)


def judge(claimed: TerminationStatus, bounds: ObjectiveBounds, tolerances: Tolerances) -> tuple[TerminationStatus, str]:
    """The only place that lets OPTIMAL stand: what was claimed, or what is left of it and why."""
    if claimed is not TerminationStatus.OPTIMAL or tolerances.closed(bounds):
        return claimed, ""
    return (
        TerminationStatus.SLOW_PROGRESS,
        f"but the proved gap of {bounds.gap_abs:.3g} (relative {bounds.gap_rel:.3g}) is more than was asked for",
    )


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
