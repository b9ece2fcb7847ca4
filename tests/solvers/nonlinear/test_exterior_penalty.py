"""The penalty method on programs whose optima are known, on programs without one, and under every way to stop it."""

import time
from collections.abc import Callable
from itertools import groupby
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import LinearConstraint, minimize

from mmbn_opt.exceptions import InputError
from mmbn_opt.formulations.mixture.constrained import ConstrainedMaximumMargin
from mmbn_opt.programs.nonlinear import ConstraintTargets, NonlinearProgram, PointEvaluation
from mmbn_opt.results.status import SolutionStatus, TerminationStatus
from mmbn_opt.solvers import SolverEvent
from mmbn_opt.solvers.nonlinear._penalty_inner import _search
from mmbn_opt.solvers.nonlinear._penalty_restarts import redraw
from mmbn_opt.solvers.nonlinear.exterior_penalty import ExteriorPenaltySolver


def program_of(
    objective: Callable[[np.ndarray], tuple[float, Any]],
    constraints: Callable[[np.ndarray], Any],
    jacobian: Callable[[np.ndarray], Any],
    x0: list[float],
    **fields: Any,
) -> NonlinearProgram:
    start = np.array(x0)
    return NonlinearProgram(
        lambda x: (objective(x)[0], np.array(objective(x)[1])),
        x0=start,
        constraints=lambda x: np.array(constraints(x)),
        jacobian=lambda x: np.array(jacobian(x)),
        n_constraints=len(constraints(start)),
        **fields,
    )


def hs22() -> NonlinearProgram:
    """Problem 22 of Hock and Schittkowski (1981): f* = 1 at (1, 1)."""
    return program_of(
        lambda x: ((x[0] - 2) ** 2 + (x[1] - 1) ** 2, [2 * (x[0] - 2), 2 * (x[1] - 1)]),
        lambda x: [2 - x[0] - x[1], x[1] - x[0] ** 2],
        lambda x: [[-1, -1], [-2 * x[0], 1]],
        [2.0, 2.0],
    )


def rosen_suzuki() -> NonlinearProgram:
    """Problem 43 of Hock and Schittkowski (1981): f* = -44 at (0, 1, 2, -1)."""
    return program_of(
        lambda x: (
            x[0] ** 2 + x[1] ** 2 + 2 * x[2] ** 2 + x[3] ** 2 - 5 * x[0] - 5 * x[1] - 21 * x[2] + 7 * x[3],
            [2 * x[0] - 5, 2 * x[1] - 5, 4 * x[2] - 21, 2 * x[3] + 7],
        ),
        lambda x: [
            8 - x @ x - x[0] + x[1] - x[2] + x[3],
            10 - x[0] ** 2 - 2 * x[1] ** 2 - x[2] ** 2 - 2 * x[3] ** 2 + x[0] + x[3],
            5 - 2 * x[0] ** 2 - x[1] ** 2 - x[2] ** 2 - 2 * x[0] + x[1] + x[3],
        ],
        lambda x: [
            [-2 * x[0] - 1, -2 * x[1] + 1, -2 * x[2] - 1, -2 * x[3] + 1],
            [-2 * x[0] + 1, -4 * x[1], -2 * x[2], -4 * x[3] + 1],
            [-4 * x[0] - 2, -2 * x[1] + 1, -2 * x[2], 1],
        ],
        [0.0, 0.0, 0.0, 0.0],
    )


def line(**fields: Any) -> NonlinearProgram:
    """Minimise x over x >= 1, from 5."""
    return program_of(lambda x: (x[0], [1.0]), lambda x: [x[0] - 1], lambda x: [[1.0]], [5.0], **fields)


def contradiction() -> NonlinearProgram:
    """x >= 1 and x <= -1: the least sum of squared violations is 2, at 0."""
    return program_of(lambda x: (0.1 * x[0], [0.1]), lambda x: [x[0] - 1, -1 - x[0]], lambda x: [[1.0], [-1.0]], [3.0])


# -- known optima ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "optimum", "value"), [(hs22, [1, 1], 1.0), (rosen_suzuki, [0, 1, 2, -1], -44.0), (line, [1], 1.0)]
)
@pytest.mark.parametrize("inner", ["lbfgs", "golden-section"])
def test_known_optima(make: Callable[[], NonlinearProgram], optimum: list[float], value: float, inner: str) -> None:
    steps = {"lbfgs": 1000, "golden-section": 100}[inner]
    result = ExteriorPenaltySolver(inner=inner, gradient_tol=1e-5, max_inner=steps).solve(make())
    assert result.solution_status is SolutionStatus.FEASIBLE
    assert result.solution is not None
    np.testing.assert_allclose(result.solution, optimum, atol=2e-3)
    assert result.bounds.primal_bound == pytest.approx(value, abs=2e-3)
    assert result.bounds.dual_bound is None
    if inner == "lbfgs":
        assert result.termination_status is TerminationStatus.LOCALLY_OPTIMAL
        assert result.bounds.primal_bound == pytest.approx(value, abs=1e-5)


@given(seed=st.integers(0, 100_000), n=st.integers(1, 4), m=st.integers(1, 5))
@settings(max_examples=25)
def test_convex_quadratic_programs_agree_with_slsqp(seed: int, n: int, m: int) -> None:
    rng = np.random.default_rng(seed)
    centre, A = rng.normal(size=n), rng.normal(size=(m, n))
    b = A @ rng.normal(size=n) - rng.uniform(0.1, 1, m)  # there is an interior
    program = program_of(
        lambda x: (float((x - centre) @ (x - centre)), 2 * (x - centre)), lambda x: A @ x - b, lambda x: A, [0.0] * n
    )
    result = ExteriorPenaltySolver(gradient_tol=1e-6).solve(program)
    other = minimize(
        program.value_and_gradient, np.zeros(n), jac=True, method="SLSQP", constraints=LinearConstraint(A, b, np.inf),
        options={"ftol": 1e-14},
    )  # fmt: skip
    assert result.solution_status is SolutionStatus.FEASIBLE
    assert result.bounds.primal_bound == pytest.approx(other.fun, rel=1e-4, abs=1e-4)


def test_without_shifts_the_penalty_alone_comes_near() -> None:
    result = ExteriorPenaltySolver(shifts=False, max_outer=12, patience=20).solve(hs22())
    assert result.solution is not None
    np.testing.assert_allclose(result.solution, [1, 1], atol=1e-2)


def test_a_program_without_constraints_is_just_minimised() -> None:
    program = NonlinearProgram(
        lambda x: (float((x - 3) @ (x - 3)), 2 * (x - 3)), x0=np.zeros(2), upper=np.array([1.0, 9.0])
    )
    result = ExteriorPenaltySolver(gradient_tol=1e-8).solve(program)
    assert result.termination_status is TerminationStatus.LOCALLY_OPTIMAL
    assert result.solution is not None
    np.testing.assert_allclose(result.solution, [1, 3], atol=1e-6)


@pytest.mark.parametrize("inner", ["lbfgs", "golden-section"])
def test_the_box_is_never_left(inner: str) -> None:
    seen: list[np.ndarray] = []
    base = hs22()

    def watched(x: np.ndarray) -> tuple[float, np.ndarray]:
        seen.append(x.copy())
        return base.value_and_gradient(x)

    program = NonlinearProgram(
        watched, x0=np.array([9.0, 9.0]), lower=np.array([-1.0, 0.0]), upper=np.array([0.5, 2.0]),
        constraints=base.constraints, jacobian=base.jacobian, n_constraints=2,
    )  # fmt: skip
    result = ExteriorPenaltySolver(inner=inner).solve(program)
    assert all((x >= [-1, 0]).all() and (x <= [0.5, 2]).all() for x in seen)
    assert result.solution is not None
    np.testing.assert_allclose(result.solution, [0.5, 1.0], atol=1e-2)


def test_one_pass_evaluation_gives_the_same_answer_as_the_separate_callables() -> None:
    base = rosen_suzuki()
    assert base.constraints is not None
    assert base.jacobian is not None
    constraints, jacobian = base.constraints, base.jacobian

    def evaluate(x: np.ndarray) -> PointEvaluation:
        value, gradient = base.value_and_gradient(x)
        return PointEvaluation(value, constraints(x), lambda w: gradient + jacobian(x).T @ w)

    fused = NonlinearProgram(
        base.value_and_gradient, base.x0, constraints=constraints, n_constraints=3, evaluate=evaluate
    )
    one, two = (ExteriorPenaltySolver().solve(p).solution for p in (base, fused))
    assert one is not None
    assert two is not None
    np.testing.assert_array_equal(one, two)


@given(minimum=st.floats(1e-6, 1e6), step=st.floats(1e-8, 1e8))
def test_golden_section_finds_the_minimum_of_a_parabola(minimum: float, step: float) -> None:
    found = _search(lambda t: (t / minimum - 1.0) ** 2, 1.0, step)
    assert found == pytest.approx(minimum, rel=2e-3)


def test_golden_section_says_when_no_step_helps() -> None:
    assert _search(lambda t: 1.0 + t, 1.0, 1.0) == 0.0


# -- infeasible, and never lost -------------------------------------------------------------------------------------


def test_an_infeasible_program_gives_the_least_violation_and_says_so() -> None:
    result = ExteriorPenaltySolver().solve(contradiction())
    assert result.termination_status is TerminationStatus.SLOW_PROGRESS
    assert "may be infeasible" in result.raw_status
    assert result.solution_status is SolutionStatus.INFEASIBLE
    assert result.bounds.primal_bound is None
    assert result.solution is not None
    np.testing.assert_allclose(result.solution, [0.0], atol=1e-2)
    assert result.stats["violated"] == 2
    assert result.stats["violation"] == pytest.approx(1.0, abs=1e-2)
    assert result.stats["targets_met"] is None


def test_a_better_start_is_kept() -> None:
    """Two valleys: the path from the start of the program leads to the worse one."""
    program = program_of(
        lambda x: (float(np.cos(3 * x[0]) + 0.1 * x[0]), [-3 * np.sin(3 * x[0]) + 0.1]), lambda x: [x[0] - 0.5],
        lambda x: [[1.0]], [3.0], upper=np.array([4.0]),
    )  # fmt: skip
    far = ExteriorPenaltySolver().solve(program)
    near = ExteriorPenaltySolver().solve(program, start=np.array([1.0]))
    assert far.bounds.primal_bound is not None
    assert near.bounds.primal_bound is not None
    assert near.bounds.primal_bound < far.bounds.primal_bound
    kept = ExteriorPenaltySolver(max_outer=1, max_inner=1, inner="golden-section").solve(program, start=near.solution)
    assert kept.bounds.primal_bound is not None
    assert kept.bounds.primal_bound <= near.bounds.primal_bound


def wells(**fields: Any) -> NonlinearProgram:
    """Minimise the sum of ``cos(3 x) + 0.1 x`` over [0.5, 10.5]^3: one of its wells is the deepest."""
    return program_of(
        lambda x: (float(np.sum(np.cos(3 * x) + 0.1 * x)), -3 * np.sin(3 * x) + 0.1), lambda x: [x[0] - 0.6],
        lambda x: [[1.0, 0.0, 0.0]], [9.0] * 3, lower=np.full(3, 0.5), upper=np.full(3, 10.5), **fields,
    )  # fmt: skip


def test_restarts_leave_a_poor_valley_and_never_lose_the_answer() -> None:
    alone, more = (ExteriorPenaltySolver(restarts=n).solve(wells()) for n in (0, 40))
    deepest = 3 * min(np.cos(3 * t) + 0.1 * t for t in np.linspace(0.6, 10.5, 100_001))
    assert alone.bounds.primal_bound is not None
    assert more.bounds.primal_bound is not None
    assert alone.bounds.primal_bound > deepest + 1.0
    assert more.bounds.primal_bound == pytest.approx(deepest, abs=1e-4)
    assert {o.run for o in more.stats["outer"]} == set(range(41))
    assert "of 40 restarts found something better" in more.raw_status
    again = ExteriorPenaltySolver(restarts=40).solve(wells())
    np.testing.assert_array_equal(again.solution, more.solution)


@pytest.mark.parametrize("program", [hs22(), wells(monitor=lambda x: 0.0)], ids=["no box", "validation"])
def test_there_are_no_restarts_without_a_box_or_with_validation(program: NonlinearProgram) -> None:
    result = ExteriorPenaltySolver(restarts=5).solve(program)
    assert {o.run for o in result.stats["outer"]} == {0}


def test_a_redrawn_point_stays_in_the_box_and_keeps_most_coordinates() -> None:
    lower, upper = np.full(1000, 1.0), np.full(1000, 2.0)
    upper[500:] = 1e6
    moved = redraw(np.full(1000, 1.5), lower, upper, np.random.default_rng(0))
    changed = moved != 1.5
    assert 20 < changed[:500].sum() < 100
    assert not changed[500:].any()
    assert (moved >= lower).all()
    assert (moved <= upper).all()


def test_rough_inner_runs_come_to_the_same_optimum() -> None:
    rough, exact = (ExteriorPenaltySolver(rel_progress=share).solve(rosen_suzuki()) for share in (1e-3, 0.0))
    for result in (rough, exact):
        assert result.termination_status is TerminationStatus.LOCALLY_OPTIMAL
        assert result.bounds.primal_bound == pytest.approx(-44.0, abs=1e-5)


def test_the_trace_is_monotone_and_ends_at_the_answer() -> None:
    result = ExteriorPenaltySolver().solve(rosen_suzuki())
    records = list(result.trace)
    assert records[0].event == "start"
    assert records[-1].event == "final"
    assert result.trace.bounds == result.bounds
    values = [r.primal_bound for r in records if r.primal_bound is not None]
    assert values == sorted(values, reverse=True)
    outer = result.stats["outer"]
    assert [o.penalty for o in outer] == sorted(o.penalty for o in outer)
    assert outer[-1].violation <= 1e-6
    assert sum(o.inner_iterations for o in outer) <= result.stats["iterations"]


# -- ways to stop ---------------------------------------------------------------------------------------------------


def slow(program: NonlinearProgram, seconds: float) -> NonlinearProgram:
    def wait(x: np.ndarray) -> tuple[float, np.ndarray]:
        time.sleep(seconds)
        return program.value_and_gradient(x)

    return NonlinearProgram(
        wait,
        program.x0,
        constraints=program.constraints,
        jacobian=program.jacobian,
        n_constraints=program.n_constraints,
    )


def test_the_time_limit_is_kept_and_the_best_point_returned() -> None:
    result = ExteriorPenaltySolver(time_limit=0.1).solve(slow(line(), 0.02))
    assert result.termination_status is TerminationStatus.TIME_LIMIT
    assert result.solution_status is SolutionStatus.FEASIBLE
    assert result.stats["solve_sec"] < 5


def test_no_time_leaves_the_start() -> None:
    result = ExteriorPenaltySolver(time_limit=0.0).solve(line())
    assert result.termination_status is TerminationStatus.TIME_LIMIT
    assert result.solution is not None
    assert result.solution.tolist() == [5.0]


@pytest.mark.parametrize("end", ["callback", "interrupt"])
def test_a_callback_and_ctrl_c_end_the_run_with_the_best_point(end: str) -> None:
    events: list[SolverEvent] = []

    def listen(event: SolverEvent) -> bool:
        events.append(event)
        if len(events) < 3:
            return False
        if end == "interrupt":
            raise KeyboardInterrupt
        return True

    result = ExteriorPenaltySolver().solve(slow(line(), 0.02), callback=listen)
    assert result.termination_status is TerminationStatus.INTERRUPTED
    assert len(events) == 3
    assert result.solution_status is SolutionStatus.FEASIBLE
    told = [e.solution for e in events if e.solution is not None]
    assert told
    assert result.bounds.primal_bound is not None
    assert result.bounds.primal_bound <= min(float(x[0]) for x in told)


def test_limits_on_iterations() -> None:
    result = ExteriorPenaltySolver(max_outer=1, max_inner=1).solve(rosen_suzuki())
    assert result.termination_status is TerminationStatus.ITERATION_LIMIT
    assert len(result.stats["outer"]) == 1
    for limit in (0, 7, 40):
        result = ExteriorPenaltySolver(max_iterations=limit, max_inner=10).solve(rosen_suzuki())
        assert result.termination_status is TerminationStatus.ITERATION_LIMIT
        assert sum(o.inner_iterations for o in result.stats["outer"]) == limit


def test_an_error_of_the_callback_is_not_swallowed() -> None:
    def fail(event: SolverEvent) -> bool:
        raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"):
        ExteriorPenaltySolver().solve(line(), callback=fail)


def test_a_value_that_is_not_a_number_is_a_numerical_error() -> None:
    program = NonlinearProgram(lambda x: (float("nan") if x[0] < 4 else float(x[0]), np.ones(1)), x0=np.array([5.0]))
    result = ExteriorPenaltySolver().solve(program)
    assert result.termination_status is TerminationStatus.NUMERICAL_ERROR
    assert result.solution is not None
    assert result.solution[0] >= 4


# -- targets and validation -----------------------------------------------------------------------------------------


def capped(growth: float, printed: bool = False, cap: float = 50.0) -> NonlinearProgram:
    """x >= xi with xi = 1, which may be raised; x is at most `cap`, and the objective pulls it down."""
    return program_of(
        lambda x: (0.1 * x[0], [0.1]), lambda x: [x[0] - 1], lambda x: [[1.0]], [0.5], upper=np.array([cap]),
        targets=ConstraintTargets(np.ones(1), growth, printed),
    )  # fmt: skip


def test_targets_are_raised_while_they_are_met_and_the_run_ends_when_they_are_not() -> None:
    result = ExteriorPenaltySolver().solve(capped(10.0))
    factors = [o.target_factor for o in result.stats["outer"]]
    tried = [(factor, len(list(group))) for factor, group in groupby(round(f, 3) for f in factors)]
    assert [factor for factor, _ in tried] == [1.0, 10.0, 100.0, 31.623, 100.0, 56.234]
    assert max(count for _, count in tried) <= 1 + ExteriorPenaltySolver().patience
    assert "times 31.6228; times 56.2341 was not reached" in result.raw_status
    assert result.solution_status is SolutionStatus.FEASIBLE
    best = min(o.objective for o in result.stats["outer"] if o.violation <= 1e-6)
    assert result.bounds.primal_bound is not None
    assert result.bounds.primal_bound <= best


def test_the_target_that_is_said_to_be_met_is_met_by_the_answer() -> None:
    program = program_of(
        lambda x: (-x[0], [-1.0]), lambda x: [x[0] - 1], lambda x: [[1.0]], [0.5], upper=np.array([50.0]),
        targets=ConstraintTargets(np.ones(1), 10.0),
    )  # fmt: skip
    result = ExteriorPenaltySolver().solve(program)
    assert result.solution is not None
    assert result.solution[0] == 50.0
    assert result.stats["targets_met"] == pytest.approx(10 * 10**0.5)


def test_the_printed_penalty_pushes_away_from_the_target() -> None:
    """At 0.5 with xi = 1: (xi - g)^2 leads to xi, g^2 on the violated set leads to 0 and below."""
    exterior = ExteriorPenaltySolver().solve(capped(1.0))
    printed = ExteriorPenaltySolver().solve(capped(1.0, printed=True))
    assert exterior.solution is not None
    assert printed.solution is not None
    assert exterior.solution[0] == pytest.approx(1.0, abs=1e-5)
    assert exterior.solution_status is SolutionStatus.FEASIBLE
    assert printed.stats["outer"][0].violation == pytest.approx(1.05, abs=1e-3)  # 0.1 x + x^2 is least at -0.05
    assert printed.stats["outer"][-1].violation == pytest.approx(1.0, abs=1e-3)
    assert printed.solution_status is SolutionStatus.INFEASIBLE


def test_the_best_score_is_kept_and_a_run_without_better_ones_ends() -> None:
    program = program_of(
        lambda x: (x[0], [1.0]), lambda x: [x[0] - 1], lambda x: [[1.0]], [5.0],
        monitor=lambda x: -abs(float(x[0]) - 4.0), targets=ConstraintTargets(np.ones(1), 1.5), upper=np.array([1e6]),
    )  # fmt: skip
    result = ExteriorPenaltySolver(inner="golden-section", penalty=1e-3).solve(program, start=np.array([4.5]))
    assert result.raw_status == "the validation score no longer improves"
    assert result.stats["score"] == max(-0.5, *(o.score for o in result.stats["outer"]))
    assert result.trace.bounds == result.bounds


# -- settings -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"inner": "newton"}, "inner must be one of lbfgs, golden-section, got 'newton'"),
        ({"penalty": 0.0}, "penalty must be positive, got 0.0"),
        ({"penalty_growth": 1.0}, "penalty_growth must be above 1, got 1.0"),
        ({"max_outer": 0}, "max_outer must be positive, got 0"),
    ],
)
def test_bad_settings_are_refused(fields: dict[str, Any], text: str) -> None:
    with pytest.raises(InputError, match=text):
        ExteriorPenaltySolver(**fields)
    with pytest.raises(InputError, match=text):
        ExteriorPenaltySolver(options=fields).solve(line())


def test_options_go_by_name() -> None:
    assert len(ExteriorPenaltySolver(options={"max_outer": 2}).solve(hs22()).stats["outer"]) == 2
    with pytest.raises(InputError, match=r"has no options \['maxiter'\]; it takes \['gradient_tol', 'inner'"):
        ExteriorPenaltySolver(options={"maxiter": 2}).solve(line())


def test_what_cannot_be_minimised_is_refused() -> None:
    with pytest.raises(InputError, match="minimises a NonlinearProgram, got int"):
        ExteriorPenaltySolver().solve(3)
    bare = NonlinearProgram(lambda x: (0.0, x), np.zeros(1), constraints=lambda x: x, n_constraints=1)
    with pytest.raises(InputError, match="needs the Jacobian"):
        ExteriorPenaltySolver().solve(bare)
    with pytest.raises(InputError, match=r"The start has shape \(2,\); the program has 1 columns"):
        ExteriorPenaltySolver().solve(line(), start=np.zeros(2))


# -- on mixtures ----------------------------------------------------------------------------------------------------


def two_clouds(seed: int = 0, gap: float = 3.0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return np.concatenate([rng.normal(0, 1, (30, 2)), rng.normal(gap, 1, (30, 2))]), np.repeat([0, 1], 30)


def test_cmm_on_separable_data_ends_with_every_sample_beyond_the_final_xi() -> None:
    formulation = ConstrainedMaximumMargin(*two_clouds(), 2)
    program = formulation.build()
    result = ExteriorPenaltySolver(time_limit=20, max_inner=300, restarts=1).solve(program)
    assert result.solution_status is SolutionStatus.FEASIBLE
    assert result.solution is not None
    model = formulation.recover(result.solution)
    final_xi = formulation.xi * result.stats["targets_met"]
    assert formulation.log_odds(model).min() >= final_xi - 1e-6
    assert formulation.check(model)[0].ok
    assert formulation.evaluate(model) == pytest.approx(-result.bounds.primal_bound, rel=1e-9)  # type: ignore[operator]
    assert formulation.evaluate(model) > formulation.evaluate(formulation.trivial_start().model)
    assert model.score(formulation.X, formulation.y) == 1.0


def test_cmm_on_contradictory_data_says_which_samples_violate() -> None:
    X, y = two_clouds()
    X, y = np.vstack([X, X[:2]]), np.concatenate([y, 1 - y[:2]])  # two samples with both labels
    formulation = ConstrainedMaximumMargin(X, y, 2)
    result = ExteriorPenaltySolver(time_limit=20, max_inner=200, restarts=0).solve(formulation.build())
    assert result.solution_status is SolutionStatus.INFEASIBLE
    assert result.solution is not None
    table = formulation.violated_samples(formulation.recover(result.solution))
    assert {0, 60} & set(table["row"])
    assert {1, 61} & set(table["row"])
    assert len(table) == result.stats["violated"]
    assert table["violation"].max() == pytest.approx(result.stats["violation"])


def test_cmm_steps_of_the_printed_penalty_move_samples_away_from_xi() -> None:
    """All samples on their side, none beyond xi: one step of each penalty from the same start."""
    X, y = two_clouds(gap=8.0)
    missed = {}
    for penalty in ("exterior", "printed"):
        formulation = ConstrainedMaximumMargin(X, y, 1, xi=1000.0, penalty=penalty, xi_growth=1.0)  # type: ignore[arg-type]
        program = formulation.build()
        assert program.constraints is not None
        before = program.constraints(program.x0)
        assert ((before < 0) & (before + 1000.0 > 0)).all()
        missed["start"] = float((before**2).sum())
        solver = ExteriorPenaltySolver(inner="golden-section", penalty=1000.0, max_outer=1, max_inner=1)
        missed[penalty] = solver.solve(program).stats["outer"][0].total
    assert missed["exterior"] < missed["start"] < missed["printed"]


@pytest.mark.parametrize("name", ["iris", "wine", "wdbc"])
@pytest.mark.shared
def test_lbfgs_reaches_a_larger_margin_than_the_papers_descent_in_fewer_evaluations(
    shared_table: Any, name: str
) -> None:
    """By count, so that a busy machine cannot change the answer (a processor that adds in another order still can).

    The seconds are in benchmarks/cmm.
    """
    frame, _ = shared_table(name)
    pair = sorted(frame["class"].unique())[-2:]
    frame = frame[frame["class"].isin(pair)]
    formulation = ConstrainedMaximumMargin(frame.drop(columns="class"), frame["class"], 2, xi_growth=1.0)
    program = formulation.build()
    quick = ExteriorPenaltySolver(max_outer=3, max_inner=500, restarts=0).solve(program)
    slow_one = ExteriorPenaltySolver(inner="golden-section", max_outer=3, max_inner=100).solve(program)
    assert quick.stats["evaluations"] < slow_one.stats["evaluations"] * 0.75
    assert quick.stats["violation"] <= slow_one.stats["violation"]
    assert quick.solution is not None
    assert slow_one.solution is not None
    assert program.value(quick.solution) < program.value(slow_one.solution)
