"""Structures by name, for what learns the parameters of a given one."""

from collections.abc import Callable, Mapping
from typing import Any

from mmbn_opt._arguments import shown
from mmbn_opt.data.discrete import DiscreteDataset
from mmbn_opt.exceptions import InputError
from mmbn_opt.heuristics.orders import order_mi
from mmbn_opt.heuristics.tan_greedy import tan_cr
from mmbn_opt.heuristics.trees import naive_bayes, tan_cmi
from mmbn_opt.networks.structure import Structure, from_edges

__all__ = ["STRUCTURES", "make_structure"]

STRUCTURES: Mapping[str, Callable[[DiscreteDataset, int, Any], Structure]] = {
    "nb": lambda data, seed, smoothing: naive_bayes(data),
    "tan-cmi": lambda data, seed, smoothing: tan_cmi(data),
    "tan-cr": lambda data, seed, smoothing: tan_cr(data, smoothing=smoothing),
    "omi": lambda data, seed, smoothing: order_mi(data, "OMI", seed=seed, smoothing=smoothing),
    "omisp": lambda data, seed, smoothing: order_mi(data, "OMISP", seed=seed, smoothing=smoothing),
    "ro": lambda data, seed, smoothing: order_mi(data, "RO", seed=seed, smoothing=smoothing),
}
"""Naive Bayes, the two TANs, and the order-based ones with classification rate as score and one feature parent."""


def make_structure(structure: Any, data: DiscreteDataset, *, seed: int = 0, smoothing: Any = 1.0) -> Structure:
    """The structure that a user names, lists or hands over.

    Parameters
    ----------
    structure : str, Structure, sequence of (parent, child), or callable
        A name of `STRUCTURES`; a `Structure` over the data's columns; edges by name; or a function of the data.
    data : DiscreteDataset
    seed : int
        Of "ro".
    smoothing : float or Smoothing
        Of the parameters that the discriminative searches score.

    Examples
    --------
    >>> data = DiscreteDataset.from_arrays([["a", "u"], ["b", "v"]], [0, 1])
    >>> make_structure([("class", "x0"), ("x0", "x1")], data).edges
    [('class', 'x0'), ('x0', 'x1')]
    """
    if isinstance(structure, str):
        if structure not in STRUCTURES:
            raise InputError(
                f"structure must be one of {', '.join(STRUCTURES)}, a Structure, a list of (parent, child) or a "
                f"function of the data, got {shown(structure)}."
            )
        return STRUCTURES[structure](data, seed, smoothing)
    if callable(structure):
        structure = structure(data)
    if isinstance(structure, Structure):
        structure = structure.edges
    try:
        edges = [(str(parent), str(child)) for parent, child in structure]
    except (TypeError, ValueError):
        raise InputError(f"structure must be edges as pairs (parent, child), got {shown(structure)}.") from None
    return from_edges(data, edges)
