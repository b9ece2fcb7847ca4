"""Which runs a comparison consists of, and which pairs it leaves out and why."""

import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import cloudpickle

from mmbn_opt._arguments import checked_number
from mmbn_opt.comparison.fingerprint import fingerprint
from mmbn_opt.comparison.machine import package_versions
from mmbn_opt.exceptions import InputError
from mmbn_opt.formulations.base import Formulation
from mmbn_opt.results.status import Sense
from mmbn_opt.solvers.base import Solver
from mmbn_opt.solvers.ending import Tolerances
from mmbn_opt.solvers.registry import get_solver_class, solver_name, solver_names
from mmbn_opt.solving.dispatch import choose_solver
from mmbn_opt.solving.settings import SolveSettings

__all__ = ["LeftOut", "Limits", "Plan", "PlannedRun", "labelled_formulations", "labelled_solvers", "make_plan"]


@dataclass(frozen=True)
class Limits:
    """What every run of a comparison gets.

    Parameters
    ----------
    settings : SolveSettings
        What is not given is each solver's own.
    grace : float
        Seconds after the limit at which a run that goes on is killed.
    memory_limit : float or None
        Megabytes.
    """

    settings: SolveSettings
    grace: float = 10.0
    memory_limit: float | None = None

    def __post_init__(self) -> None:
        checked_number("grace", self.grace, expected="a number of seconds >= 0")
        if self.memory_limit is not None:
            words = "a number of megabytes > 0 or None"
            checked_number("memory_limit", self.memory_limit, open_low=True, expected=words)


@dataclass(frozen=True)
class PlannedRun:
    """One run before it is done; it can travel to another process or machine."""

    key: str
    formulation: str
    solver: str
    seed: int
    sense: Sense
    time_limit: float | None
    grace: float
    memory_limit: float | None
    rel_gap: float
    abs_gap: float
    threads: int
    solver_version: str
    payload: bytes
    token: str

    @property
    def label(self) -> str:
        """What the log calls it."""
        return self.solver


@dataclass(frozen=True)
class LeftOut:
    """A pair that is not run, and why."""

    formulation: str
    solver: str
    reason: str


@dataclass(frozen=True)
class Plan:
    """All runs and all that is left out."""

    runs: tuple[PlannedRun, ...]
    left_out: tuple[LeftOut, ...]
    token: str


def make_plan(
    formulations: Mapping[str, Formulation],
    solvers: Mapping[str, str | Solver],
    seeds: Sequence[int],
    limits: Limits,
    *,
    everything: bool = False,
) -> Plan:
    """Cross formulations, solvers and seeds; leave out what does not fit together or is not available here.

    With `everything`, `solvers` is the whole registry: what does not fit is not worth a word, and each library stands
    under its own name only, not under the one that it lends to another kind of program.
    """
    token = secrets.token_hex(8)
    runs: list[PlannedRun] = []
    left_out: list[LeftOut] = []
    for label, formulation in formulations.items():
        content = fingerprint(formulation)
        for name, solver in solvers.items():
            fit = _fit(formulation, solver, by_own_name=everything)
            if isinstance(fit, str):
                if fit or not everything:
                    left_out.append(LeftOut(label, name, fit or _mismatch(formulation, solver)))
                continue
            runs += _runs(label, formulation, content, name, solver, fit[0], seeds, limits, token)
    return Plan(tuple(runs), tuple(left_out), token)


def _fit(formulation: Formulation, solver: str | Solver, *, by_own_name: bool) -> tuple[str] | str:
    """The solver's version in a tuple, or why it cannot run here; an empty text where the kinds do not match."""
    if solver == "auto":
        return ("",)
    try:
        kind = choose_solver(formulation, solver)[0]
    except InputError:
        return ""
    if by_own_name and kind.name != solver:
        return ""
    found = kind.availability()
    return (found.version or "",) if found.available else found.reason or "not available"


def _mismatch(formulation: Formulation, solver: str | Solver) -> str:
    kind = get_solver_class(solver) if isinstance(solver, str) else type(solver)
    emits, accepts = (", ".join(sorted(map(str, kinds))) for kinds in (formulation.kinds, kind.accepts))
    return f"accepts {accepts}; the formulation emits {emits}"


def _runs(
    label: str,
    formulation: Formulation,
    content: str,
    name: str,
    solver: str | Solver,
    version: str,
    seeds: Sequence[int],
    limits: Limits,
    token: str,
) -> Iterator[PlannedRun]:
    # Without what it has cached, so that every run does all of the work and little travels.
    problem = replace(formulation)
    code = package_versions().get("mmbn-opt", "")
    for seed in seeds:
        settings = replace(limits.settings, seed=seed)
        used = settings.used(solver)
        # Options and verbosity are those of the solver, which is part of the key by itself.
        known = {name: used[name] for name in ("time_limit", "rel_gap", "abs_gap", "threads", "seed")}
        yield PlannedRun(
            key=fingerprint(content, label, name, solver, known, limits.memory_limit, version, code),
            formulation=label,
            solver=name,
            seed=seed,
            sense=formulation.sense,
            time_limit=used["time_limit"],
            grace=limits.grace,
            memory_limit=limits.memory_limit,
            rel_gap=used["rel_gap"],
            abs_gap=Tolerances(used["rel_gap"], used["abs_gap"], formulation.scale).absolute,
            threads=used["threads"],
            solver_version=version,
            payload=cloudpickle.dumps((problem, solver, settings)),
            token=token,
        )


def labelled_formulations(given: Any) -> dict[str, Formulation]:
    """Formulations by label; those without one get their title, and a number where that is taken."""
    if isinstance(given, Formulation):
        given = [given]
    if isinstance(given, Mapping):
        found = {str(label): formulation for label, formulation in given.items()}
    else:
        listed = list(given)
        titles = (f.title if isinstance(f, Formulation) else type(f).__name__ for f in listed)
        found = dict(zip(_distinct(titles), listed, strict=True))
    for label, formulation in found.items():
        if not isinstance(formulation, Formulation):
            raise InputError(f"formulations must hold formulations, got {type(formulation).__name__} for {label!r}.")
    if not found:
        raise InputError("formulations is empty; there is nothing to compare.")
    return found


def labelled_solvers(given: Any) -> dict[str, str | Solver]:
    """Solvers by label: names, configured instances, or all of the registry."""
    if isinstance(given, str) and given == "all":
        return {name: name for name in solver_names()}
    if isinstance(given, (str, Solver)):
        given = [given]
    if isinstance(given, Mapping):
        found = {str(label): _one_spelling(solver) for label, solver in given.items()}
    else:
        listed = [_one_spelling(solver) for solver in given]
        found = dict(zip(_distinct(s.name if isinstance(s, Solver) else str(s) for s in listed), listed, strict=True))
    for solver in found.values():
        if not isinstance(solver, Solver) and solver != "auto":
            get_solver_class(solver)  # raises for an unknown name and lists the known ones
    if not found:
        raise InputError('solvers is empty; name some, or say "all".')
    return found


def _one_spelling(solver: Any) -> Any:
    return solver_name(solver) if isinstance(solver, str) else solver


def _distinct(labels: Iterable[str]) -> list[str]:
    seen: dict[str, int] = {}
    distinct = []
    for label in labels:
        seen[label] = seen.get(label, 0) + 1
        distinct.append(label if seen[label] == 1 else f"{label} ({seen[label]})")
    return distinct
