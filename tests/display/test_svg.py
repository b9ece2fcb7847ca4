"""Drawings are well-formed, complete, self-contained, and safe with any name."""

import re
from itertools import pairwise
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmbn_opt.data.variable import DiscreteVariable
from mmbn_opt.display._text import short_labels, shorten, text_width
from mmbn_opt.display.layout import layered_layout
from mmbn_opt.display.svg import drawable_part, network_svg
from mmbn_opt.networks.network import BayesianNetwork
from mmbn_opt.networks.structure import Structure

SPACE = "{http://www.w3.org/2000/svg}"


def titles(svg: str, kind: str) -> list[str]:
    root = ElementTree.fromstring(svg)
    groups = [g for g in root.iter(f"{SPACE}g") if kind in (g.get("class") or "").split()]
    return [g.findtext(f"{SPACE}title") or "" for g in groups]


@given(data=st.data())
def test_every_node_and_every_edge_is_drawn(data: st.DataObject, structures: Any) -> None:
    structure: Structure = data.draw(structures)
    svg = network_svg(structure)
    assert sorted(titles(svg, "edge")) == sorted(f"{p} → {c}" for p, c in structure.edges)
    assert [t.split("\n")[0].removesuffix(" (class)") for t in titles(svg, "node")] == list(structure.names)


def test_arrow_heads_end_at_the_border_of_their_node(star: Structure) -> None:
    layout = layered_layout(star)
    tops = {round(box.top - 0.5, 1) for box in layout.boxes}
    heads = re.findall(r'class="head" d="M[-\d.]+ ([-\d.]+)', network_svg(star))
    assert len(heads) == 60
    assert {float(y) for y in heads} <= tops


def test_hostile_names_are_text(hostile_network: BayesianNetwork) -> None:
    for svg in (network_svg(hostile_network), network_svg(hostile_network.structure, standalone=False)):
        ElementTree.fromstring(svg)
        assert "<script" not in svg
        assert "<b>" not in svg
        assert "\x00" not in svg
        assert "onload='" not in svg
    assert '<script>alert("x")</script>&\ufffd\ufffd]]>' in titles(network_svg(hostile_network), "node")[0]


def test_nothing_is_loaded_and_nothing_can_collide(hostile_network: BayesianNetwork) -> None:
    svg = network_svg(hostile_network, standalone=False)
    assert "http" not in svg
    assert "url(" not in svg
    assert not re.search(r"\b(id|href|src)=", svg)
    assert network_svg(hostile_network).count("http") == 1  # the name space, which a file needs


def test_light_and_dark_are_both_there(star: Structure) -> None:
    assert "prefers-color-scheme:dark" in network_svg(star)
    assert "currentColor" in network_svg(star, standalone=False)
    assert "color:#1b1f26" in network_svg(star)
    assert "color:#1b1f26" not in network_svg(star, standalone=False)


def test_tooltips_hold_parents_and_small_tables() -> None:
    wet, rain = DiscreteVariable("wet", ("no", "yes")), DiscreteVariable("rain", (False, True))
    big = DiscreteVariable("big", tuple(range(30)))
    structure = Structure.from_names(["wet", "big"], "rain", [("rain", "wet")])
    tables = (np.log([[0.9, 0.1], [0.25, 0.75]]), np.log(np.full((1, 30), 1 / 30)), np.log([[0.5, 0.5]]))
    network = BayesianNetwork(structure, (wet, big), rain, tables)
    tips = titles(network_svg(network), "node")
    assert tips[0] == "wet\nparents: rain\nno: 0.900  yes: 0.100 | False\nno: 0.250  yes: 0.750 | True"
    assert tips[1] == "big\nparents: none\nstates: 30\nCPT: 1 × 30"
    assert tips[2] == "rain (class)\nparents: none\nFalse: 0.500  True: 0.500"


def test_long_names_are_shortened_and_kept_in_the_tooltip() -> None:
    names = [f"a_very_long_attribute_name_number_{j}" for j in range(3)]
    svg = network_svg(Structure.from_names(names, "class", [("class", n) for n in names]))
    texts = [t.text or "" for t in ElementTree.fromstring(svg).iter(f"{SPACE}text")]
    assert all(len(t) <= 22 for t in texts)
    assert len(set(texts)) == 4
    assert [t.split("\n")[0] for t in titles(svg, "node")][:3] == names


@given(st.lists(st.text(min_size=1), min_size=1), st.integers(4, 30))
def test_short_labels_fit(texts: list[str], width: int) -> None:
    assert all(text_width(label) <= width for label in short_labels(texts, width))
    assert all(shorten(t, width) == " ".join(t.split()) for t in texts if text_width(" ".join(t.split())) <= width)


def test_a_large_network_is_cut_to_the_markov_blanket() -> None:
    names = [f"x{j}" for j in range(300)]
    edges = [("x1", "class"), ("class", "x2"), ("x3", "x2"), ("x3", "x4"), *pairwise(names[5:])]
    structure = Structure.from_names(names, "class", edges)
    drawn, kept = drawable_part(structure)
    assert drawn.names == ("x1", "x2", "x3", "class")
    assert set(drawn.edges) == {("x1", "class"), ("class", "x2"), ("x3", "x2")}
    assert kept == [1, 2, 3, 300]
    assert len(titles(network_svg(structure), "node")) == 4


def test_a_star_larger_than_the_limit_is_cut(star: Structure) -> None:
    assert len(titles(network_svg(star, max_nodes=20), "node")) == 20


@pytest.mark.parametrize("n_features", [0, 1])
def test_the_smallest_networks_are_drawn(n_features: int) -> None:
    names = [f"x{j}" for j in range(n_features)]
    assert len(titles(network_svg(Structure.from_names(names, "class", [])), "node")) == n_features + 1


def test_a_very_long_text_is_cut_where_a_short_one_with_the_same_beginning_is():
    for text in ("word " * 400_000, "\u6f22\u5b57" * 400_000):
        for width in (0, 1, 2, 7, 30):
            assert shorten(text, width) == shorten(text[: 3 * width + 10], width)
            assert text_width(shorten(text, width)) <= max(width, 1)
