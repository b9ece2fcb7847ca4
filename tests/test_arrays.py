"""Functions that every room may need: the same as SciPy's, without what SciPy loads."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import special

from mmbn_opt._arrays import log_expit, log_softmax, log_softmax_of_parts

FINITE = st.floats(-1e6, 1e6)


@given(hnp.arrays(np.float64, st.tuples(st.integers(1, 5), st.integers(1, 6)), elements=FINITE))
def test_log_softmax_is_that_of_scipy(scores: np.ndarray) -> None:
    assert log_softmax(scores) == pytest.approx(special.log_softmax(scores, axis=1), rel=1e-13, abs=1e-12)


def test_what_cannot_be_stays_impossible() -> None:
    assert log_softmax(np.array([[0.0, -np.inf, 0.0]])).tolist()[0] == pytest.approx([-np.log(2), -np.inf, -np.log(2)])


@given(hnp.arrays(np.float64, 7, elements=FINITE))
def test_log_expit_is_that_of_scipy(odds: np.ndarray) -> None:
    assert log_expit(odds) == pytest.approx(special.log_expit(odds), rel=1e-13, abs=1e-300)


@given(st.lists(hnp.arrays(np.float64, st.integers(1, 5), elements=st.floats(-700, 700)), min_size=1, max_size=5))
def test_parts_of_a_vector_are_normalised_one_by_one(parts: list[np.ndarray]) -> None:
    starts = np.cumsum([0, *map(len, parts)])
    found = log_softmax_of_parts(np.concatenate(parts), starts)
    assert found == pytest.approx(np.concatenate([special.log_softmax(part) for part in parts]), rel=1e-12, abs=1e-11)
