"""Every kind of method learns, predicts and gives probabilities; one whose package is absent is skipped."""

import numpy as np
import pandas as pd
import pytest

import mmbn_opt as mm
from mmbn_opt.exceptions import InputError, SolverError
from mmbn_opt.reproduction.measures import CLAIMED, MEASURES, measure
from mmbn_opt.reproduction.method_table import proved
from mmbn_opt.reproduction.methods import METHOD_KINDS, Context, availability, check_settings
from mmbn_opt.reproduction.methods.encoding import MdlpCodes, as_ordinals
from mmbn_opt.reproduction.methods.folds import Chosen, some_rows
from mmbn_opt.reproduction.methods.registry import build
from mmbn_opt.reproduction.methods.rivals import Boosting
from mmbn_opt.reproduction.methods.weka import Weka
from mmbn_opt.reproduction.sizes import size_of
from mmbn_opt.reproduction.sources import Source
from mmbn_opt.reproduction.splits import Splits

QUICK = {
    "structure": {"p": 0.9}, "parameters": {"lam": 0.1, "iterations": 20}, "markov-network": {"C": 0.3},
    "parameters-by-tests": {"lam": 0.1, "iterations": 20}, "markov-network-by-tests": {"C": 0.3},
    "cmm": {"components": 1, "tau": 0.25, "iterations": 10, "start": "k-means"},
    "mixture": {"components": 1, "tau": 0.25}, "svm": {"C": 1.0, "gamma": "scale"}, "random-forest": {"trees": 30},
    "logistic-regression": {"C": 1.0}, "explainable-boosting": {"interactions": 0},
}  # fmt: skip
# As in the process of a run: rivals warn of much that is of no concern here.
pytestmark = pytest.mark.filterwarnings("ignore")
WITHOUT_PROBABILITIES = {"svm", "optimal-tree"}
NUMBERS_ONLY = {"tan-bins"}
OF_ROWS = [kind for kind, entry in METHOD_KINDS.items() if not entry.of_sequences]


def parts(name, missing="drop"):
    table = Source(None).find(name)
    train, test = Splits(folds=3).of(table, complete_only=missing == "drop")[0]
    context = Context(dict(table.kinds), missing, 20.0, 0)
    return context, (table.X.iloc[train], table.y.iloc[train]), (table.X.iloc[test], table.y.iloc[test])


def built(kind, context):
    reason = availability(kind)
    if reason is not None:
        pytest.skip(reason)
    return build(kind, context, QUICK.get(kind, {}))


@pytest.mark.parametrize("kind", OF_ROWS)
def test_a_kind_classifies_three_flowers(kind):
    context, train, test = parts("iris")
    model = built(kind, context)
    found = measure(model, train, test)
    assert found.numbers["accuracy"] >= 0.88
    assert found.numbers["train_accuracy"] >= 0.88
    assert set(found.numbers) <= set(MEASURES)
    if kind in WITHOUT_PROBABILITIES:
        assert "log_loss" not in found.numbers
        return
    shares = np.asarray(model.predict_proba(test[0]))
    assert shares.shape == (50, 3)
    assert shares.sum(axis=1) == pytest.approx(1.0, abs=1e-3)
    assert (np.asarray(model.classes_)[shares.argmax(axis=1)] == np.asarray(model.predict(test[0]))).mean() > 0.97
    assert 0 < found.numbers["log_loss"] < 1.0


@pytest.mark.parametrize("kind", [kind for kind in OF_ROWS if kind not in NUMBERS_ONLY])
def test_a_kind_takes_texts_missing_cells_and_texts_that_it_never_saw(kind):
    context, (X, y), (X_test, y_test) = parts("vote", missing="state")
    model = built(kind, context)
    X_test = X_test.copy()
    X_test.iloc[0, 0] = "never seen"
    found = measure(model, (X, y), (X_test, y_test))
    assert found.numbers["accuracy"] >= 0.85


@pytest.mark.parametrize("kind", ["markov-network", "parameters"])
def test_a_class_of_one_row_leaves_nothing_to_choose_on_and_is_learned(kind):
    context, (X, y), _ = parts("vote")
    rows = np.concatenate([np.flatnonzero(y == "republican")[:1], np.flatnonzero(y != "republican")[:9]])
    model = build(kind, context, {"C": [0.1, 1.0]} if kind == "markov-network" else {"lam": [0.1, 0.5]})
    found = measure(model, (X.iloc[rows], y.iloc[rows]), (X, y))
    assert found.numbers["accuracy"] > 0.4
    assert found.chosen


def test_folds_in_which_no_class_has_two_rows_are_no_ground_for_a_choice():
    context, (X, y), _ = parts("iris")
    rows = np.concatenate([np.flatnonzero(y == name)[:2] for name in sorted(set(y))])
    model = build("markov-network", context, {"C": [0.1, 1.0]})
    found = measure(model, (X.iloc[rows], y.iloc[rows]), (X, y))
    assert found.chosen == {"C": "0.1"}


@pytest.mark.parametrize("algorithm", ["lbfgs", "averaged-perceptron"])
def test_crfsuite_labels_words_as_it_does_by_itself(algorithm):
    table = Source(None).find("chains")
    train, test = Splits(sizes=(30,), draws=1).of(table)[0]
    test = test[:500]
    X, y = table.features(with_sequences=True), table.y
    model = built("crfsuite", Context(dict(table.kinds), "drop", 20.0, 0))
    model.algorithm = algorithm
    found = model.fit(X.iloc[train], y.iloc[train]).predict(X.iloc[test])
    assert (found == y.iloc[test].to_numpy()).mean() > 0.9
    pycrfsuite = pytest.importorskip("pycrfsuite")
    tagger = pycrfsuite.Tagger()
    tagger.open_inmemory(model.model_)
    cells = table.X.iloc[test[:5]].to_numpy()
    alone = tagger.tag([[f"{j}={x}" for j, x in enumerate(row) if x != "0"] + ["bias"] for row in cells])
    assert alone == found[:5].tolist()


def test_an_algorithm_that_crfsuite_does_not_have_is_told():
    with pytest.raises(InputError, match="algorithm must be one of 'lbfgs'"):
        build("crfsuite", Context({}, "drop", 1.0, 0), {"algorithm": "sgd"})


@pytest.mark.parametrize(("setting", "value"), [("groups", -1), ("window", -1)])
def test_a_setting_of_sequences_below_zero_is_told(setting, value):
    with pytest.raises(InputError, match=f"{setting} must be a number of"):
        build("sequences", Context({}, "drop", 1.0, 0), {setting: value})


def test_what_is_proved_is_told():
    context, train, test = parts("corral")
    found = measure(build("structure", context, {"p": 0.9}), train, test)
    assert found.certificate == "proved"
    assert found.numbers["gap"] == 0.0
    assert measure(build("tan", context, {}), train, test).certificate == "none"


def test_choices_are_made_on_training_rows_and_told():
    context, train, test = parts("iris")
    model = build("svm", context, {"C": [0.001, 10.0], "gamma": "scale"})
    found = measure(model, train, test)
    assert found.chosen == {"kernel": "rbf", "C": "10.0", "gamma": "scale"}
    shuffled = (train[0], train[1].sample(frac=1.0, random_state=0).set_axis(train[1].index))
    # The same choice whatever the test rows are.
    assert (
        measure(build("svm", context, {"C": [0.001, 10.0], "gamma": "scale"}), train, shuffled).chosen == found.chosen
    )


@pytest.mark.parametrize(("copies", "rows"), [(1, None), (8, None), (8, 900)])
def test_a_class_of_a_single_row_is_chosen_with(copies, rows):
    """With five folds and with one part held out, as for nursery, whose rarest class has two rows."""
    context, (X, y), (test_X, test_y) = parts("iris")
    X, y = pd.concat([X] * copies + [X.iloc[:1]], ignore_index=True), pd.concat([y] * copies + [y.iloc[:1]])
    y = pd.Series([*y[:-1], "rare"], index=X.index)
    model = build("svm", context, {"C": [0.001, 10.0], "gamma": "scale", **({} if rows is None else {"rows": rows})})
    model.fit(X, y)
    assert model.chosen_["C"] == 10.0
    assert (model.predict(test_X) == test_y).mean() > 0.8


def test_the_width_of_a_gaussian_is_what_the_paper_calls_sigma():
    context, _, _ = parts("iris")
    model = build("svm", context, {"C": 1.0, "sigma": 2.0})
    assert isinstance(model, Chosen)
    assert model.grid[0]["gamma"] == [0.125]


def test_our_classifiers_are_those_of_the_package():
    context, train, test = parts("iris")
    found = measure(build("naive-bayes", context, {}), train, test).numbers["accuracy"]
    own = mm.NaiveBayesClassifier(kinds=dict(context.kinds)).fit(*train)
    assert found == pytest.approx((own.predict(test[0]) == test[1]).mean())


def test_codes_are_those_that_our_networks_see_and_zero_is_missing_or_new():
    context, (X, y), _ = parts("vote", missing="drop")
    codes = MdlpCodes(context.kinds).fit(X, y)
    changed = X.copy()
    changed.iloc[0, 0], changed.iloc[1, 1] = "never seen", None
    found = codes.transform(changed)
    assert found[0, 0] == found[1, 1] == 0
    assert found[2:].min() >= 1
    assert (found.max(axis=0) < codes.cardinalities_).all()


def test_ordinals_leave_what_is_missing_or_new_to_the_model():
    context, (X, _), _ = parts("vote", missing="state")
    changed = X.copy()
    changed.iloc[0, 0] = "never seen"
    found = as_ordinals(context.kinds).fit(X).transform(changed)
    assert np.isnan(found[0, 0])
    assert np.isnan(found).sum() == X.isna().sum().sum() + (0 if X.isna().iloc[0, 0] else 1)


def test_a_choice_on_some_rows_keeps_classes_in_proportion():
    labels = np.array(["a"] * 900 + ["b"] * 100)
    rows = some_rows(labels, 100, 0)
    assert (labels[rows] == "b").sum() == 10
    assert some_rows(labels, None, 0).tolist() == list(range(1000))


def test_a_kind_that_is_not_there_says_what_to_install(monkeypatch):
    import mmbn_opt.reproduction.methods.registry as registry

    monkeypatch.setattr(registry, "find_spec", lambda name: None)
    assert availability("aode") == "scikit-bayes is not installed (pip install scikit-bayes)"


def test_weka_without_its_jar_says_where_to_get_it(monkeypatch, tmp_path):
    monkeypatch.setenv("MMBN_WEKA_JAR", str(tmp_path / "weka.jar"))
    reason = availability("weka")
    assert f"there is no {tmp_path / 'weka.jar'} (apt install weka" in reason
    assert "MMBN_WEKA_JAR" in reason


def test_weka_that_fails_is_an_error_of_the_run(monkeypatch, tmp_path):
    context, train, test = parts("iris")
    model = Weka(context, "AODE").fit(*train)
    script = tmp_path / "java"
    script.write_text("#!/bin/sh\necho 'no such class' >&2\nexit 1\n")
    script.chmod(0o755)
    monkeypatch.setattr("mmbn_opt.reproduction.methods.weka._java", lambda: str(script))
    with pytest.raises(SolverError, match="Weka's AODE answered for 0 of 50 rows: no such class"):
        model.predict(test[0])


@pytest.mark.parametrize(
    ("kind", "settings", "message"),
    [
        ("weka", {"scheme": "J48"}, "scheme must be one of 'AODE'"),
        ("markov-network", {"structure": "tree"}, "structure must be one of 'nb', 'tan-cmi'"),
    ],
)
def test_a_setting_out_of_range_is_told(kind, settings, message):
    check_settings(kind, settings)
    with pytest.raises(InputError, match=message):
        build(kind, Context({}, "drop", 1.0, 0), settings)


def sized(kind, name="iris", missing="drop"):
    context, train, test = parts(name, missing)
    model = built(kind, context)
    numbers = measure(model, train, test).numbers
    return model, {key: numbers[key] for key in ("parameters", "edges", "rules") if key in numbers}


def test_a_network_of_another_package_has_the_free_entries_of_its_tables_and_a_tree_over_its_features():
    model, size = sized("pyagrum")
    network = model.model_.bn_
    states = {node: network.variable(node).domainSize() for node in network.nodes()}
    free = sum(network.cpt(node).toarray().size * (d - 1) // d for node, d in states.items())
    assert size == {"parameters": free, "edges": 3}


def test_of_two_classes_pyagrum_tells_what_its_network_says():
    context, (X, y), (X_test, _) = parts("vote", missing="state")
    model = built("pyagrum", context).fit(X, y)
    gum = pytest.importorskip("pyagrum")
    infer = gum.LazyPropagation(model.model_.bn_)
    told = model.predict_proba(X_test)
    codes = model._table(X_test)
    for row in range(20):
        infer.setEvidence({name: str(codes[name].iloc[row]) for name in codes.columns})
        infer.makeInference()
        shares = infer.posterior(model.model_.target_).toarray()
        assert told[row] == pytest.approx(shares, abs=1e-6)


def test_trees_have_the_leaves_that_can_be_counted_by_walking():
    model, size = sized("optimal-tree")

    def leaves(node):
        return 1 if node.is_leaf_node() else leaves(node.left_child) + leaves(node.right_child)

    assert size == {"parameters": 2 * leaves(model.model_.tree_) - 1, "rules": leaves(model.model_.tree_)}
    model, size = sized("random-forest")
    grown = [tree.tree_ for tree in model.estimator_.estimators_]
    assert size["rules"] == sum((tree.children_left == -1).sum() for tree in grown)
    assert size["parameters"] == sum(len(tree.feature) for tree in grown)
    model, size = sized("histogram-boosting")
    # A binary tree has a leaf more than it has forks; there is a tree a class and round.
    assert size["parameters"] == 2 * size["rules"] - 3 * model.estimator_.n_iter_


def test_boosting_learns_from_many_rows_of_which_one_has_its_class_alone():
    x = np.arange(10_050.0)[:, None]
    y = np.where(x[:, 0] < 5_000, "few", "many").astype("<U5")
    y[7] = "alone"
    model = Boosting(max_iter=3).fit(x, y)
    assert model.early_stopping == "auto"  # as it was asked for
    assert model.classes_.tolist() == ["alone", "few", "many"]
    assert (model.predict([[4_000.0], [9_000.0]]) == ["few", "many"]).all()
    assert Boosting(max_iter=3).fit(x[8:], y[8:]).do_early_stopping_


def test_sums_have_the_terms_that_they_list():
    model, size = sized("explainable-boosting", "vote", "state")
    names = model.model_.term_names_
    assert (size["rules"], size["edges"]) == (len(names), sum(" & " in name for name in names))
    model, size = sized("risk-score", "vote", "state")
    [score] = model.estimator_.estimators_
    assert size == {"parameters": len(score.points_) + 1, "rules": len(score.points_)}


def test_naive_bayes_of_codes_has_the_free_entries_of_its_tables():
    model, size = sized("categorical-nb")
    free = sum(table.shape[0] * (table.shape[1] - 1) for table in model.estimator_.model_.feature_log_prob_)
    assert size == {"parameters": 3 - 1 + free, "edges": 0}


@pytest.mark.parametrize("scheme", ["AODE", "WAODE", "HNB"])
def test_one_dependence_estimators_have_the_free_entries_of_their_tables(scheme):
    model = Weka(Context({}, "drop", 1.0, 0), scheme)
    model.cardinalities_, model.classes_ = [2, 3, 4], ["a", "b"]
    free, hidden = 0, 1  # P(y) of HNB has one free entry
    for i, a in enumerate(model.cardinalities_):
        joint = np.full((2, a), 1.0)
        free += joint.size - 1
        for j, b in enumerate(model.cardinalities_):
            if i != j:
                free += np.full((2, a, b), 1.0)[
                    ..., 1:
                ].size  # P(x_j | y, x_i): the last of each is one less the others
                hidden += np.full((2, b, a), 1.0)[..., 1:].size + 1
    assert size_of(model) == {"parameters": {"AODE": free, "WAODE": free + 3, "HNB": hidden}[scheme]}


def test_scikit_bayes_holds_the_same_tables():
    model, size = sized("aode")
    alone = Weka(Context({}, "drop", 1.0, 0), "AODE")
    alone.cardinalities_, alone.classes_ = model.codes_.cardinalities_, model.classes_
    assert size == size_of(alone)


def test_an_optimum_that_only_its_own_package_vouches_for_is_told_as_such():
    context, train, test = parts("iris")
    assert measure(built("optimal-tree", context), train, test).certificate == CLAIMED
    assert measure(build("random-forest", context, {"trees": 3}), train, test).certificate == "none"
    assert proved(pd.Series([CLAIMED, CLAIMED])) == "by its own word"
    assert proved(pd.Series(["proved", CLAIMED, "none"])) == "yes in 1 of 3 runs, by its own word in 1, none in 1"
