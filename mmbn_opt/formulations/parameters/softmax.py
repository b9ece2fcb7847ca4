"""What the parameter formulations share: a softmax a CPT row, a fused objective, and the way back to a network."""

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from ..._arguments import whole
from ..._arrays import FloatArray, log_softmax_of_parts
from ...data.discrete import DiscreteDataset
from ...data.folds import draw_rows
from ...exceptions import InputError
from ...networks.network import BayesianNetwork, estimate_log_cpt
from ...networks.smoothing import as_smoothing
from ...programs.base import ProgramKind, ProgramSize
from ...programs.nonlinear import NonlinearProgram
from ...results.result import Check
from ...results.status import BoundKind, Sense
from ..base import Start
from ._softmax_objective import Monitor, Objective, SamplePass
from .base import StructureParameters

__all__ = ["SoftmaxParameters"]

_LOG_ZERO = float(np.log(1e-10))
"""Stands for the logarithm of a probability of zero: a softmax has no zeros."""


@dataclass(frozen=True, eq=False)
class SoftmaxParameters(StructureParameters):
    """Parameters of a given structure, ``theta_i = exp(beta_i) / sum_l exp(beta_l)`` in each CPT row.

    The vector holds beta for the class and its children; all other factors are the same for every class, leave
    ``P(c | x)`` as it is, and keep their maximum-likelihood values.
    """

    validation: DiscreteDataset | None = field(default=None, kw_only=True)
    threads: int = field(default=1, kw_only=True)

    emits: ClassVar[frozenset[ProgramKind]] = frozenset({ProgramKind.NONLINEAR})
    sense: ClassVar[Sense] = Sense.MAXIMIZE
    bound_kind: ClassVar[BoundKind] = BoundKind.HEURISTIC

    def __post_init__(self) -> None:
        super().__post_init__()
        whole("threads", self.threads, 1, expected="at least 1 and a whole number")
        if self.validation is not None:
            _check_validation(self.validation, self.data)

    # -- the pieces ---------------------------------------------------------------------------------------------

    @property
    def watched(self) -> bool:
        """Whether there are validation data."""
        return self.validation is not None

    def with_validation(self, validation: DiscreteDataset | float, *, seed: int = 0) -> Self:
        """A copy that watches the classification rate on `validation`.

        Parameters
        ----------
        validation : DiscreteDataset or float
            Held-out data, or the share of the rows of `data` to hold out (the rest is what is learned from), classes in
            proportion.
        seed : int
            Of the draw; the draw does not depend on the order of the rows.
        """
        if isinstance(validation, DiscreteDataset):
            return replace(self, validation=validation)
        train, held_out = draw_rows(self.data, validation, seed)
        return replace(self, data=self.data.subset(train), validation=self.data.subset(held_out))

    def with_threads(self, threads: int) -> Self:
        """A copy whose objective is computed by `threads` threads."""
        return replace(self, threads=threads)

    # -- the program --------------------------------------------------------------------------------------------

    @property
    @abstractmethod
    def _pass(self) -> SamplePass:
        """What a pass over some of the samples does."""

    @property
    @abstractmethod
    def _upper(self) -> float:
        """Largest value that the objective can have on a sample of weight 1."""

    def estimate_size(self, kind: ProgramKind = ProgramKind.NONLINEAR) -> ProgramSize:
        """One column a parameter."""
        return ProgramSize(self.layout.size, 0, 0, 0)

    if TYPE_CHECKING:

        def build(self, kind: ProgramKind | None = None) -> NonlinearProgram:
            """Minus the objective with its gradient; `monitor` is there when there are validation data."""

    def _build(self, kind: ProgramKind) -> NonlinearProgram:
        objective = Objective(self.layout, self.merged, self._pass, self.threads)
        monitor = None
        if self.validation is not None:
            held_out = Objective(self.layout, self.validation.aggregate(), self._pass, self.threads)
            monitor = Monitor(held_out, self._upper)
        return NonlinearProgram(objective.minimized, x0=self.encode(self.trivial_start().model), monitor=monitor)

    # -- models and vectors -------------------------------------------------------------------------------------

    def recover(self, solution: FloatArray) -> BayesianNetwork:
        """Network of a vector; the other factors keep their maximum-likelihood CPTs."""
        # In NumPy: the first call of a compiled function takes a third of a second, which a short limit doesn't have.
        log_theta = log_softmax_of_parts(solution, self.layout.row_ptr)
        tables = list(self.maximum_likelihood.log_cpts)
        for node, a, b in zip(self.layout.nodes, self.layout.starts[:-1], self.layout.starts[1:], strict=True):
            tables[node] = log_theta[a:b].reshape(self.layout.shape(node))
        return replace(self.maximum_likelihood, log_cpts=tuple(tables))

    def encode(self, model: BayesianNetwork, kind: ProgramKind = ProgramKind.NONLINEAR) -> FloatArray:
        """Log-parameters of a network with this structure; a probability of zero counts as 1e-10."""
        if model.structure.parents != self.structure.parents or model.features != self.data.features:
            raise InputError(
                "The network's structure or variables are not those of the formulation; "
                f"its edges are {model.structure.edges[:5]}{' ...' if len(model.structure.edges) > 5 else ''}."
            )
        beta = np.concatenate([model.log_cpts[node].ravel() for node in self.layout.nodes])
        return np.where(np.isneginf(beta), _LOG_ZERO, beta)

    # -- starts -------------------------------------------------------------------------------------------------

    def trivial_start(self) -> Start:
        """The maximum-likelihood network."""
        return Start(self.recover(self.encode(self.maximum_likelihood)), "maximum likelihood")

    def starts(self, *, seed: int = 0, deadline: float | None = None) -> Iterator[Start]:
        """Nothing beyond maximum likelihood, which did better than random starts (Pernkopf et al. 2012, section 5)."""
        return iter(())

    def trivial_bound(self) -> float | None:
        """No bound is claimed: the program is not convex."""
        return None

    # -- checks -------------------------------------------------------------------------------------------------

    def check(self, model: BayesianNetwork) -> tuple[Check, ...]:
        """The given structure, normalised CPTs, maximum likelihood in the factors without the class."""
        same = model.structure.parents == self.structure.parents
        off_one = max(float(np.abs(np.exp(table).sum(axis=1) - 1).max()) for table in model.log_cpts)
        checks = [
            Check(
                "structure as given", same, f"{len(model.structure.names)} nodes, {len(model.structure.edges)} edges"
            ),
            Check("CPTs normalised", off_one <= 1e-9, f"largest |row sum - 1| is {off_one:.1e}"),
        ]
        others = [v for v in range(self.structure.class_index) if v not in self.layout.nodes]
        if same and others:
            prior = as_smoothing(self.smoothing)
            fresh = {v: estimate_log_cpt(self.merged, v, self.structure.parents[v], prior) for v in others}
            off = max(float(np.abs(np.exp(fresh[v]) - np.exp(model.log_cpts[v])).max()) for v in others)
            detail = f"largest difference to a fresh estimate is {off:.1e}"
            checks.append(Check("factors without the class from the data", off <= 1e-9, detail))
        return tuple(checks)


def _check_validation(validation: DiscreteDataset, data: DiscreteDataset) -> None:
    if validation.features != data.features or validation.target != data.target:
        raise InputError("The validation data's variables are not the training data's; encode both with the same ones.")
    if validation.n_samples == 0 or (validation.codes < 0).any():
        raise InputError("The validation data need at least one row and no missing cells.")
