"""What the structure formulations share: candidates, acyclicity, assembly of the program, encode and recover."""

import math
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, Literal, overload

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..._arguments import check_fields, whole
from ..._arrays import FloatArray
from ...data.counts import refuse_large_tables
from ...exceptions import InputError
from ...heuristics.local_search import LocalSearch
from ...heuristics.objectives import Loss
from ...heuristics.rounding import RoundAndDescend
from ...heuristics.sparse_candidates import CandidateRestriction
from ...heuristics.trees import naive_bayes, tan_cmi
from ...networks.candidates import CandidateParents, parent_matrix
from ...networks.network import BayesianNetwork
from ...networks.parent_families import EdgeRules, Family, margin_families, refuse_columns
from ...networks.smoothing import Smoothing, as_smoothing
from ...networks.structure import Structure, find_cycle
from ...networks.structure_class import StructureClass
from ...programs.base import Program, ProgramKind, ProgramSize
from ...programs.choice import ChoiceProgram, ConcaveTerm
from ...programs.mixed_integer import MixedIntegerProgram
from ...results.result import Check
from ...results.status import BoundKind, Sense
from ..base import DiscreteFormulation, Start
from ..checks import check_acyclic, check_estimates, in_time
from ..given_starts import moved_start
from .acyclicity import (
    AcyclicityRows,
    acyclicity_rows,
    class_link_rows,
    count_acyclicity,
    order_values,
    resolve,
    tree_root_columns,
)

__all__ = ["StructureFormulation"]

Choice = NDArray[np.intp]

_LEAST_WEIGHT = 1e-3
"""HiGHS calls structures optimal that are not where the weights sum to 1e-5."""


@dataclass(frozen=True, eq=False)
class StructureFormulation(DiscreteFormulation):
    """Base of the programs whose binaries choose one parent set a node."""

    max_parents: int = 2
    acyclicity: str = "auto"
    smoothing: float | Smoothing = 1.0
    required_edges: tuple[tuple[str, str], ...] = ()
    forbidden_edges: tuple[tuple[str, str], ...] = ()
    max_columns: int = 200_000
    max_rows: int = 1_000_000
    max_nonzeros: int = 30_000_000
    restriction: CandidateRestriction | None = None

    emits: ClassVar[frozenset[ProgramKind]] = frozenset({ProgramKind.MIXED_INTEGER, ProgramKind.IMPLICIT_CONCAVE})
    sense: ClassVar[Sense] = Sense.MAXIMIZE
    bound_kind: ClassVar[BoundKind] = BoundKind.EXACT

    def __post_init__(self) -> None:
        check_fields(self)
        object.__setattr__(self, "max_parents", whole("max_parents", self.max_parents, 1))
        object.__setattr__(self, "required_edges", tuple((str(a), str(b)) for a, b in self.required_edges))
        object.__setattr__(self, "forbidden_edges", tuple((str(a), str(b)) for a, b in self.forbidden_edges))
        resolve(self.acyclicity)
        as_smoothing(self.smoothing)
        self.data.require_learnable()
        total = self.data.total_weight
        if total < _LEAST_WEIGHT:
            raise InputError(
                f"The weights of the samples sum to {total:.3g}, and the tolerances of solvers are absolute: at least "
                f"{_LEAST_WEIGHT:g} is needed. Multiply the weights and the smoothing by the same factor, which leaves "
                "the best structure as it is."
            )
        if self.restriction is not None and len(self.restriction.partners) != self.data.n_features + 1:
            raise InputError(
                f"The restriction is for {len(self.restriction.partners) - 1} features, the data have "
                f"{self.data.n_features}; make it from these data."
            )

    @cached_property
    def prior(self) -> Smoothing:
        """The smoothing as an object."""
        return as_smoothing(self.smoothing)

    @cached_property
    def structure_class(self) -> StructureClass:
        """The class of structures that every claim is made for."""
        return StructureClass(
            self.data,
            self.max_parents,
            self.required_edges,
            self.forbidden_edges,
            None if self.restriction is None else self.restriction.partners,
            str(self.restriction or ""),
        )

    @cached_property
    def usable_features(self) -> list[int]:
        """Features of more than one declared state; no edge at the others changes any score."""
        return [j for j, size in enumerate(self.data.cardinalities[:-1]) if size > 1]

    @cached_property
    def candidates(self) -> CandidateParents:
        """Parent sets that a structure may choose from, required and forbidden edges applied."""
        sets = self._all_candidates()
        # Now, and not after the tables before the first one that is too large have been counted.
        refuse_large_tables(self.data, sets.sets)
        return sets

    def _all_candidates(self) -> CandidateParents:
        constant = [v for v in self.data.features if v.cardinality == 1]
        notes = {v.name: "got no cut and is constant" if v.cuts == () else "is constant" for v in constant}
        rules = EdgeRules.of(self.structure_class.names, self.required_edges, self.forbidden_edges, notes)
        listed = self._families(rules)
        refuse_columns(listed, max_columns=self.max_columns)
        return CandidateParents.of_families(listed, rules)

    def _families(self, rules: EdgeRules) -> list[list[Family]]:
        """Families of the parent sets to choose from: for a margin score."""
        within = None if self.restriction is None else self.restriction.partners
        return margin_families(self.data.n_features, self.max_parents, self.usable_features, within, rules)

    @cached_property
    def _acyclicity_rows(self) -> AcyclicityRows:
        return acyclicity_rows(self.candidates, self.acyclicity)

    @abstractmethod
    def _loss(self) -> Loss:
        """Loss for the local search."""

    def _score_rows(self) -> int:
        """Rows that express the score."""
        return 0

    def _score_columns(self) -> int:
        """Continuous columns that express the score."""
        return 0

    def estimate_size(self, kind: ProgramKind = ProgramKind.MIXED_INTEGER) -> ProgramSize:
        """Rows, columns and an upper estimate of the non-zeros, without building anything large."""
        structure_columns, nodes = self.candidates.n_columns, self.candidates.n_nodes
        if kind is not ProgramKind.MIXED_INTEGER:
            return ProgramSize(structure_columns, structure_columns, 2 * nodes - 1, structure_columns * nodes)
        order_rows, order_columns = count_acyclicity(self.candidates, self.acyclicity)
        rows = nodes + order_rows + self._score_rows()
        columns = structure_columns + self._score_columns() + order_columns
        c = self.candidates.class_index
        varying = structure_columns - sum(c not in s for options in self.candidates.sets[:-1] for s in options)
        dense = self._score_rows() * (varying + 1) + structure_columns * 2 * nodes
        return ProgramSize(columns, structure_columns, rows, dense)

    def refuse_oversized(self, kind: ProgramKind) -> None:
        """Raise `SizeLimitError` when the row form would exceed `max_rows` or `max_nonzeros`."""
        if kind is ProgramKind.MIXED_INTEGER:
            self.estimate_size().refuse_over(max_rows=self.max_rows, max_nonzeros=self.max_nonzeros, what=self.title)

    @abstractmethod
    def _score_part(self) -> tuple[sp.csr_array | None, FloatArray, FloatArray, FloatArray, float]:
        """Score rows and costs, for a minimum.

        Rows (``<= 0``) over the structure and score columns, costs of the structure and of the score columns, upper
        bounds of the score columns, and the offset.
        """

    if TYPE_CHECKING:

        @overload
        def build(self, kind: Literal[ProgramKind.MIXED_INTEGER] | None = None) -> MixedIntegerProgram: ...

        @overload
        def build(self, kind: Literal[ProgramKind.IMPLICIT_CONCAVE, ProgramKind.LINEAR_CHOICE]) -> ChoiceProgram: ...

        @overload
        def build(self, kind: ProgramKind | None = None) -> Program: ...

        def build(self, kind: ProgramKind | None = None) -> Program:
            """Columns are the parent sets, then, in the row form, the score and the order columns."""

    def _build(self, kind: ProgramKind) -> Program:
        if kind is not ProgramKind.MIXED_INTEGER:
            return self._build_projected()
        self.refuse_oversized(kind)
        candidates, acyclic = self.candidates, self._acyclicity_rows
        n_structure, n_order = candidates.n_columns, len(acyclic.ordered)
        score_matrix, structure_cost, score_cost, score_upper, offset = self._score_part()
        n_score = len(score_cost)
        choose = sp.csr_array(
            (np.ones(n_structure), (candidates.owner, np.arange(n_structure))), shape=(candidates.n_nodes, n_structure)
        )
        middle = sp.csr_array((acyclic.matrix.shape[0], n_score))
        blocks = [
            sp.hstack([choose, sp.csr_array((candidates.n_nodes, n_score + n_order))]),
            sp.hstack([acyclic.matrix[:, :n_structure], middle, acyclic.matrix[:, n_structure:]]),
        ]
        lower = [np.ones(candidates.n_nodes), acyclic.lower]
        upper = [np.ones(candidates.n_nodes), acyclic.upper]
        if score_matrix is not None:
            blocks.append(sp.hstack([score_matrix, sp.csr_array((score_matrix.shape[0], n_order))]))
            lower.append(np.full(score_matrix.shape[0], -np.inf))
            upper.append(np.zeros(score_matrix.shape[0]))
        n_columns = n_structure + n_score + n_order
        return MixedIntegerProgram(
            c=np.concatenate([structure_cost, score_cost, np.zeros(n_order)]),
            A=sp.csr_array(sp.vstack(blocks, format="csr")),
            row_lower=np.concatenate(lower),
            row_upper=np.concatenate(upper),
            col_lower=np.concatenate([np.zeros(n_structure), np.full(n_score, -np.inf), np.zeros(n_order)]),
            col_upper=np.concatenate([np.ones(n_structure), score_upper, np.full(n_order, acyclic.order_upper)]),
            integrality=np.arange(n_columns) < n_structure,
            offset=offset,
            column_names=self._column_names(n_score, acyclic.ordered),
            choice_groups=tuple(np.arange(a, b) for a, b in pairwise(candidates.offsets)),
        )

    def _projected_score(self) -> tuple[FloatArray, ConcaveTerm | None, float]:
        """Costs of the structure columns, the implicit term and the offset of the projected program."""
        _, cost, _, _, offset = self._score_part()
        return cost, None, offset

    @property
    def _score_equivalent(self) -> bool:
        """Whether structures that differ in the direction of edges within a tree are worth exactly the same."""
        return False

    def _build_projected(self) -> ChoiceProgram:
        candidates = self.candidates
        cost, term, offset = self._projected_score()
        link = class_link_rows(candidates)
        return ChoiceProgram(
            c=cost,
            offsets=candidates.offsets,
            parents=parent_matrix(candidates),
            A=link,
            row_upper=np.zeros(link.shape[0]),
            term=term,
            offset=offset,
            column_names=self._column_names(0, ()),
            root_columns=tree_root_columns(candidates) if self._score_equivalent else None,
            primal_heuristic=RoundAndDescend(candidates, self._loss()),
        )

    def _column_names(self, n_score: int, ordered: tuple[int, ...]) -> tuple[str, ...]:
        sets = [f"eta_{node}_{k}" for node, options in enumerate(self.candidates.sets) for k in range(len(options))]
        return (*sets, *(f"tau_{m}" for m in range(n_score)), *(f"o_{node}" for node in ordered))

    def structure_of(self, choice: Choice) -> Structure:
        """Structure of one column a node."""
        return Structure(self.data.feature_names, self.data.class_name, self.candidates.parents_of_choice(choice))

    def model_of(self, structure: Structure) -> BayesianNetwork:
        """Network with the smoothed maximum-likelihood parameters."""
        return BayesianNetwork.fit(structure, self.merged, self.prior)

    def recover(self, solution: FloatArray) -> BayesianNetwork:
        """Network whose parent sets are the columns nearest to 1."""
        choice = [a + int(np.argmax(solution[a:b])) for a, b in pairwise(self.candidates.offsets)]
        return self.model_of(self.structure_of(np.array(choice, dtype=np.intp)))

    def choice_of(self, structure: Structure) -> Choice:
        """Columns that stand for a structure; `InputError` when it is outside the model class."""
        self._require_membership(structure)
        return self.candidates.choice(structure.parents, self.structure_class.idle())

    def _require_membership(self, structure: Structure) -> None:
        if (reason := self.structure_class.objection(structure)) is not None:
            raise InputError(f"The structure is outside the model class: {reason}.")

    def encode(self, model: BayesianNetwork, kind: ProgramKind = ProgramKind.MIXED_INTEGER) -> FloatArray:
        """Program vector of a network: its columns and, in the row form, score columns and a topological order."""
        choice = self.choice_of(model.structure)
        eta = np.zeros(self.candidates.n_columns)
        eta[choice] = 1.0
        if kind is not ProgramKind.MIXED_INTEGER:
            return eta
        return np.concatenate(
            [eta, self._score_values(choice), order_values(self.structure_of(choice), self._acyclicity_rows)]
        )

    def adopt(self, model: Any, kind: ProgramKind) -> BayesianNetwork:
        """A structure, edges or a network as a start: by names, moved into the class, with parameters of our own."""
        return self.model_of(moved_start(model, self.structure_class.names, self.nearest))

    def _score_values(self, choice: Choice) -> FloatArray:
        """Best values of the score columns for a choice."""
        return np.zeros(0)

    def trivial_start(self) -> Start:
        """The empty graph, or the required edges alone."""
        empty = self._fewest_parents()
        assert not find_cycle(empty)
        structure = Structure(self.data.feature_names, self.data.class_name, tuple(empty))
        return Start(self.model_of(structure), "empty graph")

    def _fewest_parents(self) -> list[tuple[int, ...]]:
        """The smallest parent set of every node."""
        return [min(options, key=len) for options in self.candidates.sets]

    def starts(self, *, seed: int = 0, deadline: float | None = None) -> Iterator[Start]:
        """Naive Bayes, TAN by conditional mutual information, then what a local search finds from the better one."""
        best: Structure | None = None
        best_value = -math.inf
        for name, make in (("naive_bayes", naive_bayes), ("tan_cmi", tan_cmi)):
            structure = self.nearest(make(self.merged))
            model = self.model_of(structure)
            value = self.evaluate(model)
            yield Start(model, name)
            if value > best_value:
                best, best_value = structure, value
        start = best if best is not None else self.trivial_start().model.structure
        search = LocalSearch(self.candidates, self._loss(), seed=seed, deadline=deadline)
        for choice, _ in search.run(self.choice_of(start)):
            yield Start(self.model_of(self.structure_of(choice)), "local_search")

    def nearest(self, structure: Structure) -> Structure:
        """A structure of the class, by its candidates, that keeps what it can of the one given."""
        parents = self.structure_class.nearest(structure.parents)
        inside = Structure(self.data.feature_names, self.data.class_name, parents)
        return self.structure_of(self.choice_of(inside))

    def check(self, model: BayesianNetwork) -> tuple[Check, ...]:
        """Acyclic, inside the model class, tables normalised, parameters re-estimated from the data."""
        return (
            check_acyclic(model),
            self._check_membership(model.structure),
            *in_time("candidates cover the class", self._check_cover),
            *in_time("parameters from the data", lambda: check_estimates(model, self.data, self.prior)),
        )

    def _check_membership(self, structure: Structure) -> Check:
        reason = self.structure_class.objection(structure)
        return Check("within the model class", reason is None, f"{reason or self.structure_class}")

    def _check_cover(self) -> Check:
        """Whether what was searched is the whole class, held against the class by code of its own."""
        missing = self.structure_class.uncovered_by_margins(self.candidates.sets)
        words = (
            f"each parent set of the class has one among the {self.candidates.n_columns:,} candidates with the same "
            "margins; sets without the class node and columns of one state change none"
        )
        return Check("candidates cover the class", missing is None, missing or words)
