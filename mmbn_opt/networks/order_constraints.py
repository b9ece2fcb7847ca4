"""Side constraints on the order of nodes: tiers, and who may, must or must not be above whom."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import ClassVar

from mmbn_opt._arguments import check_fields, listed, shown
from mmbn_opt.exceptions import InputError
from mmbn_opt.networks.constraint_form import ConstraintForm, ModelNodes
from mmbn_opt.networks.constraints import StructureConstraint
from mmbn_opt.networks.structure import Structure

__all__ = ["Ancestor", "NotAncestor", "Tiers"]


@dataclass(frozen=True)
class Tiers(StructureConstraint):
    """Nodes in tiers, such as times of measurement: no edge leads from a later tier to an earlier one.

    Nodes that are in no tier are free.

    Parameters
    ----------
    tiers : list of lists of str
        From the first to the last; the class may be in one.

    Examples
    --------
    >>> print(Tiers([["age", "sex"], ["bp"], ["class"]]))
    tiers [age, sex] < [bp] < [class]
    """

    tiers: Collection[Collection[str]]

    closed = True
    filters: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_fields(self)
        if any(isinstance(tier, str) for tier in self.tiers):
            raise InputError(f"tiers must be lists of names, got {shown(self.tiers)}.")
        tiers = tuple(tuple(map(str, tier)) for tier in self.tiers)
        object.__setattr__(self, "tiers", tiers)
        every = [name for tier in tiers for name in tier]
        if len(tiers) < 2:
            raise InputError(f"tiers needs two tiers or more, got {shown(list(tiers))}.")
        if twice := sorted({name for name in every if every.count(name) > 1}):
            raise InputError(f"[{listed(twice)}] stand in two tiers; leave one of the places.")

    def __str__(self) -> str:
        return "tiers " + " < ".join(f"[{listed(tier, show=str)}]" for tier in self.tiers)

    def check(self, nodes: ModelNodes) -> None:
        """All names must be known."""
        self._tier_of(nodes)

    def _tier_of(self, nodes: ModelNodes) -> dict[int, int]:
        return {nodes.number(name, self): k for k, tier in enumerate(self.tiers) for name in tier}

    def objection(self, structure: Structure, nodes: ModelNodes) -> str | None:
        """Look at every edge."""
        place = {name: k for k, tier in enumerate(self.tiers) for name in tier}
        for parent, child in structure.edges:
            if parent in place and child in place and place[parent] > place[child]:
                return f"the edge {parent} -> {child} leads from a later tier to an earlier one"
        return None

    def write(self, form: ConstraintForm) -> None:
        """A matter of each column."""
        tier = self._tier_of(form.nodes)
        form.forbid(lambda node, parents: node in tier and any(tier.get(p, -1) > tier[node] for p in parents))


@dataclass(frozen=True)
class _Pair(StructureConstraint):
    """Two nodes of which one may lead to the other."""

    above: str
    below: str

    def __post_init__(self) -> None:
        check_fields(self)
        object.__setattr__(self, "above", str(self.above))
        object.__setattr__(self, "below", str(self.below))
        if self.above == self.below:
            raise InputError(f"{type(self).__name__} needs two different nodes, got {shown(self.above)} twice.")

    def check(self, nodes: ModelNodes) -> None:
        """Both names must be known."""
        self._numbers(nodes)

    def _numbers(self, nodes: ModelNodes) -> tuple[int, int]:
        return nodes.number(self.above, self), nodes.number(self.below, self)

    def _leads(self, structure: Structure, nodes: ModelNodes) -> bool:
        """Whether a path leads from the one to the other: walk up from below."""
        above, below = self._numbers(nodes)
        seen, todo = {below}, [below]
        while todo:
            for p in structure.parents[todo.pop()]:
                if p not in seen:
                    seen.add(p)
                    todo.append(p)
        return above in seen


@dataclass(frozen=True)
class Ancestor(_Pair):
    """A directed path leads from one node to the other.

    Parameters
    ----------
    above, below : str

    Examples
    --------
    >>> print(Ancestor("smoking", "cancer"))
    'smoking' above 'cancer'
    """

    def __str__(self) -> str:
        return f"{self.above!r} above {self.below!r}"

    def objection(self, structure: Structure, nodes: ModelNodes) -> str | None:
        """Look for a path."""
        return None if self._leads(structure, nodes) else f"no path leads from {self.above!r} to {self.below!r}"

    def write(self, form: ConstraintForm) -> None:
        """A path that is there; none leads back, since the graph is acyclic."""
        above, below = self._numbers(form.nodes)
        form.ancestor(above, below)
        form.no_ancestor(below, above)


@dataclass(frozen=True)
class NotAncestor(_Pair):
    """No directed path leads from one node to the other.

    Parameters
    ----------
    above, below : str

    Examples
    --------
    >>> print(NotAncestor("cancer", "smoking"))
    'cancer' not above 'smoking'
    """

    closed = True

    def __str__(self) -> str:
        return f"{self.above!r} not above {self.below!r}"

    def objection(self, structure: Structure, nodes: ModelNodes) -> str | None:
        """Look for a path."""
        return f"a path leads from {self.above!r} to {self.below!r}" if self._leads(structure, nodes) else None

    def write(self, form: ConstraintForm) -> None:
        """A path that is not there."""
        form.no_ancestor(*self._numbers(form.nodes))
