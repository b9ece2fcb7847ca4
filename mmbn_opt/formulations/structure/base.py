"""What structure formulations over a table share: candidates, starts, networks with parameters, and their checks."""

import math
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from ..._arguments import check_fields, whole
from ..._arrays import FloatArray
from ...data.counts import refuse_large_tables
from ...exceptions import InputError
from ...heuristics.local_search import LocalSearch
from ...heuristics.sparse_candidates import CandidateRestriction
from ...heuristics.trees import naive_bayes, tan_cmi
from ...networks.candidates import CandidateParents
from ...networks.constraint_form import ModelNodes
from ...networks.constraints import StructureConstraint
from ...networks.network import BayesianNetwork
from ...networks.parent_families import EdgeRules, Family, all_families, margin_families, refuse_columns
from ...networks.smoothing import Smoothing, as_smoothing
from ...networks.structure import Structure, find_cycle
from ...networks.structure_class import StructureClass
from ...programs.base import ProgramKind
from ...results.result import Check
from ..base import DiscreteFormulation, Start
from ..checks import check_acyclic, check_estimates, in_time
from ..given_starts import moved_start
from .acyclicity import resolve
from .objective_terms import ObjectiveTerm, checked_gains
from .parent_sets import Choice, ParentSetFormulation

__all__ = ["StructureFormulation"]

_LEAST_WEIGHT = 1e-3
"""HiGHS calls structures optimal that are not where the weights sum to 1e-5."""


@dataclass(frozen=True, eq=False)
class StructureFormulation(ParentSetFormulation, DiscreteFormulation):
    """Base of the programs whose binaries choose one parent set a node, for a score of a table."""

    max_parents: int = 2
    acyclicity: str = "auto"
    smoothing: float | Smoothing = 1.0
    required_edges: tuple[tuple[str, str], ...] = ()
    forbidden_edges: tuple[tuple[str, str], ...] = ()
    max_columns: int = 200_000
    max_rows: int = 1_000_000
    max_nonzeros: int = 30_000_000
    restriction: CandidateRestriction | None = None
    constraints: tuple[StructureConstraint, ...] = ()
    terms: tuple[ObjectiveTerm, ...] = field(default=(), kw_only=True)

    def __post_init__(self) -> None:
        check_fields(self)
        object.__setattr__(self, "max_parents", whole("max_parents", self.max_parents, 1))
        object.__setattr__(self, "required_edges", tuple((str(a), str(b)) for a, b in self.required_edges))
        object.__setattr__(self, "forbidden_edges", tuple((str(a), str(b)) for a, b in self.forbidden_edges))
        object.__setattr__(self, "constraints", tuple(self.constraints))
        object.__setattr__(self, "terms", tuple(self.terms))
        if self.terms:
            told = [type(self).value_name, *map(str, self.terms)]
            object.__setattr__(self, "value_name", ", ".join(told))
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
        self._check_constraints()

    def with_terms(self, *terms: ObjectiveTerm) -> Self:
        """A copy whose objective has these terms beside the score, and those that there are already.

        Bounds are those of the whole objective, and certificates recompute all of it from the data.

        Parameters
        ----------
        *terms : ObjectiveTerm
            `EdgePenalty`, `ParameterPenalty`, `ScoreTerm`, or one's own.

        Examples
        --------
        >>> import mmbn_opt as mm
        >>> data = mm.DiscreteDataset.from_arrays([["a", "u"], ["a", "v"], ["b", "u"]] * 5, [0, 1, 1] * 5)
        >>> cheap = mm.SoftMarginStructure(data).with_terms(mm.EdgePenalty(100.0))
        >>> len(mm.solve(cheap).model.structure.edges)
        0
        """
        return replace(self, terms=(*self.terms, *terms))

    @property
    def _subsets_do(self) -> bool:
        return super()._subsets_do and all(term.closed for term in self.terms)

    @cached_property
    def _term_costs(self) -> tuple[FloatArray, float]:
        """What each candidate lacks of the best that its node's sets add by the terms; minus the sum of the best."""
        candidates = self.candidates
        gains = np.zeros(candidates.n_columns)
        for term in self.terms:
            gains += checked_gains(term, candidates, self.merged)
        best = np.maximum.reduceat(gains, candidates.offsets[:-1])
        return np.repeat(best, np.diff(candidates.offsets)) - gains, 0.0 - float(best.sum())

    @abstractmethod
    def _score_of(self, model: BayesianNetwork) -> float:
        """The score of a network on the data, without the terms."""

    def evaluate(self, model: BayesianNetwork) -> float:
        """The score of a network on the data, and what the terms add, each by its definition."""
        return self._score_of(model) + sum(term.value(model.structure, self.data) for term in self.terms)

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
            constraints=self.constraints,
        )

    @property
    def model_nodes(self) -> ModelNodes:
        """The nodes that constraints speak of."""
        return self.structure_class.nodes

    @property
    def node_names(self) -> tuple[str, ...]:
        """Features in order, and the class last."""
        return (*self.data.feature_names, self.data.class_name)

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
        return self._admitted(CandidateParents.of_families(listed, rules))

    def _families(self, rules: EdgeRules) -> list[list[Family]]:
        """Families of the parent sets to choose from: for a margin score."""
        within = None if self.restriction is None else self.restriction.partners
        if not self._subsets_do:
            return all_families(self.data.n_features, self.max_parents, None, within, rules)
        return margin_families(self.data.n_features, self.max_parents, self.usable_features, within, rules)

    def _structure(self, model: BayesianNetwork) -> Structure:
        return model.structure

    def model_of(self, structure: Structure) -> BayesianNetwork:
        """Network with the smoothed maximum-likelihood parameters."""
        return BayesianNetwork.fit(structure, self.merged, self.prior)

    def recover(self, solution: Any) -> BayesianNetwork:
        """Network whose parent sets are the columns nearest to 1."""
        return self.model_of(self.structure_of(self.chosen(solution)))

    def _columns_of(self, structure: Structure) -> Choice:
        """Columns that stand for a structure, whether it keeps the constraints or not."""
        self._require_edges(structure)
        return self.candidates.choice(structure.parents, self.structure_class.idle())

    def _require_edges(self, structure: Structure) -> None:
        if (reason := self.structure_class.objection_to_edges(structure)) is not None:
            raise InputError(f"The structure is outside the model class: {reason}.")

    def adopt(self, model: Any, kind: ProgramKind) -> BayesianNetwork:
        """A structure, edges or a network as a start: by names, moved into the class, with parameters of our own."""
        return self.model_of(moved_start(model, self.structure_class.names, self.nearest))

    def trivial_start(self) -> Start:
        """The empty graph, or the required edges alone; where these break a constraint, what is near and keeps it."""
        empty = self._fewest_parents()
        assert not find_cycle(empty)
        structure = Structure(self.data.feature_names, self.data.class_name, tuple(empty))
        if not self._subsets_do and self.broken(structure) is not None:
            kept = self._kept(empty)
            if kept is not None:
                return Start(self.model_of(self.structure_of(kept)), "near the empty graph")
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
            if value > best_value and self.broken(structure) is None:
                best, best_value = structure, value
        start = best if best is not None else self.trivial_start().model.structure
        if self.broken(start) is not None:
            return
        search = LocalSearch(self.candidates, self._loss(), seed=seed, deadline=deadline, side=self.side)
        for choice, _ in search.run(self.choice_of(start)):
            yield Start(self.model_of(self.structure_of(choice)), "local_search")

    def nearest(self, structure: Structure) -> Structure:
        """A structure of the class, by its candidates, that keeps what it can of the one given."""
        parents = self.structure_class.nearest(structure.parents)
        inside = Structure(self.data.feature_names, self.data.class_name, parents)
        if self.constraints and self.broken(inside) is not None:
            kept = self._kept(parents)
            return self.trivial_start().model.structure if kept is None else self.structure_of(kept)
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
        if not all(term.closed for term in self.terms):
            missing = self.structure_class.unlisted(self.candidates.sets)
            words = f"each parent set of the class is one of the {self.candidates.n_columns:,} candidates"
            return Check("candidates cover the class", missing is None, missing or words)
        missing = self.structure_class.uncovered_by_margins(self.candidates.sets)
        words = (
            f"each parent set of the class has one among the {self.candidates.n_columns:,} candidates with the same "
            "margins; sets without the class node and columns of one state change none"
        )
        return Check("candidates cover the class", missing is None, missing or words)
