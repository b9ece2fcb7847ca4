"""Parameters of a given structure by the four methods, with what the caller wants to see of the run."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import pandas as pd

from mmbn_opt.data.discrete import DiscreteDataset
from mmbn_opt.exceptions import InputError
from mmbn_opt.formulations import ConditionalLikelihood, MaxMarginRelaxation, SmoothMargin
from mmbn_opt.formulations.checks import check_acyclic, check_estimates
from mmbn_opt.formulations.parameters.softmax import SoftmaxParameters
from mmbn_opt.networks.network import BayesianNetwork
from mmbn_opt.networks.smoothing import as_smoothing
from mmbn_opt.networks.structure import Structure
from mmbn_opt.results.result import Certificate, Result
from mmbn_opt.solvers.base import Solver
from mmbn_opt.solvers.nonlinear.descent import DescentSolver
from mmbn_opt.solvers.registry import get_solver_class
from mmbn_opt.solving.dispatch import solve
from mmbn_opt.tuning.grid import DEFAULT_GRID, tune
from mmbn_opt.tuning.held_out import candidates, choose, complete

__all__ = ["METHODS", "Method", "ParameterSettings", "Parameters", "learn_parameters", "maximum_likelihood"]

Method = Literal["ml", "cg-mm", "cg-cl", "relaxation"]
METHODS = ("ml", "cg-mm", "cg-cl", "relaxation")

LAMBDAS: Mapping[str, tuple[float, ...]] = {
    "cg-mm": tuple(DEFAULT_GRID["lam"]),
    "relaxation": (0.02, 0.05, 0.1, 0.2, 0.5),
}
"""What ``lam="cv"`` chooses from."""

_FIXED_LAMBDA = {"cg-mm": 0.05, "relaxation": 0.1}


@dataclass(frozen=True)
class ParameterSettings:
    """Settings of a run, as the classifiers' own parameters of the same names describe them."""

    method: Method
    lam: Any = None
    kappa: float = 0.1
    iterations: Any = 100
    validation: float | None = None
    normalization: Any = "hybrid"
    alpha: float = 0.03
    min_prob: float = 1e-6
    smoothing: Any = 1.0
    solver: str | Solver = "auto"
    rel_gap: float = 1e-4
    seed: int = 0
    n_jobs: int | None = None


@dataclass(frozen=True, eq=False)
class Parameters:
    """A network and how it came about.

    Parameters
    ----------
    network : BayesianNetwork
    certificate : Certificate
    result : Result or None
        None for maximum likelihood, which has a closed form.
    chosen : dict
        ``lam`` and ``iterations`` that were used, where the method has them.
    table : DataFrame or None
        Rates of the candidates, where there was a choice.
    """

    network: BayesianNetwork
    certificate: Certificate
    result: Result | None = None
    chosen: dict[str, Any] = field(default_factory=dict)
    table: pd.DataFrame | None = None


def learn_parameters(
    data: DiscreteDataset, structure: Structure, settings: ParameterSettings, seconds: float | None = None
) -> Parameters:
    """Learn the parameters of a structure.

    Parameters
    ----------
    data : DiscreteDataset
    structure : Structure
    settings : ParameterSettings
    seconds : float or None
        For all of it; a choice by cross-validation takes at most half.
    """
    if settings.method == "ml":
        network, certificate = maximum_likelihood(data, structure, settings.smoothing)
        return Parameters(network, certificate)
    if settings.method == "relaxation":
        return _relaxation(data, structure, settings, seconds)
    return _gradients(data, structure, settings, seconds)


def maximum_likelihood(
    data: DiscreteDataset, structure: Structure, smoothing: Any
) -> tuple[BayesianNetwork, Certificate]:
    """Smoothed maximum likelihood in closed form, and its checks.

    Examples
    --------
    >>> from mmbn_opt import naive_bayes
    >>> data = DiscreteDataset.from_arrays([["a"], ["b"]], [0, 1])
    >>> network, certificate = maximum_likelihood(data, naive_bayes(data), 1.0)
    >>> print(certificate)
    [ok] acyclic: 2 nodes, 1 edges
    [ok] CPTs normalised: largest |row sum - 1| is 0.0e+00
    [ok] parameters from the data: largest difference to a fresh estimate ... is 0.0e+00
    """
    network = BayesianNetwork.fit(structure, data, smoothing)
    return network, Certificate((check_acyclic(network), *check_estimates(network, data, as_smoothing(smoothing))))


def _relaxation(
    data: DiscreteDataset, structure: Structure, settings: ParameterSettings, seconds: float | None
) -> Parameters:
    def run(part: DiscreteDataset, point: Mapping[str, Any], limit: float | None) -> Result:
        formulation = MaxMarginRelaxation(
            part, structure, gamma=1.0 / _positive(point["lam"]), normalization=settings.normalization,
            alpha=settings.alpha, min_prob=settings.min_prob, smoothing=settings.smoothing,
        )  # fmt: skip
        return solve(formulation, settings.solver, time_limit=limit, rel_gap=settings.rel_gap, seed=settings.seed)

    grid = {"lam": _lambdas(settings)}
    choice = choose(
        grid, data, lambda part, point, limit: _network(complete(run(part, point, limit))), seed=settings.seed,
        n_jobs=settings.n_jobs, seconds=_half(seconds),
    )  # fmt: skip
    result = run(data, choice.settings, _rest(seconds, choice.table))
    return Parameters(_network(result), result.certificate, result, choice.settings, choice.table)


def _gradients(
    data: DiscreteDataset, structure: Structure, settings: ParameterSettings, seconds: float | None
) -> Parameters:
    formulation: SoftmaxParameters
    grid: dict[str, tuple[float, ...]] = {}
    if settings.method == "cg-mm":
        grid = {"lam": tuple(_positive(lam) for lam in _lambdas(settings))}
        formulation = SmoothMargin(
            data, structure, lam=grid["lam"][0], kappa=settings.kappa, smoothing=settings.smoothing
        )
    else:
        formulation = ConditionalLikelihood(data, structure, smoothing=settings.smoothing)
    engine, limited = _engine(settings)
    by_choice = settings.iterations == "cv" or len(grid.get("lam", ())) > 1
    if not by_choice:
        chosen = {**{name: values[0] for name, values in grid.items()}, **limited}
        result = solve(
            formulation, engine, time_limit=seconds, seed=settings.seed, options=limited, validation=settings.validation
        )
        return Parameters(_network(result), result.certificate, result, chosen)
    if not isinstance(engine, DescentSolver):
        raise InputError(f"A choice by cross-validation needs a descent method, got solver={settings.solver!r}.")
    runs = 5 * max(1, len(grid.get("lam", ())))
    share = None if seconds is None else seconds / 2 / runs
    most = limited.get("max_iterations", 200)
    tuning = tune(
        formulation, grid, solver=replace(engine, time_limit=share), max_iterations=most, seed=settings.seed,
        n_jobs=settings.n_jobs,
    )  # fmt: skip
    solver = replace(tuning.solver, time_limit=_half(seconds))
    result = solve(tuning.formulation, solver, seed=settings.seed)
    chosen = {**tuning.settings, "max_iterations": tuning.iterations}
    return Parameters(_network(result), result.certificate, result, chosen, tuning.table)


def _engine(settings: ParameterSettings) -> tuple[Solver, dict[str, int]]:
    """The solver, and its limit of iterations where it is a descent method."""
    engine = settings.solver
    if isinstance(engine, str):
        engine = get_solver_class("conjugate_gradient" if engine == "auto" else engine)()
    if settings.iterations == "cv" or not isinstance(engine, DescentSolver):
        return engine, {}
    whole = isinstance(settings.iterations, int) and not isinstance(settings.iterations, bool)
    if not whole or settings.iterations < 0:
        raise InputError(f'iterations must be a whole number >= 0 or "cv", got {settings.iterations!r}.')
    return engine, {"max_iterations": settings.iterations}


def _lambdas(settings: ParameterSettings) -> tuple[Any, ...]:
    given = _FIXED_LAMBDA[settings.method] if settings.lam is None else settings.lam
    return candidates("lam", given, LAMBDAS[settings.method])


def _positive(lam: Any) -> float:
    if isinstance(lam, bool) or not isinstance(lam, (int, float)) or not lam > 0:
        raise InputError(f"lam must be a number > 0, got {lam!r}.")
    return float(lam)


def _network(result: Result) -> BayesianNetwork:
    """The model as a normalised network; the certificate says how exactly a relaxation's answer can be one."""
    model = result.model
    if model is None:
        result.raise_for_status()
    network: BayesianNetwork = model if isinstance(model, BayesianNetwork) else model.normalize().network
    return network


def _half(seconds: float | None) -> float | None:
    return None if seconds is None else seconds / 2


def _rest(seconds: float | None, table: pd.DataFrame | None) -> float | None:
    return seconds if table is None else _half(seconds)
