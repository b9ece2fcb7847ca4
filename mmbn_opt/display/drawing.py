"""Drawings that are text, a picture in a notebook, and a file where one is wanted."""

from pathlib import Path
from typing import Any

from mmbn_opt.display.marginals_svg import marginals_svg
from mmbn_opt.display.svg import network_svg
from mmbn_opt.interop.atomic import write_text_atomic
from mmbn_opt.networks.network import BayesianNetwork
from mmbn_opt.networks.structure import Structure

__all__ = ["Drawing", "to_svg"]


class Drawing(str):
    """The text of an SVG; a notebook shows the picture."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"<drawing, {len(self):,} characters of SVG>"

    def _repr_svg_(self) -> str:
        return str(self)


def to_svg(
    graph: BayesianNetwork | Structure,
    path: str | Path | None = None,
    *,
    evidence: Any = None,
    likelihood: Any = None,
    marginals: bool = False,
) -> Drawing:
    """Draw a network or a structure; with evidence, or with `marginals`, the probabilities of all states too.

    Parameters
    ----------
    graph : BayesianNetwork or Structure
    path : str, Path or None
        Where to write it.
    evidence, likelihood
        One case, as for ``network.query``.
    marginals : bool
        Draw the probabilities also where nothing is known.

    Examples
    --------
    >>> to_svg(Structure.from_names(["a"], "class", [("class", "a")]))[:37]
    '<svg xmlns="http://www.w3.org/2000/sv'
    """
    if isinstance(graph, BayesianNetwork) and (marginals or evidence is not None or likelihood is not None):
        drawing = Drawing(marginals_svg(graph, evidence, likelihood=likelihood))
    else:
        drawing = Drawing(network_svg(graph))
    if path is not None:
        write_text_atomic(path, drawing + "\n")
    return drawing
