"""Counting on sequences is the best there is for the smoothed likelihood, and the result says so."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mmbn_opt as mm
from mmbn_opt.exceptions import InputError
from mmbn_opt.tuning.sequence_counts import SequenceMaximumLikelihood

DATA = mm.SequenceDataset.from_lists(["aab", "abb", "b", "baca"], ["XXY", "XYY", "Y", "YXYX"], window=(1, 0))


@given(st.floats(0.0, 10.0), st.integers(0, 100), st.sampled_from([1e-3, 0.1, 1.0]))
def test_no_tables_have_more_than_the_smoothed_frequencies(smoothing, seed, size):
    problem = SequenceMaximumLikelihood(DATA, smoothing)
    result = problem.learn()
    assert result.termination_status is mm.TerminationStatus.OPTIMAL
    assert result.certificate.ok
    moved = np.exp(result.model.vector) * np.exp(
        size * np.random.default_rng(seed).standard_normal(len(problem.counts))
    )
    sums = np.repeat(np.add.reduceat(moved, problem.row_ptr[:-1]), np.diff(problem.row_ptr))
    with np.errstate(divide="ignore"):
        other = mm.HiddenMarkovClassifier.of_vector(DATA.features, DATA.target, DATA.window, np.log(moved / sums))
    assert problem.evaluate(other) <= result.bounds.primal_bound + 1e-9


def test_without_smoothing_the_objective_is_the_log_likelihood_of_labels_and_observations():
    data = mm.SequenceDataset.from_lists(["aab", "abb", "ba"], ["XXY", "XYY", "YX"])
    result = SequenceMaximumLikelihood(data, 0.0).learn()
    by_hand = 0.0
    model = result.model
    for x, y in zip(["aab", "abb", "ba"], ["XXY", "XYY", "YX"], strict=True):
        before = None
        for seen, label in zip(x, y, strict=True):
            now = "XY".index(label)
            by_hand += model.log_initial[now] if before is None else model.log_transition[before, now]
            by_hand += model.log_emissions[0][now, "ab".index(seen)]
            before = now
    assert result.bounds.primal_bound == pytest.approx(by_hand, rel=1e-12)


def test_settings_and_data_that_cannot_be_counted_are_refused():
    with pytest.raises(InputError, match="smoothing"):
        SequenceMaximumLikelihood(DATA, -1.0)
    with pytest.raises(InputError, match="one label"):
        SequenceMaximumLikelihood(mm.SequenceDataset.from_lists(["ab"], ["XX"]))
