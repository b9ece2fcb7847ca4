"""A drawing shows every node and every edge, and nothing covers anything."""

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmbn_opt.display._crossings import count_crossings, order_rows, spread
from mmbn_opt.display.layout import Box, DrawnEdge, Layout, layered_layout
from mmbn_opt.networks.structure import Structure

Point = tuple[float, float]


def way(edge: DrawnEdge) -> list[Point]:
    """Points along an edge: corners of a bus, samples of a curve."""
    found: list[Point] = [edge.points[0]]
    for (x0, y0), (x1, y1) in zip(edge.points, edge.points[1:], strict=False):
        for k in range(1, 33):
            t = k / 32
            if edge.by_bus:
                found.append((x0 + t * (x1 - x0), y0 + t * (y1 - y0)))
            else:
                s = 3 * t * t - 2 * t * t * t  # x of a cubic whose ends are vertical
                m = (y0 + y1) / 2
                y = (1 - t) ** 3 * y0 + 3 * (1 - t) ** 2 * t * m + 3 * (1 - t) * t * t * m + t**3 * y1
                found.append((x0 + s * (x1 - x0), y))
    return found


def covers(box: Box, point: Point) -> bool:
    return abs(point[0] - box.x) < box.width / 2 - 0.01 and abs(point[1] - box.y) < box.height / 2 - 0.01


@given(data=st.data())
def test_every_drawing_is_readable(data: st.DataObject, structures: Any) -> None:
    structure: Structure = data.draw(structures)
    layout = layered_layout(structure)
    _nodes_are_apart(structure, layout)
    _edges_are_complete(structure, layout)
    _nothing_runs_under_a_node(layout)


def _nodes_are_apart(structure: Structure, layout: Layout) -> None:
    assert [b.node for b in layout.boxes] == list(range(len(structure.names)))
    for k, a in enumerate(layout.boxes):
        assert a.width / 2 <= a.x <= layout.width - a.width / 2
        assert a.height / 2 <= a.y <= layout.height - a.height / 2
        for b in layout.boxes[:k]:
            assert abs(a.x - b.x) >= (a.width + b.width) / 2 + 5 or abs(a.y - b.y) >= a.height + 5


def _edges_are_complete(structure: Structure, layout: Layout) -> None:
    edges = {(structure.names[e.parent], structure.names[e.child]) for e in layout.edges}
    assert edges == set(structure.edges)
    assert len(layout.edges) == len(structure.edges)
    for edge in layout.edges:
        parent, child = layout.boxes[edge.parent], layout.boxes[edge.child]
        (x0, y0), (x1, y1) = edge.points[0], edge.points[-1]
        assert y0 == parent.bottom
        assert y1 == child.top
        assert abs(x0 - parent.x) <= parent.width / 2
        assert abs(x1 - child.x) <= child.width / 2
    arrivals = [(e.child, round(e.points[-1][0], 3)) for e in layout.edges]
    assert len(set(arrivals)) == len(arrivals), "two arrow heads would lie on each other"


def _nothing_runs_under_a_node(layout: Layout) -> None:
    for edge in layout.edges:
        points = way(edge)
        assert all(0 <= x <= layout.width and 0 <= y <= layout.height for x, y in points)
        for box in layout.boxes:
            assert not any(covers(box, point) for point in points)


def test_a_star_of_sixty_stands_in_rows(star: Structure) -> None:
    layout = layered_layout(star)
    assert layout.width < 1000
    assert layout.height < 700
    assert layout.boxes[-1].y < min(b.y for b in layout.boxes[:-1])
    rows = {b.y for b in layout.boxes[:-1]}
    assert len(rows) * len({round(b.x, 3) for b in layout.boxes[:-1]}) == 60


def test_the_class_is_above_all_but_its_ancestors() -> None:
    edges = [("a", "class"), ("class", "b"), ("b", "c"), ("a", "d")]
    layout = layered_layout(Structure.from_names(["a", "b", "c", "d", "e"], "class", edges))
    a, b, c, d, e, top = (box.y for box in layout.boxes)
    assert a < top < b < c
    assert top < d
    assert top < e


def test_a_tree_is_drawn_without_crossings() -> None:
    names = [f"x{j}" for j in range(31)]
    edges = [(names[(j - 1) // 2], names[j]) for j in range(1, 31)]
    layout = layered_layout(Structure.from_names(names, "class", edges), columns=16)
    rows = sorted({b.y for b in layout.boxes})
    for upper, lower in pairwise(rows):
        spans = sorted(
            (layout.boxes[e.parent].x, layout.boxes[e.child].x)
            for e in layout.edges
            if layout.boxes[e.parent].y == upper
        )
        assert [c for _, c in spans] == sorted(c for _, c in spans)
        assert lower > upper


def test_equal_structures_give_equal_layouts(star: Structure) -> None:
    assert layered_layout(star) == layered_layout(star)


@pytest.mark.parametrize("n_nodes", [1, 2, 400])
def test_chains_of_any_length_are_drawn(n_nodes: int) -> None:
    names = [f"x{j}" for j in range(n_nodes)]
    layout = layered_layout(Structure.from_names(names, "class", list(pairwise(names))))
    assert len(layout.edges) == n_nodes - 1


@given(st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)), unique=True))
def test_crossings_are_those_that_pairs_of_edges_make(edges: list[tuple[int, int]]) -> None:
    below: dict[object, list[object]] = {}
    for a, b in edges:
        below.setdefault(("u", a), []).append(("l", b))
    upper, lower = [("u", k) for k in range(8)], [("l", k) for k in range(8)]
    pairs = sum((a - c) * (b - d) < 0 for k, (a, b) in enumerate(edges) for c, d in edges[:k])
    assert count_crossings(upper, lower, below) == pairs


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), unique=True, min_size=1))
def test_ordering_never_adds_crossings(edges: list[tuple[int, int]]) -> None:
    above: dict[object, list[object]] = {}
    below: dict[object, list[object]] = {}
    for a, b in edges:
        below.setdefault(("u", a), []).append(("l", b))
        above.setdefault(("l", b), []).append(("u", a))
    rows: list[list[object]] = [[("u", k) for k in range(6)], [("l", k) for k in range(6)]]
    upper, lower = order_rows(rows, above, below)
    assert sorted(map(str, upper)) == sorted(map(str, rows[0]))
    assert sorted(map(str, lower)) == sorted(map(str, rows[1]))
    assert count_crossings(upper, lower, below) <= count_crossings(rows[0], rows[1], below)


@given(st.lists(st.tuples(st.floats(-100, 100), st.floats(0.01, 4), st.floats(0, 30)), min_size=1, max_size=8))
def test_spread_is_the_nearest_placement_that_keeps_the_distances(items: list[tuple[float, float, float]]) -> None:
    wishes, weights = [w for w, _, _ in items], [m for _, m, _ in items]
    needs = [n for _, _, n in items[1:]]
    placed = spread(wishes, weights, needs)
    assert all(b - a >= need - 1e-9 for a, b, need in zip(placed, placed[1:], needs, strict=False))
    # Optimal: the pull of every suffix and of the whole is balanced by nothing but a binding distance.
    pull = [m * (w - p) for w, m, p in zip(wishes, weights, placed, strict=True)]
    assert abs(sum(pull)) < 1e-6
    for k in range(1, len(items)):
        slack = placed[k] - placed[k - 1] - needs[k - 1]
        assert sum(pull[k:]) <= 1e-6
        assert slack < 1e-6 or abs(sum(pull[k:])) < 1e-6
