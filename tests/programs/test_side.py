"""Side constraints of choice programs, held against plain sums over all choices of tiny boxes."""

import itertools

import numpy as np
import pytest

from mmbn_opt.programs.side import SideConstraints


def drawn(seed: int) -> tuple[SideConstraints, np.ndarray]:
    """Rows, caps and groups over three nodes whose columns name no parents, so that every choice is acyclic."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 5, 3)
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.intp)
    n, items = int(offsets[-1]), 4
    side = SideConstraints.of(
        offsets, np.zeros((n, 3), dtype=bool),
        rows=rng.integers(-2, 4, (2, n)).astype(float), upper=rng.integers(0, 9, 2).astype(float),
        cover=rng.random((n, items)) < 0.4, weights=rng.integers(0, 4, (2, items)).astype(float),
        caps=rng.integers(0, 12, 2).astype(float), groups=rng.random((int(rng.integers(0, 2)), items)) < 0.5,
    )  # fmt: skip
    return side, offsets


def keeps(side: SideConstraints, choice: tuple[int, ...]) -> bool:
    """By the definition."""
    if any(sum(row[k] for k in choice) > upper for row, upper in zip(side.rows, side.upper, strict=True)):
        return False
    there = [any(side.cover[k, j] for k in choice) for j in range(side.cover.shape[1])]
    for weights, cap in zip(side.weights, side.caps, strict=True):
        if sum(w for w, is_there in zip(weights, there, strict=True) if is_there) > cap:
            return False
    return all(len({is_there for j, is_there in enumerate(there) if group[j]}) < 2 for group in side.groups)


@pytest.mark.parametrize("seed", range(60))
def test_replacements_and_idle_boxes_are_those_of_the_definition(seed):
    side, offsets = drawn(seed)
    columns = [range(a, b) for a, b in itertools.pairwise(offsets.tolist())]
    for choice in itertools.product(*columns):
        assert side.keeps(np.array(choice, dtype=np.intp)) == keeps(side, choice)
        for node, own in enumerate(columns):
            wanted = [keeps(side, (*choice[:node], k, *choice[node + 1 :])) for k in own]
            assert side.replacements(np.array(choice, dtype=np.intp), node).tolist() == wanted
    rng = np.random.default_rng(seed)
    for _ in range(10):
        allowed = rng.random(int(offsets[-1])) < 0.6
        allowed[[int(rng.choice(own)) for own in columns]] = True
        every = itertools.product(*([k for k in own if allowed[k]] for own in columns))
        if side.idle(allowed):
            assert all(keeps(side, choice) for choice in every)


@pytest.mark.parametrize("seed", range(60))
def test_where_there_is_room_every_replacement_keeps_everything(seed):
    side, offsets = drawn(seed)
    columns = [range(a, b) for a, b in itertools.pairwise(offsets.tolist())]
    far = SideConstraints.of(
        offsets, side.parents, rows=side.rows, upper=side.upper + 100, cover=side.cover, weights=side.weights,
        caps=side.caps + 100,
    )  # fmt: skip
    for choice in itertools.product(*columns):
        one = np.array(choice, dtype=np.intp)
        assert far.roomy(one)
        if side.roomy(one):
            assert all(side.replacements(one, node).all() for node in range(len(columns)))


def test_there_is_room_up_to_the_limit_of_a_row_and_of_a_cap():
    offsets, parents = np.array([0, 2, 4], dtype=np.intp), np.zeros((4, 2), dtype=bool)
    cover = np.array([[False, False], [True, False], [False, False], [False, True]])
    for upper, cap, roomy in ((1.0, 2.0, True), (0.9, 2.0, False), (1.0, 1.9, False), (2.0, 9.0, True)):
        side = SideConstraints.of(
            offsets, parents, rows=np.array([[0.0, 1.0, 0.0, 1.0]]), upper=np.array([upper]), cover=cover,
            weights=np.array([[1.0, 2.0]]), caps=np.array([cap]),
        )  # fmt: skip
        assert side.roomy(np.array([0, 2])) == roomy
        assert side.roomy(np.array([1, 2])) == (upper == 2.0), "one node more and the row is full"


def test_boxes_are_idle_where_the_limits_are_out_of_reach_and_only_there():
    offsets, parents = np.array([0, 2, 4], dtype=np.intp), np.zeros((4, 2), dtype=bool)
    cover = np.array([[False], [True], [False], [True]])
    everything = np.ones(4, dtype=bool)
    for upper, cap, idle in ((2.0, 1.0, True), (1.0, 1.0, False), (2.0, 0.5, False)):
        side = SideConstraints.of(
            offsets, parents, rows=np.array([[0.0, 1.0, 0.0, 1.0]]), upper=np.array([upper]), cover=cover,
            weights=np.ones((1, 1)), caps=np.array([cap]),
        )  # fmt: skip
        assert side.idle(everything) is idle
        assert side.idle(np.array([True, False, True, False]))
    paths = SideConstraints.of(offsets, parents, above=np.array([[0, 1]]))
    assert not paths.idle(everything)
