"""The default chain of convex solvers: what it says at its end, whoever stopped it, and what it proves."""

import math
import time

import numpy as np
import pytest
from scipy.linalg import LinAlgError

import mmbn_opt as mm
from mmbn_opt.formulations.parameters.relaxation import MaxMarginRelaxation
from mmbn_opt.results.status import TerminationStatus
from mmbn_opt.solvers.convex._chain_links import ResumableLink
from mmbn_opt.solvers.convex._proximal_state import ProximalState
from mmbn_opt.solvers.convex.chain import ConvexChainSolver
from mmbn_opt.solvers.convex.first_order import FirstOrderSolver
from mmbn_opt.solvers.convex.interior_point import InteriorPointSolver
from mmbn_opt.solvers.convex.proximal_newton import ProximalNewtonSolver
from mmbn_opt.solvers.convex.run import ConvexRun


def relaxation(n_rows: int = 60, n_features: int = 4, noise: float = 0.5, **settings) -> MaxMarginRelaxation:
    rng = np.random.default_rng(1)
    y = rng.integers(0, 4, n_rows)
    X = np.where(rng.random((n_rows, n_features)) < noise, rng.integers(0, 4, (n_rows, n_features)), y[:, None])
    data = mm.DiscreteDataset.from_arrays(X, y)
    return MaxMarginRelaxation(data, mm.tan_cmi(data), **{"gamma": 5.0, **settings})


SMALL = relaxation()
HARD = relaxation(3000, 20, 0.9, normalization="floor", gamma=1.0)
"""Seconds to a gap of 1e-6, whoever works."""


def test_a_limit_that_is_reached_is_a_limit_and_no_interrupt():
    program = HARD.build()
    answer = ConvexChainSolver(time_limit=0.3).solve(program)
    assert answer.termination_status is TerminationStatus.TIME_LIMIT
    assert answer.bounds.dual_bound <= answer.bounds.primal_bound
    result = mm.solve(HARD, time_limit=0.5)
    assert result.termination_status is TerminationStatus.TIME_LIMIT
    assert result.solver_name == "convex"


def test_a_stop_of_the_callback_is_an_interrupt():
    answer = ConvexChainSolver(time_limit=30.0).solve(HARD.build(), callback=lambda event: True)
    assert answer.termination_status is TerminationStatus.INTERRUPTED
    assert answer.solution is not None


@pytest.fixture
def proximal_gives_up(monkeypatch):
    """After its first round the proximal Newton method says that it makes no progress."""
    monkeypatch.setattr(ProximalState, "is_stuck", lambda self, gap: True)


@pytest.mark.parametrize("solver", [FirstOrderSolver, ProximalNewtonSolver, InteriorPointSolver])
def test_ctrl_c_within_a_link_ends_the_chain(solver, proximal_gives_up, monkeypatch):
    steps, seen = solver.steps, []

    def interrupted(self, *arguments):
        for run in steps(self, *arguments):
            seen.append(run)
            raise KeyboardInterrupt
            yield run

    monkeypatch.setattr(solver, "steps", interrupted)
    answer = ConvexChainSolver().solve(SMALL.build())
    assert len(seen) == 1
    assert answer.termination_status is TerminationStatus.INTERRUPTED
    assert answer.solution is not None


def test_where_one_breaks_down_another_proves_the_gap_and_each_is_heard(proximal_gives_up, monkeypatch):
    def broken(*_):
        raise LinAlgError("broken on purpose")

    monkeypatch.setattr("mmbn_opt.solvers.convex.interior_point.InteriorState.iterate", broken)
    answer = ConvexChainSolver().solve(SMALL.build())
    assert answer.termination_status is TerminationStatus.OPTIMAL
    assert "proximal_newton: the gap no longer falls; interior_point: broken on purpose" in answer.raw_status
    assert answer.stats["links"] >= 3


def test_the_cone_solver_takes_over_when_the_built_in_ones_have_given_up(proximal_gives_up, monkeypatch):
    from mmbn_opt.solvers.convex._primal_dual import PrimalDual

    def broken(*_):
        raise LinAlgError("broken on purpose")

    def exhausted(self):
        self.exhausted = True

    monkeypatch.setattr("mmbn_opt.solvers.convex.interior_point.InteriorState.iterate", broken)
    monkeypatch.setattr(PrimalDual, "check", exhausted)
    answer = ConvexChainSolver().solve(SMALL.build())
    assert answer.termination_status is TerminationStatus.OPTIMAL
    assert answer.raw_status == (
        "first_order: neither side moves any more; proximal_newton: the gap no longer falls; "
        "interior_point: broken on purpose; clarabel: optimal"
    )


def test_a_chain_of_those_that_gave_up_ends_and_says_so(proximal_gives_up, monkeypatch):
    from mmbn_opt.solvers.convex._primal_dual import PrimalDual
    from mmbn_opt.solvers.convex.cvxpy_conic import ClarabelSolver

    def exhausted(self):
        self.exhausted = True

    monkeypatch.setattr(PrimalDual, "check", exhausted)
    monkeypatch.setattr("mmbn_opt.solvers.convex.interior_point.InteriorPointSolver.max_iterations", 0, raising=False)
    monkeypatch.setattr(InteriorPointSolver, "steps", FirstOrderSolver.steps)
    monkeypatch.setattr(InteriorPointSolver, "method", "primal_dual", raising=False)
    monkeypatch.setattr(InteriorPointSolver, "_step", staticmethod(FirstOrderSolver._step), raising=False)
    monkeypatch.setattr(ClarabelSolver, "is_available", classmethod(lambda cls: False))
    answer = ConvexChainSolver().solve(SMALL.build())
    assert answer.termination_status is TerminationStatus.SLOW_PROGRESS
    assert answer.raw_status.count("neither side moves any more") == 2


def test_the_bound_of_the_chain_comes_with_the_multipliers_that_prove_it():
    for problem in (SMALL, relaxation(normalization="floor"), relaxation(B=0.5, gamma=None)):
        answer = ConvexChainSolver(rel_gap=1e-4).solve(problem.build())
        assert answer.termination_status is TerminationStatus.OPTIMAL
        proved = problem.prove_bound(answer.multipliers)
        assert proved == pytest.approx(answer.bounds.dual_bound, rel=1e-8)
        assert answer.proof.value == proved


def test_the_interior_point_begins_where_the_first_order_method_is():
    """Its point and its multipliers: the second method's first bound is the first one's last."""
    program = SMALL.build()
    first = FirstOrderSolver(rel_gap=1e-3).solve(program)
    warm = InteriorPointSolver(warm_seconds=0.0, multipliers=first.multipliers, max_iterations=0)
    answer = warm.solve(program, start=first.solution)
    assert answer.bounds.primal_bound <= first.bounds.primal_bound * (1 + 1e-12)
    assert answer.bounds.dual_bound == pytest.approx(first.bounds.dual_bound, rel=1e-9)


def test_the_published_problem_has_the_first_order_method_beside_the_linear_program(monkeypatch):
    """The linear program finds nothing before it ends; the other half of the time is not lost with it."""
    from mmbn_opt.exceptions import SolverError
    from mmbn_opt.solvers.convex.linear_form import LinearFormSolver

    def fails(self, *arguments, **settings):
        raise SolverError("no answer in time")

    problem = relaxation(normalization="published")
    optimum = LinearFormSolver().solve(problem.build()).bounds.primal_bound
    monkeypatch.setattr(LinearFormSolver, "solve", fails)
    answer = ConvexChainSolver(rel_gap=1e-3, time_limit=60.0).solve(problem.build())
    assert answer.termination_status is TerminationStatus.OPTIMAL
    assert answer.raw_status == "highs_lp: no answer in time; first_order: gap closed"
    assert answer.bounds.primal_bound == pytest.approx(optimum, rel=1e-3)


def scripted(**place):
    """A run, and a link by a clock whose steps take 2 s each."""
    now = [0.0]
    run = ConvexRun(FirstOrderSolver(), SMALL.build(), None, None)

    def steps(callback):
        while not run.stop_requested:
            now[0] += 2.0
            yield run
        return run.result(TerminationStatus.ITERATION_LIMIT, "stopped")

    return run, ResumableLink("scripted", run, steps, clock=lambda: now[0], **place)


def test_a_link_leaves_a_step_that_does_not_fit_to_its_next_turn():
    run, link = scripted()
    link.advance(5.0)
    assert (link.spent, link.step, link.ended) == (4.0, 2.0, False)
    link.advance(1.0)  # one that is begun at all does one step
    assert link.spent == 6.0
    link.close()
    assert link.ended
    assert not link.gave_up
    assert math.isfinite(run.bounds.primal_bound)


def test_a_first_turn_has_its_steps_however_slow_they_are():
    """The turn is over after the first step, and goes on until the third."""
    _, link = scripted(first_steps=3)
    link.advance(1.0)
    assert link.spent == 6.0
    link.advance(1.0)
    assert link.spent == 8.0


@pytest.mark.parametrize(
    ("gamma", "noise", "who"),
    [(0.3, 0.9, "interior_point"), (1.0, 0.9, "interior_point"), (60.0, 0.9, "proximal_newton")],
)
def test_the_interior_point_goes_first_unless_the_first_passes_come_near(gamma, noise, who):
    """With a small margin and a floor first-order steps crawl; with a large one they are nearly there at once."""
    answer = ConvexChainSolver(rel_gap=1e-6).solve(
        relaxation(1000, 12, noise, normalization="floor", gamma=gamma).build()
    )
    assert answer.termination_status is TerminationStatus.OPTIMAL
    assert list(answer.stats["link_seconds"])[:2] == ["first_order", who]


@pytest.mark.parametrize("gamma", [1.0, 10.0, 20.0])
def test_first_passes_that_are_not_near_are_not_the_last_ones(gamma, monkeypatch):
    """Too many parameters for dense matrices, a first turn that is over at once, and another method that gets nowhere.

    Passes alone find the points that separate such data.
    """

    def nowhere(self):
        while True:
            time.sleep(0.01)
            yield

    monkeypatch.setattr(ProximalState, "round", nowhere)
    monkeypatch.setattr("mmbn_opt.solvers.convex.chain.DENSE_PARAMETERS", 0)
    monkeypatch.setattr("mmbn_opt.solvers.convex.chain.LONGEST_WARM", 1e-6)
    problem = relaxation(400, 30, 0.6, normalization="floor", gamma=gamma)
    answer = ConvexChainSolver(rel_gap=1e-6, time_limit=20.0).solve(problem.build())
    assert answer.termination_status is TerminationStatus.OPTIMAL
    assert answer.bounds.primal_bound == 0.0


def two_tree(tree: mm.Structure) -> mm.Structure:
    """Each feature hangs from its parent in the tree and from that one's parent."""
    parents = [set(own) for own in tree.parents]
    above = [own - {tree.class_index} for own in parents]
    for own, upper in zip(parents, above, strict=True):
        for parent in upper:
            own |= above[parent]
    return mm.Structure(tree.feature_names, tree.class_name, tuple(tuple(sorted(own)) for own in parents))


@pytest.mark.parametrize("normalization", ["floor", "hybrid"])
@pytest.mark.parametrize("gamma", [0.5, 5.0])
def test_k_trees_are_solved_to_six_digits_and_their_optima_are_those_of_a_cone_solver(normalization, gamma):
    data = relaxation(120, 5, 0.8).data
    graph = two_tree(mm.tan_cmi(data))
    assert graph.max_parents == 3
    assert graph.is_renormalizable
    problem = MaxMarginRelaxation(data, graph, gamma=gamma, normalization=normalization)
    result = mm.solve(problem, "convex", rel_gap=1e-6)
    other = mm.solve(problem, "clarabel", rel_gap=1e-8)
    assert result.termination_status is TerminationStatus.OPTIMAL
    assert result.certificate.ok
    assert result.bounds.gap_rel <= 1e-6
    assert result.bounds.primal_bound == pytest.approx(other.bounds.primal_bound, rel=2e-6)
    assert result.bounds.dual_bound <= other.bounds.primal_bound + 1e-7 * abs(other.bounds.primal_bound)
