"""Smoothing of conditional probability tables: Laplace pseudo-counts or a Dirichlet prior of fixed total weight."""

import math
from dataclasses import dataclass

from mmbn_opt.exceptions import InputError

__all__ = ["Dirichlet", "Laplace", "Smoothing", "as_smoothing"]


@dataclass(frozen=True)
class Laplace:
    """The same pseudo-count in every cell of every CPT (1 is the paper's; 0 is maximum likelihood).

    Examples
    --------
    >>> Laplace(1.0).per_cell(n_states=3, n_configurations=4)
    1.0
    """

    pseudo_count: float = 1.0

    def __post_init__(self) -> None:
        if not (0 <= self.pseudo_count < math.inf):
            raise InputError(f"smoothing must be a finite pseudo-count >= 0, got {self.pseudo_count!r}.")

    def per_cell(self, n_states: int, n_configurations: int) -> float:
        """Pseudo-count of one cell."""
        return self.pseudo_count

    def __str__(self) -> str:
        return f"a pseudo-count of {self.pseudo_count:g} a cell"


@dataclass(frozen=True)
class Dirichlet:
    """A prior worth `ess` samples in total, spread evenly over the cells of each CPT (score-equivalent, as in BDeu).

    Examples
    --------
    >>> Dirichlet(ess=1.0).per_cell(n_states=2, n_configurations=4)
    0.125
    """

    ess: float = 1.0

    def __post_init__(self) -> None:
        if not (0 < self.ess < math.inf):
            raise InputError(f"ess (equivalent sample size) must be a finite number > 0, got {self.ess!r}.")

    def per_cell(self, n_states: int, n_configurations: int) -> float:
        """Pseudo-count of one cell."""
        return self.ess / (n_states * n_configurations)

    def __str__(self) -> str:
        return f"a Dirichlet prior worth {self.ess:g} samples a table"


Smoothing = Laplace | Dirichlet


def as_smoothing(value: "float | Smoothing") -> Smoothing:
    """Turn a number into `Laplace`; pass a `Smoothing` through.

    Examples
    --------
    >>> as_smoothing(1)
    Laplace(pseudo_count=1.0)
    """
    if isinstance(value, (Laplace, Dirichlet)):
        return value
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise InputError(f"smoothing must be a number >= 0 or Dirichlet(ess=...), got {value!r}.")
    return Laplace(float(value))
