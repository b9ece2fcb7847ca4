"""What every formulation is: frozen data and hyper-parameters that emit a program and read its answer."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Protocol

from .._arrays import FloatArray
from ..data.discrete import DiscreteDataset
from ..data.samples import Samples
from ..exceptions import InputError
from ..programs.base import Program, ProgramKind, ProgramSize
from ..results.duals import DualRows
from ..results.result import Check
from ..results.status import BoundKind, Sense
from .exchange import ModelExchange

__all__ = ["Described", "DiscreteFormulation", "Formulation", "Start"]


class Described(Protocol):
    """What a report tells of a problem; every formulation has it, and so have problems that need no solver."""

    @property
    def title(self) -> str:
        """What the problem is called."""

    @property
    def value_name(self) -> str:
        """What the objective is, with its unit, for the axis of a curve."""

    @property
    def samples(self) -> Samples | None:
        """What is learned from; None where that is no table."""


@dataclass(frozen=True, eq=False)
class Start:
    """A model to start from and who found it."""

    model: Any
    source: str


@dataclass(frozen=True, eq=False)
class Formulation(ModelExchange, ABC):
    """A learning problem that can be written down as a program.

    Formulations never solve. ``encode`` is the inverse of ``recover``; ``evaluate`` recomputes the objective from the
    data and is what every claim is measured against.
    """

    title: ClassVar[str]
    emits: ClassVar[frozenset[ProgramKind]]
    sense: ClassVar[Sense]
    bound_kind: ClassVar[BoundKind]
    value_name: ClassVar[str] = "Objective"
    """What the objective is, with its unit, for the axis of a curve."""

    @property
    def kinds(self) -> frozenset[ProgramKind]:
        """Of those in `emits`, the kinds of program that can say all that this problem asks for."""
        return self.emits

    @property
    @abstractmethod
    def n_samples(self) -> int:
        """Samples that the objective is recomputed from."""

    @property
    def samples(self) -> Samples | None:
        """What is learned from, for reports; None where that is no table."""
        return None

    @property
    def source_in_words(self) -> str:
        """What the objective is recomputed from."""
        return f"{self.n_samples:,} samples"

    @property
    def hurries(self) -> bool:
        """Whether `trivial_start` looks at the clock and falls back on something cheaper; the others cost little."""
        return False

    @property
    def watched(self) -> bool:
        """Whether held-out samples choose among the iterates, and not the objective alone."""
        return False

    @property
    def solved_by_branching(self) -> bool:
        """Whether maximum branchings solve the projected program, so that nothing has to be searched."""
        return False

    @property
    def attains_relaxation(self) -> bool:
        """Whether the optimum of a convex program that it emits is one of its own models, and not beyond them all."""
        return False

    @property
    def linear_in_disguise(self) -> bool:
        """Whether it is a linear program in another form, of which methods that see its rows prove more."""
        return False

    def with_validation(self, validation: Any, *, seed: int = 0) -> "Formulation":
        """A copy that watches how well it does on held-out data, or on a share of its rows; `InputError` by default."""
        raise InputError(f"{type(self).__name__} has no use for validation data; leave validation out.")

    def with_threads(self, threads: int) -> "Formulation":
        """A copy whose program computes with `threads` threads, where it can."""
        return self

    def prove_bound(self, multipliers: FloatArray) -> float | None:
        """Dual bound of a program's multipliers, computed anew; None where the formulation knows no such bound."""
        return None

    def dual_rows(self, multipliers: FloatArray, solution: FloatArray) -> tuple[DualRows, ...]:
        """What each row weighs in the bound of a program's multipliers, by name; `InputError` by default."""
        raise InputError(f"The multipliers of {type(self).__name__} do not belong to rows with names.")

    @property
    def scale(self) -> float:
        """What the absolute values of the objective's terms add up to, about; rounding errors are in proportion to it.

        Where the optimum is 0 no relative gap is small; an absolute one is small beside this.
        """
        return abs(self.trivial_bound() or 1.0)

    @abstractmethod
    def estimate_size(self, kind: ProgramKind) -> ProgramSize:
        """Size of the program of a kind, without building it."""

    def refuse_oversized(self, kind: ProgramKind) -> None:
        """Raise `SizeLimitError` with figures when the program of a kind would be over the limits; none by default."""
        return

    def build(self, kind: ProgramKind | None = None) -> Program:
        """Emit the program (a minimum); refused with figures when it would be over the size limits.

        Parameters
        ----------
        kind : ProgramKind or None
            One of `emits`; None stands for the only one, or for the row form where there are several.
        """
        wanted = self._default_kind if kind is None else kind
        if wanted not in self.kinds:
            raise InputError(f"{type(self).__name__} emits {sorted(map(str, self.kinds))}, not {wanted}.")
        return self._build(wanted)

    @property
    def _default_kind(self) -> ProgramKind:
        return next(iter(self.emits)) if len(self.emits) == 1 else ProgramKind.MIXED_INTEGER

    @abstractmethod
    def _build(self, kind: ProgramKind) -> Program:
        """The work of `build`, for a kind that is among `emits`."""

    @abstractmethod
    def recover(self, solution: Any) -> Any:
        """Model that a program's solution stands for: values of its columns, or (structures) a mapping from names."""

    def recover_from(self, solution: Any, kind: ProgramKind) -> Any:
        """`recover` of a program of a kind, where two kinds say a model in different ways."""
        return self.recover(solution)

    @abstractmethod
    def encode(self, model: Any, kind: ProgramKind) -> FloatArray:
        """Vector of the program of a kind that stands for a model."""

    def adopt(self, model: Any, kind: ProgramKind) -> Any:
        """What the program can say of a model from elsewhere: the start that counts.

        A structure formulation makes its parameters anew, and a floor lifts what lies below it: another model's own
        figures would be no value of this problem. `InputError` when it is outside the model class.
        """
        return self.recover_from(self.encode(model, kind), kind)

    @abstractmethod
    def starts(self, *, seed: int = 0, deadline: float | None = None) -> Iterator[Start]:
        """Start models from heuristics, each better than the last; stops at `deadline` (``mmbn_opt._budget.now``)."""

    @abstractmethod
    def trivial_start(self) -> Start:
        """A model that costs next to nothing, so that there always is one."""

    @abstractmethod
    def trivial_bound(self) -> float | None:
        """A dual bound that costs next to nothing; None where no bound is claimed."""

    @abstractmethod
    def evaluate(self, model: Any) -> float:
        """Objective of a model, recomputed from the data."""

    def infeasibility(self, model: Any) -> float:
        """How far a model is from the problem's own constraints; 0 where it meets them, and where there are none."""
        return 0.0

    @abstractmethod
    def check(self, model: Any) -> tuple[Check, ...]:
        """What this formulation can re-check of a model besides the objective."""


@dataclass(frozen=True, eq=False)
class DiscreteFormulation(Formulation):
    """A problem over a discrete table.

    Parameters
    ----------
    data : DiscreteDataset
    """

    data: DiscreteDataset

    @property
    def n_samples(self) -> int:
        """Samples, equal ones counted apart."""
        return self.data.n_samples

    @cached_property
    def merged(self) -> DiscreteDataset:
        """The data with equal rows merged."""
        return self.data.aggregate()

    @property
    def samples(self) -> Samples:
        """The data, for reports."""
        return Samples(self.data, self.data.class_name, self.merged)
