"""Two Gaussian mixtures with the largest margin between two classes, every sample on its side."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
import pandas as pd

from ..._arguments import check_fields, checked_number, choice_of, listed
from ..._arrays import FloatArray, log_expit
from ...data.folds import draw_held_out, take_rows
from ...data.numeric import NumericDataset, check_components
from ...data.samples import Samples
from ...exceptions import InputError, SizeLimitError
from ...mixtures.classifier import DecisionRule, MixtureClassifier, MixturePart
from ...mixtures.density import MixtureDensity
from ...programs.base import ProgramKind, ProgramSize
from ...programs.nonlinear import ConstraintTargets, NonlinearProgram
from ...results.result import Check
from ...results.status import BoundKind, Sense
from ._checks import check_samples
from ._objective import CmmLayout, CmmObjective, parameter_box, soft_margin_of_ratios
from ._starts import StartingMixtures
from ._validation import HeldOut
from .as_pyomo import cmm_model

__all__ = ["ConstrainedMaximumMargin"]

STARTS = ("best", "k-means", "em")

FEASIBILITY_TOLERANCE = 1e-6
"""A sample may miss its target by this much, in nats."""


@dataclass(frozen=True, eq=False)
class ConstrainedMaximumMargin(StartingMixtures):
    """Constrained maximum margin (CMM) between two classes with Gaussian-mixture densities.

    maximise  ``gamma' = -1/h log sum_{i in class 1} exp(-h r_i) - 1/h log sum_{i in class 2} exp(h r_i)``

    s.t.      ``y_i (b + r_i) >= xi`` for every sample i,

    with ``r_i = log p(x_i | class 1) - log p(x_i | class 2)``, b the log-ratio of the priors and y = +1 for the first
    class, -1 for the second. Both densities are mixtures of K diagonal Gaussians.

    Variables: b; a weight (softmax), means, and log-variances (``var = exp(s) + tau``) of each Gaussian, in features of
    mean 0 and variance 1 and inside a box around the data, since the margin has no finite maximum without one.
    Program: `NonlinearProgram` with one constraint a sample, not convex.   Bound: none (HEURISTIC).
    Source: Guo, Liu, Guo, Li, Geng 2018, eq. 12, 15-17 and Table 1.

    The program tells the solver that the targets xi may be raised (by `xi_growth`) once all samples meet them (section
    4.1.2), and how a violation is to be penalised. As printed (eq. 18) the penalty ``g_i^2`` on ``g_i <= xi`` pushes
    samples with ``0 < g_i <= xi`` towards 0, away from xi; the exterior penalty of the constraint is ``(xi - g_i)^2``.

    Parameters
    ----------
    X : DataFrame or array (n_samples, n_features)
    y : array (n_samples,)
        Two classes; `CMMClassifier` makes more classes out of pairs.
    n_components : int
        Gaussians a class, K.
    h : float
        Sharpness of the soft minimum, at least 1.
    xi : float
        Required log-odds of the true class, above 0, in nats.
    tau : float
        Lower limit of the variances, in units of each feature's own variance.
    penalty : {"exterior", "printed"}
    xi_growth : float
        1 keeps xi as it is; the paper multiplies by 10.
    missing : {"error", "marginalize"}
        NaN in `X`: an error, or summed out.
    validation : tuple (X, y) or None
        Its classification rate decides which iterate is kept; see `with_validation`.
    start : {"best", "k-means", "em"}
        Where a solver begins: at k-means (section 3.2), at maximum likelihood by expectation-maximization (at k-means
        where values are missing or a class has fewer different samples than components), or at the better of the two.
        Where a third of a time limit does not suffice for that, at one Gaussian a class.
    seed : int
        Of k-means.
    max_parameters : int
    tells : bool
        False where what is odd about the table was logged before.

    Examples
    --------
    >>> X, y = [[0.0], [0.5], [1.0], [4.0], [4.5], [5.0]], ["a", "a", "a", "b", "b", "b"]
    >>> formulation = ConstrainedMaximumMargin(X, y, n_components=1)
    >>> start = formulation.trivial_start().model
    >>> round(formulation.evaluate(start), 3), bool(formulation.violations(start).max() > 0)
    (72.0, False)
    """

    X: Any
    y: Any
    n_components: int = 3
    h: float = 10.0
    xi: float = 2.6
    tau: float = 0.0025
    penalty: Literal["exterior", "printed"] = "exterior"
    xi_growth: float = field(default=10.0, kw_only=True)
    missing: Literal["error", "marginalize"] = field(default="error", kw_only=True)
    validation: tuple[Any, Any] | None = field(default=None, kw_only=True)
    start: Literal["best", "k-means", "em"] = field(default="best", kw_only=True)
    seed: int = field(default=0, kw_only=True)
    max_parameters: int = field(default=1_000_000, kw_only=True)
    tells: bool = field(default=True, kw_only=True, repr=False, metadata={"content": False})

    title: ClassVar[str] = "Constrained maximum margin"
    value_name: ClassVar[str] = "Soft margin, nats"
    emits: ClassVar[frozenset[ProgramKind]] = frozenset({ProgramKind.NONLINEAR})
    sense: ClassVar[Sense] = Sense.MAXIMIZE
    bound_kind: ClassVar[BoundKind] = BoundKind.HEURISTIC

    def __post_init__(self) -> None:
        check_fields(self)
        check_components(self.n_components)
        checked_number("h", self.h, 1.0, 1e6)
        checked_number("xi", self.xi, 0.0, 1e12, open_low=True)
        checked_number("tau", self.tau, 0.0, 1e6, open_low=True)
        checked_number("xi_growth", self.xi_growth, 1.0, 1e6)
        choice_of("penalty", self.penalty, ("exterior", "printed"), expected='"exterior" or "printed"')
        choice_of("start", self.start, STARTS, expected=f"one of {', '.join(STARTS)}")
        if self.data.n_classes != 2:
            raise InputError(
                f"CMM separates two classes; y holds {self.data.n_classes}: [{listed(self.data.classes.tolist())}]. "
                "Use CMMClassifier, which combines one program for each pair of classes."
            )
        self.data.require_members(self.n_components)
        size = self.estimate_size().columns
        if size > self.max_parameters:
            raise SizeLimitError(
                f"{self.title} would have {size:,} parameters; the limit is max_parameters={self.max_parameters:,}. "
                "Use fewer components or features, or raise the limit."
            )
        if self.validation is not None:
            self._held_out  # noqa: B018 -- so that it is checked now and not in the middle of a run

    @property
    def samples(self) -> Samples:
        """The data, for reports."""
        return Samples(self.data, "class")

    @cached_property
    def data(self) -> NumericDataset:
        """The samples, checked and standardised."""
        return NumericDataset.from_arrays(self.X, self.y, missing=self.missing, tells=self.tells)

    @property
    def n_samples(self) -> int:
        """Samples of both classes."""
        return self.data.n_samples

    @property
    def watched(self) -> bool:
        """Whether there are validation data."""
        return self.validation is not None

    @cached_property
    def signs(self) -> FloatArray:
        """+1 for samples of the first class, -1 for those of the second."""
        return np.where(self.data.codes == 0, 1.0, -1.0)

    @property
    def layout(self) -> CmmLayout:
        """Where the parameters stand in the vector."""
        return CmmLayout(self.n_components, self.data.n_features)

    @cached_property
    def _held_out(self) -> HeldOut:
        assert self.validation is not None
        return HeldOut.of(self.data, *self.validation, missing=self.missing)

    def with_validation(self, validation: tuple[Any, Any] | float, *, seed: int = 0) -> Self:
        """A copy that watches the classification rate on held-out samples.

        Parameters
        ----------
        validation : tuple (X, y) or float
            Held-out samples, or the share of the rows to hold out, classes in proportion.
        seed : int
            Of the draw; the draw does not depend on the order of the rows.
        """
        if isinstance(validation, tuple):
            return replace(self, validation=validation)
        checked_number("validation", validation, 0.0, 0.9, open_low=True)
        held_out = draw_held_out(self.data, validation, keep=self.n_components, seed=seed)
        (X, y), rest = take_rows(self.X, self.y, ~held_out), take_rows(self.X, self.y, held_out)
        return replace(self, X=X, y=y, validation=rest)

    def estimate_size(self, kind: ProgramKind = ProgramKind.NONLINEAR) -> ProgramSize:
        """One column a parameter, one row a sample."""
        columns, rows = self.layout.size, self.data.n_samples
        return ProgramSize(columns, 0, rows, columns * rows)

    def objective(self) -> CmmObjective:
        """The program's functions."""
        return CmmObjective(self.data.z, self.signs, self.layout, float(self.h), float(self.xi), float(self.tau))

    if TYPE_CHECKING:

        def build(self, kind: ProgramKind | None = None) -> NonlinearProgram:
            """Minus the margin with gradient, constraints, Jacobian and box; `monitor` with validation data."""

    def _build(self, kind: ProgramKind) -> NonlinearProgram:
        objective = self.objective()
        lower, upper = parameter_box(self.layout, self.data.z)
        return NonlinearProgram(
            objective.value_and_gradient,
            x0=self.encode(self._start_at_hand().model),
            lower=lower,
            upper=upper,
            constraints=objective.constraints,
            jacobian=objective.jacobian,
            monitor=None if self.validation is None else self._monitor(),
            n_constraints=self.data.n_samples,
            evaluate=objective.evaluate,
            algebraic=lambda start: cmm_model(objective, lower, upper, start),
            targets=ConstraintTargets(
                np.full(self.data.n_samples, float(self.xi)),
                growth=float(self.xi_growth),
                penalize_activity=self.penalty == "printed",
            ),
        )

    def _monitor(self) -> Callable[[FloatArray], float]:
        """Classification rate on the validation data; equal rates are ordered by the mean posterior."""
        held_out = replace(self.objective(), z=self._held_out.z, signs=self._held_out.signs)

        def score(x: FloatArray) -> float:
            odds = held_out.constraints(x) + self.xi
            return float(np.mean(odds > 0) + np.mean(np.exp(log_expit(odds))) / (len(odds) + 1))

        return score

    def recover(self, solution: FloatArray) -> MixtureClassifier:
        """Classifier of a vector."""
        densities = []
        for mixture in range(2):
            weights, means, scales = self.layout.views(np.asarray(solution, dtype=np.float64), mixture)
            log_weights = weights - np.logaddexp.reduce(weights)
            densities.append(MixtureDensity(log_weights, means.copy(), np.exp(scales) + self.tau))
        return self._model(float(solution[0]), densities)

    def encode(self, model: MixtureClassifier, kind: ProgramKind = ProgramKind.NONLINEAR) -> FloatArray:
        """Vector of a classifier of the same two classes; variances below `tau` are raised to it."""
        part = self._checked_part(model)
        x = np.empty(self.layout.size)
        x[0] = part.log_prior[0] - part.log_prior[1]
        lower, upper = parameter_box(self.layout, self.data.z)
        for mixture, density in enumerate(part.densities):
            weights, means, scales = self.layout.views(x, mixture)
            # A softmax does not see a shift; the middle one keeps the largest range inside the box.
            log_weights = np.maximum(density.log_weights, -1e3)
            weights[:] = log_weights - 0.5 * (log_weights.max() + log_weights.min())
            means[:] = (density.means * model.scale + model.location - self.data.location) / self.data.scale
            variances = density.covariances * (model.scale / self.data.scale) ** 2
            scales[:] = np.log(np.maximum(variances - self.tau, 1e-300))
        return np.clip(x, lower, upper)

    def _checked_part(self, model: MixtureClassifier) -> MixturePart:
        if not isinstance(model, MixtureClassifier):
            raise InputError(f"A start must be a MixtureClassifier of the same classes, got {type(model).__name__}.")
        if model.classes.tolist() != self.data.classes.tolist() or model.feature_names != self.data.feature_names:
            raise InputError(
                f"The model separates [{listed(model.classes.tolist())}] by [{listed(model.feature_names)}]; the "
                f"formulation has [{listed(self.data.classes.tolist())}] and [{listed(self.data.feature_names)}]."
            )
        part = model.parts[0]
        if any(not d.is_diagonal or d.n_components != self.n_components for d in part.densities):
            raise InputError(f"The model's densities must be {self.n_components} diagonal Gaussians a class.")
        return part

    def _model(self, log_odds: float, densities: list[MixtureDensity]) -> MixtureClassifier:
        log_prior = log_expit(np.array([log_odds, -log_odds]))
        part = MixturePart(((0,), (1,)), log_prior, tuple(densities))
        data = self.data
        return MixtureClassifier(
            data.classes, data.feature_names, DecisionRule.MAX_WINS, (part,), data.location, data.scale
        )

    def trivial_bound(self) -> None:
        """No bound is claimed: the program is not convex."""
        return

    def log_odds(self, model: MixtureClassifier) -> FloatArray:
        """``g_i = y_i (b + r_i)``, the log-odds of the true class of each sample, recomputed by the model."""
        return self.measure(model)[1]

    def measure(self, model: MixtureClassifier) -> tuple[float, FloatArray]:
        """What `evaluate` and `log_odds` say of a classifier, in one pass; said again at once of the last two."""
        for known, margin, odds in self._measured:
            if known is model:
                return margin, odds
        part = self._checked_part(model)
        log_density = part.log_densities(self._coordinates(model))
        margin = soft_margin_of_ratios(log_density[:, 0] - log_density[:, 1], self.signs, self.h)[0]
        joint = part.joint_of(log_density)
        odds = self.signs * (joint[:, 0] - joint[:, 1])
        self._measured[:] = [(model, margin, odds), *self._measured[:1]]
        return margin, odds

    @cached_property
    def _measured(self) -> list[tuple[MixtureClassifier, float, FloatArray]]:
        return []

    def _coordinates(self, model: MixtureClassifier) -> FloatArray:
        if np.array_equal(model.scale, self.data.scale) and np.array_equal(model.location, self.data.location):
            return self.data.z
        return (self.data.z * self.data.scale + self.data.location - model.location) / model.scale

    def evaluate(self, model: MixtureClassifier) -> float:
        """Soft margin ``gamma'`` of a classifier on the data, in nats."""
        return self.measure(model)[0]

    def violations(self, model: MixtureClassifier, xi: float | None = None) -> FloatArray:
        """By how much each sample misses its target, ``max(0, xi - g_i)``, shape (n_samples,)."""
        return np.maximum(0.0, (self.xi if xi is None else xi) - self.log_odds(model))

    def infeasibility(self, model: MixtureClassifier) -> float:
        """Euclidean norm of the violations; 0 where every sample is within the tolerance of its target."""
        missed = self.violations(model)
        return float(np.linalg.norm(missed)) if missed.max() > FEASIBILITY_TOLERANCE else 0.0

    def violated_samples(self, model: MixtureClassifier, xi: float | None = None) -> pd.DataFrame:
        """The samples that miss their target: row, label, log-odds of the true class, violation; the worst first."""
        odds = self.log_odds(model)
        missed = np.maximum(0.0, (self.xi if xi is None else xi) - odds)
        rows = np.flatnonzero(missed > FEASIBILITY_TOLERANCE)
        rows = rows[np.lexsort([rows, -missed[rows]])]
        return pd.DataFrame(
            {
                "row": rows,
                "label": self.data.classes[self.data.codes[rows]],
                "log_odds": odds[rows],
                "violation": missed[rows],
            }
        )

    def check(self, model: MixtureClassifier) -> tuple[Check, ...]:
        """Every sample beyond xi, or how many are not, which, and by how much; variances above tau."""
        missed, least = self.violated_samples(model), float(self.log_odds(model).min())
        units = (model.scale / self.data.scale) ** 2
        smallest = min(float((d.covariances * units).min()) for d in self._checked_part(model).densities)
        return (
            check_samples(missed, self.data.n_samples, least, self.xi),
            Check("variances above tau", smallest >= self.tau, f"the smallest is {smallest:.3g}, tau is {self.tau:g}"),
        )
