"""Limits on entries of tables: kept, optimal, proved, and named where they contradict each other."""

from dataclasses import dataclass

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mmbn_opt as mm
from mmbn_opt.programs import ProgramKind
from mmbn_opt.solvers import get_solver_class

ENGINES = ["clarabel", "ecos", "ipopt"]


@pytest.fixture(scope="module")
def data():
    return mm.prepare(mm.load_dataset("corral"), "class").data


@pytest.fixture(scope="module")
def graph(data):
    edges = [("class", child) for child in ("A0", "A1", "B0", "B1")]
    return mm.from_edges(data, [*edges, ("A0", "A1")])


SHAPES = {
    "floor": {"gamma": 4.0, "normalization": "floor", "min_prob": 0.01},
    "hybrid": {"gamma": 3.0, "alpha": 0.1, "min_prob": 1e-3},
    "B": {"B": 0.01, "alpha": 0.1, "min_prob": 1e-3},
}


def lookup(problem, w):
    """Entries of a cvxpy vector by the names of the problem."""
    place = {name: k for k, name in enumerate(problem.entry_names)}
    return lambda told: w[place[f"log P[{told}]"]]


LIMITS = {
    "fixed": (
        [mm.EntryBounds("B0", 1, {"class": 1}, lower=0.6, upper=0.6)],
        lambda p: [p("B0=1 | class=1") == np.log(0.6)],
    ),
    "between": (
        [mm.EntryBounds("B0", given={"class": 0}, lower=0.2, upper=0.45)],
        lambda p: [
            one
            for k in (0, 1)
            for one in (p(f"B0={k} | class=0") >= np.log(0.2), p(f"B0={k} | class=0") <= np.log(0.45))
        ],
    ),
    "tied": (
        [mm.TiedTables(("B0", "B1"))],
        lambda p: [p(f"B0={k} | class={c}") == p(f"B1={k} | class={c}") for k in (0, 1) for c in (0, 1)],
    ),
    "falling entries": (
        [mm.MonotoneEntries("A0", increasing=False)],
        lambda p: [p(f"A0=1 | class={c}") <= p(f"A0=0 | class={c}") for c in (0, 1)],
    ),
    "odds": (
        [mm.MonotoneEntries("A1", toward=0, given={"A0": 1})],
        lambda p: [
            p("A1=1 | A0=1, class=0") - p("A1=1 | A0=1, class=1")
            >= p("A1=0 | A0=1, class=0") - p("A1=0 | A0=1, class=1")
        ],
    ),
    "row": (
        [
            mm.ParameterRow(
                lambda node, state, parents: float(node == "class") - (node == "B1") * (str(state) == "1"), upper=-1.5
            )
        ],
        lambda p: [p("class=0") + p("class=1") - p("B1=1 | class=0") - p("B1=1 | class=1") <= -1.5],
    ),
    "several": (
        [mm.TiedTables(("B0", "B1")), mm.EntryBounds("class", 1, upper=0.3), mm.MonotoneEntries("A0")],
        lambda p: [
            *(p(f"B0={k} | class={c}") == p(f"B1={k} | class={c}") for k in (0, 1) for c in (0, 1)),
            p("class=1") <= np.log(0.3),
            *(p(f"A0=1 | class={c}") >= p(f"A0=0 | class={c}") for c in (0, 1)),
        ],
    ),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", LIMITS)
def test_the_optimum_is_that_of_cvxpy_with_the_limit_written_by_hand(data, graph, shape, name):
    constraints, by_hand = LIMITS[name]
    problem = mm.MaxMarginRelaxation(data, graph, **SHAPES[shape])
    model = problem.to_cvxpy()
    w = model.var_dict["w"]
    own = cp.Problem(model.objective, [*model.constraints, *by_hand(lookup(problem, w))])
    own.solve(solver="CLARABEL")
    expected = own.value * data.total_weight
    result = mm.solve(problem.with_constraints(*constraints), rel_gap=1e-5)
    assert result.solver_name == "clarabel"
    assert result.certificate.ok, result.certificate
    assert result.bounds.primal_bound == pytest.approx(expected, rel=1e-5)
    assert result.bounds.dual_bound == pytest.approx(expected, rel=2e-5)
    assert result.bounds.primal_bound >= mm.solve(problem, rel_gap=1e-6).bounds.dual_bound * (1 - 1e-6)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", ["several", "odds"])
def test_every_engine_that_takes_rows_proves_the_same(data, graph, engine, name):
    if not get_solver_class(engine).is_available():
        pytest.skip(get_solver_class(engine).availability().reason)
    problem = mm.MaxMarginRelaxation(data, graph, **SHAPES["hybrid"]).with_constraints(*LIMITS[name][0])
    best = mm.solve(problem, rel_gap=1e-6).bounds
    found = mm.solve(problem, engine, rel_gap=1e-4)
    assert found.bounds.primal_bound == pytest.approx(best.primal_bound, rel=1e-4)
    assert found.bounds.dual_bound == pytest.approx(best.primal_bound, rel=1e-3)
    assert found.bounds.dual_bound <= best.primal_bound * (1 + 1e-9)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(sorted(LIMITS)), st.sampled_from(sorted(SHAPES)), st.booleans())
def test_any_multipliers_are_a_bound_and_any_point_is_moved_to_a_feasible_one(data, graph, seed, name, shape, packed):
    problem = mm.MaxMarginRelaxation(data, graph, **SHAPES[shape]).with_constraints(*LIMITS[name][0])
    program = problem.program
    rng = np.random.default_rng(seed)
    w = program.project(rng.normal(-1.0, 2.0, program.margins.n_parameters))
    assert program.violation(w) < 1e-9
    assert np.abs(program.project(w) - w).max() < 1e-7
    y = rng.exponential(1.0, (program.margins.n_samples, program.margins.n_classes)) * rng.integers(0, 2)
    multipliers = program.packed(y, rng.normal(0.0, 30.0, len(program.rows.names))) if packed else y
    assert program.dual_value(multipliers) <= program.value(w) + 1e-9 * program.scale


def test_the_multipliers_of_limits_are_the_slopes_of_the_optimum(data, graph):
    problem = mm.MaxMarginRelaxation(data, graph, **SHAPES["hybrid"])

    def best(value):
        limited = problem.with_constraints(mm.EntryBounds("A0", 1, {"class": 0}, lower=value, upper=value))
        return mm.solve(limited, rel_gap=1e-8)

    table = best(0.5).duals().set_index("kind").loc["limit"]
    assert table["name"] == "limit[P[A0=1 | class=0] fixed at 0.5]"
    assert table.value == pytest.approx(np.log(0.5), abs=1e-6)
    step = 1e-3
    above, below = (best(0.5 * np.exp(sign * step)).bounds.primal_bound for sign in (1, -1))
    assert table.dual == pytest.approx((above - below) / (2 * step), rel=1e-2)
    assert abs(table.dual) > 0.1


def test_constraints_that_contradict_each_other_are_named(data, graph):
    problem = mm.MaxMarginRelaxation(data, graph, **SHAPES["hybrid"])
    limited = problem.with_constraints(
        mm.EntryBounds("B0", 1, {"class": 0}, lower=0.7),
        mm.MonotoneEntries("A0"),
        mm.TiedTables(("B0", "B1")),
        mm.EntryBounds("B1", 0, {"class": 0}, lower=0.4),
    )
    with pytest.raises(mm.InfeasibleError) as told:
        mm.solve(limited)
    words = str(told.value)
    assert words.startswith("No tables are that keep these 3 constraints together: [P[B0=1 | class=0] at least 0.7; ")
    assert "A0" not in words
    alone = problem.with_constraints(mm.EntryBounds("B0", lower=0.6))
    with pytest.raises(mm.InfeasibleError, match=r"the constraint \[P\[B0\] at least 0.6\]: rows sum to at most 1"):
        mm.solve(alone)
    with pytest.raises(mm.InfeasibleError, match="no entry is below min_prob"):
        mm.solve(problem.with_constraints(mm.EntryBounds("B0", 1, {"class": 1}, upper=1e-4)))


@pytest.mark.parametrize(
    ("constraint", "words"),
    [
        (lambda: mm.EntryBounds("A0"), "needs lower, upper or both"),
        (lambda: mm.EntryBounds("A0", lower=0.0), r"lower must be a number in \(0, 1\], got 0.0"),
        (lambda: mm.EntryBounds("A0", lower=0.5, upper=0.4), "lower=0.5 above upper=0.4"),
        (lambda: mm.EntryBounds("none", lower=0.5), "'none' is no node"),
        (lambda: mm.EntryBounds("Irrelevant", lower=0.5), "'Irrelevant' has no table that the posterior depends on"),
        (lambda: mm.EntryBounds("A0", 7, lower=0.5), r"'A0' has no state 7; it has \['0', '1'\]"),
        (
            lambda: mm.EntryBounds("A0", 1, {"B0": 1}, lower=0.5),
            r"'B0' is no parent of 'A0'; its parents are \['class'\]",
        ),
        (lambda: mm.EntryBounds("A0", 1, {"class": "x"}, lower=0.5), r"'class' has no state 'x'"),
        (lambda: mm.TiedTables(["A0"]), "needs two different nodes"),
        (lambda: mm.TiedTables(["A0", "A1"]), r"different shapes .*\[2x2, 2x2x2\]"),
        (lambda: mm.MonotoneEntries("class", toward=1), "toward is for children of the class"),
        (lambda: mm.MonotoneEntries("A0", toward="maybe"), "'class' has no state 'maybe'"),
        (lambda: mm.ParameterRow(lambda *_: 1.0), "needs lower, upper or both"),
        (lambda: mm.ParameterRow(lambda *_: 1.0, lower=2, upper=1), "lower=2 above upper=1"),
        (
            lambda: mm.ParameterRow(lambda *_: float("nan"), lower=0, label="mine"),
            "coefficient of mine must be a finite",
        ),
    ],
)
def test_what_is_wrong_is_named(data, graph, constraint, words):
    with pytest.raises(mm.InputError, match=words):
        mm.MaxMarginRelaxation(data, graph).with_constraints(constraint())


def test_who_cannot_keep_them_says_so(data, graph):
    limited = mm.MaxMarginRelaxation(data, graph, gamma=2.0).with_constraints(mm.EntryBounds("A0", lower=0.1))
    assert limited.build().kind is ProgramKind.CONVEX_ROWS
    for name in ("convex", "interior_point", "proximal_newton", "first_order", "barrier", "highs_lp"):
        with pytest.raises(mm.InputError, match=f"but '{name}' accepts .*; clarabel, .*ecos.* can"):
            mm.solve(limited, name)
    with pytest.raises(mm.InputError, match="got a linearly constrained convex program"):
        get_solver_class("interior_point")().solve(limited.build())
    with pytest.raises(mm.InputError, match="take no constraints on entries"):
        mm.lambda_path(limited, [0.1, 1.0])
    for other in (
        mm.SmoothMargin(data, graph),
        mm.ConditionalLikelihood(data, graph),
        mm.MaxMarginMarkovNetwork(data, graph),
    ):
        with pytest.raises(mm.InputError, match=r"takes no constraints on its tables: .* as in MaxMarginRelaxation"):
            other.with_constraints(mm.EntryBounds("A0", lower=0.1))


def test_a_model_from_elsewhere_is_judged_at_its_nearest_point_that_keeps_them(data, graph):
    problem = mm.MaxMarginRelaxation(data, graph, **SHAPES["hybrid"])
    tied = problem.with_constraints(mm.TiedTables(("B0", "B1")), mm.EntryBounds("class", 1, upper=0.3))
    network = problem.maximum_likelihood
    checks = {check.name: check for check in mm.certify(network, tied).checks}
    assert checks["limits on entries"].ok is None
    assert "limit[P[class=1] at most 0.3] is missed by" in checks["limits on entries"].detail
    assert mm.distance_to_optimum(network, tied, rel_gap=1e-4).dual_bound == pytest.approx(
        mm.solve(tied, rel_gap=1e-6).bounds.primal_bound, rel=1e-3
    )
    nearest = tied.recover(tied.encode(network))
    assert tied.evaluate(nearest) == pytest.approx(tied.evaluate(network), rel=1e-9)


def test_the_published_problem_with_limits_is_no_linear_program_in_disguise(data, graph):
    problem = mm.MaxMarginRelaxation(data, graph, gamma=4.0, normalization="published")
    limited = problem.with_constraints(mm.EntryBounds("B0", lower=0.1), mm.EntryBounds("B1", lower=0.1))
    assert problem.program.is_linear
    assert not limited.program.is_linear
    model = limited.to_cvxpy()
    model.solve(solver="CLARABEL")
    result = mm.solve(limited, rel_gap=1e-3)
    assert result.bounds.primal_bound == pytest.approx(model.value * data.total_weight, rel=1e-3)


@dataclass(frozen=True)
class Symmetric(mm.ParameterConstraint):
    """Both states of a node are as likely as each other, whatever the class."""

    node: str

    def __str__(self):
        return f"{self.node} says nothing"

    def rows(self, entries):
        node = entries.node(self.node, self)
        for row in range(entries.layout.shape(node)[0]):
            yield {entries.place(node, row, 0): 1.0, entries.place(node, row, 1): -1.0}, 0.0, 0.0


def test_a_constraint_of_ones_own_is_a_dataclass_with_rows(data, graph):
    problem = mm.MaxMarginRelaxation(data, graph, **SHAPES["hybrid"])
    result = mm.solve(problem.with_constraints(Symmetric("A0")), rel_gap=1e-6)
    table = result.model.log_factors[data.feature_names.index("A0")]
    assert np.abs(table[:, 0] - table[:, 1]).max() < 1e-9
    assert result.certificate.ok


def test_native_models_and_files_have_the_rows(data, graph, tmp_path):
    from tests.mof_reader import Mof

    problem = mm.MaxMarginRelaxation(data, graph, **SHAPES["hybrid"]).with_constraints(*LIMITS["several"][0])
    best = mm.solve(problem, rel_gap=1e-6).bounds.primal_bound
    read = Mof(problem.to_mof(tmp_path / "p.mof.json"))
    assert read.problem.solve(solver="CLARABEL") == pytest.approx(best, rel=1e-5)
    assert problem.evaluate(problem.recover(read.values())) == pytest.approx(best, rel=1e-4)
    assert "limit[P[class=1] at most 0.3]" in read.rows
    assert len(problem.to_pyomo().row) == len(problem.log_rows.names) == 7
