"""Boxes that are searched elsewhere: they take along what they start from."""

import math
import pickle
from dataclasses import replace

import numpy as np
import pytest

from mmbn_opt.programs.base import ProgramKind
from mmbn_opt.programs.tree_records import ChildBoxes, Kind, PointAt
from mmbn_opt.programs.tree_relocation import Relocation
from mmbn_opt.programs.tree_rows import Point
from mmbn_opt.solvers.choice.branch_and_cut import BranchAndCut
from mmbn_opt.solvers.choice.branch_and_cut._bundles import OpenBox
from mmbn_opt.solvers.choice.branch_and_cut._families import Parted
from mmbn_opt.solvers.choice.branch_and_cut._packets import Bench, Packet, Task, search_packet
from mmbn_opt.solvers.choice.branch_and_cut._recipes import Start, renumbered
from mmbn_opt.solvers.choice.branch_and_cut._run import Run
from mmbn_opt.solvers.choice.branch_and_cut._search import Search
from tests.solving.test_threads import larger

NODES = 40


@pytest.fixture(scope="module")
def begun() -> tuple[Run, Search]:
    """A search that was left after some boxes."""
    program = larger().build(ProgramKind.IMPLICIT_CONCAVE)
    run = Run(BranchAndCut(options={"branching": "dual", "node_limit": NODES}), program, None, None)
    run.result(None)
    assert run.race is not None
    return run, run.race.leader


def task_of(run: Run, search: Search) -> Task:
    return Task.of(search, run._binding, run._gap, run.tolerances, run.tree.constant)


def as_sent(search: Search, boxes: list[Parted]) -> list[OpenBox]:
    bits = search.proof.ledger.bits
    return [OpenBox(box.number, box.value, box.depth, bits(box.number), box.start) for box in boxes]


def first_values(task: Task, boxes: list[OpenBox]) -> dict[int, float]:
    """What the linear program of each box is worth before any cut is made there."""
    bench = Bench(task, lambda: None)
    bench.take_in(boxes)
    search, found = bench.search, {}
    search.incumbent.loss = math.inf  # nothing ends a linear program early
    while (waiting := search.frontier.pop()) is not None:
        _, number, place, family = waiting
        search.proof.enter(number)
        rows = search.frontier.rows_of(family, search.pool)
        tableau, _ = search._beginning.of(search.pool, search.proof.allowed, family, place, rows)
        search._optimise(tableau)
        found[number] = search.proof._last
        search.proof.close()
        search.frontier.done(family)
    return found


def test_boxes_start_from_the_rows_of_their_parents_elsewhere(begun: tuple[Run, Search]) -> None:
    run, search = begun
    task, boxes = task_of(run, search), search.frontier.best(60)
    assert len(boxes) > 20
    assert any(box.depth > 1 for box in boxes)
    sent = pickle.loads(pickle.dumps((task, as_sent(search, boxes))))
    value = {box.number: box.value for box in boxes}
    at_once = first_values(*sent)
    brought = first_values(sent[0], [replace(b, start=b.start and Start(b.start.rows)) for b in sent[1]])
    bare = first_values(sent[0], [OpenBox(b.number, b.value, b.depth, b.bits) for b in sent[1]])
    gain = np.array([brought[number] - bare[number] for number in value])
    assert (gain >= -1e-6 * (1.0 + abs(search.root_value))).all(), "more rows prove no less"
    short = np.array([value[number] - bare[number] for number in value])
    left = np.array([value[number] - brought[number] for number in value])
    assert short.max() > 0.0
    assert np.maximum(left, 0.0).sum() < 0.2 * np.maximum(short, 0.0).sum()
    assert min(at_once[number] - value[number] for number in value) > -1e-6 * (1.0 + abs(search.root_value))


def test_what_is_open_comes_back_with_its_rows(begun: tuple[Run, Search]) -> None:
    run, search = begun
    boxes = as_sent(search, search.frontier.best(5))
    task, packet = pickle.loads(pickle.dumps((task_of(run, search), Packet(boxes, 0.0, None))))
    answer = search_packet(task, packet)
    assert {box.number for box in answer.open_boxes} - {box.number for box in boxes}, "one box was parted"
    given = {box.number: box.start for box in packet.boxes}
    assert all((box.start is None) == (box.number in given) for box in answer.open_boxes), "who sent it has it still"
    new = [box.start for box in answer.open_boxes if box.start is not None]
    assert all(len(start.rows) > 0 and start.basis is not None for start in new)
    back = [replace(box, start=given.get(box.number, box.start)) for box in answer.open_boxes]
    again = search_packet(task, pickle.loads(pickle.dumps(Packet(back, 0.0, None))))
    assert again.tally["nodes"] == 1


def test_boxes_sent_in_a_bundle_have_in_common_what_they_had(begun: tuple[Run, Search]) -> None:
    _, search = begun
    sent = as_sent(search, search.frontier.best(30))
    sent[3], sent[5] = replace(sent[3], start=None), replace(sent[5], start=sent[5].start and Start(sent[5].start.rows))
    came = pickle.loads(pickle.dumps(Packet(sent, 1.0, None))).boxes
    assert [(b.number, b.value, b.depth) for b in came] == [(b.number, b.value, b.depth) for b in sent]
    assert len({id(b.start.rows) for b in came if b.start}) == len({id(b.start.rows) for b in sent if b.start}) > 1
    points = {id(p) for b in came if b.start for p in b.start.rows.points}
    assert len(points) == len({id(p) for b in sent if b.start for p in b.start.rows.points}) > 1
    for one, other in zip(came, sent, strict=True):
        assert np.array_equal(one.bits, other.bits)
        if one.start is None or other.start is None:
            assert one.start is other.start is None
            continue
        (rows, basis), (own, before) = one.start, other.start
        kept = (one.bits, basis, rows.which, rows.group, rows.points[0].columns, rows.points[0].values)
        assert all(array is None or array.base is None for array in kept), "one box does not keep all that came with it"
        assert (basis is None and before is None) or np.array_equal(basis, before)  # type: ignore[arg-type]
        assert np.array_equal(rows.which, own.which)
        assert np.array_equal(rows.group, own.group)
        assert rows.names == own.names
        for point, origin in zip(rows.points, own.points, strict=True):
            assert (point.key, point.number) == (origin.key, origin.number)
    assert pickle.loads(pickle.dumps(Packet([], 1.0, None))).boxes == []


def test_a_basis_saves_the_pivots_to_it(begun: tuple[Run, Search]) -> None:
    run, search = begun
    boxes = as_sent(search, [box for box in search.frontier.best(60) if box.start is not None][:20])
    assert all(box.start is not None and box.start.basis is not None for box in boxes)
    without = [replace(box, start=box.start and Start(box.start.rows)) for box in boxes]
    task = task_of(run, search)
    pivots = []
    for sent in (boxes, without):
        answers = [search_packet(*pickle.loads(pickle.dumps((task, Packet([box], 0.0, None))))) for box in sent]
        pivots.append(sum(answer.tally["pivots"] for answer in answers))
    assert pivots[0] < 0.9 * pivots[1]


@pytest.mark.parametrize("most", [0, 3])
def test_only_the_best_take_rows_along(begun: tuple[Run, Search], monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    _, search = begun
    monkeypatch.setattr("mmbn_opt.solvers.choice.branch_and_cut._frontier.RECIPES", most)
    boxes = search.frontier.best(30)
    with_rows = [box.number for box in boxes if box.start is not None]
    assert [box.number for box in boxes[:most]] == with_rows[:most]
    assert len(with_rows) < len(boxes)  # siblings of the best have the rows that those have


def test_points_that_the_file_has_are_not_written_again_by_who_is_sent_them(begun: tuple[Run, Search]) -> None:
    run, search = begun
    boxes, task = search.frontier.best(40), replace(task_of(run, search), written=True)
    sent = {id(p): p for box in boxes if box.start is not None for p in box.start.rows.points if p.number < 0}
    number_of = {point.key: task.n_points + 100 + place for place, point in enumerate(sent.values())}
    known = renumbered((box.start for box in boxes), lambda number: number)
    for start in known:
        for point in () if start is None else start.rows.points:
            point.number = number_of.get(point.key, point.number)
    boxes = [box._replace(start=start) for box, start in zip(boxes, known, strict=True)]
    answer = search_packet(*pickle.loads(pickle.dumps((task, Packet(as_sent(search, boxes), 1.0, None)))))
    points = [PointAt.decode(payload) for kind, payload in answer.records if kind is Kind.POINT]
    assert {Point(point.columns, point.values).key for point in points}.isdisjoint(number_of)
    new = np.arange(1000, 1000 + len(points), dtype=np.uint32)
    others = np.arange(50, 50 + sum(kind is Kind.ROW for kind, _ in answer.records), dtype=np.uint32)
    move = Relocation(0, task.n_points, len(task.others), new, others)
    used: set[int] = set()
    for kind, payload in answer.records:
        moved = move.record(kind, payload)
        if kind is Kind.SPLIT:
            used.update(ChildBoxes.rows_of(moved).points.tolist())
    assert used & set(number_of.values())
    assert used <= {*range(task.n_points), *new.tolist(), *number_of.values()}
    assert {move.point(task.number_there(number)) for number in number_of.values()} == set(number_of.values())
    assert move.point(task.n_points + len(points)) == -1
