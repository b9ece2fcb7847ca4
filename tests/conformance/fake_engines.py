"""Engines that misbehave on purpose, and a solver that runs them: `FakeSolver(engine="hang").solve(program)`."""

import ctypes
import os
import signal
import sys
import time
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy.sparse as sp

from mmbn_opt.exceptions import InputError
from mmbn_opt.programs.base import ProgramKind
from mmbn_opt.programs.mixed_integer import MixedIntegerProgram
from mmbn_opt.results.status import TerminationStatus
from mmbn_opt.solvers.base import Availability, Solver, SolverCallback, SolverResult
from mmbn_opt.solvers.hosting.link import EngineAnswer, EngineJob, EngineLink
from mmbn_opt.solvers.mixed_integer.run import run_engine

OPTIMAL = TerminationStatus.OPTIMAL

KNAPSACK = MixedIntegerProgram(
    c=np.array([-5.0, -4.0, -3.0]),
    A=sp.csr_array(np.array([[2.0, 3.0, 1.0]])),
    row_lower=np.array([-np.inf]),
    row_upper=np.array([5.0]),
    col_lower=np.zeros(3),
    col_upper=np.ones(3),
    integrality=np.ones(3, dtype=bool),
)
"""Worth -9 at best, by the first two columns."""

FIRST = np.array([1.0, 0.0, 1.0])
"""A feasible vector, worth -8."""
BEST = np.array([1.0, 1.0, 0.0])
INFEASIBLE = np.array([1.0, 1.0, 1.0])


@dataclass(frozen=True)
class FakeSolver(Solver):
    """Runs the function `engine` of this module."""

    engine: str = ""
    isolate: bool = True

    name: ClassVar[str] = "fake"
    title: ClassVar[str] = "Fake"
    licence: ClassVar[str] = "none"
    accepts: ClassVar[frozenset[ProgramKind]] = frozenset({ProgramKind.MIXED_INTEGER})

    @classmethod
    def availability(cls) -> Availability:
        return Availability(True, "0")

    def solve(
        self,
        program: MixedIntegerProgram,
        callback: SolverCallback | None = None,
        start: np.ndarray | None = None,
    ) -> SolverResult:
        return run_engine(self, f"{__name__}:{self.engine}", program, callback, start, isolate=self.isolate)


def best(job: EngineJob, link: EngineLink) -> EngineAnswer:
    return EngineAnswer(OPTIMAL, "best", BEST, -9.0)


def hang(job: EngineJob, link: EngineLink) -> EngineAnswer:
    """Finds something, proves something, and never comes back."""
    link.report(dual_bound=-10.0)
    link.report(solution=FIRST)
    while True:
        time.sleep(60.0)


def hang_for_two_seconds(job: EngineJob, link: EngineLink) -> EngineAnswer:
    """Deaf like `hang`, for a thread that nobody can kill."""
    link.report(solution=FIRST)
    time.sleep(2.0)
    return EngineAnswer(OPTIMAL, "too late", BEST, -9.0)


def work_until_stopped(job: EngineJob, link: EngineLink) -> EngineAnswer:
    link.report(dual_bound=-10.0)
    link.report(solution=FIRST)
    while not link.stop_requested:
        time.sleep(0.005)
    return EngineAnswer(TerminationStatus.INTERRUPTED, "stopped", FIRST, -9.5)


def take_offers(job: EngineJob, link: EngineLink) -> EngineAnswer:
    """Shows one incumbent and answers with what it is offered."""
    link.report(solution=FIRST)
    while (vector := link.take_offer()) is None:
        time.sleep(0.005)
    return EngineAnswer(OPTIMAL, "offered", vector, -9.0)


def crash(job: EngineJob, link: EngineLink) -> EngineAnswer:
    link.report(dual_bound=-10.0, solution=FIRST)
    ctypes.string_at(0)
    raise AssertionError("not reached")


def be_killed(job: EngineJob, link: EngineLink) -> EngineAnswer:
    link.report(dual_bound=-10.0, solution=FIRST)
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("not reached")


def leave(job: EngineJob, link: EngineLink) -> EngineAnswer:
    os.write(2, b"out of luck\n")
    os._exit(3)


def fail(job: EngineJob, link: EngineLink) -> EngineAnswer:
    link.report(solution=FIRST)
    raise ZeroDivisionError("the engine divided by zero")


def refuse(job: EngineJob, link: EngineLink) -> EngineAnswer:
    raise InputError("the engine cannot use this input")


def be_noisy(job: EngineJob, link: EngineLink) -> EngineAnswer:
    """Writes where the messages once went, from Python and from below it."""
    sys.stdout.write("noise from Python\n")
    os.write(1, b"\x00\x01 noise from a library\n" * 2000)
    os.write(2, b"noise on standard error\n")
    sys.stdout.flush()
    return EngineAnswer(OPTIMAL, "noisy", BEST, -9.0)


def lie_about_feasibility(job: EngineJob, link: EngineLink) -> EngineAnswer:
    link.report(primal_bound=-12.0, solution=INFEASIBLE)
    return EngineAnswer(OPTIMAL, "optimal", INFEASIBLE, -12.0)


def lie_about_the_objective(job: EngineJob, link: EngineLink) -> EngineAnswer:
    link.report(primal_bound=-100.0)
    return EngineAnswer(OPTIMAL, "optimal", FIRST, -100.0)


def lie_about_the_bound(job: EngineJob, link: EngineLink) -> EngineAnswer:
    """Claims that nothing is better than -8."""
    link.report(dual_bound=-8.0)
    return EngineAnswer(OPTIMAL, "optimal", FIRST, -8.0)


def lie_about_infeasibility(job: EngineJob, link: EngineLink) -> EngineAnswer:
    return EngineAnswer(TerminationStatus.INFEASIBLE, "infeasible")


def claim_as_logs_do(job: EngineJob, link: EngineLink) -> EngineAnswer:
    """Names objectives without vectors, rounded as in print."""
    link.report(primal_bound=-5.0, dual_bound=-12.0)
    link.report(primal_bound=-8.00000001, dual_bound=-10.0)
    link.report(primal_bound=-9.0, dual_bound=-9.5)
    return EngineAnswer(OPTIMAL, "optimal", BEST, -9.0)


def claim_what_is_not_shown(job: EngineJob, link: EngineLink) -> EngineAnswer:
    link.report(primal_bound=-9.0)
    return EngineAnswer(TerminationStatus.TIME_LIMIT, "time", FIRST, -10.0)


def describe_process(job: EngineJob, link: EngineLink) -> EngineAnswer:
    facts = {"pid": os.getpid(), "path": list(sys.path), "omp": os.environ.get("OMP_NUM_THREADS"), "cwd": os.getcwd()}
    return EngineAnswer(OPTIMAL, "described", BEST, -9.0, stats=facts)


def stop_late(job: EngineJob, link: EngineLink) -> EngineAnswer:
    """Hears the request and takes its time, but comes back within the grace period."""
    link.report(solution=FIRST)
    while not link.stop_requested:
        time.sleep(0.005)
    time.sleep(0.1)
    return EngineAnswer(TerminationStatus.INTERRUPTED, "stopped late", BEST, -9.25)
