"""Graphs in the DOT language of Graphviz."""

from pathlib import Path

from mmbn_opt.interop.atomic import write_text_atomic
from mmbn_opt.networks.network import BayesianNetwork
from mmbn_opt.networks.structure import Structure

__all__ = ["dot_text", "to_dot"]


def to_dot(graph: BayesianNetwork | Structure, path: str | Path | None = None) -> str:
    """The text of `dot_text`, written to a file where there is a path."""
    text = dot_text(graph)
    if path is not None:
        write_text_atomic(path, text)
    return text


def dot_text(graph: BayesianNetwork | Structure) -> str:
    """A directed graph for ``dot -Tsvg`` and whatever else reads DOT; the class is filled.

    Every name is quoted, so that none is taken for a keyword, a port or HTML.

    Examples
    --------
    >>> print(dot_text(Structure.from_names(["a"], "class", [("class", "a")])))
    digraph {
      node [shape=box, style=rounded];
      "class" [label="class", style="rounded,filled", fillcolor="#1d4ed8", fontcolor="#ffffff"];
      "a" [label="a"];
      "class" -> "a";
    }
    <BLANKLINE>
    """
    structure = graph.structure if isinstance(graph, BayesianNetwork) else graph
    lines = ["digraph {", "  node [shape=box, style=rounded];"]
    for name in structure.parent_names:
        filled = structure.has_class and name == structure.class_name
        colours = ', style="rounded,filled", fillcolor="#1d4ed8", fontcolor="#ffffff"' if filled else ""
        lines.append(f"  {_quoted(name)} [label={_quoted(_label(name))}{colours}];")
    lines += [f"  {_quoted(parent)} -> {_quoted(child)};" for parent, child in structure.edges]
    return "\n".join([*lines, "}"]) + "\n"


def _label(name: str) -> str:
    """In a label a backslash begins an escape."""
    return name.replace("\\", "\\\\")


def _quoted(name: str) -> str:
    # A backslash before the closing quote would take it along; DOT has no way to say that one otherwise.
    text = name.replace('"', '\\"').replace("\0", "\ufffd")
    return f'"{text} "' if (len(text) - len(text.rstrip("\\"))) % 2 else f'"{text}"'
