"""Centrality corrections of an interior point's step: solves cost less than systems."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from ..._arrays import FloatArray

__all__ = ["Step", "corrected"]

Step = dict[str, FloatArray]
"""What each variable moves by, by name."""

CORRECTIONS, LONGER = 3, 0.3
"""At most so many corrections a step, each of which tries for so much more of the way."""
CENTRAL = (0.1, 10.0)
"""Products within these shares of the target are left alone."""


def corrected(
    step: Step,
    crossed: Mapping[str, FloatArray],
    target: float,
    pairs: Sequence[tuple[FloatArray, FloatArray, str, str]],
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
