"""Models of sequences: against the enumeration of all labellings, against hmmlearn, and their normalised form."""

import itertools
import json
import math

import labellings
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mmbn_opt as mm
from mmbn_opt.data import DiscreteVariable
from mmbn_opt.interop.sequence_json import load_sequence_model, sequence_model_from_dict, sequence_model_to_dict

XY = DiscreteVariable("y", ("X", "Y", "Z"))


def model_of(w, n_labels=3, cards=(3, 2), window=(0, 0)):
    features = [DiscreteVariable(f"x{j}", tuple("abcd"[:s])) for j, s in enumerate(cards)]
    target = DiscreteVariable("y", tuple("XYZ"[:n_labels]))
    return mm.HiddenMarkovClassifier.of_vector(features, target, window, w)


def random_model(rng, n_labels=3, cards=(3, 2), spread=1.0, normalized=False):
    w = rng.normal(0.0, spread, n_labels + n_labels**2 + n_labels * sum(cards))
    if normalized:
        for row in labellings.rows_of(n_labels, cards):
            w[row] -= np.logaddexp.reduce(w[row])
    return model_of(w, n_labels, cards)


def random_sequences(rng, n=4, longest=4, cards=(3, 2)):
    return [[["abcd"[rng.integers(s)] for s in cards] for _ in range(rng.integers(1, longest + 1))] for _ in range(n)]


def coded(x):
    return [["abcd".index(cell) if cell is not None else -1 for cell in cells] for cells in x]


seeds = st.integers(0, 2**32 - 1)


@settings(max_examples=30, deadline=None)
@given(seeds)
def test_labels_posteriors_and_likelihoods_are_those_of_all_labellings(seed):
    rng = np.random.default_rng(seed)
    model, X = random_model(rng), random_sequences(rng)
    X[0][0][0] = None
    labels, posteriors, logs = model.predict(X), model.predict_proba(X), model.log_likelihood(X)
    for i, x in enumerate(X):
        ways, weights, log = labellings.posterior(model.vector, 3, (3, 2), coded(x))
        assert logs[i] == pytest.approx(log, abs=1e-9)
        assert tuple("XYZ".index(label) for label in labels[i]) == ways[int(weights.argmax())]
        for t, k in itertools.product(range(len(x)), range(3)):
            mass = sum(p for y, p in zip(ways, weights, strict=True) if y[t] == k)
            assert posteriors[i][t, k] == pytest.approx(mass, abs=1e-9)
    joint = model.log_joint(X, labels)
    for i, x in enumerate(X):
        y = ["XYZ".index(label) for label in labels[i]]
        assert joint[i] == pytest.approx(labellings.score(model.vector, 3, (3, 2), coded(x), y), abs=1e-9)
    assert model.log_posterior(X, labels) == pytest.approx(joint - logs)


@settings(max_examples=60, deadline=None)
@given(seeds, st.sampled_from([0.1, 1.0, 10.0, 300.0]), st.floats(1.01, 1000.0))
def test_the_normalised_model_has_the_same_posterior(seed, spread, mean_length):
    rng = np.random.default_rng(seed)
    model, X = random_model(rng, spread=spread), random_sequences(rng, longest=7)
    done = model.normalize(mean_length)
    assert done.form == "with end state"
    assert done.model.row_sums == pytest.approx(1.0, abs=1e-12)
    assert done.model.is_normalized
    for a, b in zip(model.predict_proba(X), done.model.predict_proba(X), strict=True):
        assert a == pytest.approx(b, abs=1e-9)
    again = done.model.normalize(mean_length)
    for a, b in zip(model.predict_proba(X), again.model.predict_proba(X), strict=True):
        assert a == pytest.approx(b, abs=1e-9)


def test_rows_of_one_sum_need_no_end_state():
    rng = np.random.default_rng(3)
    model, X = random_model(rng, normalized=True), random_sequences(rng, longest=6)
    less = model_of(model.vector - 0.7)
    done = less.normalize()
    assert (done.form, done.model.log_end) == ("without end state", None)
    assert done.unevenness <= 1e-12
    assert done.model.vector == pytest.approx(model.vector, abs=1e-12)
    for a, b in zip(less.predict_proba(X), done.model.predict_proba(X), strict=True):
        assert a == pytest.approx(b, abs=1e-9)


def test_transitions_that_only_change_labels_round_and_round_are_normalised():
    with np.errstate(divide="ignore"):
        step = np.log(np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 0.5], [0.25, 0.0, 0.0]]))
        emissions = np.log(np.array([[0.5, 0.25], [0.5, 0.125], [0.1, 0.1]]))
    w = np.concatenate([np.zeros(3), step.ravel(), emissions.ravel()])
    model = model_of(w, cards=(2,))
    done = model.normalize()
    X = [[["a"]], [["a"], ["b"], ["b"], ["a"]]]
    assert done.model.is_normalized
    for a, b in zip(model.predict_proba(X), done.model.predict_proba(X), strict=True):
        assert a == pytest.approx(b, abs=1e-9)


def test_a_model_that_can_do_nothing_is_not_normalised():
    w = np.full(3 + 9 + 9, -np.inf)
    w[12:] = 0.0
    with pytest.raises(mm.InputError, match="allow no sequence"):
        model_of(w, cards=(3,)).normalize()
    w[:12], w[12:15] = 0.0, -np.inf
    with pytest.raises(mm.InputError, match="Label number 0 emits nothing"):
        model_of(w, cards=(3,)).normalize()


def test_counts_with_a_pseudo_count_are_the_tables():
    data = mm.SequenceDataset.from_lists(["aab", "abb"], ["XXY", "XYY"])
    model = mm.HiddenMarkovClassifier.fit(data, smoothing=1.0)
    assert np.exp(model.log_initial) == pytest.approx([3 / 4, 1 / 4])
    # X -> X once, X -> Y twice; Y -> Y once.
    assert np.exp(model.log_transition) == pytest.approx(np.array([[2 / 5, 3 / 5], [1 / 3, 2 / 3]]))
    assert np.exp(model.log_emissions[0]) == pytest.approx(np.array([[4 / 5, 1 / 5], [1 / 5, 4 / 5]]))
    assert model.is_normalized


def test_without_a_pseudo_count_what_was_never_seen_is_impossible():
    data = mm.SequenceDataset.from_lists(["aab", "abb"], ["XXY", "XYY"])
    model = mm.HiddenMarkovClassifier.fit(data, smoothing=0.0)
    assert model.predict(["ab"]) == [["X", "Y"]]
    assert model.log_likelihood(["ab", "ba"])[1] == -math.inf
    assert model.predict_proba(["ba"])[0].tolist() == [[0.5, 0.5], [0.5, 0.5]]


def test_answers_are_those_of_hmmlearn():
    hmm = pytest.importorskip("hmmlearn.hmm", reason="hmmlearn is not installed")
    rng = np.random.default_rng(5)
    model = random_model(rng, cards=(4,), normalized=True)
    theirs = hmm.CategoricalHMM(n_components=3, n_features=4)
    theirs.startprob_ = np.exp(model.log_initial)
    theirs.transmat_ = np.exp(model.log_transition)
    theirs.emissionprob_ = np.exp(model.log_emissions[0])
    X = random_sequences(rng, n=6, longest=12, cards=(4,))
    for x in X:
        codes = np.array(coded(x))
        assert model.log_likelihood([x])[0] == pytest.approx(theirs.score(codes), abs=1e-9)
        assert model.predict_proba([x])[0] == pytest.approx(theirs.predict_proba(codes), abs=1e-9)
        log, states = theirs.decode(codes)
        assert ["XYZ".index(label) for label in model.predict([x])[0]] == states.tolist()
        assert model.log_joint([x], model.predict([x]))[0] == pytest.approx(log, abs=1e-9)


def test_samples_have_the_frequencies_of_the_model():
    rng = np.random.default_rng(7)
    model = random_model(rng, cards=(3,), normalized=True)
    X, y = model.sample(20_000, length=2, random_state=1)
    pairs = np.zeros((3, 3))
    symbols = np.zeros(3)
    for x, labels in zip(X, y, strict=True):
        pairs["XYZ".index(labels[0]), "XYZ".index(labels[1])] += 1 / 20_000
        symbols["abc".index(x[0][0])] += 1 / 20_000
    expected = np.exp(model.log_initial[:, None] + model.log_transition)
    # Five standard errors of a share.
    assert np.abs(pairs - expected).max() < 5 * 0.5 / math.sqrt(20_000)
    assert np.abs(symbols - np.exp(model.log_initial) @ np.exp(model.log_emissions[0])).max() < 5 * 0.5 / math.sqrt(
        20_000
    )


def test_samples_of_a_model_with_an_end_have_lengths_of_its_own_or_those_asked_for():
    rng = np.random.default_rng(8)
    model = random_model(rng, cards=(3,)).normalize(mean_length=4.0).model
    _, y = model.sample(4_000, random_state=2)
    ends, steps = np.exp(model.log_end), np.exp(model.log_transition)
    shares = [sum(len(labels) == n for labels in y) / 4_000 for n in (1, 2)]
    start = np.exp(model.log_initial)
    assert shares == pytest.approx([start @ ends, start @ steps @ ends], abs=5 * 0.5 / math.sqrt(4_000))
    _, y = model.sample(4_000, length=2, random_state=3)
    first = np.bincount(["XYZ".index(labels[0]) for labels in y], minlength=3) / 4_000
    given = start * (steps @ ends) / (start @ steps @ ends)
    assert first == pytest.approx(given, abs=5 * 0.5 / math.sqrt(4_000))


def test_equal_seeds_draw_equal_samples():
    model = random_model(np.random.default_rng(1), normalized=True)
    assert model.sample(3, length=[1, 2, 5], random_state=4) == model.sample(3, length=[1, 2, 5], random_state=4)


def test_what_cannot_be_drawn_is_refused():
    rng = np.random.default_rng(1)
    with pytest.raises(mm.InputError, match=r"normalize\(\).model.sample"):
        random_model(rng).sample(1, length=2)
    model = random_model(rng, normalized=True)
    with pytest.raises(mm.InputError, match="length must be given"):
        model.sample(1)
    with pytest.raises(mm.InputError, match="n=2 of them, got 1"):
        model.sample(2, length=[3])
    with pytest.raises(mm.InputError, match="n must be a whole number >= 1"):
        model.sample(0, length=2)
    wide = mm.HiddenMarkovClassifier.fit(mm.SequenceDataset.from_lists(["ab"], ["XY"], window=(1, 0)))
    with pytest.raises(mm.InputError, match="several positions"):
        wide.sample(1, length=2)


def test_a_window_is_applied_at_prediction():
    # The label is what was seen at the position before.
    rng = np.random.default_rng(2)
    X = ["".join(rng.choice(["a", "b"], 8)) for _ in range(20)]
    y = [["X" if seen == "a" else "Y" for seen in "a" + x[:-1]] for x in X]
    model = mm.HiddenMarkovClassifier.fit(mm.SequenceDataset.from_lists(X, y, window=(1, 0)))
    assert model.observed_names == ("x0[-1]", "x0")
    assert model.predict(["abbab"])[0][1:] == ["X", "Y", "Y", "X"]


@pytest.mark.parametrize("end", [False, True])
def test_a_model_comes_back_from_json_to_the_digit(tmp_path, end):
    data = mm.SequenceDataset.from_lists(
        [[["a", 1], ["b", 2]], [["b", 1]]], [[True, False], [False]], feature_names=["seen", "size"], window=(1, 1)
    )
    model = mm.HiddenMarkovClassifier.fit(data, smoothing=0.0)
    model = mm.HiddenMarkovClassifier.fit(data).normalize().model if end else model
    model.save(tmp_path / "model.json")
    for again in (mm.load_model(tmp_path / "model.json"), load_sequence_model(tmp_path / "model.json")):
        assert again.vector.tolist() == model.vector.tolist()
        assert (again.features, again.target, again.window) == (model.features, model.target, model.window)
        assert (again.log_end is None) == (model.log_end is None)
        assert again.predict([[["a", 1], ["b", 2]]]) == model.predict([[["a", 1], ["b", 2]]])


def test_files_that_are_no_models_of_sequences_are_refused_by_the_part_that_is_wrong():
    data = mm.SequenceDataset.from_lists(["ab", "b"], ["XY", "Y"])
    content = json.loads(json.dumps(sequence_model_to_dict(mm.HiddenMarkovClassifier.fit(data))))
    wrong = {
        "format": ("something", "sequence model file"),
        "version": (2, "version 2"),
        "window": ([1], '"window" must be two whole numbers'),
        "log_initial": ([0.0], '"log_initial" must have 1 x 2 numbers'),
        "log_transition": ([[0.0, 0.0], [0.0, "x"]], 'Row 1 of "log_transition"'),
        "log_emissions": ([], '"log_emissions" holds 0 tables for 1 features'),
        "log_end": ([1e400, 0.0], '"log_end"'),
        "features": (5, '"features" must be a list'),
        "target": (None, "target must be an object"),
    }
    for key, (value, message) in wrong.items():
        with pytest.raises(mm.FormatError, match=message):
            sequence_model_from_dict(content | {key: value})


def test_tables_of_the_wrong_shape_are_refused():
    feature = DiscreteVariable("x", ("a", "b"))
    with pytest.raises(mm.InputError, match="must have the shapes"):
        mm.HiddenMarkovClassifier((feature,), XY, np.zeros(3), np.zeros((3, 2)), (np.zeros((3, 2)),))
    with pytest.raises(mm.InputError, match="NaN"):
        mm.HiddenMarkovClassifier((feature,), XY, np.full(3, np.nan), np.zeros((3, 3)), (np.zeros((3, 2)),))
    with pytest.raises(mm.InputError, match="vector of shape"):
        model_of(np.zeros(5))
