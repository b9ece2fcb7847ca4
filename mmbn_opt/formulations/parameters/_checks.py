"""What can be re-checked of an answer of the convex relaxation, a line each."""

import math
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from ..._budget import leave_in_time
from ...networks.log_linear import LogLinearClassifier
from ...networks.network import BayesianNetwork
from ...networks.renormalizability import renormalizability
from ...networks.renormalization import renormalize
from ...networks.structure import Structure
from ...results.result import Check

__all__ = [
    "check_degeneracy",
    "check_floor",
    "check_linear_rows",
    "check_renormalization",
    "check_rows",
    "check_structure",
]

Model = LogLinearClassifier | BayesianNetwork
TOLERANCE = 1e-6


def check_structure(structure: Structure, model: Model) -> Check:
    """The structure is the one that was given."""
    same = model.structure.parents == structure.parents
    return Check("structure as given", same, f"{len(structure.names)} nodes, {len(structure.edges)} edges")


def check_rows(tables: Iterable[NDArray[np.float64]]) -> Check:
    """No row sums to more than 1."""
    largest = max(float(np.exp(table).sum(axis=1).max()) for table in tables)
    return Check("CPT rows sum to at most 1", largest <= 1 + TOLERANCE, f"largest row sum is {largest:.9f}")


def check_floor(lowest: float, min_prob: float) -> Check:
    """No entry lies below the floor; a model from elsewhere may, and is judged at its nearest feasible point."""
    above = lowest >= math.log(min_prob) - TOLERANCE
    return Check(
        "floor", True if above else None, f"smallest entry is {math.exp(lowest):.3g}, the floor {min_prob:.3g}"
    )


def check_linear_rows(missed: float, name: str) -> Check:
    """No linear row is missed; a model from elsewhere may, and is judged at its nearest feasible point."""
    kept = missed <= TOLERANCE
    detail = f"all kept, by {missed:.1e} nats at worst" if kept else f"{name} is missed by {missed:.3g} nats"
    return Check("limits on entries", True if kept else None, detail)


def check_renormalization(model: Model) -> Check:
    """The normalised network has the same posterior, or the structure does not allow it."""
    leave_in_time()
    allowed = renormalizability(model.structure)
    outcome = model.normalize() if isinstance(model, LogLinearClassifier) else renormalize(model)
    detail = f"largest |difference of P(c | x)| of the normalised network is {outcome.difference:.1e}"
    if allowed:
        return Check("renormalization", outcome.difference <= 1e-9, detail)
    return Check("renormalization", None, f"{allowed}; {detail} (best effort)")


def check_degeneracy(scale: str, *, separates: bool) -> Check:
    """What the published problem has to say of its optimum; `scale` names what only rescales it."""
    note = f"the published problem is a linear program in disguise: {scale} only rescales its optimal classifiers"
    if not separates:
        return Check("degeneracy", None, f"{note}, and they need not be unique")
    cure = 'use normalization="hybrid" or "floor"'
    if scale == "gamma":
        return Check(
            "degeneracy", None, f"{note}; this model separates the data (H* = 0), any larger scale is as good: {cure}"
        )
    return Check(
        "degeneracy",
        None,
        f"{note}; this model separates the data (H* = 0), so that the infimum 0 is not attained and a larger scale is "
        f"always better: {cure}",
    )
