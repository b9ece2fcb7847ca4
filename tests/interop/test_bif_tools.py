"""The files that we write mean the same to pgmpy and pyAgrum, and theirs to us."""

import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mmbn_opt.data.discrete import DiscreteDataset
from mmbn_opt.interop.bif import read_bif, write_bif
from mmbn_opt.networks.network import BayesianNetwork
from mmbn_opt.networks.structure import Structure

Same = Callable[[BayesianNetwork, BayesianNetwork], bool]


@pytest.fixture
def network() -> BayesianNetwork:
    """Plain and odd names and labels, a class with a feature parent, children with two parents."""
    rng = np.random.default_rng(7)
    rows = np.column_stack(
        [
            rng.choice(["low", "5more", "2"], 300),
            rng.choice(["(-inf, 0.5]", "(0.5, inf)"], 300),
            rng.choice(["yes", "no"], 300),
        ]
    )
    labels = np.where(rng.random(300) < 0.3, rng.choice(["a", "b", "c"], 300), np.where(rows[:, 2] == "yes", "a", "b"))
    data = DiscreteDataset.from_arrays(rows, labels, feature_names=["doors", "width in cm", "safe"])
    edges = [("safe", "class"), ("class", "doors"), ("class", "width in cm"), ("doors", "width in cm")]
    return BayesianNetwork.fit(Structure.from_names(data.feature_names, "class", edges), data, smoothing=1.0)


@pytest.fixture
def rows(network: BayesianNetwork) -> np.ndarray[Any, Any]:
    """All rows of features."""
    return np.array([[a, b, c] for a in range(3) for b in range(2) for c in range(2)], dtype=np.int32)


@pytest.fixture
def quiet() -> Iterator[None]:
    """Warnings of other packages' imports are their own affair."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _posterior(network: BayesianNetwork, rows: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    joint = np.exp(network.log_joint(rows))
    posterior: np.ndarray[Any, Any] = joint / joint.sum(axis=1, keepdims=True)
    return posterior


@pytest.mark.usefixtures("quiet")
def test_pgmpy_reads_our_file_to_the_last_digit(
    network: BayesianNetwork, rows: np.ndarray[Any, Any], tmp_path: Path
) -> None:
    readwrite = pytest.importorskip("pgmpy.readwrite", reason="pgmpy (extra interop) is not installed")
    from pgmpy.inference import VariableElimination

    write_bif(network, tmp_path / "net.bif")
    model = readwrite.BIFReader(str(tmp_path / "net.bif")).get_model()
    assert model.check_model()
    engine = VariableElimination(model)
    names = [n for n in model.nodes if n != "class"]
    by_name = {name: next(v for k, v in enumerate(network.features) if _alias(v.name) == name) for name in names}
    expected = _posterior(network, rows)
    for row, want in zip(rows, expected, strict=True):
        evidence = {
            name: model.get_cpds(name).state_names[name][row[network.structure.names.index(variable.name)]]
            for name, variable in by_name.items()
        }
        answer = engine.query(["class"], evidence=evidence, show_progress=False)
        got = [answer.get_value(**{"class": state}) for state in network.target.states]
        assert np.allclose(got, want, rtol=1e-9, atol=0)


def _alias(name: str) -> str:
    return name.replace(" ", "_")


@pytest.mark.usefixtures("quiet")
def test_pyagrum_reads_our_file_to_single_precision(
    network: BayesianNetwork, rows: np.ndarray[Any, Any], tmp_path: Path
) -> None:
    gum = pytest.importorskip("pyagrum", reason="pyAgrum (extra interop) is not installed")
    write_bif(network, tmp_path / "net.bif")
    model = gum.loadBN(str(tmp_path / "net.bif"))
    engine = gum.LazyPropagation(model)
    # pyAgrum's BIF parser holds numbers in single precision.
    for row, want in zip(rows, _posterior(network, rows), strict=True):
        engine.setEvidence({_alias(v.name): int(k) for v, k in zip(network.features, row, strict=True)})
        engine.makeInference()
        assert np.allclose(engine.posterior("class").toarray(), want, rtol=2e-6)


@pytest.mark.usefixtures("quiet")
@pytest.mark.parametrize("tool", ["pgmpy", "pyagrum"])
def test_their_files_come_back_through_us(network: BayesianNetwork, tmp_path: Path, tool: str) -> None:
    write_bif(network, tmp_path / "ours.bif")
    if tool == "pgmpy":
        readwrite = pytest.importorskip("pgmpy.readwrite", reason="pgmpy (extra interop) is not installed")
        model = readwrite.BIFReader(str(tmp_path / "ours.bif")).get_model()
        readwrite.BIFWriter(model).write(str(tmp_path / "theirs.bif"))
    else:
        gum = pytest.importorskip("pyagrum", reason="pyAgrum (extra interop) is not installed")
        # It reads the label 5more, but writes it only with leave to change it to _5more.
        gum.loadBN(str(tmp_path / "ours.bif")).saveBIF(str(tmp_path / "theirs.bif"), True)
    again = read_bif(tmp_path / "theirs.bif", "class")
    for node, name in enumerate(again.structure.names):
        ours = network.structure.names.index(name.replace("_", " "))
        theirs = [again.structure.names[p].replace("_", " ") for p in again.structure.parents[node]]
        assert sorted(theirs) == sorted(network.structure.names[p] for p in network.structure.parents[ours])
    mine, other = _reordered(network, again)
    assert np.allclose(mine, other, rtol=1e-5)


def _reordered(a: BayesianNetwork, b: BayesianNetwork) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Joint tables of both over (doors, width in cm, safe, class), states in the order of `a`."""
    grid = (
        np.array(np.meshgrid(*(range(v.cardinality) for v in a.features), indexing="ij")).reshape(len(a.features), -1).T
    )
    other = np.empty_like(grid)
    aliases = {"5more": "_5more"} if "_5more" in {s for v in b.features for s in v.states} else {}
    aliases |= {"(-inf, 0.5]": "inf_0_5", "(0.5, inf)": "s_0_5_inf"}
    for j, variable in enumerate(a.features):
        k = b.structure.names.index(_alias(variable.name))
        position = [b.features[k].states.index(aliases.get(str(s), str(s))) for s in variable.states]
        other[:, k] = np.array(position)[grid[:, j]]
    classes = [b.target.states.index(str(s)) for s in a.target.states]
    first = np.exp(a.log_joint(grid.astype(np.int32)))
    second = np.exp(b.log_joint(other.astype(np.int32)))[:, classes]
    return first, second
