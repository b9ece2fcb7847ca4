"""Maximum-margin parameters as a convex program."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from ..._arguments import check_fields, checked_number, is_number
from ..._arrays import FloatArray
from ...data.mapped import MappedDataset
from ...exceptions import InputError
from ...networks.log_linear import LogLinearClassifier
from ...networks.network import BayesianNetwork
from ...networks.smoothing import as_smoothing
from ...programs.base import ProgramKind, ProgramSize
from ...programs.convex import ConvexProgram
from ...programs.convex_passes import ConvexPassProgram
from ...programs.log_rows import LogRows
from ...programs.mixed_integer import MixedIntegerProgram
from ...results.duals import DualRows
from ...results.result import Check
from ...results.status import BoundKind, Sense
from ...scores.predictive import log_margins
from ...scores.row_sums import margins_of, summed
from ..base import Start
from ..checks import in_time
from ..given_values import given_values
from ._checks import (
    check_degeneracy,
    check_floor,
    check_linear_rows,
    check_renormalization,
    check_rows,
    check_structure,
)
from ._dual_rows import entry_names, limit_rows, margin_rows, table_rows
from ._factor_index import margin_operator
from ._margin_passes import MarginsInBlocks
from .base import HELD_MARGINS, StructureParameters
from .log_entries import ParameterConstraint, kept_point, largest_violation, linear_rows

__all__ = ["MaxMarginRelaxation", "Normalization"]

Normalization = Literal["hybrid", "floor", "published"]
Model = LogLinearClassifier | BayesianNetwork

DEFAULT_GAMMA = 10.0

_POSITIVE: Any = {"open_low": True, "open_high": True, "expected": "a finite number > 0"}
_LOG_ZERO = -700.0
"""Stands for the logarithm of a probability of zero where there is no floor."""


@dataclass(frozen=True, eq=False)
class MaxMarginRelaxation(StructureParameters):
    """Parameters of a structure with the least hinge loss of margins, rows summing to at most 1.

    minimise  ``sum_m n_m max(0, gamma - min_c (Delta w)_mc) - alpha sum_i n_i w_i``   over log-parameters w

    subject to ``sum_i exp(w_i) <= 1`` in each CPT row and ``w >= log(min_prob)``, where

    * ``(Delta w)_mc = log P(c_m, x_m) - log P(c, x_m)`` for each rival class c,
    * ``normalization="hybrid"``: as it stands; the second term is alpha times the negative log-likelihood of smoothed
      counts ``n_i``, and makes the rows sum to 1 where the data speak;
    * ``"floor"``: alpha = 0;
    * ``"published"``: alpha = 0 and no floor, as in the paper. Then the row constraints never bind: the problem is a
      linear program in disguise, B only rescales, and on separable data its infimum 0 is not attained.

    With `B` instead of `gamma` the objective is the paper's ``1 / (2 gamma^2) + B (the above)``, minimised over
    gamma too.

    Variables: w, one an entry of the CPTs of the class and of its children.   Program: `ConvexProgram`; for "published"
    also a linear program (see `ConvexProgram.linear_form`).   Bound: RELAXATION of the problem with rows that sum to
    exactly 1; the same problem where the structure is renormalizable and there is no floor.
    Source: Guo, Wilkinson & Schuurmans 2005, eq. 14; Pernkopf et al. 2012, eq. 9.

    Parameters
    ----------
    data : DiscreteDataset
    structure : Structure
        Any DAG. Factors without the class keep their maximum-likelihood values; nodes of one state have no parameters.
    gamma : float or None
        Margin in nats that is asked for (``1 / lambda``); None and no `B`: 10.
    B : float or None
        Weight of the slacks in the papers' form.
    normalization : {"hybrid", "floor", "published"}
    alpha : float
        Weight of the likelihood term of "hybrid".
    min_prob : float
        The floor, in (0, 1 / k) for every node of k states; not used by "published".
    smoothing : float or Smoothing
        Of the counts of the likelihood term and of the maximum-likelihood start.
    max_nonzeros, max_parameters : int
        Sizes above which the call is refused (the first only where a matrix is needed).
    constraints : tuple of ParameterConstraint
        Linear rows on w, see `with_constraints`; solvers that take them are "clarabel", "ecos", "scs" and "ipopt".

    Examples
    --------
    >>> import mmbn_opt as mm
    >>> data = mm.DiscreteDataset.from_arrays([["a", "u"], ["a", "v"], ["b", "u"], ["b", "v"]] * 5, [0, 1, 1, 1] * 5)
    >>> relaxation = MaxMarginRelaxation(data, mm.naive_bayes(data), gamma=2.0, normalization="floor")
    >>> start = relaxation.trivial_start().model
    >>> round(relaxation.evaluate(start), 3)
    9.99
    >>> program = relaxation.build()
    >>> round(program.value(relaxation.encode(start)), 3), program.size.columns
    (9.99, 10)
    """

    gamma: float | None = None
    B: float | None = None
    normalization: Normalization = "hybrid"
    alpha: float = 0.03
    min_prob: float = 1e-6
    max_nonzeros: int = field(default=30_000_000, kw_only=True)
    constraints: tuple[ParameterConstraint, ...] = field(default=(), kw_only=True)

    title: ClassVar[str] = "Convex relaxation"
    value_name: ClassVar[str] = "Objective: missed margins, nats"
    emits: ClassVar[frozenset[ProgramKind]] = frozenset({ProgramKind.CONVEX})
    sense: ClassVar[Sense] = Sense.MINIMIZE
    bound_kind: ClassVar[BoundKind] = BoundKind.RELAXATION

    def __post_init__(self) -> None:
        check_fields(self)
        if self.normalization not in ("hybrid", "floor", "published"):
            raise InputError(f'normalization must be "hybrid", "floor" or "published", got {self.normalization!r}.')
        if self.gamma is not None and self.B is not None:
            raise InputError(f"Give gamma or B, not both: got gamma={self.gamma!r}, B={self.B!r}.")
        if self.gamma is None and self.B is None:
            object.__setattr__(self, "gamma", DEFAULT_GAMMA)
        for name in ("gamma", "B"):
            if getattr(self, name) is not None:
                checked_number(name, getattr(self, name), **_POSITIVE)
        if self.normalization == "hybrid":
            checked_number("alpha", self.alpha, **_POSITIVE)
        super().__post_init__()
        object.__setattr__(self, "constraints", tuple(self.constraints))
        _ = self.log_rows  # checks names
        if self.B is not None and self._by_passes:
            told = "B asks for the best margin of all samples at once, and so many are not held of data in a file"
            raise InputError(f"{told} (codes_in). Give gamma.")
        if self.normalization != "published":
            most = max(self.data.cardinalities[v] for v in self.layout.nodes)
            if not is_number(self.min_prob) or not 0 < self.min_prob < 1 / most:
                raise InputError(
                    f"min_prob must lie in (0, 1/{most}), since a row of {most} states has to sum to at most 1; "
                    f"got {self.min_prob!r}."
                )

    def with_constraints(self, *constraints: ParameterConstraint) -> "MaxMarginRelaxation":
        """A copy whose log-parameters keep these constraints, and those that there are already.

        The program stays convex: each is a linear row, whose multiplier shifts what the proof's closed form is of.

        Parameters
        ----------
        *constraints : ParameterConstraint
            `EntryBounds`, `MonotoneEntries`, `TiedTables`, `ParameterRow`, or one's own.

        Raises
        ------
        InputError
            For unknown nodes and states. Constraints that contradict each other are found by `solve`.

        Examples
        --------
        >>> import mmbn_opt as mm
        >>> rows = [["a", "u"], ["a", "v"], ["b", "u"], ["b", "v"]]
        >>> data = mm.DiscreteDataset.from_arrays(rows * 5, [0, 1, 1, 1] * 5)
        >>> problem = mm.MaxMarginRelaxation(data, mm.naive_bayes(data), gamma=2.0, normalization="floor")
        >>> tied = problem.with_constraints(mm.TiedTables(("x0", "x1")), mm.EntryBounds("class", 0, upper=0.2))
        >>> table = mm.solve(tied, rel_gap=1e-6).model.log_factors
        >>> bool(abs(table[0] - table[1]).max() < 1e-9), bool(table[2][0, 0] <= np.log(0.2))
        (True, True)
        """
        return replace(self, constraints=(*self.constraints, *constraints))

    @cached_property
    def log_rows(self) -> LogRows | None:
        """The constraints as linear rows; None where there are none."""
        return linear_rows(self.constraints, self.layout, self.data)

    @property
    def kinds(self) -> frozenset[ProgramKind]:
        """With constraints, the kind that has linear rows; else, for data in a file, the kind that is passed over."""
        if self.log_rows is not None:
            return frozenset({ProgramKind.CONVEX_ROWS})
        return frozenset({ProgramKind.CONVEX_PASSES}) if self._by_passes else self.emits

    @property
    def _by_passes(self) -> bool:
        """Whether nothing is held of the samples: no solver of several passes over linear rows is known here."""
        many = self.data.n_samples * self.data.n_classes > HELD_MARGINS
        return many and isinstance(self.data, MappedDataset) and self.log_rows is None

    @property
    def _default_kind(self) -> ProgramKind:
        return next(iter(self.kinds))

    # -- the pieces ---------------------------------------------------------------------------------------------

    @property
    def log_floor(self) -> float:
        """Logarithm of the floor; ``-inf`` for "published"."""
        return -math.inf if self.normalization == "published" else math.log(self.min_prob)

    @cached_property
    def linear(self) -> FloatArray:
        """``alpha n``: smoothed counts of the entries times alpha; zeros but for "hybrid"."""
        if self.normalization != "hybrid":
            return np.zeros(self.layout.size)
        return self.alpha * self.layout.smoothed_counts(self.merged, as_smoothing(self.smoothing))

    @cached_property
    def program(self) -> ConvexProgram | ConvexPassProgram:
        """The convex program; over data in a file, one that passes over them."""
        if self._by_passes:
            assert isinstance(self.data, MappedDataset) and self.gamma is not None  # noqa: PT018
            margins = MarginsInBlocks(self.layout, self.data)
            return ConvexPassProgram(margins, self.layout.row_ptr, self.gamma, self.linear, self.log_floor)
        return self.held_program

    @cached_property
    def held_program(self) -> ConvexProgram:
        """The program with a number for every sample and class in memory."""
        self._refuse_margins()
        return ConvexProgram(
            margin_operator(self.layout, self.merged), self.layout.row_ptr, self.gamma, self.B, self.linear,
            self.log_floor, max_nonzeros=self.max_nonzeros, rows=self.log_rows,
        )  # fmt: skip

    def estimate_size(self, kind: ProgramKind = ProgramKind.CONVEX) -> ProgramSize:
        """One column a parameter; a row a sample and rival and one a CPT row; non-zeros of the margin matrix."""
        rows = self.merged.n_samples * (self.data.n_classes - 1)
        return ProgramSize(self.layout.size, 0, rows + len(self.layout.row_ptr) - 1, 2 * rows * len(self.layout.nodes))

    def refuse_oversized(self, kind: ProgramKind) -> None:
        """Raise `SizeLimitError` when the multipliers would be too many; a matrix is refused where one is needed."""
        if kind is not ProgramKind.CONVEX_PASSES:
            self._refuse_margins()

    if TYPE_CHECKING:

        def build(self, kind: ProgramKind | None = None) -> ConvexProgram:
            """The convex program."""

    def _build(self, kind: ProgramKind) -> ConvexProgram | ConvexPassProgram:
        return self.program

    def linear_program(self) -> MixedIntegerProgram:
        """The published problem as a linear program with optimum H* (see `ConvexProgram.linear_form`)."""
        return self.held_program.linear_form()

    @property
    def scale(self) -> float:
        """Loss of all samples where no margin is reached."""
        return self.program.scale

    def prove_bound(self, multipliers: FloatArray) -> float:
        """Lower bound of the optimum, computed afresh from multipliers (``multipliers`` of a result).

        Parameters
        ----------
        multipliers : float64 array (n_merged_samples, n_classes)
            Any; what is not admissible is clipped.
        """
        return self.program.dual_value(multipliers)

    def dual_rows(self, multipliers: FloatArray, solution: FloatArray) -> tuple[DualRows, ...]:
        """Margins, sums of the CPT rows and floors, each with its weight in the bound."""
        program = self.program
        if isinstance(program, ConvexPassProgram):
            raise InputError(
                "The multipliers of data in a file follow from a point, and none is kept of a sample. Learn from data "
                "in memory (from_parquet without codes_in) to see what each weighs."
            )
        y, z = program.unpacked(multipliers)
        margins = margin_rows(program, self.data, solution, y, program.loss_weight)
        parts = (margins, *table_rows(program, self.layout, self.data, solution, multipliers))
        return parts if self.log_rows is None else (*parts, limit_rows(self.log_rows, solution, z, program.loss_weight))

    # -- models and vectors -------------------------------------------------------------------------------------

    @cached_property
    def entry_names(self) -> tuple[str, ...]:
        """Of the log-parameters: ``log P[age=old | class=yes, sex=m]``."""
        return entry_names(self.layout, self.data)

    def recover(self, solution: Any) -> LogLinearClassifier:
        """Classifier of a vector, its rows as they are (`LogLinearClassifier.normalize` makes a network of it).

        Parameters
        ----------
        solution : float64 array (n,), list, or mapping from names (`entry_names`)
        """
        known = isinstance(solution, np.ndarray)  # names are made only where they are asked for
        return self.log_linear(solution if known else given_values(solution, self.entry_names))

    def encode(self, model: Model, kind: ProgramKind = ProgramKind.CONVEX) -> FloatArray:
        """Log-parameters of a model on this structure; the nearest feasible ones where it is outside (a floor)."""
        return self.program.project(self.log_parameters(model, max(self.log_floor, _LOG_ZERO)))

    def trivial_start(self) -> Start:
        """The maximum-likelihood network, lifted to the floor and moved to where the constraints are kept."""
        w = self.encode(self.maximum_likelihood)
        if self.constraints:
            w = kept_point(self.constraints, self.layout, self.data, w, self.log_floor)
        return Start(self.recover(w), "maximum likelihood")

    def starts(self, *, seed: int = 0, deadline: float | None = None) -> Iterator[Start]:
        """Nothing beyond maximum likelihood: the program is convex."""
        return iter(())

    def trivial_bound(self) -> float:
        """The bound of all multipliers zero: 0 but for "hybrid", where it is the likelihood term's own optimum."""
        return self.program.bound_of(0.0, self.linear)

    def evaluate(self, model: Model) -> float:
        """Objective of a model, from its log-joints; one outside the floor is judged at its nearest feasible point."""
        w = self.encode(model)
        model = self.recover(w)
        gamma = self.gamma
        if gamma is None:
            assert self.B is not None
            from ...programs.convex_bounds import best_gamma

            margins = log_margins(model, self.data)
            gamma = best_gamma(margins[:, None], np.ones((1, 1)), self.data.sample_weight, self.B)
        loss = summed(model, self.data, partial(_lacks, gamma=gamma)) - float(self.linear @ w)
        return loss if self.B is None else 0.5 / gamma**2 + self.B * loss

    # -- checks -------------------------------------------------------------------------------------------------

    def check(self, model: Model) -> tuple[Check, ...]:
        """The given structure, rows and floor, renormalization, and what the published problem says of itself."""
        tables = model.log_cpts if isinstance(model, BayesianNetwork) else model.log_factors
        checks = [check_structure(self.structure, model), check_rows([tables[v] for v in self.layout.nodes])]
        if self.normalization != "published":
            checks.append(check_floor(min(float(tables[v].min()) for v in self.layout.nodes), self.min_prob))
        if self.log_rows is not None:
            w = np.concatenate([tables[v].ravel() for v in self.layout.nodes])
            checks.append(check_linear_rows(*largest_violation(self.log_rows, w)))
        checks += in_time("renormalization", lambda: check_renormalization(model))
        if self.normalization == "published":
            separates = self.program.separates(self.encode(model))
            checks.append(check_degeneracy("B" if self.gamma is None else "gamma", separates=separates))
        return tuple(checks)


def _lacks(joint: FloatArray, labels: NDArray[np.integer[Any]], rows: slice, *, gamma: float) -> FloatArray:
    """What the margin of each row lacks of gamma."""
    lacks: FloatArray = np.maximum(gamma - margins_of(joint, labels), 0.0)
    return lacks
