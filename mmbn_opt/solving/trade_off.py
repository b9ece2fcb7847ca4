"""The exact trade-off between a score and a limit: the best structure at every limit, each with its bound."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from mmbn_opt._arguments import check_arguments, checked_number, listed, shown
from mmbn_opt._budget import Budget, noting_signals, now, stop_asked, until_interrupted
from mmbn_opt._lazy import delegate
from mmbn_opt.exceptions import InfeasibleError, InputError, WrongTypeError
from mmbn_opt.formulations.base import Formulation
from mmbn_opt.formulations.structure.parent_sets import ParentSetFormulation
from mmbn_opt.networks.constraints import StructureConstraint
from mmbn_opt.networks.structure import Structure
from mmbn_opt.results.bounds import ObjectiveBounds
from mmbn_opt.results.result import Result
from mmbn_opt.results.status import TerminationStatus
from mmbn_opt.solvers.base import Solver
from mmbn_opt.solving._scouting import scouted, structure_of
from mmbn_opt.solving.dispatch import make_job
from mmbn_opt.solving.settings import SolveSettings

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["TradeOff", "TradeOffPoint", "trade_off"]

SCOUTING = 0.1
"""Share of the time limit that looking for starts of all points may take at most; it ends by count long before."""

Limit = Callable[[Any], StructureConstraint]


@dataclass(frozen=True, eq=False)
class TradeOffPoint:
    """What is known at one limit.

    Parameters
    ----------
    limit : float
    constraint : StructureConstraint
    model : BayesianNetwork, Structure or None
        The best that was found under the limit; None where nothing keeps it.
    bounds : ObjectiveBounds
    status : TerminationStatus
        INFEASIBLE where nothing keeps the limit.
    seconds : float
        0 where a looser limit had told all.
    """

    limit: float
    constraint: StructureConstraint
    model: Any
    bounds: ObjectiveBounds
    status: TerminationStatus
    seconds: float


@dataclass(frozen=True, eq=False)
class TradeOff:
    """A score against a limit, with a bound at every point.

    Parameters
    ----------
    formulation : Formulation
        Without the limit.
    points : tuple of TradeOffPoint
        From the tightest limit to the loosest.
    interrupted : bool
        Whether points are missing because of Ctrl-C.
    """

    formulation: Formulation
    points: tuple[TradeOffPoint, ...] = field(repr=False)
    interrupted: bool = False

    def at(self, limit: float) -> TradeOffPoint:
        """The point of a limit.

        Raises
        ------
        InputError
            For a limit that was not asked for.
        """
        for point in self.points:
            if point.limit == limit:
                return point
        raise InputError(
            f"The limit {shown(limit)} was not asked for; there are [{listed(p.limit for p in self.points)}]."
        )

    def to_frame(self) -> "pd.DataFrame":
        """One row a limit: ``limit``, ``primal_bound``, ``dual_bound``, ``gap_rel``, ``edges``, ``status``, seconds."""
        import pandas as pd

        rows = []
        for point in self.points:
            structure = None if point.model is None else structure_of(point.model)
            rows.append(
                {
                    "limit": point.limit,
                    "primal_bound": point.bounds.primal_bound,
                    "dual_bound": point.bounds.dual_bound,
                    "gap_rel": point.bounds.gap_rel,
                    "edges": None if structure is None else len(structure.edges),
                    "status": str(point.status),
                    "seconds": point.seconds,
                }
            )
        return pd.DataFrame(rows)

    def plot(self, ax: Any = None) -> Any:
        """The curve with its bounds, drawn with matplotlib (extra ``plot``)."""
        return delegate("plot_trade_off")(self, ax)


def trade_off(
    formulation: Formulation,
    limit: Limit,
    values: Iterable[float],
    *,
    solver: str | Solver = "auto",
    time_limit: float | None = None,
    rel_gap: float | None = None,
    options: Mapping[str, Any] | None = None,
) -> TradeOff:
    """The best structure at each of several limits, from the loosest to the tightest.

    What a looser limit has proved is a bound for a tighter one, and a structure that keeps a tighter limit than asked
    for is the best there too, so that many points cost nothing; the others begin at the structure before.

    Parameters
    ----------
    formulation : Formulation
        A structure formulation, with or without constraints.
    limit : callable
        Makes the constraint of a value: ``mm.MaxEdges``, ``mm.MaxFeatures``, ``mm.MaxParameters``, or
        ``lambda money: mm.FeatureBudget(costs, money)``. What keeps a value has to keep every larger one.
    values : iterable of float
    solver, rel_gap, options
        As in `solve`.
    time_limit : float or None
        Seconds for the whole curve; what a point leaves is for those that follow.

    Returns
    -------
    TradeOff

    Examples
    --------
    >>> import mmbn_opt as mm
    >>> data = mm.DiscreteDataset.from_arrays([["a", "u"], ["a", "v"], ["b", "u"], ["b", "v"]] * 5, [0, 1, 1, 0] * 5)
    >>> curve = mm.trade_off(mm.SoftMarginStructure(data), mm.MaxEdges, [0, 1, 2, 3, 4])
    >>> curve.to_frame()[["limit", "primal_bound"]].round(2).to_dict("list")
    {'limit': [0, 1, 2, 3, 4], 'primal_bound': [0.0, 0.0, 35.84, 35.84, 35.84]}
    """
    check_arguments(trade_off, locals())
    if not isinstance(formulation, ParentSetFormulation):
        raise WrongTypeError(f"{type(formulation).__name__} takes no limits on a structure; structure formulations do.")
    asked = sorted({checked_number("A value of trade_off", value, expected="a number >= 0") for value in values})
    if not asked:
        raise InputError("values must hold at least one number.")
    limits = [(value, limit(value)) for value in asked]
    for _, constraint in limits:
        if not isinstance(constraint, StructureConstraint):
            raise WrongTypeError(f"limit must make a constraint of a value, such as MaxEdges; got {shown(constraint)}.")
        constraint.check(formulation.model_nodes)
    if isinstance(solver, Solver) and time_limit is None:
        time_limit = solver.time_limit
    settings = SolveSettings(rel_gap=rel_gap, options=options)
    with noting_signals():
        return _curve(formulation, limits, solver, settings, Budget(time_limit))


def _curve(
    formulation: ParentSetFormulation,
    limits: list[tuple[float, StructureConstraint]],
    solver: str | Solver,
    settings: SolveSettings,
    budget: Budget,
) -> TradeOff:
    """Inside a scope in which Ctrl-C is noted."""
    problems = [formulation.with_constraints(constraint) for _, constraint in limits]
    end = budget.within(SCOUTING)
    starts: list[Structure | None] = [None] * len(problems)
    with until_interrupted() as cut:
        starts = scouted(problems, lambda: stop_asked() or (end is not None and now() >= end))
    found: list[TradeOffPoint] = []
    interrupted = bool(cut)
    for place in reversed(range(len(limits))):
        value, constraint = limits[place]
        before = found[-1] if found else None
        point = None if before is None else _known(before, value, constraint, formulation)
        if point is None:
            seconds = None if budget.limit is None else max(budget.left(), 0.0) / (place + 1)
            limited = replace(settings, time_limit=0.0 if interrupted else seconds)
            known = [m for m in (starts[place], None if before is None else before.model) if m is not None]
            point = _solved(problems[place], value, constraint, before, solver, limited, known)
        found.append(point)
        interrupted = interrupted or point.status is TerminationStatus.INTERRUPTED
        if interrupted:
            break
    return TradeOff(formulation, _risen(found[::-1]), interrupted)


def _known(
    before: TradeOffPoint, value: float, constraint: StructureConstraint, formulation: ParentSetFormulation
) -> TradeOffPoint | None:
    """The point, where a looser limit tells all of it."""
    kept = before.model is None or constraint.objection(structure_of(before.model), formulation.model_nodes) is None
    return replace(before, limit=value, constraint=constraint, seconds=0.0) if kept else None


def _solved(
    problem: ParentSetFormulation,
    value: float,
    constraint: StructureConstraint,
    before: TradeOffPoint | None,
    solver: str | Solver,
    settings: SolveSettings,
    known: list[Any],
) -> TradeOffPoint:
    """The point by a search that begins at structures of its neighbours."""
    try:
        # Where neighbours' structures are known, heuristics find little.
        job = make_job(problem, solver, settings, starts=known or None, only_given_starts=bool(known))
        result: Result = job.execute()
    except InfeasibleError:
        nothing = ObjectiveBounds(problem.sense, None, None)
        return TradeOffPoint(value, constraint, None, nothing, TerminationStatus.INFEASIBLE, 0.0)
    bounds, status = result.bounds, result.termination_status
    if before is not None and before.bounds.dual_bound is not None and bounds.better_dual(before.bounds.dual_bound):
        bounds = ObjectiveBounds(bounds.sense, bounds.primal_bound, before.bounds.dual_bound)
    model = result.model if bounds.primal_bound is not None else None
    return TradeOffPoint(value, constraint, model, bounds, status, result.seconds.total)


def _risen(points: list[TradeOffPoint]) -> tuple[TradeOffPoint, ...]:
    """The points, tightest first, where a looser limit is never worse off than a tighter one."""
    risen: list[TradeOffPoint] = []
    for point in points:
        best = risen[-1] if risen else None
        primal = None if best is None else best.bounds.primal_bound
        if best is not None and primal is not None and point.bounds.better_primal(primal):
            bounds = ObjectiveBounds(point.bounds.sense, primal, point.bounds.dual_bound)
            point = replace(point, model=best.model, bounds=bounds)
        risen.append(point)
    return tuple(risen)
