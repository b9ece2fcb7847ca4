"""Structures and the tables on them: what predicts from discrete data, exactly."""

from typing import TYPE_CHECKING

from mmbn_opt._lazy import names_on_demand

if TYPE_CHECKING:
    from mmbn_opt.networks.candidates import CandidateParents as CandidateParents
    from mmbn_opt.networks.exchange import NetworkExchange as NetworkExchange
    from mmbn_opt.networks.exchange import StructureExchange as StructureExchange
    from mmbn_opt.networks.gauge import Gauge as Gauge
    from mmbn_opt.networks.gauge import fix_gauge as fix_gauge
    from mmbn_opt.networks.log_linear import LogLinearClassifier as LogLinearClassifier
    from mmbn_opt.networks.network import BayesianNetwork as BayesianNetwork
    from mmbn_opt.networks.parent_families import EdgeRules as EdgeRules
    from mmbn_opt.networks.parent_families import Family as Family
    from mmbn_opt.networks.renormalizability import Renormalizability as Renormalizability
    from mmbn_opt.networks.renormalizability import Renormalization as Renormalization
    from mmbn_opt.networks.renormalizability import Violation as Violation
    from mmbn_opt.networks.renormalization import renormalize as renormalize
    from mmbn_opt.networks.smoothing import Dirichlet as Dirichlet
    from mmbn_opt.networks.smoothing import Laplace as Laplace
    from mmbn_opt.networks.structure import Structure as Structure
    from mmbn_opt.networks.structure import from_edges as from_edges
    from mmbn_opt.networks.structure_class import StructureClass as StructureClass

_HOMES = {
    "BayesianNetwork": "network",
    "CandidateParents": "candidates",
    "Dirichlet": "smoothing",
    "EdgeRules": "parent_families",
    "Family": "parent_families",
    "Gauge": "gauge",
    "Laplace": "smoothing",
    "LogLinearClassifier": "log_linear",
    "NetworkExchange": "exchange",
    "Renormalizability": "renormalizability",
    "Renormalization": "renormalizability",
    "Structure": "structure",
    "StructureClass": "structure_class",
    "StructureExchange": "exchange",
    "Violation": "renormalizability",
    "fix_gauge": "gauge",
    "from_edges": "structure",
    "renormalize": "renormalization",
}

__all__ = [*_HOMES]

__getattr__, __dir__ = names_on_demand(__name__, _HOMES)
