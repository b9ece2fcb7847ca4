"""What side constraints do to a formulation over parent sets: which sets are candidates, what a structure must keep."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from ..._arguments import listed, shown
from ..._arrays import FloatArray
from ...exceptions import InfeasibleError
from ...heuristics.kept_choice import kept_choice
from ...networks.candidates import CandidateParents
from ...networks.constraint_form import ConstraintForm, ModelNodes
from ...networks.constraints import StructureConstraint
from ...networks.structure import Structure
from ...programs.base import ProgramKind
from ...programs.mixed_integer import MixedIntegerProgram
from ...programs.side import SideConstraints
from ..base import Formulation
from .side_columns import SideColumns, side_constraints

__all__ = ["SideConstrained"]


class SideConstrained(Formulation):
    """Base of formulations whose structures may have side constraints."""

    if TYPE_CHECKING:
        # A field of the dataclasses that derive from this one.
        constraints: tuple[StructureConstraint, ...]

    @property
    @abstractmethod
    def model_nodes(self) -> ModelNodes:
        """The nodes that constraints speak of."""

    @property
    @abstractmethod
    def node_names(self) -> tuple[str, ...]:
        """Of all nodes, in the order of the candidates."""

    @property
    @abstractmethod
    def candidates(self) -> CandidateParents:
        """Parent sets that a structure may choose from."""

    @abstractmethod
    def feasibility_program(self) -> MixedIntegerProgram:
        """The row form without the score: its points are the structures of the class, none better than another."""

    @abstractmethod
    def _structure(self, model: Any) -> Structure:
        """The structure of a model of this formulation."""

    def with_constraints(self, *constraints: StructureConstraint) -> Self:
        """A copy whose structures keep these constraints, and those that there are already.

        Parameters
        ----------
        *constraints : StructureConstraint
            `MaxEdges`, `MaxParameters`, `MaxFeatures`, `FeatureBudget`, `AllOrNone`, `AtMostOne`, `DegreeLimit`,
            `Tiers`, `Ancestor`, `NotAncestor`, `LinearRow`, or one's own.

        Raises
        ------
        InputError
            Where one names what is not there. Constraints that contradict each other are found by `solve`.

        Examples
        --------
        >>> import mmbn_opt as mm
        >>> data = mm.DiscreteDataset.from_arrays([["a", "u"], ["a", "v"], ["b", "u"]] * 5, [0, 1, 1] * 5)
        >>> problem = mm.SoftMarginStructure(data).with_constraints(mm.MaxEdges(1))
        >>> len(mm.solve(problem).model.structure.edges)
        1
        """
        return self.under((*self.constraints, *constraints))

    def under(self, constraints: Sequence[StructureConstraint]) -> Self:
        """A copy with these constraints in place of those that there are."""
        every: Any = self  # the dataclasses that derive from this class have the field
        copy: Self = replace(every, constraints=tuple(constraints))
        return copy

    def _check_constraints(self) -> None:
        for constraint in self.constraints:
            constraint.check(self.model_nodes)

    @property
    def _form(self) -> ConstraintForm:
        """What the constraints wrote; made anew, since functions in it cannot travel to other processes."""
        form = ConstraintForm(self.model_nodes)
        for constraint in self.constraints:
            form.said = str(constraint)
            constraint.write(form)
        return form

    @property
    def _trees_turn(self) -> bool:
        """Whether it makes no difference to the constraints from which node a tree hangs."""
        return all(constraint.turns for constraint in self.constraints)

    @property
    def _subsets_do(self) -> bool:
        """Whether a part of a parent set is always allowed where the set is, so that dominated sets are left out."""
        return all(constraint.closed for constraint in self.constraints)

    def _admitted(self, candidates: CandidateParents) -> CandidateParents:
        """The candidates but for those that a constraint forbids each by itself."""
        tests = self._form.forbidden
        if not tests:
            return candidates
        dropped = np.array([any(test(node, s) for test in tests) for node, s in candidates.columns])
        left = np.add.reduceat(~dropped, candidates.offsets[:-1])
        if not left.all():
            node = self.node_names[int(np.argmin(left))]
            told = listed((f"{c}" for c in self.constraints), show=str)
            raise InfeasibleError(
                f"Node {shown(node)} has no parent set left that keeps max_parents, the required and forbidden edges "
                f"and the constraints [{told}]; relax one of these."
            )
        return candidates.without(dropped)

    @cached_property
    def side(self) -> SideConstraints | None:
        """The constraints over the columns; None where there are none that a choice could break."""
        return side_constraints(self._form, self.candidates) if self.constraints else None

    @cached_property
    def _side_columns(self) -> SideColumns | None:
        return None if self.side is None else SideColumns(self.side, self._form)

    @property
    def kinds(self) -> frozenset[ProgramKind]:
        """Searches over subsets of nodes cannot keep what ties the choices of several nodes to one another."""
        if all(constraint.filters for constraint in self.constraints):
            return self.emits
        return self.emits - {ProgramKind.LINEAR_CHOICE}

    def broken(self, structure: Structure) -> str | None:
        """Why a structure does not keep the constraints, by their definitions; None where it does."""
        found = (constraint.objection(structure, self.model_nodes) for constraint in self.constraints)
        return next((reason for reason in found if reason is not None), None)

    def infeasibility(self, model: Any) -> float:
        """1 where the constraints are not kept."""
        return 0.0 if not self.constraints or self.broken(self._structure(model)) is None else 1.0

    def _moved(self, parents: Sequence[Sequence[int]]) -> FloatArray:
        """How near each column is to a structure's parents: by the edges in which they differ."""
        sets = [set(s) for s in parents]
        # Of two that are equally near the larger one, which keeps more.
        return np.array([-len(sets[node] ^ set(s)) + 1e-3 * len(s) for node, s in self.candidates.columns])

    def _kept(self, parents: Sequence[Sequence[int]]) -> np.ndarray[Any, np.dtype[np.intp]] | None:
        """Columns near a structure that keep the constraints, or None where none were found."""
        return kept_choice(self.candidates, self.side, self._moved(parents))
