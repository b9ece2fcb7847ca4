"""One call from a formulation to a result: starts, program, solver, model, certificate, within one wall budget."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from mmbn_opt.certificate import certify_run, reproved_bound
from mmbn_opt.exceptions import InputError, MissingDependencyError
from mmbn_opt.formulations.base import Formulation
from mmbn_opt.program import Program, ProgramKind, ProgramSize
from mmbn_opt.result import Certificate, Result, Seconds
from mmbn_opt.run import Run, RunCallback
from mmbn_opt.solvers.base import Solver, SolverResult
from mmbn_opt.solvers.registry import get_solver_class, solver_table
from mmbn_opt.status import SolutionStatus

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["AUTO_RULES", "AutoRule", "solve", "solvers"]


@dataclass(frozen=True)
class AutoRule:
    """One line of the table behind ``solver="auto"``."""

    kind: ProgramKind
    condition: str
    solver: str
    applies: Callable[[ProgramSize], bool] = field(default=lambda size: True, repr=False)


SMALL_ROW_FORM = 20_000
"""Non-zeros of the row form up to which HiGHS is done before another engine has warmed up (see docs: exact search)."""

AUTO_RULES: tuple[AutoRule, ...] = (
    AutoRule(
        ProgramKind.MIXED_INTEGER,
        f"at most {SMALL_ROW_FORM:,} non-zeros",
        "highs",
        lambda size: size.nonzeros <= SMALL_ROW_FORM,
    ),
    AutoRule(ProgramKind.IMPLICIT_CONCAVE, "any size", "branch_and_cut"),
    AutoRule(ProgramKind.MIXED_INTEGER, "any size", "highs"),
    AutoRule(ProgramKind.CONVEX, "any size", "convex"),
    AutoRule(ProgramKind.NONLINEAR, "no constraints", "lbfgs", lambda size: size.rows == 0),
    AutoRule(ProgramKind.NONLINEAR, "constraints", "exterior_penalty"),
)


_BY_OTHER_NAME: Mapping[tuple[Any, ...], str] = {
    ("highs", ProgramKind.CONVEX): "highs-lp",
    ("ipopt", ProgramKind.NONLINEAR): "ipopt-nlp",
}
"""One name for a library that meets two kinds of program through two adapters."""


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
            if rule.kind in formulation.emits and rule.applies(formulation.estimate_size(rule.kind)):
                return get_solver_class(rule.solver), rule.kind, f"auto: {rule.kind}, {rule.condition} -> {rule.solver}"
        raise InputError(f"No automatic rule fits {type(formulation).__name__}; name a solver.")
    solver = get_solver_class(_BY_OTHER_NAME.get((name, *formulation.emits), name))
    shared = formulation.emits & solver.accepts
    if not shared:
        raise InputError(
            f"{type(formulation).__name__} emits {sorted(map(str, formulation.emits))}, but {name!r} accepts "
            f"{sorted(map(str, solver.accepts))}. See mmbn_opt.solvers()."
        )
    return solver, min(shared, key=str), "named by the caller"


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
    validation: Any = None,
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
    validation : DiscreteDataset or float or None
        For parameter formulations: held-out data, or the share of the rows to hold out. The iterate that does best on
        them is returned.

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
        raise MissingDependencyError(f"Solver {solver_class.name!r} cannot be used here: {availability.reason}")
    formulation = _with_extras(formulation, validation, seed, threads)
    run = Run(formulation, time_limit, rel_gap, max(abs_gap, formulation.negligible_gap), callback, kind)
    size = formulation.estimate_size(kind)
    formulation.refuse_oversized(kind)
    seconds: dict[str, float] = {}
    program: Program | None = None
    answer: SolverResult | None = None
    try:
        run.offer_starts(starts, seed)
        seconds["heuristics"] = run.elapsed()
        if not (run.closed() or run.stop_requested or run.out_of_time()):
            program = formulation.build(kind)
            size = program.size
            seconds["build"] = run.elapsed() - seconds["heuristics"]
        if program is not None and not run.out_of_time():
            before = run.elapsed()
            answer = run.call(engine, program)
            seconds["solve"] = run.elapsed() - before
    except KeyboardInterrupt:
        run.interrupted = True
    return _finish(run, engine, availability.version or "", rule, program, size, answer, seconds, make)


def _with_extras(formulation: Formulation, validation: Any, seed: int, threads: int) -> Formulation:
    """The formulation with validation data and threads, where it has a use for them."""
    if validation is not None:
        watch = getattr(formulation, "with_validation", None)
        if watch is None:
            raise InputError(f"{type(formulation).__name__} has no use for validation data; leave validation out.")
        formulation = watch(validation, seed=seed)
    if threads > 1 and hasattr(formulation, "threads"):
        formulation = replace(formulation, threads=threads)  # type: ignore[call-arg]
    return formulation


def _configured(solver_class: type[Solver], base: Solver | None, settings: Mapping[str, Any]) -> Solver:
    return solver_class(**settings) if base is None else replace(base, **settings)


def _solution_status(run: Run) -> SolutionStatus:
    if run.best is None:
        return SolutionStatus.NO_SOLUTION
    return SolutionStatus.INFEASIBLE if run.best_violation > 0 else SolutionStatus.FEASIBLE


def _finish(
    run: Run,
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
    run.settle()
    solution = None if run.best is None else formulation.encode(run.best, run.kind)
    status = run.termination(answer)
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
            extra=() if program is None or solution is None else (run.check_vector(program, solution),),
            reproved=reproved_bound(answer.stats, formulation) if answer is not None else None,
        )
    stats = dict(answer.stats) if answer is not None else {}
    stats |= {"bound_source": run.bound_source, "incumbent_source": run.best_source}
    if answer is not None:
        stats["solver_trace"] = answer.trace
    return Result(
        model=run.best,
        certificate=certificate,
        termination_status=status,
        solution_status=_solution_status(run),
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
