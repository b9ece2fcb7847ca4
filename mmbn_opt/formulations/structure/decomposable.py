"""Decomposable scores through the same program, without margin rows."""

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from functools import cached_property
from math import prod
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from ..._arguments import checked_number, choice_of, listed
from ..._arrays import FloatArray
from ...data.counts import MAX_TABLE_CELLS
from ...exceptions import InputError, SizeLimitError
from ...heuristics.sparse_candidates import restrict_candidates
from ...heuristics.trees import naive_bayes, tan_cmi
from ...networks.candidates import CandidateParents, refuse_large_choice
from ...networks.network import BayesianNetwork
from ...networks.parent_families import (
    HOW_TO_HAVE_FEWER,
    EdgeRules,
    Family,
    all_families,
    margin_families,
    refuse_columns,
)
from ...networks.structure import Structure
from ...networks.structure_class import StructureClass
from ...programs.base import ProgramKind
from ...results.result import Check
from ...scores.local import dominated_columns, local_scores
from ...scores.predictive import DecomposableScore, family_score, structure_score
from ...scores.undominated import can_walk, undominated_parent_sets
from ..base import Start
from .base import StructureFormulation
from .local_scores import LocalScoreStructure
from .objective_terms import checked_gains
from .sum_of_scores import SumOfScores

__all__ = ["DecomposableStructure"]

MOST_SCORED = 1_000_000
"""Parent sets that are listed to be scored, more are walked: see `_pools`. `max_columns` is for those that are left."""


@dataclass(frozen=True, eq=False)
class DecomposableStructure(SumOfScores, StructureFormulation):
    """Structure with the largest decomposable score.

    maximise  ``sum_{i,k} w[i,k] eta[i,k]``  subject to one parent set a node and the rows of ``acyclicity``.

    Variables: eta (candidates,), o (ordered nodes,).
    Program: `MixedIntegerProgram`. Bound: EXACT for the candidate sets.
    Source: Peharz & Pernkopf 2012, end of section 4 (eq. 19 without margin rows, objective of eq. 3). Parent sets that
    score no better than a subset of theirs are left out, which changes no optimum (de Campos & Ji 2011).

    Parameters
    ----------
    score : {"mdl", "bic", "bdeu", "loglik"}
        In nats, to be maximised; see `mmbn_opt.scores.predictive.family_score`.
    ess : float
        Equivalent sample size of ``bdeu``.
    parent_sets : {"all", "margin"}
        All sets up to `max_parents`, the class an ordinary node; or the paper's restricted ones (the empty set or sets
        with the class for features).
    smoothing : float or Smoothing
        Only for the parameters of the network that comes back.

    local_scores : mapping
        In place of `data`, by name: scores that are there already. The formulation is then a `LocalScoreStructure`.

    The other parameters are those of `SoftMarginStructure`.

    Examples
    --------
    >>> from mmbn_opt import DiscreteDataset
    >>> data = DiscreteDataset.from_arrays([["a"], ["b"]] * 20, [0, 1] * 20)
    >>> formulation = DecomposableStructure(data, score="bic")
    >>> [len(options) for options in formulation.candidates.sets]
    [2, 2]
    """

    score: DecomposableScore = "mdl"
    ess: float = 1.0
    parent_sets: Literal["all", "margin"] = "all"

    title: ClassVar[str] = "Decomposable-score structure"
    value_name: ClassVar[str] = "Score of the structure, nats"

    def __new__(cls, *args: Any, **settings: Any) -> "DecomposableStructure":
        """The formulation; a `LocalScoreStructure` where `local_scores` take the place of data."""
        if "local_scores" not in settings:
            return super().__new__(cls)
        known = {f.name for f in fields(LocalScoreStructure)}
        if unfit := [*(["data"] if args else []), *(name for name in settings if name not in known)]:
            raise InputError(
                f"local_scores are scores already, which {listed(unfit, show=str)} would say something about: leave "
                "out local_scores, or the rest."
            )
        return LocalScoreStructure(**settings)  # type: ignore[return-value]

    def __post_init__(self) -> None:
        super().__post_init__()
        scores = ("mdl", "bic", "bdeu", "loglik")
        choice_of("score", self.score, scores, expected='"mdl", "bic", "bdeu" or "loglik"')
        choice_of("parent_sets", self.parent_sets, ("all", "margin"), expected='"all" or "margin"')
        checked_number("ess", self.ess, open_low=True, open_high=True, expected="a finite number > 0")
        given = self.restriction
        if given is not None and given.score != self.score and self.parent_sets == "all":
            # Made for the margins, it is conditioned on a class that need not be in any parent set here.
            fitting = restrict_candidates(
                self.data, given.k, symmetric=given.symmetric or None, score=self.score, ess=self.ess
            )
            object.__setattr__(self, "restriction", fitting)

    @cached_property
    def structure_class(self) -> StructureClass:
        """The class of structures that every claim is made for."""
        return replace(super().structure_class, class_in_every_set=self.parent_sets == "margin")

    def _families(self, rules: EdgeRules) -> list[list[Family]]:
        within = None if self.restriction is None else self.restriction.partners
        usable = self.usable_features if self._subsets_do else None
        shape = self.data.n_features, self.max_parents, usable, within, rules
        return margin_families(*shape, twins=False) if self.parent_sets == "margin" else all_families(*shape)

    @property
    def _rules(self) -> EdgeRules:
        return EdgeRules.of(self.structure_class.names, self.required_edges, self.forbidden_edges)

    @cached_property
    def _every_candidate(self) -> CandidateParents:
        listed = self._families(self._rules)
        refuse_columns(listed, max_columns=max(self.max_columns, MOST_SCORED))
        return self._admitted(CandidateParents.of_families(listed, self._rules))

    @cached_property
    def _pools(self) -> list[tuple[int, ...]] | None:
        """Possible parents of each node, where all small sets of them are allowed and too many or too wide to list."""
        families = self._families(self._rules)
        free = all(len(own) == 1 and not own[0].base for own in families)
        if not free or self.terms or self.constraints or not can_walk(self.data, self.max_parents):
            return None
        widest = prod(sorted(self.data.cardinalities)[-1 - self.max_parents :])
        if sum(own[0].count for own in families) <= MOST_SCORED and widest <= MAX_TABLE_CELLS:
            return None
        return [own[0].pool for own in families]

    @cached_property
    def _scored(self) -> tuple[CandidateParents, FloatArray]:
        """Candidates that no subset of theirs equals or beats, and their local scores."""
        if self._pools is not None:
            settings = self.max_parents, self.score, self.ess
            return undominated_parent_sets(self.merged, self._pools, *settings, max_columns=self.max_columns)
        everything = self._every_candidate
        scores = local_scores(self.merged, everything, self.score, self.ess)
        for term in self.terms:
            scores = scores + checked_gains(term, everything, self.merged)
        useless = dominated_columns(everything, scores) if self._subsets_do else np.zeros(len(scores), dtype=bool)
        kept = everything.without(useless)
        if kept.n_columns > self.max_columns:
            raise SizeLimitError(
                f"{kept.n_columns:,} of {everything.n_columns:,} parent sets score better than all their subsets; the "
                f"limit is max_columns={self.max_columns:,}. {HOW_TO_HAVE_FEWER}"
            )
        return kept, scores[~useless]

    @property
    def local_scores(self) -> FloatArray:
        """Local score of every column with what the terms add, in nats: `column_scores`."""
        return self.column_scores

    def _columns_of(self, structure: Structure) -> NDArray[np.intp]:
        """Columns of a structure; a parent set that was left out is replaced by its best subset."""
        if not self._subsets_do:
            return super()._columns_of(structure)
        self._require_edges(structure)
        chosen = []
        for node, parents in enumerate(structure.parents):
            inside = [s for s in self.candidates.sets[node] if set(s) <= set(parents)]
            columns = [self.candidates.column_of[node, s] for s in inside]
            chosen.append(max(columns, key=lambda k: self.local_scores[k]))
        return np.array(chosen, dtype=np.intp)

    def _check_cover(self) -> Check:
        def worth(node: int, parents: tuple[int, ...]) -> float:
            own = family_score(self.merged, node, parents, self.score, self.ess)
            return own + sum(term.gain(node, parents, self.merged) for term in self.terms)

        if not all(term.closed for term in self.terms):
            return super()._check_cover()

        missing, held = self.structure_class.uncovered_by_scores(self.candidates.sets, worth)
        words = (
            f"of the parent sets of the class that are not among the {self.candidates.n_columns:,} candidates, {held} "
            "were scored anew: each holds a candidate that scores no less"
        )
        return Check("candidates cover the class", missing is None, missing or words)

    def refuse_oversized(self, kind: ProgramKind) -> None:
        """Raise `SizeLimitError` when a network or the row form would be over the limits."""
        refuse_large_choice(self.data, self.candidates)
        super().refuse_oversized(kind)

    def _fewest_parents(self) -> list[tuple[int, ...]]:
        # No set is dominated by a larger one, so that this needs no scores, and without constraints no list.
        if self.constraints:
            return [min(options, key=len) for options in self._every_candidate.sets]
        return [min((tuple(sorted(family.base)) for family in own), key=len) for own in self._families(self._rules)]

    def starts(self, *, seed: int = 0, deadline: float | None = None) -> Iterator[Start]:
        """Naive Bayes, TAN by conditional mutual information, then what a search over orders finds from the better one.

        Where a maximum branching is the optimum (`solved_by_branching`) there is nothing to search for.
        """
        trivial = self.trivial_start().model.structure
        if self.broken(trivial) is not None:
            return
        best = self.choice_of(trivial)
        for name, make in (("naive_bayes", naive_bayes), ("tan_cmi", tan_cmi)):
            structure = self.nearest(make(self.merged))
            choice = self.choice_of(structure)
            yield Start(self.model_of(structure), name)
            if self.local_scores[choice].sum() > self.local_scores[best].sum():
                best = choice
        if self.solved_by_branching:
            return
        for choice, name in self._searched(best, seed, deadline):
            yield Start(self.model_of(self.structure_of(choice)), name)

    @cached_property
    def solved_by_branching(self) -> bool:
        """Whether every node but the class has at most one parent besides the class, which is in all its sets.

        The optimum is then the best of one maximum branching for each parent set of the class (Edmonds 1967).
        """
        c = self.candidates.class_index
        return self.side is None and all(
            not s or (c in s and len(s) <= 2) for options in self.candidates.sets[:c] for s in options
        )

    def _score_of(self, model: BayesianNetwork) -> float:
        """Score of a network's structure on the data."""
        return structure_score(model.structure, self.data, self.score, self.ess)
