"""What a call says to the solver that it runs, in one value: what is given wins, what is not given stays as it is."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Self

from mmbn_opt.solvers.base import SHARED_SETTINGS, Solver, checked_setting

__all__ = ["SolveSettings"]


@dataclass(frozen=True)
class SolveSettings:
    """Settings of a call, each None where the caller gives none.

    A setting that is given wins over what a configured solver says; one that is not given is the configured solver's,
    or else the default of its class.

    Parameters
    ----------
    time_limit : float or None
        Wall-clock seconds.
    rel_gap, abs_gap : float or None
        Proved gaps that are near enough; by default 0, which asks for a proof of optimality.
    threads : int or None
        By default 1.
    seed : int or None
        By default 0.
    verbose : bool or None
        Whether the solver's log goes to ``logging``; by default not.
    options : mapping or None
        The solver's own options, all of them: those of a configured solver are not added.

    Raises
    ------
    InputError
        For a value that no solver can keep to.

    Examples
    --------
    >>> from mmbn_opt.solvers import HighsSolver
    >>> configured = HighsSolver(rel_gap=0.05, threads=4)
    >>> used = SolveSettings(threads=2).of(configured)
    >>> used.rel_gap, used.threads, used.seed
    (0.05, 2, 0)
    """

    time_limit: float | None = None
    rel_gap: float | None = None
    abs_gap: float | None = None
    threads: int | None = None
    seed: int | None = None
    verbose: bool | None = None
    options: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        for name, value in self.given().items():
            object.__setattr__(self, name, checked_setting(name, value))

    def given(self) -> dict[str, Any]:
        """The settings that the caller gave, by name."""
        return {name: value for name in SHARED_SETTINGS if (value := getattr(self, name)) is not None}

    def of(self, solver: Solver) -> Solver:
        """The solver as it will run."""
        return replace(solver, **self.given())

    def otherwise(self, solver: str | Solver, **defaults: Any) -> Self:
        """With defaults of the caller's own where neither the call nor a configured solver says anything.

        Parameters
        ----------
        solver : str or Solver
            A configured solver says something by a value that is not the default of its class.
        defaults
            By the names of settings.

        Examples
        --------
        >>> from mmbn_opt.solvers import HighsSolver
        >>> SolveSettings().otherwise("highs", rel_gap=1e-4).rel_gap
        0.0001
        >>> SolveSettings().otherwise(HighsSolver(rel_gap=0.05), rel_gap=1e-4).rel_gap is None
        True
        """
        said = {} if isinstance(solver, str) else _said(solver)
        missing = {name: value for name, value in defaults.items() if name not in said and getattr(self, name) is None}
        return replace(self, **missing)

    def used(self, solver: str | Solver) -> dict[str, Any]:
        """All settings by name, as a run of a named or a configured solver has them.

        Examples
        --------
        >>> SolveSettings(threads=2).used("highs")["threads"], SolveSettings().used("highs")["rel_gap"]
        (2, 0.0)
        """
        own = _usual(Solver) if isinstance(solver, str) else {name: getattr(solver, name) for name in SHARED_SETTINGS}
        used = own | self.given()
        return used | {"options": dict(used["options"])}


def _usual(owner: Any) -> dict[str, Any]:
    """Defaults of a class of solvers, given by itself or one of them."""
    return {f.name: {} if f.name == "options" else f.default for f in fields(owner) if f.name in SHARED_SETTINGS}


def _said(solver: Solver) -> dict[str, Any]:
    """Settings of a configured solver that differ from the defaults of its class."""
    usual = _usual(solver)
    return {name: value for name in usual if (value := getattr(solver, name)) != usual[name]}
