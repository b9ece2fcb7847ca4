"""Several binary programs as one run: each is solved and certified by itself, and one result speaks for all."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from mmbn_opt._arguments import check_arguments
from mmbn_opt._budget import (
    Budget,
    OutOfTime,
    leave_in_time,
    leaving_when,
    noting_signals,
    now,
    stop_asked,
    until_interrupted,
)
from mmbn_opt.formulations.checks import in_time
from mmbn_opt.formulations.mixture.constrained import ConstrainedMaximumMargin
from mmbn_opt.formulations.mixture.multiclass import MulticlassMargin
from mmbn_opt.mixtures.classifier import MixtureClassifier
from mmbn_opt.results.bounds import ObjectiveBounds
from mmbn_opt.results.result import Certificate, Check, CheckSubject, Result, Seconds
from mmbn_opt.results.status import SolutionStatus, TerminationStatus
from mmbn_opt.results.trace import TraceRecord, TraceRecorder
from mmbn_opt.solvers.base import Solver
from mmbn_opt.solvers.ending import OBJECTIVE_TOLERANCE
from mmbn_opt.solving._state import HEURISTICS
from mmbn_opt.solving._unreached import CheckTime, is_checked, not_reached
from mmbn_opt.solving.certificate import NO_BOUND
from mmbn_opt.solving.dispatch import solve
from mmbn_opt.solving.job import CHECK_GRACE_SEC
from mmbn_opt.solving.settings import SolveSettings

__all__ = ["solve_parts", "worst_status"]

_SEVERITY = (
    TerminationStatus.OPTIMAL, TerminationStatus.LOCALLY_OPTIMAL, TerminationStatus.SLOW_PROGRESS,
    TerminationStatus.ITERATION_LIMIT, TerminationStatus.TIME_LIMIT, TerminationStatus.INTERRUPTED,
    TerminationStatus.NUMERICAL_ERROR,
)  # fmt: skip

SHORTEST_SEC = 0.03
"""With less than this a program ends at its start."""

NOT_REACHED_SEC = 3e-4
"""What the result of a part takes that is not reached."""

_OF_VIOLATIONS = (CheckSubject.SAMPLES, CheckSubject.VECTOR)
"""Checks of a part that fail with the samples that miss xi, which the whole has its own checks for."""

_SOLUTION_SEVERITY = (
    SolutionStatus.FEASIBLE, SolutionStatus.NEARLY_FEASIBLE, SolutionStatus.INFEASIBLE, SolutionStatus.NO_SOLUTION,
)  # fmt: skip


def worst_status(statuses: Iterable[TerminationStatus]) -> TerminationStatus:
    """The status that says most against an answer made of several.

    Examples
    --------
    >>> worst_status([TerminationStatus.LOCALLY_OPTIMAL, TerminationStatus.TIME_LIMIT])
    TerminationStatus.TIME_LIMIT
    """
    return max(statuses, key=lambda s: _SEVERITY.index(s) if s in _SEVERITY else len(_SEVERITY))


def solve_parts(
    problem: MulticlassMargin,
    solver: str | Solver = "auto",
    *,
    time_limit: float | None = None,
    rel_gap: float | None = None,
    abs_gap: float | None = None,
    threads: int | None = None,
    seed: int | None = None,
    verbose: bool | None = None,
    options: Mapping[str, Any] | None = None,
    callback: Callable[[TraceRecord], bool | None] | None = None,
    starts: MixtureClassifier | None = None,
) -> Result:
    """Solve the binary programs of a problem one after the other.

    The time that is left is shared among the parts to come. Parts that it does not reach keep their start, as after an
    interruption; where the time did not even suffice for that, they stand at one Gaussian a class. What is left
    unchecked for lack of time is said in the certificate.

    Parameters
    ----------
    problem : MulticlassMargin
    solver : str or Solver
    time_limit : float or None
        Seconds for all parts together; None is what a configured solver says.
    rel_gap, abs_gap, threads, seed, verbose, options
        As in `solve`, for each part.
    callback : callable or None
        Called with each `TraceRecord` of the whole; return True to stop.
    starts : MixtureClassifier or None
        Of the same classes, features and number of components: each program begins at the better of its part there and
        its own start.

    Returns
    -------
    Result
        ``parts`` holds the result of each program. The objective is the sum of the margins, and is claimed only where
        every sample meets xi in every part; the trace adds up the work; both statuses are those of the worst part.

    Examples
    --------
    >>> X, y = [[0.0], [1.0], [5.0], [6.0], [10.0], [11.0]], ["a", "a", "b", "b", "c", "c"]
    >>> result = solve_parts(MulticlassMargin(X, y, n_components=1, xi_growth=1.0))
    >>> len(result.parts), result.solution_status, result.certificate.ok, result.model.predict([[5.4]]).tolist()
    (3, SolutionStatus.FEASIBLE, True, ['b'])
    """
    check_arguments(solve_parts, locals())
    if time_limit is None and isinstance(solver, Solver):
        time_limit = solver.time_limit
    settings = SolveSettings(time_limit, rel_gap, abs_gap, threads, seed, verbose, options)
    with noting_signals():
        return _solve_parts(problem, solver, settings, callback, starts)


def _solve_parts(
    problem: MulticlassMargin,
    solver: str | Solver,
    settings: SolveSettings,
    callback: Callable[[TraceRecord], bool | None] | None,
    starts: MixtureClassifier | None,
) -> Result:
    """Inside a scope in which Ctrl-C is noted: once it was, the parts to come keep their start."""
    budget = Budget(settings.time_limit)
    given = None if starts is None else problem.start_parts(starts)
    course = _Course(problem, callback)
    parts: list[Result] = []
    with until_interrupted() as cut:
        course.begin(budget)
    interrupted, check_time = bool(cut), CheckTime(budget)
    for index, formulation in enumerate(problem.binaries):
        left = _share(budget, len(problem.parts) - index)
        if parts and (interrupted or left == 0.0):
            parts.append(not_reached(problem, index, parts[0], check_time, interrupted=interrupted))
            continue

        def run(left: float | None, index: int = index, formulation: ConstrainedMaximumMargin = formulation) -> Result:
            course.turn_to(index, parts)
            return solve(
                formulation, solver, callback=course.listen, starts=None if given is None else given[index],
                **(settings.given() | {"time_limit": left}),
            )  # fmt: skip

        with until_interrupted() as cut:  # between two parts: inside of one it is a status
            part = run(0.0 if interrupted else left)
        if cut:
            if interrupted:
                raise KeyboardInterrupt
            interrupted = True
            part = run(0.0)
        interrupted = interrupted or part.termination_status is TerminationStatus.INTERRUPTED
        parts.append(replace(part, part=problem.parts[index].name))
    return _together(problem, parts, course, interrupted, budget)


def _share(budget: Budget, n_parts: int) -> float | None:
    """An equal share of the time that is left, but no less than what one program needs to get anywhere.

    Some time is set aside for the results of parts that will not be reached.
    """
    if budget.limit is None:
        return None
    left = max(0.0, budget.left() - min(NOT_REACHED_SEC * (n_parts - 1), 0.5 * budget.limit))
    return min(left, max(left / n_parts, SHORTEST_SEC))


class _Course:
    """The trace of the whole, written while the parts run."""

    def __init__(self, problem: MulticlassMargin, callback: Callable[[TraceRecord], bool | None] | None) -> None:
        self.recorder = TraceRecorder(problem.sense, listener=self._tell)
        self.callback = callback
        self.values: list[float | None] = [None] * len(problem.parts)
        self.problem = problem
        self.stop = False
        self.index = 0
        self.iterations_before = 0

    def begin(self, budget: Budget) -> None:
        """Compute the starts and tell of them, those that a share of the time suffices for."""
        deadline = budget.within(HEURISTICS)
        source = ""
        with suppress(OutOfTime), leaving_when(lambda: stop_asked() or (deadline is not None and now() >= deadline)):
            for index, binary in enumerate(self.problem.binaries):
                leave_in_time()
                start = binary.trivial_start()
                source = source or start.source
                if binary.infeasibility(start.model) == 0:
                    self.values[index] = binary.evaluate(start.model)
        source = source or self.problem.start_at_hand(0).source
        self.recorder.record(primal=self._sum(), iterations=0, event="start", source=source)

    def turn_to(self, index: int, parts: Sequence[Result]) -> None:
        """The next part begins."""
        self.index = index
        self.iterations_before = sum(int(part.stats.get("iterations") or 0) for part in parts)

    def listen(self, record: TraceRecord) -> bool:
        """Enter what a part tells; its own start and end are no events of the whole."""
        if record.primal_bound is not None:
            self.values[self.index] = record.primal_bound
        if record.event in ("start", "final"):
            return self.stop
        iterations = self.iterations_before + (record.iterations or 0)
        self.recorder.record(primal=self._sum(), iterations=iterations, event=record.event, source=record.source)
        return self.stop

    def _sum(self) -> float | None:
        known = [value for value in self.values if value is not None]
        return float(sum(known)) if len(known) == len(self.values) else None

    def _tell(self, record: TraceRecord) -> None:
        if self.callback is not None and self.callback(record):
            self.stop = True


def _together(
    problem: MulticlassMargin, parts: list[Result], course: _Course, interrupted: bool, budget: Budget
) -> Result:
    model = problem.join([part.model for part in parts])
    value, feasible = None, False
    with suppress(OutOfTime), leaving_when(lambda: budget.over(CHECK_GRACE_SEC)):
        _leave_unless_checked(parts)
        value, feasible = problem.evaluate(model), problem.infeasibility(model) == 0.0
    iterations = sum(int(part.stats.get("iterations") or 0) for part in parts)
    course.recorder.record(primal=value if feasible else None, iterations=iterations, source=parts[-1].solver_name)
    trace = course.recorder.finish(iterations=iterations, source=parts[-1].solver_name)
    with leaving_when(lambda: budget.over(CHECK_GRACE_SEC)):
        certificate = Certificate(_checks(problem, model, parts, value, trace.bounds))
    status = worst_status(part.termination_status for part in parts)
    if interrupted:
        status = worst_status((status, TerminationStatus.INTERRUPTED))
    solutions = [part.solution for part in parts if part.solution is not None]
    sizes = [part.program_size for part in parts if part.program_size is not None]
    return Result(
        model=model,
        certificate=certificate,
        termination_status=status,
        solution_status=max((part.solution_status for part in parts), key=_SOLUTION_SEVERITY.index),
        raw_status="; ".join(
            f"{part.name}: {result.raw_status}" for part, result in zip(problem.parts, parts, strict=True)
        ),
        solution=np.concatenate(solutions) if len(solutions) == len(parts) else None,
        bounds=trace.bounds,
        trace=trace,
        sense=problem.sense,
        formulation=problem,
        solver_name=parts[0].solver_name,
        solver_version=parts[0].solver_version,
        solver_rule=parts[0].solver_rule,
        seconds=Seconds(
            **{name: sum(getattr(p.seconds, name) for p in parts) for name in ("build", "heuristics", "solve")},
            total=budget.elapsed(),
        ),
        program_size=None
        if len(sizes) < len(parts)
        else replace(
            sizes[0],
            columns=sum(s.columns for s in sizes),
            rows=sum(s.rows for s in sizes),
            nonzeros=sum(s.nonzeros for s in sizes),
        ),
        settings=parts[0].settings,
        stats={"iterations": iterations, "bound_source": parts[0].stats.get("bound_source", "")},
        parts=tuple(parts),
    )


def _checks(
    problem: MulticlassMargin,
    model: MixtureClassifier,
    parts: list[Result],
    value: float | None,
    bounds: ObjectiveBounds,
) -> tuple[Check, ...]:
    return (
        *in_time("every sample beyond xi", lambda: _check_samples(problem, model, parts)),
        *in_time("objective", lambda: _check_objective(problem, parts, value, bounds)),
        _check_parts(problem, parts),
        Check("bound", None, NO_BOUND, claims=False),
    )


def _check_samples(problem: MulticlassMargin, model: MixtureClassifier, parts: list[Result]) -> tuple[Check, ...]:
    _leave_unless_checked(parts)
    return problem.check(model)


def _leave_unless_checked(parts: list[Result]) -> None:
    """What is said of the whole waits for no part whose own checks had no time."""
    if not all(is_checked(part) for part in parts):
        raise OutOfTime


def _check_objective(
    problem: MulticlassMargin, parts: list[Result], value: float | None, bounds: ObjectiveBounds
) -> Check:
    if value is None:
        raise OutOfTime
    apart = 0.0
    for binary, part in zip(problem.binaries, parts, strict=True):
        leave_in_time()
        apart += binary.evaluate(part.model)
    agrees = abs(value - apart) <= OBJECTIVE_TOLERANCE * max(1.0, abs(value))
    reported = bounds.primal_bound
    if reported is not None:
        agrees = agrees and abs(value - reported) <= OBJECTIVE_TOLERANCE * max(1.0, abs(value))
    claim = "violations: no margin is claimed" if reported is None else f"{reported:.6f} reported"
    return Check(
        "objective", agrees, f"{value:.6f} recomputed from the joined model, {apart:.6f} part by part, {claim}"
    )


def _check_parts(problem: MulticlassMargin, parts: list[Result]) -> Check:
    failures = [
        f"{name.name}: {check.name}"
        for name, part in zip(problem.parts, parts, strict=True)
        for check in part.certificate.failures
        if check.about not in _OF_VIOLATIONS
    ]
    n, left_out = len(parts), sum(not is_checked(part) for part in parts)
    if left_out and not failures:
        return Check("parts", None, f"{n - left_out} of {n} passed their own checks; no time was left for the others")
    return Check("parts", not failures, "; ".join(failures) or f"{n} of {n} passed their own checks")
