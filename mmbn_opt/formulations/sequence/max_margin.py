"""Maximum-margin parameters of a hidden Markov model as a convex program."""

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, Literal

import numpy as np

from ..._arguments import check_fields, checked_number, choice_of
from ..._arrays import FloatArray
from ..._budget import leave_in_time
from ...exceptions import InputError
from ...networks.hidden_markov import HiddenMarkovClassifier
from ...programs.base import ProgramKind
from ...programs.sequence import SequenceProgram
from ...results.result import Check
from ...results.status import BoundKind, Sense
from ..base import Start
from ..checks import in_time
from .base import LOG_ZERO, SequenceFormulation

__all__ = ["SequenceMaxMargin"]

Normalization = Literal["hybrid", "floor", "published"]

DEFAULT_GAMMA = 5.0
TOLERANCE = 1e-6
COMPARED = 50
"""Sequences on which the normalised model is held against the one that it was made from."""


@dataclass(frozen=True, eq=False)
class SequenceMaxMargin(SequenceFormulation):
    """Tables of a hidden Markov model with the largest margin for each wrong label.

    minimise  ``sum_i max_y [ gamma delta(i, y) - Delta(i, y).w ] - alpha n.w``   over log-parameters w
    s.t.      ``sum exp(w) <= 1`` in each row of the tables,  ``w >= log(min_prob)``

    with ``delta(i, y)`` the number of wrong labels, ``Delta(i, y)`` the entries that the true labels look up less those
    of the labelling y, and n the smoothed counts of the true labels. With `B` in place of `gamma`:
    ``1 / (2 gamma^2) + B (that)``, over gamma as well.

    * ``normalization="published"`` has neither floor nor likelihood term. As for one variable it is a linear program in
      disguise: each labelling looks one entry up a position and table, a shift of w satisfies all rows, and B only
      rescales the optimum ``3/2 (B H*)^(2/3)``. Separable data have none.
    * "floor" bounds w from below, "hybrid" adds the likelihood term too.

    The paper holds that "the Lagrangian does not permit a simple closed form" of the dual. It does, row by row, so
    that any distributions over labellings, given by their marginals, prove a bound; see `mmbn_opt.programs.sequence`.

    Variables: w.   Program: `SequenceProgram`.   Bound: RELAXATION (rows may sum to less than 1).
    Source: Guo, Wilkinson & Schuurmans 2005, section 8, eq. 14, 19, 20; the floor and the likelihood term as in
    `MaxMarginRelaxation`.

    Parameters
    ----------
    data : SequenceDataset
    gamma : float or None
        Margin in nats that is asked for a wrong label; None and no `B`: 5.
    B : float or None
        Weight of the losses in the paper's form.
    normalization : {"hybrid", "floor", "published"}
    alpha : float
        Weight of the likelihood term of "hybrid".
    min_prob : float
        The floor, at most 1 / k for every row of k entries; None for 0.001, or 0.1 / k where that is less.
    smoothing : float
        Pseudo-count of the likelihood term and of the maximum-likelihood start.

    Examples
    --------
    >>> import mmbn_opt as mm
    >>> data = mm.SequenceDataset.from_lists(["aab", "abb", "bba"] * 3, ["XXY", "XYY", "YXX"] * 3)
    >>> result = mm.solve(SequenceMaxMargin(data, gamma=1.0), rel_gap=1e-4)
    >>> result.termination_status, result.certificate.ok
    (TerminationStatus.OPTIMAL, True)
    >>> result.model.predict(["aabb"])
    [['X', 'X', 'Y', 'Y']]
    """

    gamma: float | None = None
    B: float | None = None
    normalization: Normalization = "hybrid"
    alpha: float = 0.1
    min_prob: float | None = None

    title: ClassVar[str] = "Maximum-margin hidden Markov model"
    value_name: ClassVar[str] = "Objective: missed margins, nats"
    emits: ClassVar[frozenset[ProgramKind]] = frozenset({ProgramKind.SEQUENCE})
    sense: ClassVar[Sense] = Sense.MINIMIZE
    bound_kind: ClassVar[BoundKind] = BoundKind.RELAXATION

    def __post_init__(self) -> None:
        check_fields(self)
        choice_of("normalization", self.normalization, ("hybrid", "floor", "published"))
        if self.gamma is not None and self.B is not None:
            raise InputError(f"Give gamma or B, not both: got gamma={self.gamma!r}, B={self.B!r}.")
        if self.gamma is None and self.B is None:
            object.__setattr__(self, "gamma", DEFAULT_GAMMA)
        for name in ("gamma", "B"):
            if getattr(self, name) is not None:
                checked_number(name, getattr(self, name), 0.0, 1e12, open_low=True)
        if self.normalization == "hybrid":
            checked_number("alpha", self.alpha, 0.0, 1e12, open_low=True)
        super().__post_init__()
        longest = max(self.data.n_labels, *self.data.observed_cardinalities)
        if self.min_prob is None:
            object.__setattr__(self, "min_prob", min(1e-3, 0.1 / longest))
        elif self.normalization != "published":
            asked = f"a number in (0, 1/{longest}), since a row of {longest} entries has to sum to at most 1"
            checked_number("min_prob", self.min_prob, 0.0, 1.0 / longest, open_low=True, open_high=True, expected=asked)

    @property
    def log_floor(self) -> float:
        """Logarithm of the floor; ``-inf`` for "published"."""
        assert self.min_prob is not None
        return -math.inf if self.normalization == "published" else math.log(self.min_prob)

    @cached_property
    def linear(self) -> FloatArray:
        """``alpha n``; zeros but for "hybrid"."""
        if self.normalization != "hybrid":
            return np.zeros(self.n_parameters)
        return self.alpha * (self.chains.own + self.smoothing)

    @property
    def linear_in_disguise(self) -> bool:
        """Whether the published form is asked for."""
        return self.normalization == "published"

    @cached_property
    def program(self) -> SequenceProgram:
        """The convex program."""
        return SequenceProgram(self.chains, self.gamma, self.B, self.linear, self.log_floor)

    def _build(self, kind: ProgramKind) -> SequenceProgram:
        return self.program

    @property
    def scale(self) -> float:
        """Loss of all positions where no margin is reached."""
        return self.program.scale

    def prove_bound(self, multipliers: FloatArray) -> float:
        """Lower bound of the optimum, computed afresh from distributions over labellings.

        Parameters
        ----------
        multipliers : float64 array
            ``multipliers`` of a result; see `mmbn_opt.programs.labellings`.
        """
        return self.program.dual_value(multipliers)

    def encode(self, model: HiddenMarkovClassifier, kind: ProgramKind = ProgramKind.SEQUENCE) -> FloatArray:
        """Vector of a model; the nearest feasible one where it is outside (a floor)."""
        return self.program.project(self.log_parameters(model, max(self.log_floor, LOG_ZERO)))

    def trivial_start(self) -> Start:
        """The maximum-likelihood model, lifted to the floor."""
        return Start(self.recover(self.encode(self.maximum_likelihood)), "maximum likelihood")

    def trivial_bound(self) -> float:
        """The bound of the true labels alone."""
        return self.program.trivial_bound

    def evaluate(self, model: HiddenMarkovClassifier) -> float:
        """Objective of a model; one outside the floor is judged at its nearest feasible point."""
        return self.program.value(self.encode(model))

    def check(self, model: HiddenMarkovClassifier) -> tuple[Check, ...]:
        """Rows and floor, the normalised form, training labels, and what the published problem says of itself."""
        largest = float(model.row_sums.max())
        checks = [Check("rows sum to at most 1", largest <= 1 + TOLERANCE, f"largest row sum is {largest:.9f}")]
        w = self.log_parameters(model)
        if self.normalization != "published":
            above = float(w.min()) >= self.log_floor - TOLERANCE
            detail = f"smallest entry is {math.exp(w.min()):.3g}, the floor {math.exp(self.log_floor):.3g}"
            checks.append(Check("floor", True if above else None, detail))
        checks += [*in_time("normalised form", lambda: self._normalized(model)), *super().check(model)]
        if self.normalization == "published":
            checks.append(self._degenerate(self.program.separates(w)))
        return tuple(checks)

    def _normalized(self, model: HiddenMarkovClassifier) -> Check:
        """The normalised model has the same posterior."""
        leave_in_time()
        part = self.data.subset(slice(0, COMPARED))
        # Beyond the ends of a sequence a window finds nothing, and cells that are missing are summed out by one of the
        # two models alone: what is held against each other are places of the window as features, without missing cells.
        names, variables = part.observed_names, part.features
        features = tuple(replace(variables[j % len(variables)], name=name) for j, name in enumerate(names))
        part = replace(part, codes=np.maximum(part.observed_codes, 0), features=features, window=(0, 0))
        model = HiddenMarkovClassifier.of_vector(features, part.target, part.window, model.vector)
        try:
            done = model.normalize()
        except InputError as error:
            return Check("normalised form", None, str(error))
        pairs = zip(model.predict_proba(part), done.model.predict_proba(part), strict=True)
        difference = max(float(np.abs(a - b).max()) for a, b in pairs)
        detail = f"{done.form}; largest |difference of P(y_t | x)| is {difference:.1e} on {part.n_sequences} sequences"
        return Check("normalised form", difference <= 1e-9, detail)

    def _degenerate(self, separated: bool) -> Check:
        note = "the published problem is a linear program in disguise: B and gamma only rescale its optima"
        if separated:
            note += (
                "; this model separates the data, so that the infimum is not attained or any larger scale is as good"
            )
        return Check("degeneracy", None, f'{note}; use normalization="hybrid" or "floor"')
