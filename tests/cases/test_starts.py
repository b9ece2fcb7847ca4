"""B8: what may be given as a start, for structures and parameters: taken, moved into the class, or refused by name."""

import logging
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mmbn_opt as mm
from mmbn_opt.formulations.base import Formulation
from mmbn_opt.results.status import TerminationStatus

EDGES = [("class", "A0"), ("A0", "A1"), ("class", "A1")]


@pytest.fixture(scope="module")
def corral() -> mm.DiscreteDataset:
    return mm.prepare(mm.load_dataset("corral"), "class").data


def fewer_nodes(data: mm.DiscreteDataset) -> mm.BayesianNetwork:
    part = mm.prepare(mm.load_dataset("corral")[["A1", "A0", "class"]], "class").data
    return mm.BayesianNetwork.fit(mm.tan_cmi(part), part)


KINDS: dict[str, Callable[[mm.DiscreteDataset], Any]] = {
    "a structure": mm.tan_cmi,
    "a structure in a list": lambda data: [mm.tan_cmi(data)],
    "a network": lambda data: mm.BayesianNetwork.fit(mm.tan_cmi(data), data),
    "a network in a tuple": lambda data: (mm.BayesianNetwork.fit(mm.tan_cmi(data), data),),
    "a generator": lambda data: (make(data) for make in (mm.naive_bayes, mm.tan_cmi)),
    "edges": lambda data: EDGES,
    "edges in a list": lambda data: [EDGES],
    "edges as a set": lambda data: set(EDGES),
    "edges as lists": lambda data: [list(map(list, EDGES))],
    "one edge": lambda data: ("class", "A0"),
    "a network over fewer nodes": fewer_nodes,
    "a result": lambda data: mm.solve(mm.SoftMarginStructure(data, max_parents=1)),
    "factors of a relaxation": lambda data: mm.solve(mm.MaxMarginRelaxation(data, mm.naive_bayes(data))).model,
    "too many parents": lambda data: mm.from_edges(data, [(name, "class") for name in data.feature_names]),
    "several": lambda data: [mm.naive_bayes(data), EDGES, fewer_nodes(data)],
}
PROBLEMS: dict[str, Callable[[mm.DiscreteDataset], Formulation]] = {
    "sm": lambda data: mm.SoftMarginStructure(data, max_parents=2),
    "sbm": lambda data: mm.BinarySoftMarginStructure(data, max_parents=2),
    "bic": lambda data: mm.DecomposableStructure(data, score="bic", max_parents=2),
    "restricted": lambda data: mm.SoftMarginStructure(data, restriction=mm.restrict_candidates(data, 1)),
    "edges required and forbidden": lambda data: mm.SoftMarginStructure(
        data, required_edges=(("A1", "A0"),), forbidden_edges=(("class", "A1"),)
    ),
}


@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize("kind", [pytest.param(kind, id=f"B8 {kind}") for kind in KINDS])
def test_every_kind_of_start_is_taken_and_the_optimum_stays(kind: str, problem: str, corral: Any) -> None:
    formulation = PROBLEMS[problem](corral)
    result = mm.solve(formulation, starts=KINDS[kind](corral), time_limit=60)
    assert result.termination_status is TerminationStatus.OPTIMAL
    assert result.certificate.ok
    assert result.bounds.primal_bound == pytest.approx(_optimum(problem, corral), rel=1e-9)


_OPTIMA: dict[str, float] = {}


def _optimum(problem: str, data: mm.DiscreteDataset) -> float:
    if problem not in _OPTIMA:
        value = mm.solve(PROBLEMS[problem](data), "highs").bounds.primal_bound
        assert value is not None
        _OPTIMA[problem] = value
    return _OPTIMA[problem]


def test_what_was_changed_is_logged_and_the_rest_is_kept_b8(corral: Any, caplog: pytest.LogCaptureFixture) -> None:
    formulation = mm.SoftMarginStructure(corral, max_parents=1, forbidden_edges=(("class", "A0"),))
    with caplog.at_level(logging.INFO, "mmbn_opt.formulations"):
        taken = formulation.adopt(mm.naive_bayes(corral), next(iter(formulation.emits)))
    assert taken.structure.edges == [e for e in mm.naive_bayes(corral).edges if e != ("class", "A0")]
    assert "[('class', 'A0')] left out, nothing added" in caplog.text


REFUSED = {
    "a name of a heuristic": ("tan-cmi", "A start must be a network, a Structure, a Result, or a list of .* got str"),
    "a number": (3, "A start must be .* got int"),
    "a frame": (pd.DataFrame({"A0": [1]}), "A start must be .* got DataFrame"),
    "edges with a number": ([[("class", 1)]], r"A start must be .* got a list with \('class', 1\)"),
    "an unknown node": ([("class", "A0"), ("class", "z")], r"The start has the nodes \['z'\], and the columns are"),
    "a cycle": ([("A0", "A1"), ("A1", "A0")], r"cycle through \['A0', 'A1'\]"),
    "a dictionary": ({"A0": ["class"]}, "A start must be .* got dict"),
}


@pytest.mark.parametrize("kind", [pytest.param(kind, id=f"B8 {kind}") for kind in REFUSED])
def test_what_is_no_start_is_refused_by_name(kind: str, corral: Any) -> None:
    given_start, message = REFUSED[kind]
    with pytest.raises(mm.InputError, match=message):
        mm.solve(mm.SoftMarginStructure(corral), starts=given_start)
    with pytest.raises(mm.InputError, match=message):
        mm.solve(mm.SmoothMargin(corral, mm.naive_bayes(corral)), starts=given_start)


PARAMETERS: dict[str, Callable[..., Formulation]] = {
    "cg-mm": mm.SmoothMargin,
    "cg-cl": mm.ConditionalLikelihood,
    "relaxation": mm.MaxMarginRelaxation,
    "markov": mm.MaxMarginMarkovNetwork,
}


@pytest.mark.parametrize("method", [pytest.param(method, id=f"B8 {method}") for method in PARAMETERS])
def test_starts_of_parameters_need_the_structure_and_its_states(method: str, corral: Any) -> None:
    tree = mm.naive_bayes(corral)
    formulation = PARAMETERS[method](corral, tree)
    network = mm.BayesianNetwork.fit(tree, corral, smoothing=3.0)
    for start in (network, [network], tree, tree.edges, mm.solve(PARAMETERS[method](corral, tree), time_limit=1)):
        assert mm.solve(formulation, starts=start, time_limit=1).model is not None
    with pytest.raises(mm.InputError, match=r"lacks the edges \[\] and has .*A0.* besides"):
        mm.solve(formulation, starts=[mm.tan_cmi(corral)])
    with pytest.raises(mm.InputError, match=r"lacks the edges \[\('class', 'B0'"):
        mm.solve(formulation, starts=[fewer_nodes(corral)])
    frame = mm.load_dataset("corral")
    frame["A0"] = frame["A0"].map({"0": "no", "1": "yes"}).fillna("yes")
    other = mm.prepare(frame, "class").data
    with pytest.raises(mm.InputError, match="The start has 'A0' with the states"):
        mm.solve(formulation, starts=mm.BayesianNetwork.fit(mm.naive_bayes(other), other))


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 3), st.booleans())
def test_the_librarys_own_trees_are_taken_on_any_data_b8(seed: int, max_parents: int, required: bool) -> None:
    """Constant columns among them, with and without declared states that no row has."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({f"x{j}": rng.integers(0, rng.integers(1, 4), 12).astype(str) for j in range(4)})
    frame["fixed"] = "k"
    frame["declared"] = pd.Categorical(["k"] * 12, categories=["k", "never"])
    frame["class"] = [0, 1] * 6
    data = mm.DiscreteDataset.from_frame(frame, "class")
    edges = (("x0", "x1"), ("class", "fixed")) if required else ()
    for make in (mm.SoftMarginStructure, mm.DecomposableStructure):
        formulation = make(data, max_parents=max_parents, required_edges=edges)
        for tree in (mm.naive_bayes(data), mm.tan_cmi(data), mm.tan_cr(data), mm.order_mi(data)):
            taken = formulation.adopt(tree, next(iter(formulation.emits)))
            assert formulation.structure_class.objection(taken.structure) is None
            assert set(edges) <= set(taken.structure.edges)


def test_mixtures_take_mixtures_b8() -> None:
    X = np.array([[0.0], [0.2], [3.0], [3.1], [0.1], [3.2]])
    problem = mm.ConstrainedMaximumMargin(X, [0, 0, 1, 1, 0, 1], 1)
    with pytest.raises(mm.InputError, match="A start must be a MixtureClassifier of the same classes, got Structure"):
        mm.solve(problem, starts=[mm.Structure(("a",), "c", ((), ()))])
