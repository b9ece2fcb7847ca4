"""The class of structures that a claim is made for: in words, and as a test of a network and of a list of candidates.

Written from the definition of the class alone, and from the data. Nothing here uses the candidates' own code, so that
one can be held against the other.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import comb

import numpy as np

from mmbn_opt._arguments import listed
from mmbn_opt._budget import leave_in_time
from mmbn_opt.data.discrete import DiscreteDataset
from mmbn_opt.networks.constraint_form import ModelNodes
from mmbn_opt.networks.constraints import StructureConstraint, ruled_out
from mmbn_opt.networks.structure import Structure, find_cycle

__all__ = ["StructureClass"]

ParentSet = tuple[int, ...]
SetWorth = Callable[[int, ParentSet], float]
"""Node and parent set in, the local score out."""

_A_LOOK = 256
"""Sets between two looks at the clock."""

TIE = 1e-9
"""Relative difference that two ways of computing a local score may have."""

SETS_HELD = 3_000
"""Sets whose local score is computed anew; of more, so many are drawn."""

SETS_LISTED = 2_000_000
"""Sets of a class that are listed to draw from; of more, single ones are drawn."""


@dataclass(frozen=True, eq=False)
class StructureClass:
    """All acyclic networks with at most `max_parents` parents a node that keep some rules.

    Parameters
    ----------
    data : DiscreteDataset
    max_parents : int
    required, forbidden : tuple of (parent, child) names
    partners : tuple or None
        For every feature, and for the class last, the features that may be its parents besides required ones; the class
        may be a parent of every feature. None: all.
    partners_in_words : str
    class_in_every_set : bool
        Whether a feature that has parents has the class among them.
    constraints : tuple of StructureConstraint

    Examples
    --------
    >>> data = DiscreteDataset.from_arrays([["a", "u"], ["b", "v"]], [0, 1])
    >>> print(StructureClass(data, 2, required=(("x0", "x1"),)))
    all acyclic networks over 2 features and 'class' with at most 2 parents a node, with the edge x0 -> x1
    """

    data: DiscreteDataset
    max_parents: int
    required: tuple[tuple[str, str], ...] = ()
    forbidden: tuple[tuple[str, str], ...] = ()
    partners: tuple[tuple[int, ...], ...] | None = None
    partners_in_words: str = ""
    class_in_every_set: bool = False
    constraints: tuple[StructureConstraint, ...] = ()

    def __str__(self) -> str:
        n, name = self.data.n_features, self.data.class_name
        features = f"{n} feature{'s' if n != 1 else ''}"
        words = f"all acyclic networks over {features} and {name!r} with at most {self.max_parents} parents a node"
        if self.class_in_every_set:
            words += f", of which {name!r} is one wherever a feature has any"
        for edges, what in ((self.required, "with"), (self.forbidden, "without")):
            if edges:
                told = listed([f"{parent} -> {child}" for parent, child in edges], show=str)
                words += f", {what} the edge{'s' if len(edges) > 1 else ''} {told}"
        if self.constraints:
            words += f", keeping {listed(map(str, self.constraints), show=str)}"
        if self.partners is not None:
            words += f"; a restricted class, every claim is within {self.partners_in_words}"
        return words

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Of all nodes, the class last."""
        return (*self.data.feature_names, self.data.class_name)

    def idle(self) -> list[int]:
        """Features of one declared state: no edge at them changes a margin or a score."""
        return [j for j, size in enumerate(self.data.cardinalities[:-1]) if size == 1]

    # -- one network ----------------------------------------------------------------------------------------------

    def objection(self, structure: Structure) -> str | None:
        """Why a structure is not in the class; None where it is."""
        if (reason := self.objection_to_edges(structure)) is not None:
            return reason
        found = (constraint.objection(structure, self.nodes) for constraint in self.constraints)
        return next((reason for reason in found if reason is not None), None)

    def objection_to_edges(self, structure: Structure) -> str | None:
        """Why a structure is not in the class, the side constraints aside."""
        if structure.names != self.names:
            return f"it is over the nodes [{listed(structure.names)}], not over [{listed(self.names)}]"
        if cycle := find_cycle(structure.parents):
            return f"it has a cycle through [{listed(self.names[v] for v in cycle)}]"
        for node, parents in enumerate(structure.parents):
            if (reason := self._objection_to(node, parents)) is not None:
                return reason
        return None

    @property
    def nodes(self) -> ModelNodes:
        """The nodes that constraints speak of."""
        return ModelNodes(self.names, tuple(self.data.cardinalities), self.data.n_features)

    def ruled_out(self, node: int, parents: ParentSet) -> bool:
        """Whether a constraint alone says that no structure gives a node these parents."""
        return ruled_out(self.constraints, self.nodes, node, parents)

    @property
    def subsets_do(self) -> bool:
        """Whether a part of a parent set is allowed wherever the set is."""
        return all(constraint.closed for constraint in self.constraints)

    def _objection_to(self, node: int, parents: Sequence[int]) -> str | None:
        names, child, c = self.names, self.names[node], self.data.n_features
        if len(parents) > self.max_parents:
            return f"{child!r} has {len(parents)} parents, at most {self.max_parents} are allowed"
        has = {names[p] for p in parents}
        for parent, of in self.required:
            if of == child and parent not in has:
                return f"the required edge {parent} -> {child} is not there"
        for parent, of in self.forbidden:
            if of == child and parent in has:
                return f"the forbidden edge {parent} -> {child} is there"
        if self.class_in_every_set and node != c and parents and c not in parents:
            return f"{child!r} has parents and {names[c]!r} is not among them"
        if self.partners is not None:
            must = {parent for parent, of in self.required if of == child}
            for p in parents:
                if p != c and p not in self.partners[node] and names[p] not in must:
                    return f"{names[p]!r} is no candidate parent of {child!r}: {self.partners_in_words}"
        return None

    def nearest(self, parents: Sequence[Sequence[int]]) -> tuple[ParentSet, ...]:
        """Parents of a structure in the class that keeps what it can of those given.

        What is not allowed goes, what is required comes, and where that closes a cycle its nodes keep to what is
        required. The required edges themselves have no cycle.
        """
        c = self.data.n_features
        must = [sorted(self._required(node)) for node in range(len(self.names))]
        chosen: list[ParentSet] = []
        for node, given in enumerate(parents):
            kept = list(must[node])
            for p in sorted(given, key=lambda p: p != c):  # the class first, it tells most
                if p not in kept and len(kept) < self.max_parents and self._may_join(node, p):
                    kept.append(p)
            chosen.append(tuple(sorted(kept)))
        while cycle := find_cycle(chosen):
            for node in cycle:
                chosen[node] = tuple(must[node])
        return tuple(chosen)

    def _may_join(self, node: int, parent: int) -> bool:
        edge = (self.names[parent], self.names[node])
        allowed = self.partners is None or parent == self.data.n_features or parent in self.partners[node]
        return edge not in self.forbidden and allowed

    # -- a list of candidates ---------------------------------------------------------------------------------------

    def parent_sets(self, node: int, *, with_class: bool = False) -> Iterator[ParentSet]:
        """Every parent set that the class allows a node, or every one that holds the class node."""
        c, must = self.data.n_features, self._required(node)
        if with_class and c not in must:
            must = {*must, c} if self._may_join(node, c) else set()
            if not must:
                return
        others = [p for p in self._may_be_parents(node) if p not in must]
        for size in range(self.max_parents - len(must) + 1):
            for count, some in enumerate(combinations(others, size)):
                if count % _A_LOOK == 0:
                    leave_in_time()
                found = tuple(sorted((*must, *some)))
                if not (self.class_in_every_set and node != c and found and c not in found):
                    yield found

    def _required(self, node: int) -> set[int]:
        wanted = [p for p, of in self.required if of == self.names[node]]
        return {self.names.index(p) for p in wanted}

    def uncovered_by_margins(self, sets: Sequence[Sequence[ParentSet]]) -> str | None:
        """A parent set of the class for which no candidate stands in margins; None where each has one.

        A candidate stands for a set when it is a part of it (so that it closes no cycle that the set does not close)
        and gives the same margins: the same parents but for those of one state, or any set without the class for a
        feature.
        The required parents alone are a part of every set, so that sets without the class need no list.
        """
        if not self.subsets_do:
            return self.unlisted(sets)
        c, idle = self.data.n_features, set(self.idle())
        for node, options in enumerate(sets):
            listed, least = set(options), self._required(node)
            least_will_do = node in idle or (node != c and c not in least)
            if least_will_do and not any(set(s) == least for s in options):
                return f"{self._said(node, tuple(sorted(least)))} is allowed, and no candidate stands for it"
            if node in idle:
                continue
            for wanted in self.parent_sets(node, with_class=node != c):
                if wanted in listed:
                    continue
                if any(tuple(p for p in wanted if p not in drop) in listed for drop in _parts(idle & set(wanted))):
                    continue
                if self.ruled_out(node, wanted):
                    continue
                return f"{self._said(node, wanted)} is allowed, and no candidate stands for it"
        return None

    def unlisted(self, sets: Sequence[Sequence[ParentSet]]) -> str | None:
        """A parent set of the class that is no candidate itself: where a part of it may be no substitute."""
        for node, options in enumerate(sets):
            listed = set(options)
            for wanted in self.parent_sets(node):
                if wanted not in listed and not self.ruled_out(node, wanted):
                    return f"{self._said(node, wanted)} is allowed, and is no candidate"
        return None

    def uncovered_by_scores(
        self, sets: Sequence[Sequence[ParentSet]], worth: SetWorth, *, seed: int = 0
    ) -> tuple[str | None, str]:
        """A parent set of the class that beats all candidates within it, and how many sets were looked at.

        Each set that is no candidate needs one inside of it that scores as well; both scores are computed by `worth`.
        """
        if not self.subsets_do:
            return self.unlisted(sets), "none"
        rng = np.random.default_rng(seed)
        if (n_sets := sum(self._count(node) for node in range(len(self.names)))) > SETS_LISTED:
            n_missing, held = n_sets - sum(len(set(options) - {()}) for options in sets), self._drawn(sets, rng)
        else:
            missing = [
                (node, wanted)
                for node, options in enumerate(sets)
                for listed in [set(options)]
                for wanted in self.parent_sets(node)
                if wanted not in listed and not self.ruled_out(node, wanted)
            ]
            n_missing, held = len(missing), missing
            if n_missing > SETS_HELD:
                held = [missing[k] for k in np.sort(rng.choice(n_missing, SETS_HELD, replace=False))]
        known: dict[tuple[int, ParentSet], float] = {}

        def valued(node: int, parents: ParentSet) -> float:
            if (node, parents) not in known:
                known[node, parents] = worth(node, parents)
            return known[node, parents]

        for node, wanted in held:
            leave_in_time()
            listed = set(sets[node])
            inside = [s for size in range(len(wanted)) for s in combinations(wanted, size) if s in listed]
            value = worth(node, wanted)
            best = max((valued(node, s) for s in inside), default=-math.inf)
            if best < value - TIE * max(1.0, abs(value)):
                return f"{self._said(node, wanted)} scores {value:.9g}, the best candidate in it {best:.9g}", ""
        return None, f"{len(held):,} drawn of the {n_missing:,}" if len(held) < n_missing else f"all {len(held):,}"

    def _may_be_parents(self, node: int) -> list[int]:
        """Nodes that a node may have as parents besides the required ones."""
        must = self._required(node)
        return [p for p in range(len(self.names)) if p != node and p not in must and self._may_join(node, p)]

    def _parted(self, node: int) -> tuple[set[int], list[int]]:
        """Parents that all sets of a node have but the one without any, and those of which some may join them."""
        must, others, c = self._required(node), self._may_be_parents(node), self.data.n_features
        if self.class_in_every_set and node != c and c in others:
            return {*must, c}, [p for p in others if p != c]
        return must, others

    def _count(self, node: int) -> int:
        """Parent sets of a node but for the one without any, were constraints between nodes not there."""
        must, others = self._parted(node)
        return sum(comb(len(others), size) for size in range(self.max_parents - len(must) + 1)) - (not must)

    def _drawn(self, sets: Sequence[Sequence[ParentSet]], rng: np.random.Generator) -> list[tuple[int, ParentSet]]:
        """Parent sets of the class that are no candidates, each as likely as the others, without a list of all."""
        counts = np.array([self._count(node) for node in range(len(sets))], dtype=np.float64)
        listed = [set(options) for options in sets]
        found: set[tuple[int, ParentSet]] = set()
        for node in rng.choice(len(sets), 4 * SETS_HELD, p=counts / counts.sum()).tolist():
            leave_in_time()
            must, others = self._parted(node)
            sizes = np.array([comb(len(others), k) for k in range(self.max_parents - len(must) + 1)], dtype=np.float64)
            some = rng.choice(others, rng.choice(len(sizes), p=sizes / sizes.sum()), replace=False)
            wanted = tuple(sorted((*must, *some.tolist())))
            if wanted not in listed[node] and not self.ruled_out(node, wanted):
                found.add((node, wanted))
            if len(found) == SETS_HELD:
                break
        return sorted(found)

    def _said(self, node: int, parents: ParentSet) -> str:
        return f"{self.names[node]!r} with the parents [{listed(self.names[p] for p in parents)}]"


def _parts(some: set[int]) -> Iterator[set[int]]:
    """Non-empty subsets."""
    for size in range(1, len(some) + 1):
        yield from map(set, combinations(sorted(some), size))
