"""The soft margin as a mixed-integer program."""

from dataclasses import dataclass
from typing import ClassVar

from ..network import BayesianNetwork
from ..scores import soft_margin
from .margin_program import MarginStructure

__all__ = ["SoftMarginStructure"]


@dataclass(frozen=True, eq=False)
class SoftMarginStructure(MarginStructure):
    """Structure with the largest soft margin, as a mixed-integer program.

    maximise  ``sum_m n_m tau_m``

    subject to

    * ``tau_m <= sum_{i,k} alpha[i,k,m,c] eta[i,k]`` for every rival class c,
    * ``tau_m <= gamma``,
    * ``sum_k eta[i,k] = 1``, eta binary: one parent set a node,
    * the rows of ``acyclicity``.

    Variables: eta (candidates,), tau (merged samples,), o (ordered nodes,).
    Program: `MixedIntegerProgram`. Bound: EXACT for this class of structures and smoothing.
    Source: Peharz & Pernkopf 2012, eq. 19; ``acyclicity="order-printed"`` is eq. 16, ``"order"`` its tightened form.

    Parameters
    ----------
    data : DiscreteDataset
        No missing cells, at least two classes; equal rows are merged.
    max_parents : int
        Most parents of a node, the class counted; class nodes may have feature parents.
    acyclicity : {"auto", "order", "order-printed", "cluster"}
    smoothing : float or Smoothing
        Pseudo-count (> 0) of the maximum-likelihood parameters; 1 is Laplace's.
    required_edges, forbidden_edges : tuple of (parent, child) names
    max_columns, max_rows, max_nonzeros, max_cells : int
        Size limits; a larger program is refused before it is built. The last is on the margin tables of all candidates
        together, which grow with the states of the features and not with the rows.
    restriction : CandidateRestriction or None
        Fewer candidate parents, from `restrict_candidates`; the certificate says that the class is a restricted one.
    gamma : float
        Desired log margin in nats; ``log_odds(p)`` for posterior odds p : (1 - p).

    Examples
    --------
    >>> from mmbn_opt.data import DiscreteDataset
    >>> from mmbn_opt.program import ProgramKind
    >>> rows = [["a", "u"], ["a", "v"], ["b", "u"], ["b", "v"]]
    >>> data = DiscreteDataset.from_arrays(rows, ["no", "yes", "yes", "no"])  # exclusive or
    >>> formulation = SoftMarginStructure(data, max_parents=2)
    >>> formulation.build(ProgramKind.MIXED_INTEGER).size
    ProgramSize(columns=16, integers=10, rows=12, nonzeros=40)
    """

    title: ClassVar[str] = "Soft-margin structure"
    _binary: ClassVar[bool] = False

    def evaluate(self, model: BayesianNetwork) -> float:
        """Soft margin of a network on the data (eq. 9)."""
        return soft_margin(model, self.data, self.gamma)
