"""The one way into a run that all solvers share: input checked, the job written, a host chosen."""

import time
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError
from ..program import MixedIntegerProgram
from ._link import EngineJob
from ._run import Run
from .base import Solver, SolverCallback, SolverResult
from .ending import ENGINE_SHARE

__all__ = ["ISOLATE_NONZEROS", "run_engine", "wants_child"]

FloatArray = NDArray[np.float64]

ISOLATE_NONZEROS = 50_000
"""Above this many non-zeros one step of a solver can outlast any limit, so that it must be possible to kill it."""


def wants_child(isolate: bool | None, program: MixedIntegerProgram) -> bool:
    """Whether to use a child process: as told, or else for programs on which a solver can be deaf for long."""
    return int(program.A.nnz) > ISOLATE_NONZEROS if isolate is None else isolate


def run_engine(
    solver: Solver,
    engine: str,
    program: MixedIntegerProgram,
    callback: SolverCallback | None,
    start: FloatArray | None,
    *,
    isolate: bool,
    workspace: str | None = None,
    executable: str | None = None,
) -> SolverResult:
    """Run ``"module:function"`` on `program` in a thread or in a child process; return what can be answered for.

    Raises
    ------
    InputError
        For a program, a start or an option that cannot be used.
    Exception
        Whatever the callback or the primal heuristic raised, once the engine has stopped; its attribute
        ``solver_result`` holds the incumbent and the bound.
    """
    origin = time.monotonic()
    _check_input(program, start)
    job = EngineJob(
        engine=engine,
        program=_canonical(program),
        start=None,
        origin=origin,
        deadline=None if solver.time_limit is None else origin + solver.time_limit,
        rel_gap=ENGINE_SHARE * solver.rel_gap,
        abs_gap=solver.abs_gap,
        feasibility_tol=solver.feasibility_tol,
        threads=solver.threads,
        seed=solver.seed,
        verbose=solver.verbose,
        options=dict(solver.options),
        workspace=workspace,
        executable=executable,
    )
    return Run(solver, program, callback, job).execute(start, isolate)


def _canonical(program: MixedIntegerProgram) -> MixedIntegerProgram:
    """The program as engines get it: at most one entry a cell, and no heuristic, which stays in this thread."""
    matrix = program.A
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    return replace(program, A=matrix, primal_heuristic=None)


def _check_input(program: MixedIntegerProgram, start: FloatArray | None) -> None:
    for name in ("row_lower", "row_upper", "col_lower", "col_upper"):
        bad = np.flatnonzero(np.isnan(getattr(program, name)))
        if bad.size:
            raise InputError(
                f"MixedIntegerProgram.{name} holds NaN at position {bad[0]}; use an infinity for a side that is free."
            )
    if start is not None and np.shape(start) != program.c.shape:
        raise InputError(f"the start has shape {np.shape(start)}, but the program has {program.c.size} columns.")
