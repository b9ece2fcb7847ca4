"""The structure problem of a command, from its options; tried on a table of our own before the user's is read."""

from dataclasses import dataclass
from typing import Any

from mmbn_opt.cli import choices
from mmbn_opt.cli.tables import stand_in
from mmbn_opt.exceptions import InputError

__all__ = ["Problem", "edges", "try_call"]


@dataclass(frozen=True)
class Problem:
    """Options of ``structure``, ``compare`` and ``export`` that make the formulation.

    The formulation checks its settings itself; `tried` lets it do so before there are data.
    """

    score: str
    max_parents: int
    p: float
    smoothing: float
    ess: float
    acyclicity: choices.Acyclicity
    parent_sets: choices.ParentSets
    require: list[str] | None
    forbid: list[str] | None
    candidates: int | None = None
    constraints: tuple[Any, ...] = ()
    terms: tuple[Any, ...] = ()

    def tried(self) -> Any:
        """The formulation on a small table: whatever is wrong with the settings is told.

        Raises
        ------
        InputError
        """
        from mmbn_opt.networks.parent_families import EdgeRules

        required, forbidden = edges("--require", self.require), edges("--forbid", self.forbid)
        named = dict.fromkeys(name for edge in (*required, *forbidden) for name in edge)
        EdgeRules.of(tuple(named), required, forbidden)  # whether they go together; the table knows whether they exist
        return self._formulation(stand_in(), (), ())

    def formulation(self, dataset: Any) -> Any:
        """The formulation on the user's rows."""
        made = self._formulation(dataset, edges("--require", self.require), edges("--forbid", self.forbid))
        return made.with_constraints(*self.constraints)

    def _formulation(self, dataset: Any, required: tuple[Any, ...], forbidden: tuple[Any, ...]) -> Any:
        from mmbn_opt.formulations.structure.by_score import structure_formulation
        from mmbn_opt.heuristics import restrict_candidates
        from mmbn_opt.scores.predictive import log_odds

        log_odds(self.p)  # scores without a margin take no p, and would take any
        return structure_formulation(
            self.score,
            dataset,
            p=self.p,
            ess=self.ess,
            parent_sets=self.parent_sets.value,
            max_parents=self.max_parents,
            smoothing=self.smoothing,
            acyclicity=self.acyclicity.value,
            required_edges=required,
            forbidden_edges=forbidden,
            terms=self.terms,
            restriction=None if self.candidates is None else restrict_candidates(dataset, self.candidates),
        )


def try_call(formulation: Any, solver: Any, **settings: Any) -> None:
    """Everything that a call checks before it begins: the settings, the solver, what it accepts, whether it works.

    Parameters
    ----------
    formulation : Formulation
        On a table of our own.
    solver : str or Solver
    **settings
        As `SolveSettings` has them.

    Raises
    ------
    InputError, MissingDependencyError
    """
    from mmbn_opt.solving.dispatch import make_job
    from mmbn_opt.solving.settings import SolveSettings

    make_job(formulation, solver, SolveSettings(**settings))


def edges(option: str, texts: list[str] | None) -> tuple[tuple[str, str], ...]:
    """Edges as they are typed, ``parent>child``, in pairs."""
    pairs = []
    for text in texts or ():
        parent, arrow, child = text.partition(">")
        if not (parent.strip() and arrow and child.strip()):
            raise InputError(f'{option} needs "parent>child", got {text!r}.')
        pairs.append((parent.strip(), child.strip()))
    return tuple(pairs)
