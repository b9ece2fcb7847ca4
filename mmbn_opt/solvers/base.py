"""What every solver is: frozen settings, one verb, and a result that keeps three questions apart."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self, runtime_checkable

import numpy as np

from .._arguments import checked_number, is_whole, whole
from .._arrays import FloatArray
from ..exceptions import InputError
from ..programs.base import ProgramKind
from ..results.bounds import ObjectiveBounds
from ..results.proof import Proof
from ..results.status import Sense, SolutionStatus, TerminationStatus
from ..results.trace import BoundTrace
from .workers import Workers

if TYPE_CHECKING:
    from ..programs.tree_log import TreeStore

__all__ = ["Availability", "Resumable", "Solver", "SolverCallback", "SolverEvent", "SolverResult"]


@dataclass(frozen=True, eq=False)
class SolverEvent:
    """News from a running solver, in the program's sense (a minimum).

    Parameters
    ----------
    time_sec : float
        Seconds since `Solver.solve` was called.
    primal_bound : float or None
        The better of our best incumbent and what the solver claims without showing a vector.
    dual_bound : float or None
        The best bound so far, as the solver claims it.
    nodes, iterations : int or None
    solution : float64 array or None
        A new incumbent, where the event brings one; the user sees only those that we found feasible and better.
    note : str
        What else happened, in a word or two: the event of a record in the trace.
    """

    time_sec: float
    primal_bound: float | None = None
    dual_bound: float | None = None
    nodes: int | None = None
    iterations: int | None = None
    solution: FloatArray | None = None
    note: str = ""


SolverCallback = Callable[[SolverEvent], bool | None]
"""Called with each event in the thread that called `solve`; a true return value asks the solver to stop."""


@dataclass(frozen=True, eq=False)
class SolverResult:
    """What a solver says of a program, in the program's sense.

    Parameters
    ----------
    termination_status : TerminationStatus
    solution_status : SolutionStatus
        Judged by us from the vector, not by the solver.
    raw_status : str
        The solver's own words.
    solution : float64 array or None
        None when there is no incumbent; never zeros in its place.
    bounds : ObjectiveBounds
        `primal_bound` is the objective of `solution` recomputed by us.
    trace : BoundTrace
    stats : mapping
        What else the solver counts, for readers: no code of this package looks into it.
    iterations, nodes : int or None
        Of the method; None where it has none.
    seconds : float
        Since `Solver.solve` was called.
    multipliers : float64 array or None
        From which the dual bound follows.
    proof : Proof or None
        What proved the dual bound anew.
    """

    termination_status: TerminationStatus
    solution_status: SolutionStatus
    raw_status: str
    solution: FloatArray | None
    bounds: ObjectiveBounds
    trace: BoundTrace
    stats: Mapping[str, Any] = field(default_factory=dict)
    iterations: int | None = None
    nodes: int | None = None
    seconds: float = 0.0
    multipliers: FloatArray | None = None
    proof: Proof | None = None

    @property
    def figures(self) -> dict[str, Any]:
        """All that a reader may want to see: `stats` with the counts and proofs that have fields of their own."""
        own: dict[str, Any] = {
            "nodes": self.nodes,
            "iterations": self.iterations,
            "solve_sec": self.seconds or None,
            "multipliers": self.multipliers,
            "bound_reproved": None if self.proof is None else self.proof.value,
            "proof": None if self.proof is None else dict(self.proof.counts),
        }
        return {**self.stats, **{name: value for name, value in own.items() if value is not None}}

    def figures_in(self, sense: Sense) -> dict[str, Any]:
        """`figures`, where values of the objective have the sign that they have in a problem of this sense."""
        figures = self.figures
        values = {name: figures[name] for name in _OBJECTIVE_VALUES if figures.get(name) is not None}
        return figures | {name: sense.sign * value for name, value in values.items()}


_OBJECTIVE_VALUES = frozenset({"bound_reproved", "raw_dual_bound", "raw_objective", "root_bound"})
"""Figures that are values of the program's objective, which is a minimum."""


@dataclass(frozen=True)
class Availability:
    """Whether a solver can be used here, found by solving a one-variable model.

    Parameters
    ----------
    available : bool
    version : str or None
    reason : str
        Why not, and how to install it; empty when available.
    """

    available: bool
    version: str | None
    reason: str = ""


SHARED_SETTINGS = ("time_limit", "rel_gap", "abs_gap", "threads", "seed", "verbose", "options")
"""Settings of every solver that a call of `mmbn_opt.solve` can give too."""


def checked_setting(name: str, value: Any) -> Any:
    """A setting that all solvers have, with numbers as Python's own.

    Raises
    ------
    InputError
        For a value that no solver can keep to.

    Examples
    --------
    >>> checked_setting("threads", 4)
    4
    >>> checked_setting("time_limit", "5")
    Traceback (most recent call last):
    mmbn_opt.exceptions.InputError: time_limit must be a finite number of seconds >= 0 or None, got '5'.
    """
    if name == "time_limit":
        seconds = "a finite number of seconds >= 0 or None"
        return None if value is None else checked_number(name, value, open_high=True, expected=seconds)
    if name in ("rel_gap", "abs_gap"):
        return checked_number(name, value, open_high=True, expected="a finite number >= 0")
    if name == "threads":
        return whole(name, value, 1, expected="at least 1 and a whole number")
    if name == "seed":
        return whole(name, value)
    if name == "feasibility_tol":
        return checked_number(name, value, 0.0, 1.0, open_low=True, open_high=True)
    if name == "options":
        if not isinstance(value, Mapping):
            raise InputError(f"options must be a mapping from the solver's own names to values, got {value!r}.")
        return value
    if not isinstance(value, (bool, np.bool_)) and not is_whole(value):
        raise InputError(f"{name} must be True or False, got {value!r}.")
    return bool(value)


@dataclass(frozen=True)
class Solver(ABC):
    """Settings of a solver; `solve` does the work and keeps no state.

    Parameters
    ----------
    time_limit : float or None
        Wall-clock seconds; kept even where the solver itself would not keep it.
    rel_gap, abs_gap : float
        OPTIMAL is claimed only when the proved gap is within one of them; ``rel_gap=0`` means zero.
    feasibility_tol : float
    threads : int
    seed : int
    verbose : bool
        Forward the solver's own log to ``logging``.
    options : mapping
        The solver's own options by their own names.
    """

    time_limit: float | None = None
    rel_gap: float = 0.0
    abs_gap: float = 0.0
    feasibility_tol: float = 1e-6
    threads: int = 1
    seed: int = 0
    verbose: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)

    name: ClassVar[str]
    title: ClassVar[str]
    licence: ClassVar[str]
    extra: ClassVar[str | None] = None
    accepts: ClassVar[frozenset[ProgramKind]]
    at_limit: ClassVar[str] = "stops itself"
    """What happens at a time limit and at a requested stop; the page of the solver says it."""
    settles_ties: ClassVar[bool] = False
    """Whether it goes on after its bound is met, to choose among answers worth the same, and then ends itself."""
    ignores: ClassVar[Mapping[str, str]] = {}
    """Settings (and ``start``) that make no difference, with the reason; the page of the solver lists them."""

    def __post_init__(self) -> None:
        for name in (*SHARED_SETTINGS, "feasibility_tol"):
            object.__setattr__(self, name, checked_setting(name, getattr(self, name)))

    @classmethod
    @abstractmethod
    def availability(cls) -> Availability:
        """Look whether the solver works here (cached)."""

    def beside_good_starts(self) -> Self:
        """As it runs where the caller's starts are near the optimum; solvers that look for their own look less."""
        return self

    @classmethod
    def is_available(cls) -> bool:
        """Whether a one-variable model could be solved."""
        return cls.availability().available

    @classmethod
    def version(cls) -> str | None:
        """Version of the underlying library, or None."""
        return cls.availability().version

    @abstractmethod
    def solve(
        self,
        program: Any,
        callback: SolverCallback | None = None,
        start: FloatArray | None = None,
    ) -> SolverResult:
        """Minimise `program`, which is of a kind in `accepts`.

        The best of the start, every incumbent and the solver's answer is returned, whatever ends the run;
        KeyboardInterrupt ends it with status INTERRUPTED and the incumbent kept.
        """


@runtime_checkable
class Resumable(Protocol):
    """A solver that can write its tree down as it grows, and go on from it."""

    def solve_into(
        self,
        store: "TreeStore | None",
        program: Any,
        callback: SolverCallback | None = None,
        start: FloatArray | None = None,
        workers: Workers | None = None,
    ) -> SolverResult:
        """As `Solver.solve`, with the tree in a store, gone on with where it has one, and searched by workers."""


def program_bounds(primal: float | None, dual: float | None) -> ObjectiveBounds:
    """Bounds in the sense of programs."""
    return ObjectiveBounds(Sense.MINIMIZE, primal, dual)
