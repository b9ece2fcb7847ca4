"""An interior point's step: predictor, corrector, and centrality corrections, since solves cost less than systems."""

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from ..._arrays import FloatArray

__all__ = ["Step", "corrected", "mehrotra_step", "to_boundary"]

Step = dict[str, FloatArray]
"""What each variable moves by, by name."""

CORRECTIONS, LONGER = 3, 0.3
"""At most so many corrections a step, each of which tries for so much more of the way."""
CENTRAL = (0.1, 10.0)
"""Products within these shares of the target are left alone."""
NEAREST = 0.99
"""Share of the way to the boundary that a step goes."""

Pairs = Sequence[tuple[FloatArray, FloatArray, str, str]]
"""Slacks and multipliers, with the names of both."""


def mehrotra_step(
    pairs: Pairs,
    n_pairs: int,
    direction: Callable[[float, Mapping[str, FloatArray]], Step],
    lengths: Callable[[Step], tuple[float, float]],
    *,
    slowest: float = 1e-3,
    least: float = 0.0,
    crossed_most: float = math.inf,
    look: Callable[[Step, float, float], None] | None = None,
) -> Step:
    """Mehrotra's predictor and corrector on one factorization, and the corrections of `corrected`.

    Parameters
    ----------
    pairs : sequence of (slacks, multipliers, name of slacks, name of multipliers)
    n_pairs : int
        How many of them count.
    direction : callable
        The step towards a complementarity, with second-order terms of an earlier one by pair.
    lengths : callable
        How far a step can be gone, for slacks and for multipliers.
    slowest : float
        Complementarity falls by no more than this in a step.
    least : float
        Nor below this.
    crossed_most : float
        Second-order terms of a pair count up to this share of the complementarity: beyond it is the step that is poor.
    look : callable or None
        Told of the predictor and how far it could go, before the corrector.
    """
    spread = sum(float((slacks * multipliers).sum()) for slacks, multipliers, _, _ in pairs)
    mu = spread / n_pairs
    aim = direction(0.0, {key: np.zeros_like(slacks) for slacks, _, key, _ in pairs})
    primal, dual = lengths(aim)
    after = sum(float(((a + primal * aim[key]) * (b + dual * aim[partner])).sum()) for a, b, key, partner in pairs)
    sigma = max(min(1.0, max(after / spread, 0.0)) ** 3, slowest)
    most = crossed_most * mu
    crossed = {key: np.clip(primal * dual * aim[key] * aim[partner], -most, most) for _, _, key, partner in pairs}
    if look is not None:
        look(aim, primal, dual)
    target = max(sigma * mu, least)
    step = direction(target, crossed)
    return corrected(step, crossed, target, pairs, lambda trial: direction(target, trial), lengths)


def to_boundary(x: FloatArray, step: FloatArray) -> float:
    """Share of the step after which an entry of x has lost nearly all it has."""
    ratio = float((-step / np.where(x > 0, x, np.inf)).max())
    return NEAREST / ratio if ratio > 0 else math.inf


def corrected(
    step: Step,
    crossed: Mapping[str, FloatArray],
    target: float,
    pairs: Pairs,
    direction: Callable[[Mapping[str, FloatArray]], Step],
    lengths: Callable[[Step], tuple[float, float]],
) -> Step:
    """The step after corrections of the products that hold it up (Gondzio 1996).

    Parameters
    ----------
    step : dict
    crossed : dict
        Second-order terms of each pair that the step was computed with.
    target : float
        Complementarity.
    pairs : sequence of (slacks, multipliers, name of slacks, name of multipliers)
    direction : callable
        A step from second-order terms.
    lengths : callable
        How far a step can be gone, for slacks and for multipliers.
    """
    reach = lengths(step)
    for _ in range(CORRECTIONS):
        if min(reach) >= 0.9:
            break
        primal, dual = (min(1.0, length + LONGER) for length in reach)
        trial = {}
        for slacks, multipliers, key, partner in pairs:
            product = (slacks + primal * step[key]) * (multipliers + dual * step[partner])
            wanted = np.clip(product, CENTRAL[0] * target, CENTRAL[1] * target) - product
            trial[key] = crossed[key] - np.maximum(wanted, -CENTRAL[1] * target)
        new = direction(trial)
        reached = lengths(new)
        if sum(reached) < sum(reach) + 0.1 * LONGER:
            break
        step, reach, crossed = new, reached, trial
    return step
