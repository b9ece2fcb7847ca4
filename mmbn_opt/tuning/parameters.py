"""Parameters of a given structure by the four methods, with what the caller wants to see of the run."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Self, get_args

import pandas as pd

from mmbn_opt._arguments import checked_number, choice_of, whole
from mmbn_opt.data.discrete import DiscreteDataset
from mmbn_opt.exceptions import InputError
from mmbn_opt.formulations import ConditionalLikelihood, MaxMarginRelaxation, SmoothMargin
from mmbn_opt.formulations.parameters.softmax import SoftmaxParameters
from mmbn_opt.networks.network import BayesianNetwork
from mmbn_opt.networks.structure import Structure
from mmbn_opt.results.result import Certificate, Result
from mmbn_opt.results.trace import TraceRecord
from mmbn_opt.solvers.base import Solver
from mmbn_opt.solvers.nonlinear.descent import DescentSolver
from mmbn_opt.solvers.registry import get_solver_class
from mmbn_opt.solving.dispatch import solve
from mmbn_opt.solving.settings import SolveSettings
from mmbn_opt.tuning.brief import brief_choice
from mmbn_opt.tuning.defaults import BRIEF_LAMBDAS, ITERATIONS, LAMBDA, LAMBDAS, RELAXATION_GAP
from mmbn_opt.tuning.grid import Tuning, tune
from mmbn_opt.tuning.held_out import candidates
from mmbn_opt.tuning.likelihood import MaximumLikelihood

__all__ = ["METHODS", "Learning", "Method", "ParameterSettings", "Parameters", "as_network", "learn_parameters"]

Method = Literal["ml", "cg-mm", "cg-cl", "relaxation"]
METHODS: tuple[str, ...] = get_args(Method)

_MOST_ITERATIONS = 200
"""What ``iterations="cv"`` chooses up to."""


@dataclass(frozen=True)
class ParameterSettings:
    """Settings of learning, as the classifiers' own parameters of the same names describe them.

    Their defaults are those of the classifiers and of the command line; the ones of lambda are in `defaults`.
    Iterations left open (None) are chosen by `brief_choice`, and with them a lambda that is left open.

    Parameters
    ----------
    seed : int
        Of the folds.
    call : SolveSettings
        Of each run. Its gap is that of the relaxation.
    """

    method: Method = "cg-mm"
    lam: Any = None
    B: float | None = None
    kappa: float = 0.1
    iterations: Any = None
    validation: float | None = None
    normalization: Any = "hybrid"
    alpha: float = 0.03
    min_prob: float = 1e-6
    smoothing: Any = 1.0
    solver: str | Solver = "auto"
    seed: int = 0
    n_jobs: int | None = None
    call: SolveSettings = field(default_factory=SolveSettings)


@dataclass(frozen=True, eq=False)
class Parameters:
    """A network and how it came about.

    Parameters
    ----------
    network : BayesianNetwork
    certificate : Certificate
    result : Result
    chosen : dict
        ``lam`` and ``max_iterations`` that were used, where the method has them.
    table : DataFrame or None
        Rates of the candidates, where there was a choice.
    """

    network: BayesianNetwork
    certificate: Certificate
    result: Result
    chosen: dict[str, Any] = field(default_factory=dict)
    table: pd.DataFrame | None = None


def learn_parameters(
    data: DiscreteDataset,
    structure: Structure,
    settings: ParameterSettings,
    seconds: float | None = None,
    *,
    start: BayesianNetwork | None = None,
) -> Parameters:
    """Learn the parameters of a structure.

    Parameters
    ----------
    data : DiscreteDataset
    structure : Structure
    settings : ParameterSettings
    seconds : float or None
        For all of it; a choice by cross-validation takes at most half.
    start : BayesianNetwork or None
        Of this structure, where the final run begins beside its own start. Counts need none.

    Examples
    --------
    >>> import mmbn_opt as mm
    >>> data = mm.prepare(mm.load_dataset("iris"), "class").data
    >>> learned = learn_parameters(data, mm.naive_bayes(data), ParameterSettings("cg-mm", lam=0.2, iterations=100))
    >>> learned.chosen, learned.result.solver_name
    ({'lam': 0.2, 'max_iterations': 100}, 'conjugate_gradient')
    """
    learning = Learning.of(data, structure, settings)
    if learning.by_choice:
        seconds = None if seconds is None else seconds / 2
        learning = learning.choose(seconds)
    result = learning.solve(seconds, start=start)
    network = as_network(result.model)
    if network is None:
        result.raise_for_status()
    # Seconds are not those of the next time, and what `fit` leaves should be.
    table = None if learning.table is None else learning.table.drop(columns="seconds", errors="ignore")
    return Parameters(network, result.certificate, result, learning.chosen, table)


@dataclass(frozen=True, eq=False)
class Learning:
    """Learning that is about to begin.

    Parameters
    ----------
    formulation : MaximumLikelihood, SoftmaxParameters or MaxMarginRelaxation
        What is solved; before a choice at the first value of lambda.
    solver : str or Solver
    settings : ParameterSettings
    call : SolveSettings
        Of the final run but for its time.
    lambdas : tuple of float
        To choose from; empty where there is none.
    brief : bool
        Whether what the caller left open is chosen on held-out rows, at little cost.
    chosen : dict
    table : DataFrame or None
        As in `Parameters`.
    """

    formulation: MaximumLikelihood | SoftmaxParameters | MaxMarginRelaxation
    solver: str | Solver
    settings: ParameterSettings
    call: SolveSettings
    lambdas: tuple[float, ...] = ()
    brief: bool = False
    chosen: dict[str, Any] = field(default_factory=dict)
    table: pd.DataFrame | None = None

    @classmethod
    def of(cls, data: DiscreteDataset, structure: Structure, settings: ParameterSettings) -> Self:
        """Check the settings and make the formulation.

        Raises
        ------
        InputError
        """
        choice_of("method", settings.method, METHODS)
        if settings.method == "ml":
            problem = MaximumLikelihood(data, structure, settings.smoothing)
            return cls(problem, "auto", settings, settings.call)
        lambdas = _lambdas(settings)
        chosen: dict[str, Any] = {"lam": lambdas[0]} if lambdas else {}
        if settings.method == "relaxation":
            relaxation = MaxMarginRelaxation(
                data, structure, gamma=1.0 / lambdas[0] if lambdas else None, B=settings.B,
                normalization=settings.normalization, alpha=settings.alpha, min_prob=settings.min_prob,
                smoothing=settings.smoothing,
            )  # fmt: skip
            call = settings.call.otherwise(settings.solver, rel_gap=RELAXATION_GAP)
            return cls(relaxation, settings.solver, settings, call, lambdas, chosen=chosen)
        engine = settings.solver
        if isinstance(engine, str):
            engine = get_solver_class("conjugate_gradient" if engine == "auto" else engine)()
        brief = _is_brief(settings, engine, lambdas)
        if brief and lambdas and settings.lam is None:
            lambdas = BRIEF_LAMBDAS
        formulation: SoftmaxParameters
        if settings.method == "cg-mm":
            formulation = SmoothMargin(
                data, structure, lam=lambdas[0], kappa=settings.kappa, smoothing=settings.smoothing
            )
        else:
            formulation = ConditionalLikelihood(data, structure, smoothing=settings.smoothing)
        limit = _limit(settings, engine)
        call = replace(settings.call, rel_gap=None, options={**engine.options, **limit} if limit else None)
        return cls(formulation, engine, settings, call, lambdas, brief, {**chosen, **limit})

    @property
    def by_choice(self) -> bool:
        """Whether held-out rows have something to choose."""
        by_iterations = isinstance(self.formulation, SoftmaxParameters) and self.settings.iterations == "cv"
        return self.brief or len(self.lambdas) > 1 or by_iterations

    def choose(self, seconds: float | None) -> Self:
        """The same with what does best on held-out rows.

        Parameters
        ----------
        seconds : float or None
            For all runs together, shared evenly among them; where there are none the usual settings stand.

        Raises
        ------
        KeyboardInterrupt
            If Ctrl-C came before the first candidate was complete; later the choice is made among those that are.
        """
        if seconds is not None and seconds <= 0:
            return self.as_usual()
        # At most five folds.
        share = None if seconds is None else seconds / (5 * max(1, len(self.lambdas)))
        if isinstance(self.formulation, MaxMarginRelaxation):
            from mmbn_opt.tuning.lambda_path import choose_lambda  # with it come the convex solvers

            formulation, table = choose_lambda(
                self.formulation, self.lambdas, time_limit=share, seed=self.settings.seed
            )
            lam = float(table["lam"].to_numpy()[table["rate"].to_numpy().argmax()])
            return replace(self, formulation=formulation, chosen={"lam": lam}, table=table)
        engine = self.solver
        assert isinstance(self.formulation, SoftmaxParameters)
        if not isinstance(engine, DescentSolver):
            raise InputError(f"A choice by cross-validation needs a descent method, got solver={engine!r}.")
        seed, n_jobs = self.settings.seed, self.settings.n_jobs
        tuning: Tuning | None
        if self.brief:
            tuning = brief_choice(self.formulation, self.lambdas, engine, seed=seed, n_jobs=n_jobs, seconds=seconds)
            if tuning is None:
                return replace(self, brief=False, lambdas=self.lambdas[:1])
        else:
            tuning = tune(
                self.formulation, {"lam": self.lambdas} if self.lambdas else {},
                solver=engine if share is None else replace(engine, time_limit=share),
                max_iterations=self.chosen.get("max_iterations", _MOST_ITERATIONS), seed=seed, n_jobs=n_jobs,
            )  # fmt: skip
        limit = {"max_iterations": tuning.iterations}
        return replace(
            self,
            formulation=tuning.formulation,
            settings=replace(self.settings, validation=None),
            call=replace(self.call, options={**engine.options, **limit}),
            chosen={**tuning.settings, **limit},
            table=tuning.table,
        )

    def as_usual(self) -> Self:
        """The same without a choice, at the usual settings in its place."""
        open_to_choice = self.settings.iterations in (None, "cv")
        iterations = ITERATIONS if open_to_choice else self.settings.iterations
        lam = self.settings.lam if self.brief else None
        settings = replace(self.settings, lam=lam, iterations=iterations)
        return self.of(self.formulation.data, self.formulation.structure, settings)

    def solve(
        self,
        seconds: float | None,
        callback: Callable[[TraceRecord], bool | None] | None = None,
        *,
        start: BayesianNetwork | None = None,
    ) -> Result:
        """Learn from all rows.

        Parameters
        ----------
        seconds : float or None
        callback : callable or None
            As in `mmbn_opt.solve`.
        start : BayesianNetwork or None
            As in `learn_parameters`.
        """
        if isinstance(self.formulation, MaximumLikelihood):
            return self.formulation.learn()
        softmax = isinstance(self.formulation, SoftmaxParameters)
        return solve(
            self.formulation, self.solver, callback=callback, starts=start,
            validation=self.settings.validation if softmax else None,
            **replace(self.call, time_limit=seconds).given(),
        )  # fmt: skip


def as_network(model: Any) -> Any:
    """A model as a normalised network; the certificate says how exactly a relaxation's answer can be one."""
    return model if model is None or isinstance(model, BayesianNetwork) else model.normalize().network


def _lambdas(settings: ParameterSettings) -> tuple[float, ...]:
    """Values of lambda to choose from; none where the method has no lambda, or B is in its place."""
    if settings.method not in LAMBDAS:
        return ()
    if settings.method == "relaxation" and settings.B is not None:
        if settings.lam is not None:
            raise InputError(f"Give lam or B, not both: got lam={settings.lam!r}, B={settings.B!r}.")
        return ()
    given = LAMBDA[settings.method] if settings.lam is None else settings.lam
    listed = candidates("lam", given, LAMBDAS[settings.method])
    return tuple(float(checked_number("lam", lam, open_low=True, expected="a number > 0")) for lam in listed)


def _is_brief(settings: ParameterSettings, engine: Solver, lambdas: Sequence[float]) -> bool:
    """Whether the caller leaves the iterations open, and nothing else says how they are found."""
    return (
        settings.iterations is None
        and settings.validation is None
        and len(lambdas) <= 1
        and isinstance(engine, DescentSolver)
        and _own_limit(engine) is None
    )


def _limit(settings: ParameterSettings, engine: Solver) -> Mapping[str, int]:
    """The limit of iterations, where the solver is a descent method and the limit is not to be chosen."""
    if settings.iterations == "cv" or not isinstance(engine, DescentSolver):
        return {}
    if settings.iterations is None:
        own = _own_limit(engine)
        return {"max_iterations": ITERATIONS if own is None else own}
    words = 'a whole number >= 0, "cv" or None'
    return {"max_iterations": whole("iterations", settings.iterations, expected=words)}


def _own_limit(engine: DescentSolver) -> int | None:
    """The limit of iterations that a configured solver asks for."""
    limit = engine.with_options().max_iterations
    return None if limit == type(engine)().max_iterations else limit
