"""Sequences as a classifier: what somebody tries first, and what scikit-learn does with it."""

import os
import pickle
import signal
import threading
import time

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score

import mmbn_opt as mm

METHODS = ["max-margin", "markov-network", "conditional-likelihood", "cg-mm", "ml"]


def words(n=60, seed=0, longest=8):
    """Texts whose labels are hidden in them: X emits mostly a, Y mostly b, and labels come in runs."""
    rng = np.random.default_rng(seed)
    X, y = [], []
    for _ in range(n):
        label, labels, symbols = rng.integers(2), [], []
        for _ in range(rng.integers(1, longest + 1)):
            label = label if rng.random() < 0.85 else 1 - label
            labels.append("XY"[label])
            symbols.append("ab"[label] if rng.random() < 0.8 else "abc"[rng.integers(3)])
        X.append(symbols)
        y.append(labels)
    return X, y


X, Y = words()
X_TEST, Y_TEST = words(200, seed=1)


@pytest.mark.parametrize("method", METHODS)
def test_every_method_learns_runs_of_labels(method):
    tagger = mm.SequenceClassifier(method).fit(X, Y)
    # Position by position, the symbol alone is right in 0.80 + 0.20 / 3 of the cases.
    assert tagger.score(X_TEST, Y_TEST) > 0.88
    assert tagger.classes_.tolist() == ["X", "Y"]
    assert (tagger.result_ is None) == (method == "ml")
    assert tagger.certificate_ is None or tagger.certificate_.ok
    posteriors = tagger.predict_proba(X_TEST)
    assert [len(p) for p in posteriors] == [len(x) for x in X_TEST]
    assert np.concatenate(posteriors).sum(axis=1) == pytest.approx(1.0)


@pytest.mark.parametrize("method", ["max-margin", "markov-network"])
def test_a_wide_gap_is_closed_by_first_order_steps_and_a_narrow_one_by_the_chain(method):
    wide = mm.SequenceClassifier(method).fit(X, Y).result_
    narrow = mm.SequenceClassifier(method, rel_gap=1e-7).fit(X, Y).result_
    assert (wide.solver_name, narrow.solver_name) == ("first_order", "sequence_chain")
    assert wide.bounds.gap_rel <= 1e-2
    assert narrow.bounds.gap_rel <= 1e-7
    assert wide.bounds.primal_bound <= narrow.bounds.primal_bound * 1.0102
    assert mm.SequenceClassifier(method, solver="constraint_generation").fit(X, Y).result_.solver_name == (
        "constraint_generation"
    )


def test_the_published_form_goes_to_constraint_generation_at_any_gap():
    noisy = [["a", "b"], ["a", "b"], ["b", "a"]] * 4, [["X", "Y"], ["Y", "X"], ["X", "X"]] * 4
    tagger = mm.SequenceClassifier(normalization="published", B=1.0).fit(*noisy)
    assert tagger.result_.solver_name == "constraint_generation"


def test_arrays_texts_tables_and_lists_are_alike():
    forms = {
        "lists": X,
        "texts": ["".join(x) for x in X],
        "arrays": [np.array(x)[:, None] for x in X],
        "tables": [pd.DataFrame({"x0": x}) for x in X],
        "mappings": [[{"x0": symbol} for symbol in x] for x in X],
    }
    found = {name: mm.SequenceClassifier().fit(form, Y) for name, form in forms.items()}
    for name, tagger in found.items():
        assert tagger.model_.vector.tolist() == found["lists"].model_.vector.tolist(), name
        assert tagger.predict(forms[name]) == found["lists"].predict(X)


def test_positions_with_lengths_are_the_same_sequences():
    flat, labels = np.array([c for x in X for c in x]), np.array([c for y in Y for c in y])
    lengths = [len(x) for x in X]
    one = mm.SequenceClassifier().fit(flat[:, None], labels, lengths)
    assert one.model_.vector.tolist() == mm.SequenceClassifier().fit(X, Y).model_.vector.tolist()
    predicted = one.predict(flat[:, None], lengths)
    assert predicted.tolist() == [c for y in one.predict(X) for c in y]
    assert one.predict_proba(flat[:, None], lengths).shape == (len(flat), 2)
    assert one.score(flat[:, None], labels, lengths) == one.score(X, Y)
    frame = pd.DataFrame({"x0": flat})
    assert mm.SequenceClassifier().fit(frame, labels, lengths).predict(frame, lengths).tolist() == predicted.tolist()
    with pytest.raises(mm.InputError, match="lengths add up to 3"):
        mm.SequenceClassifier().fit(flat[:, None], labels, [3])


def test_labels_keep_their_type():
    numbers = [[{"X": 10, "Y": 20}[c] for c in y] for y in Y]
    tagger = mm.SequenceClassifier().fit(X, numbers)
    assert tagger.classes_.dtype.kind == "i"
    assert set(tagger.predict(X)[0]) <= {10, 20}
    arrays = [np.array(y) for y in numbers]
    assert mm.SequenceClassifier().fit(X, arrays).score(X, arrays) == tagger.score(X, numbers)


def test_symbols_that_were_never_seen_are_told_and_left_out():
    tagger = mm.SequenceClassifier().fit(X, Y)
    with pytest.warns(UserWarning, match=r"'x0' holds 'z' \(1 of 3 rows\)"):
        labels = tagger.predict(["aza"])
    assert labels == tagger.set_params(unseen="missing").predict(["aza"]) == [["X", "X", "X"]]
    with pytest.raises(mm.InputError, match="'z', never seen in training"):
        tagger.set_params(unseen="error").predict(["aza"])


def test_a_data_set_can_be_given_and_a_window_is_used_at_prediction():
    data = mm.SequenceDataset.from_lists(X, Y)
    plain = mm.SequenceClassifier().fit(data, None)
    assert plain.predict(X) == mm.SequenceClassifier().fit(X, Y).predict(X)
    wide = mm.SequenceClassifier(window=(1, 1)).fit(X, Y)
    assert wide.model_.observed_names == ("x0[-1]", "x0", "x0[+1]")
    assert wide.score(X_TEST, Y_TEST) > 0.85
    with pytest.raises(mm.InputError, match="y must be a list of label sequences"):
        mm.SequenceClassifier().fit(X, None)


def test_scikit_learn_clones_searches_and_scores_it():
    tagger = mm.SequenceClassifier(gamma=2.0, window=(1, 0))
    assert clone(tagger).get_params() == tagger.get_params()
    scores = cross_val_score(mm.SequenceClassifier(), X, Y, cv=3)
    assert scores.mean() > 0.85
    search = GridSearchCV(mm.SequenceClassifier(), {"gamma": [0.5, 5.0]}, cv=2, error_score="raise").fit(X, Y)
    assert search.best_params_["gamma"] in (0.5, 5.0)
    again = pickle.loads(pickle.dumps(search.best_estimator_))
    assert again.predict(X) == search.best_estimator_.predict(X)


def test_it_says_what_it_lacks():
    with pytest.raises(NotFittedError):
        mm.SequenceClassifier().predict(X)
    with pytest.raises(mm.InputError, match="one label only, 'X'"):
        mm.SequenceClassifier().fit(["ab", "b"], ["XX", "X"])
    with pytest.raises(mm.InputError, match=r"X\[1\] is an empty sequence"):
        mm.SequenceClassifier().fit(["ab", ""], ["XY", ""])
    with pytest.raises(mm.InputError, match="A single sequence goes into a list"):
        mm.SequenceClassifier().fit(["ab", "b"], ["XY", "X"]).predict("ab")
    with pytest.raises(mm.InputError, match="X holds 1 sequences, y holds 2"):
        mm.SequenceClassifier().fit(["ab", "b"], ["XY", "X"]).score(["ab"], ["XY", "X"])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"method": "svm"}, "method must be one of 'max-margin'"),
        ({"gamma": -1.0}, "gamma must be a number"),
        ({"gamma": "cv"}, "gamma must be a number or None, got 'cv'"),
        ({"window": 3}, "window must be"),
        ({"unseen": "drop"}, "unseen must be one of"),
        ({"iterations": 0}, "iterations must be a whole number >= 1"),
        ({"time_limit": -1}, "time_limit must be"),
        ({"rel_gap": -1}, "rel_gap must be"),
        ({"solver": "nonsense"}, "unknown solver 'nonsense'"),
        ({"solver": "clarabel"}, "emits"),
        ({"method": "markov-network", "C": 0}, "C must be a number"),
        ({"verbose": "yes"}, "verbose must be"),
    ],
)
def test_wrong_settings_are_refused_by_name(given, message):
    with pytest.raises(mm.InputError, match=message):
        mm.SequenceClassifier(**given).fit(X, Y)


def hard():
    rng = np.random.default_rng(0)
    return [rng.integers(0, 5, size=(12, 40)) for _ in range(300)], [rng.integers(0, 8, 12) for _ in range(300)]


def test_a_limit_of_a_second_gives_a_fitted_model_and_a_warning():
    X, y = hard()
    tagger = mm.SequenceClassifier(gamma=0.5, alpha=1e-3, rel_gap=0.0, time_limit=1)
    began = time.monotonic()
    with pytest.warns(ConvergenceWarning, match=r"ended at TIME_LIMIT \(SequenceMaxMargin, the proved gap is"):
        tagger.fit(X, y)
    assert time.monotonic() - began < 3.0
    assert tagger.score(X, y) > 1 / 8


def test_ctrl_c_ends_the_fit_and_keeps_what_was_found():
    X, y = hard()
    tagger = mm.SequenceClassifier(gamma=0.5, alpha=1e-3, rel_gap=0.0)
    timer = threading.Timer(1.5, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        tagger.fit(X, y)
    assert time.monotonic() - began < 8.0
    assert tagger.result_.termination_status is mm.TerminationStatus.INTERRUPTED
    assert tagger.score(X, y) > 1 / 8


def test_a_saved_model_predicts_as_before(tmp_path):
    tagger = mm.SequenceClassifier(window=(1, 1)).fit(X, Y)
    tagger.save(tmp_path / "tagger.json")
    assert mm.load_model(tmp_path / "tagger.json").predict(X_TEST) == tagger.predict(X_TEST)


def test_the_result_has_a_report_and_files(tmp_path):
    result = mm.SequenceClassifier().fit(X, Y).result_
    assert "Maximum-margin hidden Markov model" in result.report()
    assert result.summary().startswith("optimal: ")
    written = {path.name for path in result.save(tmp_path)}
    assert {"model.json", "result.json", "report.html", "trace.csv"} <= written
    assert mm.load_model(tmp_path).predict(["ab"]) == result.model.predict(["ab"])
