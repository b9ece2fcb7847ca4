"""Load compiled kernels before the clock of a run starts: what a process costs once is no merit of a solver."""

import logging
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from mmbn_opt.data.discrete import DiscreteDataset
from mmbn_opt.formulations.base import Formulation
from mmbn_opt.formulations.parameters.base import StructureParameters
from mmbn_opt.formulations.structure.base import StructureFormulation
from mmbn_opt.heuristics import naive_bayes
from mmbn_opt.solvers.base import Solver
from mmbn_opt.solvers.registry import get_solver_class

__all__ = ["warm_up"]

logger = logging.getLogger(__name__)

_SECONDS = 5.0


def warm_up(formulation: Formulation, solver: str | Solver) -> None:
    """Run heuristics, and a solver of this library, on a problem of sixty rows; a failure is left to the run itself."""
    from mmbn_opt.solving.dispatch import solve

    try:
        for small in _smaller(formulation):
            for start in small.starts(seed=0):
                small.evaluate(start.model)
            if isinstance(solver, str):
                get_solver_class(solver).availability() if solver != "auto" else None
                solve(small, solver, time_limit=_SECONDS)
    except Exception as error:
        logger.debug("the warm-up of %s failed: %s", solver, error)


def _smaller(formulation: Formulation) -> Iterator[Formulation]:
    """A problem of the same kind on four rows, where the kind is known."""
    # Noise of this size is no trouble, but is not proved at the root: the kernels of a tree search are loaded too.
    draw = np.random.default_rng(1).integers
    labels = draw(0, 2, 60)
    columns = [(labels * draw(0, 2, 60) + draw(0, 2, 60)) % 3 for _ in range(4)]
    data = DiscreteDataset.from_arrays(np.column_stack(columns), labels)
    if isinstance(formulation, StructureFormulation):
        yield replace(formulation, data=data, required_edges=(), forbidden_edges=(), restriction=None)
    elif isinstance(formulation, StructureParameters):
        kind: Any = type(formulation)
        yield kind(data, naive_bayes(data))
