"""From candidate parent sets and the score's part to a program: what needs no table of data."""

from abc import abstractmethod
from dataclasses import replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, Literal, overload

import numpy as np
from numpy.typing import NDArray

from ..._arguments import shown
from ..._arrays import FloatArray
from ...exceptions import InputError
from ...heuristics.objectives import Loss
from ...heuristics.rounding import RoundAndDescend
from ...networks.candidates import parent_matrix
from ...networks.structure import Structure
from ...programs.base import Program, ProgramKind, ProgramSize
from ...programs.choice import ChoiceProgram, ConcaveTerm
from ...programs.mixed_integer import MixedIntegerProgram
from ...programs.safe_names import unique_names
from ...results.status import BoundKind, Sense
from ..given_values import given_values
from .acyclicity import (
    AcyclicityRows,
    Turning,
    acyclicity_rows,
    class_link_rows,
    class_parent_columns,
    count_acyclicity,
    order_values,
    ordered_nodes,
    tree_root_columns,
)
from .constrained import SideConstrained

if TYPE_CHECKING:
    import scipy.sparse as sp

__all__ = ["Choice", "ParentSetFormulation"]

Choice = NDArray[np.intp]


class ParentSetFormulation(SideConstrained):
    """Base of the programs whose binaries choose one of the candidate parent sets of each node."""

    emits: ClassVar[frozenset[ProgramKind]] = frozenset({ProgramKind.MIXED_INTEGER, ProgramKind.IMPLICIT_CONCAVE})
    sense: ClassVar[Sense] = Sense.MAXIMIZE
    bound_kind: ClassVar[BoundKind] = BoundKind.EXACT

    if TYPE_CHECKING:
        # Fields of the dataclasses that derive from this one.
        acyclicity: str
        max_rows: int
        max_nonzeros: int

    @abstractmethod
    def _columns_of(self, structure: Structure) -> Choice:
        """Columns that stand for a structure, whether it keeps the constraints or not."""

    @abstractmethod
    def nearest(self, structure: Structure) -> Structure:
        """A structure of the class that keeps what it can of the one given."""

    def choice_of(self, structure: Structure) -> Choice:
        """Columns that stand for a structure; `InputError` when it is outside the model class."""
        choice = self._columns_of(structure)
        if (reason := self.broken(structure)) is not None:
            raise InputError(f"The structure is outside the model class: {reason}.")
        return choice

    def structure_of(self, choice: Choice) -> Structure:
        """Structure of one column a node."""
        *features, last = self.node_names
        return Structure(tuple(features), last, self.candidates.parents_of_choice(choice))

    def chosen(self, solution: Any) -> Choice:
        """The column of each node that is nearest to 1; `solution` may be a list, or a mapping from columns' names.

        Raises
        ------
        InputError
            For values that are none, and where no column of a node stands out.
        """
        if not isinstance(solution, np.ndarray):
            solution = given_values(solution, self._column_names(0, ()))
            best = np.maximum.reduceat(solution, self.candidates.offsets[:-1])
            if best.min() <= 0.5:
                node = self.node_names[int(best.argmin())]
                raise InputError(
                    f"No parent set of {shown(node)} is chosen: the largest value of its columns is {best.min():g}."
                )
        return np.array(
            [a + int(np.argmax(solution[a:b])) for a, b in pairwise(self.candidates.offsets)], dtype=np.intp
        )

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
        side = self._side_columns
        side_rows, own = (0, 0) if side is None else (len(side.lower), len(side.column_names))
        integers = structure_columns + (0 if side is None else int(side.whole.sum()))
        varying = structure_columns - self._columns_without_class
        dense = self._score_rows() * (varying + 1) + structure_columns * 2 * nodes
        dense += 0 if side is None else side.matrix.nnz
        return ProgramSize(columns + own, integers, rows + side_rows, dense)

    @cached_property
    def _columns_without_class(self) -> int:
        """Columns of features whose parents are features alone."""
        of_features = self.candidates.parent_array[: self.candidates.offsets[-2]]
        return int((of_features != self.candidates.class_index).all(axis=1).sum())

    def refuse_oversized(self, kind: ProgramKind) -> None:
        """Raise `SizeLimitError` when the row form would exceed `max_rows` or `max_nonzeros`."""
        if kind is ProgramKind.MIXED_INTEGER:
            self.estimate_size().refuse_over(max_rows=self.max_rows, max_nonzeros=self.max_nonzeros, what=self.title)

    @abstractmethod
    def _score_part(self) -> "tuple[sp.csr_array | None, FloatArray, FloatArray, FloatArray, float]":
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
        return self._row_form(*self._score_part())

    def feasibility_program(self) -> MixedIntegerProgram:
        """The row form without the score: its points are the structures of the class, none better than another."""
        return self._row_form(None, np.zeros(self.candidates.n_columns), np.zeros(0), np.zeros(0), 0.0)

    def _row_form(
        self,
        score_matrix: "sp.csr_array | None",
        structure_cost: FloatArray,
        score_cost: FloatArray,
        score_upper: FloatArray,
        offset: float,
    ) -> MixedIntegerProgram:
        """The row form with a score part."""
        import scipy.sparse as sp

        candidates, acyclic = self.candidates, self._acyclicity_rows
        n_structure, n_order = candidates.n_columns, len(acyclic.ordered)
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
        program = MixedIntegerProgram(
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
        return program if self._side_columns is None else self._side_columns.added_to(program)

    def _projected_score(self) -> tuple[FloatArray, ConcaveTerm | None, float]:
        """Costs of the structure columns, the implicit term and the offset of the projected program."""
        _, cost, _, _, offset = self._score_part()
        return cost, None, offset

    def _turning(self, roots: NDArray[np.intp]) -> Turning | None:
        """How trees may be hung, for some of the features their columns {class}; None: as they hang."""
        return None

    def _build_projected(self) -> ChoiceProgram:
        candidates = self.candidates
        cost, term, offset = self._projected_score()
        link = class_link_rows(candidates)
        roots = tree_root_columns(candidates) if self._trees_turn else None
        turning = None if roots is None else self._turning(roots)
        return ChoiceProgram(
            c=cost,
            offsets=candidates.offsets,
            parents=parent_matrix(candidates),
            A=link,
            row_upper=np.zeros(link.shape[0]),
            term=term,
            offset=offset,
            column_names=self._column_names(0, ()),
            root_columns=None if turning is None else roots,
            root_ranks=None if turning is None else turning.ranks,
            spare_columns=class_parent_columns(candidates) if turning is not None and turning.alone else None,
            turning_cost=0.0 if turning is None else turning.cost,
            side=self.side,
            primal_heuristic=RoundAndDescend(candidates, self._loss(), side=self.side),
        )

    def _column_names(self, n_score: int, ordered: tuple[int, ...]) -> tuple[str, ...]:
        """``parents[age | class, sex]``, ``parents[age |]`` for none, ``tau[row 17]``, ``order[age]``."""
        names = self.node_names
        sets = [
            f"parents[{names[node]} | {', '.join(names[p] for p in s)}]" if s else f"parents[{names[node]} |]"
            for node, s in self.candidates.columns
        ]
        return (*sets, *self._score_column_names(n_score), *(f"order[{names[node]}]" for node in ordered))

    def _score_column_names(self, count: int) -> list[str]:
        """Names of the score columns."""
        return [f"score[{k}]" for k in range(count)]

    def _score_row_names(self) -> list[str]:
        """Names of the score rows."""
        return []

    def named_program(self) -> MixedIntegerProgram:
        """The row form with a name for each row too: ``margin[row 17, yes vs no]``, ``order[age -> bp]``."""
        names = self.node_names
        rows = [f"choice[{name}]" for name in names]
        for kind, nodes in self._acyclicity_rows.what:
            between = " -> " if kind == "order" else ", "
            rows.append(f"{kind}[{between.join(names[v] for v in nodes)}]")
        own = () if self._side_columns is None else self._side_columns.row_names
        program = self.build(ProgramKind.MIXED_INTEGER)
        # A comma in the name of a node may make two names the same.
        every = unique_names((*rows, *self._score_row_names(), *own))
        return replace(program, column_names=unique_names(program.column_names), row_names=every)

    def encode(self, model: Any, kind: ProgramKind = ProgramKind.MIXED_INTEGER) -> FloatArray:
        """Program vector of a network: its columns and, in the row form, score columns, an order, and the rest."""
        choice = self._columns_of(self._structure(model))
        eta = np.zeros(self.candidates.n_columns)
        eta[choice] = 1.0
        if kind is not ProgramKind.MIXED_INTEGER:
            return eta
        order = order_values(self.structure_of(choice), ordered_nodes(self.candidates, self.acyclicity))
        own = np.zeros(0) if self._side_columns is None else self._side_columns.values(choice)
        return np.concatenate([eta, self._score_values(choice), order, own])

    def _score_values(self, choice: Choice) -> FloatArray:
        """Best values of the score columns for a choice."""
        return np.zeros(0)
