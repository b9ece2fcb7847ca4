"""The same questions to pgmpy and pyAgrum: the same answers, to 1e-9."""

import random

import numpy as np
import pytest

import mmbn_opt as mm

SMALL = [
    "asia",
    "cancer",
    "earthquake",
    "sachs",
    "survey",
    "child",
    "alarm",
    "insurance",
    "hepar2",
    "win95pts",
    "hailfinder",
]


@pytest.fixture(scope="module", params=SMALL)
def network(request, shared_dir) -> mm.BayesianNetwork:
    return mm.BayesianNetwork.from_bif(shared_dir / "data" / "networks" / f"{request.param}.bif.gz")


def questions(network: mm.BayesianNetwork, n: int) -> list[tuple[list[str], dict[str, str]]]:
    rng = random.Random(1)
    names = list(network.structure.names)
    found = []
    for k, row in enumerate(network.sample(n, random_state=1).to_dict("records")):
        drawn = rng.sample(names, min(len(names), 5))
        targets = drawn[: 1 + k % 2]
        found.append((targets, {name: row[name] for name in drawn[len(targets) :]}))
    return found


def test_pyagrum_answers_the_same(network):
    gum = pytest.importorskip("pyagrum")
    model = network.to_pyagrum()
    for targets, evidence in questions(network, 12):
        engine = gum.LazyPropagation(model)
        engine.setEvidence(evidence)
        engine.addJointTarget(set(targets))
        engine.makeInference()
        joint = engine.jointPosterior(set(targets))
        for states, p in network.query(targets, evidence).items():
            cell = dict(zip(targets, states if len(targets) > 1 else (states,), strict=True))
            assert p == pytest.approx(joint[cell], abs=1e-9)
        whole = gum.LazyPropagation(model)  # one with a target leaves out evidence that does not concern it
        whole.setEvidence(evidence)
        whole.makeInference()
        assert network.probability(evidence) == pytest.approx(whole.evidenceProbability(), rel=1e-9)
    soft = {targets[0]: np.linspace(0.1, 1.0, len(network.query(targets[0]))).tolist()}
    engine = gum.LazyPropagation(model)
    engine.setEvidence(evidence | soft)
    engine.makeInference()
    for name, posterior in network.marginals(evidence | soft).items():
        np.testing.assert_allclose(posterior, engine.posterior(name).toarray(), atol=1e-9)


def test_pgmpy_answers_the_same(network):
    inference = pytest.importorskip("pgmpy.inference")
    engine = inference.VariableElimination(network.to_pgmpy())
    for targets, evidence in questions(network, 4):
        answer = engine.query(targets, evidence=evidence, show_progress=False)
        for states, p in network.query(targets, evidence).items():
            cell = dict(zip(targets, states if len(targets) > 1 else (states,), strict=True))
            assert p == pytest.approx(answer.get_value(**cell), abs=1e-9)
    if len(network.variables) <= 11:  # pgmpy makes one table of all nodes for an explanation
        rest = [name for name in network.structure.names if name not in evidence]
        theirs = engine.map_query(rest, evidence=evidence, show_progress=False)
        ours = network.map_query(evidence=evidence)
        assert network.probability(ours | evidence) == pytest.approx(network.probability(theirs | evidence), rel=1e-9)


@pytest.mark.parametrize("way", ["json", "bif", "xmlbif", "networkx", "pgmpy", "pyagrum"])
def test_a_network_without_a_class_travels_without_one(way, tmp_path):
    frame = mm.load_dataset("corral")
    data = mm.DiscreteDataset.from_frame(frame, "class")
    fitted = mm.BayesianNetwork.fit(mm.tan_cmi(data), data)
    fitted.to_bif(tmp_path / "net.bif")
    network = mm.BayesianNetwork.from_bif(tmp_path / "net.bif")
    path = tmp_path / f"net.{way}"
    if way == "json":
        network.save(path)
        back = mm.BayesianNetwork.load(path)
    elif way in ("bif", "xmlbif"):
        getattr(network, f"to_{way}")(path)
        back = getattr(mm.BayesianNetwork, f"from_{way}")(path)
    else:
        pytest.importorskip(way)
        back = getattr(mm.BayesianNetwork, f"from_{way}")(getattr(network, f"to_{way}")())
    assert not network.structure.has_class
    assert not back.structure.has_class
    assert back.structure.names == network.structure.names
    assert set(back.structure.edges) == set(network.structure.edges)
    rows = frame.drop(columns=["A0", "class"])
    np.testing.assert_allclose(back.query("class", rows), network.query("class", rows), rtol=1e-12)
    np.testing.assert_allclose(back.with_class("class").predict_proba(frame), fitted.predict_proba(frame), rtol=1e-9)
    for drawn in (back._repr_html_(), repr(back), back.structure._repr_html_()):
        assert "class &#39;" not in drawn
        assert "(class)" not in drawn
