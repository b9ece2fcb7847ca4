"""The programs say what they should: vectors and models agree, and optima equal enumeration over all DAGs."""

import numpy as np
import pytest
import reference
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import dataset_of, tiny_problems

import mmbn_opt as mm
from mmbn_opt.exceptions import InputError, SizeLimitError
from mmbn_opt.formulations.structure.acyclicity import MAX_CLUSTER_NODES
from mmbn_opt.programs.base import ProgramKind
from mmbn_opt.results.status import TerminationStatus

FORMS = ["order", "order-printed", "cluster"]
MIP = ProgramKind.MIXED_INTEGER


def build(form):
    return form.build(MIP)


def optimum(form, solver="highs"):
    """Optimum without the start heuristics, so that they can't hide a wrong program."""
    result = mm.solve(form, solver, starts=[])
    assert result.termination_status is TerminationStatus.OPTIMAL
    assert result.certificate.ok, str(result.certificate)
    value = result.bounds.primal_bound
    tolerance = 1e-7 * max(1.0, abs(value))
    for record in result.trace:
        assert record.primal_bound <= value + tolerance
        assert record.dual_bound >= value - tolerance
    return value


@settings(max_examples=40)
@given(
    tiny_problems(), st.integers(1, 3), st.sampled_from(FORMS), st.sampled_from([0.405, 2.197, 4.595]), st.booleans()
)
def test_margin_optimum_equals_enumeration(problem, max_parents, acyclicity, gamma, binary):
    rows, card = problem
    make = mm.BinarySoftMarginStructure if binary else mm.SoftMarginStructure
    form = make(dataset_of(rows, card), max_parents=max_parents, gamma=gamma, acyclicity=acyclicity)
    expected = reference.best_margin(rows, [1.0] * len(rows), card, max_parents, gamma, binary=binary)
    assert optimum(form) == pytest.approx(expected, abs=1e-6)
    assert optimum(form, "branch_and_cut") == pytest.approx(expected, abs=1e-6)


@settings(max_examples=40)
@given(
    tiny_problems(), st.integers(1, 3), st.sampled_from(FORMS), st.sampled_from(["bic", "mdl", "bdeu", "loglik"]),
    st.sampled_from([0.5, 1.0, 5.0]),
)  # fmt: skip
def test_decomposable_optimum_equals_enumeration(problem, max_parents, acyclicity, score, ess):
    rows, card = problem
    form = mm.DecomposableStructure(
        dataset_of(rows, card), score=score, ess=ess, max_parents=max_parents, acyclicity=acyclicity
    )
    expected = reference.best_decomposable(rows, [1.0] * len(rows), card, max_parents, score, ess)
    assert optimum(form) == pytest.approx(expected, abs=1e-6)
    assert optimum(form, "branch_and_cut") == pytest.approx(expected, abs=1e-6)


@pytest.mark.slow
@settings(max_examples=25)
@given(tiny_problems(max_features=4, max_rows=10), st.integers(1, 3), st.sampled_from(FORMS), st.booleans())
def test_four_features_equal_enumeration(problem, max_parents, acyclicity, binary):
    rows, card = problem
    make = mm.BinarySoftMarginStructure if binary else mm.SoftMarginStructure
    form = make(dataset_of(rows, card), max_parents=max_parents, gamma=1.5, acyclicity=acyclicity)
    expected = reference.best_margin(rows, [1.0] * len(rows), card, max_parents, 1.5, binary=binary)
    assert optimum(form) == pytest.approx(expected, abs=1e-6)


@given(tiny_problems(max_classes=2), st.sampled_from(FORMS))
def test_two_classes_make_both_margins_the_same_program(problem, acyclicity):
    rows, card = problem
    rows = [[*r[:-1], r[-1] % 2] for r in rows]
    data = dataset_of(rows, [*card[:-1], 2])
    one = build(mm.SoftMarginStructure(data, acyclicity=acyclicity))
    two = build(mm.BinarySoftMarginStructure(data, acyclicity=acyclicity))
    np.testing.assert_allclose(one.A.toarray(), two.A.toarray(), rtol=0, atol=1e-12)
    for name in ("c", "row_lower", "row_upper", "col_lower", "col_upper", "integrality"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))


@settings(max_examples=25)
@given(tiny_problems(), st.permutations([0, 1, 2]), st.integers(2, 3), st.booleans())
def test_row_order_relabelling_and_weights_change_nothing(problem, relabel, copies, binary):
    rows, card = problem
    make = mm.BinarySoftMarginStructure if binary else mm.SoftMarginStructure
    value = optimum(make(dataset_of(rows * copies, card), gamma=1.0))
    weighted = dataset_of(rows, card, weights=[float(copies)] * len(rows))
    assert optimum(make(weighted, gamma=1.0)) == pytest.approx(value, abs=1e-6)
    first = [k for k in relabel if k < card[0]]
    renamed = [[first.index(r[0]), *r[1:]] for r in reversed(rows * copies)]
    assert optimum(make(dataset_of(renamed, card), gamma=1.0)) == pytest.approx(value, abs=1e-6)


@given(tiny_problems(), st.integers(1, 3), st.sampled_from(FORMS), st.booleans(), st.data())
def test_encode_and_recover_are_inverse_and_feasible(problem, max_parents, acyclicity, binary, data):
    rows, card = problem
    make = mm.BinarySoftMarginStructure if binary else mm.SoftMarginStructure
    form = make(dataset_of(rows, card), max_parents=max_parents, acyclicity=acyclicity)
    dags = list(reference.all_dags(reference.margin_sets(len(card) - 1, min(max_parents, 2))))
    parents = data.draw(st.sampled_from(dags))
    model = form.model_of(mm.Structure(form.data.feature_names, "class", parents))
    program, x = build(form), form.encode(model)
    assert program.is_feasible(x, 1e-9)
    assert -program.value(x) == pytest.approx(form.evaluate(model), abs=1e-9)
    assert form.recover(x).structure == model.structure
    assert form.trivial_bound() >= form.evaluate(model) - 1e-9


@given(tiny_problems(), st.sampled_from(FORMS))
def test_cyclic_choices_are_infeasible_in_every_form(problem, acyclicity):
    """A two-cycle among features and a cycle through the class violate some row, whatever the order columns are."""
    rows, card = problem
    if len(card) < 3:
        return
    form = mm.SoftMarginStructure(dataset_of(rows, card), max_parents=2, acyclicity=acyclicity)
    c = len(card) - 1
    column_of, n = form.candidates.column_of, form.candidates.n_columns
    program = build(form)
    through_class = [(0, (c,)), (c, (0,))]
    between_features = [(0, (1, c)), (1, (0, c))]
    for pairs in (through_class, between_features):
        fixed = {column_of[pair] for pair in pairs}
        nodes = {node for node, _ in pairs}
        lower, upper = program.col_lower.copy(), program.col_upper.copy()
        for k, (node, _) in enumerate(form.candidates.columns):
            if node in nodes:
                lower[k] = upper[k] = float(k in fixed)
        assert not lp_feasible(program, lower, upper)
    assert n == len(form.candidates.columns)


def lp_feasible(program, lower, upper):
    from scipy.optimize import Bounds, LinearConstraint, milp

    answer = milp(
        np.zeros_like(program.c),
        constraints=LinearConstraint(program.A, program.row_lower, program.row_upper),
        bounds=Bounds(lower, upper),
    )
    assert answer.status in (0, 2)
    return answer.status == 0


def test_required_and_forbidden_edges_are_kept():
    rng = np.random.default_rng(5)
    data = dataset_of(rng.integers(0, 2, (60, 4)).tolist(), [2, 2, 2, 2])
    free = mm.solve(mm.SoftMarginStructure(data)).model
    absent = next(
        (a, b) for a in data.feature_names for b in data.feature_names if a != b and (a, b) not in free.structure.edges
    )
    present = next(edge for edge in free.structure.edges)
    result = mm.solve(mm.SoftMarginStructure(data, required_edges=(absent,), forbidden_edges=(present,)))
    assert absent in result.model.structure.edges
    assert present not in result.model.structure.edges
    assert result.certificate.ok
    with pytest.raises(InputError, match="form a cycle"):
        mm.solve(mm.SoftMarginStructure(data, required_edges=(("x0", "x1"), ("x1", "x0"))))


def test_sizes_are_told_and_refused_before_building():
    rng = np.random.default_rng(6)
    data = dataset_of(rng.integers(0, 3, (200, 6)).tolist(), [3, 3, 3, 3, 3, 3])
    form = mm.SoftMarginStructure(data)
    estimate, real = form.estimate_size(), build(form).size
    assert (estimate.columns, estimate.integers, estimate.rows) == (real.columns, real.integers, real.rows)
    assert estimate.nonzeros >= real.nonzeros
    with pytest.raises(SizeLimitError, match=r"would have [\d,]+ rows and up to [\d,]+ non-zeros.*max_rows=100"):
        build(mm.SoftMarginStructure(data, max_rows=100))
    with pytest.raises(SizeLimitError, match="max_nonzeros=1,000"):
        mm.solve(mm.SoftMarginStructure(data, max_nonzeros=1000))
    wide = dataset_of(rng.integers(0, 2, (20, MAX_CLUSTER_NODES + 2)).tolist(), [2] * (MAX_CLUSTER_NODES + 2))
    with pytest.raises(SizeLimitError, match="lists all 2\\^13 sets"):
        build(mm.SoftMarginStructure(wide, acyclicity="cluster"))


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"max_parents": 0}, "max_parents must be a whole number >= 1, got 0"),
        ({"max_parents": 1.5}, "max_parents must be a whole number >= 1, got 1.5"),
        ({"gamma": 0.0}, "gamma must be a finite number of nats > 0"),
        ({"gamma": float("inf")}, "gamma must be a finite number of nats > 0"),
        ({"smoothing": 0.0}, "smoothing must be > 0 here"),
        ({"smoothing": -1.0}, "smoothing must be a finite pseudo-count >= 0, got -1.0"),
        ({"acyclicity": "none"}, 'acyclicity must be "auto"'),
        ({"required_edges": [("x0", "zzz")]}, "unknown node 'zzz'"),
    ],
)
def test_bad_settings_are_refused(settings, text):
    data = dataset_of([[0, 0], [1, 1]], [2, 2])
    with pytest.raises(InputError, match=text):
        mm.SoftMarginStructure(data, **settings).estimate_size()


def test_bad_data_are_refused():
    one_class = mm.DiscreteDataset.from_arrays([["a"], ["b"]], [1, 1])
    with pytest.raises(InputError, match="holds only 1; margins need at least two classes"):
        mm.SoftMarginStructure(one_class)
    empty = dataset_of([[0, 0], [1, 1]], [2, 2]).subset(slice(0, 0))
    with pytest.raises(InputError, match="no rows"):
        mm.DecomposableStructure(empty)


def test_dominated_parent_sets_are_left_out_without_loss():
    rng = np.random.default_rng(7)
    data = dataset_of(rng.integers(0, 2, (50, 4)).tolist(), [2, 2, 2, 2])
    form = mm.DecomposableStructure(data, score="bic", max_parents=3)
    assert form.candidates.n_columns < sum(len(s) for s in reference.all_sets(3, 3))
    model = form.model_of(mm.from_edges(data, [("x0", "x1"), ("x2", "x1"), ("class", "x1")]))
    improved = form.recover(form.encode(model))
    assert form.evaluate(improved) >= form.evaluate(model)


@settings(max_examples=15)
@given(tiny_problems(), st.sampled_from(["sm", "sbm", "bic"]))
def test_heuristics_are_sandwiched(problem, score):
    rows, card = problem
    data = dataset_of(rows, card)
    form = {"sm": mm.SoftMarginStructure, "sbm": mm.BinarySoftMarginStructure}.get(score, mm.DecomposableStructure)(
        data
    )
    best = optimum(form)
    for start in form.starts():
        assert form.evaluate(start.model) <= best + 1e-7
        assert build(form).is_feasible(form.encode(start.model), 1e-9)


@pytest.mark.parametrize("solver", ["auto", "branch_and_cut", "scipy"])
def test_an_optimum_of_zero_is_proved(solver):
    """Near 0 the rounding error of the bound is a gap of 100 %."""
    rows = [[0, 0], [1, 1], [0, 0], [0, 1], [0, 1], [0, 2], [1, 0], [1, 0]]
    result = mm.solve(mm.SoftMarginStructure(dataset_of(rows, [2, 4])), solver=solver)
    assert result.termination_status is mm.TerminationStatus.OPTIMAL
    assert result.bounds.primal_bound == pytest.approx(0.0, abs=1e-9)
    assert result.bounds.gap_rel == 0.0
    assert result.certificate.ok


def test_tiny_weights_are_no_rounding_errors(monkeypatch):
    """The gap stays relative to the objective, however small that is: what is not proved is not called so."""
    monkeypatch.setattr("mmbn_opt.formulations.structure.base._LEAST_WEIGHT", 0.0)  # else they are refused
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 2, (60, 4))
    labels = (codes.sum(axis=1) + (rng.random(60) < 0.3)) % 2
    data = mm.DiscreteDataset.from_arrays(codes, labels, sample_weight=np.full(60, 1e-9))
    for solver in ("branch_and_cut", "highs"):
        bounds = (result := mm.solve(mm.SoftMarginStructure(data), solver=solver)).bounds
        assert bounds.gap_rel == pytest.approx(bounds.gap_abs / bounds.dual_bound)
        assert (result.termination_status is mm.TerminationStatus.OPTIMAL) == (bounds.gap_rel <= 1e-6)


def test_weights_too_small_for_the_tolerances_of_solvers_are_refused():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 2, (60, 4))
    labels = (codes.sum(axis=1) + (rng.random(60) < 0.3)) % 2

    def formulation(total):
        weight = np.full(60, total / 60)
        data = mm.DiscreteDataset.from_arrays(codes, labels, sample_weight=weight)
        return mm.SoftMarginStructure(data, smoothing=total / 60)

    with pytest.raises(mm.InputError, match=r"sum to 1e-05, .* Multiply the weights and the smoothing"):
        formulation(1e-5)
    for solver in ("branch_and_cut", "highs"):
        usual = mm.solve(formulation(60.0), solver=solver)
        for total in (2e-3, 1.0, 1e6):
            result = mm.solve(formulation(total), solver=solver)
            assert result.termination_status is mm.TerminationStatus.OPTIMAL
            assert result.bounds.primal_bound * 60 / total == pytest.approx(usual.bounds.primal_bound, rel=1e-6)
            assert result.bounds.gap_rel <= 1e-6
            assert result.certificate.ok
