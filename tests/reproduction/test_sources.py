"""Where tables come from, and which of their rows are held out."""

import json

import numpy as np
import pandas as pd
import pytest

import mmbn_opt as mm
from mmbn_opt.exceptions import InputError
from mmbn_opt.reproduction import Splits
from mmbn_opt.reproduction.sources import Source, where_to_get


@pytest.fixture
def folder(tmp_path):
    frame = pd.DataFrame({"a": [1.5, 2.5, 3.5, None], "b": ["x", "y", "x", "y"], "class": ["p", "q", "p", "q"]})
    frame.to_csv(tmp_path / "mine.csv", index=False)
    return tmp_path


def manifest(folder, **changes):
    entry = {"name": "mine", "file": "mine.csv", "feature_kinds": ["numeric", "categorical"], "train_rows": 2} | changes
    (folder / "manifest.json").write_text(json.dumps([entry]))
    return folder


@pytest.mark.parametrize("name", ["iris", "car", "vote", "corral", "mofn-3-7-10"])
def test_sets_of_the_package_need_no_folder(name):
    table = Source(None).find(name)
    frame, info = mm.load_dataset(name, return_info=True)
    assert table.X.shape == (len(frame), info.features)
    assert table.y.tolist() == frame["class"].tolist()
    assert dict(table.kinds) == info.kinds
    assert table.train_rows == info.train_rows


@pytest.mark.parametrize(("name", "shape", "classes"), [("wine", (178, 13), 3), ("wdbc", (569, 30), 2)])
def test_sets_of_scikit_learn_need_no_folder(name, shape, classes):
    table = Source(None).find(name)
    assert (table.X.shape, table.y.nunique(), table.origin) == (shape, classes, "scikit-learn")
    assert set(table.kinds.values()) == {"numeric"}


def test_a_set_of_the_folder_goes_before_that_of_the_package(folder):
    pd.DataFrame({"a": ["x", "y"], "class": ["p", "q"]}).to_csv(folder / "iris.csv", index=False)
    assert Source(folder).find("iris").X.shape == (2, 1)
    assert Source(folder).find("corral").origin == "mmbn_opt"


@pytest.mark.parametrize("ending", [".csv", ".csv.gz", ".parquet"])
def test_a_file_is_found_by_its_name_and_columns_of_numbers_are_numeric(tmp_path, ending):
    frame = pd.DataFrame({"a": [1.5, 2.5], "b": ["x", "y"], "label": ["p", "q"]})
    write = frame.to_parquet if ending == ".parquet" else frame.to_csv
    write(tmp_path / f"mine{ending}", index=False)
    table = Source(tmp_path).find("mine")
    assert dict(table.kinds) == {"a": "numeric", "b": "categorical"}
    assert table.y.tolist() == ["p", "q"], "the last column is the class where none is called so"


def test_a_manifest_says_kinds_and_split_and_may_lie_one_folder_down(folder):
    table = Source(manifest(folder, feature_kinds=["categorical", "categorical"])).find("mine")
    assert (dict(table.kinds), table.train_rows) == ({"a": "categorical", "b": "categorical"}, 2)
    assert table.X["a"].tolist()[:3] == ["1.5", "2.5", "3.5"]
    below = folder / "above"
    (below / "data").mkdir(parents=True)
    (folder / "mine.csv").rename(below / "data" / "mine.csv")
    (folder / "manifest.json").rename(below / "data" / "manifest.json")
    assert Source(below).find("mine").train_rows == 2


def test_the_manifest_of_the_reference_data_is_understood(shared_dir, shared_manifest):
    for name in ("wine", "adult", "vote"):
        table, entry = Source(shared_dir / "data").find(name), shared_manifest[name]
        assert table.X.shape == (entry["rows"], entry["features"])
        assert table.train_rows == entry["train_rows"]
        assert int(table.X.isna().any(axis=1).sum()) == entry["rows_with_missing"]


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda f: manifest(f, file="gone.csv"), "there is no such file"),
        (lambda f: manifest(f, feature_kinds=["numeric"]), "lists 1 kinds for 'mine', whose file has 2 features"),
        (lambda f: manifest(f, feature_kinds=["numeric", "text"]), "each must be one of numeric, categorical"),
        (lambda f: manifest(f, feature_kinds=["numeric", "numeric"]), "Column 'b' of .* should hold numbers"),
        (lambda f: (f / "manifest.json").write_text("{"), "is no list of data sets"),
        (lambda f: (f / "manifest.json").write_text('{"a": 1}'), "is no list of data sets"),
        (lambda f: (f / "mine.csv").write_text("a,class\n"), "has no rows"),
        (lambda f: (f / "mine.csv").write_text("class\np\nq\n"), "no features beside the class"),
        (lambda f: (f / "mine.csv").write_text("a,class\n1,p\n2,\n"), "has rows without a class, the first in row 2"),
        (lambda f: (f / "mine.csv").write_bytes(b"PK\x03\x04 no table"), "mine.csv"),
    ],
)
def test_a_folder_that_cannot_be_used_is_told(folder, spoil, message):
    spoil(folder)
    with pytest.raises(InputError, match=message):
        Source(folder).find("mine")


def test_a_folder_that_is_not_there_is_told(tmp_path):
    with pytest.raises(InputError, match="data must be a folder with one file a data set; there is no folder"):
        Source(tmp_path / "nowhere")
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="there is no folder"):
        Source(tmp_path / "file")


def test_a_set_that_is_not_here_is_none_and_it_is_said_where_to_get_it():
    assert Source(None).find("letter") is None
    assert where_to_get("adult").endswith("openml.org has such a set as 'adult'")
    assert where_to_get("mnist-14x14").startswith("put mnist.csv")
    assert where_to_get("of my own") == "put of my own.csv, with a column 'class', into the folder of data"


def test_small_pictures_have_every_second_pixel_of_every_second_line(tmp_path):
    pixels = pd.DataFrame(np.arange(3 * 784).reshape(3, 784), columns=[f"p{j}" for j in range(784)])
    pixels.assign(**{"class": ["a", "b", "a"]}).to_csv(tmp_path / "mnist.csv", index=False)
    small = Source(tmp_path).find("mnist-14x14")
    assert small.X.shape == (3, 196)
    assert [small.X[f"x{j}"].iloc[1] - 784 for j in (0, 1, 13, 14, 195)] == [0, 2, 26, 56, 26 * 28 + 26]
    assert set(small.kinds) == set(small.X)


def test_folds_hold_out_each_row_once_and_stay_the_same():
    iris = Source(None).find("iris")
    splits = Splits(folds=5).of(iris)
    assert sorted(np.concatenate([test for _, test in splits])) == list(range(150))
    for train, test in splits:
        assert not set(train) & set(test)
        assert iris.y.iloc[test].value_counts().tolist() == [10, 10, 10]
    again = Splits(folds=5).of(iris)
    assert all((a[1] == b[1]).all() for a, b in zip(splits, again, strict=True))
    assert any((a[1] != b[1]).any() for a, b in zip(splits, Splits(folds=5, seed=1).of(iris), strict=True))


def test_folds_in_order_are_blocks_whatever_their_classes():
    wine = Source(None).find("wine")
    splits = Splits(folds=5, in_order=True).of(wine)
    assert np.concatenate([test for _, test in splits]).tolist() == list(range(178))
    assert {len(test) for _, test in splits} == {35, 36}
    assert all(len(np.intersect1d(train, test)) == 0 and len(train) + len(test) == 178 for train, test in splits)
    assert wine.y.iloc[splits[0][1]].nunique() == 1


def test_the_split_that_the_data_come_with_is_taken_where_it_has_the_wanted_size():
    table = Source(None).find("mofn-3-7-10")
    [(train, test)] = Splits(train_rows={"mofn-3-7-10": 300}).of(table)
    assert train.tolist() == list(range(300))
    assert test.tolist() == list(range(300, 1324))
    [(drawn, _)] = Splits(train_rows={"mofn-3-7-10": 400}).of(table)
    assert len(drawn) == 400
    assert drawn.tolist() != list(range(400))
    assert len(Splits(train_rows={"mofn-3-7-10": 400}, draws=3).of(table)) == 3
    assert len(Splits(train_rows={"mofn-3-7-10": 400}, draws=3, given=["mofn-3-7-10"]).of(table)) == 1


def test_rows_with_missing_cells_are_left_out_where_that_is_asked_for():
    vote = Source(None).find("vote")
    complete = np.flatnonzero(~vote.X.isna().any(axis=1))
    assert len(complete) == 232
    splits = Splits(folds=5).of(vote, complete_only=True)
    assert sorted(np.concatenate([test for _, test in splits])) == complete.tolist()
    assert sum(len(test) for _, test in Splits(folds=5).of(vote)) == 435


def test_small_training_sets_are_disjoint_where_possible():
    iris = Source(None).find("iris")
    splits = Splits(sizes=[10, 50], draws=4).of(iris)
    assert [len(train) for train, _ in splits] == [10] * 4 + [50] * 4
    assert len(set(np.concatenate([train for train, _ in splits[:4]]))) == 40
    assert len(set(np.concatenate([train for train, _ in splits[4:7]]))) == 150
    for train, test in splits:
        assert sorted([*train, *test]) == list(range(150))


def test_small_training_sets_have_more_than_one_class_where_that_can_be(tmp_path):
    frame = pd.DataFrame({"a": ["x"] * 100, "class": ["p"] * 90 + ["q"] * 10})
    frame.to_csv(tmp_path / "rare.csv", index=False)
    rare = Source(tmp_path).find("rare")
    for seed in range(5):
        for train, _ in Splits(sizes=[10], draws=5, seed=seed).of(rare):
            assert rare.y.iloc[train].nunique() == 2
    frame.assign(**{"class": "p"}).to_csv(tmp_path / "one.csv", index=False)
    assert len(Splits(sizes=[10], draws=5).of(Source(tmp_path).find("one"))) == 5


def test_hundred_sets_of_five_rows_have_two_classes_each_and_stay_disjoint():
    table = Source(None).find("skewed-top-0.60")
    splits = Splits(sizes=[5], draws=100).of(table)
    assert all(table.y.iloc[train].nunique() == 2 for train, _ in splits)
    assert len(set(np.concatenate([train for train, _ in splits]))) == 500
    assert all(len(train) == 5 and len(test) == 5995 for train, test in splits)
    again = Splits(sizes=[5], draws=100).of(table)
    assert all(a[0].tolist() == b[0].tolist() for a, b in zip(splits, again, strict=True))


@pytest.mark.parametrize("splits", [Splits(folds=200), Splits(train_rows={"iris": 150}), Splits(sizes=[150])])
def test_too_few_rows_for_a_split_are_told(splits):
    with pytest.raises(InputError, match="The data set 'iris' has 150 usable rows; this split needs at least"):
        splits.of(Source(None).find("iris"))
