"""The process of one run: a formulation, a solver, a budget; everything that happens is sent to the parent."""

import os
import pickle
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any

from mmbn_opt.comparison._warm_up import warm_up
from mmbn_opt.comparison.isolation import Answer, Ready
from mmbn_opt.comparison.machine import machine, own_peak_bytes, package_versions
from mmbn_opt.formulations.base import Formulation
from mmbn_opt.programs.base import ProgramKind
from mmbn_opt.results.result import Result
from mmbn_opt.results.status import TerminationStatus
from mmbn_opt.results.trace import BoundTrace, TraceRecord
from mmbn_opt.solvers.base import Solver, SolverResult
from mmbn_opt.solvers.hosting.link import EngineFailure, EngineLink
from mmbn_opt.solvers.hosting.wire import read_message
from mmbn_opt.solvers.hosting.worker import begin, obey

__all__ = ["Answered", "RunJob", "main"]


@dataclass(frozen=True)
class RunJob:
    """What the child gets.

    Parameters
    ----------
    payload : bytes
        Pickle of formulation, solver (name or instance) and `SolveSettings`; made by cloudpickle, so that classes
        of a script or a notebook travel along.
    threads : int
    verbose : bool
    """

    payload: bytes
    threads: int
    verbose: bool = False


Heard = tuple[ProgramKind, SolverResult]
"""What a solver said of a program of some kind."""


@dataclass(frozen=True, eq=False)
class Answered(Answer):
    """What is kept of a `Result`, as plain values."""

    status: TerminationStatus
    raw_status: str
    trace: BoundTrace
    claimed_primal: float | None
    own_value: float | None
    certificate_ok: bool
    failed_checks: str
    seconds: float
    peak_memory: int | None
    solver_version: str
    size: Mapping[str, int]


def main() -> None:
    """Read a job, run it, send what happens."""
    incoming, send = begin()
    job: RunJob = read_message(incoming)
    threading.Thread(target=obey, args=(incoming, EngineLink(send, time.monotonic())), daemon=True).start()
    try:
        _run(job, send)
    except BaseException as error:
        send(EngineFailure.of(error))
    # Destructors of solver libraries have nothing to add and can hang.
    os._exit(0)


def _run(job: RunJob, send: Callable[[object], None]) -> None:
    from mmbn_opt.solving.dispatch import make_job

    formulation, solver, settings = pickle.loads(job.payload)
    warm_up(formulation, solver)
    heard: list[Heard] = []
    engine = _overheard(solver, formulation, heard)
    send(Ready(machine(), package_versions()))

    def tell(record: TraceRecord) -> None:
        send(record)

    result = make_job(formulation, engine, settings, callback=tell).execute()
    send(_answered(result, formulation, heard))


def _overheard(solver: str | Solver, formulation: Formulation, heard: list[Heard]) -> str | Solver:
    """The solver with an ear at its `solve`, so that its claims can be held against the data."""
    if isinstance(solver, str):
        if solver == "auto":
            return solver
        solver = _named(solver, formulation)
    kind = type(solver)

    def solve(self: Solver, program: Any, callback: Any = None, start: Any = None) -> SolverResult:
        answer = kind.solve(self, program, callback, start)
        heard.append((program.kind, answer))
        return answer

    listening: Any = type(kind.__name__, (kind,), {"solve": solve, "__module__": kind.__module__})
    copy: Solver = listening(**{f.name: getattr(solver, f.name) for f in fields(solver) if f.init})
    return copy


def _named(name: str, formulation: Formulation) -> Solver:
    from mmbn_opt.solving.dispatch import choose_solver

    return choose_solver(formulation, name)[0]()


def _answered(result: Result, formulation: Formulation, heard: list[Heard]) -> Answered:
    claimed, own = _claim(formulation, heard)
    size = result.program_size
    return Answered(
        status=result.termination_status,
        raw_status=result.raw_status,
        trace=result.trace,
        claimed_primal=claimed,
        own_value=own,
        certificate_ok=result.certificate.ok,
        failed_checks="; ".join(map(str, result.certificate.failures)),
        seconds=result.seconds.total,
        peak_memory=own_peak_bytes(),
        solver_version=result.solver_version,
        size={} if size is None else {f.name: int(getattr(size, f.name)) for f in fields(size)},
    )


def _claim(formulation: Formulation, heard: list[Heard]) -> tuple[float | None, float | None]:
    """Objective of the solver's vector as it says and as the data say, in the formulation's sense."""
    if not heard:
        return None, None
    kind, answer = heard[-1]
    primal = answer.bounds.primal_bound
    if primal is None:
        return None, None
    claimed = formulation.sense.sign * primal
    if answer.solution is None:
        return claimed, None
    return claimed, float(formulation.evaluate(formulation.recover_from(answer.solution, kind)))
