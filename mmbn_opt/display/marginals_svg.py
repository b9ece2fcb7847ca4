"""A network with a bar for each state of each node: how likely it is given what is known."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from mmbn_opt._arrays import FloatArray
from mmbn_opt.display._cpts import state_labels
from mmbn_opt.display._text import escape, shorten
from mmbn_opt.display._theme import FONT, NETWORK_STYLE, STANDALONE_STYLE, svg_opening
from mmbn_opt.display.layout import Box, layered_layout
from mmbn_opt.display.svg import drawable_part, edge_svg
from mmbn_opt.exceptions import InputError
from mmbn_opt.networks.evidence import read_evidence
from mmbn_opt.networks.network import BayesianNetwork

__all__ = ["marginals_svg"]

MAX_NODES = 60
"""Of a larger network the class and its Markov blanket are drawn; bars take room."""

_TITLE, _LINE, _FOOT = 26.0, 17.0, 7.0
_WIDTH, _LABEL, _NUMBER, _PAD = 190.0, 70.0, 52.0, 9.0
_MOST_STATES = 6
_LABEL_LETTERS, _TITLE_LETTERS = 9, 20

_STYLE = (
    f".mmbn-net .bars text{{font:12px {FONT};text-anchor:start}}.mmbn-net .bars .share{{text-anchor:end}}"
    ".mmbn-net .bars .name{font-weight:600;font-size:13px;text-anchor:middle}"
    ".mmbn-net .bars .soft{fill:var(--mm-soft)}"
    ".mmbn-net .bars .track{fill:var(--mm-rule);stroke:none}"
    ".mmbn-net .bars .bar{fill:var(--mm-primal);stroke:none}.mmbn-net .known .bar{fill:var(--mm-dual)}"
    ".mmbn-net .known>rect:first-of-type,.mmbn-net .hinted>rect:first-of-type{stroke:var(--mm-dual);stroke-width:2.5}"
    ".mmbn-net .hinted>rect:first-of-type{stroke-dasharray:5 3}"
    ".mmbn-net .bars.class>rect:first-of-type{fill:var(--mm-fill);stroke:var(--mm-class);stroke-width:2.5}"
    ".mmbn-net .bars.class text{fill:currentColor;font-weight:400}.mmbn-net .bars.class .name{font-weight:600}"
)


def marginals_svg(
    network: BayesianNetwork,
    evidence: Any = None,
    *,
    likelihood: Any = None,
    standalone: bool = True,
    max_nodes: int = MAX_NODES,
) -> str:
    """Draw a network with the posterior of every node.

    What is observed has a frame and a bar of another colour and says so; of a node with many states the likeliest are
    drawn.

    Parameters
    ----------
    network : BayesianNetwork
    evidence, likelihood
        One case, as for ``network.query``.
    standalone : bool
        Whether the drawing sets its own text colour and ground, as a file must; inside a page it takes the page's.
    max_nodes : int
        A larger network is cut to the class (without one, the node with most neighbours) and its Markov blanket.

    Returns
    -------
    str
        An ``<svg>`` element without ids, scripts or links.
    """
    case = read_evidence(network.variables, evidence, likelihood)
    if case.index is not None:
        raise InputError("A drawing shows one case of evidence, not a table; hand over one of its rows.")
    posteriors = network.marginals(evidence, likelihood=likelihood)
    structure, kept = drawable_part(network.structure, max_nodes)
    shares = [np.asarray(posteriors[name], dtype=np.float64) for name in structure.names]
    kinds = [
        "known" if case.codes[0, node] >= 0 and len(share) > 1 else "hinted" if node in case.nodes else ""
        for node, share in zip(kept, shares, strict=True)
    ]
    heights = [_TITLE + _LINE * _n_lines(share) + _FOOT for share in shares]
    layout = layered_layout(structure, max_width=_WIDTH, min_width=_WIDTH, heights=heights)
    edges = [edge_svg(structure, edge) for edge in sorted(layout.edges, key=lambda e: not e.by_bus)]
    boxes = [
        _box(network, node, box, share, kind, structure.has_class and box.node == len(kept) - 1)
        for node, box, share, kind in zip(kept, layout.boxes, shares, kinds, strict=True)
    ]
    label = f"Bayesian network with the probabilities of its states: {len(kept)} nodes, {len(layout.edges)} edges"
    style = NETWORK_STYLE + _STYLE + (STANDALONE_STYLE if standalone else "")
    opening = svg_opening("mmbn-net", layout.width, layout.height, label, standalone=standalone)
    return f"{opening}<style>{style}</style>{''.join(edges)}{''.join(boxes)}</svg>"


def _n_lines(share: FloatArray) -> int:
    return min(len(share), _MOST_STATES)


def _box(network: BayesianNetwork, node: int, box: Box, share: FloatArray, kind: str, is_class: bool) -> str:
    name, labels = network.structure.names[node], state_labels(network, node)
    tip = "\n".join([name, *(f"{label}: {p:.4g}" for label, p in zip(labels, share.tolist(), strict=True))])
    left, width = box.x - box.width / 2, box.width
    parts = [
        f'<g class="node bars {kind}{" class" if is_class else ""}"><title>{escape(tip)}</title>'
        f'<rect x="{left:.1f}" y="{box.top:.1f}" width="{width:.1f}" height="{box.height:.1f}" rx="6"/>'
        f'<text class="name" x="{box.x:.1f}" y="{box.top + 18:.1f}">{escape(shorten(name, _TITLE_LETTERS))}</text>'
    ]
    room = width - 2 * _PAD - _LABEL - _NUMBER
    for line, (label, p) in enumerate(_lines(labels, share)):
        y = box.top + _TITLE + _LINE * line
        x = left + _PAD + _LABEL
        parts.append(
            f'<text x="{left + _PAD:.1f}" y="{y + 12:.1f}">{escape(shorten(label, _LABEL_LETTERS))}</text>'
            f'<rect class="track" x="{x:.1f}" y="{y + 3:.1f}" width="{room:.1f}" height="10"/>'
            f'<rect class="bar" x="{x:.1f}" y="{y + 3:.1f}" width="{room * p:.2f}" height="10"/>'
            f'<text class="share" x="{left + width - _PAD:.1f}" y="{y + 12:.1f}">{100 * p:.1f} %</text>'
        )
    return "".join(parts) + "</g>"


def _lines(labels: Sequence[str], share: FloatArray) -> list[tuple[str, float]]:
    """States in their order; of many the likeliest, and the others as one."""
    if len(labels) <= _MOST_STATES:
        return list(zip(labels, share.tolist(), strict=True))
    top = sorted(np.argsort(-share, kind="stable")[: _MOST_STATES - 1].tolist())
    rest = float(share.sum() - share[top].sum())
    return [(labels[k], float(share[k])) for k in top] + [(f"{len(labels) - len(top)} more", max(rest, 0.0))]
