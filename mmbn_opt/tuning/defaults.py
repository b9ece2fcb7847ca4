"""What learning by a named method does where the caller says nothing: for classifiers and the command line alike."""

from collections.abc import Mapping

from mmbn_opt.formulations.parameters.relaxation import DEFAULT_GAMMA
from mmbn_opt.formulations.parameters.smooth_margin import SmoothMargin

__all__ = ["BRIEF_LAMBDAS", "ITERATIONS", "KAPPAS", "LAMBDA", "LAMBDAS", "RELAXATION_GAP"]

LAMBDA: Mapping[str, float] = {"cg-mm": SmoothMargin.lam, "relaxation": 1.0 / DEFAULT_GAMMA}
"""Scale of the margin, by the method."""

ITERATIONS = 100
"""Limit of the gradient methods, and how far the brief choice goes."""

BRIEF_LAMBDAS = (0.05, 0.5)
"""What the brief choice takes for the smooth margin: one value for classes that overlap, one for many that are apart.

With the iterations chosen on held-out rows, the two come within .004 of the whole grid on five sets, at two to three
times the time of one value and a fixed number of iterations, which is up to .027 behind
(``benchmarks/cg/defaults.py``).
"""

LAMBDAS: Mapping[str, tuple[float, ...]] = {
    "cg-mm": (0.01, 0.02, 0.05, 0.1, 0.2, 0.5),
    "relaxation": (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 3.0),
}
"""What it is chosen from; the range of the smooth margin's paper is .001 to .5."""

KAPPAS = (0.1, 0.5)
"""What `tune` chooses the rounding of the smooth margin from; the paper's range is .01 to .5."""

RELAXATION_GAP = 1e-4
"""Certified relative gap at which the relaxation is near enough."""
