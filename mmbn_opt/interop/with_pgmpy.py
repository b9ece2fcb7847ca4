"""Networks to and from pgmpy; labels keep their types."""

from typing import Any

import numpy as np

from mmbn_opt._arguments import shown
from mmbn_opt.data.variable import DiscreteVariable
from mmbn_opt.exceptions import InputError
from mmbn_opt.interop._assembly import Family, assemble, normalised_rows
from mmbn_opt.interop._optional import optional_module
from mmbn_opt.networks.network import BayesianNetwork

__all__ = ["from_pgmpy", "to_pgmpy"]


def to_pgmpy(network: BayesianNetwork) -> Any:
    """The network as a ``pgmpy.models.DiscreteBayesianNetwork``.

    Names, labels with their types and probabilities travel; cut points, and which variable is the class, do not.

    Raises
    ------
    MissingDependencyError
        If pgmpy is not installed.
    """
    models = optional_module("pgmpy.models")
    factors = optional_module("pgmpy.factors.discrete")
    variables, names = network.variables, network.structure.names
    model = models.DiscreteBayesianNetwork()
    model.add_nodes_from(names)
    model.add_edges_from(network.structure.edges)
    for node, parents in enumerate(network.structure.parents):
        family = (node, *parents)
        cpd = factors.TabularCPD(
            names[node],
            network.cardinalities[node],
            np.exp(network.log_cpts[node]).T,
            evidence=[names[p] for p in parents] or None,
            evidence_card=[network.cardinalities[p] for p in parents] or None,
            state_names={names[v]: list(variables[v].states) for v in family},
        )
        model.add_cpds(cpd)
    return model


def from_pgmpy(model: Any, target: str | None = None) -> BayesianNetwork:
    """A pgmpy network as ours; all nodes but the target become features, in the model's order.

    Parameters
    ----------
    model : pgmpy.models.DiscreteBayesianNetwork
        With a table for every node. Node names are taken as text, labels as they are.
    target : str or None
        Name of the class variable; None for a network without a class.

    Raises
    ------
    InputError
        If a node has no table, two tables disagree on a variable's labels, or there is no such target.
    """
    if not (hasattr(model, "get_cpds") and hasattr(model, "nodes")):
        raise InputError(f"from_pgmpy needs a pgmpy DiscreteBayesianNetwork, got {type(model).__name__}.")
    nodes = list(model.nodes())
    cpds = {cpd.variable: cpd for cpd in model.get_cpds()}
    without = [str(node) for node in nodes if node not in cpds]
    if without:
        raise InputError(f"The pgmpy model has no table for {without}; add them, or fit the model first.")
    families = []
    for node in nodes:
        cpd = cpds[node]
        labels = cpd.state_names
        for parent in cpd.variables[1:]:
            here, there = list(labels[parent]), list(cpds[parent].state_names[parent])
            if here != there:
                raise InputError(
                    f"The pgmpy model's table of {shown(str(node))} lists the states of {shown(str(parent))} as "
                    f"{here}, "
                    f"that node's own as {there}; make them one."
                )
        table, _ = normalised_rows(np.asarray(cpd.get_values(), dtype=np.float64).T, str(node))
        parents = tuple(str(parent) for parent in cpd.variables[1:])
        families.append(Family(DiscreteVariable(str(node), tuple(labels[node])), parents, table))
    return assemble(families, target, "The pgmpy model")
