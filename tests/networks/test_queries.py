"""Questions to a network: equal to adding up the full joint table, on any network, evidence and form of it."""

import logging
import math
from itertools import product

import numpy as np
import pandas as pd
import pytest
import reference
from hypothesis import given, settings
from hypothesis import strategies as st

import mmbn_opt as mm
from mmbn_opt.data.variable import DiscreteVariable
from mmbn_opt.exceptions import InputError, SizeLimitError
from mmbn_opt.networks import engine


def network_of(parents, card, seed: int, zeros: float = 0.0) -> mm.BayesianNetwork:
    """Random tables on a structure; a share `zeros` of the entries is 0."""
    names = [f"x{j}" for j in range(len(card))]
    structure = mm.Structure(tuple(names[:-1]), names[-1], parents)
    tables = reference.random_log_tables(structure.parents, card, seed, zeros)
    variables = [DiscreteVariable(name, tuple("abc"[:r])) for name, r in zip(names, card, strict=True)]
    return mm.BayesianNetwork(structure, tuple(variables[:-1]), variables[-1], tables)


def joint_of(network: mm.BayesianNetwork) -> np.ndarray:
    """The full joint table, an axis a node, by plain multiplication."""
    card = network.cardinalities
    joint = np.zeros(card)
    for cell in product(*map(range, card)):
        value = 1.0
        for node, ps in enumerate(network.structure.parents):
            row = 0
            for p in ps:
                row = row * card[p] + cell[p]
            value *= math.exp(network.log_cpts[node][row, cell[node]])
        joint[cell] = value
    return joint


def given_case(joint: np.ndarray, codes, likelihood: dict[int, list[float]]) -> np.ndarray:
    """The joint table times the evidence."""
    joint = joint.copy()
    for node, code in enumerate(codes):
        weight = np.array(likelihood.get(node, [1.0] * joint.shape[node]))
        if code >= 0:
            weight = np.where(np.arange(joint.shape[node]) == code, weight, 0.0)
        joint *= weight.reshape([-1 if axis == node else 1 for axis in range(joint.ndim)])
    return joint


def over(table: np.ndarray, nodes) -> np.ndarray:
    """Sum out all but `nodes`, axes in their order."""
    rest = tuple(v for v in range(table.ndim) if v not in nodes)
    return np.transpose(table.sum(axis=rest), np.argsort(np.argsort(nodes)))


def mapping(network, codes) -> dict[str, str]:
    return {v.name: v.states[c] for v, c in zip(network.variables, codes, strict=True) if c >= 0}


@st.composite
def questions(draw):
    """(network, cases of codes, likelihoods, targets free in every case)."""
    n = draw(st.integers(2, 6))
    card = [draw(st.integers(1, 3)) for _ in range(n)]
    order = draw(st.permutations(range(n)))
    parents: list[tuple[int, ...]] = [()] * n
    for k, node in enumerate(order):
        parents[node] = tuple(draw(st.sets(st.sampled_from(order[:k]), max_size=3))) if k else ()
    network = network_of(tuple(parents), card, draw(st.integers(0, 10**6)), draw(st.sampled_from([0.0, 0.4])))
    targets = draw(st.lists(st.integers(0, n - 1), min_size=1, max_size=3, unique=True))
    cell = [st.just(-1) if v in targets else st.integers(-1, r - 1) for v, r in enumerate(card)]
    cases = draw(st.lists(st.tuples(*cell), min_size=1, max_size=4))
    soft = draw(st.lists(st.integers(0, n - 1), max_size=2, unique=True))
    likelihood = {v: [draw(st.sampled_from([0.0, 0.2, 1.0, 3.0])) + (k == 0) for k in range(card[v])] for v in soft}
    return network, cases, likelihood, targets


@pytest.mark.parametrize("shared", [True, False], ids=["one plan", "a plan for each pattern"])
@given(questions())
@settings(max_examples=60)
def test_answers_are_those_of_the_full_table(shared, problem):
    network, cases, likelihood, targets = problem
    names = [network.variables[v].name for v in targets]
    soft = {network.variables[v].name: weights for v, weights in likelihood.items()}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine, "_SHARED_CELLS", 10**9 if shared else -1)
        patch.setattr(engine, "_CELLS_PER_NODE", 0)
        frame = pd.DataFrame(
            [[None if c < 0 else v.states[c] for v, c in zip(network.variables, row, strict=True)] for row in cases],
            columns=list(network.structure.names),
            dtype=object,
        )
        answers = network.query(names, frame, likelihood=soft)
        probabilities = network.probability(frame, likelihood=soft)
        best = network.map_query(names, frame, likelihood=soft)
        explained = network.map_query(None, frame, likelihood=soft)
        marginals = network.marginals(frame, likelihood=soft)
        joint = joint_of(network)
        for row, codes in enumerate(cases):
            weighed = given_case(joint, codes, likelihood)
            assert probabilities[row] == pytest.approx(weighed.sum(), rel=1e-12, abs=1e-300)
            if weighed.sum() == 0:
                assert answers.iloc[row].isna().all()
                assert best.iloc[row].isna().all()
                with pytest.raises(InputError, match="probability 0"):
                    network.query(names, mapping(network, codes), likelihood=soft)
                continue
            posterior = over(weighed, targets) / weighed.sum()
            np.testing.assert_allclose(answers.iloc[row], posterior.ravel(), rtol=1e-11, atol=1e-14)
            single = network.query(names, mapping(network, codes), likelihood=soft)
            np.testing.assert_allclose(single, answers.iloc[row], rtol=1e-12)
            top = tuple(network.variables[v].states.index(best.iloc[row][network.variables[v].name]) for v in targets)
            assert posterior[top] == pytest.approx(posterior.max(), rel=1e-11)
            whole = tuple(v.states.index(explained.iloc[row][v.name]) for v in network.variables)
            assert weighed[whole] == pytest.approx(weighed.max(), rel=1e-11)
            for node, variable in enumerate(network.variables):
                np.testing.assert_allclose(
                    marginals[variable.name].iloc[row], over(weighed, [node]) / weighed.sum(), rtol=1e-11, atol=1e-14
                )


ASIA_EDGES = [
    ("asia", "tub"), ("smoke", "lung"), ("smoke", "bronc"), ("lung", "either"), ("tub", "either"),
    ("either", "xray"), ("bronc", "dysp"), ("either", "dysp"),
]  # fmt: skip
"""Lauritzen & Spiegelhalter (1988)."""


def table(*yes: float) -> np.ndarray:
    with np.errstate(divide="ignore"):
        return np.log([[p, 1 - p] for p in yes])


@pytest.fixture(scope="module")
def asia() -> mm.BayesianNetwork:
    """Its printed tables; no node is the class."""
    names = ["asia", "tub", "smoke", "lung", "bronc", "either", "xray", "dysp"]
    graph = mm.Structure.from_names(names[:-1], names[-1], ASIA_EDGES)
    structure = mm.Structure(graph.feature_names, graph.class_name, graph.parents, has_class=False)
    tables = (
        table(0.01), table(0.05, 0.01), table(0.5), table(0.1, 0.01), table(0.6, 0.3), table(1, 1, 1, 0),
        table(0.98, 0.05), table(0.9, 0.8, 0.7, 0.1),
    )  # fmt: skip
    variables = tuple(DiscreteVariable(name, ("yes", "no")) for name in names)
    # Parents ascending: dysp has bronc before either.
    return mm.BayesianNetwork(structure, variables[:-1], variables[-1], (*tables[:7], table(0.9, 0.8, 0.7, 0.1)))


def test_the_chest_clinic_gives_the_published_answers(asia):
    # Lauritzen & Spiegelhalter (1988), tables 2 and 9: a smoker who was in Asia, with dyspnoea.
    assert asia.query("lung")["yes"] == pytest.approx(0.055)
    assert asia.query("bronc", {"smoke": "yes"})["yes"] == pytest.approx(0.6)
    assert asia.query("tub", {"asia": "yes"})["yes"] == pytest.approx(0.05)
    assert asia.query("xray")["yes"] == pytest.approx(0.11029, abs=1e-5)


def test_evidence_comes_in_any_form_and_says_the_same(asia):
    case = {"smoke": "yes", "dysp": "no"}
    wanted = asia.query("lung", case)
    assert list(wanted.index) == ["yes", "no"]
    assert wanted.index.name == "lung"
    gaps = case | {"xray": None, "tub": math.nan, "asia": pd.NA}
    for form in (case, pd.Series(case), gaps, pd.Series(gaps), pd.DataFrame([gaps]).iloc[0]):
        assert asia.query("lung", form).equals(wanted)
    frame = pd.DataFrame([case, {"smoke": "no"}, {}], index=["one", "two", "three"], columns=["smoke", "dysp"])
    for many in (frame, frame.astype("category")):
        answer = asia.query("lung", many)
        assert list(answer.index) == ["one", "two", "three"]
        np.testing.assert_allclose(answer.loc["one"], wanted)
        np.testing.assert_allclose(answer.loc["two"], asia.query("lung", {"smoke": "no"}))
        np.testing.assert_allclose(answer.loc["three"], asia.query("lung"))
    listed = asia.query("lung", [case, {"smoke": "no"}, {}])
    np.testing.assert_allclose(listed, asia.query("lung", frame))
    assert listed.index.tolist() == [0, 1, 2]


def test_a_polars_table_is_evidence_too(asia):
    polars = pytest.importorskip("polars")
    frame = pd.DataFrame({"smoke": ["yes", None], "dysp": ["no", "no"]})
    pd.testing.assert_frame_equal(
        asia.query("lung", polars.DataFrame({"smoke": ["yes", None], "dysp": ["no", "no"]})), asia.query("lung", frame)
    )


def test_nothing_known_and_no_rows_are_evidence(asia):
    prior = asia.query("lung")
    for nothing in (None, {}, pd.Series(dtype=object), {"smoke": None}):
        assert asia.query("lung", nothing).equals(prior)
    assert asia.query("lung", pd.DataFrame({"smoke": []})).shape == (0, 2)
    assert asia.query("lung", []).shape == (0, 2)
    assert asia.map_query(["lung"], pd.DataFrame({"smoke": []})).shape == (0, 1)
    assert asia.probability({}) == pytest.approx(1.0)
    assert asia.sample(0).shape == (0, 8)
    assert asia.marginals(pd.DataFrame({"smoke": []}))["lung"].shape == (0, 2)


def test_several_targets_are_asked_jointly_in_the_order_given(asia):
    joint = asia.query(["lung", "bronc"], {"dysp": "yes"})
    assert joint.index.names == ["lung", "bronc"]
    turned = asia.query(["bronc", "lung"], {"dysp": "yes"})
    for lung, bronc in product(["yes", "no"], repeat=2):
        assert joint[lung, bronc] == pytest.approx(turned[bronc, lung], rel=1e-12)
    np.testing.assert_allclose(joint.groupby(level="lung").sum()["yes"], asia.query("lung", {"dysp": "yes"})["yes"])
    many = asia.query(["lung", "bronc"], pd.DataFrame({"dysp": ["yes", "no"]}))
    assert many.columns.names == ["lung", "bronc"]
    np.testing.assert_allclose(many.iloc[0], joint)


def test_a_likelihood_is_a_finding_with_its_own_error_rate(asia):
    # A test that is right 9 times in 10 is a child of its node with that table.
    soft = asia.query("lung", {"xray": {"yes": 0.9, "no": 0.1}})
    for again in ({"xray": [0.9, 0.1]}, {"xray": np.array([9.0, 1.0])}, {"xray": pd.Series({"no": 1, "yes": 9})}):
        np.testing.assert_allclose(asia.query("lung", again), soft)
    known = asia.query(["lung", "xray"])
    by_hand = 0.9 * known["yes", "yes"] + 0.1 * known["yes", "no"]
    rest = 0.9 * known["no", "yes"] + 0.1 * known["no", "no"]
    assert soft["yes"] == pytest.approx(by_hand / (by_hand + rest))
    assert asia.probability({"xray": [0.9, 0.1]}) == pytest.approx(by_hand + rest)
    np.testing.assert_allclose(asia.query("lung", {"xray": [1.0, 0.0]}), asia.query("lung", {"xray": "yes"}))
    frame = pd.DataFrame({"smoke": ["yes", "no"]})
    rows = asia.query("lung", frame, likelihood={"xray": np.array([[0.9, 0.1], [0.5, 0.5]])})
    np.testing.assert_allclose(rows.iloc[0], asia.query("lung", {"smoke": "yes", "xray": [0.9, 0.1]}))
    np.testing.assert_allclose(rows.iloc[1], asia.query("lung", {"smoke": "no"}))
    own = asia.query("lung", {"lung": [1.0, 3.0]})  # of the target itself
    assert own["yes"] == pytest.approx(0.055 / (0.055 + 3 * 0.945))


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda n: n.query("Lung", {}), r"no node 'Lung'; did you mean 'lung'\?"),
        (lambda n: n.query("lung", {"smoker": "yes"}), r"no node 'smoker'; did you mean 'smoke'\?"),
        (lambda n: n.query("lung", pd.DataFrame({"Smoke": ["yes"]})), r"no node 'Smoke'; did you mean 'smoke'\?"),
        (lambda n: n.query("lung", {"zzz": "yes"}), r"no node 'zzz'\. The nodes are \['asia', 'tub'"),
        (lambda n: n.query("lung", {"smoke": "Yes"}), r"'smoke' has no state 'Yes'; did you mean 'yes'\?"),
        (lambda n: n.query("lung", pd.DataFrame({"smoke": ["yes", "yess"]})), r"no state 'yess'; did you mean 'yes'"),
        (lambda n: n.query("lung", {"smoke": 3}), r"'smoke' has no state 3\. Its states are \['yes', 'no'\]"),
        (lambda n: n.query("lung", {"smoke": True}), r"'smoke' has no state True"),
        (lambda n: n.query("lung", {"lung": "yes"}), r"Target 'lung' is in the evidence itself \('yes'\)"),
        (lambda n: n.query(["tub", "lung"], pd.DataFrame({"lung": [None, "no"]})), r"Target 'lung' .*\('no'\)"),
        (lambda n: n.map_query(["lung"], {"lung": "yes"}), r"Target 'lung' is in the evidence"),
        (lambda n: n.query([], {}), r"targets is empty; name one of the nodes"),
        (lambda n: n.query(["lung", "lung"]), r"targets names a node twice"),
        (lambda n: n.query("lung", {"tub": "yes", "either": "no"}), r"evidence has probability 0 in the network"),
        (lambda n: n.map_query(None, {"tub": "yes", "either": "no"}), r"evidence has probability 0"),
        (lambda n: n.marginals({"tub": "yes", "either": "no"}), r"evidence has probability 0"),
        (lambda n: n.sample(3, {"tub": "yes", "either": "no"}), r"evidence has probability 0"),
        (lambda n: n.estimate("lung", {"tub": "yes", "either": "no"}), r"None of 10,000 draws agrees"),
        (lambda n: n.query("lung", 5), r"evidence must be a mapping of node to state, a Series, a table"),
        (lambda n: n.query("lung", ["smoke"]), r"evidence must be a mapping of node to state"),
        (lambda n: n.query("lung", np.zeros((2, 2))), r"evidence must be a mapping of node to state"),
        (
            lambda n: n.query("lung", {"smoke": ["yes", "no"]}),
            r"likelihood of 'smoke' must be numbers.*pandas.DataFrame",
        ),
        (lambda n: n.query("lung", {"smoke": [0.2]}), r"likelihood of 'smoke' has shape \(1,\); 2 states"),
        (lambda n: n.query("lung", {"smoke": [0.0, 0.0]}), r"numbers >= 0, not all of them 0"),
        (lambda n: n.query("lung", {"smoke": [-1.0, 2.0]}), r"numbers >= 0, not all of them 0"),
        (lambda n: n.query("lung", {"smoke": [math.nan, 2.0]}), r"numbers >= 0, not all of them 0"),
        (lambda n: n.query("lung", {"smoke": {"yess": 1.0}}), r"no state 'yess'; did you mean 'yes'"),
        (lambda n: n.query("lung", {"smoke": {"yes": "often"}}), r"must be numbers by state"),
        (lambda n: n.query("lung", likelihood={"Smoke": [1, 2]}), r"did you mean 'smoke'"),
        (lambda n: n.query("lung", likelihood=[1, 2]), r"likelihood must be a mapping"),
        (
            lambda n: n.query("lung", pd.DataFrame([["yes", "no"]], columns=["smoke", "smoke"])),
            r"names must be distinct",
        ),
        (lambda n: n.sample(-1), r"n must be a whole number >= 0, got -1"),
        (lambda n: n.sample(2.5), r"n must be a whole number"),
        (lambda n: n.estimate("lung", n_samples=0), r"n_samples must be a whole number >= 1"),
        (lambda n: n.estimate("lung", pd.DataFrame({"smoke": ["yes"]})), r"estimate takes one case of evidence"),
        (lambda n: n.cpt("Lung"), r"did you mean 'lung'\?"),
        (lambda n: n.predict(pd.DataFrame({"smoke": ["yes"]})), r"no class to predict. with_class\(name\)"),
        (lambda n: n.classes, r"no class to predict"),
        (lambda n: n.to_svg(evidence=pd.DataFrame({"smoke": ["yes"]})), r"A drawing shows one case of evidence"),
    ],
)
def test_what_cannot_be_answered_is_refused_in_words(asia, ask, message):
    with pytest.raises(InputError, match=message):
        ask(asia)


def test_impossible_cases_among_others_are_missing_and_told(asia, caplog):
    frame = pd.DataFrame({"tub": ["yes", "no", "yes"], "either": ["no", "no", "yes"]}, index=[7, 8, 9])
    with caplog.at_level(logging.WARNING):
        answer = asia.query("lung", frame)
    assert "1 of 3 cases have probability 0 in the network; their answers are missing (rows 7)" in caplog.text
    assert answer.loc[7].isna().all()
    assert not answer.loc[[8, 9]].isna().any(axis=None)
    assert asia.map_query(["lung"], frame)["lung"].isna().tolist() == [True, False, False]
    probabilities = asia.probability(frame)
    assert probabilities[7] == 0.0
    assert asia.probability(frame, log=True)[7] == -math.inf
    np.testing.assert_allclose(np.exp(asia.probability(frame, log=True)), probabilities)
    assert asia.probability({"tub": "yes", "either": "no"}) == 0.0


def test_an_explanation_leaves_out_what_is_observed_and_beats_every_other_one(asia):
    best = asia.map_query(evidence={"dysp": "yes", "smoke": "yes"})
    assert best == {"asia": "no", "tub": "no", "lung": "no", "bronc": "yes", "either": "no", "xray": "no"}
    top = asia.probability(best | {"dysp": "yes", "smoke": "yes"})
    for node, state in best.items():
        other = {"yes": "no", "no": "yes"}[state]
        assert asia.probability(best | {"dysp": "yes", "smoke": "yes", node: other}) <= top
    frame = asia.map_query(None, pd.DataFrame({"dysp": ["yes"], "smoke": ["yes"]}))
    assert frame.iloc[0].to_dict() == best | {"dysp": "yes", "smoke": "yes"}


def test_log_likelihood_adds_up_rows_with_gaps_and_without_columns(asia):
    frame = asia.sample(50, random_state=3)
    whole = asia.log_likelihood(frame)
    assert whole == pytest.approx(sum(math.log(asia.probability(row)) for row in frame.to_dict("records")))
    gaps = frame.mask(np.random.default_rng(0).random(frame.shape) < 0.3)
    assert asia.log_likelihood(gaps) == pytest.approx(asia.probability(gaps, log=True).sum())
    assert asia.log_likelihood(frame[["smoke"]]) == pytest.approx(50 * math.log(0.5))


def test_a_data_set_is_evidence_for_the_network_of_its_variables():
    data = mm.DiscreteDataset.from_frame(mm.load_dataset("corral"), "class")
    network = mm.BayesianNetwork.fit(mm.tan_cmi(data), data)
    joint = network.log_joint(data.codes)
    assert network.log_likelihood(data) == pytest.approx(joint[np.arange(data.n_samples), data.target_codes].sum())
    rest = mm.load_dataset("corral").drop(columns="class")
    np.testing.assert_allclose(network.query("class", rest), network.predict_proba(rest), rtol=1e-12)
    with pytest.raises(InputError, match="variables are not the network's"):
        mm.BayesianNetwork.fit(mm.naive_bayes(data.subset(slice(0, 9))), data).query(
            "A0", mm.DiscreteDataset.from_arrays([["x"]], [1])
        )


def test_numbers_lie_in_intervals_which_have_their_own_labels_too():
    iris = mm.load_dataset("iris")
    data = mm.prepare(iris, "class").data
    network = mm.BayesianNetwork.fit(mm.naive_bayes(data), data)
    label = network.features[2].states[1]
    by_number = network.query("class", {"petal_length": 3.0})
    assert by_number.equals(network.query("class", {"petal_length": label}))
    answer = network.query("class", pd.DataFrame({"petal_length": [3.0, np.nan]}))
    np.testing.assert_allclose(answer.iloc[0], by_number)
    drawn = network.sample(5, random_state=0)
    assert network.query("class", drawn.drop(columns="class")).shape == (5, 3)


def test_samples_have_the_distribution_that_is_asked_for(asia):
    n = 40_000
    for evidence in (None, {"smoke": "yes"}, {"dysp": "yes", "xray": "yes"}, {"xray": [0.9, 0.1], "bronc": "no"}):
        drawn = asia.sample(n, evidence, random_state=0)
        assert list(drawn.columns) == list(asia.structure.names)
        for pair in (["lung", "bronc"], ["tub", "smoke"], ["either", "dysp"]):
            free = [name for name in pair if evidence is None or not isinstance(evidence.get(name), str)]
            wanted = asia.query(free, evidence)
            share = drawn.groupby(free).size().reindex(wanted.index, fill_value=0) / n
            # Five standard errors: one in a million such comparisons fails by chance.
            assert (abs(share - wanted) <= 5 * np.sqrt(wanted * (1 - wanted) / n) + 1e-12).all()
        for name, value in (evidence or {}).items():
            if isinstance(value, str):
                assert (drawn[name] == value).all()


def test_the_same_seed_draws_the_same_and_many_cases_get_rows_each(asia):
    assert asia.sample(5, random_state=1).equals(asia.sample(5, random_state=1))
    assert not asia.sample(50, random_state=1).equals(asia.sample(50, random_state=2))
    assert asia.sample(5, random_state=np.random.default_rng(1)).equals(asia.sample(5, random_state=1))
    frame = pd.DataFrame({"smoke": ["yes", "no"]}, index=["p", "q"])
    drawn = asia.sample(3, frame, random_state=0)
    assert drawn.index.tolist() == [(row, k) for row in "pq" for k in range(3)]
    assert drawn["smoke"].tolist() == ["yes"] * 3 + ["no"] * 3


def test_an_estimate_is_within_its_standard_errors(asia):
    wanted = asia.query(["lung", "bronc"], {"dysp": "yes", "asia": "yes"})
    spread = []
    for seed in range(60):
        answer = asia.estimate(["lung", "bronc"], {"dysp": "yes", "asia": "yes"}, n_samples=2000, random_state=seed)
        spread.append((answer["probability"] - wanted) / answer["standard_error"])
        assert answer["probability"].sum() == pytest.approx(1.0)
        assert 0 < answer.attrs["effective_samples"] <= 2000
    z = np.array(spread)
    # Standardized errors have mean 0 and variance 1 when the standard error is right.
    assert abs(z.mean()) < 0.5
    assert 0.7 < z.std() < 1.3
    exact = asia.estimate("tub", {"asia": "yes", "xray": [0.9, 0.1]}, n_samples=50_000, random_state=0)
    assert abs(exact.loc["yes", "probability"] - asia.query("tub", {"asia": "yes", "xray": [0.9, 0.1]})["yes"]) < (
        5 * exact.loc["yes", "standard_error"]
    )


def test_too_large_a_question_is_refused_with_its_size_and_can_be_estimated():
    n = 26
    parents = (*(() for _ in range(n)), *((k, k + 1) for k in range(n - 1)), tuple(range(0, n, 2)))
    network = network_of(parents, [2] * (2 * n), seed=0)
    hidden = [f"x{k}" for k in range(n)]
    with pytest.raises(
        SizeLimitError, match=r"tables of [\d,]+ cells, the largest of [\d,]+ over 2\d nodes .* estimate"
    ):
        network.query(hidden, {"x51": "a"}, max_cells=1_000_000)
    answer = network.estimate("x3", {"x51": "a", "x30": "b"}, n_samples=20_000, random_state=0)
    exact = network.query("x3", {"x51": "a", "x30": "b"})
    assert (abs(answer["probability"] - exact) < 5 * answer["standard_error"]).all()


def test_a_thousand_findings_do_not_underflow():
    n = 1500
    names = [f"x{j}" for j in range(n)]
    structure = mm.Structure.from_names(names, "class", [("class", name) for name in names])
    log_cpts = [np.log([[0.001, 0.999], [0.002, 0.998]])] * n + [np.log([[0.5, 0.5]])]
    features = tuple(DiscreteVariable(name, ("a", "b")) for name in names)
    network = mm.BayesianNetwork(structure, features, DiscreteVariable("class", (0, 1)), tuple(log_cpts))
    evidence = dict.fromkeys(names, "a")
    assert network.probability(evidence) == 0.0  # e**-9300 is no double
    assert network.probability(evidence, log=True) == pytest.approx(n * math.log(0.002) + math.log(0.5), rel=1e-9)
    assert network.query("class", evidence)[1] == pytest.approx(1.0)


def test_a_network_without_a_class_can_be_given_one(asia):
    for name in asia.structure.names:
        model = asia.with_class(name)
        assert model.target.name == name
        rows = asia.sample(30, random_state=0)
        assert model.log_likelihood(rows) == pytest.approx(asia.log_likelihood(rows), rel=1e-12)
        rest = rows.drop(columns=name)
        np.testing.assert_allclose(model.predict_proba(rest), asia.query(name, rest), rtol=1e-9, atol=1e-12)
    assert "no class" in repr(asia)
    assert "no class" in repr(asia.structure)
