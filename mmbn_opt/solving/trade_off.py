"""The exact trade-off between a score and a limit: the best structure at every limit, each with its bound."""

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from mmbn_opt._arguments import check_arguments, checked_number, shown
from mmbn_opt._budget import Budget, OutOfTime, leaving_when, noting_signals, now, stop_asked, until_interrupted
from mmbn_opt._lazy import delegate
from mmbn_opt.exceptions import InfeasibleError, InputError, WrongTypeError
from mmbn_opt.formulations.base import Formulation
from mmbn_opt.formulations.structure.parent_sets import ParentSetFormulation
from mmbn_opt.networks.constraints import StructureConstraint
from mmbn_opt.networks.structure import Structure
from mmbn_opt.results.bounds import ObjectiveBounds
from mmbn_opt.results.kept_curve import KeptCurve
from mmbn_opt.results.status import TerminationStatus
from mmbn_opt.solvers.base import Solver
from mmbn_opt.solving._point_search import PointSearch, structure_kept
from mmbn_opt.solving._scouting import scouted, structure_of
from mmbn_opt.solving.settings import SolveSettings
from mmbn_opt.solving.trade_off_points import TradeOff, TradeOffPoint

__all__ = ["trade_off"]

SCOUTING = 0.1
"""Share of the time limit that looking for starts of all points may take at most; it ends by count long before."""

Limit = Callable[[Any], StructureConstraint]


def trade_off(
    formulation: Formulation,
    limit: Limit,
    values: Iterable[float],
    *,
    solver: str | Solver = "auto",
    time_limit: float | None = None,
    rel_gap: float | None = None,
    options: Mapping[str, Any] | None = None,
    checkpoint: str | Path | None = None,
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
    checkpoint : str, Path or None
        A folder that keeps the points and, with `branch_and_cut`, the tree of each search as it grows. The same call
        again, whatever ended the last one, takes from there what is proved and goes on with the others; the time limit
        is for the call. Another problem, other values, limits, gaps or another solver are refused.

    Returns
    -------
    TradeOff

    Raises
    ------
    InputError
        For what is wrong with an argument; for a checkpoint of another curve, by what differs, or one that is in use.
    FormatError
        For a checkpoint whose ``curve.json`` is none.

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
    problems = [formulation.with_constraints(constraint) for _, constraint in limits]
    with noting_signals():
        budget = Budget(time_limit)
        kept = None if checkpoint is None else delegate("open_curve")(checkpoint)
        try:
            if kept is not None:
                told = [(*limit, problem) for limit, problem in zip(limits, problems, strict=True)]
                kept = _bound(kept, formulation, solver, settings, told, budget)
            return _curve(formulation, limits, problems, solver, settings, budget, kept)
        finally:
            if kept is not None:
                kept.close()


def _bound(
    kept: KeptCurve,
    formulation: ParentSetFormulation,
    solver: str | Solver,
    settings: SolveSettings,
    limits: list[tuple[float, StructureConstraint, ParentSetFormulation]],
    budget: Budget,
) -> KeptCurve | None:
    """The folder, once it is for this curve; None where nothing can be kept: no time, or no structure at all."""
    used = settings.used(solver) | {"solver": solver if isinstance(solver, str) else solver.name}
    with leaving_when(budget.over), suppress(OutOfTime, InfeasibleError):
        kept.bind(formulation, used, limits)
        return kept
    kept.close()
    return None


def _curve(
    formulation: ParentSetFormulation,
    limits: list[tuple[float, StructureConstraint]],
    problems: list[ParentSetFormulation],
    solver: str | Solver,
    settings: SolveSettings,
    budget: Budget,
    kept: KeptCurve | None,
) -> TradeOff:
    """Inside a scope in which Ctrl-C is noted."""
    starts, interrupted = _starts(problems, budget, kept)
    found: list[TradeOffPoint] = []
    for place in reversed(range(len(limits))):
        value, constraint = limits[place]
        before = found[-1] if found else None
        point = None if before is None else _known(before, value, constraint, formulation)
        if point is None:
            seconds = None if budget.limit is None else max(budget.left(), 0.0) / (place + 1)
            limited = replace(settings, time_limit=0.0 if interrupted else seconds)
            search = PointSearch(problems[place], value, constraint, before, starts[place], place, kept)
            point = search.point(solver, limited)
        found.append(point)
        interrupted = interrupted or point.status is TerminationStatus.INTERRUPTED
        if interrupted:
            break
    return TradeOff(formulation, _risen(found[::-1]), interrupted)


def _starts(
    problems: list[ParentSetFormulation], budget: Budget, kept: KeptCurve | None
) -> tuple[list[Structure | None], bool]:
    """Where the searches begin, and whether Ctrl-C came meanwhile."""
    if kept is not None and (known := kept.starts) is not None:
        return [None if ps is None else structure_kept(p, ps) for p, ps in zip(problems, known, strict=True)], False
    end = budget.within(SCOUTING)
    starts: list[Structure | None] = [None] * len(problems)
    with until_interrupted() as cut:
        starts = scouted(problems, lambda: stop_asked() or (end is not None and now() >= end))
    if kept is not None and not cut and (end is None or now() < end):  # those of a look that was cut off are worth less
        kept.keep_starts([None if start is None else start.parents for start in starts])
    return starts, bool(cut)


def _known(
    before: TradeOffPoint, value: float, constraint: StructureConstraint, formulation: ParentSetFormulation
) -> TradeOffPoint | None:
    """The point, where a looser limit tells all of it."""
    kept = before.model is None or constraint.objection(structure_of(before.model), formulation.model_nodes) is None
    return replace(before, limit=value, constraint=constraint, seconds=0.0) if kept else None


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
