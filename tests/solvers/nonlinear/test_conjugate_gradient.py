"""Descent methods: optimality conditions, the same stop rules for all three, and a defined answer in odd corners."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import dataset_of

import mmbn_opt as mm
from mmbn_opt.exceptions import InputError
from mmbn_opt.formulations.parameters.conditional_likelihood import ConditionalLikelihood
from mmbn_opt.formulations.parameters.smooth_margin import SmoothMargin
from mmbn_opt.programs.base import ProgramKind
from mmbn_opt.programs.nonlinear import NonlinearProgram
from mmbn_opt.results.status import SolutionStatus, TerminationStatus
from mmbn_opt.solvers.nonlinear._line_search import LineStep, strong_wolfe
from mmbn_opt.solvers.nonlinear.conjugate_gradient import ConjugateGradientSolver, _first_trial
from mmbn_opt.solvers.nonlinear.scipy_minimize import LbfgsSolver, ScipyCgSolver

SOLVERS = [ConjugateGradientSolver, LbfgsSolver, ScipyCgSolver]
every_solver = pytest.mark.parametrize("solver", SOLVERS, ids=lambda s: s.name)


def bowl(x0=(3.0, -4.0, 1.0), monitor=None) -> NonlinearProgram:
    scale = np.array([1.0, 7.0, 40.0])[: len(x0)]
    return NonlinearProgram(
        lambda x: (float(x @ (scale * x)) / 2, scale * x), x0=np.array(x0, dtype=float), monitor=monitor
    )


def rosenbrock(x):
    value = float(np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2))
    gradient = np.zeros_like(x)
    inner = x[1:] - x[:-1] ** 2
    gradient[:-1] = -400 * x[:-1] * inner - 2 * (1 - x[:-1])
    gradient[1:] += 200 * inner
    return value, gradient


@pytest.fixture(scope="module")
def overlapping():
    """Three classes that overlap in five features."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, 600)
    codes = np.where(rng.random((600, 5)) < 0.5, labels[:, None], rng.integers(0, 3, (600, 5)))
    return dataset_of(np.column_stack([codes, labels]).tolist(), [3] * 5 + [3])


# -- optimality --------------------------------------------------------------------------------------------------------


@every_solver
def test_a_bowl_is_brought_to_its_bottom(solver):
    result = solver(gradient_tol=1e-9, rel_change=0.0).solve(bowl())
    assert result.termination_status is TerminationStatus.LOCALLY_OPTIMAL
    assert result.solution_status is SolutionStatus.FEASIBLE
    np.testing.assert_allclose(result.solution, 0.0, atol=1e-8)
    assert result.bounds.dual_bound is None


@every_solver
def test_a_curved_valley_is_followed_to_its_end(solver):
    program = NonlinearProgram(rosenbrock, x0=np.array([-1.2, 1.0, -0.5, 0.3]))
    result = solver(max_iterations=5000, gradient_tol=1e-6, rel_change=0.0).solve(program)
    assert result.termination_status is TerminationStatus.LOCALLY_OPTIMAL
    assert np.abs(rosenbrock(result.solution)[1]).max() <= 1e-6


@every_solver
def test_conditional_likelihood_ends_where_the_gradient_vanishes(solver, overlapping):
    program = ConditionalLikelihood(overlapping, mm.naive_bayes(overlapping)).build(ProgramKind.NONLINEAR)
    result = solver(max_iterations=2000, gradient_tol=1e-7, rel_change=0.0).solve(program)
    value, gradient = program.value_and_gradient(result.solution)
    assert np.abs(gradient).max() <= 1e-7 * max(1.0, abs(value))
    assert result.bounds.primal_bound == value


def test_three_methods_meet_at_the_optimum_of_logistic_regression(overlapping):
    """Conditional likelihood of naive Bayes is logistic regression: its stationary points are global optima."""
    program = ConditionalLikelihood(overlapping, mm.naive_bayes(overlapping)).build(ProgramKind.NONLINEAR)
    values = [
        s(max_iterations=5000, gradient_tol=1e-8, rel_change=0.0).solve(program).bounds.primal_bound for s in SOLVERS
    ]
    assert values == pytest.approx([values[0]] * 3, rel=1e-7)


# -- cost --------------------------------------------------------------------------------------------------------------


UPDATES = ["dai-kou", "polak-ribiere"]


@pytest.mark.parametrize("update", UPDATES)
@pytest.mark.parametrize("make", [SmoothMargin, ConditionalLikelihood])
def test_an_iteration_costs_at_most_two_and_a_half_evaluations(overlapping, make, update):
    program = make(overlapping, mm.tan_cmi(overlapping)).build(ProgramKind.NONLINEAR)
    stats = ConjugateGradientSolver(max_iterations=60, update=update).solve(program).stats
    assert stats["iterations"] >= 20
    assert stats["evaluations"] <= 2.5 * stats["iterations"]


@pytest.mark.parametrize(
    "make", [SmoothMargin, lambda data, tree: SmoothMargin(data, tree, lam=0.1), ConditionalLikelihood]
)
@pytest.mark.parametrize("structure", [mm.naive_bayes, mm.tan_cmi])
def test_scipy_needs_no_fewer_evaluations_to_an_equal_objective(overlapping, make, structure):
    program = make(overlapping, structure(overlapping)).build(ProgramKind.NONLINEAR)

    def best_so_far(solver):
        values = []

        def value_and_gradient(x):
            value, gradient = program.value_and_gradient(x)
            values.append(value)
            return value, gradient

        solver.solve(NonlinearProgram(value_and_gradient, x0=program.x0))
        return np.minimum.accumulate(values)

    scipy = best_so_far(ScipyCgSolver(max_iterations=60))
    own = best_so_far(ConjugateGradientSolver(max_iterations=200))
    targets = scipy[0] + np.array([0.5, 0.8, 0.9, 0.95, 0.99, 0.999]) * (scipy[-1] - scipy[0])
    needed = (own[:, None] <= targets).argmax(axis=0) + 1
    by_scipy = (scipy[:, None] <= targets).argmax(axis=0) + 1
    assert own[-1] <= targets[-1]
    assert np.exp(np.mean(np.log(needed / by_scipy))) <= 1.0
    assert (needed <= 1.2 * by_scipy + 1).all()  # one line search that goes wrong at a low level is luck


@pytest.mark.parametrize("update", UPDATES)
def test_n_exact_steps_end_a_quadratic_of_n_columns(update):
    """With exact line searches both updates are the linear method of conjugate gradients."""
    scale = np.array([1.0, 3.0, 10.0, 30.0])
    bowl = NonlinearProgram(lambda x: (float(x @ (scale * x)) / 2, scale * x), x0=np.array([4.0, -3.0, 2.0, 1.0]))
    exact = ConjugateGradientSolver(update=update, c1=1e-12, c2=1e-9, gradient_tol=1e-6, rel_change=0.0)
    result = exact.solve(bowl)
    assert result.stats["iterations"] == 4
    np.testing.assert_allclose(result.solution, 0.0, atol=1e-6)


def test_the_first_trial_is_the_mean_of_both_guesses():
    """An equal decrease to first order asks for .25 * 4 / 2.25; the curvature, that of a sphere, asks for 1."""
    line = LineStep(0.0, np.zeros(2), 0.0, np.array([-2.0, 0.0]), -4.0)
    step = LineStep(0.25, np.array([0.5, 0.0]), 0.0, np.array([-1.5, 0.0]), -3.0)  # gradient x - (2, 0)
    ahead = np.array([1.5, 0.0])
    assert _first_trial(line, step, np.array([2.0, 0.0]), ahead, -2.25) == pytest.approx(math.sqrt(0.25 * 4 / 2.25))


# -- the line search ---------------------------------------------------------------------------------------------------


@given(st.integers(0, 10**6), st.floats(1e-4, 1e3), st.sampled_from([0.1, 0.4]))
def test_steps_satisfy_the_strong_wolfe_conditions(seed, length, c2):
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=(6, 4)), rng.normal(size=6)

    def valley(x):  # smooth, convex with probability 1, bounded below
        z = a @ x - b
        return float(np.sum(np.logaddexp(z, -z)) + 0.01 * x @ x), a.T @ np.tanh(z) + 0.02 * x

    x = 3 * rng.normal(size=4)
    value, gradient = valley(x)
    slope = -float(gradient @ gradient)
    step = strong_wolfe(valley, LineStep(0.0, x, value, gradient, slope), -gradient, length, c2=c2, max_evaluations=60)
    assert step is not None
    assert step.value <= value + 1e-4 * step.length * slope
    assert abs(step.slope) <= -c2 * slope
    np.testing.assert_allclose(step.x, x - step.length * gradient)


def test_points_where_the_function_is_not_finite_are_too_far():
    def barrier(x):  # -log(1 - x) - 2x: minimum at 1/2, infinite from 1 on
        if x[0] >= 1:
            return math.inf, np.full(1, math.nan)
        return -math.log(1 - x[0]) - 2 * x[0], np.array([1 / (1 - x[0]) - 2])

    value, gradient = barrier(np.zeros(1))
    step = strong_wolfe(barrier, LineStep(0.0, np.zeros(1), value, gradient, -1.0), np.ones(1), 50.0)
    assert step.x[0] == pytest.approx(0.5, abs=0.05)


def test_a_line_that_only_goes_up_has_no_step():
    def cone(x):  # the claimed slope is wrong
        return float(np.abs(x).sum()), np.sign(x)

    origin = LineStep(0.0, np.zeros(1), 0.0, np.array([-1.0]), -1.0)
    assert strong_wolfe(cone, origin, np.ones(1), 1.0) is None


# -- stop rules --------------------------------------------------------------------------------------------------------


@every_solver
def test_limits_are_never_optimal(solver):
    program = NonlinearProgram(rosenbrock, x0=np.full(6, -1.0))
    few = solver(max_iterations=3).solve(program)
    assert few.termination_status is TerminationStatus.ITERATION_LIMIT
    assert few.stats["iterations"] == 3
    none = solver(max_iterations=0).solve(program)
    assert none.termination_status is TerminationStatus.ITERATION_LIMIT
    np.testing.assert_array_equal(none.solution, program.x0)
    late = solver(time_limit=0.0).solve(program)
    assert late.termination_status is TerminationStatus.TIME_LIMIT
    np.testing.assert_array_equal(late.solution, program.x0)


@every_solver
def test_slow_progress_stops_by_the_change_of_the_objective(solver):
    program = NonlinearProgram(rosenbrock, x0=np.array([-1.2, 1.0]))
    result = solver(gradient_tol=0.0, rel_change=1e-3).solve(program)
    assert result.termination_status is TerminationStatus.SLOW_PROGRESS
    assert result.stats["iterations"] < 300
    assert "relative change below 0.001" in result.raw_status


@every_solver
def test_a_start_with_zero_gradient_is_answered_at_once(solver):
    result = solver().solve(bowl(x0=(0.0, 0.0)))
    assert result.termination_status is TerminationStatus.LOCALLY_OPTIMAL
    assert result.raw_status == "the gradient is exactly zero"
    assert result.stats["evaluations"] == 1


@every_solver
def test_separable_data_end_with_a_gradient_of_exactly_zero(solver):
    """Beyond the margin the objective is flat: Polak-Ribiere's quotient would be 0/0."""
    data = dataset_of([[0, 0], [1, 1]] * 5, [2, 2])
    program = SmoothMargin(data, mm.naive_bayes(data), lam=0.5).build(ProgramKind.NONLINEAR)
    result = solver(gradient_tol=0.0, rel_change=0.0).solve(program)
    assert result.termination_status is TerminationStatus.LOCALLY_OPTIMAL
    assert result.stats["gradient_norm"] == 0.0
    assert result.bounds.primal_bound == -10.0


@every_solver
def test_an_objective_that_is_not_a_number_leaves_no_solution(solver):
    program = NonlinearProgram(lambda x: (math.nan, x), x0=np.ones(2))
    result = solver().solve(program)
    assert result.termination_status is TerminationStatus.NUMERICAL_ERROR
    assert result.solution_status is SolutionStatus.NO_SOLUTION
    assert result.solution is None
    assert result.bounds.primal_bound is None


@every_solver
def test_an_unbounded_objective_ends(solver):
    program = NonlinearProgram(lambda x: (float(x.sum()), np.ones_like(x)), x0=np.zeros(2))
    result = solver(max_iterations=50).solve(program)
    assert result.termination_status is not TerminationStatus.OPTIMAL
    assert result.bounds.primal_bound < -1


@every_solver
def test_flat_ends_are_told_as_slow_progress(solver):
    """A gradient that promises a decrease which never comes."""
    program = NonlinearProgram(lambda x: (1.0, np.ones_like(x)), x0=np.zeros(2))
    result = solver().solve(program)
    assert result.termination_status is TerminationStatus.SLOW_PROGRESS
    np.testing.assert_array_equal(result.solution, program.x0)


# -- validation --------------------------------------------------------------------------------------------------------


@every_solver
def test_the_iterate_with_the_best_validation_score_is_returned(solver):
    best = np.array([1.0, 0.5, 0.1])  # on the way down, never the bottom
    marks = []

    def monitor(x):
        marks.append((-float(np.sum((x - best) ** 2)), x.copy()))
        return marks[-1][0]

    result = solver(patience=4, gradient_tol=0.0, rel_change=0.0).solve(bowl(monitor=monitor))
    assert result.termination_status is TerminationStatus.SLOW_PROGRESS
    assert "not improved for 4 iterations" in result.raw_status
    top = max(range(len(marks)), key=lambda k: marks[k][0])
    np.testing.assert_array_equal(result.solution, marks[top][1])
    assert result.stats["best_iteration"] == top
    assert result.stats["best_monitor"] == marks[top][0]
    assert len(marks) == top + 5
    assert result.bounds.primal_bound == bowl().value(result.solution)
    assert result.trace.bounds.primal_bound == result.bounds.primal_bound


@every_solver
def test_among_equal_validation_scores_the_first_is_kept(solver):
    result = solver(patience=3, gradient_tol=0.0, rel_change=0.0).solve(bowl(monitor=lambda x: 1.0))
    assert result.stats["best_iteration"] == 0
    np.testing.assert_array_equal(result.solution, bowl().x0)


# -- interruption, events, trace ---------------------------------------------------------------------------------------


@every_solver
def test_an_interrupt_keeps_the_best_point(solver):
    seen = []

    def interrupted(x):
        if len(seen) == 9:
            raise KeyboardInterrupt
        seen.append((rosenbrock(x)[0], x.copy()))
        return rosenbrock(x)

    result = solver().solve(NonlinearProgram(interrupted, x0=np.array([-1.2, 1.0])))
    assert result.termination_status is TerminationStatus.INTERRUPTED
    value, x = min(seen, key=lambda pair: pair[0])
    assert result.bounds.primal_bound == value
    np.testing.assert_array_equal(result.solution, x)


@every_solver
def test_a_callback_can_stop_the_run_and_hears_of_every_iteration(solver):
    events = []

    def callback(event):
        events.append(event)
        return event.iterations == 4

    result = solver().solve(NonlinearProgram(rosenbrock, x0=np.array([-1.2, 1.0])), callback=callback)
    assert result.termination_status is TerminationStatus.INTERRUPTED
    assert [event.iterations for event in events] == [0, 1, 2, 3, 4]
    assert events[0].solution is not None
    bounds = [event.primal_bound for event in events]
    assert bounds == sorted(bounds, reverse=True)


@every_solver
def test_the_trace_has_a_record_for_each_iteration(solver):
    result = solver(max_iterations=8).solve(NonlinearProgram(rosenbrock, x0=np.array([-1.2, 1.0])))
    frame = result.trace.to_frame()
    assert frame["iterations"].tolist()[:9] == list(range(9))
    assert frame["primal_bound"].is_monotonic_decreasing
    assert frame["time_sec"].is_monotonic_increasing
    assert frame["event"].tolist()[0] == "start"
    assert frame["event"].tolist()[-1] == "final"


@every_solver
def test_a_given_start_is_used_and_never_lost(solver):
    start = np.array([0.5, 0.5, 0.5])
    result = solver(max_iterations=0).solve(bowl(), start=start)
    np.testing.assert_array_equal(result.solution, start)
    start.setflags(write=False)
    assert solver().solve(bowl(), start=start).bounds.primal_bound < bowl().value(start)


@every_solver
def test_equal_runs_give_equal_numbers(solver, overlapping):
    program = SmoothMargin(overlapping, mm.tan_cmi(overlapping)).build(ProgramKind.NONLINEAR)
    a, b = (solver(max_iterations=15).solve(program) for _ in range(2))
    np.testing.assert_array_equal(a.solution, b.solution)


# -- settings ----------------------------------------------------------------------------------------------------------


@every_solver
def test_options_are_settings_by_name(solver):
    program = NonlinearProgram(rosenbrock, x0=np.array([-1.2, 1.0]))
    assert solver(options={"max_iterations": 2}).solve(program).stats["iterations"] == 2
    with pytest.raises(InputError, match=f"{solver.name} has no option 'maxiter'; it takes .*max_iterations"):
        solver(options={"maxiter": 2}).solve(program)
    with pytest.raises(InputError, match="max_iterations must be a whole number >= 0, got -1"):
        solver(options={"max_iterations": -1}).solve(program)


@every_solver
def test_availability_is_found_by_solving(solver):
    assert solver.is_available()
    assert solver.version()
    assert solver.accepts == frozenset({ProgramKind.NONLINEAR})


@every_solver
def test_programs_of_other_kinds_are_refused(solver):
    with pytest.raises(InputError, match="takes a NonlinearProgram, got str"):
        solver().solve("program")
    bounded = NonlinearProgram(lambda x: (0.0, x), x0=np.zeros(1), lower=np.zeros(1))
    with pytest.raises(InputError, match="without constraints and bounds"):
        solver().solve(bounded)
    with pytest.raises(InputError, match=r"start has shape \(2,\)"):
        solver().solve(bowl(), start=np.zeros(2))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ConjugateGradientSolver(c2=1.0), "0 < c1 < c2 < 1, got c1=0.0001 and c2=1.0"),
        (lambda: ConjugateGradientSolver(update="polak-ribiere", c2=0.7), "0 < c1 < c2 < 0.5"),
        (lambda: ConjugateGradientSolver(update="pr"), "update must be 'dai-kou' or 'polak-ribiere', got 'pr'"),
        (lambda: LbfgsSolver(memory=0), "memory must be a whole number >= 1"),
        (lambda: ScipyCgSolver(patience=0), "patience must be a whole number >= 1"),
        (lambda: ScipyCgSolver(rel_change=math.nan), "rel_change must be a finite number"),
    ],
)
def test_settings_out_of_range_are_refused(make, message):
    with pytest.raises(InputError, match=message):
        make()
