"""The CBC executable (extra ``cbc``, or any ``cbc`` on the path)."""

import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from ..._arrays import FloatArray
from ...exceptions import InputError, MissingDependencyError, MmbnError
from ...programs.base import ProgramKind
from ...programs.mixed_integer import MixedIntegerProgram
from ...results.status import TerminationStatus
from ..base import Availability, Solver, SolverCallback, SolverResult
from ..hosting.guard import scratch_folder
from ._cbc_executable import ask, executable_version, find_executable
from .run import run_engine, wants_child

__all__ = ["CbcSolver"]

_RESERVED = {
    "seconds": "time_limit",
    "sec": "time_limit",
    "timeMode": "time_limit",
    "ratioGap": "rel_gap",
    "ratio": "rel_gap",
    "allowableGap": "abs_gap",
    "allow": "abs_gap",
    "increment": "abs_gap",
    "primalTolerance": "feasibility_tol",
    "integerTolerance": "feasibility_tol",
    "threads": "threads",
    "randomSeed": "seed",
    "randomCbcSeed": "seed",
}

_UNKNOWN = ("No match for", "Unrecognized parameter")
_REFUSED = ("was provided for", "Possible options for", "Illegal keyword")

_PROBE_SEC = 20.0


@dataclass(frozen=True)
class CbcSolver(Solver):
    """CBC (Forrest & Lougee-Heimer 2005), run as a program on files.

    Parameters
    ----------
    isolate : bool or None
        Let a child process drive the program, so that it ends even if this process is killed. None: for programs of
        more than 50,000 non-zeros. The program itself can be killed either way.
    executable : str or None
        Path of ``cbc``. None: ``cbc`` on the path, else the one in an installed ``pulp`` or ``cbcbox``.
    options : mapping
        CBC's own parameters by name, each passed as ``-name value``, for example ``{"cuts": "off"}``; CBC is asked
        beforehand whether it knows them.

    Notes
    -----
    CBC prints objectives without vectors while it runs. They are shown in the trace once the final vector confirms
    them. Solutions are read from its binary file, since its text file has 8 digits. ``increment`` (by how much a new
    incumbent must be better, 1e-5 or 1e-4 by default, which would make "optimal" mean that) is set to `abs_gap`, or to
    a rounding error of the objective.

    A stop before the limit needs CBC to react to an interrupt within a second: version 2.10 does not while it
    separates cuts at the root, and is then killed without its incumbent.

    References
    ----------
    .. [1] J. Forrest and R. Lougee-Heimer, "CBC user guide", INFORMS Tutorials in Operations Research (2005).
    """

    isolate: bool | None = None
    executable: str | None = None

    name: ClassVar[str] = "cbc"
    title: ClassVar[str] = "CBC"
    licence: ClassVar[str] = "EPL-2.0"
    extra: ClassVar[str | None] = "cbc"
    accepts: ClassVar[frozenset[ProgramKind]] = frozenset({ProgramKind.MIXED_INTEGER})
    at_limit: ClassVar[str] = "interrupted, and killed without its incumbent where it does not react"

    @classmethod
    def availability(cls) -> Availability:
        """Look whether CBC solves a one-variable model (cached)."""
        return _probe()

    def solve(
        self, program: MixedIntegerProgram, callback: SolverCallback | None = None, start: FloatArray | None = None
    ) -> SolverResult:
        """Minimise `program`; see `Solver.solve`."""
        executable = self.executable
        if executable is None:
            found = self.availability()
            if not found.available:
                raise MissingDependencyError(found.reason)
            executable = find_executable()
        elif not Path(executable).is_file():
            raise InputError(f"CbcSolver.executable is {executable!r}, where there is no file.")
        assert executable is not None
        _check_options(executable, self.options)
        # The folder belongs to this process: a child that is killed leaves nothing behind.
        with scratch_folder("mmbn_opt_cbc_") as folder:
            return run_engine(
                self,
                f"{__package__}._cbc_engine:run",
                program,
                callback,
                start,
                isolate=wants_child(self.isolate, program),
                workspace=folder,
                executable=executable,
            )


def _check_options(executable: str, options: Mapping[str, Any]) -> None:
    reserved = {name.lower(): field for name, field in _RESERVED.items()}
    for name, value in options.items():
        if name.lower() in reserved:
            raise InputError(f"the CBC parameter {name!r} is set by {reserved[name.lower()]}; give that instead.")
        text = ask(executable, f"-{name}", str(value))
        if any(words in text for words in _UNKNOWN):
            raise InputError(f"CBC has no parameter {name!r}; see `cbc -?` for those that it has.")
        if any(words in text for words in _REFUSED):
            raise InputError(f"CBC refuses the value {value!r} for its parameter {name!r}.")


@cache
def _probe() -> Availability:
    executable = find_executable()
    if executable is None:
        return Availability(False, None, 'CBC is not installed: pip install "mmbn_opt[cbc]", or put cbc on the path.')
    version = None
    try:
        version = executable_version(executable)
        program = MixedIntegerProgram(
            c=np.ones(1),
            A=sp.csr_array((0, 1)),
            row_lower=np.zeros(0),
            row_upper=np.zeros(0),
            col_lower=np.ones(1),
            col_upper=np.full(1, 2.0),
            integrality=np.ones(1, dtype=bool),
        )
        result = CbcSolver(executable=executable, time_limit=_PROBE_SEC, isolate=False).solve(program)
    except (OSError, subprocess.SubprocessError, MmbnError) as error:
        return Availability(False, version, f"{executable} does not run here: {error}")
    if result.termination_status is not TerminationStatus.OPTIMAL:
        return Availability(False, version, f"{executable} did not solve a one-variable model: {result.raw_status}.")
    return Availability(True, version)
