"""Scorers of single rows, held against the networks that they stand for."""

import json
import math
import subprocess
import sys
from datetime import datetime

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference import random_log_tables

import mmbn_opt as mm
from mmbn_opt.data.variable import DiscreteVariable
from mmbn_opt.exceptions import InputError
from mmbn_opt.interop.scorer_runtime import Scorer, text_of
from mmbn_opt.networks.structure import Structure
from mmbn_opt.scores.calibrated import CalibratedModel
from mmbn_opt.scores.calibration import Calibration


@st.composite
def networks(draw):
    """A network of up to 6 features in any direction, the class with parents too, some entries of tables 0."""
    n = draw(st.integers(1, 6))
    card = [draw(st.integers(1, 3)) for _ in range(n)] + [draw(st.integers(2, 4))]
    order = draw(st.permutations(range(n + 1)))
    parents = [()] * (n + 1)
    for k, node in enumerate(order):
        parents[node] = tuple(sorted(draw(st.sets(st.sampled_from(order[:k]), max_size=3)))) if k else ()
    tables = random_log_tables(parents, card, draw(st.integers(0, 999)), draw(st.sampled_from([0.0, 0.3])))
    variables = [DiscreteVariable(f"x{j}", tuple(f"s{k}" for k in range(card[j]))) for j in range(n)]
    target = DiscreteVariable("class", tuple(range(card[n])))
    structure = Structure(tuple(v.name for v in variables), "class", tuple(parents))
    return mm.BayesianNetwork(structure, tuple(variables), target, tables)


@given(networks(), st.data())
def test_a_scorer_has_the_networks_decisions_and_probabilities(network, data):
    cells = [st.sampled_from([None, *v.states]) for v in network.features]
    rows = data.draw(st.lists(st.tuples(*cells), min_size=1, max_size=5))
    frame = pd.DataFrame(rows, columns=[v.name for v in network.features], dtype=object)
    scorer = network.scorer()
    got = [scorer.predict_proba(dict(zip(frame.columns, row, strict=True))) for row in rows]
    expected = network.predict_proba(frame)
    assert np.allclose(got, expected, rtol=1e-12, atol=1e-14)
    clear = np.sort(expected, axis=1)[:, -1] - np.sort(expected, axis=1)[:, -2] > 1e-12
    decided = [scorer.predict(dict(zip(frame.columns, row, strict=True))) for row in rows]
    assert np.array_equal(np.array(decided)[clear], network.predict(frame)[clear])


@given(networks(), st.floats(0.2, 30.0), st.data())
def test_a_calibrated_model_keeps_its_probabilities(network, temperature, data):
    shares = np.arange(1.0, 1 + len(network.classes))
    model = CalibratedModel(network, Calibration(temperature, shares=tuple(shares / shares.sum())))
    row = {v.name: data.draw(st.sampled_from([None, *v.states])) for v in network.features}
    expected = model.predict_proba(pd.DataFrame([row], dtype=object))[0]
    assert np.allclose(model.scorer().predict_proba(row), expected, rtol=1e-9, atol=1e-12)


@pytest.fixture(scope="module")
def german():
    """A network on cells of every kind, the frame that it was learned from, and its calibrated classifier."""
    rng = np.random.default_rng(0)
    n = 400
    y = rng.integers(0, 3, n)
    frame = pd.DataFrame(
        {
            "age": np.round(rng.normal(40 + 5 * y, 8), 1),
            "years": rng.integers(0, 6, n) + y,
            "housing": np.array(["own", 'r"e\nnt', "für ' frei"])[(y + rng.integers(0, 2, n)) % 3],
            "flag": rng.random(n) < 0.2 + 0.2 * y,
            "seen": pd.to_datetime("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, n) + 200 * y, unit="D"),
        }
    )
    frame.loc[rng.random(n) < 0.1, "housing"] = None
    classifier = mm.MaxMarginBayesClassifier(structure="tan-cmi", missing="state", random_state=0)
    labels = np.array(["bad", "good", "=cmd"])[y]
    return classifier.fit(frame, labels), frame


def test_cells_of_every_kind_are_read_as_in_a_frame(german):
    classifier, frame = german
    model = classifier.calibrated_model_
    scorer = model.scorer()
    rows = frame.head(60).to_dict(orient="records")
    assert np.allclose([scorer.predict_proba(r) for r in rows], model.predict_proba(frame.head(60)), atol=1e-12)
    assert [scorer.predict(r) for r in rows] == list(classifier.predict(frame.head(60)))


@pytest.mark.parametrize(
    ("one", "other"),
    [(41, "41"), (41.5, "41,5"), (41.5, np.float64(41.5)), (None, math.nan), (None, pd.NA), (None, float("nan"))],
)
def test_a_number_may_come_in_any_form(german, one, other):
    classifier, frame = german
    scorer = classifier.calibrated_model_.scorer()
    row = frame.iloc[3].to_dict()
    assert scorer.predict_proba(row | {"age": one}) == scorer.predict_proba(row | {"age": other})


def test_a_moment_may_come_in_any_form(german):
    classifier, frame = german
    scorer = classifier.calibrated_model_.scorer()
    row = frame.iloc[3].to_dict()
    forms = [pd.Timestamp("2021-05-04"), datetime(2021, 5, 4), datetime(2021, 5, 4).date(), "2021-05-04"]
    assert len({tuple(scorer.predict_proba(row | {"seen": form})) for form in forms}) == 1


@pytest.mark.parametrize(
    ("row", "error", "words"),
    [
        ({"age": "old"}, ValueError, "'age' holds numbers, not 'old'"),
        ({"age": math.inf}, ValueError, "only finite numbers"),
        ({"age": [1]}, ValueError, "'age' holds numbers"),
        ({"housing": ["own"]}, ValueError, "one label or number"),
        ({"housing": "boat"}, ValueError, "'housing' holds 'boat', never seen in training"),
    ],
)
def test_a_cell_that_cannot_be_is_refused_by_name(german, row, error, words):
    classifier, frame = german
    scorer = classifier.calibrated_model_.scorer(unseen="error")
    with pytest.raises(error, match=words):
        scorer.predict(frame.iloc[0].to_dict() | row)


def test_a_key_that_is_not_there_is_no_missing_cell(german):
    classifier, frame = german
    row = frame.iloc[0].to_dict()
    del row["age"]
    with pytest.raises(KeyError, match="the row has no 'age'; give None"):
        classifier.calibrated_model_.scorer().predict(row)
    with_more = frame.iloc[0].to_dict() | {"name": "x"}
    assert classifier.calibrated_model_.scorer().predict(with_more) == classifier.predict(frame.head(1))[0]


def test_labels_never_seen_are_summed_out_with_a_warning(german):
    classifier, frame = german
    row = frame.iloc[0].to_dict() | {"flag": "perhaps"}
    model = classifier.calibrated_model_
    with pytest.warns(UserWarning, match="'flag' holds 'perhaps'"):
        told = model.scorer().predict_proba(row)
    expected = model.predict_proba(pd.DataFrame([row]), unseen="missing")[0]
    assert np.allclose(told, expected, atol=1e-12)
    assert model.scorer(unseen="missing").predict_proba(row) == told


def test_the_written_file_needs_nothing_but_python(german, tmp_path):
    classifier, frame = german
    model = classifier.calibrated_model_
    path, rows = tmp_path / "model.py", tmp_path / "rows.jsonl"
    model.to_python(path)
    records = frame.head(20).astype({"seen": str}).replace({np.nan: None}).to_dict(orient="records")
    rows.write_text("\n".join(json.dumps(record) for record in records), encoding="utf-8")
    # -I leaves the packages of this environment out: what is not in the standard library cannot be imported.
    line = [sys.executable, "-I", "-S", "-X", "utf8", str(path), str(rows)]
    said = subprocess.run(line, capture_output=True, text=True, check=True, encoding="utf-8")
    answers = [json.loads(each) for each in said.stdout.splitlines()]
    assert np.allclose([a["probabilities"] for a in answers], model.predict_proba(frame.head(20)), atol=1e-12)
    assert [a["class"] for a in answers] == list(model.predict(frame.head(20)))


def test_text_of_a_label_is_the_one_that_frames_are_matched_by():
    states = [1, 2.0, "2.5", 2.5, True, pd.Timestamp("2020-01-01"), pd.Timestamp("2020-01-01 10:00"), "x"]
    for label in states:
        variable = DiscreteVariable("v", (label, "another"))
        assert variable.encode(pd.Series([text_of(label)], dtype=object)).tolist() == [0]


def test_what_has_no_class_or_no_tables_makes_no_scorer():
    numbers = mm.CMMClassifier().fit([[0.0], [1.0], [0.1], [1.1]], [0, 1, 0, 1]).model_
    with pytest.raises(InputError, match="made of networks"):
        CalibratedModel(numbers, Calibration()).scorer()
    alone = DiscreteVariable("a", ("x", "y"))
    network = mm.BayesianNetwork(Structure((), "a", ((),), has_class=False), (), alone, (np.log([[0.5, 0.5]]),))
    with pytest.raises(InputError, match="no class to score"):
        network.scorer()
    with pytest.raises(ValueError, match="of version 1"):
        Scorer({"format": "mmbn_opt/scorer", "version": 2})
