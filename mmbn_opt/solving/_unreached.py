"""Results of programs that the time, or an interruption, left at their start."""

import math
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace

from mmbn_opt._budget import Budget, OutOfTime, leave_in_time, leaving_when, now
from mmbn_opt.formulations.base import Start
from mmbn_opt.formulations.mixture.constrained import ConstrainedMaximumMargin
from mmbn_opt.formulations.mixture.multiclass import MulticlassMargin
from mmbn_opt.results.result import Certificate, Check, Result, Seconds
from mmbn_opt.results.status import SolutionStatus, TerminationStatus
from mmbn_opt.results.trace import TraceRecorder
from mmbn_opt.solvers.ending import Tolerances
from mmbn_opt.solving.certificate import certify_run
from mmbn_opt.solving.job import CHECK_GRACE_SEC

__all__ = ["CheckTime", "is_checked", "not_reached"]

_LEFT_OUT = Check("start", None, "left out: the time limit was reached")


def is_checked(part: Result) -> bool:
    """Whether there was time for the checks of a part that was not reached."""
    return _LEFT_OUT not in part.certificate.checks


class CheckTime:
    """Time for the checks of parts that were not reached: none from when those that are left won't fit.

    Checks of a few parts of many say nothing of the whole, and the whole then waits for them.

    Parameters
    ----------
    budget : Budget
        Of the whole; it may be exceeded by `CHECK_GRACE_SEC`.
    """

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._is_up = False

    @contextmanager
    def of_one(self, n_left: int) -> Iterator[None]:
        """The checks of a part, with which so many are left."""
        began = now()
        with suppress(OutOfTime), leaving_when(lambda: self._is_up or self._budget.over(CHECK_GRACE_SEC)):
            yield
        self._is_up = self._is_up or now() + (n_left - 1) * (now() - began) > self._ends

    @property
    def _ends(self) -> float:
        limit = self._budget.limit
        return math.inf if limit is None else self._budget.origin + limit + CHECK_GRACE_SEC


def not_reached(
    problem: MulticlassMargin, index: int, first: Result, check_time: CheckTime, *, interrupted: bool
) -> Result:
    """The result of a part that stands at its start, without a run; checked where there is time for that.

    Parameters
    ----------
    problem : MulticlassMargin
    index : int
    first : Result
        Of the first part, whose solver and settings are those of all.
    check_time : CheckTime
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
    with check_time.of_one(len(problem.parts) - index):
        leave_in_time()
        result = _checked(result, formulation, start)
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
