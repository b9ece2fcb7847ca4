"""Coded rows, merged and counted."""

from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

from mmbn_opt.rigour.enclosed import Floats

__all__ = ["Parents", "Samples"]

Parents = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Samples:
    """Different rows, by class and then by features in order, and how often each occurs; the class comes last."""

    codes: NDArray[np.int64]
    weight: Floats
    cards: tuple[int, ...]

    @classmethod
    def of(cls, rows: NDArray[np.int64], cards: tuple[int, ...]) -> "Samples":
        """Equal rows merged."""
        found, counts = np.unique(np.roll(rows, 1, axis=1), axis=0, return_counts=True)
        return cls(np.roll(found, -1, axis=1), counts.astype(np.float64), cards)

    def joint(self, nodes: Parents) -> NDArray[np.int64]:
        """Mixed-radix code of some nodes in every sample, the last one fastest."""
        code = np.zeros(len(self.codes), dtype=np.int64)
        for v in nodes:
            code = code * self.cards[v] + self.codes[:, v]
        return code

    def counts(self, nodes: Parents) -> Floats:
        """How often each joint state of some nodes occurs, one axis a node: whole numbers."""
        shape = tuple(self.cards[v] for v in nodes)
        found = np.bincount(self.joint(nodes), weights=self.weight, minlength=prod(shape))
        return found.astype(np.float64).reshape(shape)
