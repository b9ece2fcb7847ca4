"""What learning by a named method does where the caller says nothing: for classifiers and the command line alike."""

from collections.abc import Mapping

from mmbn_opt.formulations.parameters.relaxation import DEFAULT_GAMMA
from mmbn_opt.formulations.parameters.smooth_margin import SmoothMargin

__all__ = ["KAPPAS", "LAMBDA", "LAMBDAS", "RELAXATION_GAP"]

LAMBDA: Mapping[str, float] = {"cg-mm": SmoothMargin.lam, "relaxation": 1.0 / DEFAULT_GAMMA}
"""Scale of the margin, by the method."""

LAMBDAS: Mapping[str, tuple[float, ...]] = {
    "cg-mm": (0.01, 0.02, 0.05, 0.1, 0.2, 0.5),
    "relaxation": (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 3.0),
}
"""What it is chosen from; the range of the smooth margin's paper is .001 to .5."""

KAPPAS = (0.1, 0.5)
"""What `tune` chooses the rounding of the smooth margin from; the paper's range is .01 to .5."""

RELAXATION_GAP = 1e-4
"""Certified relative gap at which the relaxation is near enough."""
