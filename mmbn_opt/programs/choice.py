"""Choice programs with an implicit concave term: one column a group, a term that is only ever seen through its cuts."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from mmbn_opt._arrays import FloatArray
from mmbn_opt.exceptions import InputError
from mmbn_opt.programs.base import PrimalHeuristic, ProgramKind, ProgramSize
from mmbn_opt.programs.side import SideConstraints

if TYPE_CHECKING:
    import scipy.sparse as sp

__all__ = ["ChoiceProgram", "ConcaveTerm", "GroupCuts", "GroupsAlone", "WantedGroups"]


class GroupCuts(NamedTuple):
    """Affine pieces above some groups' parts of a concave term, which touch them at the point asked about.

    Parameters
    ----------
    values : float64 array (n_groups,)
        ``f_g`` at the point, of all groups.
    groups : int array (n_pieces,)
        The groups of the pieces.
    intercepts : float64 array (n_pieces,)
    gradients : float64 array (n_pieces, n_columns)
        ``f_g(y) <= intercepts[i] + gradients[i] @ y`` for every y, with g = ``groups[i]``.
    """

    values: FloatArray
    groups: NDArray[np.intp]
    intercepts: FloatArray
    gradients: FloatArray


WantedGroups = Callable[[FloatArray], NDArray[np.intp]]
"""Values of all groups in, the groups out whose pieces are asked for."""


@dataclass(frozen=True, eq=False)
class GroupsAlone:
    """Picks these groups whatever the values: a term that sees it need not look at the parts of others.

    Parameters
    ----------
    groups : int array

    Examples
    --------
    >>> GroupsAlone(np.array([2, 0]))(np.zeros(4))
    array([2, 0])
    """

    groups: NDArray[np.intp]

    def __call__(self, values: FloatArray) -> NDArray[np.intp]:
        """The groups."""
        return self.groups


class ConcaveTerm(Protocol):
    """``f = sum_g f_g``: concave, piecewise linear, bounded above, known by value and supergradient.

    Implementations release the GIL while they compute and answer alike when asked alike.
    """

    @property
    def upper(self) -> FloatArray:
        """A number that no ``f_g`` exceeds, shape (n_groups,)."""

    @property
    def n_parts(self) -> int:
        """Into how many groups it can be parted at most."""

    @property
    def groups(self) -> NDArray[np.int32]:
        """Group of each part, shape (n_parts,)."""

    def values(self, x: FloatArray) -> FloatArray:
        """``f_g(x)``, shape (n_groups,)."""

    def cuts(self, x: FloatArray, wanted: WantedGroups | None = None) -> GroupCuts:
        """Values at `x`, and supergradients of all groups or of those that `wanted` picks by the values.

        Where it is `GroupsAlone`, the values of other groups may be anything.
        """

    def exchanged(self, x: FloatArray, offsets: NDArray[np.intp]) -> FloatArray:
        """``f(x) - f(x with node i := k)`` of every column k with ``x_k > 0`` of a node i that mixes several.

        Shape (n_columns,), 0 elsewhere; columns of node i are ``offsets[i]`` to ``offsets[i + 1] - 1`` and sum to 1.
        Since f is concave, the mean by x over a node's columns is at least 0: what that node's mixture is worth.
        """

    def regrouped(self, n_groups: int, threads: int = 1) -> "ConcaveTerm":
        """The same sum, parted into `n_groups` groups (or as many as there are parts), by up to `threads` threads."""

    def sampled(self, n_parts: int) -> "ConcaveTerm":
        """A sum over about `n_parts` of the parts, in as many groups: near the whole in value, no bound of anything.

        Asked for only where there are more than a hundred thousand parts.
        """


@dataclass(frozen=True, eq=False)
class ChoiceProgram:
    """``min c'x + offset - f(x)  s.t.  A x <= row_upper``, one column of each group is 1, the choice is acyclic.

    Groups are nodes of a directed graph; the column that a node chooses names its parents. Acyclicity is implied by the
    data, not written as rows: a solver separates cluster rows, ``sum_{i in S} sum_{parents of k avoid S} x_ik >=
    1`` for node sets S (Jaakkola et al. 2010), and fixes columns that would close a cycle.

    Parameters
    ----------
    c : float64 array (n_columns,)
    offsets : int array (n_groups + 1,)
        Columns ``offsets[i]`` to ``offsets[i + 1] - 1`` belong to node i.
    parents : bool array (n_columns, n_nodes)
        Which nodes are parents in a column.
    A : CSR array (n_rows, n_columns)
        Rows that hold for every acyclic choice and tighten the relaxation; may be empty.
    row_upper : float64 array (n_rows,)
    term : ConcaveTerm or None
        None stands for ``f = 0``.
    offset : float
    column_names : tuple of str, or empty
    root_columns : int array (n_nodes,) or None
        Of each node the column that makes it the root of a tree, or -1. Given where trees are worth the same from
        whichever node they hang: a solver may then leave out choices in which a node takes that column and a node
        of smaller rank descends from it, since the tree that hangs from its node of least rank is as good.
    root_ranks : int array (n_nodes,) or None
        Ranks of the nodes for that; None: their numbers. Of nodes that share a rank any may be the root.
    spare_columns : bool array (n_columns,) or None
        With root columns: columns of one more node, that of all trees' columns, without which a solver may do beside.
        Each names one or two neighbours of a tree, which have no parents then; the tree that hangs from one of them by
        its root column is as good.
    turning_cost : float
        By how much at most a choice that is left out can be better than the one that stands for it. A solver that
        leaves choices out adds it to what it proves.
    side : SideConstraints or None
        What a choice has to keep besides being acyclic.
    primal_heuristic : PrimalHeuristic or None
        Turns a point into a feasible integral vector, as good as it can cheaply find, or None. It may remember calls;
        a solver calls a copy (``copy.copy``), which remembers none, so that equal runs get equal answers.

    Examples
    --------
    Two nodes, each may take the other as its parent:

    >>> import numpy as np, scipy.sparse as sp
    >>> program = ChoiceProgram(
    ...     c=np.array([0.0, -1.0, 0.0, -2.0]), offsets=np.array([0, 2, 4]),
    ...     parents=np.array([[0, 0], [0, 1], [0, 0], [1, 0]], dtype=bool),
    ...     A=sp.csr_array((0, 4)), row_upper=np.zeros(0))
    >>> program.value(np.array([1.0, 0, 0, 1])), program.violation(np.array([1.0, 0, 0, 1]))
    (-2.0, 0.0)
    >>> program.violation(np.array([0, 1.0, 0, 1])) # a cycle
    1.0
    """

    c: FloatArray
    offsets: NDArray[np.intp]
    parents: NDArray[np.bool_]
    A: "sp.csr_array"
    row_upper: FloatArray
    term: ConcaveTerm | None = None
    offset: float = 0.0
    column_names: tuple[str, ...] = ()
    root_columns: NDArray[np.intp] | None = None
    root_ranks: NDArray[np.intp] | None = None
    spare_columns: NDArray[np.bool_] | None = None
    turning_cost: float = 0.0
    side: SideConstraints | None = None
    primal_heuristic: PrimalHeuristic | None = None

    def __post_init__(self) -> None:
        n, nodes = len(self.c), len(self.offsets) - 1
        if nodes < 1 or self.offsets[0] != 0 or self.offsets[-1] != n or (np.diff(self.offsets) < 1).any():
            raise InputError(f"offsets must rise strictly from 0 to the number of columns, {n}; got {self.offsets!r}.")
        shapes = {"parents": (self.parents.shape, (n, nodes)), "A": (self.A.shape, (len(self.row_upper), n))}
        for name, (shape, expected) in shapes.items():
            if shape != expected:
                raise InputError(
                    f"ChoiceProgram.{name} has shape {shape}, but c, offsets and row_upper call for {expected}."
                )
        if not np.isfinite(self.c).all() or not np.isfinite(self.row_upper).all():
            raise InputError("ChoiceProgram coefficients must be finite: c or row_upper holds NaN or inf.")

    @property
    def kind(self) -> ProgramKind:
        """`ProgramKind.LINEAR_CHOICE` where there is no term and nothing beside acyclicity ties the nodes' choices.

        Solvers of the general kind take that as well.
        """
        free = self.term is None and self.side is None
        return ProgramKind.LINEAR_CHOICE if free else ProgramKind.IMPLICIT_CONCAVE

    @property
    def n_columns(self) -> int:
        """Number of binaries."""
        return len(self.c)

    @property
    def n_nodes(self) -> int:
        """Number of choice groups."""
        return len(self.offsets) - 1

    @property
    def most(self) -> float:
        """What the term can be at most."""
        return 0.0 if self.term is None else float(self.term.upper.sum())

    @property
    def box_bound(self) -> float:
        """A lower bound on the objective: every column of negative cost taken, the term at its most."""
        return float(np.minimum(self.c, 0.0).sum()) + self.offset - self.most

    @cached_property
    def owner(self) -> NDArray[np.intp]:
        """Node of every column, shape (n_columns,)."""
        return np.repeat(np.arange(self.n_nodes), np.diff(self.offsets))

    @cached_property
    def hanging(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Root column of every node, -1 for none, and its rank."""
        numbers = np.arange(self.n_nodes)
        roots = np.full(self.n_nodes, -1) if self.root_columns is None else self.root_columns
        ranks = numbers if self.root_ranks is None else self.root_ranks
        return roots.astype(np.intp), ranks.astype(np.intp)

    def hung_anyhow(self) -> Self:
        """The same program, of which no choice may be left out for another one."""
        return replace(self, root_columns=None, root_ranks=None, spare_columns=None, turning_cost=0.0)

    @property
    def size(self) -> ProgramSize:
        """Columns and explicit rows; the term, acyclicity and side constraints have none."""
        return ProgramSize(
            self.n_columns, self.n_columns, self.n_nodes + self.A.shape[0], self.n_columns + int(self.A.nnz)
        )

    @property
    def choice_groups(self) -> tuple[NDArray[np.intp], ...]:
        """Columns of which exactly one is 1."""
        return tuple(np.arange(a, b) for a, b in zip(self.offsets[:-1], self.offsets[1:], strict=True))

    def value(self, x: FloatArray) -> float:
        """Objective at `x`."""
        implicit = 0.0 if self.term is None else float(self.term.values(x).sum())
        return float(self.c @ x) + self.offset - implicit

    def violation(self, x: FloatArray) -> float:
        """Largest violation of a choice row, an explicit row, 0/1 or integrality at `x`.

        1 more for a choice that is cyclic or breaks a side constraint.
        """
        sums = np.add.reduceat(x, self.offsets[:-1])
        parts = [np.abs(sums - 1.0), np.abs(x - np.round(x)), np.asarray(self.A @ x) - self.row_upper, -x, x - 1.0]
        worst = max(0.0, *(float(part.max()) for part in parts if part.size))
        choice = self.choice(x)
        return worst if self.is_acyclic(choice) and self.keeps_side(choice) else worst + 1.0

    def keeps_side(self, choice: NDArray[np.intp]) -> bool:
        """Whether a choice keeps the side constraints."""
        return self.side is None or self.side.keeps(choice)

    def is_feasible(self, x: FloatArray, tolerance: float = 1e-6) -> bool:
        """Whether `x` is an acyclic choice that keeps the explicit rows and the side constraints."""
        return bool(np.isfinite(x).all()) and self.violation(x) <= tolerance

    def polish(self, x: FloatArray, tolerance: float = 1e-5) -> FloatArray:
        """Round the nearly integral entries."""
        rounded = np.round(x)
        return np.where(np.abs(rounded - x) <= tolerance, rounded, x)

    def choice(self, x: FloatArray) -> NDArray[np.intp]:
        """Largest column of every node."""
        pairs = zip(self.offsets[:-1], self.offsets[1:], strict=True)
        return np.array([a + int(np.argmax(x[a:b])) for a, b in pairs], dtype=np.intp)

    def vector(self, choice: NDArray[np.intp]) -> FloatArray:
        """0/1 vector of one column a node."""
        x = np.zeros(self.n_columns)
        x[choice] = 1.0
        return x

    def is_acyclic(self, choice: NDArray[np.intp]) -> bool:
        """Whether the graph of one column a node has no directed cycle."""
        left = np.ones(self.n_nodes, dtype=bool)
        edges = self.parents[choice]  # edges[child, parent]
        while left.any():
            free = left & ~edges[:, left].any(axis=1)
            if not free.any():
                return False
            left &= ~free
        return True

    def canonical(self) -> Self:
        """The program as engines get it: without a heuristic."""
        return replace(self, primal_heuristic=None)

    def __getstate__(self) -> dict[str, Any]:
        """Leave the heuristic behind when the program travels to another process."""
        return {**self.__dict__, "primal_heuristic": None}
