"""SCIP with the constraint handler: optimum against enumeration, limits, Ctrl-C, errors, and what it claims."""

import _thread
import itertools
import logging

import numpy as np
import pytest

import mmbn_opt as mm
from mmbn_opt.exceptions import InputError
from mmbn_opt.programs.base import ProgramKind
from mmbn_opt.results.status import SolutionStatus, TerminationStatus
from mmbn_opt.solvers.choice._scip_cuts_engine import Cuts, regroup
from mmbn_opt.solvers.choice.branch_and_cut import BranchAndCut
from mmbn_opt.solvers.choice.scip_cuts import ScipCutsSolver
from mmbn_opt.solvers.hosting.link import EngineLink

STATUS = TerminationStatus
KIND = ProgramKind.IMPLICIT_CONCAVE

pytestmark = pytest.mark.skipif(
    not ScipCutsSolver.is_available(), reason=ScipCutsSolver.availability().reason or "available"
)


def random_data(seed, n_features=3, n_classes=3, samples=20):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 3, (samples, n_features))
    labels = (codes[:, 0] + codes.sum(axis=1) % 2 * rng.integers(0, 2, samples)) % n_classes
    labels[:n_classes] = np.arange(n_classes)
    return mm.DiscreteDataset.from_arrays(codes, labels)


def best_by_enumeration(form, program):
    values = [
        form.evaluate(form.model_of(form.structure_of(np.array(choice))))
        for choice in itertools.product(*program.choice_groups)
        if program.is_acyclic(np.array(choice))
    ]
    return -max(values)


def cases(seed):
    data = random_data(seed, n_classes=2 + seed % 2)
    gamma = mm.log_odds((0.6, 0.9, 0.99)[seed % 3])
    yield mm.SoftMarginStructure(data, gamma=gamma, max_parents=1 + seed % 3)
    yield mm.BinarySoftMarginStructure(data, gamma=gamma)
    yield mm.DecomposableStructure(data, score="loglik", max_parents=2 + seed % 2)


@pytest.mark.parametrize("seed", range(6))
def test_optimum_equals_enumeration_and_branch_and_cut(seed):
    for form in cases(seed):
        program = form.build(KIND)
        expected = best_by_enumeration(form, program)
        for options in ({}, {"groups": 1}, {"groups": 3}):
            result = ScipCutsSolver(options=options).solve(program)
            assert result.termination_status is STATUS.OPTIMAL, result.raw_status
            assert program.is_feasible(result.solution)
            assert result.bounds.primal_bound == program.value(result.solution)
            assert result.bounds.primal_bound == pytest.approx(expected, abs=1e-5)
            slack = 1e-6 * max(1.0, abs(expected))
            for record in result.trace:
                assert record.dual_bound is None or record.dual_bound <= expected + slack
                assert record.primal_bound is None or record.primal_bound >= expected - 1e-9
        other = BranchAndCut().solve(program)
        assert other.bounds.primal_bound == pytest.approx(expected, abs=1e-6)


@pytest.fixture(scope="module")
def corral():
    frame, info = mm.load_dataset("corral", return_info=True)
    return mm.prepare(frame, info.target, kinds=info.kinds).data


@pytest.fixture(scope="module")
def hard(corral):
    return mm.SoftMarginStructure(corral, gamma=mm.log_odds(0.9)).build(KIND)


def test_the_bound_is_marked_as_its_own_claim(corral):
    result = mm.solve(mm.SoftMarginStructure(corral, gamma=mm.log_odds(0.9)), "scip_cuts", rel_gap=0.05)
    assert result.certificate.ok, str(result.certificate)
    proved = next(check for check in result.certificate.checks if check.name == "bound proved")
    assert proved.ok is None
    assert "as claimed by scip_cuts" in proved.detail
    assert result.bounds.primal_bound <= 261.1347998 + 1e-6  # the optimum, found by enumeration elsewhere
    assert result.bounds.dual_bound >= 261.1347998 - 1e-6
    assert result.stats["groups"] == 64
    assert result.stats["term_cuts"] > 0


def empty_graph(program):
    return program.vector(
        np.array([g[np.argmin(program.parents[g].sum(axis=1))] for g in program.choice_groups], dtype=np.intp)
    )


def test_limits_keep_the_start(hard):
    start = empty_graph(hard)
    none = ScipCutsSolver(time_limit=0.0).solve(hard, start=start)
    assert none.termination_status is STATUS.TIME_LIMIT
    assert none.bounds.primal_bound == hard.value(start)
    short = ScipCutsSolver(time_limit=0.5).solve(hard, start=start)
    assert short.solution_status is SolutionStatus.FEASIBLE
    assert short.bounds.primal_bound <= hard.value(start)


@pytest.mark.parametrize("isolate", [True, False])
def test_control_c_and_the_callback_stop_it(hard, isolate):
    def interrupt(event) -> None:
        if event.solution is not None:
            _thread.interrupt_main()

    result = ScipCutsSolver(isolate=isolate, options={"groups": 8}).solve(hard, callback=interrupt)
    assert result.termination_status is STATUS.INTERRUPTED
    assert result.solution_status is SolutionStatus.FEASIBLE
    result = ScipCutsSolver(isolate=isolate, options={"groups": 8}).solve(
        hard, callback=lambda event: event.solution is not None
    )
    assert result.termination_status is STATUS.INTERRUPTED


def test_an_exception_inside_the_handler_is_told_and_keeps_the_incumbent(hard, monkeypatch, caplog):
    calls = []
    violated = Cuts.violated

    def break_down(self, x, losses):
        calls.append(1)
        if len(calls) > 5:
            raise ArithmeticError("inside the handler")
        return violated(self, x, losses)

    monkeypatch.setattr(Cuts, "violated", break_down)
    with caplog.at_level(logging.ERROR):
        result = ScipCutsSolver(isolate=False).solve(hard, start=empty_graph(hard))
    assert result.termination_status is STATUS.SOLVER_ERROR
    assert result.raw_status == "ArithmeticError: inside the handler"
    assert result.solution_status is SolutionStatus.FEASIBLE


def test_what_the_host_finds_is_taken(hard, monkeypatch):
    taken = []
    take = EngineLink.take_offer

    def look(self):
        vector = take(self)
        if vector is not None:
            taken.append(vector)
        return vector

    monkeypatch.setattr(EngineLink, "take_offer", look)
    ScipCutsSolver(isolate=False, rel_gap=0.05, options={"groups": 8}).solve(hard, start=empty_graph(hard))
    assert taken
    assert all(hard.is_feasible(x) for x in taken)


def test_the_same_seed_gives_the_same_run():
    program = next(cases(1)).build(KIND)
    program = program.__class__(**{**program.__dict__, "primal_heuristic": None})
    first, second = (ScipCutsSolver(seed=3).solve(program) for _ in range(2))
    assert first.stats["nodes"] == second.stats["nodes"]
    assert first.stats["term_cuts"] == second.stats["term_cuts"]
    np.testing.assert_array_equal(first.solution, second.solution)


def test_single_samples_where_they_are_few(corral):
    term = mm.SoftMarginStructure(corral).build(KIND).term
    assert len(regroup(term, None).upper) == 64
    assert len(regroup(term, 5).upper) == 5
    assert regroup(None, 5) is None


def test_an_integral_cycle_is_always_cut(hard):
    """Three features that are parents of one another in a ring, whatever the separator says of them."""
    cuts = Cuts(hard, None)
    c = hard.n_nodes - 1
    choice = [int(g[0]) for g in hard.choice_groups]
    for child, parent in ((0, 1), (1, 2), (2, 0)):
        own = hard.choice_groups[child]
        wanted = np.zeros(hard.n_nodes, dtype=bool)
        wanted[[parent, c]] = True
        choice[child] = int(own[np.flatnonzero((hard.parents[own] == wanted).all(axis=1))[0]])
    x = hard.vector(np.array(choice))
    for rows in (cuts.violated(x, np.zeros(0)), [(cuts.every_node.row(m), -1, 1.0) for m in cuts._cyclic_core(x)]):
        assert rows
        assert all(float(coefficients @ x) < side for coefficients, _, side in rows)


@pytest.mark.parametrize(
    ("options", "message"),
    [({"groups": 0}, "groups must be a whole number"), ({"limits/nods": 3}, "Did you mean 'limits/nodes'")],
)
def test_options_are_checked_before_anything_runs(hard, options, message):
    with pytest.raises(InputError, match=message):
        ScipCutsSolver(options=options).solve(hard)


def test_another_kind_of_program_is_refused(corral):
    program = mm.SoftMarginStructure(corral).build(ProgramKind.MIXED_INTEGER)
    with pytest.raises(InputError, match="got MixedIntegerProgram"):
        ScipCutsSolver().solve(program)
