"""Networks as self-contained SVG that follows the reader's light or dark theme."""

from collections.abc import Sequence
from itertools import product

import numpy as np

from mmbn_opt.display._cpts import state_labels
from mmbn_opt.display._text import escape, short_labels
from mmbn_opt.display._theme import NETWORK_STYLE, STANDALONE_STYLE, svg_opening
from mmbn_opt.display.layout import Box, DrawnEdge, Layout, layered_layout, narrow_layout
from mmbn_opt.networks.network import BayesianNetwork
from mmbn_opt.networks.structure import Structure

__all__ = ["MAX_DRAWN_NODES", "box_labels", "drawable_part", "edge_svg", "network_svg"]

MAX_DRAWN_NODES = 150
"""Beyond this many nodes only the class and its Markov blanket are drawn."""

_HEAD_LENGTH, _HEAD_HALF = 6.5, 3.6
_CORNER = 6.0
_MAX_TOOLTIP_ROWS, _MAX_TOOLTIP_COLUMNS = 12, 6
_HOVER_NODES = 120


def network_svg(
    network: BayesianNetwork | Structure,
    *,
    standalone: bool = True,
    max_nodes: int = MAX_DRAWN_NODES,
    narrow: bool = False,
) -> str:
    """Draw a network or a structure.

    The class stands out; edges from it are thin lines along a bus, edges between features are curves. Pointing at a
    node shows its full name, its parents and, where it is small, its CPT.

    Parameters
    ----------
    network : BayesianNetwork or Structure
    standalone : bool
        Whether the drawing sets its own text colour and ground, as a file must; inside a page it takes the page's.
    max_nodes : int
        A larger network is cut to the class and its Markov blanket.
    narrow : bool
        For a phone: few nodes in a row, and nothing that needs a pointer.

    Returns
    -------
    str
        An ``<svg>`` element without ids, scripts or links, so that many fit into one page.

    Examples
    --------
    >>> tree = Structure.from_names(["a", "b"], "class", [("class", "a"), ("class", "b"), ("a", "b")])
    >>> network_svg(tree)[:52]
    '<svg xmlns="http://www.w3.org/2000/svg" class="mmbn-'
    """
    whole = network.structure if isinstance(network, BayesianNetwork) else network
    structure, kept = drawable_part(whole, max_nodes)
    layout = narrow_layout(structure) if narrow else layered_layout(structure)
    tips = [_tooltip(whole if narrow else network, whole, node) for node in kept]
    edges = [edge_svg(structure, edge) for edge in sorted(layout.edges, key=lambda e: not e.by_bus)]
    labels = box_labels(structure, layout)
    nodes = [_node(structure, *drawn) for drawn in zip(layout.boxes, labels, tips, strict=True)]
    style = NETWORK_STYLE + (STANDALONE_STYLE if standalone else "") + _hover_rules(0 if narrow else len(kept))
    label = f"Bayesian network: {len(kept)} nodes, {len(layout.edges)} edges"
    label += f", class {structure.class_name}" if structure.has_class else ""
    opening = svg_opening("mmbn-net", layout.width, layout.height, label, standalone=standalone)
    return f"{opening}<style>{style}</style>{''.join(edges)}{''.join(nodes)}</svg>"


def drawable_part(structure: Structure, max_nodes: int = MAX_DRAWN_NODES) -> tuple[Structure, list[int]]:
    """The structure itself, or the class with (the first `max_nodes` of) its Markov blanket; and the nodes kept.

    Without a class it is the node with the largest blanket.
    """
    if len(structure.names) <= max_nodes:
        return structure, list(range(len(structure.names)))
    top = structure.class_index
    if not structure.has_class:
        top = max(range(len(structure.names)), key=lambda v: len(structure.markov_blanket(v)))
    kept = [*sorted(structure.markov_blanket(top))[: max_nodes - 1], top]
    number = {v: k for k, v in enumerate(kept)}
    parents = tuple(tuple(number[p] for p in structure.parents[v] if p in number) for v in kept)
    names = tuple(structure.names[v] for v in kept)
    return Structure(names[:-1], names[-1], parents, has_class=structure.has_class), kept


def box_labels(structure: Structure, layout: Layout) -> list[str]:
    """What is written into each box."""
    room = int((min(box.width for box in layout.boxes) - 14) / 7.5)
    return short_labels(structure.names, room)


def _node(structure: Structure, box: Box, label: str, tip: str) -> str:
    kind = " class" if structure.has_class and box.node == structure.class_index else ""
    return (
        f'<g class="node{kind} n{box.node}"><title>{tip}</title>'
        f'<rect x="{box.x - box.width / 2:.1f}" y="{box.top:.1f}" width="{box.width:.1f}" '
        f'height="{box.height:.1f}" rx="6"/>'
        f'<text x="{box.x:.1f}" y="{box.y + 4.5:.1f}">{escape(label)}</text></g>'
    )


def edge_svg(structure: Structure, edge: DrawnEdge) -> str:
    """An edge with its head, and its two ends as a tip."""
    x, y = edge.points[-1]
    way = _polyline(edge.points) if edge.by_bus else _curve(edge.points)
    head = f"M{x:.1f} {y - 0.5:.1f}l{-_HEAD_HALF} {-_HEAD_LENGTH}h{2 * _HEAD_HALF}z"
    title = escape(f"{structure.names[edge.parent]} → {structure.names[edge.child]}")
    kind = "bus" if edge.by_bus else "arc"
    return (
        f'<g class="edge {kind} v{edge.parent} v{edge.child}"><title>{title}</title>'
        f'<path class="way" d="{way}"/><path class="head" d="{head}"/></g>'
    )


def _curve(points: Sequence[tuple[float, float]]) -> str:
    """Cubic legs between rows, vertical at both ends; straight stretches through rows."""
    (x, y), *rest = points
    way = [f"M{x:.1f} {y:.1f}"]
    for k, (x1, y1) in enumerate(rest):
        end = y1 - _HEAD_LENGTH if k == len(rest) - 1 else y1
        if x1 == x:
            way.append(f"V{end:.1f}")
        else:
            middle = (y + end) / 2
            way.append(f"C{x:.1f} {middle:.1f} {x1:.1f} {middle:.1f} {x1:.1f} {end:.1f}")
        x, y = x1, end
    return "".join(way)


def _polyline(points: Sequence[tuple[float, float]]) -> str:
    """Horizontals and verticals with rounded corners."""
    corners = [p for k, p in enumerate(points) if k == 0 or p != points[k - 1]]
    corners[-1] = (corners[-1][0], corners[-1][1] - _HEAD_LENGTH)
    way = [f"M{corners[0][0]:.1f} {corners[0][1]:.1f}"]
    for before, here, after in zip(corners, corners[1:], corners[2:], strict=False):
        radius = min(_CORNER, _distance(before, here) / 2, _distance(here, after) / 2)
        enter, leave = _towards(here, before, radius), _towards(here, after, radius)
        way.append(f"L{enter[0]:.1f} {enter[1]:.1f}Q{here[0]:.1f} {here[1]:.1f} {leave[0]:.1f} {leave[1]:.1f}")
    return "".join(way) + f"L{corners[-1][0]:.1f} {corners[-1][1]:.1f}"


def _distance(a: tuple[float, float], b: tuple[float, float]) -> float:
    return abs(a[0] - b[0]) + abs(a[1] - b[1])


def _towards(a: tuple[float, float], b: tuple[float, float], step: float) -> tuple[float, float]:
    length = _distance(a, b)
    return (a[0] + (b[0] - a[0]) * step / length, a[1] + (b[1] - a[1]) * step / length) if length else a


def _hover_rules(n_nodes: int) -> str:
    """Pointing at a node fades the edges that do not touch it."""
    if n_nodes > _HOVER_NODES:
        return ""
    return "".join(f".mmbn-net:has(.n{v}:hover) .edge:not(.v{v}){{opacity:.1}}" for v in range(n_nodes))


def _tooltip(network: BayesianNetwork | Structure, structure: Structure, node: int) -> str:
    parents = [structure.names[p] for p in structure.parents[node]]
    lines = [structure.names[node] + (" (class)" if structure.has_class and node == structure.class_index else "")]
    lines.append("parents: " + (", ".join(parents) or "none"))
    if isinstance(network, BayesianNetwork):
        lines += _cpt_lines(network, node)
    return escape("\n".join(lines))


def _cpt_lines(network: BayesianNetwork, node: int) -> list[str]:
    rows, columns = network.log_cpts[node].shape
    if rows > _MAX_TOOLTIP_ROWS or columns > _MAX_TOOLTIP_COLUMNS:
        return [f"states: {columns}", f"CPT: {rows} × {columns}"]
    configurations = product(*(state_labels(network, p) for p in network.structure.parents[node]))
    lines = []
    for configuration, row in zip(configurations, np.exp(network.log_cpts[node]).tolist(), strict=True):
        given = f" | {', '.join(configuration)}" if configuration else ""
        lines.append("  ".join(f"{s}: {p:.3f}" for s, p in zip(state_labels(network, node), row, strict=True)) + given)
    return lines
