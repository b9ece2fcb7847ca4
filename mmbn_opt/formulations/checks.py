"""What can be looked at again in a network whose tables are smoothed maximum-likelihood estimates."""

from collections.abc import Callable

import numpy as np

from .._budget import OutOfTime, leave_in_time
from ..data.discrete import DiscreteDataset
from ..networks.network import BayesianNetwork, estimate_log_cpt
from ..networks.smoothing import Smoothing
from ..networks.structure import find_cycle
from ..results.result import Check

__all__ = ["check_acyclic", "check_estimates", "in_time"]


def in_time(name: str, *checks: Callable[[], Check | tuple[Check, ...]]) -> tuple[Check, ...]:
    """What checks say; one that the time limit leaves no time for is named and left open.

    Parameters
    ----------
    name : str
        Of what is left out.
    checks : callable
    """
    done: list[Check] = []
    for check in checks:
        try:
            said = check()
        except OutOfTime:
            return (*done, Check(name, None, "left out: the time limit was reached"))
        done += said if isinstance(said, tuple) else (said,)
    return tuple(done)


def check_acyclic(model: BayesianNetwork) -> Check:
    """Whether the graph is one of a network."""
    structure = model.structure
    cycle = find_cycle(structure.parents)
    size = f"{len(structure.names)} nodes, {len(structure.edges)} edges"
    return Check("acyclic", not cycle, f"cycle through {cycle}" if cycle else size)


def check_estimates(model: BayesianNetwork, data: DiscreteDataset, prior: Smoothing) -> tuple[Check, ...]:
    """Tables normalised, and equal to a fresh estimate from the data.

    Parameters
    ----------
    model : BayesianNetwork
    data : DiscreteDataset
    prior : Smoothing
    """
    most, off = 0.0, 0.0
    for node, parents in enumerate(model.structure.parents):
        leave_in_time()
        table = np.exp(model.log_cpts[node])
        most = max(most, float(np.abs(table.sum(axis=1) - 1).max()))
        off = max(off, float(np.abs(np.exp(estimate_log_cpt(data, node, parents, prior)) - table).max()))
    return (
        Check("CPTs normalised", most <= 1e-9, f"largest |row sum - 1| is {most:.1e}"),
        Check(
            "parameters from the data",
            off <= 1e-9,
            f"largest difference to a fresh estimate with {prior} is {off:.1e}",
        ),
    )
