"""Declarations: those of the package are sound and short, and a wrong one is refused with the place."""

import tomllib
from pathlib import Path

import pytest

import mmbn_opt.reproduction
from mmbn_opt.exceptions import InputError
from mmbn_opt.reproduction import experiment_names, load_experiment
from mmbn_opt.reproduction.catalogue import parse_experiment
from mmbn_opt.reproduction.results import AVERAGE

FOLDER = Path(mmbn_opt.reproduction.__file__).parent / "papers"
SMALL = """
title = "Small"
source = "nowhere"
sets = ["iris"]
[methods]
NB = { kind = "naive-bayes" }
"""


@pytest.mark.parametrize("name", experiment_names())
def test_a_declaration_of_the_package_is_at_most_60_lines_and_can_be_read(name):
    text = (FOLDER / f"{name}.toml").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 60
    experiment = load_experiment(name)
    assert experiment.name == name
    quick = experiment.at("quick")
    assert quick.sets
    assert set(quick.methods) <= set(experiment.methods)
    assert quick.time_limit <= experiment.time_limit


@pytest.mark.parametrize("name", experiment_names())
def test_what_a_declaration_says_of_sets_and_methods_is_of_sets_and_methods_that_it_has(name):
    experiment = load_experiment(name)
    sets = {*experiment.sets, *experiment.absent}
    methods = {*experiment.methods, *experiment.not_run}
    assert {dataset for dataset, _ in experiment.paper} <= sets | {AVERAGE}
    assert {column for _, column in experiment.paper} <= {*experiment.shown, *experiment.not_run}
    assert {column.method for column in experiment.shown.values()} <= methods
    assert not set(experiment.absent) & set(experiment.sets)
    for key in experiment.why:
        parts = set(key.split("/")) - {"*"}
        assert parts <= sets | methods, key
    assert not set(experiment.splits.train_rows) - sets or "like" in tomllib.loads(
        (FOLDER / f"{name}.toml").read_text()
    )


def test_names_come_in_the_order_of_the_tables():
    names = list(experiment_names())
    assert names.index("peharz2012-table1") < names.index("peharz2012-table2") < names.index("peharz2012-table3")


def test_a_declaration_can_lean_on_another():
    text = 'like = "peharz2012-table2"\ntitle = "Mine"\nsets = ["iris"]\n'
    mine = parse_experiment("mine", text)
    assert mine.sets == ("iris",)
    assert mine.title == "Mine"
    assert set(mine.methods) == {"NB", "TAN", "MDL", "SM", "SBM", "SVM"}


def test_a_file_of_ones_own_is_an_experiment(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(SMALL)
    assert load_experiment(path).name == "mine"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (SMALL.replace("title", "tilte"), "'tilte' is no field of a declaration"),
        (SMALL.replace('title = "Small"', "title = 3"), "title must be a text, got 3"),
        (SMALL.replace('["iris"]', "[]"), "sets is absent or empty"),
        (SMALL.replace('["iris"]', '"iris"'), "sets must be a list of texts, got 'iris'"),
        (SMALL.replace("naive-bayes", "naive bayes"), "methods.NB: kind must be one of 'naive-bayes'"),
        (
            SMALL.replace('"naive-bayes"', '"tan", depth = 3'),
            "'tan' has no setting 'depth'; it has 'smoothing'",
        ),
        (SMALL.replace("{ kind", "{ sort"), "methods.NB has no kind"),
        (SMALL + "[splits]\nfolds = 1\n", "splits.folds must be a whole number >= 2, got 1"),
        (SMALL + "[splits]\nfold = 5\n", "splits.fold is unknown"),
        (SMALL + '[splits]\ngiven = ["iris"]\n', "splits.given must be one of"),
        (SMALL + '[splits]\nlearn = "two"\n', "splits.learn must be one of 'all but one', 'one', got 'two'"),
        (SMALL + '[splits]\ntrain_rows = { iris = "half" }\n', "splits.train_rows.iris must be a whole number >= 1"),
        (SMALL + "[quick]\nsets = 3\n", "quick.sets must be a list of texts, got 3"),
        (SMALL + '[quick]\nmethods = ["TAN"]\n', "quick.methods must be one of 'NB', got 'TAN'"),
        ('measure = "luck"\n' + SMALL, "measure must be one of 'accuracy'"),
        ('tests = ["taste"]\n' + SMALL, "tests must be one of 'wins'"),
        ("time_limit = -1\n" + SMALL, "time_limit must be a number of seconds > 0, got -1"),
        ("time_limit = true\n" + SMALL, "time_limit must be a number of seconds > 0, got True"),
        ("n_splits = 0\n" + SMALL, "n_splits must be a whole number >= 1, got 0"),
        ('like = "nothing"\n' + SMALL, "like must name another declaration of the package, got 'nothing'"),
        ('paper = "set NB\\niris"\n' + SMALL, "paper has 0 cells for 'iris', and 1 methods"),
        ('paper = "set NB\\niris 9x"\n' + SMALL, "the cell '9x' of 'iris' is no number, number±half or '-'"),
        ('paper = "iris NB"\n' + SMALL, "paper must begin with a line 'set METHOD ...'"),
        ("why = [3]\n" + SMALL, "why must be a table, got [3]"),
        ("title = ", "it is no TOML"),
    ],
)
def test_a_wrong_declaration_is_refused_with_the_place(text, message):
    with pytest.raises(InputError) as refused:
        parse_experiment("mine", text)
    assert str(refused.value).startswith("declaration 'mine': ")
    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("peharz2012-table9", "'peharz2012-table9' is no experiment"),
        ("nowhere.toml", "'nowhere.toml' can't be read: No such file or directory"),
    ],
)
def test_an_unknown_name_is_told_with_those_that_are_known(name, message):
    with pytest.raises(InputError, match="^" + message):
        load_experiment(name)


def test_the_nearest_name_is_offered():
    with pytest.raises(InputError, match="did you mean 'peharz2012-table2'"):
        load_experiment("peharz2012-tabel2")


def test_sets_and_methods_that_the_experiment_does_not_have_are_refused_by_name():
    table = load_experiment("peharz2012-table2")
    with pytest.raises(
        InputError, match="sets must name data sets of peharz2012-table2, got 'irsi'; did you mean 'iris'"
    ):
        table.narrowed(sets=["irsi"])
    with pytest.raises(InputError, match="methods must name methods of peharz2012-table2, got 'AODE'; there are 'NB'"):
        table.narrowed(methods=["AODE"])
    with pytest.raises(InputError, match="sets cannot hold 'shuttle-small': the 5,800 rows"):
        table.narrowed(sets=["shuttle-small"])
    with pytest.raises(InputError, match="splits must be a whole number >= 1, got 0"):
        table.narrowed(n_splits=0)


def test_the_figures_of_the_paper_are_read_with_their_intervals():
    paper = load_experiment("peharz2012-table2").paper
    assert paper["letter", "SVM"].value == 97.78
    assert paper["letter", "SVM"].half == 0.41
    assert ("letter", "SM") not in paper
