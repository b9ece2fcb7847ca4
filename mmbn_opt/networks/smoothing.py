"""Smoothing of conditional probability tables: Laplace pseudo-counts or a Dirichlet prior of fixed total weight."""

from dataclasses import dataclass

from mmbn_opt._arguments import checked_number, is_number, shown
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
        checked_number("smoothing", self.pseudo_count, open_high=True, expected="a finite pseudo-count >= 0")

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
        what, expected = "ess (equivalent sample size)", "a finite number > 0"
        checked_number(what, self.ess, open_low=True, open_high=True, expected=expected)

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
    if not is_number(value):
        raise InputError(f"smoothing must be a number >= 0 or Dirichlet(ess=...), got {shown(value)}.")
    return Laplace(float(value))
