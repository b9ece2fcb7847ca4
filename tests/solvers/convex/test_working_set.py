"""The interior point on a working set finds the optimum of the whole program, and its bounds are true."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mmbn_opt as mm
from mmbn_opt.programs.convex import ConvexProgram
from mmbn_opt.results.status import TerminationStatus
from mmbn_opt.solvers.convex._working_state import WorkingState
from mmbn_opt.solvers.convex.cvxpy_conic import ClarabelSolver
from mmbn_opt.solvers.convex.proximal_newton import ProximalNewtonSolver
from mmbn_opt.solvers.convex.working_set import WorkingSetSolver


def drawn(seed: int, *, rows: int, classes: int, gamma: float, normalization: str = "floor") -> ConvexProgram:
    """Random features and a constant one, the class copied from the first in most rows."""
    rng = np.random.default_rng(seed)
    rows = max(rows, 2 * classes)
    cells = np.hstack([rng.integers(0, 3, (rows, 3)), np.zeros((rows, 1), dtype=int)])
    labels = np.where(rng.random(rows) < 0.7, cells[:, 0] % classes, rng.integers(0, classes, rows))
    labels[: 2 * classes] = np.arange(2 * classes) % classes
    data = mm.DiscreteDataset.from_arrays(cells.tolist(), labels.tolist())
    form = mm.MaxMarginRelaxation(data, mm.naive_bayes(data), gamma=gamma, normalization=normalization)
    return form.build()


def nearly_solved(program: ConvexProgram) -> tuple[np.ndarray, np.ndarray | None]:
    answer = ProximalNewtonSolver(rel_gap=1e-2).solve(program)
    assert answer.solution is not None
    return answer.solution, answer.multipliers


class TestOptimum:
    @settings(max_examples=8, deadline=None)
    @given(
        st.integers(0, 10**6),
        st.integers(1, 60),
        st.integers(2, 4),
        st.sampled_from([0.3, 1.0, 5.0]),
        st.sampled_from(["floor", "hybrid"]),
    )
    def test_it_is_that_of_a_cone_solver_and_bounds_stay_below_values(self, seed, rows, classes, gamma, normalization):
        program = drawn(seed, rows=rows, classes=classes, gamma=gamma, normalization=normalization)
        start, multipliers = nearly_solved(program)
        told = []
        answer = WorkingSetSolver(rel_gap=1e-8, multipliers=multipliers).solve(program, told.append, start)
        for event in (event for event in told if event.dual_bound is not None):
            assert event.dual_bound <= event.primal_bound + 1e-9 * max(1.0, abs(event.primal_bound))
        other = ClarabelSolver(rel_gap=1e-9).solve(program)
        room = 1e-7 * max(1.0, abs(other.bounds.primal_bound)) + other.bounds.gap_abs
        assert abs(answer.bounds.primal_bound - other.bounds.primal_bound) <= room
        assert answer.bounds.dual_bound <= other.bounds.primal_bound + 1e-9 * program.scale

    def test_without_multipliers_it_begins_at_none(self):
        program = drawn(3, rows=80, classes=3, gamma=1.0)
        answer = WorkingSetSolver(rel_gap=1e-7).solve(program)
        assert answer.bounds.gap_rel < 1e-6

    def test_data_that_separate_have_the_optimum_0(self):
        data = mm.DiscreteDataset.from_arrays([["a"], ["b"]] * 10, [0, 1] * 10)
        program = mm.MaxMarginRelaxation(data, mm.naive_bayes(data), gamma=1.0, normalization="floor").build()
        answer = WorkingSetSolver(rel_gap=1e-6).solve(program)
        assert answer.termination_status is TerminationStatus.OPTIMAL
        assert answer.bounds.primal_bound == pytest.approx(0.0, abs=1e-6)

    def test_counts_are_weights(self):
        cells, labels = [["a", "u"], ["a", "v"], ["b", "u"], ["b", "v"], ["a", "u"]], [0, 1, 1, 1, 1]
        values = []
        for data in (
            mm.DiscreteDataset.from_arrays(cells * 3, labels * 3),
            mm.DiscreteDataset.from_arrays(cells, labels, sample_weight=[3.0] * 5),
        ):
            program = mm.MaxMarginRelaxation(data, mm.naive_bayes(data), gamma=2.0, normalization="floor").build()
            values.append(WorkingSetSolver(rel_gap=1e-8).solve(program).bounds.primal_bound)
        assert values[0] == pytest.approx(values[1], rel=1e-7)

    def test_a_gamma_that_is_free_is_refused(self):
        data = mm.DiscreteDataset.from_arrays([["a"], ["b"]] * 5, [0, 1] * 5)
        program = mm.MaxMarginRelaxation(data, mm.naive_bayes(data), B=1.0, gamma=None, normalization="floor").build()
        with pytest.raises(mm.InputError, match="gamma="):
            WorkingSetSolver().solve(program)


class TestSet:
    def test_it_is_a_part_of_the_samples_and_grows_where_others_reach_a_kink(self):
        program = drawn(5, rows=3000, classes=4, gamma=1.0)
        start, multipliers = nearly_solved(program)
        assert multipliers is not None
        state = WorkingState(program, start, 1.0, multipliers)
        first = state.size
        assert first < program.margins.n_samples
        bounds = []
        for _ in range(25):
            state.iterate()
            bounds.append(program.dual_value(state.multipliers))
        assert state.size >= first
        best = ProximalNewtonSolver(rel_gap=1e-7, time_limit=20.0).solve(program)
        assert max(bounds) <= best.bounds.primal_bound * (1 + 1e-9)
        assert max(bounds) == pytest.approx(best.bounds.dual_bound, rel=1e-4)

    def test_a_part_with_fixed_multipliers_has_the_bound_of_both(self):
        program = drawn(6, rows=200, classes=3, gamma=1.0)
        rng = np.random.default_rng(0)
        table = rng.random((program.margins.n_samples, 3)) * program.margins.weight[:, None] / 3
        table[np.arange(len(table)), program.margins.labels] = 0.0
        inside = np.flatnonzero(rng.random(len(table)) < 0.5)
        others = table.copy()
        others[inside] = 0.0
        part = program.part(inside, others)
        asked = program.gamma * float((program.delta * others).sum())
        assert part.dual_value(table[inside]) + asked == pytest.approx(program.dual_value(table), rel=1e-12)
        assert (part.at_floor == program.at_floor).all()
