"""One point of a trade-off curve: taken from its folder where it is proved there, searched otherwise."""

from dataclasses import dataclass

import numpy as np

from mmbn_opt._lazy import delegate
from mmbn_opt.exceptions import InfeasibleError, InputError
from mmbn_opt.formulations.structure.parent_sets import ParentSetFormulation
from mmbn_opt.networks.constraints import StructureConstraint
from mmbn_opt.networks.structure import Structure
from mmbn_opt.results.bounds import ObjectiveBounds
from mmbn_opt.results.kept_curve import KeptCurve, KeptPoint, Parents
from mmbn_opt.results.result import Result
from mmbn_opt.results.status import TerminationStatus
from mmbn_opt.solvers.base import Resumable, Solver
from mmbn_opt.solvers.ending import OBJECTIVE_TOLERANCE
from mmbn_opt.solving._scouting import structure_of
from mmbn_opt.solving.dispatch import make_job
from mmbn_opt.solving.settings import SolveSettings
from mmbn_opt.solving.trade_off_points import TradeOffPoint

__all__ = ["PointSearch", "structure_kept"]


def structure_kept(problem: ParentSetFormulation, parents: Parents) -> Structure:
    """A structure that was kept."""
    *features, last = problem.node_names
    return Structure(tuple(features), last, parents)


@dataclass(frozen=True)
class PointSearch:
    """A point that no looser limit tells."""

    problem: ParentSetFormulation
    value: float
    constraint: StructureConstraint
    before: TradeOffPoint | None
    start: Structure | None
    place: int
    kept: KeptCurve | None

    def point(self, solver: str | Solver, settings: SolveSettings) -> TradeOffPoint:
        """As it was proved by an earlier call, or by a search that begins at structures of its neighbours."""
        earlier = None if self.kept is None else self.kept.point(self.place)
        told = None if earlier is None else self._told(earlier)
        if earlier is not None and told is not None and earlier.closed:
            return told
        point = self._solved(solver, settings, told)
        if self.kept is not None:
            parents = None if point.model is None else structure_of(point.model).parents
            bounds = point.bounds
            kept = KeptPoint(parents, bounds.primal_bound, bounds.dual_bound, point.status, point.seconds)
            self.kept.keep(self.place, kept)
        return point

    def _told(self, earlier: KeptPoint) -> TradeOffPoint:
        """What an earlier call has told, its value recomputed."""
        model, primal = None, None
        if earlier.parents is not None:
            eta = np.zeros(self.problem.candidates.n_columns)
            try:
                eta[self.problem.choice_of(structure_kept(self.problem, earlier.parents))] = 1.0
            except InputError as error:
                raise InputError(f"checkpoint: what it keeps at {self.value} is no answer. {error}") from error
            model, primal = self.problem.recover(eta), earlier.primal_bound
            worth = self.problem.evaluate(model)
            if primal is None or abs(worth - primal) > OBJECTIVE_TOLERANCE * max(1.0, abs(worth)):
                raise InputError(
                    f"checkpoint: the structure that it keeps at {self.value} is worth {worth}, and not {primal}. Give "
                    "another folder."
                )
        bounds = ObjectiveBounds(self.problem.sense, primal, earlier.dual_bound)
        return TradeOffPoint(self.value, self.constraint, model, bounds, earlier.status, earlier.seconds)

    def _solved(self, solver: str | Solver, settings: SolveSettings, told: TradeOffPoint | None) -> TradeOffPoint:
        others = [point.model for point in (told, self.before) if point is not None]
        known = [model for model in (self.start, *others) if model is not None]
        spent = 0.0 if told is None else told.seconds
        try:
            # Where neighbours' structures are known, heuristics find little.
            alone = bool(known) if self.kept is None else self.kept.alone(self.place, bool(known))
            job = make_job(self.problem, solver, settings, starts=known or None, only_given_starts=alone)
            if self.kept is not None and isinstance(job.engine, Resumable):
                job.checkpoint = delegate("open_checkpoint")(self.kept.tree_of(self.place))
            result: Result = job.execute()
        except InfeasibleError:
            nothing = ObjectiveBounds(self.problem.sense, None, None)
            return TradeOffPoint(self.value, self.constraint, None, nothing, TerminationStatus.INFEASIBLE, spent)
        bounds, status = result.bounds, result.termination_status
        for point in (told, self.before):
            dual = None if point is None else point.bounds.dual_bound
            if dual is not None and bounds.better_dual(dual):
                bounds = ObjectiveBounds(bounds.sense, bounds.primal_bound, dual)
        model = result.model if bounds.primal_bound is not None else None
        return TradeOffPoint(self.value, self.constraint, model, bounds, status, spent + result.seconds.total)
