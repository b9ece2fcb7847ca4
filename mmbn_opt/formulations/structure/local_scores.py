"""The best structure for local scores that are given, as files of exact structure learners hold them: no data."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from ..._arguments import check_fields, listed, shown, whole
from ..._arrays import FloatArray
from ..._budget import leave_in_time
from ...exceptions import InputError, SizeLimitError
from ...networks.candidates import CandidateParents
from ...networks.constraint_form import ModelNodes
from ...networks.constraints import StructureConstraint, ruled_out
from ...networks.parent_families import EdgeRules
from ...networks.structure import Structure, find_cycle
from ...programs.base import ProgramKind
from ...results.result import Check
from ...scores.given import LocalScores, check_local_scores
from ...scores.local import dominated_columns
from ..base import Start
from ..checks import in_time
from ..given_starts import moved_start
from .acyclicity import resolve
from .parent_sets import Choice
from .sum_of_scores import SumOfScores

__all__ = ["LocalScoreStructure"]

ParentSet = tuple[int, ...]

SETS_HELD = 3_000
"""Sets whose being left out is looked at again; of more, so many are drawn."""

TIE = 1e-9
"""Relative difference up to which two scores are equal there."""

WIDEST = 8
"""Parents up to which sets are held against their subsets; of larger ones none is left out."""


@dataclass(frozen=True, eq=False)
class LocalScoreStructure(SumOfScores):
    """Structure with the largest sum of local scores that are given.

    maximise  ``sum_{i,k} w[i,k] eta[i,k]``  subject to one listed parent set a node and the rows of ``acyclicity``.

    Variables: eta (parent sets,), o (ordered nodes,).
    Program: `MixedIntegerProgram` or `ChoiceProgram`. Bound: EXACT for the listed sets.
    Source: Peharz & Pernkopf 2012, eq. 3 and 19 without margin rows; Cussens 2011. Parent sets that score no better
    than a listed subset of theirs are left out, which changes no optimum (de Campos & Ji 2011).

    The model is a `Structure`: without data there are no parameters. Its last variable stands where a class would, and
    has no other part than the rest.

    Parameters
    ----------
    local_scores : mapping
        For each variable its ``(score, parents)`` pairs, larger is better, as `read_jkl` returns them.
    max_parents : int or None
        Larger sets are left out. None: all listed sets count.
    acyclicity : {"auto", "order", "order-printed", "cluster"}
        Of the row form, as in `SoftMarginStructure`.
    required_edges, forbidden_edges : tuple of (parent, child) names
    max_columns, max_rows, max_nonzeros : int
        Limits; what would be larger is refused before it is built.

    Raises
    ------
    InputError
        For scores that are none (see `mmbn_opt.scores.given`), and where no choice of listed sets is acyclic.

    Examples
    --------
    >>> scores = {"a": [(-3.0, ()), (-1.0, ("b",))], "b": [(-4.0, ()), (-1.5, ("a",))]}
    >>> formulation = LocalScoreStructure(scores)
    >>> formulation.evaluate(Structure(("a",), "b", ((), (0,))))
    -4.5
    """

    local_scores: LocalScores
    max_parents: int | None = None
    acyclicity: str = "auto"
    required_edges: tuple[tuple[str, str], ...] = ()
    forbidden_edges: tuple[tuple[str, str], ...] = ()
    constraints: tuple[StructureConstraint, ...] = ()
    max_columns: int = 2_000_000
    max_rows: int = 1_000_000
    max_nonzeros: int = 30_000_000

    title: ClassVar[str] = "Structure by given local scores"
    value_name: ClassVar[str] = "Sum of the local scores, no unit"

    def __post_init__(self) -> None:
        check_fields(self)
        if self.max_parents is not None:
            object.__setattr__(self, "max_parents", whole("max_parents", self.max_parents, 1))
        object.__setattr__(self, "required_edges", tuple((str(a), str(b)) for a, b in self.required_edges))
        object.__setattr__(self, "forbidden_edges", tuple((str(a), str(b)) for a, b in self.forbidden_edges))
        object.__setattr__(self, "constraints", tuple(self.constraints))
        resolve(self.acyclicity)
        check_local_scores(self.local_scores)
        total = sum(map(len, self.local_scores.values()))
        if total > self.max_columns:
            raise SizeLimitError(
                f"There are {total:,} local scores; the limit is max_columns={self.max_columns:,}. Leave out parent "
                "sets that score no better than a subset of theirs, or raise max_columns."
            )
        EdgeRules.of(self.node_names, self.required_edges, self.forbidden_edges)
        self._check_constraints()

    @property
    def model_nodes(self) -> ModelNodes:
        """The variables; none of them is the class, and nothing is known of their states."""
        return ModelNodes(self.node_names)

    @property
    def node_names(self) -> tuple[str, ...]:
        """The variables in the order of the scores."""
        return tuple(self.local_scores)

    @property
    def n_samples(self) -> int:
        """No rows: the objective is a sum of local scores."""
        return 0

    @property
    def samples(self) -> None:
        """None: there are no rows."""
        return None

    @property
    def source_in_words(self) -> str:
        """How many scores were given."""
        return f"{sum(map(len, self.local_scores.values())):,} local scores"

    @cached_property
    def _rules(self) -> EdgeRules:
        return EdgeRules.of(self.node_names, self.required_edges, self.forbidden_edges)

    @cached_property
    def _listed(self) -> tuple[dict[ParentSet, float], ...]:
        """Of each node the sets that were given and their scores, by node numbers, ascending."""
        index = {name: node for node, name in enumerate(self.node_names)}
        found = []
        for options in self.local_scores.values():
            leave_in_time()
            found.append({tuple(sorted(index[p] for p in parents)): float(score) for score, parents in options})
        return tuple(found)

    def _objection(self, node: int, parents: ParentSet) -> str | None:
        """Why a node may not have these parents."""
        names = self.node_names
        said = f"{shown(names[node])} with the parents [{listed(names[p] for p in parents)}]"
        if parents not in self._listed[node]:
            return f"no score is given for {said}"
        if self.max_parents is not None and len(parents) > self.max_parents:
            return f"{said} has more than {self.max_parents}"
        if missing := self._rules.required[node].difference(parents):
            return f"{said} lacks the required {shown(names[min(missing)])}"
        if there := self._rules.forbidden[node].intersection(parents):
            return f"{said} has the forbidden {shown(names[min(there)])}"
        return None

    @cached_property
    def _scored(self) -> tuple[CandidateParents, FloatArray]:
        """Listed sets that keep the rules and no subset of theirs equals or beats, and their scores."""
        allowed = [
            {s: score for s, score in options.items() if self._objection(node, s) is None}
            for node, options in enumerate(self._listed)
        ]
        for node, options in enumerate(allowed):
            if not options:
                raise InputError(
                    f"Variable {shown(self.node_names[node])} has no parent set left that keeps max_parents, "
                    "required_edges and forbidden_edges; relax these, or give it a score for one."
                )
        everything = self._admitted(CandidateParents(tuple(tuple(options) for options in allowed)))
        scores = np.array([allowed[node][s] for node, s in everything.columns])
        width = everything.parent_array.shape[1]
        if not self._subsets_do or width > WIDEST or (everything.n_nodes + 1) ** (width + 1) >= 2**63:
            return everything, scores
        useless = dominated_columns(everything, scores)
        return everything.without(useless), scores[~useless]

    def _structure(self, model: Structure) -> Structure:
        return model

    def recover(self, solution: Any) -> Structure:
        """Structure whose parent sets are the columns nearest to 1."""
        return self.structure_of(self.chosen(solution))

    def _columns_of(self, structure: Structure) -> Choice:
        """Columns of a structure; a parent set that was left out is replaced by its best subset."""
        chosen = []
        for node, parents in enumerate(structure.parents):
            if (reason := self._objection(node, parents)) is not None:
                raise InputError(f"The structure is outside the model class: {reason}.")
            own = self.candidates.column_of.get((node, parents), -1)
            chosen.append(self._best_within(node, set(parents)) if self._subsets_do else own)
        return np.array(chosen, dtype=np.intp)

    def _best_within(self, node: int, allowed: set[int]) -> int:
        """Column with the best score whose parents are all allowed, or -1."""
        first = int(self.candidates.offsets[node])
        inside = [first + k for k, s in enumerate(self.candidates.sets[node]) if allowed.issuperset(s)]
        return max(inside, key=lambda k: float(self.column_scores[k]), default=-1)

    def trivial_start(self) -> Start:
        """One variable after another with the best listed set among those before it; the smallest sets come first."""
        n = len(self.node_names)
        columns, placed = np.full(n, -1, dtype=np.intp), set[int]()
        fresh = True
        while fresh:
            fresh = False
            for node in range(n):
                if columns[node] < 0 and (column := self._best_within(node, placed)) >= 0:
                    columns[node], fresh = column, True
            placed = set(np.flatnonzero(columns >= 0).tolist())
        if (columns < 0).any():
            stuck = [self.node_names[node] for node in np.flatnonzero(columns < 0)]
            raise InputError(
                f"Each parent set of [{listed(stuck)}] holds another one of these, so that no structure is acyclic. "
                "Give at least one of them a score without parents."
            )
        if self.side is not None and not self.side.keeps(columns):
            kept = self._kept(self.candidates.parents_of_choice(columns))
            if kept is not None:
                return Start(self.structure_of(kept), "near the empty graph")
        return Start(self.structure_of(columns), "empty graph")

    def starts(self, *, seed: int = 0, deadline: float | None = None) -> Iterator[Start]:
        """What a search over orders finds, or one over choices where constraints tie these."""
        trivial: Structure = self.trivial_start().model
        if self.broken(trivial) is not None:
            return
        for choice, name in self._searched(self.choice_of(trivial), seed, deadline):
            yield Start(self.structure_of(choice), name)

    def nearest(self, structure: Structure) -> Structure:
        """A structure of the class: in its order, the best set among a variable's parents, or among those before it."""
        columns, before = np.empty(len(self.node_names), dtype=np.intp), set[int]()
        for node in structure.topological_order():
            column = self._best_within(node, set(structure.parents[node]))
            column = self._best_within(node, before) if column < 0 else column
            if column < 0:
                trivial: Structure = self.trivial_start().model
                return trivial
            columns[node] = column
            before.add(node)
        near = self.structure_of(columns)
        if self.constraints and self.broken(near) is not None:
            kept = self._kept(near.parents)
            return self.trivial_start().model if kept is None else self.structure_of(kept)
        return near

    def adopt(self, model: Any, kind: ProgramKind) -> Structure:
        """A structure, edges or a network as a start: by names, moved into the class."""
        return moved_start(model, self.node_names, self.nearest)

    def evaluate(self, model: Structure) -> float:
        """Sum of the scores as they were given."""
        if model.names != self.node_names:
            raise InputError(
                f"The structure is over [{listed(model.names)}], the scores are over [{listed(self.node_names)}]."
            )
        missing = [node for node, s in enumerate(model.parents) if s not in self._listed[node]]
        if missing:
            reason = self._objection(missing[0], model.parents[missing[0]])
            raise InputError(f"The structure is outside the model class: {reason}.")
        return math.fsum(self._listed[node][s] for node, s in enumerate(model.parents))

    def check(self, model: Structure) -> tuple[Check, ...]:
        """Acyclic, each parent set one of those given, and nothing left out that could be better."""
        cycle = find_cycle(model.parents)
        size = f"{len(model.names)} nodes, {len(model.edges)} edges"
        found = (self._objection(node, s) for node, s in enumerate(model.parents))
        reason = next((said for said in found if said is not None), None) or self.broken(model)
        words = "each variable has parents that a score was given for"
        if self.constraints:
            words += f", keeping {listed(map(str, self.constraints), show=str)}"
        return (
            Check("acyclic", not cycle, f"cycle through {cycle}" if cycle else size),
            Check("within the model class", reason is None, reason or words),
            *in_time("candidates cover the class", self._check_cover),
        )

    def _check_cover(self) -> Check:
        """Whether each set that was left out holds a candidate that scores no less, by sets and without numbering."""
        kept = [set(options) for options in self.candidates.sets]
        left = [
            (node, s)
            for node, options in enumerate(self._listed)
            for s in options
            if s not in kept[node]
            and self._objection(node, s) is None
            and not ruled_out(self.constraints, self.model_nodes, node, s)
        ]
        held = left
        if len(left) > SETS_HELD:
            held = [left[k] for k in np.sort(np.random.default_rng(0).choice(len(left), SETS_HELD, replace=False))]
        for node, s in held:
            leave_in_time()
            options, least = self._listed[node], self._listed[node][s]
            least -= TIE * max(1.0, abs(least))
            if not self._subsets_do or not any(options[k] >= least and set(k).issubset(s) for k in kept[node]):
                said = f"{shown(self.node_names[node])} with the parents [{listed(self.node_names[p] for p in s)}]"
                return Check("candidates cover the class", False, f"no candidate stands for {said}")
        drawn = f"{len(held):,} drawn of the {len(left):,}" if len(held) < len(left) else f"all {len(held):,}"
        words = f"of the sets that were left out {drawn} were looked at: each holds a candidate that scores no less"
        return Check("candidates cover the class", True, words)
