"""One call: choose, run, certify, hand over."""

from typing import TYPE_CHECKING

from mmbn_opt._lazy import names_on_demand

if TYPE_CHECKING:
    from mmbn_opt.solving.certificate import ReprovedBound as ReprovedBound
    from mmbn_opt.solving.certificate import certify as certify
    from mmbn_opt.solving.dispatch import AUTO_RULES as AUTO_RULES
    from mmbn_opt.solving.dispatch import AutoRule as AutoRule
    from mmbn_opt.solving.dispatch import solve as solve
    from mmbn_opt.solving.dispatch import solvers as solvers
    from mmbn_opt.solving.dispatch import start as start
    from mmbn_opt.solving.distance import Distance as Distance
    from mmbn_opt.solving.distance import distance_to_optimum as distance_to_optimum
    from mmbn_opt.solving.handle import Run as Run
    from mmbn_opt.solving.job import Job as Job
    from mmbn_opt.solving.parts import CMMPart as CMMPart
    from mmbn_opt.solving.parts import CMMPrograms as CMMPrograms
    from mmbn_opt.solving.parts import solve_parts as solve_parts
    from mmbn_opt.solving.settings import SolveSettings as SolveSettings

_HOMES = {
    "AUTO_RULES": "dispatch",
    "AutoRule": "dispatch",
    "CMMPart": "parts",
    "CMMPrograms": "parts",
    "Distance": "distance",
    "Job": "job",
    "ReprovedBound": "certificate",
    "Run": "handle",
    "SolveSettings": "settings",
    "certify": "certificate",
    "distance_to_optimum": "distance",
    "solve": "dispatch",
    "solve_parts": "parts",
    "solvers": "dispatch",
    "start": "dispatch",
}

__all__ = [*_HOMES]

__getattr__, __dir__ = names_on_demand(__name__, _HOMES)
