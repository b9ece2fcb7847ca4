"""One network as four tools write it: pgmpy 1.1, pyAgrum 3.3, bnlearn, and JavaBayes, with whom BIF began."""

import tempfile
import warnings
from collections.abc import Sequence
from itertools import product
from math import prod
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mmbn_opt.data.variable import DiscreteVariable
from mmbn_opt.interop.bif import read_bif, write_bif
from mmbn_opt.networks.network import BayesianNetwork
from mmbn_opt.networks.structure import Structure

FILES = Path(__file__).parent / "files"

PLAIN = {"age.group": ("20-29", "30-39", "40+"), "tumor-size": ("a.b", "under 5", "5more"), "class": ("yes", "no")}
# What pyAgrum turns names and labels into before it writes them.
CHANGED = {
    "age.group": ("_20_29", "_30_39", "_40_"),
    "tumor-size": ("a_b", "under_5", "_5more"),
    "class": ("yes", "no"),
}
THIRD = 1 / 3
TABLES = {
    "class": [[1e-5, 0.99999]],
    "age.group": [[THIRD, THIRD, THIRD], [0.5, 0.25, 0.25]],
    "tumor-size": [
        [0.1, 0.2, 0.7],
        [1.0, 0.0, 0.0],
        [0.3, 0.3, 0.4],
        [0.0, 1.0, 0.0],
        [1e-7, 0.5, 0.4999999],
        [0.25, 0.5, 0.25],
    ],
}
"""Rows by the parents age.group and class, the class varying fastest."""


def check(network: BayesianNetwork, changed: bool) -> None:
    rename = (lambda name: name.replace(".", "_").replace("-", "_")) if changed else str
    states = CHANGED if changed else PLAIN
    assert {v.name: v.states for v in network.variables} == {rename(name): s for name, s in states.items()}
    age, tumor = rename("age.group"), rename("tumor-size")
    assert network.parents == {"class": [], age: ["class"], tumor: [age, "class"]}
    for name, rows in TABLES.items():
        node = network.structure.names.index(rename(name))
        assert np.allclose(np.exp(network.log_cpts[node]), rows, rtol=1e-13, atol=0), name


@pytest.mark.parametrize("tool", ["pgmpy", "bnlearn", "javabayes", "pyagrum"])
def test_the_file_of_each_tool_is_the_same_network(tool: str, tmp_path: Path) -> None:
    network = read_bif(FILES / f"{tool}.bif", "class")
    check(network, changed=tool == "pyagrum")
    write_bif(network, tmp_path / "again.bif")
    check(read_bif(tmp_path / "again.bif", "class"), changed=tool == "pyagrum")


@pytest.mark.parametrize("tool", ["pgmpy", "bnlearn", "pyagrum"])
def test_what_we_make_of_it_is_read_by_pyagrum(tool: str, tmp_path: Path) -> None:
    gum = pytest.importorskip("pyagrum", reason="pyAgrum (extra interop) is not installed")
    network = read_bif(FILES / f"{tool}.bif", "class")
    write_bif(network, tmp_path / "ours.bif")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = gum.loadBN(str(tmp_path / "ours.bif"))
    assert model.size() == 3
    assert model.sizeArcs() == 3
    assert np.allclose(model.cpt("class").toarray(), [1e-5, 0.99999], rtol=1e-6)


BARE = ("a", "tumor-size", "x.1", "5more", "20-29", "1e5", "ä")
NAMES = (*BARE, "under 5", "table", "type", "(0, 1]", "a,b", "{", 'say "so"', "//")
NOTES = ("", ' property author = "x; }" ; ', ' property "position = (1, 2)" ;', " property a = b;")
GAPS = (" ", "  ", "\n", "\t", " /* a note; } */ ", " // to the end {\n", "/**/")


@st.composite
def written(draw: st.DrawFn) -> tuple[BayesianNetwork, str]:
    """A network, and a text for it that takes every liberty that some tool takes."""
    names = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=4, unique=True))
    states = [draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=3, unique=True)) for _ in names]
    parents = [tuple(p for p in range(node) if draw(st.booleans())) for node in range(len(names))]
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    tables = []
    for node, above in enumerate(parents):
        table = rng.dirichlet(np.full(len(states[node]), 0.5), prod(len(states[p]) for p in above))
        tables.append(np.maximum(table, 1e-12) / np.maximum(table, 1e-12).sum(axis=1, keepdims=True))
    variables = [DiscreteVariable(name, tuple(s)) for name, s in zip(names, states, strict=True)]
    structure = Structure(tuple(names[:-1]), names[-1], tuple(parents))
    network = BayesianNetwork(structure, tuple(variables[:-1]), variables[-1], tuple(np.log(t) for t in tables))

    def gap() -> str:
        return draw(st.sampled_from(GAPS))

    def word(text: str) -> str:
        if text in BARE and draw(st.booleans()):
            return text
        return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'

    def listed(texts: Sequence[str]) -> str:
        comma = draw(st.sampled_from([", ", ",", " , "])) if draw(st.booleans()) else gap()
        return comma.join(map(word, texts))

    def numbers(values: np.ndarray) -> str:
        form = draw(st.sampled_from(["{!r}", "{:.17e}", "{:.17E}", "+{!r}"]))
        return draw(st.sampled_from([", ", " ", ",\n", "  "])).join(form.format(float(v)) for v in values)

    note = draw(st.sampled_from(NOTES))
    blocks = [f"network{gap()}{word('a')} {{{note}}}\n"]
    for name, own in zip(names, states, strict=True):
        size = draw(st.sampled_from(["[ {} ]", "[{}]"])).format(len(own))
        blocks.append(f"variable {word(name)}{gap()}{{{note} type discrete{size}{gap()}{{ {listed(own)} }};{gap()}}}\n")
    order = draw(st.permutations(range(len(names))))
    for node in order:
        shuffled = draw(st.permutations(parents[node]))
        sizes = [len(states[p]) for p in parents[node]]
        cube = tables[node].reshape(*sizes, -1).transpose(*(parents[node].index(p) for p in shuffled), len(sizes))
        head = word(names[node]) + (f" | {listed([names[p] for p in shuffled])}" if shuffled else "")
        configurations = list(product(*(range(len(states[p])) for p in shuffled)))
        if not shuffled or draw(st.booleans()):
            body = f"table{gap()}{numbers(cube.reshape(len(configurations), -1).T.ravel())};"
        else:
            left_out = draw(st.sampled_from([None, *configurations]))
            rows = [
                f"({listed([states[p][k] for p, k in zip(shuffled, c, strict=True)])}){gap()}{numbers(cube[c])};"
                for c in draw(st.permutations(configurations))
                if c != left_out
            ]
            default = [] if left_out is None else [f"default {numbers(cube[left_out])};"]
            body = gap().join(draw(st.permutations([*rows, *default])))
        blocks.append(f"probability{gap()}( {head} ){gap()}{{{note}{gap()}{body}{gap()}}}\n")
    return network, "".join(blocks)


@given(written())
@settings(max_examples=80)
def test_every_liberty_that_a_tool_takes_is_understood(pair: tuple[BayesianNetwork, str]) -> None:
    network, text = pair
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "net.bif").write_text(text, encoding="utf-8")
        again = read_bif(Path(folder) / "net.bif", network.target.name)
    assert again.structure == network.structure
    assert again.variables == network.variables
    for mine, other in zip(network.log_cpts, again.log_cpts, strict=True):
        assert np.allclose(np.exp(mine), np.exp(other), rtol=1e-12, atol=0)
