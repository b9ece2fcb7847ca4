"""An objective of a network's parameters as a function of a vector: compiled passes over fixed parts of the samples."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..._arrays import FloatArray
from ...data.block_passes import block_sums
from ...data.discrete import DiscreteDataset
from ...data.mapped import MappedDataset
from ._factor_index import FactorIndex, ParameterLayout
from ._pattern_plan import PatternPlan

__all__ = ["Monitor", "Objective", "SamplePass"]

SamplePass = Callable[[FactorIndex, FloatArray, slice, FloatArray | None], FloatArray]
"""(objective, weight classified rightly) of a part of the samples; adds to the gradient of the table rows, if any.

A function of a module, or a `partial` of one: workers of a cluster get it by pickle.
"""

_SAMPLES_A_PART = 4096
_MAX_PARTS = 8


class Objective:
    """Value, gradient and classification rate of an objective at a vector, over fixed parts of the samples.

    Of data in a file a block is in memory at a time. The parts depend on the number of samples alone and are added in
    their order, so that the number of threads and their timing change nothing.
    """

    def __init__(
        self, layout: ParameterLayout, data: DiscreteDataset, sample_pass: SamplePass, threads: int = 1
    ) -> None:
        self._layout = layout
        self._width = -(-data.n_classes // 4) * 4  # the passes take four classes at a time
        self.total_weight = data.total_weight
        self.least_weight = float(data.sample_weight.min())
        self._patterns: FactorIndex | PatternPlan
        self._sums: _Sums
        if isinstance(data, MappedDataset):
            self._patterns = PatternPlan.of(layout)
            self._sums = _BlockSums(data, self._patterns, sample_pass, threads)
        else:
            self._patterns = FactorIndex.build(layout, data)
            self._sums = _PartSums(self._patterns, sample_pass, threads)

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

        layout, patterns = self._layout, self._patterns
        log_theta = np.empty(layout.size)
        log_softmax(np.ascontiguousarray(beta, dtype=np.float64), layout.row_ptr, log_theta)
        factors = np.zeros((len(layout.gather), self._width))
        n_classes = layout.gather.shape[1]
        factors[:, :n_classes] = log_theta[layout.gather]
        table = np.empty((patterns.start[-1], self._width))
        add_patterns(factors, patterns.start, patterns.rows_ptr, patterns.rows, table)
        sums, by_pattern = self._sums(table, with_gradient=with_gradient)
        value, right = (float(v) for v in sums)
        if by_pattern is None:
            return value, right, None
        factors[:] = 0.0
        spread_patterns(by_pattern, patterns.start, patterns.rows_ptr, patterns.rows, factors)
        gradient = np.empty(layout.size)
        gradient[layout.gather] = factors[:, :n_classes]
        softmax_chain(log_theta, layout.row_ptr, gradient)
        return value, right, gradient


class _Sums(Protocol):
    def __call__(self, table: FloatArray, *, with_gradient: bool) -> tuple[FloatArray, FloatArray | None]: ...


class _PartSums:
    """What a pass says of all samples of an index, by parts that threads may share."""

    def __init__(self, index: FactorIndex, sample_pass: SamplePass, threads: int) -> None:
        self._index, self._pass = index, sample_pass
        n_parts = int(np.clip(index.n_samples // _SAMPLES_A_PART, 1, _MAX_PARTS))
        ends = np.linspace(0, index.n_samples, n_parts + 1).astype(int)
        self._parts = [slice(int(a), int(b)) for a, b in pairwise(ends)]
        workers = min(threads, n_parts)
        self._pool = ThreadPoolExecutor(workers) if workers > 1 else None

    def __call__(self, table: FloatArray, *, with_gradient: bool) -> tuple[FloatArray, FloatArray | None]:
        def run(part: slice) -> tuple[FloatArray, FloatArray | None]:
            local = np.zeros_like(table) if with_gradient else None
            return self._pass(self._index, table, part, local), local

        done = list(map(run, self._parts) if self._pool is None else self._pool.map(run, self._parts))
        sums: FloatArray = np.sum([sums for sums, _ in done], axis=0)
        if not with_gradient:
            return sums, None
        by_pattern = np.zeros_like(table)
        for _, local in done:
            by_pattern += local if local is not None else 0.0
        return sums, by_pattern


class _BlockSums:
    """What a pass says of samples whose codes lie in a file, block by block."""

    def __init__(self, data: MappedDataset, plan: PatternPlan, sample_pass: SamplePass, threads: int) -> None:
        self._data, self._plan, self._pass, self._threads = data, plan, sample_pass, threads

    def __call__(self, table: FloatArray, *, with_gradient: bool) -> tuple[FloatArray, FloatArray | None]:
        work = partial(
            _pass_of_block, plan=self._plan, table=table, sample_pass=self._pass, with_gradient=with_gradient
        )
        sums, *by_pattern = block_sums(self._data, work, threads=self._threads)
        return sums, by_pattern[0] if with_gradient else None


def _pass_of_block(
    columns: NDArray[np.unsignedinteger[Any]],
    start: int,
    *,
    plan: PatternPlan,
    table: FloatArray,
    sample_pass: SamplePass,
    with_gradient: bool,
) -> list[FloatArray]:
    index = plan.index(columns)
    local = np.zeros_like(table) if with_gradient else None
    sums = sample_pass(index, table, slice(0, index.n_samples), local)
    return [sums] if local is None else [sums, local]


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
