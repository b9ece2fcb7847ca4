"""One network as four tools write it: pgmpy 1.1, pyAgrum 3.3, bnlearn, and JavaBayes, with whom BIF began."""

import warnings
from pathlib import Path

import numpy as np
import pytest

from mmbn_opt.interop.bif import read_bif, write_bif
from mmbn_opt.network import BayesianNetwork

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
