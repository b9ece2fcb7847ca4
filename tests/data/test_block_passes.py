"""Passes over data in a file say what passes over data in memory say, in a memory that does not grow with the rows."""

import tracemalloc
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mmbn_opt as mm
from mmbn_opt._budget import Budget, OutOfTime, leaving_when
from mmbn_opt.data import block_counts, block_passes, counts
from mmbn_opt.data.mapped import CodeFile, MappedDataset
from mmbn_opt.data.variable import DiscreteVariable
from mmbn_opt.formulations.parameters import relaxation
from mmbn_opt.formulations.structure._term_in_blocks import TermInBlocks
from mmbn_opt.programs import ProgramKind
from mmbn_opt.scores import predictive

STATES = (2, 3, 1, 4, 2)


@pytest.fixture(autouse=True)
def short_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (block_passes, block_counts, counts):
        monkeypatch.setattr(module, "BLOCK_ROWS", 64)
    monkeypatch.setattr(relaxation, "HELD_MARGINS", 0)


def both(
    folder: Path, n_rows: int, n_classes: int = 3, seed: int = 0, states: tuple[int, ...] = STATES
) -> tuple[mm.DiscreteDataset, MappedDataset]:
    """The same rows in memory and in a file."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n_rows)
    y[:n_classes] = np.arange(n_classes)[:n_rows]
    columns = [(y * rng.integers(0, 2, n_rows) + rng.integers(0, k, n_rows)) % k for k in states]
    variables = [DiscreteVariable(f"x{j}", tuple(map(str, range(k)))) for j, k in enumerate(states)]
    target = DiscreteVariable("y", tuple(map(str, range(n_classes))))
    codes = np.asfortranarray(np.stack(columns, axis=1).astype(np.int32))
    held = mm.DiscreteDataset(codes, y.astype(np.int32), tuple(variables), target, np.ones(n_rows))
    file = CodeFile(folder, len(states) + 1, n_rows)
    for j, (column, size) in enumerate(zip((*columns, y), (*states, n_classes), strict=True)):
        file.write(j, column, size)
    found = file.columns()
    return held, MappedDataset(found[:-1].T, found[-1], tuple(variables), target, np.broadcast_to(1.0, n_rows))


def structures(data: mm.DiscreteDataset) -> dict[str, mm.Structure]:
    names, c = data.feature_names, data.class_name
    return {
        "naive Bayes": mm.naive_bayes(data),
        "a tree": mm.tan_cmi(data),
        "parents of the class": mm.Structure.from_names(names, c, [("x0", c), ("x3", c), (c, "x1"), ("x3", "x1")]),
        "nothing but the class": mm.Structure.from_names(names, c, []),
    }


@pytest.mark.parametrize("n_rows", [5, 64, 65, 300])
@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize("formulation", [mm.SmoothMargin, mm.ConditionalLikelihood])
def test_values_gradients_and_bounds_are_those_of_data_in_memory(
    tmp_path: Path, formulation: type[mm.SmoothMargin], n_classes: int, n_rows: int
) -> None:
    held, mapped = both(tmp_path, n_rows, n_classes)
    for threads in (1, 2):
        for structure in structures(held).values():
            one, other = (formulation(data, structure, threads=threads) for data in (held, mapped))
            mine, its = one.build(), other.build()
            point = np.random.default_rng(1).normal(size=len(mine.x0))
            (value, gradient), (by_blocks, its_gradient) = (p.value_and_gradient(point) for p in (mine, its))
            assert by_blocks == pytest.approx(value, rel=1e-12)
            np.testing.assert_allclose(its_gradient, gradient, rtol=1e-9, atol=1e-11)
            if its.bound is not None and mine.bound is not None:
                assert its.bound(point) == pytest.approx(mine.bound(point), rel=1e-12)
            model = one.recover(point)
            assert other.evaluate(model) == pytest.approx(one.evaluate(model), rel=1e-12)


@pytest.mark.parametrize("normalization", ["hybrid", "floor", "published"])
@pytest.mark.parametrize("n_rows", [64, 300])
def test_the_relaxation_is_that_of_data_in_memory(tmp_path: Path, normalization: str, n_rows: int) -> None:
    held, mapped = both(tmp_path, n_rows)
    for structure in structures(held).values():
        how = {"gamma": 1.5, "normalization": normalization}
        one, other = (mm.MaxMarginRelaxation(data, structure, **how) for data in (held, mapped))
        mine, its = one.build(), other.build()
        assert its.kind is ProgramKind.CONVEX_PASSES
        assert its.size.columns == mine.size.columns
        assert its.size.rows == 2 * n_rows + len(its.row_ptr) - 1  # rows are not merged
        point = np.random.default_rng(1).normal(-1.0, 1.0, len(mine.linear))
        assert its.value(point) == pytest.approx(mine.value(point), rel=1e-12)
        assert its.separates(point) == mine.separates(point)
        np.testing.assert_allclose(its.frequency, mine.frequency, rtol=1e-12)
        assert its.trivial_bound == pytest.approx(mine.trivial_bound)
        mine_soft, its_soft = (program.smooth_hinge(point, 1.5, 0.2) for program in (mine, its))
        for a, b in zip(mine_soft, its_soft, strict=True):
            np.testing.assert_allclose(b, a, rtol=1e-9, atol=1e-9)
        model = one.trivial_start().model
        assert other.evaluate(model) == pytest.approx(one.evaluate(model), rel=1e-12)


def test_the_relaxation_is_proved_by_passes(tmp_path: Path) -> None:
    held, mapped = both(tmp_path, 500)
    tree = mm.tan_cmi(held)
    exact = mm.solve(mm.MaxMarginRelaxation(held, tree, gamma=1.5), rel_gap=1e-6).bounds
    problem = mm.MaxMarginRelaxation(mapped, tree, gamma=1.5)
    result = mm.solve(problem, rel_gap=2e-3)
    assert result.solver_name == "first_order"
    assert result.termination_status.name == "OPTIMAL"
    assert result.certificate.ok
    assert result.bounds.dual_bound <= exact.primal_bound + 1e-9
    assert result.bounds.primal_bound >= exact.dual_bound - 1e-9
    assert problem.prove_bound(result.multipliers) == pytest.approx(result.bounds.dual_bound, rel=1e-12)
    # What is no multiplier proves what none prove.
    for nonsense in (np.zeros(3), np.full_like(result.multipliers, np.nan), -result.multipliers):
        assert problem.prove_bound(nonsense) == problem.trivial_bound()
    with pytest.raises(mm.InputError, match="none is kept of a sample"):
        result.duals()


def test_what_needs_all_margins_at_once_is_refused_by_name(tmp_path: Path) -> None:
    held, mapped = both(tmp_path, 100)
    with pytest.raises(mm.InputError, match="Give gamma"):
        mm.MaxMarginRelaxation(mapped, mm.naive_bayes(held), B=1.0)
    with pytest.raises(mm.InputError, match=r"streamed convex program.*first_order can"):
        mm.solve(mm.MaxMarginRelaxation(mapped, mm.naive_bayes(held)), "interior_point")


GAMMAS = [2.0, {"0": 0.5, "1": 3.0, "2": 1.0}, "rows"]


@pytest.mark.parametrize("gamma", GAMMAS, ids=["one", "by class", "by row"])
@pytest.mark.parametrize("margin_weight", [1.0, {"0": 1.0, "1": 0.0, "2": 2.5}], ids=["all alike", "by class"])
@pytest.mark.parametrize("kind", [mm.SoftMarginStructure, mm.BinarySoftMarginStructure])
def test_margin_terms_are_those_of_data_in_memory(
    tmp_path: Path, kind: type[mm.SoftMarginStructure], gamma: object, margin_weight: object
) -> None:
    held, mapped = both(tmp_path, 300)
    if gamma == "rows":
        gamma = np.random.default_rng(3).uniform(0.5, 2.0, 300)
    one, other = (kind(data, gamma=gamma, margin_weight=margin_weight) for data in (held, mapped))
    mine, its = one.build(ProgramKind.IMPLICIT_CONCAVE), other.build()
    assert isinstance(its.term, TermInBlocks)
    point = 0.5 * mine.vector(one.choice_of(mm.tan_cmi(held))) + 0.5 * mine.vector(one.choice_of(mm.naive_bayes(held)))
    for groups in (1, 7, 200):
        term, blocks = mine.term.regrouped(groups), its.term.regrouped(groups, threads=2)
        assert blocks.values(point).sum() == pytest.approx(term.values(point).sum(), rel=1e-12)
        assert blocks.upper.sum() == pytest.approx(term.upper.sum(), rel=1e-12)
        cuts = blocks.cuts(point)
        np.testing.assert_allclose(cuts.values, cuts.intercepts + cuts.gradients @ point, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(cuts.gradients.sum(0), term.cuts(point).gradients.sum(0), rtol=1e-9, atol=1e-9)
        some = blocks.cuts(point, lambda values: np.flatnonzero(values < np.median(values)))
        np.testing.assert_array_equal(some.gradients, cuts.gradients[some.groups])
        np.testing.assert_allclose(
            blocks.exchanged(point, its.offsets), term.exchanged(point, mine.offsets), rtol=1e-9, atol=1e-9
        )
        assert np.bincount(blocks.groups, minlength=len(blocks.upper)).sum() == 300
    assert other.trivial_bound() == pytest.approx(one.trivial_bound(), rel=1e-12)
    model = one.model_of(mm.tan_cmi(held))
    assert other.evaluate(model) == pytest.approx(one.evaluate(model), rel=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [mm.SoftMarginStructure, mm.BinarySoftMarginStructure])
def test_the_best_structure_is_that_of_data_in_memory(tmp_path: Path, kind: type[mm.SoftMarginStructure]) -> None:
    held, mapped = both(tmp_path, 300)
    one, other = (mm.solve(kind(data, gamma={"0": 0.5, "1": 3.0, "2": 1.0}), rel_gap=1e-6) for data in (held, mapped))
    assert other.certificate.ok
    assert other.solver_name == "branch_and_cut"
    assert other.bounds.primal_bound == pytest.approx(one.bounds.primal_bound, rel=1e-9)


@given(parts=st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=70))
def test_parts_are_added_as_a_tree_of_neighbours_adds_them(parts: list[float]) -> None:
    level = list(parts)
    while len(level) > 1:
        level = [sum(level[k + 1 : k + 2], level[k]) for k in range(0, len(level), 2)]
    found = block_passes._tree_sum([np.array(part)] for part in parts)
    assert float(found[0]) == level[0]


def test_scores_of_models_are_those_of_data_in_memory(tmp_path: Path) -> None:
    held, mapped = both(tmp_path, 300)
    for structure in structures(held).values():
        network = mm.BayesianNetwork.fit(structure, held)
        for score in (
            predictive.classification_rate,
            predictive.conditional_log_likelihood,
            predictive.log_likelihood,
            predictive.smooth_margin,
        ):
            assert score(network, mapped) == pytest.approx(score(network, held), rel=1e-12)


def test_rows_that_are_drawn_stand_for_all(tmp_path: Path) -> None:
    held, mapped = both(tmp_path, 300)
    for count in (1, 7, 299, 300, 1000):
        rows, drawn = mapped.drawn(count)
        assert len(rows) == min(count, 300)
        assert (np.diff(rows) > 0).all()
        assert drawn.total_weight == pytest.approx(300)
        assert (drawn.codes == held.codes[rows]).all()
    assert mapped.observed_classes() == held.observed_classes()
    assert mapped.constant_features() == held.constant_features() == [2]


def test_every_pass_ends_when_the_time_is_up(tmp_path: Path) -> None:
    held, mapped = both(tmp_path, 300)
    tree = mm.tan_cmi(held)
    network = mm.BayesianNetwork.fit(tree, held)
    smooth, relaxed = mm.SmoothMargin(mapped, tree).build(), mm.MaxMarginRelaxation(mapped, tree).build()
    structure = mm.SoftMarginStructure(mapped).build()
    x = np.zeros(structure.n_columns)
    for work in (
        lambda: smooth.value_and_gradient(smooth.x0),
        lambda: relaxed.value(relaxed.first_point()),
        lambda: structure.term.values(x),
        lambda: predictive.classification_rate(network, mapped),
    ):
        with leaving_when(Budget(limit=0.0).over), pytest.raises(OutOfTime):
            work()


def test_a_limit_leaves_a_result_that_says_what_was_not_checked(tmp_path: Path) -> None:
    held, mapped = both(tmp_path, 300)
    for problem in (mm.SoftMarginStructure(mapped), mm.MaxMarginRelaxation(mapped, mm.tan_cmi(held))):
        result = mm.solve(problem, time_limit=0.0)
        assert result.model is not None
        assert result.termination_status.name == "TIME_LIMIT"


ROWS = 40_000


def _smooth(data: MappedDataset, tree: mm.Structure) -> Callable[[], object]:
    program = mm.SmoothMargin(data, tree).build()
    return lambda: program.value_and_gradient(program.x0)


def _relaxed(data: MappedDataset, tree: mm.Structure) -> Callable[[], object]:
    program = mm.MaxMarginRelaxation(data, tree).build()
    w = program.first_point()
    return lambda: (program.value(w), program.smooth_hinge(w, 10.0, 0.1))


def _structure(data: MappedDataset, tree: mm.Structure) -> Callable[[], object]:
    problem = mm.SoftMarginStructure(data)
    program = problem.build()
    x = program.vector(problem.choice_of(tree))
    return lambda: (program.term.cuts(x), program.term.exchanged(x, program.offsets))


def _checked(data: MappedDataset, tree: mm.Structure) -> Callable[[], object]:
    problem = mm.SoftMarginStructure(data)
    model = problem.model_of(tree)
    return lambda: (problem.evaluate(model), problem.check(model), problem.trivial_bound())


@pytest.mark.parametrize("made", [_smooth, _relaxed, _structure, _checked])
def test_a_pass_takes_the_memory_of_a_block(
    tmp_path: Path, made: Callable[[MappedDataset, mm.Structure], Callable[[], object]], monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (block_passes, block_counts, counts):
        monkeypatch.setattr(module, "BLOCK_ROWS", 1000)

    def peak(n_rows: int) -> int:
        _, mapped = both(tmp_path / str(n_rows), n_rows)
        work = made(mapped, mm.tan_cmi(mapped))
        work()
        tracemalloc.start()
        try:
            work()
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    short, long = peak(ROWS // 10), peak(ROWS)
    # Nine times as many rows, of which the codes alone take six bytes each.
    assert long < short + ROWS
    assert long < 60 * 1000 * 8


def test_types_of_files_that_differ_are_read_as_by_the_whole(tmp_path: Path) -> None:
    frames = [
        pd.DataFrame({"a": [1, 2] * 300, "y": ["p", "q"] * 300}),
        pd.DataFrame({"a": [2.0, np.nan] * 300, "y": ["q", "q"] * 300}),
    ]
    for k, frame in enumerate(frames):
        frame.to_parquet(tmp_path / f"{k}.parquet")
    found = mm.DiscreteDataset.from_parquet(tmp_path, "y", missing="state")
    expected = mm.prepare(pd.concat(frames, ignore_index=True), "y", missing="state").data
    assert found.features == expected.features
    assert found.total_weight == 1200
