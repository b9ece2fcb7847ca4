"""Scores against plain loops over dictionaries, and against optima found elsewhere."""

import numpy as np
import pandas as pd
import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st
from strategies import dataset_of, tiny_problems

import mmbn_opt as mm
from mmbn_opt.exceptions import InputError
from mmbn_opt.scores import predictive


@st.composite
def problems_with_structure(draw):
    rows, card = draw(tiny_problems())
    options = reference.all_sets(len(card) - 1, 2)
    parents = tuple(draw(st.sampled_from(o)) for o in options)
    if not reference.is_acyclic(parents):
        parents = ((),) * len(card)
    return rows, card, parents


def structure_of(data, parents):
    return mm.Structure(data.feature_names, data.class_name, parents)


@given(problems_with_structure(), st.sampled_from([0.1, 1.0, 3.0]))
def test_soft_margin_equals_the_plain_loops(problem, gamma):
    rows, card, parents = problem
    data = dataset_of(rows, card)
    network = mm.BayesianNetwork.fit(structure_of(data, parents), data)
    expected = reference.soft_margin(rows, [1.0] * len(rows), card, parents, gamma)
    assert predictive.soft_margin(network, data, gamma) == pytest.approx(expected, abs=1e-9)


@given(problems_with_structure(), st.sampled_from([0.1, 1.0, 3.0]))
def test_binary_soft_margin_equals_relabelling_and_recounting(problem, gamma):
    rows, card, parents = problem
    data = dataset_of(rows, card)
    expected = reference.binary_soft_margin(rows, [1.0] * len(rows), card, parents, gamma)
    assert predictive.binary_soft_margin(structure_of(data, parents), data, gamma) == pytest.approx(expected, abs=1e-9)


@given(problems_with_structure())
def test_two_classes_make_both_margins_equal(problem):
    rows, card, parents = problem
    rows = [[*r[:-1], r[-1] % 2] for r in rows]
    data = dataset_of(rows, [*card[:-1], 2])
    structure = structure_of(data, parents)
    for smoothing in (1.0, 0.3, mm.Dirichlet(2.0)):
        network = mm.BayesianNetwork.fit(structure, data, smoothing)
        np.testing.assert_allclose(
            predictive.binary_log_margins(structure, data, smoothing),
            predictive.log_margins(network, data),
            rtol=0,
            atol=1e-12,
        )


@given(problems_with_structure(), st.sampled_from(["loglik", "bic", "mdl", "bdeu"]), st.sampled_from([0.5, 1.0, 10.0]))
def test_family_scores_equal_the_plain_loops(problem, score, ess):
    rows, card, parents = problem
    data = dataset_of(rows, card)
    weights = [1.0] * len(rows)
    expected = sum(reference.family_score(rows, weights, card, v, ps, score, ess) for v, ps in enumerate(parents))
    value = predictive.structure_score(structure_of(data, parents), data, score, ess)
    assert value == pytest.approx(expected, abs=1e-8)


@given(problems_with_structure())
def test_likelihoods_and_rate_are_consistent(problem):
    rows, card, parents = problem
    data = dataset_of(rows, card)
    network = mm.BayesianNetwork.fit(structure_of(data, parents), data)
    weights = [1.0] * len(rows)
    expected = sum(reference.log_joint(rows, weights, card, parents, r) for r in rows)
    assert predictive.log_likelihood(network, data) == pytest.approx(expected, abs=1e-9)
    posterior = network.predict_proba(data)
    own = posterior[np.arange(len(rows)), data.target_codes]
    assert predictive.conditional_log_likelihood(network, data) == pytest.approx(np.log(own).sum(), abs=1e-9)
    assert predictive.classification_rate(network, data) == np.mean(posterior.argmax(axis=1) == data.target_codes)
    positive = predictive.log_margins(network, data) > 1e-12
    assert predictive.classification_rate(network, data) >= positive.mean()


@given(problems_with_structure(), st.permutations(range(4)))
def test_scores_do_not_depend_on_row_order_or_on_merging(problem, order):
    rows, card, parents = problem
    data = dataset_of(rows * 2, card)
    structure = structure_of(data, parents)
    shuffled = dataset_of([r for k in order for r in (rows * 2)[k::4]], card)
    for other in (data.aggregate(), shuffled, shuffled.aggregate()):
        for smoothing in (1.0, mm.Dirichlet(1.0)):
            one = predictive.soft_margin(mm.BayesianNetwork.fit(structure, data, smoothing), data, 1.0)
            two = predictive.soft_margin(mm.BayesianNetwork.fit(structure, other, smoothing), other, 1.0)
            assert two == pytest.approx(one, abs=1e-9)
        assert predictive.bdeu(structure, other) == pytest.approx(predictive.bdeu(structure, data), abs=1e-9)
        assert predictive.bic(structure, other) == pytest.approx(predictive.mdl(structure, data), abs=1e-9)


def test_bdeu_and_dirichlet_parameters_are_score_equivalent():
    rng = np.random.default_rng(3)
    data = dataset_of(rng.integers(0, 2, (40, 3)).tolist(), [2, 2, 2])
    forward = mm.Structure(("x0", "x1"), "class", ((), (0,), (1,)))
    backward = mm.Structure(("x0", "x1"), "class", ((1,), (2,), ()))
    assert predictive.bdeu(forward, data, 3.0) == pytest.approx(predictive.bdeu(backward, data, 3.0), abs=1e-9)
    a, b = (mm.BayesianNetwork.fit(s, data, mm.Dirichlet(3.0)) for s in (forward, backward))
    np.testing.assert_allclose(a.log_joint(data.codes), b.log_joint(data.codes), atol=1e-12)


@pytest.mark.shared
def test_scores_at_the_optima_of_the_oracle(shared_optima, shared_table):
    for kind in ("soft_margin", "binary_soft_margin"):
        for case in shared_optima[kind]:
            frame, _ = shared_table(case["dataset"])
            frame = frame if case["cols"] is None else frame[[*case["cols"], "class"]]
            data = mm.DiscreteDataset.from_frame(frame.dropna(), "class")
            c = data.n_features
            parents = tuple(tuple(c if p == "C" else p for p in ps) for ps in case["features"])
            structure = mm.Structure(data.feature_names, "class", (*parents, tuple(case["class_parents"])))
            gamma = mm.log_odds(case["p"])
            if kind == "soft_margin":
                value = predictive.soft_margin(mm.BayesianNetwork.fit(structure, data), data, gamma)
            else:
                value = predictive.binary_soft_margin(structure, data, gamma)
            assert value == pytest.approx(case["optimum"], abs=1e-6)


@pytest.mark.parametrize("p", [0.5, 1.0, 0.2, 1.5, float("nan")])
def test_log_odds_refuses_what_is_no_margin(p):
    with pytest.raises(InputError, match=r"p must lie in \(0.5, 1\)"):
        mm.log_odds(p)


def test_unknown_score_is_refused_by_name():
    data = mm.DiscreteDataset.from_frame(pd.DataFrame({"a": ["x", "y"], "class": ["0", "1"]}), "class")
    with pytest.raises(InputError, match="'aic'"):
        predictive.family_score(data, 0, (1,), "aic")
