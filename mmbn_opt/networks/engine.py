"""Cases of evidence through plans of elimination: one plan for all cases where that is small, else one a pattern."""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mmbn_opt._arrays import FloatArray
from mmbn_opt.networks.elimination import Family, Plan, make_plan
from mmbn_opt.networks.evidence import Evidence
from mmbn_opt.networks.tables import FactorTables

__all__ = ["Engine"]

_SHARED_CELLS = 20_000
"""Up to this many cells one plan serves all patterns of evidence of a question."""

_CELLS_PER_NODE = 2_000
"""As many cells are computed in the time that planning takes for a node."""

_WIDE, _FEW = 128, 0.5
"""In networks of more nodes a single case gets a plan of its relevant part, if that has fewer than this share of them.

In smaller ones one plan of the whole network serves all further questions to the same nodes, which is worth more.
"""

_PLANS_KEPT = 256

_ONLY = np.zeros(1, dtype=np.intp)


@dataclass(eq=False)
class Engine:
    """Answers of a network in numbers, with the plans of earlier questions at hand.

    Parameters
    ----------
    tables : FactorTables
        That sum to one over each node's states.
    """

    tables: FactorTables
    family: Family = field(init=False)
    _plans: OrderedDict[tuple[Any, ...], Plan] = field(init=False, default_factory=OrderedDict)

    def __post_init__(self) -> None:
        self.family = Family(self.tables)

    def answer(self, kept: Sequence[int], case: Evidence, max_cells: int, question: str) -> FloatArray:
        """``log P(kept, evidence)`` of every case, (n_cases, cells of the answer), the last kept node fastest."""
        from mmbn_opt.networks._elimination_kernels import answer_rows

        out: FloatArray = np.empty(
            (case.n_cases, int(np.prod([self.tables.cardinalities[v] for v in kept], dtype=int)))
        )
        wanted = self._wanted(kept, case)
        for plan, rows in self._plans_for(tuple(kept), (), case, max_cells, question):
            part = np.empty((len(rows), out.shape[1]))
            answer_rows(
                plan.book, self.family.flat, case.codes[rows], wanted, case.nodes, case.starts,
                _rows_of(case.likelihood, rows), part,
            )  # fmt: skip
            out[rows] = part
        return out

    def choose(
        self, best: Sequence[int], case: Evidence, max_cells: int, question: str
    ) -> tuple[FloatArray, NDArray[np.int32]]:
        """``max log P(best, evidence)`` of every case, and all codes with the best states filled in."""
        from mmbn_opt.networks._elimination_kernels import choose_rows

        logs, chosen = np.empty(case.n_cases), case.codes.copy()
        wanted = self._wanted(best, case)
        for plan, rows in self._plans_for((), tuple(best), case, max_cells, question):
            part, values = case.codes[rows], np.empty(len(rows))
            choose_rows(
                plan.book, self.family.flat, case.codes[rows], wanted, case.nodes, case.starts,
                _rows_of(case.likelihood, rows), part, values,
            )  # fmt: skip
            chosen[rows], logs[rows] = part, values
        return logs, chosen

    def marginals(self, case: Evidence, max_cells: int) -> tuple[FloatArray, FloatArray]:
        """``log P(evidence)`` of every case, and posteriors (n_cases, n_nodes, most states)."""
        from mmbn_opt.networks._elimination_kernels import row_marginals

        n_nodes = len(self.tables.cardinalities)
        logs = np.empty(case.n_cases)
        out = np.zeros((case.n_cases, n_nodes, max(self.tables.cardinalities)))
        for plan, rows in self._plans_for((), (), case, max_cells, "The posterior of every node", whole=True):
            for row in rows:
                likelihood = _rows_of(case.likelihood, np.array([row]))
                logs[row] = row_marginals(
                    plan.book, self.family.flat, case.codes[row], case.nodes, case.starts, likelihood, out[row]
                )
        with np.errstate(invalid="ignore"):
            out /= out.sum(axis=2, keepdims=True)  # what rounding left
        out[~np.isfinite(logs)] = np.nan
        return logs, out

    def draw(self, case: Evidence, row: int, uniform: FloatArray, max_cells: int) -> tuple[float, NDArray[np.int32]]:
        """``log P(evidence)`` of one case, and codes (n, n_nodes) drawn for what is observed and all above it."""
        from mmbn_opt.networks._elimination_kernels import draw_states

        one = Evidence(
            case.codes[[row]], case.nodes, case.starts, _rows_of(case.likelihood, np.array([row])), case.index
        )
        ((plan, _),) = self._plans_for((), (), one, max_cells, "Sampling given the evidence")
        drawn: NDArray[np.int32] = np.repeat(one.codes, len(uniform), axis=0)
        log = draw_states(
            plan.book, self.family.flat, one.codes[0], self._wanted((), one), one.nodes, one.starts, one.likelihood,
            uniform, drawn,
        )  # fmt: skip
        return float(log), drawn

    def _wanted(self, nodes: Sequence[int], case: Evidence) -> NDArray[np.bool_]:
        wanted = np.zeros(len(self.tables.cardinalities), dtype=np.bool_)
        wanted[[*nodes, *case.nodes]] = True
        return wanted

    def _plans_for(
        self,
        kept: tuple[int, ...],
        best: tuple[int, ...],
        case: Evidence,
        max_cells: int,
        question: str,
        *,
        whole: bool = False,
    ) -> list[tuple[Plan, NDArray[np.intp]]]:
        """Plans, and the cases that each serves; refused before anything is computed."""
        groups = None
        wide = len(self.tables.cardinalities) > _WIDE
        if wide and case.n_cases == 1 and not whole and (kept, best) not in self._plans:
            seen, relevant = self._relevant(kept, best, case, 0)
            if np.count_nonzero(relevant) < _FEW * len(relevant):
                return [(self._refused_or(self._plan(kept, best, seen, relevant), max_cells, question), _ONLY)]
        if (shared := self._shared_plan(kept, best, 1, 1)) is None or shared.cells > _SHARED_CELLS:
            groups = _patterns(case.codes >= 0)
            shared = self._shared_plan(kept, best, case.n_cases, len(groups))
        if shared is not None:
            return [(self._refused_or(shared, max_cells, question), np.arange(case.n_cases))]
        found = []
        for rows in groups or ():
            seen, relevant = self._relevant(kept, best, case, rows[0])
            plan = self._plan(kept, best, seen, None if whole else relevant)
            found.append((self._refused_or(plan, max_cells, question), rows))
        return found

    def _relevant(
        self, kept: tuple[int, ...], best: tuple[int, ...], case: Evidence, row: int
    ) -> tuple[tuple[int, ...], NDArray[np.bool_]]:
        """Nodes that are observed in a case, and those that are above them or above what is asked."""
        seen = tuple(np.flatnonzero(case.codes[row] >= 0).tolist())
        return seen, self.family.above([*seen, *kept, *best, *case.nodes.tolist()])

    def _refused_or(self, plan: Plan, max_cells: int, question: str) -> Plan:
        plan.refuse_over(max_cells, question)
        return plan

    def _shared_plan(self, kept: tuple[int, ...], best: tuple[int, ...], n_cases: int, n_patterns: int) -> Plan | None:
        """The plan without a look at the evidence, where that costs less than one plan for each pattern."""
        planning = n_patterns * len(self.tables.cardinalities) * _CELLS_PER_NODE
        most = max(_SHARED_CELLS, planning // max(1, n_cases))
        if self._plan((), ()).cells > most:
            return None
        plan = self._plan(kept, best)
        return plan if plan.cells <= most else None

    def _plan(
        self,
        kept: tuple[int, ...],
        best: tuple[int, ...],
        seen: tuple[int, ...] = (),
        relevant: NDArray[np.bool_] | None = None,
    ) -> Plan:
        """A plan, made or at hand: of the whole network, or of the relevant part where `seen` is observed."""
        key: tuple[Any, ...] = (kept, best)
        if seen or relevant is not None:
            key = (kept, best, seen, None if relevant is None else relevant.tobytes())
        if key not in self._plans:
            observed = [v for v in seen if v not in kept]
            self._plans[key] = make_plan(self.family, kept, best, observed, relevant)
            if len(self._plans) > _PLANS_KEPT:
                self._plans.popitem(last=False)
        else:
            self._plans.move_to_end(key)
        return self._plans[key]


def _rows_of(likelihood: FloatArray, rows: NDArray[np.intp]) -> FloatArray:
    return likelihood if len(likelihood) == 1 else likelihood[rows]


def _patterns(seen: NDArray[np.bool_]) -> list[NDArray[np.intp]]:
    """Rows of each pattern of what is observed."""
    if len(seen) == 1:
        return [np.zeros(1, dtype=np.intp)]
    _, inverse = np.unique(np.packbits(seen, axis=1), axis=0, return_inverse=True)
    order = np.argsort(inverse.ravel(), kind="stable")
    return np.split(order, np.flatnonzero(np.diff(inverse.ravel()[order])) + 1)
