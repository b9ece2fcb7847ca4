"""Open boxes beyond the memory limit wait on the disk: memory is bounded, and nothing else is changed by it."""

import math
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

import mmbn_opt as mm
from mmbn_opt.programs.deep_boxes import DeepBoxes, box_record
from mmbn_opt.solvers.choice.branch_and_cut import _frontier, _search
from tests.solving.test_checkpoint import proved, solve, table

LIMIT = _search.LEAST_BOXES


def many_boxes() -> mm.SoftMarginStructure:
    return mm.SoftMarginStructure(table(0, 60, 6), gamma=mm.log_odds(0.8))


@pytest.fixture(scope="module")
def free() -> mm.Result:
    return mm.solve(many_boxes(), "branch_and_cut", options={"branching": "dual"})


@pytest.fixture
def most(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many boxes were in memory after each parting."""
    seen: list[int] = []
    push = _frontier.Frontier.push

    def counted(self: _frontier.Frontier, *given: object) -> None:
        push(self, *given)
        seen.append(max(len(self._heap), len(self._ledger._open)))

    monkeypatch.setattr(_frontier.Frontier, "push", counted)
    return seen


@pytest.mark.parametrize("threads", [1, 3])
def test_the_proof_is_the_same_and_few_boxes_are_in_memory(
    threads: int, tmp_path: Path, free: mm.Result, most: list[int]
) -> None:
    options = {"branching": "dual", "memory_limit": 1000, "helpers": "threads"}
    result = solve(many_boxes(), tmp_path, threads=threads, options=options)
    assert result.termination_status is mm.TerminationStatus.OPTIMAL
    assert result.stats["boxes_put_away"] > 2 * LIMIT
    # Several at once have the parts of their boxes in the ledger before these wait.
    assert max(most) <= LIMIT + (1 if threads == 1 else 12 * threads)
    assert result.bounds.primal_bound == pytest.approx(free.bounds.primal_bound, rel=1e-12)
    assert result.model.structure == free.model.structure
    found = proved(many_boxes(), tmp_path)
    assert not found.boxes
    assert -found.bound == pytest.approx(result.bounds.dual_bound, abs=1e-8)
    assert not [path.name for path in tmp_path.iterdir() if "boxes" in path.name]


def test_boxes_on_the_disk_count_in_the_bound_and_are_gone_on_with(tmp_path: Path, free: mm.Result) -> None:
    options = {"branching": "dual", "memory_limit": 1000}
    first = solve(many_boxes(), tmp_path, options=options | {"node_limit": 120})
    assert first.stats["boxes_put_away"] > 0
    found = proved(many_boxes(), tmp_path)
    assert len(found.boxes) > LIMIT
    assert -found.bound == pytest.approx(first.bounds.dual_bound, abs=1e-8)
    last = solve(many_boxes(), tmp_path, options=options)
    assert last.termination_status is mm.TerminationStatus.OPTIMAL
    assert last.bounds.primal_bound == pytest.approx(free.bounds.primal_bound, rel=1e-12)
    assert last.model.structure == free.model.structure


def test_a_disk_without_room_for_them_ends_the_run_with_a_bound_that_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free: mm.Result
) -> None:
    def full(self: DeepBoxes, boxes: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(DeepBoxes, "add", full)
    options = {"branching": "dual", "memory_limit": 1000}
    result = solve(many_boxes(), tmp_path, options=options)
    assert result.termination_status is mm.TerminationStatus.INTERRUPTED
    assert "No space left" in result.raw_status
    assert result.bounds.dual_bound >= free.bounds.dual_bound - 1e-9
    assert -proved(many_boxes(), tmp_path).bound == pytest.approx(result.bounds.dual_bound, abs=1e-8)


def test_without_a_checkpoint_boxes_stay_in_memory(most: list[int], free: mm.Result) -> None:
    result = mm.solve(many_boxes(), "branch_and_cut", options={"branching": "dual", "memory_limit": 1000})
    assert result.stats["boxes_put_away"] == 0
    assert max(most) > LIMIT
    assert result.bounds.primal_bound == pytest.approx(free.bounds.primal_bound, rel=1e-12)


@pytest.mark.parametrize("seed", range(20))
def test_boxes_come_back_once_and_none_that_is_left_is_better_than_the_least_says(seed: int) -> None:
    rng = np.random.default_rng(seed)
    deep, inside, number = DeepBoxes(19), {}, 0
    for _ in range(60):
        if rng.random() < 0.5 or not inside:
            boxes = np.zeros(int(rng.integers(0, 30)), dtype=box_record(19))
            boxes["value"] = np.sort(rng.integers(0, 50, len(boxes)))
            boxes["number"] = number + np.arange(len(boxes))
            boxes["bits"] = rng.integers(0, 256, (len(boxes), 3))
            number += len(boxes)
            deep.add(boxes)
            inside |= {int(box["number"]): box for box in boxes}
        else:
            least = deep.least
            found = deep.take(int(rng.integers(1, 12)))
            assert float(found["value"][0]) == least
            for box in found:
                assert box == inside.pop(int(box["number"]))
        assert len(deep) == len(inside)
        assert deep.least == min((float(box["value"]) for box in inside.values()), default=math.inf)


def test_memory_does_not_grow_with_the_boxes_on_the_disk() -> None:
    deep = DeepBoxes(400)
    boxes = np.zeros(1000, dtype=box_record(400))
    deep.add(boxes)
    tracemalloc.start()
    for _ in range(200):
        deep.add(boxes)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(deep) == 201_000
    assert peak < 3 * boxes.nbytes < 201 * boxes.nbytes / 50
