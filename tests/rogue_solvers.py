"""Solvers that misbehave on purpose; a child process finds them here by name."""

import ctypes
import os
import time
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from mmbn_opt.formulations import SoftMarginStructure
from mmbn_opt.programs.base import ProgramKind
from mmbn_opt.results.bounds import ObjectiveBounds
from mmbn_opt.results.status import Sense, SolutionStatus, TerminationStatus
from mmbn_opt.results.trace import BoundTrace
from mmbn_opt.solvers.base import Availability, Solver, SolverEvent, SolverResult
from mmbn_opt.solvers.mixed_integer.highs import HighsSolver


@dataclass(frozen=True)
class Rogue(Solver):
    """Takes structure programs and does harm."""

    title: ClassVar[str] = "made for tests"
    licence: ClassVar[str] = "BSD-3-Clause"
    accepts: ClassVar[frozenset[ProgramKind]] = frozenset({ProgramKind.MIXED_INTEGER})

    @classmethod
    def availability(cls) -> Availability:
        return Availability(True, "0")


@dataclass(frozen=True)
class Exiting(Rogue):
    name: ClassVar[str] = "exiting"

    def solve(self, program, callback=None, start=None):
        os._exit(7)


@dataclass(frozen=True)
class Segfaulting(Rogue):
    name: ClassVar[str] = "segfaulting"

    def solve(self, program, callback=None, start=None):
        callback(SolverEvent(0.0, dual_bound=program.value(start) - 1.0))
        ctypes.string_at(0)


@dataclass(frozen=True)
class Hanging(Rogue):
    """Deaf to limits and holding the interpreter's lock, as a solver in C may."""

    name: ClassVar[str] = "hanging"

    def solve(self, program, callback=None, start=None):
        ctypes.PyDLL(None).sleep(600)


@dataclass(frozen=True)
class Hungry(Rogue):
    name: ClassVar[str] = "hungry"

    def solve(self, program, callback=None, start=None):
        held = []
        while True:
            held.append(np.ones(4_000_000))
            time.sleep(0.01)


@dataclass(frozen=True)
class Raising(Rogue):
    name: ClassVar[str] = "raising"

    def solve(self, program, callback=None, start=None):
        raise ZeroDivisionError("an accident")


def answer(program, vector, primal, dual) -> SolverResult:
    return SolverResult(
        TerminationStatus.OPTIMAL,
        SolutionStatus.FEASIBLE,
        "all is well",
        vector,
        ObjectiveBounds(Sense.MINIMIZE, primal, dual),
        BoundTrace(Sense.MINIMIZE),
        {"solve_sec": 0.0},
    )


@dataclass(frozen=True)
class Boasting(Rogue):
    """Returns the start and claims a better objective for it."""

    name: ClassVar[str] = "boasting"

    def solve(self, program, callback=None, start=None):
        return answer(program, start, program.value(start) - 5.0, None)


@dataclass(frozen=True)
class Overclaiming(Rogue):
    """Returns the start and claims that there is nothing better."""

    name: ClassVar[str] = "overclaiming"

    def solve(self, program, callback=None, start=None):
        value = program.value(start)
        return answer(program, start, value, value)


@dataclass(frozen=True)
class Counting(Rogue):
    """HiGHS that leaves a line in a file each time that it is called, and takes its time."""

    log: str = ""
    pause: float = 0.0

    name: ClassVar[str] = "counting"

    def solve(self, program, callback=None, start=None):
        with open(self.log, "a") as log:
            log.write(f"{self.seed}\n")
        time.sleep(self.pause)
        return HighsSolver(time_limit=self.time_limit, seed=self.seed).solve(program, callback, start)


@dataclass(frozen=True, eq=False)
class Unaided(SoftMarginStructure):
    """Soft margin without start heuristics, so that the start is not the optimum."""

    def starts(self, *, seed=0, deadline=None):
        return iter(())


@dataclass(frozen=True)
class Absent(Exiting):
    name: ClassVar[str] = "absent"

    @classmethod
    def availability(cls) -> Availability:
        return Availability(False, None, "it was never written")
