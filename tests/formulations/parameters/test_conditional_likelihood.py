"""The conditional likelihood as a convex program: its optimum and bounds against a cone solver, and the way back."""

import dataclasses
import warnings

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from strategies import dataset_of

import mmbn_opt as mm
from mmbn_opt.exceptions import InputError
from mmbn_opt.programs import ProgramKind
from mmbn_opt.results.status import TerminationStatus
from mmbn_opt.solvers import FirstOrderSolver, InteriorPointSolver

FIGURE_2 = mm.Structure.from_names(["x0", "x1", "x2"], "class", [("class", "x0"), ("x1", "x0"), ("class", "x2")])
FLOOR = np.log(1e-100)


def random_data(seed, *, rows=40, classes=3, weighted=True):
    """Three features that depend on the class, a state and perhaps a class that never occurs."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, classes - int(rng.random() < 0.2 and classes > 2), rows)
    codes = np.stack([np.where(rng.random(rows) < 0.4, labels % 3, rng.integers(0, 3, rows)) for _ in range(3)], axis=1)
    data = dataset_of(np.column_stack([codes, labels]).tolist(), [3, 3, 4, classes])
    weight = rng.uniform(0.3, 3.0, rows) if weighted else np.ones(rows)
    return dataclasses.replace(data, sample_weight=weight)


def least_loss(problem):
    """The optimum of the convex program by Clarabel, from the codes of the rows and nothing else of the package."""
    data, structure = problem.data, problem.structure
    c = structure.class_index
    cards = data.cardinalities
    tables, rows = {}, []
    for node in (c, *structure.children(c)):
        parents = structure.parents[node]
        tables[node] = cp.Variable((int(np.prod([cards[p] for p in parents], dtype=int)), cards[node]))
        rows += [cp.sum(cp.exp(tables[node]), axis=1) <= 1, tables[node] >= FLOOR]
    total = 0
    full = np.column_stack([data.codes, data.target_codes])
    for m, weight in enumerate(data.sample_weight):
        scores = []
        for k in range(cards[c]):
            row = full[m].copy()
            row[c] = k
            parts = []
            for node, table in tables.items():
                h = 0
                for p in structure.parents[node]:
                    h = h * cards[p] + int(row[p])
                parts.append(table[h, int(row[node])])
            scores.append(sum(parts))
        total += weight * (cp.log_sum_exp(cp.hstack(scores)) - scores[int(data.target_codes[m])])
    problem = cp.Problem(cp.Minimize(total), rows)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # that an answer may be inaccurate, which the status says
        problem.solve(solver=cp.CLARABEL)
    return problem.value, problem.status


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10_000), tree=st.booleans())
def test_the_optimum_is_that_of_a_cone_solver(seed, tree):
    data = random_data(seed)
    problem = mm.ConditionalLikelihood(data, mm.tan_cmi(data) if tree else mm.naive_bayes(data))
    result = mm.solve(problem, rel_gap=1e-8)
    loss, status = least_loss(problem)
    assume(status == "optimal")
    truth = -loss
    assert result.solver_name == "interior_point"
    assert result.termination_status is TerminationStatus.OPTIMAL, result.raw_status
    assert result.certificate.ok, str(result.certificate)
    assert result.bounds.primal_bound == pytest.approx(truth, rel=1e-6, abs=1e-6)
    assert result.bounds.dual_bound == pytest.approx(truth, rel=1e-6, abs=1e-6)
    assert isinstance(result.model, mm.BayesianNetwork)
    assert problem.evaluate(result.model) == pytest.approx(result.bounds.primal_bound, rel=1e-12)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10_000), loose=st.booleans())
def test_every_bound_is_below_every_value(seed, loose):
    """For any multipliers and any point, admissible or not; the posteriors of a point prove what its slope does."""
    data = random_data(seed % 50)
    problem = mm.ConditionalLikelihood(data, FIGURE_2 if loose else mm.naive_bayes(data))
    program = problem.build(ProgramKind.LIKELIHOOD)
    rng = np.random.default_rng(seed)
    w = program.project(rng.normal(-2.0, 3.0, program.margins.n_parameters))
    y = rng.exponential(size=(program.margins.n_samples, 3)) * rng.integers(0, 3)
    value, weighted = program.posteriors(w)
    assert program.dual_value(y) <= value + 1e-9 * program.scale
    slope = program.gradient(weighted)
    away = program.project(rng.normal(-2.0, 3.0, len(w)))
    assert program.value(away) >= value + slope @ (away - w) - 1e-9 * program.scale
    network = problem.maximum_likelihood
    assert problem.bound_from(network) == pytest.approx(
        min(0.0, problem.prove_bound(program.rivals(program.posteriors(problem.encode(network))[1]))),
        rel=1e-9,
        abs=1e-9,
    )


def test_the_slope_is_that_of_differences_and_weights_stand_for_copies():
    data = random_data(3)
    program = mm.ConditionalLikelihood(data, mm.tan_cmi(data)).build(ProgramKind.LIKELIHOOD)
    w = program.project(np.random.default_rng(0).normal(-1.0, 1.0, program.margins.n_parameters))
    slope = program.gradient(program.posteriors(w)[1])
    steps = 1e-6 * np.eye(len(w))
    numeric = [(program.value(w + e) - program.value(w - e)) / 2e-6 for e in steps]
    np.testing.assert_allclose(slope, numeric, atol=1e-6)
    once = random_data(3, weighted=False)
    twice = dataclasses.replace(once, sample_weight=2.0 * once.sample_weight)
    a, b = (mm.solve(mm.ConditionalLikelihood(d, mm.naive_bayes(d))).bounds.primal_bound for d in (once, twice))
    assert b == pytest.approx(2.0 * a, rel=2e-6)


def test_the_network_has_the_posteriors_of_the_vector():
    data = random_data(5)
    problem = mm.ConditionalLikelihood(data, mm.tan_cmi(data))
    program = problem.build(ProgramKind.LIKELIHOOD)
    w = program.project(np.random.default_rng(1).normal(-3.0, 2.0, program.margins.n_parameters))
    network = problem.recover_from(w, ProgramKind.LIKELIHOOD)
    assert max(abs(np.exp(table).sum(axis=1) - 1.0).max() for table in network.log_cpts) < 1e-12
    np.testing.assert_allclose(
        network.predict_proba(data.codes), problem.log_linear(w).predict_proba(data.codes), atol=1e-12
    )
    assert problem.evaluate(network) == pytest.approx(-program.value(w), rel=1e-10)
    again = problem.adopt(network, ProgramKind.LIKELIHOOD)
    assert problem.evaluate(again) == pytest.approx(problem.evaluate(network), rel=1e-9)


def test_separable_data_end_on_the_floor_and_constant_features_do_no_harm():
    data = dataset_of([[0, 0, 0], [0, 1, 0], [1, 0, 1], [1, 1, 1]] * 5, [2, 2, 2])
    result = mm.solve(mm.ConditionalLikelihood(data, mm.naive_bayes(data)))
    assert result.termination_status is TerminationStatus.OPTIMAL
    assert result.bounds.primal_bound == pytest.approx(0.0, abs=1e-5)
    assert result.bounds.primal_bound <= result.bounds.dual_bound <= 0.0
    constant = dataset_of([[0, 0], [0, 1], [0, 1]] * 4, [1, 2])
    result = mm.solve(mm.ConditionalLikelihood(constant, mm.naive_bayes(constant)))
    share = 12 * (np.log(1 / 3) / 3 + 2 * np.log(2 / 3) / 3)
    assert result.bounds.primal_bound == pytest.approx(share, rel=1e-6)
    assert result.certificate.ok


def test_multipliers_too_small_for_a_share_make_no_false_bound():
    data = random_data(5)
    problem = mm.ConditionalLikelihood(data, mm.naive_bayes(data))
    program = problem.build(ProgramKind.LIKELIHOOD)
    fair = program.rivals(program.posteriors(program.first_point())[1])
    bounds = []
    for tiny in (0.0, 5e-324):
        y = fair.copy()
        y[::2] = np.where(fair[::2] > 0.0, tiny, 0.0)
        bounds.append(program.dual_value(y))
    assert np.isfinite(bounds).all()
    assert bounds[0] == pytest.approx(bounds[1], rel=1e-12)


def test_no_descent_ends_above_the_bound_of_an_optimum():
    for seed in range(6):  # few rows: most entries of the best tables are as small as they may be
        data = random_data(seed, rows=25)
        problem = mm.ConditionalLikelihood(data, mm.naive_bayes(data))
        best = mm.solve(problem)
        assert best.termination_status is TerminationStatus.OPTIMAL
        found = mm.solve(problem, "lbfgs", options={"max_iterations": 5000, "rel_change": 0.0})
        assert found.bounds.primal_bound <= best.bounds.dual_bound + 1e-9


def test_where_rows_cannot_be_made_cpts_a_bound_is_no_optimum():
    data = random_data(2, rows=200, weighted=False)
    problem = mm.ConditionalLikelihood(data, FIGURE_2)
    descent = mm.solve(problem)
    assert descent.solver_name == "lbfgs"
    convex = mm.solve(problem, "interior_point", rel_gap=1e-7)
    assert convex.termination_status is TerminationStatus.SLOW_PROGRESS
    assert convex.bounds.dual_bound == pytest.approx(-least_loss(problem)[0], rel=1e-4)
    assert descent.bounds.primal_bound <= convex.bounds.dual_bound <= descent.bounds.dual_bound + 1e-9
    assert convex.bounds.primal_bound == problem.evaluate(convex.model)
    told = next(check for check in convex.certificate.checks if check.name == "bound can be met")
    assert told.ok is None
    assert "not renormalizable" in told.detail


def test_held_out_rows_choose_by_a_descent():
    data = random_data(4, rows=120)
    problem = mm.ConditionalLikelihood(data, mm.naive_bayes(data))
    watched = mm.solve(problem, validation=0.3)
    assert watched.solver_name == "lbfgs"
    with pytest.raises(InputError, match="nonlinear program"):
        mm.solve(problem, "interior_point", validation=0.3)


def test_systems_by_passes_lead_to_the_same_optimum():
    data = random_data(6, rows=300)
    program = mm.ConditionalLikelihood(data, mm.naive_bayes(data)).build(ProgramKind.LIKELIHOOD)
    dense = InteriorPointSolver(rel_gap=1e-6).solve(program)
    passes = InteriorPointSolver(rel_gap=1e-6, max_dense=0).solve(program)
    assert passes.termination_status is TerminationStatus.OPTIMAL, passes.raw_status
    assert passes.bounds.primal_bound == pytest.approx(dense.bounds.primal_bound, rel=2e-6)


def test_what_a_program_needs_is_asked_for():
    data = random_data(1)
    program = mm.ConditionalLikelihood(data, mm.naive_bayes(data)).build(ProgramKind.LIKELIHOOD)
    with pytest.raises(InputError, match="finite log_floor"):
        dataclasses.replace(program, log_floor=-np.inf)
    with pytest.raises(InputError, match="got a convex likelihood program"):
        FirstOrderSolver().solve(program)
    stopped = mm.solve(mm.ConditionalLikelihood(data, mm.naive_bayes(data)), time_limit=0.0)
    assert stopped.termination_status is TerminationStatus.TIME_LIMIT
    assert stopped.model is not None
