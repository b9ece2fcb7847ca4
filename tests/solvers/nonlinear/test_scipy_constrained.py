"""SciPy's constrained methods and IPOPT: known optima, budgets, and the limit on the size."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from mmbn_opt.exceptions import InputError, SizeLimitError
from mmbn_opt.formulations.mixture.constrained import ConstrainedMaximumMargin
from mmbn_opt.programs.nonlinear import NonlinearProgram
from mmbn_opt.results.status import SolutionStatus, TerminationStatus
from mmbn_opt.solvers.nonlinear.exterior_penalty import ExteriorPenaltySolver
from mmbn_opt.solvers.nonlinear.ipopt import NonlinearIpoptSolver
from mmbn_opt.solvers.nonlinear.scipy_constrained import SlsqpSolver, TrustConstrSolver

needs_ipopt = pytest.mark.skipif(
    not NonlinearIpoptSolver.is_available(), reason="CasADi (extra ipopt) is not installed"
)
SOLVERS = (TrustConstrSolver, SlsqpSolver, pytest.param(NonlinearIpoptSolver, marks=needs_ipopt))


def hs22(start: float = 2.0) -> NonlinearProgram:
    """Problem 22 of Hock and Schittkowski (1981): f* = 1 at (1, 1)."""
    return NonlinearProgram(
        lambda x: (float((x[0] - 2) ** 2 + (x[1] - 1) ** 2), np.array([2 * (x[0] - 2), 2 * (x[1] - 1)])),
        x0=np.full(2, start),
        constraints=lambda x: np.array([2 - x[0] - x[1], x[1] - x[0] ** 2]),
        jacobian=lambda x: np.array([[-1, -1], [-2 * x[0], 1]]),
        n_constraints=2,
    )


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_known_optimum(solver: Any) -> None:
    result = solver().solve(hs22())
    assert result.termination_status is TerminationStatus.LOCALLY_OPTIMAL
    np.testing.assert_allclose(result.solution, [1, 1], atol=1e-3)
    assert result.trace.bounds == result.bounds
    assert solver.is_available()


@pytest.mark.parametrize("solver", SOLVERS)
def test_the_jacobian_can_come_from_the_single_pass(solver: Any) -> None:
    from mmbn_opt.programs.nonlinear import PointEvaluation

    base = hs22()

    def evaluate(x: np.ndarray) -> PointEvaluation:
        value, gradient = base.value_and_gradient(x)
        assert base.constraints is not None
        assert base.jacobian is not None
        jacobian = base.jacobian(x)
        return PointEvaluation(value, base.constraints(x), lambda w: gradient + jacobian.T @ w)

    fused = NonlinearProgram(
        base.value_and_gradient, base.x0, constraints=base.constraints, n_constraints=2, evaluate=evaluate
    )
    np.testing.assert_allclose(solver().solve(fused).solution, [1, 1], atol=1e-3)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize(
    ("settings", "callback", "status"),
    [
        ({"time_limit": 0.0}, None, TerminationStatus.TIME_LIMIT),
        ({"max_iterations": 1}, None, TerminationStatus.ITERATION_LIMIT),
        ({}, lambda event: True, TerminationStatus.INTERRUPTED),
    ],
)
def test_limits_and_callbacks_end_the_run(
    solver: Any, settings: dict[str, Any], callback: Callable[..., bool] | None, status: TerminationStatus
) -> None:
    import time

    def slow(x: np.ndarray) -> tuple[float, np.ndarray]:
        time.sleep(0.06 if callback else 0.0)
        return hs22().value_and_gradient(x)

    base = hs22(0.5)
    program = NonlinearProgram(slow, base.x0, constraints=base.constraints, jacobian=base.jacobian, n_constraints=2)
    result = solver(**settings).solve(program, callback=callback)
    assert result.termination_status is status
    assert result.solution is not None


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_program_too_large_is_refused_with_the_figures(solver: Any) -> None:
    with pytest.raises(SizeLimitError, match=r"4 cells; .* takes at most 3"):
        solver(max_cells=3).solve(hs22())


@pytest.mark.parametrize("solver", SOLVERS[:2])
def test_limits_have_to_be_positive(solver: Any) -> None:
    with pytest.raises(InputError, match="max_iterations must be positive"):
        solver(max_iterations=0)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_ctrl_c_keeps_the_best_and_other_errors_come_through(solver: Any, error: type[BaseException]) -> None:
    base, calls = hs22(0.5), []

    def fail(x: np.ndarray) -> tuple[float, np.ndarray]:
        calls.append(x)
        if len(calls) > 3:
            raise error("mine")
        return base.value_and_gradient(x)

    program = NonlinearProgram(fail, base.x0, constraints=base.constraints, jacobian=base.jacobian, n_constraints=2)
    if error is RuntimeError:
        with pytest.raises(RuntimeError, match="mine"):
            solver().solve(program)
        return
    result = solver().solve(program)
    assert result.termination_status is TerminationStatus.INTERRUPTED
    assert result.solution is not None


@needs_ipopt
def test_ipopt_minimises_in_a_box_without_constraints() -> None:
    program = NonlinearProgram(
        lambda x: (float((x - 3) @ (x - 3)), 2 * (x - 3)), x0=np.zeros(2), upper=np.array([1.0, 9.0])
    )
    result = NonlinearIpoptSolver().solve(program)
    assert result.solution is not None
    assert result.termination_status is TerminationStatus.LOCALLY_OPTIMAL
    np.testing.assert_allclose(result.solution, [1, 3], atol=1e-5)


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_small_cmm_program_ends_feasible(solver: Any) -> None:
    X = np.concatenate([np.linspace(0, 1, 8), np.linspace(2, 3, 8)])[:, None]
    formulation = ConstrainedMaximumMargin(X, np.repeat([0, 1], 8), 1, tau=0.05)
    result = solver(time_limit=10, max_iterations=200).solve(formulation.build())
    assert result.solution_status is SolutionStatus.FEASIBLE
    model = formulation.recover(result.solution)
    assert formulation.check(model)[0].ok
    assert formulation.evaluate(model) > formulation.evaluate(formulation.trivial_start().model)


@needs_ipopt
@pytest.mark.parametrize("k", [1, 2])
def test_ipopt_through_pyomo_and_through_functions_agrees_with_the_penalty_method(k: int) -> None:
    """Twelve samples, two features: three ways to the same local optimum of CMM."""
    rng = np.random.default_rng(0)
    y = np.arange(12) % 2
    X = rng.normal(size=(12, 2)) + np.where(y, 2.0, -2.0)[:, None]
    formulation = ConstrainedMaximumMargin(X, y, k, tau=0.25, xi_growth=1.0)
    program = formulation.build()
    solvers = (NonlinearIpoptSolver(through="pyomo"), NonlinearIpoptSolver(), ExteriorPenaltySolver(restarts=0))
    margins = []
    for solver in solvers:
        result = solver.solve(program)
        assert result.termination_status is TerminationStatus.LOCALLY_OPTIMAL
        assert result.solution_status is SolutionStatus.FEASIBLE
        assert result.solution is not None
        model = formulation.recover(result.solution)
        assert formulation.check(model)[0].ok
        margins.append(formulation.evaluate(model))
    np.testing.assert_allclose(margins, margins[0], rtol=1e-5)


@needs_ipopt
def test_ipopt_says_what_it_cannot_take() -> None:
    with pytest.raises(InputError, match="needs a program that has a Pyomo model"):
        NonlinearIpoptSolver(through="pyomo").solve(hs22())
    with pytest.raises(InputError, match='through must be "functions" or "pyomo", got \'ampl\''):
        NonlinearIpoptSolver(through="ampl").solve(hs22())
