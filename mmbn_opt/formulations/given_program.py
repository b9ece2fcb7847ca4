"""A program of one's own as a problem, so that `solve` takes it, with its clock, bounds, trace and checks."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from .._arrays import FloatArray
from ..programs.base import Program, ProgramKind, ProgramSize
from ..programs.choice import ChoiceProgram
from ..programs.mixed_integer import MixedIntegerProgram
from ..results.result import Check
from ..results.status import BoundKind, Sense
from .base import Formulation, Start
from .given_values import given_values

__all__ = ["GivenProgram"]

TOLERANCE = 1e-6
"""By how much a row, a bound or a whole number may be missed."""


@dataclass(frozen=True, eq=False)
class GivenProgram(Formulation):
    """A mixed-integer or choice program as it is; its models are vectors.

    Of an answer, the objective, the rows and the whole numbers are computed anew from the program. What the columns
    stand for is not known here, so that nothing is recomputed from data: `recover` and `certify` of the formulation
    that the program came from do that.

    Parameters
    ----------
    program : MixedIntegerProgram or ChoiceProgram

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> import mmbn_opt as mm
    >>> from mmbn_opt.programs import MixedIntegerProgram
    >>> program = MixedIntegerProgram(
    ...     c=np.array([-1.0, -2.0]), A=sp.csr_array(np.array([[1.0, 1.0]])),
    ...     row_lower=np.array([-np.inf]), row_upper=np.array([1.0]),
    ...     col_lower=np.zeros(2), col_upper=np.ones(2), integrality=np.ones(2, dtype=bool))
    >>> result = mm.solve(program)
    >>> result.termination_status, result.bounds.primal_bound, result.model.tolist()
    (TerminationStatus.OPTIMAL, -2.0, [0.0, 1.0])
    """

    program: MixedIntegerProgram | ChoiceProgram

    title: ClassVar[str] = "Given program"
    value_name: ClassVar[str] = "Objective of the program"
    emits: ClassVar[frozenset[ProgramKind]] = frozenset(
        {ProgramKind.MIXED_INTEGER, ProgramKind.IMPLICIT_CONCAVE, ProgramKind.LINEAR_CHOICE}
    )
    sense: ClassVar[Sense] = Sense.MINIMIZE
    bound_kind: ClassVar[BoundKind] = BoundKind.EXACT

    @property
    def kinds(self) -> frozenset[ProgramKind]:
        """That of the program; one with a linear objective is one of the general kind as well."""
        general = {ProgramKind.IMPLICIT_CONCAVE} if isinstance(self.program, ChoiceProgram) else set()
        return frozenset({self.program.kind, *general})

    @property
    def n_samples(self) -> int:
        """None: the objective is the program's."""
        return 0

    @property
    def source_in_words(self) -> str:
        """The program itself."""
        return "the program's own costs"

    def estimate_size(self, kind: ProgramKind) -> ProgramSize:
        """Exact size."""
        return self.program.size

    def _build(self, kind: ProgramKind) -> Program:
        return self.program

    def recover(self, solution: Any) -> FloatArray:
        """The vector, of values in a list or by the names of columns."""
        if isinstance(solution, np.ndarray):
            return np.array(solution, dtype=np.float64)
        names = self.program.column_names or tuple(f"x{j}" for j in range(self.program.c.size))
        return given_values(solution, names)

    def encode(self, model: FloatArray, kind: ProgramKind | None = None) -> FloatArray:
        """The vector itself."""
        return np.array(model, dtype=np.float64)

    def adopt(self, model: Any, kind: ProgramKind) -> FloatArray:
        """A start: a vector, a list, or values by name."""
        return self.recover(list(model) if isinstance(model, np.ndarray) else model)

    def trivial_start(self) -> Start:
        """The point of the bounds that is nearest to 0; of a choice program the smallest parent sets."""
        program = self.program
        if isinstance(program, ChoiceProgram):
            count = program.parents.sum(axis=1)
            fewest = [group[int(np.argmin(count[group]))] for group in program.choice_groups]
            return Start(program.vector(np.array(fewest, dtype=np.intp)), "smallest parent sets")
        return Start(np.clip(0.0, program.col_lower, program.col_upper), "nearest to 0")

    def starts(self, *, seed: int = 0, deadline: float | None = None) -> Iterator[Start]:
        """None: nothing is known of the program but its rows."""
        yield from ()

    def trivial_bound(self) -> float | None:
        """What follows from the bounds of the columns, where that is finite."""
        return self.program.box_bound

    def evaluate(self, model: FloatArray) -> float:
        """The program's objective."""
        return self.program.value(model)

    def infeasibility(self, model: FloatArray) -> float:
        """Largest violation where it is more than a solver's tolerance."""
        violation = self.program.violation(model)
        return violation if violation > TOLERANCE else 0.0

    def check(self, model: FloatArray) -> tuple[Check, ...]:
        """Rows, bounds and whole numbers; what the columns stand for is left open."""
        violation = self.program.violation(model)
        return (
            Check("rows and bounds", violation <= TOLERANCE, f"largest violation {violation:.1e}"),
            Check(
                "what the columns stand for",
                None,
                "not known of a program: recover and certify of the formulation that it came from tell",
                claims=False,
            ),
        )
