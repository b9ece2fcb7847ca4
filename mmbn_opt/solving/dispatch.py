"""One call from a formulation to a result, in the foreground or in the background."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mmbn_opt._arguments import check_arguments, listed
from mmbn_opt._budget import Budget, OutOfTime, leaving_when
from mmbn_opt._lazy import delegate
from mmbn_opt.exceptions import InputError, MissingDependencyError
from mmbn_opt.formulations.base import Formulation
from mmbn_opt.formulations.given_program import GivenProgram
from mmbn_opt.programs.base import ProgramKind
from mmbn_opt.programs.choice import ChoiceProgram
from mmbn_opt.programs.mixed_integer import MixedIntegerProgram
from mmbn_opt.results.result import Result
from mmbn_opt.solvers.base import Resumable, Solver
from mmbn_opt.solvers.ending import Tolerances
from mmbn_opt.solvers.registry import get_solver_class, solver_name, solver_table
from mmbn_opt.solving._state import RunCallback, SolveState
from mmbn_opt.solving.auto import AUTO_RULES, AutoRule
from mmbn_opt.solving.given_starts import listed_starts
from mmbn_opt.solving.handle import Run
from mmbn_opt.solving.job import Job
from mmbn_opt.solving.settings import SolveSettings

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["choose_solver", "make_job", "solve", "solvers", "start"]


_BY_OTHER_NAME: Mapping[tuple[Any, ...], str] = {
    ("highs", ProgramKind.CONVEX): "highs_lp",
    ("copt", ProgramKind.CONVEX): "copt_cone",
    ("mosek", ProgramKind.CONVEX): "mosek_cone",
    ("clarabel", ProgramKind.QUADRATIC): "clarabel_qp",
    ("ipopt", ProgramKind.NONLINEAR): "ipopt_nlp",
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


def choose_solver(
    formulation: Formulation, solver: str | Solver, rules: Iterable[AutoRule] = AUTO_RULES
) -> tuple[type[Solver], ProgramKind, str]:
    """The class that will run, the kind of program it gets, and the rule that chose it.

    Parameters
    ----------
    formulation : Formulation
    solver : str or Solver
        A name, ``"auto"``, or a configured solver, which may be of a class that the registry does not know.
    rules : iterable of AutoRule

    Raises
    ------
    InputError
        For an unknown name, or where the solver accepts nothing that the formulation emits.
    """
    if isinstance(solver, Solver):
        name, found = solver.name, type(solver)
    elif solver == "auto":
        for rule in rules:
            if rule.chosen_for(formulation):
                return get_solver_class(rule.solver), rule.kind, f"auto: {rule.kind}, {rule.condition} -> {rule.solver}"
        raise InputError(f"No automatic rule fits {type(formulation).__name__}; name a solver.")
    else:
        name = solver_name(solver)
        found = get_solver_class(_BY_OTHER_NAME.get((name, *formulation.emits), name))
    shared = formulation.kinds & found.accepts
    if not shared:
        raise InputError(
            f"{_said_kinds(formulation)}, but {name!r} accepts {sorted(map(str, found.accepts))}; "
            f"{_who_accepts(formulation)}. See mmbn_opt.solvers()."
        )
    return found, min(shared, key=str), "named by the caller"


def _said_kinds(formulation: Formulation) -> str:
    """What a formulation emits, and that its constraints leave nothing else where it is so."""
    constrained = formulation.kinds < formulation.emits
    name = type(formulation).__name__ + (" with these constraints" if constrained else "")
    return f"{name} emits {sorted(map(str, formulation.kinds))}"


def _who_accepts(formulation: Formulation) -> str:
    """Solvers here that can take a formulation."""
    fit = [info.name for info in solver_table() if info.available and formulation.kinds & info.accepts]
    return f"{', '.join(fit) if fit else 'no solver here'} can"


def solve(
    formulation: Formulation | MixedIntegerProgram | ChoiceProgram,
    solver: str | Solver = "auto",
    *,
    time_limit: float | None = None,
    rel_gap: float | None = None,
    abs_gap: float | None = None,
    threads: int | None = None,
    seed: int | None = None,
    verbose: bool | None = None,
    options: Mapping[str, Any] | None = None,
    callback: RunCallback | None = None,
    starts: Any = None,
    validation: Any = None,
    checkpoint: str | Path | None = None,
    cluster: Any = None,
) -> Result:
    """Solve a formulation, or a program of one's own, and certify the answer.

    One wall-clock budget covers building, start heuristics, solving and polishing. A KeyboardInterrupt ends the run
    with status INTERRUPTED; the best model and the bound so far are returned.

    Parameters
    ----------
    formulation : Formulation, MixedIntegerProgram or ChoiceProgram
        A program is solved as it is, a minimum; the model is then its vector (`GivenProgram`).
    solver : str or Solver
        Name (see `mmbn_opt.solvers`; hyphens count as underscores), ``"auto"``, or a configured solver. What is given
        here wins over what a configured solver says; what is not given (None) stays as the solver says, and is else the
        default below.
    time_limit : float or None
        Seconds; without one the run goes on to proof.
    rel_gap, abs_gap : float or None
        Stop when the proved gap is within either. By default 0, which asks for a proof of optimality.
    threads, seed : int or None
        By default 1 and 0. Equal input, seed and threads give the same answer when the run ends by proof.
    verbose : bool or None
        Send each better bound, and the solver's own log where it has one, to ``logging`` at INFO; by default not.
    options : mapping or None
        The solver's own options, in place of a configured solver's.
    callback : callable or None
        Called with each `TraceRecord`; return True to stop.
    starts : start, iterable of starts or None
        To use beside the formulation's own heuristics; an empty list switches these off. For a structure a start is a
        `Structure`, a network, a `Result`, or a list of (parent, child) names: matched by name, moved into the model
        class as the heuristics' own are, with parameters made anew. For parameters it is a network on their structure.
    validation : DiscreteDataset or float or None
        For parameter formulations: held-out data, or the share of the rows to hold out. The iterate that does best on
        them is returned.
    checkpoint : str, Path or None
        A folder that keeps the tree of a `branch_and_cut` search as it grows. The same call again, whatever ended the
        last one, goes on from there; `load_run` looks into it. Another problem, or other tolerances, are refused.
    cluster : distributed.Client, str or None
        A Dask cluster whose workers search the tree of a `branch_and_cut` search, or its scheduler's address (extra
        `dask`). Workers may come, go and be lost at any time.

    Returns
    -------
    Result
        Always with a model, unless the problem is infeasible. Its `settings` are those that were used.

    Raises
    ------
    InputError
        For a setting that no solver can keep to, by name and value, before any work.

    Examples
    --------
    >>> import mmbn_opt as mm
    >>> data = mm.DiscreteDataset.from_arrays([["a", "u"], ["a", "v"], ["b", "u"], ["b", "v"]] * 5, [0, 1, 1, 0] * 5)
    >>> result = mm.solve(mm.SoftMarginStructure(data, max_parents=2))
    >>> result.termination_status, result.certificate.ok
    (TerminationStatus.OPTIMAL, True)
    """
    check_arguments(solve, locals())
    settings = SolveSettings(time_limit, rel_gap, abs_gap, threads, seed, verbose, options)
    return make_job(
        formulation, solver, settings, callback=callback, starts=starts, validation=validation, checkpoint=checkpoint,
        cluster=cluster,
    ).execute()  # fmt: skip


def start(
    formulation: Formulation | MixedIntegerProgram | ChoiceProgram,
    solver: str | Solver = "auto",
    *,
    time_limit: float | None = None,
    rel_gap: float | None = None,
    abs_gap: float | None = None,
    threads: int | None = None,
    seed: int | None = None,
    verbose: bool | None = None,
    options: Mapping[str, Any] | None = None,
    callback: RunCallback | None = None,
    starts: Any = None,
    validation: Any = None,
    checkpoint: str | Path | None = None,
    cluster: Any = None,
) -> Run:
    """Solve a formulation in the background; return a handle that can be looked at and stopped.

    The parameters are those of `solve`, and so is what is computed. Wrong input raises here; what goes wrong later is
    raised by `Run.result`. `callback` is called in the thread of the run. Solvers that would hold the interpreter work
    in a process of their own.

    Returns
    -------
    Run

    Examples
    --------
    >>> import mmbn_opt as mm
    >>> data = mm.DiscreteDataset.from_arrays([["a", "u"], ["a", "v"], ["b", "u"], ["b", "v"]] * 5, [0, 1, 1, 0] * 5)
    >>> with mm.start(mm.SoftMarginStructure(data, max_parents=2), time_limit=60) as run:
    ...     result = run.result()
    >>> run.done(), run.best() is result.model, len(run.trace) == len(result.trace)
    (True, True, True)
    """
    check_arguments(start, locals())
    settings = SolveSettings(time_limit, rel_gap, abs_gap, threads, seed, verbose, options)
    return Run(
        make_job(
            formulation,
            solver,
            settings,
            callback=callback,
            starts=starts,
            validation=validation,
            checkpoint=checkpoint,
            cluster=cluster,
        )
    )


def make_job(
    formulation: Formulation | MixedIntegerProgram | ChoiceProgram,
    solver: str | Solver,
    settings: SolveSettings,
    *,
    callback: RunCallback | None = None,
    starts: Any = None,
    validation: Any = None,
    checkpoint: str | Path | None = None,
    only_given_starts: bool = False,
    cluster: Any = None,
) -> Job:
    """Check everything that can be checked before the work begins; the clock of the budget starts here.

    Parameters
    ----------
    formulation, solver, callback, starts, validation, checkpoint, cluster
        As in `solve`.
    settings : SolveSettings
    only_given_starts : bool
        Whether the starts are so good that the formulation's heuristics are left out, and the solver looks less for
        some of its own.
    """
    if isinstance(formulation, (MixedIntegerProgram, ChoiceProgram)):
        formulation = GivenProgram(formulation)
    _refuse_undeclared(formulation, "title", "emits", "sense", "bound_kind")
    if isinstance(solver, Solver):
        _refuse_undeclared(solver, "name", "title", "licence", "accepts")
    given_settings = settings.used(solver)
    budget = Budget(given_settings["time_limit"])
    if validation is not None:  # before a solver is chosen: not every kind of program lets held-out rows choose
        formulation = formulation.with_validation(validation, seed=given_settings["seed"])
    with leaving_when(budget.over):
        try:
            solver_class, kind, rule = choose_solver(formulation, solver)
        except OutOfTime:
            # The size would take longer to tell than there is time; no program will be built either.
            unconditional = [rule for rule in AUTO_RULES if rule.unconditional]
            solver_class, kind, rule = choose_solver(formulation, solver, unconditional)
    engine = settings.of(solver if isinstance(solver, Solver) else solver_class())
    availability = solver_class.availability()
    if not availability.available:
        raise MissingDependencyError(f"Solver {solver_class.name!r} cannot be used here: {availability.reason}")
    if only_given_starts:
        engine = engine.beside_good_starts()
    if engine.threads > 1:
        formulation = formulation.with_threads(engine.threads)
    tolerances = Tolerances.of(engine, scale=0.0)
    state = SolveState(formulation, budget, tolerances, callback, kind, verbose=engine.verbose)
    size = None
    with leaving_when(budget.over), suppress(OutOfTime):
        size = formulation.estimate_size(kind)
        formulation.refuse_oversized(kind)
    used = SolveSettings().used(engine)  # as it runs, with what was added beside good starts
    workers = None if cluster is None else _workers(cluster, engine)
    kept = None if checkpoint is None else _kept(checkpoint, engine)
    given = listed_starts(starts)
    version = availability.version or ""
    return Job(state, engine, version, rule, size, used, given, engine.seed, kept, workers, only_given_starts)


def _refuse_undeclared(own: Formulation | Solver, *names: str) -> None:
    """A class of the caller's own that does not say all that it has to."""
    if missing := [name for name in names if not hasattr(own, name)]:
        raise InputError(
            f"{type(own).__name__} has to say [{listed(missing)}] as class attributes; see the pages on problems and "
            "solvers of your own."
        )


def _workers(cluster: Any, engine: Solver) -> Any:
    """The workers of a cluster."""
    if not isinstance(engine, Resumable):
        raise InputError(
            f"cluster must be left out with {engine.name!r}, which has no tree that others could search; "
            'solver="branch_and_cut" does.'
        )
    return delegate("open_cluster")(cluster)


def _kept(path: str | Path, engine: Solver) -> Any:
    """The checkpoint, held."""
    if not isinstance(engine, Resumable):
        raise InputError(
            f"checkpoint must be left out with {engine.name!r}, which keeps no tree that it could go on with; "
            'solver="branch_and_cut" does.'
        )
    return delegate("open_checkpoint")(path)
