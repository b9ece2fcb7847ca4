"""SCIP's side of a run on a choice program: loss columns, a constraint handler, and a heuristic that repairs losses."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..._arrays import FloatArray
from ..._budget import Budget
from ...programs.choice import ChoiceProgram, ConcaveTerm
from ...programs.lagrangian import find_hub
from ...programs.mixed_integer import MixedIntegerProgram
from ..hosting.link import EngineAnswer, EngineJob, EngineLink
from ..mixed_integer.scip_engine import STOPPED_WHILE_BUILDING, Session, open_session
from .branch_and_cut.clusters import ClusterSeparator

__all__ = ["run"]

SINGLE_SAMPLES = 600
"""Merged samples up to which each has a loss column of its own."""

FEW_GROUPS = 24

TOLERANCE = 1e-6
"""Relative violation at which a cut is added: above the tolerance that SCIP's linear programs keep."""

_KEEP_CORRECT = {
    # Rows to come may be violated by what these would fix or identify.
    "misc/usesymmetry": 0,
    "misc/allowstrongdualreds": False,
    "misc/allowweakdualreds": False,
    # The value of a column that is a sum of others cannot be set in a solution.
    "presolving/donotmultaggr": True,
}


@dataclass
class Cuts:
    """What a point violates, in plain rows over the structure columns and one loss column."""

    program: ChoiceProgram
    term: ConcaveTerm | None
    seconds_left: Callable[[], float] = lambda: math.inf
    counts: dict[str, int] = field(default_factory=lambda: {"term_cuts": 0, "cluster_cuts": 0, "side_cuts": 0})

    def __post_init__(self) -> None:
        self.hub = find_hub(self.program.offsets, self.program.parents)
        linked = self.hub is not None and self.program.A.shape[0] > 0
        hub = self.hub if linked else None
        self.separator = ClusterSeparator(self.program.offsets, self.program.parents, hub, self.seconds_left)
        self.every_node = ClusterSeparator(self.program.offsets, self.program.parents, None)
        self.upper = np.zeros(0) if self.term is None else self.term.upper
        self.slack = TOLERANCE * np.maximum(1.0, np.abs(self.upper))

    def losses(self, x: FloatArray) -> FloatArray:
        """What each group loses at `x`."""
        return np.zeros(0) if self.term is None else self.upper - self.term.values(x)

    def value(self, point: FloatArray) -> float:
        """Objective of structure columns followed by losses."""
        n = self.program.n_columns
        constant = self.program.offset - float(self.upper.sum())
        return float(self.program.c @ point[:n]) + float(point[n:].sum()) + constant

    def is_feasible(self, x: FloatArray, losses: FloatArray) -> bool:
        """Whether an integral point is a choice that will do, and its losses are not understated."""
        choice = self.program.choice(x)
        will_do = self.program.is_acyclic(choice) and self.program.keeps_side(choice)
        return will_do and bool((losses >= self.losses(x) - self.slack).all())

    def violated(self, x: FloatArray, losses: FloatArray) -> list[tuple[FloatArray, int, float]]:
        """Rows ``coefficients . x + loss[group] >= side`` violated at the point; group -1: no loss."""
        rows: list[tuple[FloatArray, int, float]] = []
        members = self.separator.separate(x)
        if not members and np.abs(x - np.round(x)).max() <= TOLERANCE:
            members = self._cyclic_core(x)
        rows += [self._cluster(m) for m in members]
        self.counts["cluster_cuts"] += len(members)
        if self.program.side is not None:
            side = [self.program.side.row(wanted) for wanted in self.program.side.violated(x, TOLERANCE)]
            rows += [(coefficients, -1, least) for coefficients, least in side]
            self.counts["side_cuts"] += len(side)
        if self.term is not None:
            cuts = self.term.cuts(x, lambda values: np.flatnonzero(self.upper - values > losses + self.slack))
            sides = self.upper[cuts.groups] - cuts.intercepts
            pieces = zip(cuts.gradients, cuts.groups, sides, strict=True)
            rows += [(row, int(g), float(side)) for row, g, side in pieces]
            self.counts["term_cuts"] += len(cuts.groups)
        return rows

    def _cluster(self, members: NDArray[np.bool_]) -> tuple[FloatArray, int, float]:
        """Row of a cluster in the one of its two forms with fewer columns: that with a parent outside, or without."""
        outside = self.every_node.row(members)
        rest = members[self.program.owner] - outside
        if rest.sum() < outside.sum():
            return -rest, -1, 1.0 - float(members.sum())
        return outside, -1, 1.0

    def _cyclic_core(self, x: FloatArray) -> list[NDArray[np.bool_]]:
        """The nodes that no order can place in an integral choice, each with a parent among the others."""
        edges = self.program.parents[self.program.choice(x)]
        left = np.ones(self.program.n_nodes, dtype=bool)
        while (free := left & ~edges[:, left].any(axis=1)).any():
            left &= ~free
        return [left] if left.any() else []


def regroup(term: ConcaveTerm | None, groups: int | None) -> ConcaveTerm | None:
    """As many groups as asked for; else single samples where they are few."""
    if term is None:
        return None
    if groups is None:
        groups = term.n_parts if term.n_parts <= SINGLE_SAMPLES else FEW_GROUPS
    return term.regrouped(groups)


def explicit_rows(program: ChoiceProgram) -> MixedIntegerProgram:
    """One row a node, the program's own and its side constraints'; the offset stands for the most the term can be.

    So the rows alone bound the optimum.
    """
    n, nodes = program.n_columns, program.n_nodes
    choose = sp.csr_array((np.ones(n), (program.owner, np.arange(n))), shape=(nodes, n))
    rows, upper = program.A, program.row_upper
    if program.side is not None:
        rows = sp.vstack([rows, sp.csr_array(program.side.rows)], format="csr")
        upper = np.concatenate([upper, program.side.upper])
    return MixedIntegerProgram(
        c=program.c,
        A=sp.csr_array(sp.vstack([choose, rows], format="csr")),
        row_lower=np.concatenate([np.ones(nodes), np.full(len(upper), -np.inf)]),
        row_upper=np.concatenate([np.ones(nodes), upper]),
        col_lower=np.zeros(n),
        col_upper=np.ones(n),
        integrality=np.ones(n, dtype=bool),
        offset=program.offset - program.most,
    ).canonical()


def run(job: EngineJob[ChoiceProgram], link: EngineLink) -> EngineAnswer:
    """The engine: runs in a thread of the user's process or in a child process."""
    program = job.program
    options = dict(job.options)
    term = regroup(program.term, options.pop("groups", None))
    cuts = Cuts(program, term, Budget(job.time_left()).left)
    # Linear programs are kept tighter than cuts are asked for: else a cut that is there could be found again.
    job = replace(job, options={**_KEEP_CORRECT, **options}, feasibility_tol=min(job.feasibility_tol, TOLERANCE / 10))
    session = open_session(job, explicit_rows(program), link)
    if session is None:
        return STOPPED_WHILE_BUILDING
    model = session.model
    losses = [model.addVar(lb=0.0, obj=1.0, name=f"loss_{g}") for g in range(len(cuts.upper))]
    _attach(session, cuts, losses, link)
    start = None if job.start is None else np.concatenate([job.start, cuts.losses(job.start)])
    answer = session.finish([*session.columns, *losses], start)
    return replace(answer, stats={"groups": len(losses), **cuts.counts})


def _attach(session: Session, cuts: Cuts, losses: list[Any], link: EngineLink) -> None:
    """Give SCIP the constraint handler and the heuristic."""
    from pyscipopt import SCIP_HEURTIMING, SCIP_LOCKTYPE, SCIP_RESULT, Conshdlr, Heur

    columns = session.columns
    waiting: list[FloatArray] = []
    seen: set[bytes] = set()

    def guarded(work: Callable[[], dict[str, Any]], otherwise: int) -> dict[str, Any]:
        """An exception that left a callback would take the incumbent with it."""
        if session.watch.error is None:
            try:
                return work()
            except BaseException as error:
                session.watch.error = error
        session.interrupt()
        return {"result": otherwise}

    class Handler(Conshdlr):  # type: ignore[misc]
        """Knows acyclicity and the losses."""

        def point(self, solution: Any) -> tuple[FloatArray, FloatArray]:
            value = self.model.getSolVal
            x = np.array([value(solution, column) for column in columns])
            return np.clip(x, 0.0, 1.0), np.array([value(solution, column) for column in losses])

        def separate(self, otherwise: int) -> dict[str, Any]:
            result = otherwise
            x, lost = self.point(None)
            self.round(x)
            for coefficients, group, side in cuts.violated(x, lost):
                row = self.model.createEmptyRowUnspec("cut", lhs=side, rhs=None, removable=True)
                self.model.cacheRowExtensions(row)
                for k in np.flatnonzero(coefficients):
                    self.model.addVarToRow(row, columns[k], float(coefficients[k]))
                if group >= 0:
                    self.model.addVarToRow(row, losses[group], 1.0)
                self.model.flushRowExtensions(row)
                infeasible = self.model.addCut(row, forcecut=True)
                self.model.releaseRow(row)
                if infeasible:
                    return {"result": SCIP_RESULT.CUTOFF}
                result = SCIP_RESULT.SEPARATED
            return {"result": result}

        def round(self, x: FloatArray) -> None:
            """Leave the heaviest column of every node to the heuristic, where they are acyclic and new."""
            choice = cuts.program.choice(x)
            program = cuts.program
            if choice.tobytes() not in seen and program.is_acyclic(choice) and program.keeps_side(choice):
                waiting.append(cuts.program.vector(choice))
            seen.add(choice.tobytes())

        def check(self, solution: Any) -> dict[str, Any]:
            x, lost = self.point(solution)
            if cuts.is_feasible(x, lost):
                return {"result": SCIP_RESULT.FEASIBLE}
            x = np.round(x)
            if cuts.program.is_feasible(x):
                waiting.append(x)  # the structure will do, only its losses were understated
            return {"result": SCIP_RESULT.INFEASIBLE}

        def conscheck(self, constraints: Any, solution: Any, *flags: Any) -> dict[str, Any]:
            return guarded(lambda: self.check(solution), SCIP_RESULT.INFEASIBLE)

        def consenfolp(self, *ignored: Any) -> dict[str, Any]:
            return guarded(lambda: self.separate(SCIP_RESULT.FEASIBLE), SCIP_RESULT.INFEASIBLE)

        def consenfops(self, *ignored: Any) -> dict[str, Any]:
            def work() -> dict[str, Any]:
                answer = self.check(None)
                return answer if answer["result"] == SCIP_RESULT.FEASIBLE else {"result": SCIP_RESULT.SOLVELP}

            return guarded(work, SCIP_RESULT.SOLVELP)

        def conssepalp(self, *ignored: Any) -> dict[str, Any]:
            return guarded(lambda: self.separate(SCIP_RESULT.DIDNOTFIND), SCIP_RESULT.DIDNOTFIND)

        def conslock(self, constraint: Any, locktype: Any, nlockspos: int, nlocksneg: int) -> None:
            both = nlockspos + nlocksneg
            for column in (*columns, *losses):
                self.model.addVarLocksType(self.model.getTransformedVar(column), SCIP_LOCKTYPE.MODEL, both, both)

    class Repair(Heur):  # type: ignore[misc]
        """Tries structures that were met with understated losses, and what the host found."""

        def heurexec(self, timing: Any, infeasible: bool) -> dict[str, Any]:
            return guarded(self.work, SCIP_RESULT.DIDNOTRUN)

        def bounds(self) -> tuple[FloatArray, FloatArray]:
            """What the columns may still be anywhere in the tree."""
            known = [self.model.getTransformedVar(column) for column in (*columns, *losses)]
            return np.array([v.getLbGlobal() for v in known]), np.array([v.getUbGlobal() for v in known])

        def work(self) -> dict[str, Any]:
            offered = link.take_offer()
            found = [*waiting, *([] if offered is None else [offered])]
            waiting.clear()
            result = SCIP_RESULT.DIDNOTFIND if found else SCIP_RESULT.DIDNOTRUN
            for x in found:
                values = np.concatenate([x, cuts.losses(x)])
                if cuts.value(values) >= self.model.getPrimalbound():
                    continue
                lower, upper = self.bounds()
                if (values < lower - TOLERANCE).any() or (values > upper + TOLERANCE).any():
                    continue  # columns were fixed since: it is no better than what SCIP has
                solution = self.model.createSol(self)
                within = np.clip(values, lower, upper)
                for column, value in zip([*columns, *losses], within.tolist(), strict=True):
                    self.model.setSolVal(solution, column, value)
                if self.model.trySol(solution, printreason=False):
                    result = SCIP_RESULT.FOUNDSOL
            return {"result": result}

    session.model.includeConshdlr(
        Handler(), "mmbn_cuts", "acyclicity and the concave term",
        sepapriority=0, enfopriority=-10, chckpriority=-10, sepafreq=1, propfreq=-1, eagerfreq=-1, maxprerounds=0,
        delaysepa=False, delayprop=False, needscons=False,
    )  # fmt: skip
    session.model.includeHeur(
        Repair(), "mmbn_repair", "structures with their true losses", "M", priority=100_000, freq=1,
        timingmask=SCIP_HEURTIMING.DURINGLPLOOP | SCIP_HEURTIMING.AFTERLPNODE | SCIP_HEURTIMING.BEFORENODE,
    )  # fmt: skip
