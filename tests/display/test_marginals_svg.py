"""The drawing with probabilities: every node has its bars, as long as its posterior, and what is known stands out."""

import re
from xml.etree import ElementTree

import numpy as np
import pytest

import mmbn_opt as mm
from mmbn_opt.display import marginals_svg
from mmbn_opt.display.layout import layered_layout

SPACE = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def network() -> mm.BayesianNetwork:
    data = mm.DiscreteDataset.from_frame(mm.load_dataset("corral"), "class")
    return mm.BayesianNetwork.fit(mm.tan_cmi(data), data)


def groups(svg: str) -> dict[str, ElementTree.Element]:
    found = [g for g in ElementTree.fromstring(svg).iter(f"{SPACE}g") if "node" in (g.get("class") or "").split()]
    return {(g.findtext(f"{SPACE}title") or "").split("\n")[0]: g for g in found}


def test_bars_are_as_long_as_the_probabilities(network):
    evidence = {"A0": 1, "B0": {0: 0.2, 1: 0.9}}
    drawn = groups(network.to_svg(evidence=evidence))
    for name, posterior in network.marginals(evidence).items():
        rects = drawn[name].findall(f"{SPACE}rect")
        tracks = [float(r.get("width")) for r in rects if r.get("class") == "track"]
        bars = [float(r.get("width")) for r in rects if r.get("class") == "bar"]
        np.testing.assert_allclose(bars, np.array(tracks) * posterior.to_numpy(), atol=0.01)
        told = [t.text for t in drawn[name].iter(f"{SPACE}text") if t.get("class") == "share"]
        assert told == [f"{100 * p:.1f} %" for p in posterior]
    kinds = {name: (g.get("class") or "").split() for name, g in drawn.items()}
    assert [name for name, kind in kinds.items() if "known" in kind] == ["A0"]
    assert [name for name, kind in kinds.items() if "hinted" in kind] == ["B0"]
    assert [name for name, kind in kinds.items() if "class" in kind] == ["class"]


def test_without_evidence_there_are_bars_where_they_are_asked_for(network, tmp_path):
    assert 'class="bar"' not in network.to_svg()
    drawing = network.to_svg(tmp_path / "net.svg", marginals=True)
    assert (tmp_path / "net.svg").read_text(encoding="utf-8") == drawing + "\n"
    assert drawing._repr_svg_() == drawing
    assert 'class="bar"' in drawing


def test_many_states_are_cut_to_the_likeliest_and_hostile_names_are_text(hostile_network):
    data = mm.DiscreteDataset.from_arrays([[f"s{k}"] for k in range(30)], [k % 2 for k in range(30)])
    wide = mm.BayesianNetwork.fit(mm.naive_bayes(data), data)
    told = [t.text for t in groups(wide.to_svg(marginals=True))["x0"].iter(f"{SPACE}text")]
    assert "25 more" in told
    svg = hostile_network.to_svg(marginals=True)
    ElementTree.fromstring(svg)
    assert "<script" not in svg
    assert not re.search(r"\b(id|href|src)=", svg)


def test_a_large_network_is_cut_to_a_blanket(monkeypatch):
    names = [f"x{j}" for j in range(80)]
    structure = mm.Structure.from_names(names, "class", [("class", name) for name in names])
    data = mm.DiscreteDataset.from_arrays(np.zeros((4, 80), dtype=int) + np.arange(4)[:, None] % 2, [0, 1, 0, 1])
    network = mm.BayesianNetwork.fit(structure, data)
    assert len(groups(network.to_svg(marginals=True))) == marginals_svg.MAX_NODES


def test_boxes_of_different_heights_do_not_overlap_and_edges_end_at_them():
    names = [f"x{j}" for j in range(9)]
    edges = [("x0", "x3"), ("x1", "x3"), ("x2", "x5"), ("x3", "x8"), ("class", "x0"), ("x5", "class")]
    for has_class in (True, False):
        graph = mm.Structure.from_names(names, "class", edges)
        graph = mm.Structure(graph.feature_names, graph.class_name, graph.parents, has_class=has_class)
        layout = layered_layout(graph, heights=[30.0 + 20 * (j % 4) for j in range(10)])
        boxes = layout.boxes
        for k, one in enumerate(boxes):
            for other in boxes[k + 1 :]:
                apart_x = abs(one.x - other.x) >= (one.width + other.width) / 2
                apart_y = one.bottom <= other.top or other.bottom <= one.top
                assert apart_x or apart_y
        for edge in layout.edges:
            assert edge.points[0][1] == boxes[edge.parent].bottom
            assert edge.points[-1][1] == boxes[edge.child].top
            assert not edge.by_bus or has_class
        assert layout.height >= max(box.bottom for box in boxes)
