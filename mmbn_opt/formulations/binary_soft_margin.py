"""The binary soft margin as a mixed-integer program."""

from dataclasses import dataclass
from typing import ClassVar

from ..network import BayesianNetwork
from ..scores import binary_soft_margin
from .margin_program import MarginStructure

__all__ = ["BinarySoftMarginStructure"]


@dataclass(frozen=True, eq=False)
class BinarySoftMarginStructure(MarginStructure):
    """Structure with the largest binary soft margin: each class against the rest, one margin row a sample.

    maximise  ``sum_m n_m tau_m``  subject to  ``tau_m <= sum_{i,k} alpha_bar[i,k,m] eta[i,k]``  and the other rows of
    `SoftMarginStructure`. For two classes it is the same program.

    Variables: eta (candidates,), tau (merged samples,), o (ordered nodes,).
    Program: `MixedIntegerProgram`. Bound: EXACT for this class of structures and smoothing.
    Source: Peharz & Pernkopf 2012, section 5, eq. 20-25.

    Parameters are those of `SoftMarginStructure`. The network that comes back has the ordinary parameters,
    as in the paper.

    Examples
    --------
    >>> from mmbn_opt.data import DiscreteDataset
    >>> from mmbn_opt.formulations import SoftMarginStructure
    >>> rows = [["a", "u"], ["a", "v"], ["b", "u"], ["b", "v"]]
    >>> data = DiscreteDataset.from_arrays(rows, [0, 1, 2, 0])
    >>> BinarySoftMarginStructure(data).estimate_size().rows < SoftMarginStructure(data).estimate_size().rows
    True
    """

    title: ClassVar[str] = "Binary soft-margin structure"
    _binary: ClassVar[bool] = True

    def evaluate(self, model: BayesianNetwork) -> float:
        """Binary soft margin of a network's structure on the data."""
        return binary_soft_margin(model.structure, self.data, self.gamma, self.prior)
