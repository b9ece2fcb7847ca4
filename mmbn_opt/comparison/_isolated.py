"""One run of a comparison in a process of its own, as a record."""

from typing import ClassVar

from mmbn_opt.comparison._child import Answered, RunJob
from mmbn_opt.comparison.isolation import Cancelled, RunHost, Watch, going, observe
from mmbn_opt.comparison.machine import machine, package_versions
from mmbn_opt.comparison.plan import PlannedRun
from mmbn_opt.comparison.record import RunRecord
from mmbn_opt.results.trace import BoundTrace

__all__ = ["execute", "execute_unless_cancelled"]


class _RunHost(RunHost):
    worker: ClassVar[str] = "mmbn_opt.comparison._child"


def execute(run: PlannedRun) -> RunRecord:
    """Do one run in a fresh process and say what became of it; never raises what the run raises.

    Raises
    ------
    Cancelled
        After `cancel`.
    """
    watch = Watch(run)
    with going(run.token):
        seconds = observe(watch, _RunHost(RunJob(run.payload, run.threads)))
    return _record(run, watch, seconds)


def execute_unless_cancelled(run: PlannedRun) -> RunRecord | None:
    """`execute`; None when the comparison was interrupted, so that runs which ended before are still handed over."""
    try:
        return execute(run)
    except Cancelled:
        return None


def _record(run: PlannedRun, watch: Watch, seconds: float) -> RunRecord:
    answer = watch.answer if isinstance(watch.answer, Answered) else None
    sampled = watch.peak_memory or None
    peak = max(filter(None, (sampled, None if answer is None else answer.peak_memory)), default=None)
    return RunRecord(
        key=run.key,
        formulation=run.formulation,
        solver=run.solver,
        seed=run.seed,
        time_limit=run.time_limit,
        rel_gap=run.rel_gap,
        abs_gap=run.abs_gap,
        sense=run.sense,
        outcome=watch.outcome,
        status=None if answer is None else answer.status,
        raw_status="" if answer is None else answer.raw_status,
        detail=watch.detail,
        trace=answer.trace if answer is not None else BoundTrace(run.sense, tuple(watch.records)),
        claimed_primal=None if answer is None else answer.claimed_primal,
        own_value=None if answer is None else answer.own_value,
        certificate_ok=None if answer is None else answer.certificate_ok,
        failed_checks="" if answer is None else answer.failed_checks,
        seconds=seconds if answer is None else answer.seconds,
        peak_memory=peak,
        solver_version=run.solver_version if answer is None else answer.solver_version,
        size={} if answer is None else dict(answer.size),
        versions=dict(package_versions() if watch.ready is None else watch.ready.versions),
        machine=machine() if watch.ready is None else watch.ready.machine,
    )
