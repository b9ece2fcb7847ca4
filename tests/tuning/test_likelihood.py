"""Parameters in closed form are the best there are, and the result says so with figures of two origins."""

import numpy as np
import pytest

import mmbn_opt as mm
from mmbn_opt.networks.smoothing import Dirichlet
from mmbn_opt.scores.predictive import log_likelihood
from mmbn_opt.tuning.likelihood import MaximumLikelihood


@pytest.fixture(scope="module")
def data() -> mm.DiscreteDataset:
    draw = np.random.default_rng(3)
    labels = draw.integers(0, 3, 80)
    columns = [np.where(draw.random(80) < 0.6, labels, draw.integers(0, 3, 80)) for _ in range(4)]
    return mm.DiscreteDataset.from_arrays(np.column_stack(columns), labels, sample_weight=draw.integers(1, 4, 80))


@pytest.mark.parametrize("smoothing", [0.0, 0.5, 1.0, Dirichlet(ess=3.0)], ids=str)
def test_no_tables_have_more_than_the_smoothed_frequencies(data, smoothing):
    problem = MaximumLikelihood(data, mm.tan_cmi(data), smoothing)
    result = problem.learn()
    assert result.termination_status is mm.TerminationStatus.OPTIMAL
    assert result.certificate.ok
    assert result.bounds.gap_abs == 0
    draw = np.random.default_rng(0)
    for size in (1e-3, 0.1, 1.0):
        moved = [np.exp(t) * np.exp(size * draw.standard_normal(t.shape)) for t in result.model.log_cpts]
        with np.errstate(divide="ignore"):
            tables = tuple(np.log(t / t.sum(axis=1, keepdims=True)) for t in moved)
        other = mm.BayesianNetwork(result.model.structure, data.features, data.target, tables)
        assert problem.evaluate(other) < result.bounds.primal_bound


def test_without_smoothing_the_objective_is_the_log_likelihood(data):
    result = MaximumLikelihood(data, mm.naive_bayes(data), 0.0).learn()
    assert result.bounds.primal_bound == pytest.approx(log_likelihood(result.model, data), rel=1e-12)


def test_the_bound_knows_the_counts_alone(data):
    """Entropies, written out for naive Bayes: sum n log n over cells less that over configurations."""
    problem = MaximumLikelihood(data, mm.naive_bayes(data), 1.0)
    total = 0.0
    n = np.bincount(data.target_codes, weights=data.sample_weight) + 1.0
    total += (n * np.log(n / n.sum())).sum()
    for column in data.codes.T:
        for c in range(3):
            n = np.bincount(column[data.target_codes == c], data.sample_weight[data.target_codes == c], 3) + 1.0
            total += (n * np.log(n / n.sum())).sum()
    assert problem.bound() == pytest.approx(total, rel=1e-12)


def test_tables_that_are_not_the_estimates_are_no_optimum(data, monkeypatch):
    import mmbn_opt.tuning.likelihood as room

    whole = room.BayesianNetwork.fit
    monkeypatch.setattr(room.BayesianNetwork, "fit", classmethod(lambda cls, s, d, a: whole(s, d, 30.0)))
    result = MaximumLikelihood(data, mm.naive_bayes(data), 1.0).learn()
    assert result.termination_status is mm.TerminationStatus.NUMERICAL_ERROR
    assert [check.name for check in result.certificate.failures] == ["parameters from the data", "objective and bound"]
    assert result.bounds.dual_bound > result.bounds.primal_bound
