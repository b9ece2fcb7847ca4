"""Rows and columns of tables: choices on held-out rows, sizes apart, cells taken out, settings and times as numbers."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.svm import SVC

import mmbn_opt as mm
from mmbn_opt.comparison.record import RunOutcome
from mmbn_opt.exceptions import InputError
from mmbn_opt.reproduction import Method, Results, load_experiment
from mmbn_opt.reproduction.catalogue import parse_experiment
from mmbn_opt.reproduction.measures import MEASURES, Removal, measure, rate_without
from mmbn_opt.reproduction.methods import Context
from mmbn_opt.reproduction.methods.registry import build
from mmbn_opt.reproduction.page import markdown_page
from mmbn_opt.reproduction.runner import plan_of
from mmbn_opt.reproduction.sources import SEQUENCE, Source
from mmbn_opt.reproduction.splits import Splits
from mmbn_opt.reproduction.testing import wins
from mmbn_opt.reproduction.trial import TrialRecord

BASE = """
title = "Small"
source = "here"
sets = ["iris", "corral"]
[methods]
SVM = { kind = "svm", chosen_on = "%s", C = [1, 10], gamma = 0.1 }
NB = { kind = "naive-bayes" }
"""
ON_TEST = parse_experiment("mine", BASE % "held-out rows")
ON_FIRST = parse_experiment("mine", BASE % "first split")
CHAINS = load_experiment("guo2005-figure9")


def record(dataset="iris", method="SVM", split=0, accuracy=0.9, chosen=None, **numbers):
    return TrialRecord(
        f"{dataset}{method}{split}{chosen}", dataset, method, split, RunOutcome.ANSWERED, "",
        {"accuracy": accuracy, "error": 1 - accuracy, **numbers}, "none", chosen or {}, 120, 30, 60.0, 1.0,
    )  # fmt: skip


def cells_of(experiment, *records):
    return Results.of(experiment, records, {}, planned=len(records)).cells()


def ours(cells):
    return {at: round(cell.ours, 6) for at, cell in cells.items()}


def test_a_choice_on_held_out_rows_is_a_run_for_each_point_of_the_grid():
    plan = plan_of(ON_TEST.narrowed(sets=["iris"], n_splits=1), Source(None)).trials
    assert [(t.method, dict(t.settings), t.chosen) for t in plan] == [
        ("SVM", {"C": 1, "gamma": 0.1}, {"C": "1"}),
        ("SVM", {"C": 10, "gamma": 0.1}, {"C": "10"}),
        ("NB", {}, {}),
    ]
    assert len({t.key for t in plan}) == 3


def test_a_method_that_chooses_on_training_rows_is_one_run_with_its_lists():
    method = Method("svm", {"C": [1, 10], "gamma": 0.1})
    assert method.variants() == [{"C": [1, 10], "gamma": 0.1}]
    assert method.chosen_from == ()


ROWS = [
    ("iris", 0, 0.8, "1"), ("iris", 1, 0.9, "1"), ("iris", 0, 0.9, "10"), ("iris", 1, 0.7, "10"),
    ("corral", 0, 0.6, "1"), ("corral", 0, 0.7, "10"),
]  # fmt: skip


def test_the_settings_with_the_best_mean_over_the_splits_of_a_set_are_shown():
    found = cells_of(ON_TEST, *(record(d, "SVM", k, a, {"C": c}) for d, k, a, c in ROWS))
    assert ours(found) == {("iris", "SVM"): 85.0, ("corral", "SVM"): 70.0}
    assert found["iris", "SVM"].runs == 2


def test_the_settings_that_were_best_on_the_first_split_are_shown_on_all():
    found = cells_of(ON_FIRST, *(record(d, "SVM", k, a, {"C": c}) for d, k, a, c in ROWS))
    assert ours(found) == {("iris", "SVM"): 80.0, ("corral", "SVM"): 70.0}


def test_settings_whose_runs_are_not_done_are_no_favourites():
    begun = [r for r in ROWS if r != ("iris", 1, 0.7, "10")]
    found = cells_of(ON_TEST, *(record(d, "SVM", k, a, {"C": c}) for d, k, a, c in begun))
    assert ours(found)["iris", "SVM"] == 85.0


def test_wins_are_counted_on_the_chosen_runs():
    nb = [record("iris", "NB", k, a) for k, a in ((0, 0.7), (1, 0.79))]
    table = Results.of(ON_TEST, [*(record(d, "SVM", k, a, {"C": c}) for d, k, a, c in ROWS), *nb], {}, planned=9)
    assert wins(table).loc["SVM", "NB"] == "1/1"


def test_sizes_that_lie_apart_are_rows_of_their_own_and_choose_for_themselves():
    plan = plan_of(CHAINS.narrowed(methods=["MCL"], n_splits=6), Source(None)).trials
    assert [(t.split, len(t.rows[0])) for t in plan if t.settings["l2"] == 0.1] == [
        (0, 50), (1, 100), (2, 250), (3, 50), (4, 100), (5, 250),
    ]  # fmt: skip
    rates = {(0, "0.1"): 0.9, (0, "1.0"): 0.8, (1, "0.1"): 0.7, (1, "1.0"): 0.8, (3, "0.1"): 0.5, (3, "1.0"): 0.99}
    found = cells_of(CHAINS, *(record("chains", "MCL", k, a, {"l2": c}) for (k, c), a in rates.items()))
    assert ours(found) == {("chains/10", "MCL"): 30.0, ("chains/20", "MCL"): 20.0}
    assert found["chains/10", "MCL"].planned == 20


def test_training_sets_of_sequences_are_whole_and_disjoint():
    table = Source(None).find("chains")
    splits = Splits(sizes=(10, 20), draws=5, apart=True).of(table)
    assert len(splits) == 10
    for number, (train, test) in enumerate(splits):
        assert len(set(table.sequences[train])) == (10, 20)[number % 2]
        assert not set(table.sequences[train]) & set(table.sequences[test])
        assert len(train) + len(test) == len(table.y)
    tens = [set(train) for train, _ in splits[::2]]
    assert len(set().union(*tens)) == 250


@pytest.mark.parametrize("learn", ["one", "all but one"])
def test_folds_of_sequences_are_whole_and_one_or_all_but_one_are_learned_from(learn):
    table = Source(None).find("chains")
    splits = Splits(folds=5, learn=learn).of(table)
    assert len(splits) == 5
    single = []
    for train, test in splits:
        own, others = (train, test) if learn == "one" else (test, train)
        assert len(set(table.sequences[own])) == 240
        assert not set(table.sequences[own]) & set(table.sequences[others])
        assert len(own) + len(others) == len(table.y)
        single += own.tolist()
    assert sorted(single) == list(range(len(table.y)))


def test_folds_that_the_data_come_with_are_taken():
    table = replace(Source(None).find("chains"), folds=np.arange(6000) // 5 % 3)
    for number, (train, test) in enumerate(Splits(folds=10, learn="one").of(table)):
        assert set(table.folds[train]) == {number}
        assert set(table.folds[test]) == {0, 1, 2} - {number}


def test_of_rows_one_fold_may_be_learned_from_too():
    iris = Source(None).find("iris")
    usual, swapped = Splits(folds=5).of(iris), Splits(folds=5, learn="one").of(iris)
    for (train, test), (own, others) in zip(usual, swapped, strict=True):
        assert own.tolist() == test.tolist()
        assert others.tolist() == train.tolist()


def test_too_few_sequences_for_the_folds_are_told():
    with pytest.raises(InputError, match="'chains' has 1200 usable rows; this split needs at least 1201"):
        Splits(folds=1201).of(Source(None).find("chains"))


def test_labels_of_sequences_are_those_of_the_classifier_of_sequences():
    table = Source(None).find("chains")
    X = table.features(with_sequences=True)
    train, test = Splits(sizes=(20,), draws=1).of(table)[0]
    model = build("sequences", Context(dict(table.kinds), "drop", 20.0, 0), {"method": "ml"})
    found = measure(model, (X.iloc[train], table.y.iloc[train]), (X.iloc[test], table.y.iloc[test]))
    lists = [[p.drop(columns=SEQUENCE).to_numpy() for _, p in X.iloc[r].groupby(SEQUENCE)] for r in (train, test)]
    labels = [[p.tolist() for _, p in table.y.iloc[r].groupby(table.sequences[r])] for r in (train, test)]
    tagger = mm.SequenceClassifier("ml").fit(lists[0], labels[0])
    assert found.numbers["accuracy"] == pytest.approx(tagger.score(lists[1], labels[1]))
    assert 0.95 < found.numbers["accuracy"] < 1
    assert set(SEQUENCE) & set(table.features(with_sequences=False).columns) == set()
    with pytest.raises(InputError, match="the rows are no positions of sequences"):
        model.fit(table.X, table.y)


class Counting:
    """Says "many" where at least half of the cells are there."""

    def fit(self, X, y):
        return self

    def predict(self, X):
        return np.where(X.notna().to_numpy().sum(axis=1) * 2 >= X.shape[1], "many", "few")


def test_so_many_cells_of_each_row_are_taken_out():
    X = pd.DataFrame(np.arange(40.0).reshape(4, 10)).assign(text="a")
    labels = np.array(["many"] * 4)
    found = measure(Counting(), (X, labels), (X, labels), Removal((0.0, 0.5, 0.6), 3)).numbers
    # Of 11 cells 6 stay without half of them, 4 without 0.6.
    assert [found[rate_without(share)] for share in (0.0, 0.5, 0.6)] == [1.0, 0.0, 0.0]
    ten = X.drop(columns="text")
    found = measure(Counting(), (ten, labels), (ten, labels), Removal((0.5, 0.6), 3)).numbers
    assert [found[rate_without(share)] for share in (0.5, 0.6)] == [1.0, 0.0]


def test_other_cells_are_taken_out_of_each_row_and_each_time():
    seen = []

    class Watching(Counting):
        def predict(self, X):
            seen.append(X.isna().to_numpy())
            return super().predict(X)

    X = pd.DataFrame(np.zeros((50, 8)))
    measure(Watching(), (X, np.array(["few"] * 50)), (X, np.array(["few"] * 50)), Removal((0.5,), 2))
    first, second = [gaps for gaps in seen if gaps.any()]
    assert (first.sum(axis=1) == 4).all()
    assert (second.sum(axis=1) == 4).all()
    assert (first != second).any()
    assert len(np.unique(first, axis=0)) > 20


def test_rates_without_a_share_of_the_cells_are_rows_of_the_table():
    figure = load_experiment("pernkopf2012-figure6")
    rates = {rate_without(0): 0.9, rate_without(0.1): 0.8}
    found = cells_of(figure, record("satimage", "NB-ML", 0, 0.9, None, **rates))
    assert ours(found) == {("satimage/0%", "NB-ML"): 90.0, ("satimage/10%", "NB-ML"): 80.0}


TABLE3 = load_experiment("guo2018-table3")


def test_settings_that_were_chosen_are_columns_and_their_middle_is_the_median():
    runs = [("CMM", 0, {"n_components": "1", "tau": "0.25"}), ("CMM", 1, {"n_components": "4", "tau": "0.0025"})]
    runs += [("CMM", 2, {"n_components": "4", "tau": "2.5"})]
    found = cells_of(TABLE3, *(record("iris", m, k, 0.9, chosen) for m, k, chosen in runs))
    assert ours(found) == {("iris", "tau"): 0.25, ("iris", "K"): 4.0}
    page = markdown_page(Results.of(TABLE3, [record("iris", "CMM", 0, 0.9, runs[0][2])], {}, planned=1))
    assert "| iris | tau | 0.250000 | - |" in page
    assert "K: components a class, as chosen" in page


def test_a_support_vector_machine_has_the_numbers_in_its_support_vectors():
    table = Source(None).find("wine")
    context = Context(dict(table.kinds), "drop", 20.0, 0)
    model = build("svm", context, {"C": 1.0, "gamma": 0.1})
    found = measure(model, (table.X, table.y), (table.X, table.y)).numbers
    scaled = (table.X - table.X.mean()) / table.X.std(ddof=0)
    alone = SVC(C=1.0, gamma=0.1).fit(scaled.to_numpy(), table.y)
    assert found["support_vectors"] == len(alone.support_)
    assert found["parameters"] == 13 * len(alone.support_)


def test_times_are_told_in_per_cent_of_a_column_and_averages_leave_out_what_the_paper_has_a_row_for():
    table = load_experiment("pernkopf-bilmes2008-table4")
    seconds = {("iris", "TAN-CMI"): 1.0, ("iris", "TAN-CR"): 4.0, ("mnist-14x14", "TAN-CMI"): 1.0}
    seconds |= {("mnist-14x14", "TAN-CR"): 10.0, ("corral", "TAN-CMI"): 1.0}
    found = cells_of(table, *(record(d, m, 0, 0.9, None, fit_seconds=s) for (d, m), s in seconds.items()))
    assert ours(found) == {
        ("iris", "TAN-CMI"): 25.0, ("iris", "TAN-CR"): 100.0, ("mnist-14x14", "TAN-CMI"): 10.0,
        ("mnist-14x14", "TAN-CR"): 100.0, ("average", "TAN-CMI"): 25.0, ("average", "TAN-CR"): 100.0,
    }  # fmt: skip
    assert found["average", "TAN-CMI"].why.endswith("(1 sets here)")


def test_runs_whose_time_is_told_are_runs_of_their_own():
    small = ON_TEST.narrowed(sets=["corral"], methods=["NB"], n_splits=1)
    timed = replace(small, measure="fit_seconds")
    [plain], [other] = (plan_of(e, Source(None)).trials for e in (small, timed))
    assert (plain.is_timed, other.is_timed) == (False, True)
    assert plain.key != other.key


def test_a_declaration_can_ask_for_times_that_its_cells_do_not_tell():
    assert load_experiment("practitioner").is_timed
    assert not load_experiment("peharz2012-table2").is_timed


def test_what_is_loaded_and_compiled_is_so_once_for_tables_of_a_kind(monkeypatch):
    from mmbn_opt.reproduction import _child

    table = Source(None).find("iris")
    context = Context(dict(table.kinds), "drop", 20.0, 0)
    fitted = []

    class Noting:
        def fit(self, X, y):
            fitted.append((len(X), y.nunique()))
            return self

        def predict(self, X):
            return X

    def warm(y, X=table.X):
        _child._warm_up(_child.TrialTask("tan", {}, context, (X, y), (X, y), None, True))

    monkeypatch.setattr(_child, "_warm", set())
    monkeypatch.setattr(_child, "build", lambda *_: Noting())
    warm(table.y)
    warm(table.y)
    assert fitted == [(36, 3)], "a dozen rows of each class"
    warm(table.y.replace({table.y.iloc[-1]: table.y.iloc[0]}))
    warm(table.y, table.X.mask(table.X < 3.0))
    assert fitted[1:] == [(24, 2), (36, 3)], "two classes and gaps are something else"


def test_runs_that_were_kept_before_a_measure_was_thought_of_can_be_read(tmp_path):
    told = Results.of(TABLE3, [record("iris", "CMM", 0, 0.9, {"n_components": "4", "tau": "0.25"})], {}, planned=1)
    path = tmp_path / "old.csv"
    told.frame.drop(columns=[n for n in MEASURES if n not in ("accuracy", "error")]).to_csv(path, index=False)
    again = Results.read(TABLE3, path)
    assert ours(again.cells()) == {("iris", "tau"): 0.25, ("iris", "K"): 4.0}
    assert again.frame["log_loss"].isna().all()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            BASE % "luck",
            "methods.SVM: chosen_on must be one of 'training rows', 'held-out rows', 'first split', got 'luck'",
        ),
        ("removed = [1.0]\n" + BASE % "first split", "removed must be"),
        ("removed = 3\n" + BASE % "first split", "removed must be a list of shares, got 3"),
        ('measure = "error"\nremoved = [0.5]\n' + BASE % "first split", "the measure can't be another"),
        ('relative_to = "TAN"\n' + BASE % "first split", "relative_to must be one of 'SVM', 'NB', got 'TAN'"),
        ("patterns = 0\n" + BASE % "first split", "patterns must be a whole number >= 1, got 0"),
        (BASE % "first split" + '[columns]\nK = { method = "TAN", measure = "edges" }\n', "columns.K.method must be"),
        (BASE % "first split" + '[columns]\nK = { method = "NB", measure = "luck" }\n', "columns.K.measure must be"),
        (BASE % "first split" + '[columns]\nK = { method = "NB", size = "edges" }\n', "columns.K.size is unknown"),
        (BASE % "first split" + "[columns]\nK = 3\n", "columns.K must be a table with a method and a measure, got 3"),
        (BASE % "first split" + "[splits]\napart = 1\n", "splits.apart must be true or false, got 1"),
    ],
)
def test_a_wrong_declaration_of_rows_and_columns_is_refused_with_the_place(text, message):
    with pytest.raises(InputError) as refused:
        parse_experiment("mine", text)
    assert message in str(refused.value)
