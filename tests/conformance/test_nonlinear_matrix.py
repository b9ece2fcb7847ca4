"""Smooth programs whose minima are known: every installed solver runs every one that it accepts."""

import math

import numpy as np
import pytest
from conformance.solver_matrix import MATRICES, WITH_CONSTRAINTS

from mmbn_opt.programs.base import ProgramKind
from mmbn_opt.programs.nonlinear import NonlinearProgram
from mmbn_opt.results.status import SolutionStatus, TerminationStatus
from mmbn_opt.solvers.registry import get_solver_class

GOOD = (TerminationStatus.LOCALLY_OPTIMAL, TerminationStatus.SLOW_PROGRESS)


def bowl(x):
    return float((x - 3) @ (x - 3)), 2 * (x - 3)


def rosenbrock(x):
    value = float(np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2))
    gradient = np.zeros_like(x)
    gradient[:-1] += -400 * x[:-1] * (x[1:] - x[:-1] ** 2) - 2 * (1 - x[:-1])
    gradient[1:] += 200 * (x[1:] - x[:-1] ** 2)
    return value, gradient


def softplus(x):
    """log(1 + e^x) - x / 4, least at log(1/3)."""
    return float(np.logaddexp(0, x).sum() - x.sum() / 4), 1 / (1 + np.exp(-x)) - 0.25


FREE = {
    "bowl": (NonlinearProgram(bowl, x0=np.zeros(4)), np.full(4, 3.0)),
    "rosenbrock": (NonlinearProgram(rosenbrock, x0=np.array([-1.2, 1.0])), np.ones(2)),
    "softplus": (NonlinearProgram(softplus, x0=np.ones(1)), np.array([math.log(1 / 3)])),
}


@pytest.mark.parametrize("name", [n for n in MATRICES[ProgramKind.NONLINEAR] if n not in WITH_CONSTRAINTS])
@pytest.mark.parametrize("case", FREE)
def test_free_minima_are_found(name, case):
    program, minimum = FREE[case]
    answer = get_solver_class(name)(options={"max_iterations": 5000}).solve(program)
    assert answer.termination_status in GOOD, answer.raw_status
    assert answer.solution_status is SolutionStatus.FEASIBLE
    np.testing.assert_allclose(answer.solution, minimum, atol=2e-3)
    assert answer.bounds.primal_bound == pytest.approx(program.value(answer.solution), abs=1e-12)
    assert answer.bounds.dual_bound is None


@pytest.mark.parametrize("name", WITH_CONSTRAINTS)
def test_a_constrained_minimum_is_found(name):
    """Nearest point to (3, 3) with x + y <= 2: (1, 1)."""
    found = get_solver_class(name).availability()
    if not found.available:
        pytest.skip(found.reason)
    program = NonlinearProgram(
        bowl,
        x0=np.zeros(2),
        constraints=lambda x: np.array([2 - x.sum()]),
        jacobian=lambda x: -np.ones((1, 2)),
        n_constraints=1,
    )
    answer = get_solver_class(name)().solve(program)
    assert answer.solution is not None
    np.testing.assert_allclose(answer.solution, [1, 1], atol=1e-2)
    assert program.violation(answer.solution) <= 1e-3
