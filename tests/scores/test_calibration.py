"""Temperatures, log loss, calibration error and costs, held against scikit-learn and against brute force."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.special import log_expit, log_softmax
from sklearn.metrics import log_loss as their_log_loss
from sklearn.utils.class_weight import compute_class_weight

import mmbn_opt as mm
from mmbn_opt.data.weights import class_weights
from mmbn_opt.exceptions import InputError
from mmbn_opt.scores.calibrated import CalibratedModel
from mmbn_opt.scores.calibration import Calibration, calibration_error, choose_temperature, log_loss
from mmbn_opt.scores.costs import cost_matrix, expected_cost


@pytest.mark.parametrize("true", [0.3, 1.0, 4.0, 25.0])
def test_the_temperature_that_labels_were_drawn_with_is_found(true: float) -> None:
    rng = np.random.default_rng(1)
    scores = rng.normal(size=(20_000, 3)) * 5 * true
    codes = np.array([rng.choice(3, p=p) for p in np.exp(Calibration(true).log_proba(scores))])
    found = choose_temperature(scores, codes, np.ones(len(codes)))
    assert found.temperature == pytest.approx(true, rel=0.03)
    assert found.bends == ()
    assert found.after is not None
    assert found.before is not None
    assert found.after.log_loss <= found.before.log_loss + 1e-9
    assert found.after.calibration_error < 0.02


@given(
    arrays(np.float64, (12, 3), elements=st.floats(-30, 30)),
    arrays(np.int64, 12, elements=st.integers(0, 2)),
    st.booleans(),
)
@settings(max_examples=40, deadline=None)
def test_no_temperature_within_the_bounds_has_less_log_loss(scores: Any, codes: Any, seen: bool) -> None:
    """The labels' half row more is spread over all classes."""
    found = choose_temperature(scores, codes, np.ones(12), seen=seen)
    spread = 0.5 / 12.5
    wanted = np.full((12, 3), spread / 3) + (1 - spread) * np.eye(3)[codes]

    def loss(temperature: float) -> float:
        return -float((wanted * log_softmax(scores / temperature, axis=1)).sum() / 12)

    best = min(loss(t) for t in np.geomspace(1.0 if seen else 1e-4, 1e8, 2000))
    assert loss(found.temperature) <= best + 1e-7


def test_weights_are_rows() -> None:
    rng = np.random.default_rng(2)
    scores, codes = rng.normal(size=(60, 3)) * 4, rng.integers(0, 3, 60)
    weight = rng.integers(1, 4, 60)
    many = np.repeat(np.arange(60), weight)
    a = choose_temperature(scores, codes, weight.astype(float))
    b = choose_temperature(scores[many], codes[many], np.ones(len(many)))
    assert a.temperature == pytest.approx(b.temperature, rel=1e-4)
    assert a.after is not None
    assert b.after is not None
    assert a.after.log_loss == pytest.approx(b.after.log_loss, abs=1e-9)
    assert a.after.calibration_error == pytest.approx(b.after.calibration_error, abs=1e-4)


def test_rows_that_are_all_right_do_not_make_it_certain() -> None:
    scores = np.array([[3.0, 0.0], [0.0, 3.0]] * 50)
    found = choose_temperature(scores, np.array([0, 1] * 50), np.ones(100))
    sure = float(np.exp(found.log_proba(scores)).max())
    assert 0.99 < sure < 0.9999


def test_heavy_tails_get_bends_and_only_where_it_is_worth_it() -> None:
    rng = np.random.default_rng(3)
    true = rng.normal(size=4000) * 2
    codes = (rng.random(4000) < 1 / (1 + np.exp(-true))).astype(int)
    scores = np.column_stack([np.zeros(4000), np.sinh(4 * true)])
    plain = choose_temperature(scores, codes, np.ones(4000))
    bent = choose_temperature(scores, codes, np.ones(4000), may_bend=True)
    best = log_loss(log_expit(np.column_stack([-true, true])), codes)
    assert plain.after is not None
    assert bent.after is not None
    assert bent.bends
    assert bent.after.log_loss < plain.after.log_loss - 0.1
    assert bent.after.log_loss < best + 0.01
    straight = np.column_stack([np.zeros(4000), true])
    assert choose_temperature(straight, codes, np.ones(4000), may_bend=True).bends == ()


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_bends_rise_from_nothing_and_end_level(n_classes: int) -> None:
    rng = np.random.default_rng(n_classes)
    scores = rng.standard_t(1, size=(500, n_classes)) * 30
    codes = np.where(rng.random(500) < 0.8, scores.argmax(axis=1), rng.integers(0, n_classes, 500))
    found = choose_temperature(scores, codes, np.ones(500), may_bend=True)
    points = np.array([(0.0, 0.0), *found.bends])
    assert (np.diff(points[:, 0]) > 0.0).all()
    assert (np.diff(points[:, 1]) >= 0.0).all()
    far = np.eye(n_classes)[:1] * 1e12
    assert np.ptp(found.log_proba(far)) == pytest.approx(found.bends[-1][1], rel=1e-12)
    assert np.ptp(found.log_proba(far * 10)) == pytest.approx(found.bends[-1][1], rel=1e-12)


def test_bends_of_weights_are_those_of_rows() -> None:
    rng = np.random.default_rng(7)
    scores = rng.standard_t(1, size=(200, 2)) * 30
    codes = np.where(rng.random(200) < 0.8, scores.argmax(axis=1), rng.integers(0, 2, 200))
    once = choose_temperature(scores, codes, np.full(200, 2.0), may_bend=True)
    twice = choose_temperature(np.tile(scores, (2, 1)), np.tile(codes, 2), np.ones(400), may_bend=True)
    assert np.array(once.log_proba(scores)) == pytest.approx(np.array(twice.log_proba(scores)), abs=2e-2)


def test_rows_that_were_learned_from_are_believed_less() -> None:
    scores = np.array([[3.0, 0.0], [0.0, 3.0]] * 50)
    codes = np.array([0, 1] * 50)
    sure = np.exp(choose_temperature(scores, codes, np.ones(100)).log_proba(scores)).max()
    seen = choose_temperature(scores, codes, np.ones(100), seen=True)
    assert seen.temperature >= 1.0
    assert "training rows" in str(seen)
    assert np.exp(seen.log_proba(scores)).max() < sure
    shares = np.log(np.array([[0.6, 0.4], [0.4, 0.6]] * 50))
    votes = choose_temperature(scores, codes, np.ones(100), before=shares, seen=True)
    assert 0.9 < np.exp(votes.log_proba(scores)).max() < 0.97  # ten rows in 110 are spread


def test_log_loss_is_scikit_learns() -> None:
    rng = np.random.default_rng(4)
    proba = rng.dirichlet(np.ones(4), size=50)
    codes, weight = rng.integers(0, 4, 50), rng.random(50)
    assert log_loss(np.log(proba), codes, weight) == pytest.approx(
        their_log_loss(codes, proba, sample_weight=weight, labels=range(4)), rel=1e-12
    )
    with np.errstate(divide="ignore"):
        certain = np.log(np.array([[1.0, 0.0], [1.0, 0.0]]))
    assert log_loss(certain, np.array([0, 1])) == pytest.approx(their_log_loss([0, 1], np.exp(certain)), rel=1e-12)
    assert log_loss(certain, np.array([0, -1])) == log_loss(certain, np.array([0, 1]))


def test_calibration_error_by_hand() -> None:
    proba = np.array([[0.95, 0.05], [0.95, 0.05], [0.55, 0.45], [0.45, 0.55]])
    # Two rows at .95, of which one is right; two at .55, both right.
    assert calibration_error(proba, np.array([0, 1, 0, 1])) == pytest.approx((2 * 0.45 + 2 * 0.45) / 4)
    assert calibration_error(np.array([[1.0, 0.0]]), np.array([0])) == 0.0


finite = st.floats(-1e3, 1e3, allow_nan=False) | st.sampled_from([0.0, 1.0, -1.0, 5e-324, 700.0])


@settings(max_examples=300, deadline=None)
@given(
    arrays(np.float64, st.tuples(st.integers(1, 5), st.integers(2, 5)), elements=finite),
    st.floats(1e-3, 1e6),
    st.lists(st.tuples(st.floats(1e-3, 1e3), st.floats(0.0, 1e3)), max_size=4),
)
def test_the_map_keeps_the_order_of_the_classes(
    scores: np.ndarray, temperature: float, steps: list[tuple[float, float]]
) -> None:
    bends = tuple(map(tuple, np.cumsum(np.array(steps), axis=0))) if steps else ()
    log_proba = Calibration(temperature, bends=bends).log_proba(scores)
    assert np.exp(log_proba).sum(axis=1) == pytest.approx(1.0)
    for row, mapped in zip(scores, log_proba, strict=True):
        for a in range(len(row)):
            for b in range(len(row)):
                if row[a] <= row[b]:
                    assert mapped[a] <= mapped[b]
                if row[a] == row[b]:
                    assert mapped[a] == mapped[b]


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 10_000), st.floats(1e-2, 1e5))
def test_decisions_stay_ties_included(seed: int, temperature: float) -> None:
    rng = np.random.default_rng(seed)
    n_classes = int(rng.integers(2, 5))
    table = rng.integers(0, 2, size=(12, 4))
    labels = [*range(n_classes), *rng.integers(0, n_classes, 12 - n_classes)]
    # Counts of few rows tie all the time.
    data = mm.DiscreteDataset.from_arrays(table, labels)
    network = mm.BayesianNetwork.fit(mm.tan_cmi(data), data)
    model = CalibratedModel(network, Calibration(temperature))
    rows = rng.integers(0, 2, size=(30, 4)).astype(float)
    rows[rng.random(rows.shape) < 0.2] = np.nan
    decided = network.predict_proba(rows, unseen="missing").argmax(axis=1)
    assert (model.predict_proba(rows, unseen="missing").argmax(axis=1) == decided).all()
    assert (model.predict_log_proba(rows, unseen="missing").argmax(axis=1) == decided).all()
    assert (model.predict(rows, unseen="missing") == network.classes[decided]).all()


@pytest.mark.parametrize(
    "cost",
    [
        np.array([[0.0, 20.0], [1.0, 0.0]]),
        [[0, 20], [1, 0]],
        pd.DataFrame([[0.0, 1.0], [20.0, 0.0]], index=["well", "ill"], columns=["well", "ill"]),
        {("ill", "well"): 20.0},
    ],
    ids=["array", "list", "frame in another order", "mapping"],
)
def test_costs_are_rows_of_true_classes(cost: Any) -> None:
    assert cost_matrix(cost, ["ill", "well"]).tolist() == [[0.0, 20.0], [1.0, 0.0]]


def test_expected_cost_is_the_sum_over_the_classes() -> None:
    proba, cost = np.array([[0.2, 0.8], [0.02, 0.98]]), cost_matrix({("a", "b"): 10.0}, ["a", "b"])
    mean = expected_cost(proba, cost)
    assert mean == pytest.approx(np.array([[0.8, 2.0], [0.98, 0.2]]))
    assert mean.argmin(axis=1).tolist() == [0, 1]


@pytest.mark.parametrize(
    ("cost", "said"),
    [
        ([[0, 1]], "shape"),
        ([["a", "b"], ["c", "d"]], "table of numbers"),
        ([[0, np.inf], [1, 0]], "finite"),
        ({("a", "c"): 1}, "true class, said class"),
        ({"a": 1}, "true class, said class"),
        ({("a", "b"): "much"}, "finite number"),
        (pd.DataFrame(np.eye(2), index=["a", "c"], columns=["a", "b"]), "rows of cost"),
        (None, "table of numbers|shape"),
    ],
)
def test_bad_costs_are_refused(cost: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        cost_matrix(cost, ["a", "b"])


def test_balanced_weights_are_scikit_learns() -> None:
    labels = np.array(["a"] * 5 + ["b"] * 2 + ["c"])
    theirs = compute_class_weight("balanced", classes=np.array(["a", "b", "c"]), y=labels)
    ours = class_weights("balanced", labels, np.ones(8))
    assert ours[[0, 5, 7]] == pytest.approx(theirs)
    weight = np.array([1.0, 2.0, 1.0, 1.0, 3.0, 1.0, 1.0, 4.0])
    many = np.repeat(np.arange(8), weight.astype(int))
    copied = class_weights("balanced", labels[many], np.ones(len(many)))
    assert class_weights("balanced", labels, weight) / weight == pytest.approx(
        [copied[np.flatnonzero(many == k)[0]] for k in range(8)]
    )


@pytest.mark.parametrize(
    ("given_weight", "said"),
    [
        ({"z": 2.0}, "class_weight names"),
        ({"a": -1.0}, ">= 0"),
        ({"a": "x"}, "finite number"),
        ({"a": 0, "b": 0}, "every class"),
        ("even", "balanced"),
        (3.0, "balanced"),
    ],
)
def test_bad_class_weights_are_refused(given_weight: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        class_weights(given_weight, np.array(["a", "b"]), np.ones(2))


def test_weights_of_absent_classes_are_no_error_where_all_present_ones_have_one() -> None:
    assert class_weights({"a": 2, "b": 3, "c": 4}, np.array(["a", "b"]), np.ones(2)).tolist() == [2.0, 3.0]
