"""SCIP through PySCIPOpt (extra ``scip``)."""

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from typing import Any, ClassVar

from ..._arrays import FloatArray
from ...exceptions import InputError, MissingDependencyError
from ...programs.base import ProgramKind
from ...programs.mixed_integer import MixedIntegerProgram
from ..base import Availability, Solver, SolverCallback, SolverResult
from .run import run_engine, wants_child
from .scip_engine import quiet_model

__all__ = ["ScipSolver"]

_RESERVED = {
    "limits/time": "time_limit",
    "limits/gap": "rel_gap",
    "limits/absgap": "abs_gap",
    "numerics/feastol": "feasibility_tol",
    "randomization/randomseedshift": "seed",
    "parallel/maxnthreads": "threads",
    "display/verblevel": "verbose",
}


@dataclass(frozen=True)
class ScipSolver(Solver):
    """SCIP (Bestuzheva et al. 2023): branch and cut with strong MIR and cover separators.

    Parameters
    ----------
    isolate : bool or None
        Run in a child process that can be killed. None: for programs of more than 50,000 non-zeros.
    options : mapping
        SCIP's own parameters, for example ``{"presolving/maxrounds": 0}``.

    Notes
    -----
    SCIP solves with one thread whatever `threads` says. The feasibility tolerance passed on is at most 1e-6; SCIP
    discards subtrees within 1e-9 of the incumbent.

    References
    ----------
    .. [1] K. Bestuzheva et al., "Enabling research through the SCIP Optimization Suite 8.0", ACM Transactions on
       Mathematical Software 49 (2023).
    """

    isolate: bool | None = None

    name: ClassVar[str] = "scip"
    title: ClassVar[str] = "SCIP"
    licence: ClassVar[str] = "Apache-2.0, PySCIPOpt: MIT"
    extra: ClassVar[str | None] = "scip"
    accepts: ClassVar[frozenset[ProgramKind]] = frozenset({ProgramKind.MIXED_INTEGER})
    ignores: ClassVar[Mapping[str, str]] = {"threads": "SCIP solves with one"}

    @classmethod
    def availability(cls) -> Availability:
        """Look whether SCIP solves a one-variable model (cached)."""
        return _probe()

    def check_options(self) -> None:
        """Raise `InputError` for options that SCIP does not know or that are set by other names."""
        _check_options(self.options)

    def solve(
        self, program: MixedIntegerProgram, callback: SolverCallback | None = None, start: FloatArray | None = None
    ) -> SolverResult:
        """Minimise `program`; see `Solver.solve`."""
        found = self.availability()
        if not found.available:
            raise MissingDependencyError(found.reason)
        self.check_options()
        # SCIP writes its log to the standard output of the process: it can be caught only from a child.
        isolate = wants_child(True if self.verbose and self.isolate is None else self.isolate, program)
        return run_engine(self, f"{__package__}.scip_engine:run", program, callback, start, isolate=isolate)


@cache
def _probe() -> Availability:
    try:
        import pyscipopt
    except ImportError as error:
        return Availability(False, None, f'SCIP is not installed: pip install "mmbn_opt[scip]" ({error}).')
    model = quiet_model()
    version = f"{model.version()} (PySCIPOpt {pyscipopt.__version__})"
    model.addVar(lb=1.0, ub=2.0, obj=1.0, vtype="I")
    model.optimize()
    if model.getStatus() != "optimal" or abs(model.getObjVal() - 1.0) > 1e-9:
        reason = 'SCIP did not solve a one-variable model: pip install --force-reinstall "mmbn_opt[scip]".'
        return Availability(False, version, reason)
    return Availability(True, version)


def _check_options(options: Mapping[str, Any]) -> None:
    if not options:
        return
    model = quiet_model()
    known = model.getParams()
    for name, value in options.items():
        if name in _RESERVED:
            raise InputError(f"the SCIP parameter {name!r} is set by {_RESERVED[name]}; give that instead.")
        if name not in known:
            close = get_close_matches(name, known, n=1)
            raise InputError(f"SCIP has no parameter {name!r}." + (f" Did you mean {close[0]!r}?" if close else ""))
        try:
            model.setParam(name, value)
        except Exception as error:
            raise InputError(f"SCIP refuses the value {value!r} for its parameter {name!r}: {error}") from error
