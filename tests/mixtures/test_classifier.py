"""Mixture densities against SciPy, decision rules against their definitions, and inputs that break tools like ours."""

import json
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.special import logsumexp
from scipy.stats import multivariate_normal

from mmbn_opt.data.numeric import NumericDataset
from mmbn_opt.exceptions import FormatError, InputError
from mmbn_opt.interop.mixture_json import load_mixture, mixture_from_dict, mixture_to_dict, save_mixture
from mmbn_opt.mixtures.classifier import DecisionRule, MixtureClassifier, MixturePart
from mmbn_opt.mixtures.density import MixtureDensity
from mmbn_opt.mixtures.fitting import em_density, k_means_density


def random_density(rng: np.random.Generator, k: int, d: int, *, full: bool = False) -> MixtureDensity:
    weights = rng.dirichlet(np.ones(k))
    if full:
        roots = rng.normal(size=(k, d, d))
        covariances = roots @ roots.transpose(0, 2, 1) + 0.1 * np.eye(d)
    else:
        covariances = rng.uniform(0.1, 3.0, size=(k, d))
    return MixtureDensity(np.log(weights), rng.normal(size=(k, d)), covariances)


def duels(odds: dict[tuple[int, int], float], n_classes: int) -> MixtureClassifier:
    """A Max-Wins classifier whose log-odds at z = 0 are given: equal densities, all in the priors."""
    density = MixtureDensity(np.zeros(1), np.zeros((1, 1)), np.ones((1, 1)))
    parts = []
    for pair in combinations(range(n_classes), 2):
        prior = np.array([odds[pair], 0.0])
        parts.append(MixturePart(((pair[0],), (pair[1],)), prior - logsumexp(prior), (density, density)))
    return MixtureClassifier(
        np.arange(n_classes), ("x0",), DecisionRule.MAX_WINS, tuple(parts), np.zeros(1), np.ones(1)
    )


# -- densities ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("full", [False, True])
@given(seed=st.integers(0, 10_000), k=st.integers(1, 4), d=st.integers(1, 4))
@settings(max_examples=20)
def test_log_density_is_scipys(full: bool, seed: int, k: int, d: int) -> None:
    rng = np.random.default_rng(seed)
    density = random_density(rng, k, d, full=full)
    z = rng.normal(size=(5, d))
    covariances = density.covariances if full else np.array([np.diag(v) for v in density.covariances])
    terms = [
        w + np.atleast_1d(multivariate_normal(m, c).logpdf(z))
        for w, m, c in zip(density.log_weights, density.means, covariances, strict=True)
    ]
    np.testing.assert_allclose(density.log_density(z), logsumexp(terms, axis=0), rtol=1e-10)


@pytest.mark.parametrize("full", [False, True])
def test_a_missing_dimension_is_integrated_out(full: bool) -> None:
    density = random_density(np.random.default_rng(1), 3, 2, full=full)
    integral, _ = quad(lambda t: float(np.exp(density.log_density(np.array([[0.3, t]]))[0])), -30, 30, limit=200)
    assert density.log_density(np.array([[0.3, np.nan]]))[0] == pytest.approx(np.log(integral), abs=1e-7)
    assert density.log_density(np.array([[np.nan, np.nan]]))[0] == pytest.approx(0.0, abs=1e-12)


def test_densities_too_low_for_a_float_still_compare() -> None:
    near = MixtureDensity(np.zeros(1), np.zeros((1, 1)), np.full((1, 1), 1e-12))
    assert np.isfinite(near.log_density(np.array([[1e149]]))).all()
    assert near.log_density(np.array([[1e3]]))[0] > near.log_density(np.array([[2e3]]))[0]


@pytest.mark.parametrize(
    ("weights", "covariances", "text"),
    [
        ([0.5, 0.6], np.ones((2, 1)), "weights of a mixture must sum to 1"),
        ([0.5, 0.5], np.zeros((2, 1)), "Variances must be positive; the smallest is"),
        ([0.5, 0.5], np.ones((3, 1)), "covariances has shape (3, 1); the means call for (2, 1)"),
        ([0.5, 0.5], -np.ones((2, 1, 1)), "not symmetric positive definite"),
        ([1.0], np.ones((2, 1)), "log_weights has shape (1,); 2 means call for (2,)"),
        ([0.5, 0.5], np.full((2, 1), np.nan), "must be finite"),
    ],
)
def test_what_is_no_density_is_refused(weights: list[float], covariances: Any, text: str) -> None:
    with pytest.raises(InputError, match=text.replace("(", r"\(").replace(")", r"\)")):
        MixtureDensity(np.log(weights), np.zeros((2, 1)), covariances)


# -- rules ----------------------------------------------------------------------------------------------------------


@given(seed=st.integers(0, 10_000), n_classes=st.integers(3, 6), scale=st.sampled_from([0.1, 1.0, 100.0, 1e6]))
@settings(max_examples=50)
def test_max_wins_takes_most_votes_then_the_smallest_losses(seed: int, n_classes: int, scale: float) -> None:
    rng = np.random.default_rng(seed)
    odds = {pair: float(rng.normal() * scale) for pair in combinations(range(n_classes), 2)}
    votes, losses = np.zeros(n_classes), np.zeros(n_classes)
    for (a, b), d in odds.items():
        votes[a if d >= 0 else b] += 1
        losses[a] += np.logaddexp(0.0, -d)
        losses[b] += np.logaddexp(0.0, d)
    expected = min(range(n_classes), key=lambda c: (-votes[c], losses[c], c))
    model = duels(odds, n_classes)
    assert model.predict([[0.0]])[0] == expected
    probabilities = model.predict_proba([[0.0]])[0]
    assert probabilities.argmax() == expected
    assert probabilities.sum() == pytest.approx(1.0)


def test_a_circle_of_duels_goes_to_the_class_that_lost_by_least_and_then_to_the_first() -> None:
    assert duels({(0, 1): 50.0, (1, 2): 60.0, (0, 2): -40.0}, 3).predict([[0.0]])[0] == 0
    assert duels({(0, 1): 50.0, (1, 2): 30.0, (0, 2): -40.0}, 3).predict([[0.0]])[0] == 2
    assert duels({(0, 1): 50.0, (1, 2): 50.0, (0, 2): -50.0}, 3).predict([[0.0]])[0] == 0


def test_two_classes_get_the_posterior() -> None:
    model = duels({(0, 1): np.log(3.0)}, 2)
    np.testing.assert_allclose(model.predict_proba([[0.0]]), [[0.75, 0.25]])


def test_one_vs_rest_takes_the_largest_log_odds() -> None:
    low = MixtureDensity(np.zeros(1), np.array([[0.0]]), np.ones((1, 1)))
    parts = []
    for c in range(3):
        own = MixtureDensity(np.zeros(1), np.array([[4.0 * c]]), np.ones((1, 1)))
        rest = tuple(o for o in range(3) if o != c)
        parts.append(MixturePart(((c,), rest), np.log([0.5, 0.5]), (own, low)))
    model = MixtureClassifier(
        np.array(["a", "b", "c"]), ("x0",), DecisionRule.ONE_VS_REST, tuple(parts), np.zeros(1), np.ones(1)
    )
    assert model.predict([[8.0], [0.0], [3.5]]).tolist() == ["c", "a", "b"]
    np.testing.assert_allclose(model.predict_proba([[8.0]]).sum(), 1.0)


def test_a_row_impossible_everywhere_gets_the_prior() -> None:
    tight = MixtureDensity(np.zeros(1), np.zeros((1, 1)), np.full((1, 1), 1e-200))
    part = MixturePart(((0,), (1,)), np.log([0.3, 0.7]), (tight, tight))
    model = MixtureClassifier(np.array([0, 1]), ("x0",), DecisionRule.BAYES, (part,), np.zeros(1), np.ones(1))
    np.testing.assert_allclose(model.predict_proba([[1e149]]), [[0.3, 0.7]])


def test_parts_that_are_not_the_rules_are_refused() -> None:
    model = duels({(0, 1): 1.0, (0, 2): 1.0, (1, 2): 1.0}, 3)
    with pytest.raises(InputError, match="are not those of one-vs-one with 3 classes"):
        MixtureClassifier(model.classes, model.feature_names, model.rule, model.parts[:2], model.location, model.scale)


# -- fitting --------------------------------------------------------------------------------------------------------


def blobs(seed: int = 0, n: int = 40) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = np.concatenate([rng.normal(c, 1.0, size=(n, 2)) for c in (0.0, 4.0, 8.0)])
    return X, np.repeat(["a", "b", "c"], n)


@pytest.mark.parametrize("covariance", ["diag", "full"])
def test_one_component_is_the_sample_mean_and_variance(covariance: Any) -> None:
    X, y = blobs()
    model = MixtureClassifier.fit(X, y, 1, covariance=covariance, tau=1e-9)
    table = model.describe()
    np.testing.assert_allclose(table[["mean x0", "mean x1"]], [X[y == c].mean(axis=0) for c in "abc"])
    np.testing.assert_allclose(table[["sd x0", "sd x1"]], [X[y == c].std(axis=0) for c in "abc"], rtol=1e-6)
    assert model.score(X, y) > 0.9


def test_em_gains_likelihood_over_k_means() -> None:
    rng = np.random.default_rng(3)
    z = np.concatenate([rng.normal(0, 1, (60, 2)), rng.normal(1.5, 0.3, (60, 2))])
    start, fitted = k_means_density(z, 2), em_density(z, 2)
    assert fitted.log_density(z).sum() > start.log_density(z).sum()


@given(seed=st.integers(0, 1000))
@settings(max_examples=10)
def test_the_order_of_rows_does_not_matter(seed: int) -> None:
    X, y = blobs()
    order = np.random.default_rng(seed).permutation(len(y))
    one, other = MixtureClassifier.fit(X, y, 2), MixtureClassifier.fit(X[order], y[order], 2)
    np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(X), atol=1e-8)


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12, 1e100])
def test_scales_and_offsets_change_nothing(scale: float) -> None:
    X, y = blobs()
    model, scaled = MixtureClassifier.fit(X, y, 2), MixtureClassifier.fit(X * scale, y, 2)
    np.testing.assert_allclose(model.predict_proba(X), scaled.predict_proba(X * scale), atol=1e-6)


def test_constant_features_and_duplicate_rows_are_harmless() -> None:
    X, y = blobs()
    constant = np.column_stack([X, np.full(len(X), 1e12)])
    np.testing.assert_allclose(
        MixtureClassifier.fit(constant, y, 2).predict_proba(constant), MixtureClassifier.fit(X, y, 2).predict_proba(X)
    )
    twins = MixtureClassifier.fit([[0.0]] * 5 + [[1.0]] * 5, [0] * 5 + [1] * 5, 3)
    assert twins.predict([[0.1], [0.9]]).tolist() == [0, 1]


def test_k_means_repeats_components_when_samples_repeat() -> None:
    density = k_means_density(np.array([[1.0], [1.0], [2.0], [1.0]]), 3, tau=0.01)
    assert density.n_components == 3
    assert np.exp(density.log_weights).sum() == pytest.approx(1.0)
    assert set(density.means.ravel()) == {1.0, 2.0}
    assert (density.covariances >= 0.02).all()


def test_k_means_leaves_missing_values_out() -> None:
    z = np.array([[0.0, 1.0], [np.nan, 1.0], [0.0, np.nan], [5.0, 3.0], [5.0, np.nan]])
    density = k_means_density(z, 2)
    np.testing.assert_allclose(density.means, [[0.0, 1.0], [5.0, 3.0]])


@pytest.mark.parametrize("name", ["wdbc", "sonar", "glass", "segmentation", "iris", "wine"])
@pytest.mark.shared
def test_every_shared_set_can_be_fitted(shared_table: Any, name: str) -> None:
    frame, _ = shared_table(name)
    model = MixtureClassifier.fit(frame.drop(columns="class"), frame["class"], 2, tau=1e-3)
    assert np.isfinite(model.predict_proba(frame)).all()
    assert model.score(frame, frame["class"]) > 0.5


# -- input ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("X", "y", "kwargs", "text"),
    [
        ([[1.0], [2.0], [3.0]], [0, 0, 1], {"n_components": 2}, "Class 1 has 1 samples, fewer than n_components=2"),
        ([[1.0], [2.0]], [0, 0], {}, "y holds one class only, 0; margins need at least two classes"),
        ([[1.0], [np.nan]], [0, 1], {}, r"Missing values \(NaN\) in column 'x0' \(1\)"),
        ([[1.0], [np.inf]], [0, 1], {}, "Column 'x0' holds inf in row 1; values must be finite"),
        ([[1.0], [1e200]], [0, 1], {}, "Column 'x0' holds 1e\\+200 in row 1"),
        ([[1.0], [2.0]], [0, 1], {"n_components": 0}, "n_components must be a whole number of at least 1, got 0"),
        ([[1.0], [2.0]], [0, 1], {"n_components": True}, "n_components must be a whole number of at least 1, got True"),
        ([[1.0], [2.0]], [0, 1], {"tau": 0.0}, "tau must be a positive number, got 0.0"),
        ([[1.0], [2.0]], [0, 1], {"covariance": "tied"}, 'covariance must be "diag" or "full", got \'tied\''),
        ([[1.0], [2.0]], [0, 1, 1], {}, "y has 3 labels for 2 rows of X"),
        ([[1.0], [2.0]], [None, 1], {}, "y has 1 missing labels"),
        ([1.0, 2.0], [0, 1], {}, "X must be two-dimensional"),
        (np.empty((0, 2)), [], {}, "X has no rows"),
        (np.empty((2, 0)), [0, 1], {}, "X has no columns"),
        ([["u"], ["v"]], [0, 1], {}, "X must hold numbers only"),
        (pd.DataFrame({"a": ["u", "v"]}), [0, 1], {}, r"Columns \['a'\] are not numeric"),
    ],
)
def test_bad_input_is_refused_with_the_reason(X: Any, y: Any, kwargs: dict[str, Any], text: str) -> None:
    with pytest.raises(InputError, match=text):
        MixtureClassifier.fit(X, y, **kwargs)


def test_columns_are_matched_by_name() -> None:
    frame = pd.DataFrame({"a": [0.0, 1.0, 5.0, 6.0], "b": [3.0, 1.0, 2.0, 0.0]})
    model = MixtureClassifier.fit(frame, [0, 0, 1, 1])
    expected = model.predict_proba(frame)
    np.testing.assert_array_equal(model.predict_proba(frame[["b", "a"]].assign(c="text")), expected)
    np.testing.assert_array_equal(model.predict_proba(frame.to_numpy()), expected)
    with pytest.raises(InputError, match=r"Columns \['b'\] are absent; the data have \['a'\]"):
        model.predict(frame[["a"]])
    with pytest.raises(InputError, match="X has 3 columns; 2 were learned from"):
        model.predict(np.ones((1, 3)))


@pytest.mark.parametrize(
    "labels", [[1, 3, 1, 3], [True, False, True, False], ["x", "y", "x", "y"], [0.5, 2.5, 0.5, 2.5]]
)
def test_labels_keep_their_type(tmp_path: Path, labels: list[Any]) -> None:
    y = np.array(labels)
    model = MixtureClassifier.fit([[0.0], [5.0], [1.0], [6.0]], y)
    save_mixture(model, tmp_path / "model.json")
    for m in (model, load_mixture(tmp_path / "model.json")):
        predicted = m.predict([[0.0], [5.0]])
        assert predicted.dtype == y.dtype
        assert predicted.tolist() == labels[:2]


# -- files ----------------------------------------------------------------------------------------------------------


@given(seed=st.integers(0, 10_000), full=st.booleans(), n_classes=st.integers(2, 4))
@settings(max_examples=20)
def test_a_file_gives_the_same_classifier_back(seed: int, full: bool, n_classes: int, tmp_path_factory: Any) -> None:
    rng = np.random.default_rng(seed)
    densities = tuple(random_density(rng, 2, 3, full=full) for _ in range(n_classes))
    part = MixturePart(tuple((c,) for c in range(n_classes)), np.log(rng.dirichlet(np.ones(n_classes))), densities)
    names = tuple(f'col, {j} "é"' for j in range(3))
    model = MixtureClassifier(
        np.arange(n_classes), names, DecisionRule.BAYES, (part,), rng.normal(size=3), rng.uniform(1e-12, 1e12, 3)
    )
    path = tmp_path_factory.mktemp("models") / "model.json"
    save_mixture(model, path)
    again = load_mixture(path)
    X = rng.normal(size=(4, 3))
    np.testing.assert_array_equal(model.predict_proba(X), again.predict_proba(X))
    assert again.feature_names == names


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"format": "other"}, '"format": "mmbn_opt/mixture"'),
        ({"version": 2}, "has version 2"),
        ({"features": []}, '"features" must be distinct texts'),
        ({"rule": "majority"}, '"rule" must be one of bayes, one-vs-one, one-vs-rest'),
        ({"classes": [0]}, "at least two different labels"),
        ({"class_type": "O"}, '"class_type" must name a type'),
        ({"classes": [0, 300], "class_type": "int8"}, "are not of the type 'int8'"),
        ({"location": ["x"]}, '"location" must be lists of numbers'),
        ({"scale": [0.0]}, "scale must be positive"),
        ({"parts": []}, "are not those of bayes with 2 classes"),
        ({"parts": [3]}, r"parts\[0\] must be an object"),
    ],
)
def test_a_damaged_file_is_refused_with_the_reason(tmp_path: Path, change: dict[str, Any], text: str) -> None:
    content = mixture_to_dict(MixtureClassifier.fit([[0.0], [1.0], [5.0], [6.0]], [0, 0, 1, 1])) | change
    path = tmp_path / "model.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(FormatError, match=text):
        load_mixture(path)


def test_ragged_lists_and_numbers_beyond_floats_are_refused() -> None:
    content = mixture_to_dict(MixtureClassifier.fit([[0.0], [1.0], [5.0], [6.0]], [0, 0, 1, 1]))
    content["parts"][0]["densities"][0]["means"] = [[0.0], [1.0, 2.0]]
    with pytest.raises(FormatError, match="different lengths"):
        mixture_from_dict(content)
    content["parts"][0]["densities"][0]["means"] = [[10**30]]
    with pytest.raises(FormatError, match='"means" must be lists of numbers'):
        mixture_from_dict(content)


def test_the_classifier_saves_and_loads_itself(tmp_path: Path) -> None:
    model = MixtureClassifier.fit([[0.0], [1.0], [5.0], [6.0]], [0, 0, 1, 1])
    model.save(tmp_path / "model.json")
    assert MixtureClassifier.load(tmp_path / "model.json").predict([[0.5]]).tolist() == [0]


def test_standardised_data_have_mean_zero_and_variance_one() -> None:
    X, y = blobs()
    data = NumericDataset.from_arrays(X * 1e12 + 1e14, y)
    np.testing.assert_allclose(data.z.mean(axis=0), 0.0, atol=1e-9)
    np.testing.assert_allclose(data.z.std(axis=0), 1.0)


@pytest.mark.parametrize("log_prior", [[-0.7, 6.9e15], [np.nan, 0.0], [-0.7, -0.8]])
def test_priors_that_are_none_are_refused(log_prior: list[float]) -> None:
    density = MixtureDensity(np.zeros(1), np.zeros((1, 1)), np.ones((1, 1)))
    with pytest.raises(InputError, match="priors of a part must sum to 1"):
        MixturePart(((0,), (1,)), np.array(log_prior), (density, density))
