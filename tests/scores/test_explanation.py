"""Explanations add up, on any structure and with missing cells; flips are the smallest by brute force."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import mmbn_opt as mm
from mmbn_opt.exceptions import InputError
from mmbn_opt.networks.structure import Structure
from mmbn_opt.scores.calibrated import CalibratedModel, says_nothing
from mmbn_opt.scores.calibration import Calibration
from mmbn_opt.scores.explanation import explain_mixture, explain_network
from mmbn_opt.scores.flips import smallest_flip
from mmbn_opt.scores.importance import margins_lost


def random_network(rng: np.random.Generator, *, zeros: bool = False) -> mm.BayesianNetwork:
    """Any DAG over up to six features and a class, which may have parents; any tables."""
    n = int(rng.integers(1, 7))
    card = rng.integers(2, 4, size=n + 1)
    order = rng.permutation(n + 1)
    parents: list[tuple[int, ...]] = [()] * (n + 1)
    for place, node in enumerate(order):
        some = rng.random(place) < 0.5
        parents[node] = tuple(int(v) for v in order[:place][some])[:3]
    rows = np.column_stack([rng.integers(0, r, 8) for r in card])
    rows[: card.max()] = np.minimum(np.arange(card.max())[:, None], card - 1)
    data = mm.DiscreteDataset.from_arrays(rows[:, :-1], rows[:, -1])
    structure = Structure(data.feature_names, "class", tuple(parents))
    return mm.BayesianNetwork.fit(structure, data, smoothing=0.0 if zeros else 0.3)


def random_codes(rng: np.random.Generator, network: mm.BayesianNetwork, missing: float) -> np.ndarray:
    codes = np.array([rng.integers(0, v.cardinality) for v in network.features], dtype=np.int32)
    codes[rng.random(len(codes)) < missing] = -1
    return codes


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 1_000_000), st.sampled_from([0.0, 0.3, 0.7, 1.0]), st.sampled_from([1.0, 0.2, 17.0]))
def test_terms_add_up_to_the_log_odds(seed: int, missing: float, temperature: float) -> None:
    rng = np.random.default_rng(seed)
    network = random_network(rng)
    codes = random_codes(rng, network, missing)
    found = explain_network(network, codes, Calibration(temperature))
    log_proba = Calibration(temperature).log_proba(network.log_joint(codes[None, :]))[0]
    for a, b in product(range(len(network.classes)), repeat=2):
        pair = found.against(network.classes[b], network.classes[a])
        assert pair.log_odds == pytest.approx(log_proba[a] - log_proba[b], abs=1e-9)
        assert pair.to_frame()["log_odds"].sum() == pytest.approx(pair.log_odds, abs=1e-9)
    assert set(found.names) == set(network.structure.names)
    assert found.proba == pytest.approx(np.exp(log_proba))
    for name, value, term in zip(found.names, found.values, found.terms, strict=True):
        if value == "missing":
            assert term == 0.0, name


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 1_000_000), st.sampled_from([0.5, 0.8, 1.0]))
def test_what_is_calibrated_is_what_a_row_says(seed: int, missing: float) -> None:
    rng = np.random.default_rng(seed)
    network = random_network(rng)
    codes = np.array([random_codes(rng, network, missing) for _ in range(10)])
    frame = pd.DataFrame(
        {v.name: [None if c < 0 else v.states[c] for c in codes[:, k]] for k, v in enumerate(network.features)}
    )
    shares = tuple(rng.dirichlet(np.ones(len(network.classes))))
    model = CalibratedModel(network, Calibration(5.0, shares=shares))
    proba, own, silent = model.predict_proba(frame), network.predict_proba(frame), says_nothing(network, codes)
    assert np.allclose(own[silent], network.query("class").to_numpy(), atol=1e-12)
    decided = own.argmax(axis=1)
    for row in range(10):
        bearing = [
            v.name
            for k, v in enumerate(network.features)
            if codes[row, k] >= 0 and v.cardinality > 1 and not network.structure.is_d_separated(v.name, "class")
        ]
        assert silent[row] == (not bearing)
        assert proba[row].argmax() == decided[row]
        assert proba[row].sum() == pytest.approx(1.0)
        if not silent[row]:
            assert np.log(proba[row]) == pytest.approx(Calibration(5.0).log_proba(np.log(own[[row]]))[0], abs=1e-9)
        elif decided[row] == np.argmax(shares):
            assert proba[row] == pytest.approx(np.array(shares), abs=1e-9)
        found = explain_network(network, codes[row], model.calibration)
        assert found.proba == pytest.approx(proba[row], abs=1e-9)
        assert found.log_odds == pytest.approx(
            np.log(found.proba[found.first]) - np.log(found.proba[found.second]), abs=1e-9
        )


@settings(max_examples=100, deadline=None)
@given(st.lists(st.floats(0.01, 1.0), min_size=2, max_size=6), st.integers(0, 5))
def test_shares_that_a_decision_is_against_are_shared_out(weights: list[float], place: int) -> None:
    shares = np.array(weights) / sum(weights)
    decided = place % len(shares)
    found = np.exp(Calibration(2.0, shares=tuple(shares)).of_silence(decided))
    assert found.sum() == pytest.approx(1.0)
    assert found[decided] >= found.max() - 1e-12
    less = shares < found[decided]
    less[decided] = False
    assert found[less] == pytest.approx(shares[less])
    if decided == shares.argmax():
        assert found == pytest.approx(shares)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("strategy", ["one-vs-one", "one-vs-rest"])
def test_a_row_without_a_number_has_the_shares_of_the_classes(n_classes: int, strategy: str) -> None:
    rng = np.random.default_rng(n_classes)
    y = np.concatenate([np.zeros(40, dtype=int), np.arange(60) % n_classes])
    X = rng.normal(size=(100, 2)) + y[:, None]
    model = mm.CMMClassifier(missing="marginalize", strategy=strategy).fit(X, y)
    rows = np.array([[np.nan, np.nan], [0.5, np.nan]])
    proba = model.predict_proba(rows)
    assert model.calibration_.changes
    assert proba[0].argmax() == model.model_.predict_proba(rows)[0].argmax() == 0
    assert proba[0] == pytest.approx(np.bincount(y) / 100, abs=0.01)
    assert proba[1] != pytest.approx(proba[0], abs=0.01)
    assert model.explain(rows[0]).proba == pytest.approx(proba[0], abs=1e-9)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 1_000_000))
def test_without_missing_cells_a_term_is_the_ratio_of_two_table_entries(seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = random_network(rng)
    codes = random_codes(rng, network, 0.0)
    found = explain_network(network, codes)
    states = dict(
        zip(
            network.structure.feature_names,
            (v.states[c] for v, c in zip(network.features, codes, strict=True)),
            strict=True,
        )
    )
    for name, term in zip(found.names, found.terms, strict=True):
        table, parents = network.cpt(name), network.parents[name]
        entry = []
        for label in (found.label, found.rival):
            known = states | {"class": label}
            key = tuple(known[v] for v in sorted(parents, key=network.structure.names.index))
            row = table.iloc[0] if not parents else table.loc[key[0] if len(key) == 1 else key]
            entry.append(row[known[name]])
        assert term == pytest.approx(np.log(entry[0]) - np.log(entry[1]), abs=1e-9)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 1_000_000))
def test_classes_that_cannot_be_are_told_and_not_added_up(seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = random_network(rng, zeros=True)
    codes = random_codes(rng, network, 0.3)
    joint = network.log_joint(codes[None, :])[0]
    best, second = np.argsort(-network.posterior(joint[None, :].copy(), log=True)[0], kind="stable")[:2]
    if np.isneginf(joint[best]) and np.isneginf(joint[second]):
        with pytest.raises(InputError, match="impossible"):
            explain_network(network, codes)
    else:
        with np.errstate(invalid="ignore"):
            assert explain_network(network, codes).log_odds == pytest.approx(joint[best] - joint[second], abs=1e-9)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 1_000_000), st.integers(2, 4), st.sampled_from(["one-vs-one", "one-vs-rest", "bayes"]))
def test_terms_of_mixtures_add_up_for_numbers_and_gaps(seed: int, n_classes: int, rule: str) -> None:
    rng = np.random.default_rng(seed)
    n = 3
    y = np.arange(12 * n_classes) % n_classes
    X = rng.normal(size=(len(y), n)) + y[:, None] * rng.normal(size=n)
    if rule == "bayes":
        model = mm.MixtureClassifier.fit(X, y, 2, covariance="full", tau=0.1)
    else:
        model = mm.CMMClassifier(2, 0.1, 3, strategy=rule, calibration=None).fit(X, y).model_
    x = rng.normal(size=n)
    x[rng.random(n) < 0.3] = np.nan
    scores = model.decision_values(x[None, :])
    votes = rule == "one-vs-one" and n_classes > 2
    calibration = Calibration(3.0, bends=() if seed % 2 else ((0.5, 0.4), (20.0, 3.0)))
    log_proba = calibration.log_proba(scores)[0]
    for known in (None, calibration):
        found = explain_mixture(model, x, known)
        for a, b in ((a, b) for a in range(n_classes) for b in range(n_classes) if a != b):
            pair = found.against(b, a)
            if votes:
                part = next(p for p in model.parts if {*p.groups[0], *p.groups[1]} == {a, b})
                odds = part.decision(model.standardize(x[None, :]))[0]
                expected = odds if part.groups[0] == (a,) else -odds
            else:
                expected = scores[0, a] - scores[0, b] if known is None else log_proba[a] - log_proba[b]
            assert pair.log_odds == pytest.approx(expected, abs=1e-9, rel=1e-12)


def test_an_explanation_as_text_and_table() -> None:
    data = mm.DiscreteDataset.from_arrays([["a", "u"], ["b", "v"], ["b", "u"], ["b", "v"]], ["no", "yes", "no", "yes"])
    network = mm.BayesianNetwork.fit(mm.naive_bayes(data), data)
    found = explain_network(network, data.codes[1])
    assert (found.label, found.rival) == ("yes", "no")
    frame = found.to_frame()
    assert frame.index.tolist() == ["x1", "x0", "class"]
    assert frame["value"].tolist() == ["v", "b", ""]
    assert frame["factor"].to_numpy() == pytest.approx([3.0, 1.5, 1.0])
    assert str(found).splitlines()[1] == "  +1.0986  x1 = v"
    assert found.against("yes", "no").log_odds == pytest.approx(-found.log_odds)
    with pytest.raises(InputError, match="no class 'maybe'"):
        found.against("maybe")


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 1_000_000), st.sampled_from([0.0, 0.4]))
def test_the_flip_is_the_smallest_by_brute_force(seed: int, missing: float) -> None:
    rng = np.random.default_rng(seed)
    network = random_network(rng)
    codes = random_codes(rng, network, missing)
    decided = network.posterior(network.log_joint(codes[None, :]), log=False)[0].argmax()
    rows = np.array(list(product(*(range(v.cardinality) for v in network.features))), dtype=np.int32)
    partly = [np.where(keep, codes, row) for row in rows for keep in ([False] * len(codes),)]
    # Cells that stay missing are rows too.
    for gaps in product([False, True], repeat=len(codes)):
        if any(g and c >= 0 for g, c in zip(gaps, codes, strict=True)) or not any(gaps):
            continue
        partly += [np.where(gaps, -1, row) for row in rows]
    table = np.unique(np.array(partly, dtype=np.int32), axis=0)
    posteriors = network.posterior(network.log_joint(table), log=False)
    best = np.sort(posteriors, axis=1)
    assume((best[:, -1] - best[:, -2] > 1e-9).all())  # a tie is decided by the rounding of sums
    answers = posteriors.argmax(axis=1)
    flips = (table[answers != decided] != codes).sum(axis=1)
    found = smallest_flip(network, codes)
    assert found.smallest
    if not len(flips):
        assert found.changes == ()
        assert found.label == network.target.states[decided]
    else:
        assert len(found.changes) == flips.min()
        changed = codes.copy()
        for name, before, after in found.changes:
            cell = network.structure.feature_names.index(name)
            old = network.features[cell]
            assert before == (None if codes[cell] < 0 else old.states[codes[cell]])
            changed[cell] = old.states.index(after)
        proba = network.posterior(network.log_joint(changed[None, :]), log=False)[0]
        assert proba.argmax() != decided
        assert found.label == network.target.states[proba.argmax()]
        assert found.proba == pytest.approx(proba.max())
    greedy = smallest_flip(network, codes, max_tried=0)
    if greedy.smallest:
        assert greedy.changes == found.changes == ()  # no cell has a say
    if greedy.changes:
        assert len(greedy.changes) >= len(found.changes) > 0


def test_a_flip_to_a_class_that_is_asked_for() -> None:
    rng = np.random.default_rng(5)
    table = rng.integers(0, 3, size=(60, 3))
    data = mm.DiscreteDataset.from_arrays(table, table[:, 0])
    network = mm.BayesianNetwork.fit(mm.naive_bayes(data), data)
    codes = data.codes[int(np.flatnonzero(data.target_codes == 2)[0])]
    found = smallest_flip(network, codes, to=0)
    assert found.label == 0
    assert found.smallest
    assert "-> 0" in str(found)
    assert smallest_flip(network, codes, to=0, max_changes=0).changes == ()


def test_margins_that_are_lost_are_those_of_rows_without_the_feature() -> None:
    rng = np.random.default_rng(6)
    data = mm.DiscreteDataset.from_arrays(rng.integers(0, 3, size=(50, 4)), rng.integers(0, 3, 50))
    network = mm.BayesianNetwork.fit(mm.tan_cmi(data), data)
    weight = rng.integers(1, 4, 50).astype(float)
    table = margins_lost(network, data.codes, data.target_codes, weight, temperature=2.0)

    def mean_margin(codes: np.ndarray) -> float:
        joint = network.log_joint(codes)
        rivals = [np.delete(row, label).max() for row, label in zip(joint, data.target_codes, strict=True)]
        own = joint[np.arange(50), data.target_codes]
        return float(np.average(own - np.array(rivals), weights=weight))

    for feature, name in enumerate(data.feature_names):
        masked = data.codes.copy()
        masked[:, feature] = -1
        assert table.loc[name, "margin_lost"] == pytest.approx((mean_margin(data.codes) - mean_margin(masked)) / 2.0)
