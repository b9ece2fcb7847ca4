"""What holds the parameters in an interior point on a lattice: sums of rows and floors with their pairs, or length."""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from ..._arrays import BoolArray, FloatArray
from ...programs.chain_program import ChainProgram
from ...programs.likelihood import LikelihoodProgram
from ...programs.sequence import SequenceProgram
from ._corrections import Step
from ._interior_state import believed, row_shares

__all__ = ["LatticeHolder", "LengthHold", "TableHold", "holder_of"]

SMALLEST_SLACK = 1e-3
"""Of a row's sum below 1, and of an entry above the floor, at the start."""


class LatticeHolder(ABC):
    """Pairs of slacks and multipliers that hold w, and their part of Newton's system.

    Attributes
    ----------
    free : bool array (n,)
        Entries that move.
    values : dict
        The pairs' variables by name.
    pairs : tuple
        Names of slacks and multipliers.
    """

    pairs: tuple[tuple[str, str], ...] = ()

    def __init__(self, n: int) -> None:
        self.free: NDArray[np.bool_] = np.ones(n, dtype=bool)
        self.values: dict[str, FloatArray] = {}

    @abstractmethod
    def look(self, w: FloatArray) -> FloatArray:
        """Prepare for a step from w; returns what is pulled on w."""

    @abstractmethod
    def right(self, target: float, crossed: Mapping[str, FloatArray]) -> FloatArray:
        """What the pairs add to the right side of the system for a complementarity of `target`."""

    @abstractmethod
    def steps(self, dw: FloatArray) -> Step:
        """Steps of the pairs that go with one of w, after `right`."""

    @abstractmethod
    def solve(self, x: FloatArray) -> FloatArray:
        """The inverse of the holder's part of the system, applied."""

    @abstractmethod
    def inverse(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """``p, q, c`` of the inverse of the holder's part, ``diag(p) - sum over the rows g of c_g q_g q_g'``."""

    @abstractmethod
    def add_to(self, matrix: FloatArray) -> None:
        """Add the holder's part of the system, for the entries that move."""

    def start(self, w: FloatArray) -> FloatArray:
        """`w` with the entries that stay where they are in their place."""
        return w

    def longest(self, w: FloatArray, dw: FloatArray) -> float:
        """Share of a step of w up to which its model is to be believed."""
        return math.inf

    @property
    def n_pairs(self) -> int:
        """Pairs in all."""
        return sum(len(self.values[key]) for key, _ in self.pairs) - int((~self.free).sum())


class LengthHold(LatticeHolder):
    """Half the squared length, in units of C."""

    def __init__(self, n: int, n_rows: int, C: float) -> None:
        super().__init__(n)
        self._n_rows, self._C = n_rows, C

    def look(self, w: FloatArray) -> FloatArray:
        return w / self._C

    def right(self, target: float, crossed: Mapping[str, FloatArray]) -> FloatArray:
        return np.zeros(len(self.free))

    def steps(self, dw: FloatArray) -> Step:
        return {}

    def solve(self, x: FloatArray) -> FloatArray:
        return self._C * x

    def inverse(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        return np.full(len(self.free), self._C), np.zeros(len(self.free)), np.zeros(self._n_rows)

    def add_to(self, matrix: FloatArray) -> None:
        matrix[np.diag_indices(len(matrix))] += 1.0 / self._C


class TableHold(LatticeHolder):
    """Logarithms of sums of rows with slacks r and multipliers lam, distances t from the floor with multipliers z.

    Entries that are not `free` stay on the floor.

    Attributes
    ----------
    diagonal, share : float64 array (n,)
    weight : float64 array (n_rows,)
        The holder's part of the system at the last point, ``diag(diagonal) + sum over the rows g of weight_g share_g
        share_g'``.
    """

    pairs = (("r", "lam"), ("t", "z"))

    def __init__(
        self, program: SequenceProgram | LikelihoodProgram, free: BoolArray, w: FloatArray, v: FloatArray, mu: float
    ) -> None:
        super().__init__(len(w))
        self._program = program
        self._sizes = np.diff(program.row_ptr)
        self.free = free
        self._rows = np.repeat(np.arange(len(self._sizes)), self._sizes)
        _, level = row_shares(program, w)
        far = self.free & (w > program.log_floor + SMALLEST_SLACK)
        mass = np.add.reduceat(np.where(far, np.exp(w), 0.0), program.row_ptr[:-1])
        pull = np.add.reduceat(np.where(far, v, 0.0), program.row_ptr[:-1])
        # What is held loosely begins no nearer than a large mu leaves it: steps that have to go far are poor ones.
        least = max(SMALLEST_SLACK, min(1.0, mu))
        slack = np.maximum(-level, least)
        lam = np.maximum(pull / np.maximum(mass, 1e-12), mu / slack)
        t = np.where(self.free, np.maximum(w - program.log_floor, least), 1.0)
        self.values = {"r": mu / lam, "lam": lam, "t": t, "z": np.where(self.free, mu / t, 0.0)}

    def look(self, w: FloatArray) -> FloatArray:
        share, level = row_shares(self._program, w)
        own = self.values
        self.share = np.where(self.free, share, 0.0)
        self._excess = level + own["r"]
        self._lifted = np.where(self.free, w - self._program.log_floor - own["t"], 0.0)
        lam_share = own["lam"][self._rows] * self.share
        self.diagonal = np.where(self.free, lam_share + own["z"] / own["t"], 1.0)
        self.weight = own["lam"] / own["r"] - own["lam"]
        # (D + b s s')^-1 = D^-1 - D^-1 s s' D^-1 / (1 / b + s' D^-1 s), row by row
        inner = np.add.reduceat(self.share**2 / self.diagonal, self._program.row_ptr[:-1])
        self._factor = self.weight / (1.0 + self.weight * inner)
        return np.where(self.free, lam_share - own["z"], 0.0)

    def right(self, target: float, crossed: Mapping[str, FloatArray]) -> FloatArray:
        own = self.values
        self._to_lam = (target - crossed["r"]) / own["r"] - own["lam"]
        self._to_z = np.where(self.free, (target - crossed["t"]) / own["t"] - own["z"], 0.0)
        rows = self._to_lam + own["lam"] * self._excess / own["r"]
        floors = self._to_z - own["z"] / own["t"] * self._lifted
        return np.where(self.free, floors - self.share * rows[self._rows], 0.0)

    def steps(self, dw: FloatArray) -> Step:
        own = self.values
        dr = -np.add.reduceat(self.share * dw, self._program.row_ptr[:-1]) - self._excess
        dt = np.where(self.free, dw + self._lifted, 0.0)
        return {
            "r": dr, "lam": self._to_lam - own["lam"] / own["r"] * dr,
            "t": dt, "z": np.where(self.free, self._to_z - own["z"] / own["t"] * dt, 0.0),
        }  # fmt: skip

    def solve(self, x: FloatArray) -> FloatArray:
        scaled = np.where(self.free, x / self.diagonal, 0.0)
        along = self._factor * np.add.reduceat(self.share * scaled, self._program.row_ptr[:-1])
        return scaled - self.share / self.diagonal * along[self._rows]

    def inverse(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        inverse = np.where(self.free, 1.0 / self.diagonal, 0.0)
        return inverse, inverse * self.share, self._factor

    def add_to(self, matrix: FloatArray) -> None:
        at = 0
        for g, (low, high) in enumerate(zip(self._program.row_ptr[:-1], self._program.row_ptr[1:], strict=True)):
            part = self.share[low:high][self.free[low:high]]
            end = at + len(part)
            matrix[at:end, at:end] += self.weight[g] * np.outer(part, part)
            at = end
        matrix[np.diag_indices(len(matrix))] += self.diagonal[self.free]

    def start(self, w: FloatArray) -> FloatArray:
        return np.where(self.free, w, self._program.log_floor)

    def longest(self, w: FloatArray, dw: FloatArray) -> float:
        return believed(w, dw)


def holder_of(program: ChainProgram, w: FloatArray, v: FloatArray, mu: float) -> LatticeHolder:
    """What holds the parameters of a program, at a point and ``v = linear + sum E_mu Delta``."""
    if isinstance(program, SequenceProgram):
        # Where no true label looks an entry up and the linear term has no weight on it, raising it helps rivals alone.
        return TableHold(program, (program.chains.own > 0.0) | (program.linear > 0.0), w, v, mu)
    return LengthHold(len(w), len(program.row_ptr) - 1, program.loss_weight)
