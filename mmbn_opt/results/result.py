"""What a user gets back: the model, its certificate, both statuses, both bounds and the history."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mmbn_opt._lazy import delegate
from mmbn_opt.data.discrete import DiscreteDataset
from mmbn_opt.data.findings import Finding
from mmbn_opt.data.numeric import NumericDataset
from mmbn_opt.exceptions import SolverError
from mmbn_opt.programs.base import ProgramSize
from mmbn_opt.results.bounds import ObjectiveBounds
from mmbn_opt.results.proof import Proof
from mmbn_opt.results.status import Sense, SolutionStatus, TerminationStatus
from mmbn_opt.results.trace import BoundTrace

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Certificate", "Check", "CheckSubject", "Result", "Seconds"]


class CheckSubject(Enum):
    """What a check looks at.

    Examples
    --------
    >>> Check("every sample beyond xi", True, "40 of 40 samples do", about=CheckSubject.SAMPLES).about
    CheckSubject.SAMPLES
    """

    ANSWER = "answer"
    """The model by itself, or what is claimed of it: objective, bounds, trace, status."""

    SAMPLES = "samples"
    """Whether each sample meets what the problem demands of it."""

    VECTOR = "vector"
    """Whether the program's own vector satisfies its rows and has the objective that the model has."""

    def __repr__(self) -> str:
        return f"CheckSubject.{self.name}"


@dataclass(frozen=True)
class Check:
    """One thing that was looked at again.

    Parameters
    ----------
    name : str
    ok : bool or None
        None where the claim could not be re-proved and stands as the solver's own.
    detail : str
        What was compared, with figures.
    about : CheckSubject
    part : str
        The program among several that is meant; empty where there is one, or where all are meant.
    claims : bool
        False where nothing is claimed, so that there is nothing to hold against anything; `ok` is None then.

    Examples
    --------
    >>> print(Check("bound", None, "12.5 as claimed by highs"))
    [claimed] bound: 12.5 as claimed by highs
    >>> print(Check("bound", None, "nothing is said of the optimum", claims=False))
    [not claimed] bound: nothing is said of the optimum
    """

    name: str
    ok: bool | None
    detail: str
    about: CheckSubject = field(default=CheckSubject.ANSWER, kw_only=True)
    part: str = field(default="", kw_only=True)
    claims: bool = field(default=True, kw_only=True)

    def __str__(self) -> str:
        mark = {True: "ok", False: "FAILED", None: "claimed" if self.claims else "not claimed"}[self.ok]
        return f"[{mark}] {self.name}: {self.detail}"


@dataclass(frozen=True)
class Certificate:
    """The checks of one model, recomputed from the data.

    Examples
    --------
    >>> checks = (Check("acyclic", True, "3 nodes, 2 edges"), Check("bound", None, "as claimed by highs"))
    >>> certificate = Certificate(checks)
    >>> certificate.ok
    True
    >>> print(certificate)
    [ok] acyclic: 3 nodes, 2 edges
    [claimed] bound: as claimed by highs
    """

    checks: tuple[Check, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether there are checks and none of them failed."""
        return bool(self.checks) and all(check.ok is not False for check in self.checks)

    @property
    def failures(self) -> tuple[Check, ...]:
        """Checks that failed."""
        return tuple(check for check in self.checks if check.ok is False)

    def __repr__(self) -> str:
        verdict = "ok" if self.ok else f"{len(self.failures)} failed"
        return f"Certificate({verdict}, {len(self.checks)} checks)"

    def __str__(self) -> str:
        return "\n".join(str(check) for check in self.checks)

    def _repr_html_(self) -> str:
        html: str = delegate("certificate_html")(self)
        return html


@dataclass(frozen=True)
class Seconds:
    """Where the wall-clock time went, in seconds."""

    build: float = 0.0
    heuristics: float = 0.0
    solve: float = 0.0
    total: float = 0.0


@dataclass(frozen=True, eq=False)
class Result:
    """Answer of `mmbn_opt.solve`, in the formulation's own sense.

    Parameters
    ----------
    model : BayesianNetwork or other model, or None
        The best model found, whatever ended the run.
    certificate : Certificate
        What was re-checked from the data.
    termination_status, solution_status
        Why the run stopped; what `solution` holds.
    raw_status : str
        The solver's own words.
    solution : float64 array or None
        The program's vector that stands for `model`.
    bounds : ObjectiveBounds
        `primal_bound` is the model's objective recomputed from the data.
    trace : BoundTrace
    sense : Sense
    formulation : Formulation
    solver_name, solver_version, solver_rule : str
        `solver_rule` says why ``solver="auto"`` chose this one.
    seconds : Seconds
    program_size : ProgramSize or None
        None when the time limit left no time to build the program.
    settings, stats : mapping
        What was asked for; what the solver counted, for readers.
    parts : tuple of Result
        Results of the programs that this one is made of; empty for a single program.
    bound_source : str
        Who found the dual bound: the solver, or the formulation by itself.
    proof : Proof or None
        What proved the bound beside the search, in the sense of the program.
    multipliers : float64 array or None
        Of the best bound, where it follows from some (see `MaxMarginRelaxation.prove_bound`).
    solver_trace : BoundTrace or None
        Events as the solver told them, in the sense of the program.
    part : str
        What this program is called among those of one result, such as "a against b"; empty for a result by itself.
    """

    model: Any
    certificate: Certificate
    termination_status: TerminationStatus
    solution_status: SolutionStatus
    raw_status: str
    solution: NDArray[np.float64] | None
    bounds: ObjectiveBounds
    trace: BoundTrace
    sense: Sense
    formulation: Any
    solver_name: str
    solver_version: str
    solver_rule: str = ""
    seconds: Seconds = field(default_factory=Seconds)
    program_size: ProgramSize | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    stats: Mapping[str, Any] = field(default_factory=dict)
    parts: "tuple[Result, ...]" = ()
    bound_source: str = ""
    proof: Proof | None = None
    multipliers: NDArray[np.float64] | None = None
    solver_trace: BoundTrace | None = None
    part: str = ""

    @property
    def remarks(self) -> tuple[Finding, ...]:
        """What was odd about the table that was learned from."""
        data = getattr(self.formulation, "data", None)
        return data.remarks if isinstance(data, (DiscreteDataset, NumericDataset)) else ()

    def raise_for_status(self) -> "Result":
        """Return the result itself, or raise `SolverError` when it holds no model or a check failed."""
        if self.model is None:
            raise SolverError(
                f"{self.solver_name} returned no model: {self.termination_status.sentence} "
                f"Raw status: {self.raw_status}."
            )
        if not self.certificate.ok:
            raise SolverError(
                f"The answer of {self.solver_name} failed its checks: {'; '.join(map(str, self.certificate.failures))}"
            )
        return self

    def duals(self) -> "pd.DataFrame":
        """What each row of the problem weighs: which margins bind, which sums, floors and limits.

        ``dual`` is what the optimal value gains for each unit by which the row's ``limit`` is raised so that it
        is >= 0 at a lower limit of a minimum and <= 0 at an upper one, as in JuMP. Of convex problems these are the
        multipliers that prove `bounds`. Of mixed-integer ones they are those of the linear relaxation, which HiGHS
        solves for this, and ``value`` is that of its optimum.

        Returns
        -------
        pandas.DataFrame
            One row a row of the problem: ``kind``, ``name``, ``value``, ``limit``, ``dual``, ``binds``.

        Raises
        ------
        InputError
            Where the solver left no multipliers, or the problem has no rows with names.

        Examples
        --------
        >>> import mmbn_opt as mm
        >>> data = mm.DiscreteDataset.from_arrays([["a"], ["a"], ["b"]] * 5, [0, 1, 1] * 5)
        >>> result = mm.solve(mm.MaxMarginRelaxation(data, mm.naive_bayes(data), gamma=2.0, normalization="floor"))
        >>> result.duals().query("binds")[["name", "dual"]].round(2).values.tolist()
        [['margin[row 0, 0 vs 1]', 5.0], ['margin[row 1, 1 vs 0]', 5.0]]
        """
        table: pd.DataFrame = delegate("result_duals")(self)
        return table

    def conflict(self, time_limit: float | None = None) -> "pd.DataFrame":
        """Rows and bounds that contradict each other, of an INFEASIBLE program of one's own; found by HiGHS.

        Of the linear relaxation it is an irreducible subsystem: without any one of them there is a point. Where it
        needs whole numbers for a contradiction, rows are left out one after the other as long as none appears, which is
        a solve for each. Side constraints of a structure are named by the `InfeasibleError` that `solve` raises.

        Parameters
        ----------
        time_limit : float or None
            Seconds; after that more rows are named than needed.

        Returns
        -------
        pandas.DataFrame
            ``kind`` (row or bound), ``name``, ``side`` (lower, upper or both), ``lower``, ``upper``. Its ``attrs`` say
            whether whole numbers are needed for it (``whole``), and whether all of it is needed (``least``).

        Raises
        ------
        InputError
            Where the result is not INFEASIBLE, or the problem has no rows.
        """
        table: pd.DataFrame = delegate("result_conflict")(self, time_limit)
        return table

    def summary(self) -> str:
        """Status, figures and certificate as lines of text."""
        text: str = delegate("result_summary")(self)
        return text

    def report(self, path: str | Path | None = None) -> str:
        """The report as one HTML page that opens without network; written where a path is given."""
        html: str = delegate("result_report")(self, path)
        return html

    def save(self, folder: str | Path) -> list[Path]:
        """Keep the answer: result, model, network as BIF, trace, report, and `save_proof`'s file; all or none.

        Parameters
        ----------
        folder : str or Path
            Made if absent; the files of another run in it are replaced.
        """
        written: list[Path] = delegate("save_result")(self, folder)
        return written

    def save_proof(self, path: str | Path) -> Path:
        """Write what proves the bound of a convex relaxation, for ``mmbn-opt verify`` to prove again from the table.

        Searches for structures have `checkpoint` for this, whose file is their proof.

        Parameters
        ----------
        path : str or Path
            The file to write.

        Raises
        ------
        InputError
            Where the bound does not come from multipliers of a `MaxMarginRelaxation` without constraints, on rows
            without weights.

        Examples
        --------
        >>> import mmbn_opt as mm
        >>> data = mm.DiscreteDataset.from_arrays([["a"], ["a"], ["b"]] * 5, [0, 1, 1] * 5)
        >>> result = mm.solve(mm.MaxMarginRelaxation(data, mm.naive_bayes(data), gamma=2.0, normalization="floor"))
        >>> result.save_proof("proof.mmbn").name
        'proof.mmbn'
        """
        written: Path = delegate("save_proof")(self, path)
        return written

    def __repr__(self) -> str:
        return (
            f"Result({type(self.formulation).__name__}, {self.termination_status}, {self.bounds}, "
            f"solver={self.solver_name}, {self.seconds.total:.2f} s, "
            f"certificate {'ok' if self.certificate.ok else 'NOT ok'})"
        )

    def _repr_html_(self) -> str:
        html: str = delegate("result_html")(self)
        return html
