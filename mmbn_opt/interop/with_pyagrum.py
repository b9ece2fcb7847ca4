"""Networks to and from pyAgrum, which knows labels as text."""

from typing import Any

import numpy as np

from mmbn_opt._arguments import shown
from mmbn_opt.data.variable import DiscreteVariable
from mmbn_opt.exceptions import InputError
from mmbn_opt.interop._assembly import Family, assemble, normalised_rows, text_states
from mmbn_opt.interop._optional import optional_module
from mmbn_opt.networks.network import BayesianNetwork

__all__ = ["from_pyagrum", "to_pyagrum"]


def to_pyagrum(network: BayesianNetwork) -> Any:
    """The network as a ``pyagrum.BayesNet`` of labelized variables, features first and the class last.

    Names, probabilities in double precision and labels as text travel; cut points, the labels' types, and which
    variable is the class do not.

    Raises
    ------
    MissingDependencyError
        If pyAgrum is not installed.
    InputError
        If two labels of a column have the same text, or a text is one that pyAgrum cannot hold.
    """
    gum = optional_module("pyagrum")
    model = gum.BayesNet("mmbn_opt")
    for variable in network.variables:
        texts = text_states(variable, "pyAgrum")
        for text in (variable.name, *texts):
            _refuse_unfit(text, variable.name)
        model.add(gum.LabelizedVariable(variable.name, "", texts))
    for node, parents in enumerate(network.structure.parents):
        # pyAgrum's first axis varies fastest: the child, then the parents as they were added.
        for parent in reversed(parents):
            model.addArc(parent, node)
        model.cpt(node).fillWith(np.exp(network.log_cpts[node]).ravel().tolist())
    return model


def from_pyagrum(model: Any, target: str | None = None) -> BayesianNetwork:
    """A pyAgrum network as ours; all variables but the target become features, in the order of their ids.

    Variables of every kind (labelized, range, integer, discretized) come with their labels as text.

    Parameters
    ----------
    model : pyagrum.BayesNet
    target : str or None
        Name of the class variable; None for a network without a class.

    Raises
    ------
    InputError
        If a table is not one of probabilities, or there is no such target.
    """
    if not (hasattr(model, "cpt") and hasattr(model, "nodes")):
        raise InputError(f"from_pyagrum needs a pyagrum.BayesNet, got {type(model).__name__}.")
    families = []
    for node in sorted(model.nodes()):
        variable, cpt = model.variable(node), model.cpt(node)
        labels = tuple(variable.labels())
        parents = tuple(reversed(cpt.names[1:]))
        table = np.asarray(cpt.toarray(), dtype=np.float64).reshape(-1, len(labels))
        rows, _ = normalised_rows(table, variable.name())
        families.append(Family(DiscreteVariable(variable.name(), labels), parents, rows))
    return assemble(families, target, "The pyAgrum network")


def _refuse_unfit(text: str, column: str) -> None:
    # Handed to pyAgrum, the first would end the process and the second would be cut short.
    if any("\ud800" <= character <= "\udfff" for character in text) or "\0" in text:
        raise InputError(
            f"Column {shown(column)} has the name or label {shown(text)}, which is not text for pyAgrum; rename it, "
            "or save the network as JSON."
        )
