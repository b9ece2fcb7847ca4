"""Networks: tables sum to one, posteriors equal enumeration, odd data have defined answers."""

import numpy as np
import pandas as pd
import pytest
import reference
from hypothesis import given
from strategies import dataset_of, tiny_problems

import mmbn_opt as mm
from mmbn_opt.exceptions import InputError


@given(tiny_problems())
def test_log_joint_equals_the_product_of_smoothed_ratios(problem):
    rows, card = problem
    c = len(card) - 1
    data = dataset_of(rows, card)
    parents = (*(((c,) if j == 0 else (j - 1, c)) for j in range(c)), ())
    network = mm.BayesianNetwork.fit(mm.Structure(data.feature_names, "class", parents), data)
    joint = network.log_joint(data.codes)
    for m, row in enumerate(rows):
        for k in range(card[-1]):
            expected = reference.log_joint(rows, [1.0] * len(rows), card, parents, [*row[:-1], k])
            assert joint[m, k] == pytest.approx(expected, abs=1e-10)


@given(tiny_problems())
def test_probabilities_over_all_joint_states_sum_to_one(problem):
    rows, card = problem
    c = len(card) - 1
    data = dataset_of(rows, card)
    parents = (*[(c,)] * (c - 1), (), (c - 1,)) if c > 1 else ((c,), ())
    network = mm.BayesianNetwork.fit(mm.Structure(data.feature_names, "class", parents), data)
    grid = np.array(np.meshgrid(*[np.arange(r) for r in card[:-1]], indexing="ij")).reshape(c, -1).T
    assert np.exp(network.log_joint(grid)).sum() == pytest.approx(1.0, abs=1e-12)


def test_parent_configurations_never_seen_are_uniform_without_warning():
    frame = pd.DataFrame({"A": [0, 0, 1], "B": [0, 1, 0], "C": [1, 1, 0]})
    data = mm.DiscreteDataset.from_frame(frame, "C")
    structure = mm.from_edges(data, [("A", "C"), ("B", "C")])
    cpt = mm.BayesianNetwork.fit(structure, data, smoothing=0.0).cpt("C")
    assert cpt.loc[(1, 1)].tolist() == [0.5, 0.5]
    assert cpt.loc[(0, 0)].tolist() == [0.0, 1.0]
    assert not cpt.isna().any(axis=None)


def test_declared_states_never_seen_keep_their_row():
    values = pd.Categorical(["x", "y", "x", "y"], categories=["x", "y", "z"])
    data = mm.DiscreteDataset.from_frame(pd.DataFrame({"a": values, "class": [0, 1, 0, 1]}), "class")
    network = mm.BayesianNetwork.fit(mm.naive_bayes(data), data)
    assert network.cpt("a").loc[0].tolist() == pytest.approx([3 / 5, 1 / 5, 1 / 5])
    np.testing.assert_allclose(network.predict_proba(pd.DataFrame({"a": ["z"]})), [[0.5, 0.5]])


def test_impossible_rows_get_the_prior():
    data = mm.DiscreteDataset.from_arrays([["a", "u"], ["a", "u"], ["b", "v"], ["a", "u"]], [0, 0, 1, 0])
    network = mm.BayesianNetwork.fit(mm.naive_bayes(data), data, smoothing=0.0)
    np.testing.assert_allclose(network.predict_proba([["a", "v"]]), [[0.75, 0.25]])


def test_predict_is_the_argmax_of_predict_proba():
    rng = np.random.default_rng(0)
    data = dataset_of(rng.integers(0, 3, (200, 4)).tolist(), [3, 3, 3, 3])
    network = mm.BayesianNetwork.fit(mm.tan_cmi(data), data)
    assert (network.predict(data) == network.classes[network.predict_proba(data).argmax(axis=1)]).all()


def test_columns_are_matched_by_name():
    frame = pd.DataFrame({"a": ["x", "y"] * 3, "b": ["u", "u", "v"] * 2, "class": [0, 1] * 3})
    data = mm.DiscreteDataset.from_frame(frame, "class")
    network = mm.BayesianNetwork.fit(mm.naive_bayes(data), data)
    np.testing.assert_array_equal(network.predict_proba(frame[["b", "class", "a"]]), network.predict_proba(frame))
    with pytest.raises(InputError, match=r"Columns \['b'\] are absent"):
        network.predict(frame[["a"]])
    with pytest.raises(InputError, match=r"shape \(n_samples, 2\)"):
        network.predict([["x"]])


def test_a_network_must_fit_its_tables():
    data = mm.DiscreteDataset.from_arrays([["a"], ["b"]], [0, 1])
    network = mm.BayesianNetwork.fit(mm.naive_bayes(data), data)
    empty = mm.from_edges(data, [])
    with pytest.raises(InputError, match=r"CPT of 'x0' has shape \(2, 2\)"):
        mm.BayesianNetwork(empty, network.features, network.target, network.log_cpts)


def test_class_with_feature_parents_predicts_its_table():
    data = mm.DiscreteDataset.from_arrays([["a"], ["a"], ["b"], ["b"]], ["n", "n", "p", "n"])
    network = mm.BayesianNetwork.fit(mm.from_edges(data, [("x0", "class")]), data)
    np.testing.assert_allclose(network.predict_proba([["a"], ["b"]]), [[3 / 4, 1 / 4], [1 / 2, 1 / 2]])
    assert network.predict([["b"]]).tolist() == ["n"]  # a tie goes to the first class


def test_no_features_and_one_sample():
    none = mm.DiscreteDataset.from_frame(pd.DataFrame({"class": ["n", "p", "p"]}), "class")
    network = mm.BayesianNetwork.fit(mm.naive_bayes(none), none)
    np.testing.assert_allclose(network.predict_proba(pd.DataFrame(index=range(1))), [[0.4, 0.6]])
    one = mm.DiscreteDataset.from_arrays([["a"]], ["only"])
    assert mm.BayesianNetwork.fit(mm.naive_bayes(one), one).predict([["a"]]).tolist() == ["only"]
