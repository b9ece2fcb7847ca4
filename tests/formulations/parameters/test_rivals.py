"""Maximum-margin Markov networks and maximum conditional likelihood: the rivals, each with a proved optimum."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

import mmbn_opt as mm
from mmbn_opt.exceptions import InputError, SizeLimitError
from mmbn_opt.networks.structure import Structure
from mmbn_opt.results.status import TerminationStatus


def noisy_data(seed, n_classes=3, n=80):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 3, (n, 4))
    y = (X[:, 0] + X[:, 1] + rng.integers(0, 2, n)) % n_classes
    return mm.DiscreteDataset.from_arrays(X, y)


def indicators(formulation):
    """One column a factor row: what a linear classifier sees."""
    rows = formulation.program.margins.factor_rows
    table = np.zeros((len(rows), formulation.layout.factor_starts[-1]))
    table[np.arange(len(rows))[:, None], rows] = 1.0
    return table


@pytest.mark.parametrize("C", [0.1, 2.0])
@pytest.mark.parametrize("structure", [mm.naive_bayes, mm.tan_cmi])
def test_markov_networks_are_the_support_vector_machine_of_crammer_and_singer(structure, C):
    data = noisy_data(3)
    formulation = mm.MaxMarginMarkovNetwork(data, structure(data), C=C)
    result = mm.solve(formulation, rel_gap=1e-7)
    assert result.solver_name == "proximal_newton"
    assert result.termination_status is TerminationStatus.OPTIMAL, result.raw_status
    assert result.certificate.ok, str(result.certificate)
    assert any(c.name == "bound proved" and c.ok for c in result.certificate.checks)
    merged = formulation.merged
    machine = LinearSVC(C=C, multi_class="crammer_singer", fit_intercept=False, tol=1e-8, max_iter=200_000)
    machine.fit(indicators(formulation), merged.target_codes, sample_weight=merged.sample_weight)
    w = np.empty(formulation.layout.size)
    w[formulation.layout.gather] = machine.coef_.T
    value = formulation.program.value(w)
    assert value == pytest.approx(result.bounds.primal_bound, rel=1e-5)
    assert result.bounds.dual_bound <= value + 1e-9
    assert formulation.evaluate(formulation.recover(w)) == pytest.approx(value)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 50), scale=st.floats(0.01, 3.0))
def test_any_multipliers_bound_every_point_from_below(seed, scale):
    rng = np.random.default_rng(seed)
    data = noisy_data(seed % 5, n=30)
    program = mm.MaxMarginMarkovNetwork(data, mm.naive_bayes(data), C=0.5).build()
    y = scale * rng.exponential(size=(program.margins.n_samples, data.n_classes))
    w = rng.normal(scale=scale, size=program.margins.n_parameters)
    assert program.dual_value(y) <= program.value(w) + 1e-9


def test_weights_are_copies():
    data = noisy_data(1, n=40)
    heavy = mm.DiscreteDataset.from_arrays(data.codes, data.target_codes, sample_weight=np.full(40, 3.0))
    once = mm.solve(mm.MaxMarginMarkovNetwork(heavy, mm.naive_bayes(heavy), C=1.0), rel_gap=1e-7)
    thrice = mm.DiscreteDataset.from_arrays(np.repeat(data.codes, 3, axis=0), np.repeat(data.target_codes, 3))
    other = mm.solve(mm.MaxMarginMarkovNetwork(thrice, mm.naive_bayes(thrice), C=1.0), rel_gap=1e-7)
    assert once.bounds.primal_bound == pytest.approx(other.bounds.primal_bound, rel=1e-6)


def test_markov_networks_keep_their_limits():
    data = noisy_data(2)
    graph = mm.naive_bayes(data)
    for C in (0.0, -1.0, float("nan"), float("inf"), True):
        with pytest.raises(InputError, match="C must be"):
            mm.MaxMarginMarkovNetwork(data, graph, C=C)
    with pytest.raises(SizeLimitError, match="rows and up to"):
        mm.solve(mm.MaxMarginMarkovNetwork(data, graph, max_nonzeros=10), "clarabel_qp")
    without_matrix = mm.solve(mm.MaxMarginMarkovNetwork(data, graph, max_nonzeros=10))
    assert without_matrix.termination_status is TerminationStatus.OPTIMAL
    stopped = mm.solve(mm.MaxMarginMarkovNetwork(data, graph), time_limit=0.0)
    assert stopped.termination_status is TerminationStatus.TIME_LIMIT
    assert stopped.model is not None
    with pytest.raises(InputError, match="quadratic margin program"):
        mm.solve(mm.MaxMarginMarkovNetwork(data, graph), "first_order")


def test_no_bound_of_a_conditional_likelihood_is_above_certainty():
    data = noisy_data(4, n=40)
    formulation = mm.ConditionalLikelihood(data, mm.tan_cmi(data))
    assert formulation.bound_from(formulation.maximum_likelihood) <= 0.0


@pytest.mark.parametrize("structure", [mm.naive_bayes, mm.tan_cmi])
def test_conditional_likelihood_ends_at_a_proved_optimum(structure):
    """The unnormalised maximum is that of a multinomial logistic regression, found by scikit-learn."""
    data = noisy_data(4, n=400)
    formulation = mm.ConditionalLikelihood(data, structure(data))
    assert formulation.structure.is_renormalizable()
    best = mm.solve(formulation)
    result = mm.solve(formulation, "lbfgs", rel_gap=3e-3, options={"rel_change": 0.0, "max_iterations": 2000})
    margin = mm.MaxMarginMarkovNetwork(data, formulation.structure)
    merged = margin.merged
    regression = LogisticRegression(C=1e6, fit_intercept=False, tol=1e-10, max_iter=20_000)
    regression.fit(indicators(margin), merged.target_codes, sample_weight=merged.sample_weight)
    log_p = regression.predict_log_proba(indicators(margin))
    truth = float(merged.sample_weight @ log_p[np.arange(merged.n_samples), merged.target_codes])
    assert result.bounds.primal_bound == pytest.approx(truth, rel=1e-3)
    assert result.bounds.dual_bound >= truth - 1e-6
    assert result.bounds.gap_rel <= 3e-3
    assert best.bounds.primal_bound == pytest.approx(truth, rel=1e-5)
    assert best.bounds.gap_rel <= 1e-6
    for answer in (best, result):
        assert answer.termination_status is TerminationStatus.OPTIMAL
        assert answer.certificate.ok, str(answer.certificate)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 1000))
def test_the_bound_of_any_network_holds_for_any_other(seed):
    """Also where the structure is not renormalizable."""
    rng = np.random.default_rng(seed)
    data = noisy_data(seed % 3, n_classes=2, n=50)
    structure = Structure.from_names(
        ["x0", "x1", "x2", "x3"], "class", [("class", "x0"), ("x1", "x0"), ("class", "x2")]
    )
    formulation = mm.ConditionalLikelihood(data, structure)
    one, other = (formulation.recover(rng.normal(scale=2.0, size=formulation.layout.size)) for _ in range(2))
    assert formulation.bound_from(one) >= formulation.evaluate(other) - 1e-9
    assert formulation.bound_from(one) >= formulation.evaluate(one) - 1e-9
