"""Nonlinear programs: their constraints' derivatives, however they are given."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from mmbn_opt.programs import NonlinearProgram, PointEvaluation

X = np.array([0.5, -1.0])


def constraints(x):
    return np.array([1.0 - x @ x, x[0] - 0.25])


def jacobian(x):
    return np.array([-2.0 * x, [1.0, 0.0]])


def evaluate(x):
    return PointEvaluation(float(x.sum()), constraints(x), lambda w: np.ones(2) + w @ jacobian(x))


DISC = NonlinearProgram(
    lambda x: (float(x.sum()), np.ones(2)), x0=np.array([0.5, 0.5]), constraints=constraints, jacobian=jacobian,
    n_constraints=2,
)  # fmt: skip


@pytest.mark.parametrize(
    "given", [{}, {"jacobian": lambda x: sp.csr_array(jacobian(x))}, {"jacobian": None, "evaluate": evaluate}]
)
def test_the_dense_jacobian_is_the_same_from_arrays_sparse_arrays_and_pulls(given):
    np.testing.assert_allclose(replace(DISC, **given).dense_jacobian(X), jacobian(X))


def test_without_constraints_it_has_no_rows():
    assert NonlinearProgram(lambda x: (float(x @ x), 2 * x), x0=X).dense_jacobian(X).shape == (0, 2)
