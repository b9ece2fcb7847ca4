"""Convex solvers: each against the others, their bounds against the truth, limits, stops, starts."""

import time
from dataclasses import replace

import numpy as np
import pytest

import mmbn_opt as mm
from mmbn_opt.exceptions import InputError
from mmbn_opt.formulations.parameters.relaxation import MaxMarginRelaxation
from mmbn_opt.networks.network import BayesianNetwork
from mmbn_opt.programs.base import ProgramKind
from mmbn_opt.programs.nonlinear import NonlinearProgram
from mmbn_opt.results.status import SolutionStatus, TerminationStatus
from mmbn_opt.solvers.convex._hosted import HostedConvexSolver
from mmbn_opt.solvers.convex.chain import ConvexChainSolver
from mmbn_opt.solvers.convex.cvxpy_conic import ClarabelSolver, EcosSolver, ScsSolver
from mmbn_opt.solvers.convex.first_order import FirstOrderSolver
from mmbn_opt.solvers.convex.interior_point import InteriorPointSolver
from mmbn_opt.solvers.convex.ipopt import IpoptSolver
from mmbn_opt.solvers.convex.linear_form import LinearFormSolver
from mmbn_opt.solvers.convex.log_barrier import LogBarrierSolver
from mmbn_opt.solvers.convex.proximal_newton import ProximalNewtonSolver

BUILT_IN = [ClarabelSolver, EcosSolver, LogBarrierSolver, InteriorPointSolver, ConvexChainSolver]
# IPOPT comes with an extra.
ACCURATE = [*BUILT_IN, *([IpoptSolver] if IpoptSolver.is_available() else [])]
ALL = [*ACCURATE, ScsSolver, FirstOrderSolver, ProximalNewtonSolver]


def random_data(seed, n_rows=60, n_features=3, n_states=3, n_classes=3, noise=0.3):
    """Features that know something of the class."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n_rows)
    X = (y[:, None] + rng.integers(0, n_states, n_features)) % n_states
    X = np.where(rng.random(X.shape) < noise, rng.integers(0, n_states, X.shape), X)
    y[:n_classes] = range(n_classes)
    return mm.DiscreteDataset.from_arrays(X, y)


def small_problems():
    """Ten: naive Bayes and TAN, 2 to 7 classes, floor and hybrid, gamma or B."""
    settings = [
        {"gamma": 2.0, "normalization": "floor"},
        {"gamma": 5.0},
        {"B": 0.05},
        {"gamma": 1.0, "normalization": "floor", "min_prob": 1e-3},
        {"B": 1.0, "normalization": "floor"},
    ]
    for k in range(10):
        n_classes = (2, 3, 4, 5, 7)[k % 5]
        data = random_data(k, n_classes=n_classes, n_states=2 + k % 2, noise=0.5)
        structure = mm.naive_bayes(data) if k < 5 else mm.tan_cmi(data)
        yield MaxMarginRelaxation(data, structure, **settings[(k + k // 5) % 5])


PROBLEMS = list(small_problems())


@pytest.mark.parametrize("k", range(10))
def test_all_solvers_agree_and_the_certified_gap_contains_the_truth(k):
    relaxation = PROBLEMS[k]
    program = relaxation.build()
    assert program.margins.n_parameters < 300
    answers = {s.name: s().solve(program) for s in ACCURATE}
    answers["first_order"] = FirstOrderSolver(rel_gap=5e-4, time_limit=60.0).solve(program)
    truth = min(a.bounds.primal_bound for a in answers.values())
    for name, answer in answers.items():
        tolerance = 1e-3 if name == "first_order" else 1e-5
        if name == "ecos" and answer.termination_status is TerminationStatus.SOLVER_ERROR:
            assert "ECOS" in answer.raw_status  # it does fail now and then, and says so
        else:
            assert answer.bounds.primal_bound == pytest.approx(truth, rel=tolerance), name
        assert answer.bounds.dual_bound <= truth * (1 + 1e-9) + 1e-9, name
        assert answer.solution_status is SolutionStatus.FEASIBLE
        assert program.violation(answer.solution) <= 1e-9
        assert program.value(answer.solution) == pytest.approx(answer.bounds.primal_bound)
        assert relaxation.evaluate(relaxation.recover(answer.solution)) == pytest.approx(
            answer.bounds.primal_bound, rel=1e-9
        )
        if "multipliers" in answer.stats:
            proved = relaxation.prove_bound(answer.multipliers)
            assert proved == pytest.approx(answer.bounds.dual_bound, rel=1e-6)
        for record in answer.trace:
            assert record.dual_bound is None or record.dual_bound <= truth * (1 + 1e-9) + 1e-9, name
            assert record.primal_bound is None or record.primal_bound >= truth * (1 - 1e-5) - 1e-9, name


@pytest.mark.parametrize("method", ["primal_dual", "smoothing"])
@pytest.mark.parametrize("k", [0, 1, 7])
def test_both_first_order_methods_end_at_the_same_optimum(method, k):
    program = PROBLEMS[k].build()
    truth = InteriorPointSolver().solve(program).bounds
    answer = FirstOrderSolver(method=method, rel_gap=1e-3, time_limit=60.0).solve(program)
    assert answer.termination_status is TerminationStatus.OPTIMAL
    assert answer.stats["method"] == method
    assert truth.dual_bound <= answer.bounds.primal_bound * (1 + 1e-9)
    assert answer.bounds.dual_bound <= truth.primal_bound * (1 + 1e-9)


def test_the_primal_dual_method_converges_linearly_where_smoothing_stalls():
    """A floor and a small margin, the hard regime: the number of iterations is counted, not the time."""
    data = random_data(3, n_rows=300, n_features=8, noise=0.5)
    program = MaxMarginRelaxation(data, mm.naive_bayes(data), gamma=1.0, normalization="floor").build()
    fast = FirstOrderSolver(rel_gap=1e-3, max_iterations=20_000).solve(program)
    slow = FirstOrderSolver(rel_gap=1e-3, max_iterations=fast.stats["iterations"], method="smoothing").solve(program)
    assert fast.termination_status is TerminationStatus.OPTIMAL
    assert slow.bounds.gap_rel > fast.bounds.gap_rel
    assert fast.stats["restarts"] >= 1


def test_an_unknown_first_order_method_is_refused():
    with pytest.raises(InputError, match='"primal_dual" or "smoothing"'):
        FirstOrderSolver(method="simplex")


@pytest.mark.parametrize("solver", [ClarabelSolver, EcosSolver, *ACCURATE[5:]])
@pytest.mark.parametrize("seed", range(5))
def test_the_published_optimum_is_that_of_a_linear_program_up_to_scale(solver, seed):
    """``1.5 (B H*)^(2/3)``, found by cone solvers that know nothing of it, for three values of B."""
    data = random_data(seed, n_classes=2 + seed % 2, noise=0.6)
    structure = mm.naive_bayes(data) if seed % 2 else mm.tan_cmi(data)
    for strength in (0.1, 1.0, 10.0):
        relaxation = MaxMarginRelaxation(data, structure, B=strength, normalization="published")
        linear = LinearFormSolver().solve(relaxation.build())
        h = linear.stats["H"]
        assert h > 1.0
        optimum = 1.5 * (strength * h) ** (2 / 3)
        assert linear.bounds.primal_bound == pytest.approx(optimum, rel=1e-9)
        assert linear.bounds.dual_bound == pytest.approx(optimum, rel=1e-7)
        answer = solver().solve(relaxation.build())
        assert answer.stats["raw_objective"] == pytest.approx(optimum, rel=1e-5)
        assert answer.bounds.primal_bound == pytest.approx(optimum, rel=1e-5)
        assert answer.bounds.dual_bound <= optimum * (1 + 1e-9)


@pytest.mark.shared
def test_the_oracle_of_published_optima(shared_optima, shared_table):
    for case in shared_optima["published_relaxation"]:
        frame, _ = shared_table(case["dataset"])
        data = mm.DiscreteDataset.from_frame(frame.dropna(), "class")
        relaxation = MaxMarginRelaxation(data, mm.naive_bayes(data), B=1.0, normalization="published")
        exact = LinearFormSolver().solve(relaxation.build())
        assert exact.stats["H"] == pytest.approx(case["H"], abs=1e-6)
        assert exact.bounds.primal_bound == pytest.approx(case["optimum_B1"], rel=1e-8)
        assert exact.termination_status is TerminationStatus.OPTIMAL
        for solver in (ClarabelSolver, EcosSolver, ConvexChainSolver, *ACCURATE[5:]):
            answer = solver().solve(relaxation.build())
            assert answer.bounds.primal_bound == pytest.approx(case["optimum_B1"], rel=1e-5)


def separable():
    return mm.DiscreteDataset.from_arrays([["a"], ["b"]] * 5, [0, 1] * 5)


@pytest.mark.parametrize("solver", [LinearFormSolver, ClarabelSolver])
def test_a_published_problem_on_separable_data_is_never_called_solved(solver):
    data = separable()
    relaxation = MaxMarginRelaxation(data, mm.naive_bayes(data), B=1.0, normalization="published")
    answer = solver().solve(relaxation.build())
    assert answer.termination_status is not TerminationStatus.OPTIMAL
    assert answer.stats["separable"] is True
    assert "the infimum is 0 and not attained" in answer.raw_status
    # Scaled up, the point gets better without end.
    program = relaxation.build()
    assert program.value(2.0 * answer.solution) < program.value(answer.solution)


@pytest.mark.parametrize("solver", ALL)
def test_separable_data_with_a_floor_have_the_optimum_0_where_the_margin_fits(solver):
    data = separable()
    answer = solver().solve(MaxMarginRelaxation(data, mm.naive_bayes(data), gamma=1.0, normalization="floor").build())
    assert answer.termination_status is TerminationStatus.OPTIMAL
    assert 0 <= answer.bounds.primal_bound <= 1e-4
    assert answer.bounds.dual_bound <= answer.bounds.primal_bound


@pytest.mark.parametrize("solver", [*ALL, LinearFormSolver])
def test_a_time_limit_of_nothing_leaves_the_start_and_the_trivial_bound(solver):
    data = random_data(0)
    relaxation = MaxMarginRelaxation(data, mm.naive_bayes(data), gamma=3.0, normalization="published")
    start = relaxation.encode(relaxation.maximum_likelihood)
    answer = solver(time_limit=0.0).solve(relaxation.build(), start=start)
    assert answer.termination_status is TerminationStatus.TIME_LIMIT
    np.testing.assert_array_equal(answer.solution, start)
    assert answer.bounds.dual_bound == 0.0


@pytest.mark.parametrize("solver", ALL)
def test_a_time_limit_is_kept(solver):
    data = random_data(1, n_rows=3000, n_features=12, n_classes=6, n_states=4, noise=0.7)
    program = MaxMarginRelaxation(data, mm.naive_bayes(data), gamma=1.0, normalization="floor").build()
    begun = time.monotonic()
    answer = solver(time_limit=2.0).solve(program)
    # Generous, since machines are shared: without the limit these take far longer, or see that they get no further.
    assert time.monotonic() - begun < 30.0
    status = TerminationStatus
    assert answer.termination_status in (status.TIME_LIMIT, status.OPTIMAL, status.SLOW_PROGRESS)
    assert answer.solution is not None
    assert answer.bounds.is_consistent()


@pytest.mark.parametrize("solver", ALL)
def test_the_callback_stops_a_run_and_the_best_point_stays(solver):
    program = PROBLEMS[1].build()
    seen = []

    def stop(event):
        seen.append(event)
        return len(seen) >= 3

    answer = solver().solve(program, callback=stop)
    assert answer.termination_status in (TerminationStatus.INTERRUPTED, TerminationStatus.OPTIMAL)
    assert answer.solution is not None
    assert seen[0].solution is not None


@pytest.mark.parametrize("solver", ALL)
def test_a_better_start_than_the_answer_is_kept(solver):
    program = PROBLEMS[1].build()
    best = InteriorPointSolver().solve(program)
    answer = solver(rel_gap=0.5).solve(program, start=best.solution)
    assert answer.bounds.primal_bound <= best.bounds.primal_bound


@pytest.mark.parametrize("solver", [*ALL, LinearFormSolver])
def test_wrong_programs_and_starts_are_refused(solver):
    with pytest.raises(InputError, match=r"(solves|and) convex programs.*, got NonlinearProgram"):
        solver().solve(NonlinearProgram(lambda x: (float(x @ x), 2 * x), x0=np.zeros(2)))
    with pytest.raises(InputError, match=r"start has shape \(3,\)"):
        solver().solve(PROBLEMS[0].build(), start=np.zeros(3))
    also = {
        ProximalNewtonSolver: {ProgramKind.QUADRATIC},
        InteriorPointSolver: {ProgramKind.LIKELIHOOD},
        FirstOrderSolver: {ProgramKind.SEQUENCE, ProgramKind.CONVEX_PASSES},
    }
    rows = {ProgramKind.CONVEX_ROWS} if issubclass(solver, HostedConvexSolver) else set()
    assert solver.accepts == {ProgramKind.CONVEX} | rows | also.get(solver, set())
    assert solver.is_available()
    assert solver.version()


def test_an_option_that_a_solver_does_not_know_is_told():
    answer = ClarabelSolver(options={"no_such_option": 1}).solve(PROBLEMS[0].build())
    assert answer.termination_status is TerminationStatus.SOLVER_ERROR
    assert "no_such_option" in answer.raw_status
    for solver in (FirstOrderSolver, LogBarrierSolver, InteriorPointSolver):
        with pytest.raises(InputError, match="no_such_option"):
            solver(options={"no_such_option": 1})


def test_programs_too_large_for_a_dense_system_are_refused_with_the_number():
    program = PROBLEMS[0].build()
    for solver in (LogBarrierSolver, InteriorPointSolver):
        with pytest.raises(InputError, match=rf"all {program.margins.n_parameters} parameters.*max_parameters=5"):
            solver(max_parameters=5).solve(program)


def test_a_program_too_large_for_cones_is_refused_before_it_is_built():
    program = replace(PROBLEMS[0].build(), max_nonzeros=10)
    with pytest.raises(InputError, match="max_nonzeros=10"):
        ClarabelSolver().solve(program)
    assert FirstOrderSolver(rel_gap=1e-2).solve(program).termination_status is TerminationStatus.OPTIMAL


def test_a_child_process_gives_the_same_answer():
    program = PROBLEMS[0].build()
    inside, outside = ClarabelSolver(isolate=False).solve(program), ClarabelSolver(isolate=True).solve(program)
    assert inside.bounds.primal_bound == pytest.approx(outside.bounds.primal_bound, rel=1e-9)
    assert outside.stats["host"] == "child process"


def test_margins_of_another_scale_are_solved_too():
    program = PROBLEMS[0].build()
    delta = 1.0 + (np.arange(program.margins.n_samples)[:, None] + np.arange(program.margins.n_classes)) % 2
    scaled = replace(program, delta=delta)
    values = [s().solve(scaled).bounds for s in (ClarabelSolver, InteriorPointSolver)]
    assert values[0].primal_bound == pytest.approx(values[1].primal_bound, rel=1e-5)
    assert max(v.dual_bound for v in values) <= min(v.primal_bound for v in values) * (1 + 1e-9)


def test_the_whole_chain_returns_the_certified_point():
    relaxation = PROBLEMS[1]
    answer = InteriorPointSolver().solve(relaxation.build())
    model = relaxation.recover(answer.solution)
    network = model.normalize().network
    assert isinstance(network, BayesianNetwork)
    X = relaxation.data.codes
    np.testing.assert_array_equal(model.log_joint(X).argmax(axis=1)[:20], network.log_joint(X).argmax(axis=1)[:20])


@pytest.mark.parametrize("solver", ALL)
def test_an_interrupt_returns_the_best_point_and_the_bound(solver):
    program = PROBLEMS[4].build()
    seen = []

    def interrupt(event):
        seen.append(event)
        if len(seen) == 4:
            raise KeyboardInterrupt

    answer = solver().solve(program, callback=interrupt)
    assert answer.termination_status in (TerminationStatus.INTERRUPTED, TerminationStatus.OPTIMAL)
    assert answer.solution is not None
    assert answer.bounds.dual_bound is not None


@pytest.mark.parametrize("solver", ALL)
def test_an_exception_of_the_callback_reaches_the_caller(solver):
    def fail(event):
        raise ZeroDivisionError("in the callback")

    with pytest.raises(ZeroDivisionError, match="in the callback"):
        solver().solve(PROBLEMS[4].build(), callback=fail)


def test_the_primal_dual_method_gives_up_when_nothing_moves(monkeypatch):
    """A floating-point gap of zero is asked for; the run ends by itself and says why."""
    monkeypatch.setattr("mmbn_opt.solvers.convex._primal_dual.PATIENCE", 400)
    monkeypatch.setattr("mmbn_opt.solvers.ending.EXACT_GAP", 0.0)
    answer = FirstOrderSolver(rel_gap=0.0).solve(PROBLEMS[1].build())
    if answer.termination_status is not TerminationStatus.OPTIMAL:
        assert answer.termination_status is TerminationStatus.SLOW_PROGRESS
        assert answer.raw_status == "neither side moves any more"
    assert answer.bounds.gap_rel < 1e-8
    assert answer.stats["iterations"] < 1_000_000
