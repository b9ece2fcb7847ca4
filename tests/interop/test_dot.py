"""DOT is read back by pydot as the same graph, whatever the names are."""

import numpy as np
import pytest

import mmbn_opt as mm
from mmbn_opt.interop import to_dot

NAMES = ["a b", 'say "x"', "node", "1.5", "a:port", "<b>", "back\\slash", "semi;colon", "ends\\", "Straße 年", "-", ""]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_any_name_comes_back_with_its_edges():
    pydot = pytest.importorskip("pydot")
    edges = list(zip(NAMES, [*NAMES[1:], "class"], strict=True))
    structure = mm.Structure.from_names(NAMES, "class", edges)
    (graph,) = pydot.graph_from_dot_data(structure.to_dot())
    assert len(graph.get_edges()) == len(edges)
    nodes = {node.get_name() for node in graph.get_nodes()} - {"node"}
    assert len(nodes) == len(NAMES) + 1
    ends = [(edge.get_source(), edge.get_destination()) for edge in graph.get_edges()]
    assert {end for pair in ends for end in pair} <= nodes


def test_the_class_is_filled_and_a_file_is_written(tmp_path):
    structure = mm.Structure.from_names(["a"], "class", [("class", "a")])
    text = structure.to_dot(tmp_path / "graph.dot")
    assert (tmp_path / "graph.dot").read_text(encoding="utf-8") == text
    assert '"class" [label="class", style="rounded,filled"' in text
    plain = mm.Structure(("a",), "class", ((1,), ()), has_class=False)
    assert "filled" not in plain.to_dot()
    variables = [mm.data.variable.DiscreteVariable(name, (0, 1)) for name in ("a", "class")]
    network = mm.BayesianNetwork(
        structure, (variables[0],), variables[1], (np.log(np.full((2, 2), 0.5)), np.log([[0.5, 0.5]]))
    )
    assert network.to_dot() == to_dot(structure) == text
