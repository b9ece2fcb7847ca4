"""The margins of samples whose codes lie in a file, as an operator on log-parameters that passes over them."""

from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._arrays import FloatArray
from ...data.block_counts import counted
from ...data.block_passes import block_sums
from ...data.discrete import DiscreteDataset
from ...data.mapped import MappedDataset
from ...programs.margin_operator import MarginOperator
from ._factor_index import ParameterLayout, margin_operator
from ._pattern_plan import PatternPlan

__all__ = ["MarginsInBlocks", "margins_of"]


class MarginsInBlocks:
    """`MarginPasses` over data in a file: a block of rows is in memory at a time.

    Parameters
    ----------
    layout : ParameterLayout
    data : MappedDataset
    """

    def __init__(self, layout: ParameterLayout, data: MappedDataset) -> None:
        self._layout, self._data = layout, data
        self._plan = PatternPlan.of(layout)

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return self._data.n_samples

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return self._data.n_classes

    @property
    def n_parameters(self) -> int:
        """Length of w."""
        return self._layout.size

    @property
    def n_factors(self) -> int:
        """Factors that a sample sums over."""
        return len(self._layout.nodes)

    @cached_property
    def frequency(self) -> FloatArray:
        """Share of the samples that look up each entry of w, for any class."""
        scopes = [np.array(self._layout.scope(node), dtype=np.int64) for node in self._layout.nodes]
        counts = np.concatenate(counted(self._data, scopes)) / self._data.n_samples
        share = np.empty(self._layout.size)
        share[self._layout.gather] = counts[:, None]
        return share

    def smooth_hinge(
        self, w: FloatArray, delta: FloatArray, gamma: float, tau: float
    ) -> tuple[float, float, float, FloatArray]:
        """Smoothed hinge sum, hinge sum, ``gamma sum delta y`` and ``Delta' y`` of its multipliers y, in one pass."""
        work = partial(_soft_block, plan=self._plan, w=w, delta=delta, gamma=gamma, tau=tau)
        totals, v = block_sums(self._data, work)
        return float(totals[0]), float(totals[1]), float(totals[2]), v

    def hinge(self, w: FloatArray, gamma: float) -> float:
        """Sum of what margins lack of gamma."""
        return float(block_sums(self._data, partial(_hard_block, plan=self._plan, w=w, gamma=gamma))[0])

    def lost(self, w: FloatArray) -> int:
        """Samples whose own class does not have the largest score alone."""
        return int(block_sums(self._data, partial(_lost_block, plan=self._plan, w=w))[0])

    def sampled(self, n_samples: int) -> MarginOperator:
        """About so many of the samples, drawn evenly, with weights that sum to the number of all."""
        return margin_operator(self._layout, self._data.drawn(n_samples)[1].aggregate())


def margins_of(layout: ParameterLayout, data: DiscreteDataset) -> MarginOperator | MarginsInBlocks:
    """The margins of samples, held or passed over as their codes are."""
    return MarginsInBlocks(layout, data) if isinstance(data, MappedDataset) else margin_operator(layout, data)


def _soft_block(
    columns: NDArray[np.unsignedinteger[Any]],
    start: int,
    *,
    plan: PatternPlan,
    w: FloatArray,
    delta: FloatArray,
    gamma: float,
    tau: float,
) -> list[FloatArray]:
    *totals, v = plan.margins(columns).smooth_hinge(w, delta, gamma, tau)
    return [np.array(totals), v]


def _least(columns: NDArray[np.unsignedinteger[Any]], plan: PatternPlan, w: FloatArray) -> FloatArray:
    least: FloatArray = plan.margins(columns).margins(w).min(axis=1)
    return least


def _hard_block(
    columns: NDArray[np.unsignedinteger[Any]], start: int, *, plan: PatternPlan, w: FloatArray, gamma: float
) -> list[FloatArray]:
    return [np.asarray(np.maximum(gamma - _least(columns, plan, w), 0.0).sum())]


def _lost_block(
    columns: NDArray[np.unsignedinteger[Any]], start: int, *, plan: PatternPlan, w: FloatArray
) -> list[FloatArray]:
    return [np.asarray((_least(columns, plan, w) <= 0.0).sum())]
