"""Quadratic programs of maximum-margin Markov networks through cvxpy, every answer checked."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy.sparse as sp

from ...programs.base import ProgramKind
from ...programs.markov import MarkovProgram
from ..hosting.link import EngineAnswer, EngineJob, EngineLink
from .cvxpy_conic import ClarabelSolver, solve_problem

__all__ = ["QuadraticSolver", "run"]


@dataclass(frozen=True)
class QuadraticSolver(ClarabelSolver):
    """Clarabel on a quadratic objective; its multipliers give our own bound.

    Examples
    --------
    >>> import mmbn_opt as mm
    >>> data = mm.DiscreteDataset.from_arrays([["a"], ["a"], ["b"]] * 5, [0, 1, 1] * 5)
    >>> program = mm.MaxMarginMarkovNetwork(data, mm.naive_bayes(data)).build()
    >>> result = QuadraticSolver().solve(program)
    >>> result.termination_status, result.bounds.gap_rel < 1e-6
    (TerminationStatus.OPTIMAL, True)
    """

    name: ClassVar[str] = "clarabel_qp"
    title: ClassVar[str] = "Clarabel (quadratic)"
    accepts: ClassVar[frozenset[ProgramKind]] = frozenset({ProgramKind.QUADRATIC})
    engine: ClassVar[str] = f"{__name__}:run"


def run(job: EngineJob[MarkovProgram], link: EngineLink) -> EngineAnswer:
    """The engine: runs in a thread of the user's process or in a child process."""
    import cvxpy as cp

    program = job.program
    margins = program.margins
    matrix, sample, rival = margins.matrix(program.max_nonzeros)
    w, slack = cp.Variable(margins.n_parameters), cp.Variable(margins.n_samples, nonneg=True)
    spread = sp.csr_array(
        (np.ones(len(sample)), (np.arange(len(sample)), sample)), shape=(len(sample), margins.n_samples)
    )
    asked = np.broadcast_to(program.delta, (margins.n_samples, margins.n_classes))[sample, rival]
    # As for the cones: the objective is divided by the weight of the slacks.
    scale = program.C * float(margins.weight.sum())
    rows = matrix @ w + spread @ slack >= asked
    objective = (0.5 / scale) * cp.sum_squares(w) + (program.C * margins.weight / scale) @ slack
    problem = cp.Problem(cp.Minimize(objective), [rows])
    status, raw = solve_problem(problem, job)
    multipliers = None
    if rows.dual_value is not None:
        multipliers = np.zeros((margins.n_samples, margins.n_classes))
        multipliers[sample, rival] = np.asarray(rows.dual_value) * scale
    return EngineAnswer(
        status,
        raw,
        None if w.value is None else np.asarray(w.value, dtype=np.float64),
        iterations=None if problem.solver_stats is None else problem.solver_stats.num_iters,
        stats={"raw_objective": None if problem.value is None else float(problem.value) * scale},
        multipliers=multipliers,
    )
