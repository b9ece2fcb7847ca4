"""The interior point: curvature that stays one, few iterations to six digits, and the optimum of a cone solver."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import mmbn_opt as mm
from mmbn_opt.programs.convex import ConvexProgram
from mmbn_opt.programs.margin_kernels import add_curvature
from mmbn_opt.solvers.convex._interior_state import InteriorState, row_shares
from mmbn_opt.solvers.convex.cvxpy_conic import ClarabelSolver
from mmbn_opt.solvers.convex.interior_point import InteriorPointSolver


def drawn(
    seed: int, *, rows: int, features: int, classes: int, noise: float, gamma: float, normalization: str = "floor"
) -> ConvexProgram:
    """Features that copy the class but for some noise."""
    rng = np.random.default_rng(seed)
    rows = max(rows, 2 * classes)
    labels = np.concatenate([np.arange(2 * classes) % classes, rng.integers(0, classes, rows - 2 * classes)])
    drawn_at_random = rng.integers(0, 4, (rows, features))
    cells = np.where(rng.random((rows, features)) < noise, drawn_at_random, labels[:, None] % 4)
    data = mm.DiscreteDataset.from_arrays(cells.tolist(), labels.tolist())
    return mm.MaxMarginRelaxation(data, mm.naive_bayes(data), gamma=gamma, normalization=normalization).build()


class TestCurvature:
    @settings(max_examples=30, deadline=None)
    @given(st.integers(0, 10**6), st.integers(2, 5))
    def test_it_is_positive_whatever_the_range_of_the_weights(self, seed, classes):
        """As at the end of a run, where one class of a sample weighs 1e20 times as much as the others."""
        rng = np.random.default_rng(seed)
        program = drawn(seed, rows=20, features=3, classes=classes, noise=0.5, gamma=1.0)
        margins = program.margins
        d = 10.0 ** rng.uniform(-13.0, 9.0, (margins.n_samples, classes))
        matrix = np.zeros((margins.n_parameters,) * 2)
        add_curvature(margins.factor_rows, margins.gather, d, 0.0, matrix)
        matrix = np.tril(matrix) + np.tril(matrix, -1).T
        scale = np.sqrt(matrix.diagonal())
        seen = scale > 0.0
        scaled = matrix[np.ix_(seen, seen)] / np.outer(scale[seen], scale[seen])
        assert np.linalg.eigvalsh(scaled).min() > -1e-12
        assert np.abs(matrix[~seen]).max(initial=0.0) == 0.0

    def test_what_a_class_adds_is_not_lost_beside_one_that_has_nearly_all(self):
        matrix = np.zeros((2, 2))
        add_curvature(np.zeros((1, 1), np.int32), np.array([[0, 1]]), np.array([[1e12, 1e-9]]), 0.0, matrix)
        assert np.tril(matrix) == pytest.approx(np.array([[1e-9, 0.0], [-1e-9, 1e-9]]), rel=1e-12)


class TestIterations:
    @pytest.mark.parametrize("noise", [0.5, 0.8, 0.95])
    @pytest.mark.parametrize("gamma", [0.1, 1.0, 10.0])
    def test_six_digits_take_few(self, noise, gamma):
        program = drawn(4, rows=600, features=12, classes=4, noise=noise, gamma=gamma)
        answer = InteriorPointSolver(rel_gap=1e-6, warm_seconds=0.0, max_iterations=45).solve(program)
        assert answer.bounds.gap_rel <= 1e-6 or answer.bounds.gap_abs <= 1e-12 * program.scale

    def test_rows_are_kept_to_second_order(self):
        """A long step leaves the sums of the rows within a small part of what its tangents miss."""
        program = drawn(4, rows=600, features=12, classes=4, noise=0.9, gamma=1.0)
        state = InteriorState(program, program.first_point(), np.inf, 1.0)
        missed, left = [], []
        for _ in range(25):
            before, share = state.w, row_shares(program, state.w)[0]
            first = row_shares(program, before)[1]
            state.iterate()
            level = row_shares(program, state.w)[1]
            along = np.add.reduceat(share * (state.w - before), program.row_ptr[:-1])
            missed.append(float((level - first - along).max()))
            left.append(float((level + state.r).max()))
        assert sum(left[5:]) < 0.25 * sum(missed[5:])


@settings(max_examples=8, deadline=None)
@given(
    st.integers(0, 10**6),
    st.integers(4, 60),
    st.integers(2, 4),
    st.sampled_from([0.5, 0.9]),
    st.sampled_from([0.3, 1.0, 10.0]),
    st.sampled_from(["floor", "hybrid"]),
)
@example(734, 27, 2, 0.9, 10.0, "floor")  # whose last digits no multipliers prove: it must see that nothing moves
def test_the_optimum_is_that_of_a_cone_solver(seed, rows, classes, noise, gamma, normalization):
    program = drawn(seed, rows=rows, features=3, classes=classes, noise=noise, gamma=gamma, normalization=normalization)
    answer = InteriorPointSolver(rel_gap=1e-8, warm_seconds=0.0).solve(program)
    other = ClarabelSolver(rel_gap=1e-9).solve(program)
    room = 1e-7 * max(1.0, abs(other.bounds.primal_bound)) + other.bounds.gap_abs
    assert abs(answer.bounds.primal_bound - other.bounds.primal_bound) <= room
    assert answer.bounds.dual_bound <= other.bounds.primal_bound + 1e-9 * program.scale
