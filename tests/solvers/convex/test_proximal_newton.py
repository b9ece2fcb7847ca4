"""The proximal Newton method: optimum against cvxpy's, bounds against values, odd data, limits, Markov networks."""

import math

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import mmbn_opt as mm
from mmbn_opt.results.status import TerminationStatus
from mmbn_opt.solvers.base import SolverEvent
from mmbn_opt.solvers.convex.cvxpy_conic import ClarabelSolver
from mmbn_opt.solvers.convex.cvxpy_quadratic import QuadraticSolver
from mmbn_opt.solvers.convex.interior_point import InteriorPointSolver
from mmbn_opt.solvers.convex.proximal_newton import ProximalNewtonSolver


def some_data(seed: int, n_rows: int, n_features: int, n_classes: int, noise: float, weighted: bool = False):
    rng = np.random.default_rng(seed)
    y = np.concatenate([np.arange(n_classes), rng.integers(0, n_classes, n_rows)])
    told = y[:, None] % 3
    X = np.where(rng.random((len(y), n_features)) < noise, rng.integers(0, 3, (len(y), n_features)), told)
    weight = rng.integers(1, 9, len(y)) * 0.5 if weighted else None
    return mm.DiscreteDataset.from_arrays(X, y, sample_weight=weight)


problems = st.builds(
    lambda data, tree, normalization, gamma, B: mm.MaxMarginRelaxation(
        data,
        mm.tan_cmi(data) if tree else mm.naive_bayes(data),
        gamma=None if B else gamma,
        B=B,
        normalization=normalization,
        min_prob=1e-3,
    ),
    st.builds(
        some_data,
        st.integers(0, 10**6),
        st.integers(5, 40),
        st.integers(1, 4),
        st.integers(2, 5),
        st.sampled_from([0.2, 0.5, 1.0]),
        st.booleans(),
    ),
    st.booleans(),
    st.sampled_from(["floor", "hybrid"]),
    st.sampled_from([0.3, 1.0, 4.0, 20.0]),
    st.sampled_from([None, None, 0.3]),
)


@pytest.mark.slow
@settings(max_examples=8, deadline=None, phases=(Phase.explicit, Phase.reuse, Phase.generate))
@given(problems)
def test_the_optimum_is_that_of_cvxpy_and_every_bound_lies_below_every_value(problem):
    program = problem.build()
    bounds, values = [], []

    def listen(event: SolverEvent) -> None:
        bounds.append(-math.inf if event.dual_bound is None else event.dual_bound)
        values.append(math.inf if event.primal_bound is None else event.primal_bound)

    answer = ProximalNewtonSolver(rel_gap=1e-6, abs_gap=2e-7 * program.scale, warm_seconds=0.0).solve(
        program, callback=listen
    )
    assert answer.termination_status is TerminationStatus.OPTIMAL, answer.raw_status
    slack = 1e-9 * program.scale
    assert max(bounds) <= min(values) + slack
    assert program.violation(answer.solution) <= 1e-9
    if answer.multipliers is not None:  # None: no multipliers are better than the trivial ones
        assert program.dual_value(answer.multipliers) == pytest.approx(answer.bounds.dual_bound, abs=slack)
    cones = ClarabelSolver().solve(program)
    agreed = 2e-7 * program.scale
    assert answer.bounds.dual_bound <= cones.bounds.primal_bound + agreed
    assert cones.bounds.dual_bound <= answer.bounds.primal_bound + agreed


@settings(max_examples=5, deadline=None, phases=(Phase.explicit, Phase.reuse, Phase.generate))
@given(
    st.integers(0, 10**6), st.integers(5, 60), st.integers(2, 5), st.booleans(), st.sampled_from([1e-3, 0.1, 1.0, 30.0])
)
def test_markov_networks_have_the_optimum_of_the_quadratic_program(seed, n_rows, n_classes, weighted, C):
    data = some_data(seed, n_rows, 3, n_classes, 0.5, weighted)
    program = mm.MaxMarginMarkovNetwork(data, mm.naive_bayes(data), C=C).build()
    answer = ProximalNewtonSolver(rel_gap=1e-8).solve(program)
    assert answer.termination_status is TerminationStatus.OPTIMAL, answer.raw_status
    truth = QuadraticSolver().solve(program)
    assert answer.bounds.primal_bound == pytest.approx(truth.bounds.primal_bound, rel=1e-6)
    assert answer.bounds.dual_bound <= truth.bounds.primal_bound * (1 + 1e-9)


def test_liblinear_agrees_on_a_markov_network():
    """Crammer and Singer's machine without an intercept, on the indicators that the factors look up."""
    from sklearn.svm import LinearSVC

    data = some_data(5, 200, 4, 3, 0.6)
    answer = ProximalNewtonSolver(rel_gap=1e-8).solve(
        mm.MaxMarginMarkovNetwork(data, mm.naive_bayes(data), C=0.2).build()
    )
    columns = [np.eye(data.cardinalities[v])[data.codes[:, v]] for v in range(data.n_features)]
    X = np.hstack([*columns, np.ones((data.n_samples, 1))])  # one column of ones is the factor of the class
    machine = LinearSVC(C=0.2, multi_class="crammer_singer", fit_intercept=False, tol=1e-8, max_iter=100_000)
    y = data.target_codes
    scores = X @ machine.fit(X, y).coef_.T
    rivals = scores + 1.0
    rivals[np.arange(len(y)), y] -= 1.0
    loss = (rivals.max(axis=1) - scores[np.arange(len(y)), y]).sum()
    objective = 0.5 * float((machine.coef_**2).sum()) + 0.2 * float(loss)
    assert answer.bounds.dual_bound <= objective * (1 + 1e-9)
    assert answer.bounds.primal_bound == pytest.approx(objective, rel=1e-5)


ODD = {
    "separable": ([["a"], ["b"]] * 6, [0, 1] * 6),
    "a constant column": ([["a", "k"], ["b", "k"], ["a", "k"]] * 4, [0, 1, 1] * 4),
    "nothing but constants": ([["k"]] * 6, [0, 1, 1, 0, 1, 1]),
    "one row a class": ([["a"], ["b"], ["c"]], [0, 1, 2]),
    "contradicting rows": ([["a"], ["a"]] * 5, [0, 1] * 5),
}


@pytest.mark.parametrize("name", ODD)
@pytest.mark.parametrize("normalization", ["floor", "hybrid"])
def test_odd_data_have_the_optimum_of_the_interior_point(name, normalization):
    data = mm.DiscreteDataset.from_arrays(*ODD[name])
    problem = mm.MaxMarginRelaxation(data, mm.naive_bayes(data), gamma=1.0, normalization=normalization)
    program = problem.build()
    answer = ProximalNewtonSolver(rel_gap=1e-7, abs_gap=1e-7, warm_seconds=0.0).solve(program)
    truth = InteriorPointSolver(rel_gap=1e-7, abs_gap=1e-7).solve(program).bounds
    assert answer.termination_status is TerminationStatus.OPTIMAL
    assert answer.bounds.primal_bound == pytest.approx(truth.primal_bound, rel=1e-6, abs=1e-6)
    assert answer.bounds.dual_bound <= truth.primal_bound + 1e-7
    assert truth.dual_bound <= answer.bounds.primal_bound + 1e-7


def test_a_second_run_from_the_end_of_the_first_is_done_at_once():
    data = some_data(1, 300, 6, 4, 0.6)
    program = mm.MaxMarginRelaxation(data, mm.tan_cmi(data), gamma=5.0).build()
    first = ProximalNewtonSolver(rel_gap=1e-6).solve(program)
    again = ProximalNewtonSolver(rel_gap=1e-5, warm_seconds=0.0, multipliers=first.multipliers)
    answer = again.solve(program, start=first.solution)
    assert answer.termination_status is TerminationStatus.OPTIMAL
    assert answer.stats["newton_steps"] <= 1


def test_a_stop_of_the_callback_ends_the_run_with_what_there_is():
    data = some_data(2, 2000, 12, 6, 0.9)
    program = mm.MaxMarginRelaxation(data, mm.naive_bayes(data), gamma=1.0, normalization="floor").build()
    answer = ProximalNewtonSolver(warm_seconds=0.0).solve(program, callback=lambda event: True)
    assert answer.termination_status is TerminationStatus.INTERRUPTED
    assert answer.bounds.dual_bound <= answer.bounds.primal_bound
