"""One call from a formulation to a result: starts, program, solver, model, certificate, within one wall budget."""

import logging
import math
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mmbn_opt.bounds import ObjectiveBounds
from mmbn_opt.certificate import OBJECTIVE_TOLERANCE, PROOF_TOLERANCE, certify_run
from mmbn_opt.exceptions import InputError
from mmbn_opt.formulations.base import Formulation
from mmbn_opt.program import Program, ProgramKind
from mmbn_opt.result import Certificate, Check, Result, Seconds
from mmbn_opt.solvers.base import Solver, SolverEvent, SolverResult
from mmbn_opt.solvers.registry import get_solver_class, solver_table
from mmbn_opt.status import SolutionStatus, TerminationStatus
from mmbn_opt.trace import TraceRecord, TraceRecorder

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["AUTO_RULES", "AutoRule", "RunCallback", "solve", "solvers"]

logger = logging.getLogger(__name__)

RunCallback = Callable[[TraceRecord], bool | None]
"""Called with each new trace record, in the formulation's sense; a true return value asks the run to stop."""


@dataclass(frozen=True)
class AutoRule:
    """One line of the table behind ``solver="auto"``."""

    kind: ProgramKind
    condition: str
    solver: str


AUTO_RULES: tuple[AutoRule, ...] = (AutoRule(ProgramKind.MIXED_INTEGER, "any size", "highs"),)


def solvers() -> "pd.DataFrame":
    """What is installed: one row a solver with version, licence, what it accepts, and why it is not available.

    Examples
    --------
    >>> import mmbn_opt as mm
    >>> bool(mm.solvers().set_index("name").loc["highs", "available"])
    True
    """
    import pandas as pd

    rows = []
    for info in solver_table():
        rules = [f"{rule.kind}, {rule.condition}" for rule in AUTO_RULES if rule.solver == info.name]
        rows.append(
            {
                "name": info.name,
                "title": info.title,
                "available": info.available,
                "version": info.version,
                "licence": info.licence,
                "accepts": ", ".join(sorted(str(kind) for kind in info.accepts)),
                "auto": "; ".join(rules),
                "reason": info.reason,
            }
        )
    return pd.DataFrame(rows)


def _choose_solver(formulation: Formulation, name: str) -> tuple[type[Solver], ProgramKind, str]:
    if name == "auto":
        for rule in AUTO_RULES:
            if rule.kind in formulation.emits:
                return get_solver_class(rule.solver), rule.kind, f"auto: {rule.kind}, {rule.condition} -> {rule.solver}"
        raise InputError(f"No automatic rule fits {type(formulation).__name__}; name a solver.")
    solver = get_solver_class(name)
    shared = formulation.emits & solver.accepts
    if not shared:
        raise InputError(
            f"{type(formulation).__name__} emits {sorted(map(str, formulation.emits))}, but {name!r} accepts "
            f"{sorted(map(str, solver.accepts))}. See mmbn_opt.solvers()."
        )
    return solver, min(shared, key=str), "named by the caller"


@dataclass
class _Run:
    """What moves during one call of `solve`."""

    formulation: Formulation
    time_limit: float | None
    rel_gap: float
    abs_gap: float
    callback: RunCallback | None
    origin: float = field(default_factory=time.perf_counter)
    best: Any = None
    best_source: str = ""
    bound_source: str = "the formulation"
    stop_requested: bool = False
    interrupted: bool = False

    def __post_init__(self) -> None:
        self.recorder = TraceRecorder(self.formulation.sense, clock=self.elapsed, listener=self._announce)

    def elapsed(self) -> float:
        return time.perf_counter() - self.origin

    def left(self) -> float | None:
        """Seconds left of the budget, or None without a limit."""
        return None if self.time_limit is None else self.time_limit - self.elapsed()

    def out_of_time(self) -> bool:
        left = self.left()
        return left is not None and left <= 0

    @property
    def bounds(self) -> ObjectiveBounds:
        return self.recorder.bounds

    def closed(self) -> bool:
        return self.bounds.is_closed(self.rel_gap, self.abs_gap)

    def _announce(self, record: TraceRecord) -> None:
        if self.callback is not None and self.callback(record):
            self.stop_requested = True

    def offer(
        self, model: Any, source: str, *, event: str = "incumbent", dual: float | None = None, at: float | None = None
    ) -> None:
        """Take a model if its recomputed objective beats the best one."""
        value = self.formulation.evaluate(model)
        if not math.isfinite(value):
            return
        if self.bounds.better_primal(value):
            self.best, self.best_source = model, source
            self.recorder.record(primal=value, dual=dual, event=event, source=source, time_sec=at)

    def offer_bound(
        self, value: float, source: str, *, nodes: int | None = None, iterations: int | None = None
    ) -> None:
        """Take a dual bound; one that crosses the incumbent by rounding errors only is set to the incumbent."""
        if not math.isfinite(value):
            return
        primal = self.bounds.primal_bound
        if primal is not None:
            crossing = self.formulation.sense.sign * (value - primal)
            if 0 < crossing <= OBJECTIVE_TOLERANCE * max(1.0, abs(primal)):
                value = primal
        if self.bounds.better_dual(value):
            self.bound_source = source
            self.recorder.record(dual=value, nodes=nodes, iterations=iterations, event="bound", source=source)

    def on_event(self, event: SolverEvent, source: str) -> bool:
        """News of the solver: incumbents are recovered and evaluated by us before they count."""
        sign = self.formulation.sense.sign
        if event.solution is not None:
            self.offer(self.formulation.recover(event.solution), source)
        if event.dual_bound is not None:
            self.offer_bound(sign * event.dual_bound, source, nodes=event.nodes, iterations=event.iterations)
        return self.stop_requested or self.closed()


def solve(
    formulation: Formulation,
    solver: str | Solver = "auto",
    *,
    time_limit: float | None = None,
    rel_gap: float = 0.0,
    abs_gap: float = 0.0,
    threads: int = 1,
    seed: int = 0,
    verbose: bool = False,
    options: Mapping[str, Any] | None = None,
    callback: RunCallback | None = None,
    starts: Iterable[Any] | None = None,
) -> Result:
    """Solve a formulation and certify the answer.

    One wall-clock budget covers building, start heuristics, solving and polishing. A KeyboardInterrupt ends the run
    with status INTERRUPTED; the best model and the bound so far are returned.

    Parameters
    ----------
    formulation : Formulation
    solver : str or Solver
        Name (see `mmbn_opt.solvers`), ``"auto"``, or a configured solver, whose limits give way to the ones here.
    time_limit : float or None
        Seconds; None runs to proof.
    rel_gap, abs_gap : float
        Stop when the proved gap is within either; 0 asks for a proof of optimality.
    threads, seed : int
        Equal input, seed and threads give the same answer when the run ends by proof.
    verbose : bool
        Send the solver's log to ``logging``.
    options : mapping or None
        The solver's own options.
    callback : callable or None
        Called with each `TraceRecord`; return True to stop.
    starts : iterable of models or None
        Start models to use beside the formulation's own heuristics; an empty list switches heuristics off.

    Returns
    -------
    Result
        Always with a model, unless the problem is infeasible.

    Examples
    --------
    >>> import mmbn_opt as mm
    >>> data = mm.DiscreteDataset.from_arrays([["a", "u"], ["a", "v"], ["b", "u"], ["b", "v"]] * 5, [0, 1, 1, 0] * 5)
    >>> result = mm.solve(mm.SoftMarginStructure(data, max_parents=2))
    >>> result.termination_status, result.certificate.ok
    (TerminationStatus.OPTIMAL, True)
    """
    if isinstance(solver, Solver):
        name, base = solver.name, solver
        if time_limit is None:
            time_limit = solver.time_limit
    else:
        name, base = solver, None
    solver_class, kind, rule = _choose_solver(formulation, name)
    make = {
        "rel_gap": rel_gap, "abs_gap": abs_gap, "threads": threads, "seed": seed, "verbose": verbose,
        "options": dict(options or (base.options if base else {})), "time_limit": time_limit,
    }  # fmt: skip
    engine = _configured(solver_class, base, make)
    availability = solver_class.availability()
    if not availability.available:
        from mmbn_opt.exceptions import MissingDependencyError

        raise MissingDependencyError(f"Solver {solver_class.name!r} cannot be used here: {availability.reason}")
    run = _Run(formulation, time_limit, rel_gap, abs_gap, callback)
    size = formulation.estimate_size()
    _refuse_oversized(formulation)
    seconds: dict[str, float] = {}
    program: Program | None = None
    answer: SolverResult | None = None
    try:
        _offer_starts(run, starts, seed)
        seconds["heuristics"] = run.elapsed()
        if not (run.closed() or run.stop_requested or run.out_of_time()):
            program = formulation.build(kind)
            size = program.size
            seconds["build"] = run.elapsed() - seconds["heuristics"]
        if program is not None and not run.out_of_time():
            before = run.elapsed()
            answer = _call_solver(run, engine, program)
            seconds["solve"] = run.elapsed() - before
    except KeyboardInterrupt:
        run.interrupted = True
    return _finish(run, engine, availability.version or "", rule, program, size, answer, seconds, make)


def _configured(solver_class: type[Solver], base: Solver | None, settings: Mapping[str, Any]) -> Solver:
    if base is None:
        return solver_class(**settings)
    from dataclasses import replace

    return replace(base, **settings)


def _refuse_oversized(formulation: Formulation) -> None:
    limits = {name: getattr(formulation, name, None) for name in ("max_rows", "max_nonzeros")}
    if all(isinstance(limit, int) for limit in limits.values()):
        formulation.estimate_size().refuse_over(**limits, what=formulation.title)  # type: ignore[arg-type]


def _offer_starts(run: _Run, starts: Iterable[Any] | None, seed: int) -> None:
    formulation = run.formulation
    trivial = formulation.trivial_start()
    run.offer(trivial.model, trivial.source, event="start", dual=formulation.trivial_bound(), at=0.0)
    given = None if starts is None else list(starts)
    for model in given or ():
        formulation.encode(model)  # raises when the model is outside the model class
        run.offer(model, "given start", event="start")
    if given == [] or run.out_of_time() or run.closed():
        return
    # Heuristics get at most a third of the budget; they end by count long before on most data.
    deadline = None if run.time_limit is None else run.origin + run.time_limit / 3
    for start in formulation.starts(seed=seed, deadline=deadline):
        run.offer(start.model, start.source, event="start")
        if run.stop_requested or run.out_of_time() or run.closed():
            return


def _call_solver(run: _Run, engine: Solver, program: Program) -> SolverResult:
    left = run.left()
    settings = engine if left is None else _configured(type(engine), engine, {"time_limit": max(left, 0.0)})
    start = None if run.best is None else run.formulation.encode(run.best)
    answer = settings.solve(program, callback=lambda event: run.on_event(event, engine.name), start=start)
    if answer.solution is not None and answer.solution_status is SolutionStatus.FEASIBLE:
        run.offer(run.formulation.recover(answer.solution), engine.name)
    dual = answer.bounds.dual_bound
    if dual is not None:
        run.offer_bound(run.formulation.sense.sign * dual, engine.name)
    return answer


def _termination(run: _Run, answer: SolverResult | None) -> TerminationStatus:
    claimed = answer is not None and answer.termination_status is TerminationStatus.OPTIMAL
    tolerance = PROOF_TOLERANCE if claimed else OBJECTIVE_TOLERANCE
    proved = run.bounds.is_closed(max(run.rel_gap, tolerance), run.abs_gap)
    if answer is not None and answer.termination_status in (TerminationStatus.INFEASIBLE, TerminationStatus.UNBOUNDED):
        return answer.termination_status if run.best is None else TerminationStatus.NUMERICAL_ERROR
    if proved:
        return TerminationStatus.OPTIMAL
    if run.interrupted or run.stop_requested:
        return TerminationStatus.INTERRUPTED
    if answer is None:
        return TerminationStatus.TIME_LIMIT
    if claimed:
        logger.warning("the solver claims OPTIMAL, but the recomputed gap is %.3g", run.bounds.gap_rel)
        return TerminationStatus.NUMERICAL_ERROR
    return answer.termination_status


def _finish(
    run: _Run,
    engine: Solver,
    version: str,
    rule: str,
    program: Program | None,
    size: Any,
    answer: SolverResult | None,
    seconds: Mapping[str, float],
    settings: Mapping[str, Any],
) -> Result:
    formulation = run.formulation
    counters = {} if answer is None else {k: answer.stats.get(k) for k in ("nodes", "iterations")}
    solution = None if run.best is None else formulation.encode(run.best)
    status = _termination(run, answer)
    trace = run.recorder.finish(**counters, source=engine.name if answer is not None else run.best_source)
    certificate = Certificate()
    if run.best is not None:
        certificate = certify_run(
            run.best,
            formulation,
            bounds=run.bounds,
            status=status,
            trace=trace,
            rel_gap=run.rel_gap,
            abs_gap=run.abs_gap,
            bound_source=f"{run.bound_source}" + (f" {version}" if run.bound_source == engine.name else ""),
            extra=() if program is None or solution is None else (_check_vector(run, program, solution),),
        )
    stats = dict(answer.stats) if answer is not None else {}
    stats |= {"bound_source": run.bound_source, "incumbent_source": run.best_source}
    return Result(
        model=run.best,
        certificate=certificate,
        termination_status=status,
        solution_status=SolutionStatus.NO_SOLUTION if solution is None else SolutionStatus.FEASIBLE,
        raw_status=answer.raw_status if answer is not None else "solver not called",
        solution=solution,
        bounds=run.bounds,
        trace=trace,
        sense=formulation.sense,
        formulation=formulation,
        solver_name=engine.name,
        solver_version=version,
        solver_rule=rule,
        seconds=Seconds(**{k: seconds.get(k, 0.0) for k in ("build", "heuristics", "solve")}, total=run.elapsed()),
        program_size=size,
        settings=dict(settings),
        stats=stats,
    )


def _check_vector(run: _Run, program: Program, solution: NDArray[np.float64]) -> Check:
    violation = program.violation(solution)
    value = run.formulation.sense.sign * program.value(solution)
    primal = run.bounds.primal_bound
    agrees = primal is not None and abs(value - primal) <= OBJECTIVE_TOLERANCE * max(1.0, abs(primal))
    return Check(
        "program vector",
        violation <= 1e-6 and agrees,
        f"largest violation {violation:.1e}; the program's objective there is {value:.6f}",
    )
