"""Where samples are many, some of them say where to look, and all of them say what is claimed."""

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import mmbn_opt as mm
from mmbn_opt.formulations.structure import _margin_kernels, margin_term, soft_margin
from mmbn_opt.formulations.structure.margin_term import MarginTerm
from mmbn_opt.programs import ProgramKind
from mmbn_opt.solvers.choice.branch_and_cut import _rehearsal, _run


@pytest.fixture
def few_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forty merged samples are as good as a hundred thousand."""
    monkeypatch.setattr(_rehearsal, "MANY_PARTS", 40)
    monkeypatch.setattr(soft_margin, "MANY_SAMPLES", 40)


def table(seed: int, n_classes: int = 3, n_rows: int = 300) -> mm.DiscreteDataset:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n_rows)
    x = (rng.integers(0, 3, (n_rows, 6)) + y[:, None] * rng.integers(0, 2, 6)) % 3
    x[:, 1::2] = np.where(rng.random((n_rows, 3)) < 0.5, x[:, ::2], x[:, 1::2])
    return mm.DiscreteDataset.from_arrays(x, y, sample_weight=rng.integers(1, 5, n_rows).astype(float))


@pytest.mark.parametrize("constraints", [(), (mm.MaxEdges(7),)])
@pytest.mark.parametrize("make", [mm.SoftMarginStructure, mm.BinarySoftMarginStructure])
def test_the_optimum_of_all_samples_is_found_and_proved(
    make: Callable[..., Any], constraints: tuple[Any, ...], request: pytest.FixtureRequest
) -> None:
    problem = make(table(0), constraints=constraints)
    whole = mm.solve(problem, "branch_and_cut")
    request.getfixturevalue("few_are_many")
    rehearsed = mm.solve(make(table(0), constraints=constraints), "branch_and_cut")
    assert problem.merged.n_samples > 40
    for result in (whole, rehearsed):
        assert result.termination_status is mm.TerminationStatus.OPTIMAL
        assert result.certificate.ok
    assert rehearsed.bounds.primal_bound == pytest.approx(whole.bounds.primal_bound, rel=1e-9)
    assert rehearsed.model.structure == whole.model.structure


@pytest.mark.usefixtures("few_are_many")
@pytest.mark.parametrize("seed", range(4))
def test_the_first_bound_takes_at_most_twenty_passes_and_no_bound_is_below_the_optimum(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = mm.SoftMarginStructure(table(seed, n_classes=2 + seed % 2))
    program = problem.build(ProgramKind.IMPLICIT_CONCAVE)
    passes, bounds = [], []
    whole_pass = MarginTerm._pass

    def counted(self: MarginTerm, x: Any, *ranges: Any) -> Any:
        if self.n_parts == problem.merged.n_samples:
            passes.append(len(bounds))
        return whole_pass(self, x, *ranges)

    monkeypatch.setattr(MarginTerm, "_pass", counted)

    def hear(event: Any) -> None:
        if event.dual_bound is not None:
            bounds.append(event.dual_bound)

    start = program.vector(problem.choice_of(mm.tan_cmi(problem.merged)))
    solver = mm.solvers.BranchAndCut()
    answer = solver.solve(program, callback=hear, start=start)
    assert 0 < passes.count(0) <= 20
    optimum = answer.bounds.primal_bound
    assert all(bound <= optimum + 1e-9 * abs(optimum) for bound in bounds)  # it is a minimum there


@pytest.mark.usefixtures("few_are_many")
def test_searches_without_proof_look_at_some_samples_and_end_at_a_local_optimum_of_all() -> None:
    problem = mm.SoftMarginStructure(table(1))
    assert problem._loss().reset(problem.choice_of(mm.tan_cmi(problem.merged))) > 0.0
    *_, last = problem.starts()
    loss = soft_margin.MarginLoss(problem.tables, problem.gamma)
    choice = problem.choice_of(last.model.structure)
    total = loss.reset(choice)
    assert problem.gamma * problem.merged.total_weight - total == pytest.approx(problem.evaluate(last.model), rel=1e-9)
    search = soft_margin.LocalSearch(problem.candidates, loss, max_kicks=0)
    assert [found for _, found in search.run(choice)] == pytest.approx([total], rel=1e-9)


@pytest.mark.parametrize("weights", ["equal", "one row weighs half of all"])
def test_samples_are_drawn_in_proportion_to_weight_and_class(weights: str) -> None:
    tables = mm.SoftMarginStructure(table(2, n_rows=2000)).tables
    if weights != "equal":
        heavy = tables.weight.copy()
        heavy[7] = heavy.sum()
        tables = replace(tables, weight=heavy)
    some, _ = tables.sampled(100, 1.0)
    assert some.n_samples <= 100
    assert some.weight.sum() == pytest.approx(tables.weight.sum())
    share = [np.bincount(t.labels, weights=t.weight, minlength=3) / t.weight.sum() for t in (some, tables)]
    np.testing.assert_allclose(share[0], share[1], atol=0.011)
    if weights != "equal":
        assert some.weight.max() / some.weight.sum() == pytest.approx(0.5, abs=0.011)


def test_nothing_of_a_margin_problem_has_the_size_of_columns_times_samples() -> None:
    import tracemalloc

    rng = np.random.default_rng(0)
    n_rows, n_features = 30_000, 20
    data = mm.DiscreteDataset.from_arrays(rng.integers(0, 4, (n_rows, n_features)), rng.integers(0, 3, n_rows))
    problem = mm.SoftMarginStructure(data, max_parents=2)
    assert problem.merged.n_samples > 29_000
    tracemalloc.start()
    try:
        program = problem.build(ProgramKind.IMPLICIT_CONCAVE)
        term = program.term
        assert term is not None
        term.cuts(program.vector(problem.choice_of(mm.tan_cmi(problem.merged))))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    # A column has an entry for every sample: four bytes for each would be 76 MB.
    assert peak < program.n_columns * n_rows


def test_a_pass_over_many_samples_is_left_at_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pass takes 4 s here, four times the limit; what was proved and found before it is handed over."""
    usual = _margin_kernels.margin_pass

    def slow(*arguments: Any) -> int:
        time.sleep(0.01)
        return int(usual(*arguments))

    problem = mm.SoftMarginStructure(table(0))
    mm.solve(problem, "branch_and_cut", time_limit=5.0)  # compiles
    monkeypatch.setattr(_run, "MANY_PARTS", 40)
    monkeypatch.setattr(margin_term, "_SAMPLES_A_PART", 1)
    monkeypatch.setattr(margin_term, "_PARTS_AT_ONCE", 1)
    monkeypatch.setattr(_margin_kernels, "margin_pass", slow)
    samples = problem.merged.n_samples
    assert samples * 0.01 > 1.5
    began = time.monotonic()
    result = mm.solve(mm.SoftMarginStructure(table(0)), "branch_and_cut", time_limit=0.5)
    assert time.monotonic() - began < samples * 0.01
    assert result.termination_status is mm.TerminationStatus.TIME_LIMIT
    assert result.model is not None
    assert result.certificate.ok
