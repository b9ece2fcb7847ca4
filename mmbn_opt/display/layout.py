"""Where everything goes in the drawing of a network.

Rows from top to bottom (Sugiyama, Tagawa & Toda 1981): parents stand above children, the class as high as its own
parents allow. Edges between features are curves that cross rows only where a place was kept for them, so none passes
under a node. Edges from the class to features, which are most of a classifier's, run like the lines of a table: along a
trunk at the left, and along one bus above each row.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from mmbn_opt.display._crossings import order_rows, place_rows
from mmbn_opt.display._rows import Row, assign_rows
from mmbn_opt.networks.structure import Structure

__all__ = ["Box", "DrawnEdge", "Layout", "layered_layout", "narrow_layout"]

NODE_HEIGHT = 30.0
GAP = 18.0
MARGIN = 10.0

_MIN_WIDTH, _MAX_WIDTH, _CHAR_WIDTH, _PADDING = 54.0, 168.0, 7.3, 22.0
_DUMMY_HALF = 3.0
_BUS_DROP = 17.0
_ROW_GAP = 34.0
_TRUNK = 20.0
_ARRIVAL_STEP, _DEPARTURE_STEP = 16.0, 7.0
_RATIO = 1.7
_PAGE_WIDTH, _WIDEST = 960.0, 1040.0
_PHONE_WIDTH, _PHONE_NODES = 390.0, (112.0, 92.0)
_TRIES = 3
_NO_CLASS = -1
_MANY = 60
"""A network of more nodes scrolls anyway, and takes a second to lay out."""

Item = int | tuple[int, int, int]
"""A node, or the place that the edge (parent, child) keeps free in a row."""


@dataclass(frozen=True)
class Box:
    """A node's rectangle, given by its centre."""

    node: int
    x: float
    y: float
    width: float
    height: float = NODE_HEIGHT

    @property
    def top(self) -> float:
        """Upper border."""
        return self.y - self.height / 2

    @property
    def bottom(self) -> float:
        """Lower border."""
        return self.y + self.height / 2


@dataclass(frozen=True)
class DrawnEdge:
    """An edge and its way.

    Parameters
    ----------
    parent, child : int
    points : tuple of (x, y)
        From the parent's border to the child's; the last stretch leads straight down.
    by_bus : bool
        Whether the points are the corners of a line of horizontals and verticals, else stations of a curve that is
        vertical in each of them.
    """

    parent: int
    child: int
    points: tuple[tuple[float, float], ...]
    by_bus: bool


@dataclass(frozen=True)
class Layout:
    """Boxes and edges in a frame of the given size."""

    width: float
    height: float
    boxes: tuple[Box, ...]
    edges: tuple[DrawnEdge, ...]


def layered_layout(
    structure: Structure,
    *,
    columns: int | None = None,
    max_width: float = _MAX_WIDTH,
    min_width: float = 0.0,
    heights: Sequence[float] | None = None,
) -> Layout:
    """Lay a structure out.

    Parameters
    ----------
    structure : Structure
    columns : int or None
        Most nodes in a row; by default what makes the drawing a little wider than high.
    max_width : float
        Of a node; longer names are shortened.
    min_width : float
        Of a node.
    heights : sequence of float or None
        Of the nodes; by default all are as high as a line of text.

    Returns
    -------
    Layout
        Boxes in node order (class last), edges in the structure's order.

    Examples
    --------
    >>> star = Structure.from_names([f"x{j}" for j in range(60)], "class", [("class", f"x{j}") for j in range(60)])
    >>> layout = layered_layout(star)
    >>> len({box.y for box in layout.boxes}), len(layout.edges)
    (7, 60)
    """
    width = max(min_width, min(max_width, _node_width(structure)))
    high = [NODE_HEIGHT] * len(structure.names) if heights is None else heights
    if columns is not None:
        return _Drawing(structure, assign_rows(structure, columns), width, high).finish()
    row_height = sum(high) / len(high) + _ROW_GAP
    n_rows = max(1, round(math.sqrt(structure.n_features * (width + GAP) / (_RATIO * row_height))))
    columns = min(max(6, math.ceil(structure.n_features / n_rows)), int(_PAGE_WIDTH / (width + GAP)))
    if structure.n_features:
        columns = math.ceil(structure.n_features / math.ceil(structure.n_features / columns))
    tries = _TRIES if len(structure.names) <= _MANY else 1
    fewer = range(columns, max(columns - tries, 0), -1)
    drawings = (_Drawing(structure, assign_rows(structure, most), width, high).finish() for most in fewer)
    return _first_within(drawings, _WIDEST)


def narrow_layout(structure: Structure) -> Layout:
    """Lay a structure out for a phone: few nodes in a row, and names shortened further where that is too wide.

    Examples
    --------
    >>> star = Structure.from_names([f"x{j}" for j in range(60)], "class", [("class", f"x{j}") for j in range(60)])
    >>> narrow_layout(star).width < 400 < layered_layout(star).width
    True
    """
    shapes = [(columns, most) for most in _PHONE_NODES for columns in (4, 3, 2)]
    if len(structure.names) > _MANY:
        shapes = [(3, min(_PHONE_NODES))]
    return _first_within(
        (layered_layout(structure, columns=columns, max_width=most) for columns, most in shapes), _PHONE_WIDTH
    )


def _first_within(layouts: Iterable[Layout], width: float) -> Layout:
    """The first one that is no wider, or the narrowest of all."""
    found: Layout | None = None
    for layout in layouts:
        if found is None or layout.width < found.width:
            found = layout
        if found.width <= width:
            break
    assert found is not None, "there are layouts to choose from"
    return found


def _node_width(structure: Structure) -> float:
    longest = max(len(name) for name in structure.names)
    return min(_MAX_WIDTH, max(_MIN_WIDTH, longest * _CHAR_WIDTH + _PADDING))


class _Drawing:
    def __init__(self, structure: Structure, rows: list[Row], width: float, heights: Sequence[float]) -> None:
        self.structure = structure
        self.width = width
        self.heights = heights
        self.row_heights = [max(heights[v] for v in (*row.tied, *row.free)) for row in rows]
        self.class_node = structure.class_index if structure.has_class else _NO_CLASS
        self.row_of = {v: k for k, row in enumerate(rows) for v in (*row.tied, *row.free)}
        self.above: dict[Item, list[Item]] = {}
        self.below: dict[Item, list[Item]] = {}
        items: list[list[Item]] = [list(row.tied) for row in rows]
        self.curves = [(p, v) for v, ps in enumerate(structure.parents) for p in ps if p != self.class_node]
        for p, v in self.curves:
            self._link(p, v, items)
        ordered = order_rows(items, self.above, self.below)
        # Free nodes have no neighbours, so they stand beside the others without adding a crossing.
        self.rows: list[list[Item]] = [[*order, *row.free] for order, row in zip(ordered, rows, strict=True)]
        half = {v: self._half(v) for row in self.rows for v in row}
        self.x = place_rows(self.rows, self.above, self.below, half, GAP)
        self._shift()
        self.top = self._row_tops()

    def _link(self, parent: int, child: int, items: list[list[Item]]) -> None:
        last: Item = parent
        for k in range(self.row_of[parent] + 1, self.row_of[child] + 1):
            station: Item = child if k == self.row_of[child] else (parent, child, k)
            if isinstance(station, tuple):
                items[k].append(station)
            self.below.setdefault(last, []).append(station)
            self.above.setdefault(station, []).append(last)
            last = station

    def _half(self, item: Item) -> float:
        return self.width / 2 if isinstance(item, int) else _DUMMY_HALF

    def _uses_trunk(self) -> bool:
        if self.class_node == _NO_CLASS:
            return False
        first = self.row_of[self.class_node] + 1
        return any(self.row_of[v] > first for v in self.structure.children(self.class_node))

    def _shift(self) -> None:
        left = min(self.x[v] - self._half(v) for row in self.rows for v in row)
        offset = MARGIN + (_TRUNK if self._uses_trunk() else 0.0) - left
        self.x = {v: x + offset for v, x in self.x.items()}
        if self.class_node == _NO_CLASS:
            return
        if len(self.rows[self.row_of[self.class_node]]) == 1 and not self.above.get(self.class_node):
            others = [self.x[v] for row in self.rows for v in row if v != self.class_node]
            self.x[self.class_node] = (min(others) + max(others)) / 2 if others else self.x[self.class_node]

    def _row_tops(self) -> list[float]:
        tops = [MARGIN]
        for upper, height in zip(self.rows[:-1], self.row_heights, strict=False):
            moves = [abs(self.x[v] - self.x[w]) for v in upper for w in self.below.get(v, ())]
            # Long sideways moves need height, or the curves would lie flat on each other.
            gap = _ROW_GAP + (14.0 + min(46.0, 0.09 * max(moves) + 1.5 * len(moves)) if moves else 0.0)
            tops.append(tops[-1] + height + gap)
        return tops

    def finish(self) -> Layout:
        boxes = tuple(
            Box(v, self.x[v], self.top[self.row_of[v]] + self.heights[v] / 2, self.width, self.heights[v])
            for v in range(len(self.structure.names))
        )
        arrival, departure = self._arrivals(), self._departures()
        edges = tuple(
            self._bus(boxes, v, arrival[p, v])
            if p == self.class_node
            else self._curve(boxes, (p, v), departure[p, v], arrival[p, v])
            for v, ps in enumerate(self.structure.parents)
            for p in ps
        )
        width = max(self.x[v] + self._half(v) for row in self.rows for v in row) + MARGIN
        return Layout(width, self.top[-1] + self.row_heights[-1] + MARGIN, boxes, edges)

    def _arrivals(self) -> dict[tuple[int, int], float]:
        """Where on the child's upper border each edge arrives: curves spread about the centre, the bus beside them."""
        ports: dict[tuple[int, int], float] = {}
        for v, ps in enumerate(self.structure.parents):
            origin = {p: self.x[self._before(p, v)] for p in ps if p != self.class_node}
            step = min(_ARRIVAL_STEP, (self.width - 20.0) / max(1, len(ps) - 1))
            ports |= self._spread([(p, v) for p in sorted(origin, key=lambda p: (origin[p], p))], self.x[v], step)
            if self.class_node in ps:
                side = -1.0 if not origin or sum(origin.values()) >= len(origin) * (self.x[v] - 1.0) else 1.0
                reach = (len(origin) + 1) / 2 if origin else 0.0
                ports[self.class_node, v] = self.x[v] + side * reach * step
        return ports

    def _departures(self) -> dict[tuple[int, int], float]:
        """Where on the parent's lower border each curve starts."""
        ports: dict[tuple[int, int], float] = {}
        for p in range(len(self.structure.names)):
            ends = [(self.x[self._after(p, v)], v) for parent, v in self.curves if parent == p]
            step = min(_DEPARTURE_STEP, (self.width - 20.0) / max(1, len(ends) - 1))
            ports |= self._spread([(p, v) for _, v in sorted(ends)], self.x[p], step)
        return ports

    @staticmethod
    def _spread(edges: list[tuple[int, int]], centre: float, step: float) -> dict[tuple[int, int], float]:
        return {edge: centre + (k - (len(edges) - 1) / 2) * step for k, edge in enumerate(edges)}

    def _before(self, parent: int, child: int) -> Item:
        row = self.row_of[child] - 1
        return (parent, child, row) if row > self.row_of[parent] else parent

    def _after(self, parent: int, child: int) -> Item:
        row = self.row_of[parent] + 1
        return (parent, child, row) if row < self.row_of[child] else child

    def _curve(self, boxes: tuple[Box, ...], edge: tuple[int, int], departure: float, arrival: float) -> DrawnEdge:
        parent, child = edge
        points = [(departure, boxes[parent].bottom)]
        row = self.row_of[parent]
        if (end := self.top[row] + self.row_heights[row]) > boxes[parent].bottom:
            points.append((departure, end))  # past a higher neighbour
        for k in range(row + 1, self.row_of[child]):
            x = self.x[parent, child, k]
            points += [(x, self.top[k]), (x, self.top[k] + self.row_heights[k])]
        return DrawnEdge(parent, child, (*points, (arrival, boxes[child].top)), by_bus=False)

    def _bus(self, boxes: tuple[Box, ...], child: int, port: float) -> DrawnEdge:
        box, origin = boxes[child], boxes[self.class_node]
        points = [(origin.x, origin.bottom)]
        first, row = self.row_of[self.class_node] + 1, self.row_of[child]
        if row > first:
            high = self.top[first] - _BUS_DROP
            points += [(origin.x, high), (MARGIN, high), (MARGIN, box.top - _BUS_DROP)]
        else:
            points.append((origin.x, box.top - _BUS_DROP))
        return DrawnEdge(self.class_node, child, (*points, (port, box.top - _BUS_DROP), (port, box.top)), by_bus=True)
