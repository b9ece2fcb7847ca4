"""Results of programs that the time, or an interruption, left at their start."""

from contextlib import suppress
from dataclasses import replace

from mmbn_opt._budget import Budget, OutOfTime, leave_in_time, leaving_when
from mmbn_opt.formulations.base import Start
from mmbn_opt.formulations.mixture.constrained import ConstrainedMaximumMargin
from mmbn_opt.formulations.mixture.multiclass import MulticlassMargin
from mmbn_opt.results.result import Certificate, Check, Result, Seconds
from mmbn_opt.results.status import SolutionStatus, TerminationStatus
from mmbn_opt.results.trace import TraceRecorder
from mmbn_opt.solvers.ending import Tolerances
from mmbn_opt.solving.certificate import certify_run
from mmbn_opt.solving.job import CHECK_GRACE_SEC

__all__ = ["is_checked", "not_reached"]

_LEFT_OUT = Check("start", None, "left out: the time limit was reached")


def is_checked(part: Result) -> bool:
    """Whether there was time for the checks of a part that was not reached."""
    return _LEFT_OUT not in part.certificate.checks


def not_reached(problem: MulticlassMargin, index: int, first: Result, budget: Budget, *, interrupted: bool) -> Result:
    """The result of a part that stands at its start, without a run; checked where there is time for that.

    Parameters
    ----------
    problem : MulticlassMargin
    index : int
    first : Result
        Of the first part, whose solver and settings are those of all.
    budget : Budget
        Of the whole.
    interrupted : bool
        Whether it was not the time that ended the run.
    """
    formulation, start = problem.binaries[index], problem.start_at_hand(index)
    status = TerminationStatus.INTERRUPTED if interrupted else TerminationStatus.TIME_LIMIT
    recorder = TraceRecorder(problem.sense)
    recorder.record(event="start", source=start.source, time_sec=0.0)
    trace = recorder.finish(source=start.source)
    result = replace(
        first,
        model=start.model,
        certificate=Certificate((_LEFT_OUT,)),
        termination_status=status,
        solution_status=SolutionStatus.NO_SOLUTION,
        raw_status="solver not called",
        solution=None,
        bounds=trace.bounds,
        trace=trace,
        formulation=formulation,
        seconds=Seconds(),
        program_size=None,
        settings={**first.settings, "time_limit": 0.0},
        stats={"bound_source": "the formulation", "incumbent_source": start.source},
        bound_source="the formulation",
        solver_trace=None,
        part=problem.parts[index].name,
    )
    with suppress(OutOfTime), leaving_when(lambda: budget.over(CHECK_GRACE_SEC)):
        leave_in_time()
        return _checked(result, formulation, start)
    return result


def _checked(result: Result, formulation: ConstrainedMaximumMargin, start: Start) -> Result:
    violation = formulation.infeasibility(start.model)
    recorder = TraceRecorder(formulation.sense)
    value = formulation.evaluate(start.model) if violation == 0 else None
    recorder.record(primal=value, event="start", source=start.source, time_sec=0.0)
    trace = recorder.finish(source=start.source)
    certificate = certify_run(
        start.model,
        formulation,
        bounds=trace.bounds,
        status=result.termination_status,
        trace=trace,
        tolerances=Tolerances(float(result.settings["rel_gap"]), float(result.settings["abs_gap"]), formulation.scale),
        bound_source=result.bound_source,
    )
    return replace(
        result,
        certificate=certificate,
        solution_status=SolutionStatus.INFEASIBLE if violation > 0 else SolutionStatus.FEASIBLE,
        solution=formulation.encode(start.model),
        bounds=trace.bounds,
        trace=trace,
        program_size=formulation.estimate_size(),
    )
