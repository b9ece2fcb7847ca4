"""Limits, interruption, memory, news and refusals of the engine."""

import math
import time

import numpy as np
import pytest
import scipy.sparse as sp
from threadpoolctl import threadpool_info, threadpool_limits

from mmbn_opt.data.discrete import DiscreteDataset
from mmbn_opt.exceptions import InputError
from mmbn_opt.formulations import SoftMarginStructure
from mmbn_opt.programs.base import ProgramKind
from mmbn_opt.programs.choice import ChoiceProgram
from mmbn_opt.programs.mixed_integer import MixedIntegerProgram
from mmbn_opt.results.status import SolutionStatus, TerminationStatus
from mmbn_opt.scores.predictive import log_odds
from mmbn_opt.solvers.base import SolverEvent
from mmbn_opt.solvers.choice.branch_and_cut import BranchAndCut, _rooting
from mmbn_opt.solvers.choice.branch_and_cut._root import root_rounds


@pytest.fixture(scope="module")
def hard() -> ChoiceProgram:
    """Noise: a wide gap that no tree closes in seconds."""
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 3, size=(150, 9))
    data = DiscreteDataset.from_arrays(codes, rng.integers(0, 3, size=150))
    return SoftMarginStructure(data, gamma=log_odds(0.6)).build(ProgramKind.IMPLICIT_CONCAVE)


@pytest.fixture(scope="module")
def easy() -> ChoiceProgram:
    rng = np.random.default_rng(1)
    codes = rng.integers(0, 2, size=(40, 4))
    data = DiscreteDataset.from_arrays(codes, codes.sum(axis=1) % 2)
    return SoftMarginStructure(data).build(ProgramKind.IMPLICIT_CONCAVE)


def test_time_limit_returns_both_bounds(hard: ChoiceProgram) -> None:
    BranchAndCut(options={"node_limit": 3}).solve(hard)  # compiled now
    begin = time.perf_counter()
    result = BranchAndCut(time_limit=1.0).solve(hard)
    assert time.perf_counter() - begin < 4.0
    assert result.termination_status is TerminationStatus.TIME_LIMIT
    assert result.bounds.primal_bound is not None
    assert result.bounds.dual_bound is not None
    assert result.bounds.dual_bound <= result.bounds.primal_bound
    assert result.trace.bounds == result.bounds


def test_node_limit_and_determinism(hard: ChoiceProgram) -> None:
    runs = [BranchAndCut(options={"node_limit": 20}).solve(hard) for _ in range(2)]
    for run in runs:
        assert run.termination_status is TerminationStatus.NODE_LIMIT
        assert run.stats["nodes"] == 20
    assert runs[0].bounds == runs[1].bounds
    assert runs[0].stats["iterations"] == runs[1].stats["iterations"]


def test_linear_algebra_keeps_to_one_thread(hard: ChoiceProgram) -> None:
    """However many the libraries would take: with more of them sums are rounded otherwise."""
    seen: set[int] = set()

    def look(event: SolverEvent) -> bool:
        seen.update(library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas")
        return False

    with threadpool_limits(2, user_api="blas"):
        BranchAndCut(options={"node_limit": 5}).solve(hard, callback=look)
    assert seen == {1}


def test_rows_made_again_change_the_effort_not_the_answer(easy: ChoiceProgram) -> None:
    plain = BranchAndCut(options={"groups": 2, "rounds": 1, "strong": 1}).solve(easy)
    tight = BranchAndCut(options={"groups": 2, "rounds": 1, "strong": 1, "memory_limit": 1}).solve(easy)
    assert plain.termination_status is tight.termination_status is TerminationStatus.OPTIMAL
    assert tight.bounds.primal_bound == pytest.approx(plain.bounds.primal_bound, rel=1e-9)
    assert tight.bounds.dual_bound == pytest.approx(plain.bounds.dual_bound, rel=1e-8)


def test_memory_limit_is_heeded(hard: ChoiceProgram) -> None:
    result = BranchAndCut(options={"node_limit": 60, "memory_limit": 200_000}).solve(hard)
    assert result.stats["families_dropped"] > 0
    assert result.stats["families_remade"] > 0
    free = BranchAndCut(options={"node_limit": 60}).solve(hard)
    assert free.stats["families_dropped"] == 0
    assert result.bounds.is_consistent()


def test_the_callback_stops_the_run(hard: ChoiceProgram) -> None:
    result = BranchAndCut().solve(hard, callback=lambda event: event.dual_bound is not None)
    assert result.termination_status is TerminationStatus.INTERRUPTED
    assert result.bounds.dual_bound is not None


def test_keyboard_interrupt_keeps_incumbent_and_bound(hard: ChoiceProgram) -> None:
    def interrupt(event: SolverEvent) -> None:
        if event.nodes:
            raise KeyboardInterrupt

    result = BranchAndCut().solve(hard, callback=interrupt)
    assert result.termination_status is TerminationStatus.INTERRUPTED
    assert result.solution_status is SolutionStatus.FEASIBLE
    assert result.bounds.gap_rel < np.inf


def test_news_only_gets_better(hard: ChoiceProgram) -> None:
    events: list[SolverEvent] = []
    BranchAndCut(time_limit=2.0).solve(hard, callback=events.append)
    duals = [e.dual_bound for e in events if e.dual_bound is not None]
    primals = [e.primal_bound for e in events if e.primal_bound is not None]
    assert duals == sorted(duals)
    assert primals == sorted(primals, reverse=True)
    for event in events:
        if event.solution is not None:
            assert hard.value(event.solution) == pytest.approx(event.primal_bound)


def test_gap_tolerances_end_the_run_early(hard: ChoiceProgram) -> None:
    result = BranchAndCut(rel_gap=0.9).solve(hard)
    assert result.termination_status is TerminationStatus.OPTIMAL
    assert result.bounds.gap_rel <= 0.9


def test_forced_cycle_is_infeasible() -> None:
    parents = np.array([[False, True], [True, False]])
    program = ChoiceProgram(np.zeros(2), np.array([0, 1, 2]), parents, sp.csr_array((0, 2)), np.zeros(0))
    result = BranchAndCut().solve(program)
    assert result.termination_status is TerminationStatus.INFEASIBLE
    assert result.solution is None


def test_one_choice_only() -> None:
    program = ChoiceProgram(
        np.array([2.0]), np.array([0, 1]), np.zeros((1, 1), dtype=bool), sp.csr_array((0, 1)), np.zeros(0), offset=1.0
    )
    result = BranchAndCut().solve(program)
    assert result.termination_status is TerminationStatus.OPTIMAL
    assert result.bounds.primal_bound == result.bounds.dual_bound == 3.0


def test_other_programs_and_unknown_options_are_refused(easy: ChoiceProgram) -> None:
    other = MixedIntegerProgram(
        np.zeros(1), sp.csr_array((0, 1)), np.zeros(0), np.zeros(0), np.zeros(1), np.ones(1), np.ones(1, dtype=bool)
    )
    with pytest.raises(InputError, match="IMPLICIT_CONCAVE"):
        BranchAndCut().solve(other)
    with pytest.raises(InputError, match=r"depth.*rounds"):
        BranchAndCut(options={"depth": 3}).solve(easy)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"rounds": "many"}, "rounds must be a whole number >= 0, got 'many'"),
        ({"node_limit": 2.5}, "node_limit must be a whole number >= 0, got 2.5"),
        ({"groups": 0}, "groups must be a whole number >= 1, got 0"),
        ({"root_rounds": None}, "root_rounds must be a whole number >= 0, got None"),
        ({"strong": 0}, "strong must be a whole number >= 1, got 0"),
        ({"max_pivots": 0}, "max_pivots must be a whole number >= 1, got 0"),
        ({"memory_limit": math.inf}, "memory_limit must be a number of bytes, got inf"),
        ({"work_limit": 0}, "work_limit must be a number > 0, got 0"),
        ({"reach": -1}, "reach must be a number >= 0, got -1"),
        ({"ahead": math.nan}, "ahead must be a number >= 0, got nan"),
        ({"branching": "strong"}, "branching must be .*'race'.*, got 'strong'"),
    ],
)
def test_values_of_options_are_looked_at_before_anything_is_done(options: dict[str, object], words: str) -> None:
    with pytest.raises(InputError, match=words):
        BranchAndCut(options=options)


def test_options_as_one_would_write_them(easy: ChoiceProgram) -> None:
    written = {"memory_limit": 2e9, "strong": None, "ahead": math.inf, "reach": 0, "node_limit": np.int64(10**6)}
    assert BranchAndCut(options=written).solve(easy).bounds.dual_bound == BranchAndCut().solve(easy).bounds.dual_bound


def test_what_was_reproved_is_told(easy: ChoiceProgram) -> None:
    result = BranchAndCut().solve(easy)
    assert result.proof.value == pytest.approx(result.bounds.dual_bound, rel=1e-8)
    assert result.proof.counts["bounds"] > 0


def test_time_that_ends_between_two_layouts_of_the_root(hard: ChoiceProgram, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rows of the first layout mean nothing in the second: no multiplier of theirs may be used there."""
    passes = []

    def once(*args: object, **settings: object) -> object:
        passes.append(settings["budget"])
        return root_rounds(*args, **settings) if len(passes) == 1 else iter(())  # type: ignore[arg-type]

    monkeypatch.setattr(_rooting, "FEW_GROUPS", 24)
    first = BranchAndCut(options={"groups": 24, "node_limit": 0}).solve(hard)
    monkeypatch.setattr(_rooting, "root_rounds", once)
    result = BranchAndCut().solve(hard)
    assert len(passes) == 2
    assert result.termination_status is TerminationStatus.NUMERICAL_ERROR
    assert result.raw_status == "the root program could not be solved"
    assert result.solution is not None
    assert result.stats["root_bound"] == pytest.approx(first.stats["root_bound"])
    assert result.bounds.dual_bound == pytest.approx(first.stats["root_bound"])
