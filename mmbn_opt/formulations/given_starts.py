"""What a caller may hand over as a start: networks, structures and edges, matched by names."""

import logging
from collections.abc import Callable, Collection
from typing import Any

from ..exceptions import InputError
from ..networks.log_linear import LogLinearClassifier
from ..networks.network import BayesianNetwork
from ..networks.structure import Structure
from ..results.result import Result

__all__ = ["given_model", "given_structure", "moved_start"]

logger = logging.getLogger(__name__)

_EXPECTED = "a network, a Structure, a Result, or a list of (parent, child) names"


def given_model(given: Any) -> Any:
    """The start itself, or the model of a `Result`; `InputError` for a result without one."""
    if not isinstance(given, Result):
        return given
    if given.model is None:
        raise InputError(f"The result that is given as a start has no model; it ended as {given.termination_status}.")
    return given.model


def given_structure(given: Any, names: tuple[str, ...]) -> Structure:
    """A start's structure over the nodes `names`, the class last.

    A node that the start does not have gets no parents.

    Raises
    ------
    InputError
        For what is no start, for nodes that are not among `names`, and for edges with a cycle.

    Examples
    --------
    >>> given_structure([("class", "b")], ("a", "b", "class")).parents
    ((), (2,), ())
    """
    model = given_model(given)
    if isinstance(model, (BayesianNetwork, LogLinearClassifier)):
        model = model.structure
    nodes: Collection[str]
    if isinstance(model, Structure):
        nodes, edges = model.names, model.edges
    else:
        edges = _edges(model)
        nodes = [name for edge in edges for name in edge]
    if unknown := [name for name in dict.fromkeys(nodes) if name not in names]:
        raise InputError(f"The start has the nodes {unknown}, and the columns are {list(names)}. Match them by name.")
    return Structure.from_names(names[:-1], names[-1], edges)


def moved_start(given: Any, names: tuple[str, ...], nearest: Callable[[Structure], Structure]) -> Structure:
    """A start's structure, moved into a model class by `nearest`; what that changed is logged."""
    structure = given_structure(given, names)
    taken = nearest(structure)
    before, after = set(structure.edges), set(taken.edges)
    if before != after:
        logger.info(
            "a given start was moved into the model class: %s left out, %s added",
            sorted(before - after) or "nothing",
            sorted(after - before) or "nothing",
        )
    return taken


def _edges(given: Any) -> list[tuple[str, str]]:
    if not isinstance(given, (list, tuple, set, frozenset)):
        raise InputError(f"A start must be {_EXPECTED}; got {type(given).__name__}.")
    edges = []
    for edge in given:
        if not (isinstance(edge, (list, tuple)) and len(edge) == 2 and all(isinstance(name, str) for name in edge)):
            raise InputError(f"A start must be {_EXPECTED}; got a list with {edge!r:.60}.")
        edges.append((edge[0], edge[1]))
    return edges
