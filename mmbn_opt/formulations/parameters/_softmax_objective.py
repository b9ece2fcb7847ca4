"""An objective of a network's parameters as a function of a vector: compiled passes over fixed parts of the samples."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np

from ..._arrays import FloatArray
from ...data.discrete import DiscreteDataset
from ._factor_index import FactorIndex, ParameterLayout

__all__ = ["Monitor", "Objective", "SamplePass"]

SamplePass = Callable[[FactorIndex, FloatArray, slice, FloatArray | None], FloatArray]
"""(objective, weight classified rightly) of a part of the samples; adds to the gradient of the table rows, if any."""

_SAMPLES_A_PART = 4096
_MAX_PARTS = 8


class Objective:
    """Value, gradient and classification rate of an objective at a vector, over fixed parts of the samples.

    The parts depend on the number of samples alone and are added in their order, so that the number of threads and
    their timing change nothing.
    """

    def __init__(
        self, layout: ParameterLayout, data: DiscreteDataset, sample_pass: SamplePass, threads: int = 1
    ) -> None:
        self._layout = layout
        self._pass = sample_pass
        self._index = FactorIndex.build(layout, data)
        self._width = -(-data.n_classes // 4) * 4  # the passes take four classes at a time
        self.total_weight = data.total_weight
        self.least_weight = float(data.sample_weight.min())
        n_parts = int(np.clip(data.n_samples // _SAMPLES_A_PART, 1, _MAX_PARTS))
        ends = np.linspace(0, data.n_samples, n_parts + 1).astype(int)
        self._parts = [slice(int(a), int(b)) for a, b in pairwise(ends)]
        workers = min(threads, n_parts)
        self._pool = ThreadPoolExecutor(workers) if workers > 1 else None

    def minimized(self, beta: FloatArray) -> tuple[float, FloatArray]:
        """Minus the objective and its gradient."""
        value, _, gradient = self._evaluate(beta, with_gradient=True)
        assert gradient is not None
        return -value, -gradient

    def value_and_right(self, beta: FloatArray) -> tuple[float, float]:
        """Objective and weight classified rightly."""
        return self._evaluate(beta, with_gradient=False)[:2]

    def _evaluate(self, beta: FloatArray, *, with_gradient: bool) -> tuple[float, float, FloatArray | None]:
        from ._softmax_kernels import add_patterns, log_softmax, softmax_chain, spread_patterns

        layout, index = self._layout, self._index
        log_theta = np.empty(layout.size)
        log_softmax(np.ascontiguousarray(beta, dtype=np.float64), layout.row_ptr, log_theta)
        factors = np.zeros((len(layout.gather), self._width))
        n_classes = layout.gather.shape[1]
        factors[:, :n_classes] = log_theta[layout.gather]
        table = np.empty((index.start[-1], self._width))
        add_patterns(factors, index.start, index.rows_ptr, index.rows, table)

        def run(part: slice) -> tuple[FloatArray, FloatArray | None]:
            local = np.zeros_like(table) if with_gradient else None
            return self._pass(index, table, part, local), local

        done = list(map(run, self._parts) if self._pool is None else self._pool.map(run, self._parts))
        value, right = (float(v) for v in np.sum([sums for sums, _ in done], axis=0))
        if not with_gradient:
            return value, right, None
        by_pattern = np.zeros_like(table)
        for _, local in done:
            by_pattern += local if local is not None else 0.0
        factors[:] = 0.0
        spread_patterns(by_pattern, index.start, index.rows_ptr, index.rows, factors)
        gradient = np.empty(layout.size)
        gradient[layout.gather] = factors[:, :n_classes]
        softmax_chain(log_theta, layout.row_ptr, gradient)
        return value, right, gradient


class Monitor:
    """Classification rate on validation data; between equal rates the objective decides.

    The objective enters as an increasing function with values in (0, 1], scaled to a millionth of the lightest sample.
    """

    def __init__(self, objective: Objective, upper: float) -> None:
        self._objective = objective
        self._upper = upper
        self._scale = 1e-6 * objective.least_weight / objective.total_weight

    def __call__(self, beta: FloatArray) -> float:
        value, right = self._objective.value_and_right(beta)
        total = self._objective.total_weight
        return right / total + self._scale / (1.0 + max(0.0, self._upper - value / total))
