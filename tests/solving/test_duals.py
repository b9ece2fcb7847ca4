"""Dual values as a table: slopes of the optimum, complementary to slacks, equal to those of other tools."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

import mmbn_opt as mm
from mmbn_opt.exceptions import SolverError
from mmbn_opt.programs import MixedIntegerProgram

SHAPES = [
    {"gamma": 4.0, "normalization": "floor", "min_prob": 0.05},
    {"gamma": 6.0, "normalization": "hybrid", "alpha": 0.1, "min_prob": 0.05},
    {"B": 0.0005, "normalization": "hybrid", "alpha": 0.1, "min_prob": 0.1},
]


@pytest.fixture(scope="module")
def data():
    return mm.prepare(mm.load_dataset("corral"), "class").data


def relaxation(data, shape, **changed):
    return mm.MaxMarginRelaxation(data, mm.naive_bayes(data), **{**shape, **changed})


def total(table, kind):
    return float(table.loc[table.kind == kind, "dual"].sum())


@pytest.mark.parametrize("shape", SHAPES, ids=["floor", "hybrid", "B"])
def test_the_duals_of_floors_are_the_slope_of_the_optimum(data, shape):
    table = mm.solve(relaxation(data, shape), rel_gap=1e-8).duals()
    step = 1e-3
    least = shape["min_prob"]
    above, below = (
        mm.solve(relaxation(data, shape, min_prob=least * np.exp(sign * step)), rel_gap=1e-8).bounds.dual_bound
        for sign in (1, -1)
    )
    assert total(table, "floor") == pytest.approx((above - below) / (2 * step), rel=1e-2, abs=1e-5)
    assert total(table, "floor") > 1e-3


@pytest.mark.parametrize("shape", SHAPES[:2], ids=["floor", "hybrid"])
def test_the_duals_of_margins_are_the_slope_in_the_margin_that_is_asked_for(data, shape):
    table = mm.solve(relaxation(data, shape), rel_gap=1e-8).duals()
    above, below = (
        mm.solve(relaxation(data, shape, gamma=shape["gamma"] + step), rel_gap=1e-8).bounds.dual_bound
        for step in (1e-3, -1e-3)
    )
    assert total(table, "margin") == pytest.approx((above - below) / 2e-3, rel=1e-2)
    by_cvxpy = relaxation(data, shape).to_cvxpy()
    by_cvxpy.solve(solver="CLARABEL")
    weight = data.total_weight
    assert total(table, "margin") == pytest.approx(by_cvxpy.constraints[0].dual_value.sum() * weight, rel=1e-3)
    assert -total(table, "normalization") == pytest.approx(
        by_cvxpy.constraints[1].dual_value.sum() * weight, rel=1e-3, abs=1e-2
    )
    assert total(table, "floor") == pytest.approx(by_cvxpy.constraints[2].dual_value.sum() * weight, rel=1e-3, abs=1e-2)


@pytest.mark.parametrize("shape", SHAPES, ids=["floor", "hybrid", "B"])
def test_rows_with_slack_weigh_nothing_and_missed_margins_their_whole_sample(data, shape):
    problem = relaxation(data, shape)
    result = mm.solve(problem, rel_gap=1e-9)
    table = result.duals().set_index("name")
    weight = problem.merged.sample_weight * (problem.B or 1.0)
    margins = table[table.kind == "margin"]
    assert len(margins) == problem.merged.n_samples  # two classes: one rival a sample
    missed, kept = margins.value < margins.limit - 1e-2, margins.value > margins.limit + 1e-2
    assert np.allclose(margins.dual[missed], weight[missed], rtol=1e-4)
    assert np.all(np.abs(margins.dual[kept]) < 1e-3 * weight.max())
    for kind in ("normalization", "floor"):
        rows = table[table.kind == kind]
        assert float((rows.dual * (rows.value - rows.limit)).abs().sum()) < 1e-4 * abs(result.bounds.primal_bound)
    assert (table.dual[table.kind == "normalization"] <= 0).all()
    assert (table.dual[table.kind == "floor"] >= 0).all()


def test_rows_are_called_by_what_they_are_about():
    frame = mm.load_dataset("car")
    data = mm.prepare(frame.sample(200, random_state=1), "class").data
    graph = mm.from_edges(data, [("class", "safety"), ("class", "persons"), ("safety", "persons")])
    problem = mm.MaxMarginRelaxation(data, graph, gamma=2.0)
    table = mm.solve(problem, rel_gap=1e-5).duals()
    assert table.name.is_unique
    states = list(map(str, data.target.states))
    k = data.n_classes
    assert (table.kind == "margin").sum() == problem.merged.n_samples * (k - 1)
    name = table.name[table.kind == "margin"].iloc[-1]
    row, rest = name.removeprefix("margin[row ").rstrip("]").split(", ")
    own, rival = rest.split(" vs ")
    assert str(data.target.states[data.target_codes[int(row)]]) == own
    assert rival in set(states) - {own}
    entries = table[table.kind == "floor"].set_index("name").value
    network = mm.solve(problem, rel_gap=1e-5).model
    node = data.feature_names.index("persons")
    safety = data.features[data.feature_names.index("safety")]
    parents = graph.parents[node]
    for s, level in enumerate(safety.states):
        for c, label in enumerate(data.target.states):
            for p, count in enumerate(data.features[node].states):
                told = f"log P[persons={count} | safety={level}, class={label}]"
                configuration = s * k + c if parents[0] != graph.class_index else c * len(safety.states) + s
                assert entries[told] == pytest.approx(network.log_factors[node][configuration, p], abs=0.3)


def test_a_markov_network_has_the_margins_and_nothing_else(data):
    problem = mm.MaxMarginMarkovNetwork(data, mm.naive_bayes(data), C=0.1)
    table = mm.solve(problem, rel_gap=1e-7).duals()
    assert set(table.kind) == {"margin"}
    v = problem.program.margins.matrix(10**6)[0].T @ table.dual.to_numpy()
    result = mm.solve(problem, rel_gap=1e-7)
    assert total(table, "margin") - 0.5 * float(v @ v) == pytest.approx(result.bounds.primal_bound, rel=1e-5)


def test_those_of_a_structure_are_of_the_linear_relaxation_in_the_sense_of_the_score(data):
    problem = mm.SoftMarginStructure(data, max_parents=2).with_constraints(mm.MaxEdges(4))
    table = mm.solve(problem, "highs").duals()
    program = problem.named_program()
    whole = replace(program, integrality=np.zeros(program.c.size, dtype=bool))
    relaxed = mm.solve(whole, "highs").bounds.primal_bound
    finite = np.isfinite(table.limit)
    assert -relaxed == pytest.approx(float((table.dual * table.limit)[finite].sum()) - program.offset, rel=1e-7)
    assert (table.dual[~finite] == 0).all()
    limit = table.set_index("name").loc["limit[at most 4 edges]"]
    looser = problem.under([mm.MaxEdges(5)]).named_program()
    more = mm.solve(replace(looser, integrality=whole.integrality), "highs").bounds.primal_bound
    assert 0 < -more + relaxed <= limit.dual + 1e-7  # concave in the limit


def test_those_of_a_linear_program_are_its_own():
    program = MixedIntegerProgram(
        c=np.array([1.0, 3.0]),
        A=sp.csr_array(np.array([[1.0, 1.0], [1.0, -1.0]])),
        row_lower=np.array([2.0, -np.inf]),
        row_upper=np.array([np.inf, 1.0]),
        col_lower=np.array([0.0, 0.0]),
        col_upper=np.array([5.0, 5.0]),
        integrality=np.zeros(2, dtype=bool),
    )
    table = mm.solve(program).duals()
    assert table.name.tolist() == ["row[0]", "row[1]", "x[0]", "x[1]"]
    assert table.dual.tolist() == pytest.approx([2.0, -1.0, 0.0, 0.0])
    assert table.value.tolist() == pytest.approx([2.0, 1.0, 1.5, 0.5])
    assert table.binds.tolist() == [True, True, False, False]


def test_where_there_are_none_the_reason_is_told(data):
    smooth = mm.solve(mm.SmoothMargin(data, mm.naive_bayes(data), lam=0.5), "lbfgs")
    with pytest.raises(mm.InputError, match="'lbfgs' left no multipliers"):
        smooth.duals()
    unbounded = MixedIntegerProgram(
        c=np.array([-1.0]), A=sp.csr_array((0, 1)), row_lower=np.zeros(0), row_upper=np.zeros(0),
        col_lower=np.zeros(1), col_upper=np.array([np.inf]), integrality=np.ones(1, dtype=bool),
    )  # fmt: skip
    with pytest.raises(SolverError, match="HiGHS ended with"):
        mm.solve(unbounded).duals()
