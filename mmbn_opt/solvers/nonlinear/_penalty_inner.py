"""Unconstrained minimisers inside a box: SciPy's L-BFGS-B, and gradient descent with a golden-section search."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from ..._arrays import FloatArray

__all__ = [
    "INNER_METHODS",
    "InnerMethod",
    "InnerResult",
    "InnerStop",
    "PenalizedPoint",
    "golden_section_descent",
    "lbfgs",
]

GOLDEN = 0.5 * (5.0**0.5 - 1.0)
"""0.618..., the share of an interval that a golden-section step keeps."""

_INTERVAL = 1e-3
"""A step is searched to this relative width."""

_MEMORY = 20
"""Pairs that L-BFGS keeps."""

_WINDOW = 20
"""Iterations over which progress is measured: single steps of L-BFGS may bring nothing."""


@dataclass(frozen=True, eq=False)
class PenalizedPoint:
    """Value of the penalised objective, and its gradient when asked for."""

    value: float
    gradient: Callable[[], FloatArray]


@dataclass(frozen=True)
class InnerStop:
    """When an inner run has done enough.

    Parameters
    ----------
    max_iterations : int
    gradient_tol : float
    rel_progress : float
        Stop when `_WINDOW` iterations together lower F by no more than this share of it; 0 asks for a minimum.
    """

    max_iterations: int
    gradient_tol: float
    rel_progress: float = 0.0


class _Progress:
    """Watches F over the last iterations."""

    def __init__(self, stop: InnerStop) -> None:
        self._share = stop.rel_progress
        self._values: deque[float] = deque(maxlen=_WINDOW + 1)

    def stalls(self, value: float) -> bool:
        """Whether the last iterations brought too little."""
        self._values.append(value)
        return len(self._values) > _WINDOW and self._values[0] - value <= self._share * max(1.0, abs(value))


@dataclass(frozen=True, eq=False)
class InnerResult:
    """Where an inner run ended.

    Parameters
    ----------
    x : float64 array
    converged : bool
        Whether the method's own test of optimality was met.
    iterations : int
    """

    x: FloatArray
    converged: bool
    iterations: int


class InnerMethod(Protocol):
    """Minimise ``function`` inside the box from `x`, calling `visit` with each iterate."""

    def __call__(
        self,
        function: Callable[[FloatArray], PenalizedPoint],
        x: FloatArray,
        lower: FloatArray | None,
        upper: FloatArray | None,
        visit: Callable[[FloatArray], None],
        stop: InnerStop,
    ) -> InnerResult: ...


def lbfgs(
    function: Callable[[FloatArray], PenalizedPoint],
    x: FloatArray,
    lower: FloatArray | None,
    upper: FloatArray | None,
    visit: Callable[[FloatArray], None],
    stop: InnerStop,
) -> InnerResult:
    """Limited-memory BFGS with bounds (SciPy)."""
    from scipy.optimize import Bounds, minimize

    def value_and_gradient(at: FloatArray) -> tuple[float, FloatArray]:
        point = function(at)
        return point.value, point.gradient()

    bounds = None
    if lower is not None or upper is not None:
        bounds = Bounds(-np.inf if lower is None else lower, np.inf if upper is None else upper)
    progress = _Progress(stop)

    def iterate(intermediate_result: Any) -> None:
        visit(np.array(intermediate_result.x))
        if stop.rel_progress and progress.stalls(float(intermediate_result.fun)):
            raise StopIteration

    answer = minimize(
        value_and_gradient,
        x,
        jac=True,
        method="L-BFGS-B",
        bounds=bounds,
        callback=iterate,
        options={"maxiter": stop.max_iterations, "maxfun": 4 * stop.max_iterations, "maxcor": _MEMORY,
                 "gtol": stop.gradient_tol, "ftol": 1e-12},
    )  # fmt: skip
    return InnerResult(np.asarray(answer.x, dtype=np.float64), bool(answer.status == 0), int(answer.nit))


def golden_section_descent(
    function: Callable[[FloatArray], PenalizedPoint],
    x: FloatArray,
    lower: FloatArray | None,
    upper: FloatArray | None,
    visit: Callable[[FloatArray], None],
    stop: InnerStop,
) -> InnerResult:
    """Gradient descent, each step found by a golden-section search (Guo et al. 2018, Algorithm 2).

    It stops as printed, at a small gradient or the last iteration; `InnerStop.rel_progress` does not count.
    """
    box = lower is not None or upper is not None

    def inside(at: FloatArray) -> FloatArray:
        return np.clip(at, lower, upper) if box else at

    step, point = None, function(x)
    for iteration in range(stop.max_iterations):
        gradient = point.gradient()
        projected = x - inside(x - gradient)
        length = float(np.linalg.norm(projected))
        if length <= stop.gradient_tol:
            return InnerResult(x, True, iteration)

        def along(t: float, x: FloatArray = x, gradient: FloatArray = gradient) -> float:
            return function(inside(x - t * gradient)).value

        step = _search(along, point.value, 1.0 / float(np.linalg.norm(gradient)) if step is None else step)
        if step == 0.0:
            return InnerResult(x, False, iteration)
        x = inside(x - step * gradient)
        point = function(x)
        visit(x)
    return InnerResult(x, False, stop.max_iterations)


def _search(along: Callable[[float], float], origin: float, step: float) -> float:
    """A step that lowers the value: bracketed from the last one, then narrowed; 0 when there is none."""
    value = along(step)
    while not value < origin:
        step *= GOLDEN**3
        if step < 1e-18:
            return 0.0
        value = along(step)
    low, middle, high = 0.0, step, step / GOLDEN
    while (beyond := along(high)) < value and high < 1e18:
        low, middle, high, value = middle, high, high / GOLDEN, beyond
    left, right = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
    at_left, at_right = along(left), along(right)
    best = min((value, middle), (at_left, left), (at_right, right))
    while high - low > _INTERVAL * high:
        if at_left < at_right:
            high, right, at_right = right, left, at_left
            left = high - GOLDEN * (high - low)
            at_left = along(left)
            best = min(best, (at_left, left))
        else:
            low, left, at_left = left, right, at_right
            right = low + GOLDEN * (high - low)
            at_right = along(right)
            best = min(best, (at_right, right))
    return best[1]


INNER_METHODS: dict[str, InnerMethod] = {"lbfgs": lbfgs, "golden-section": golden_section_descent}
