"""What is odd about a table is told before anything is learned: A11, A12, B1, B10, B14, B16 of the list of faults."""

import datetime
import json
import logging
import re
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import mmbn_opt as mm
from mmbn_opt.comparison.fingerprint import fingerprint
from mmbn_opt.data import DiscreteVariable
from mmbn_opt.data.findings import FindingKind, Severity
from mmbn_opt.data.inspection import label_findings

N = 120
KIND = FindingKind


def table(**columns: Any) -> pd.DataFrame:
    """An ordinary table of two features and a class that depends on them, with further columns."""
    size = np.arange(N) % 7 + 0.5
    return pd.DataFrame(
        {"size": size, "colour": np.array(["red", "blue", "green"])[np.arange(N) % 3], **columns}
    ).assign(**{"class": np.where(size > 3.0, "large", "small")})


def found_in(frame: pd.DataFrame, **options: Any) -> dict[str, FindingKind]:
    remarks = mm.prepare(frame, "class", **options).remarks
    return {finding.column: finding.kind for finding in remarks}


days = pd.date_range("2020-01-01", periods=N)
numbers = np.round(np.arange(N) * 0.37, 2).astype(str).astype(object)


def with_cells(*cells: str) -> np.ndarray[Any, Any]:
    """Numbers as text but for a few cells."""
    odd = numbers.copy()
    for k, cell in enumerate(cells):
        odd[5 * k + 3] = cell
    return odd


ODD_COLUMNS: dict[str, tuple[Any, FindingKind]] = {
    "text of its own a row": ([f"customer {k}" for k in range(N)], KIND.IDENTIFIER),
    "keys": ([f"{k * 7919 % 100003:x}" for k in range(N)], KIND.IDENTIFIER),
    "nearly unique text": ([f"some text about {k % 70}" for k in range(N)], KIND.IDENTIFIER),
    "row numbers": (np.arange(N), KIND.IDENTIFIER),
    "row numbers from 1, shuffled": (np.random.default_rng(0).permutation(N) + 1, KIND.IDENTIFIER),
    "growing numbers": (np.arange(N) * 13 + np.arange(N) % 5 + 10_000, KIND.IDENTIFIER),
    "many states": ([f"shop {k % 55}" for k in range(N)], KIND.MANY_STATES),
    "days": (days.strftime("%Y-%m-%d").tolist(), KIND.DATE_TEXT),
    "German days": (days.strftime("%d.%m.%Y").tolist(), KIND.DATE_TEXT),
    "American days": (days.strftime("%m/%d/%y").tolist(), KIND.DATE_TEXT),
    "days in words": (days.strftime("%d %b %Y").tolist(), KIND.DATE_TEXT),
    "moments as text": ((days + pd.Timedelta(hours=7)).strftime("%Y-%m-%dT%H:%M:%SZ").tolist(), KIND.DATE_TEXT),
    "one value": (["x"] * N, KIND.CONSTANT),
    "one number": ([4] * N, KIND.CONSTANT),
    "one fraction": ([4.5] * N, KIND.CONSTANT),
    "nothing about the class": (np.tile([0.5, 1.5, 2.5, 3.5, 0.1, 9.5, 7.1, 6.2, 4.4, 8.8, 1.1, 2.2], 10), KIND.NO_CUT),
    "nan": (with_cells("nan"), KIND.ODD_CELLS),
    "NULL": (with_cells("NULL", "NULL"), KIND.ODD_CELLS),
    "N/A": (with_cells("N/A", "n/a"), KIND.ODD_CELLS),
    "-": (with_cells("-", "--"), KIND.ODD_CELLS),
    "words": (with_cells("unknown", "see below"), KIND.ODD_CELLS),
    "a limit": (with_cells(">100"), KIND.ODD_CELLS),
    "few numbers": (np.array(["1", "2", "3", "NULL"])[np.arange(N) % 4], KIND.ODD_CELLS),
    "%": ([f"{text}%" for text in numbers], KIND.SIGNS),
    "$": ([f"${text}" for text in numbers], KIND.SIGNS),
    "€ behind": ([f"{text} €" for text in numbers], KIND.SIGNS),
    "unit": ([f"{text} kg" for text in numbers], KIND.SIGNS),
    "English thousands": ([f"{1000 * k + 1234:,}.50" for k in range(N)], KIND.SIGNS),
    "either decimals or thousands": ([f"{k % 9 + 1},{k + 100}" for k in range(N)], KIND.UNDECIDED_COMMA),
    "decimal commas": ([f"{k % 7},5" for k in range(N)], KIND.DECIMAL_COMMA),
    "leading zeros": ([f"{k % 40:05d}" for k in range(N)], KIND.ZEROS),
    "moments": (days[np.arange(N) % 7], KIND.MOMENTS),
}


@pytest.mark.parametrize("case", ODD_COLUMNS)
def test_an_odd_column_is_told_by_name_with_its_cure(case: str, caplog: pytest.LogCaptureFixture) -> None:
    """A11: identifiers, dates, near-unique text, numbers with a few odd cells, constant columns."""
    values, kind = ODD_COLUMNS[case]
    with caplog.at_level(logging.INFO, logger="mmbn_opt"):
        preparation = mm.prepare(table(odd=values), "class")
    (finding,) = (f for f in preparation.remarks if f.column == "odd")
    assert finding.kind is kind
    assert "'odd'" in finding.sentence
    assert finding.cure
    level = "WARNING" if finding.severity is Severity.WARNING else "INFO"
    assert [r.levelname for r in caplog.records if "'odd'" in r.getMessage()] == [level]
    assert sum("'odd'" in line for line in preparation.describe()) == 1
    assert not any("'odd'" in line for line in preparation.describe(remarks=False))
    assert {f.column for f in preparation.remarks} == {"odd"}


ORDINARY: dict[str, Any] = {
    "numbers": np.random.default_rng(1).normal(size=N),
    "whole numbers": np.random.default_rng(2).integers(0, 5000, N),
    "counts": np.arange(N) % 12,
    "codes with letters": np.array(["12A", "7C", "3B"])[np.arange(N) % 3],
    "a few dates": np.array(["2020-01-01", "2021-01-01", "2022-01-01"])[np.arange(N) % 3],
    "ranges": np.array(["0-5", "6-10", ">10"])[np.arange(N) % 3],
    "one missing word among words": np.array(["yes", "no", "unknown"])[np.arange(N) % 3],
    "two numbers as text": np.array(["0", "1"])[np.arange(N) % 2],
    "twenty states": [f"s{k % 20}" for k in range(N)],
    "bools": np.arange(N) % 2 == 0,
}


@pytest.mark.parametrize("case", ORDINARY)
def test_an_ordinary_column_is_not_remarked_upon(case: str) -> None:
    """A11: a false alarm is read once, and after that no alarm is."""
    kinds = {k for k in found_in(table(odd=ORDINARY[case])).values() if k is not KIND.NO_CUT}
    assert kinds == set()


@pytest.mark.parametrize("name", ["iris", "car", "vote", "corral", "mofn-3-7-10"])
def test_the_shipped_sets_have_nothing_odd(name: str) -> None:
    """A11."""
    frame, info = mm.load_dataset(name, return_info=True)
    assert mm.prepare(frame, info.target, missing="state").remarks == ()


@pytest.mark.parametrize("as_is", [True, False])
def test_ten_rows_of_a_small_table_are_no_reason_for_remarks(as_is: bool) -> None:
    """A11."""
    frame = pd.DataFrame({"a": list("uvwxyz"), "b": [1, 2, 3, 4, 5, 6], "class": list("nnnyyy")})
    data = mm.DiscreteDataset.from_frame(frame, "class") if as_is else mm.prepare(frame, "class").data
    assert data.remarks == ()


def test_columns_are_left_out_by_name(tmp_path: Path) -> None:
    """A11: `ignore=` of every entry; the class column and unknown names are refused."""
    frame = table(id=np.arange(N), day=days.strftime("%Y-%m-%d"))
    assert mm.prepare(frame, "class", ignore=["id", "day"]).data.feature_names == ("size", "colour")
    assert mm.prepare(frame, "class", ignore="id").data.feature_names == ("size", "colour", "day")
    text = frame.astype({"size": str})
    assert mm.DiscreteDataset.from_frame(text, "class", ignore=["id", "day"]).remarks == ()
    X, y = text.drop(columns="class"), text["class"]
    assert mm.DiscreteDataset.from_arrays(X, y, ignore=["id", "day"]).feature_names == ("size", "colour")
    assert list(mm.read_table(write(tmp_path / "t.csv", frame), ignore=["id", "day"]).columns) == [
        "size",
        "colour",
        "class",
    ]
    with pytest.raises(mm.InputError, match=r"unknown column 'Day'\. Did you mean 'day'\?"):
        mm.prepare(frame, "class", ignore=["Day"])
    with pytest.raises(mm.InputError, match="names the class column 'class'"):
        mm.prepare(frame, "class", ignore=["class"])


def write(path: Path, frame: pd.DataFrame, **options: Any) -> Path:
    frame.to_csv(path, index=False, **options)
    return path


def test_remarks_are_in_the_result_its_files_and_the_report(
    command: Callable[..., Any], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A11: a line in log, text, result.json and report; `--drop` leaves out what it names."""
    frame = table(id=np.arange(N), note=with_cells("NULL", "-"), const="k")
    data = write(tmp_path / "t.csv", frame)
    arguments = ("structure", "--data", data, "--target", "class", "--score", "bic")
    told = command(*arguments, "--out", tmp_path / "a")
    assert told.status == 0
    for name in ("id", "note", "const"):
        assert len([line for line in told.out.splitlines() if f"'{name}'" in line and "olumn" in line]) == 1
    result = json.loads((tmp_path / "a" / "result.json").read_text())
    assert {remark["column"]: remark["kind"] for remark in result["remarks"]} == {
        "id": "identifier", "note": "numbers but for a few cells", "const": "constant",
    }  # fmt: skip
    assert all(remark["sentence"] and remark["cure"] and remark["severity"] for remark in result["remarks"])
    report = (tmp_path / "a" / "report.html").read_text()
    assert "Remarks on the data" in report
    assert "numbers but for a few cells" in report
    caplog.clear()
    clean = command(*arguments, "--out", tmp_path / "b", "--drop", "id, note,const")
    assert clean.status == 0
    assert json.loads((tmp_path / "b" / "result.json").read_text())["remarks"] == []
    assert not caplog.records
    assert "Remarks on the data" not in (tmp_path / "b" / "report.html").read_text()
    refused = command(*arguments, "--out", tmp_path / "c", "--drop", "ID")
    assert refused.status == 2
    assert "--drop" in refused.err
    assert "'id'" in refused.err


@pytest.mark.parametrize("name", ["structure", "parameters", "cmm", "export", "compare"])
def test_every_command_that_reads_a_table_drops_columns(name: str, command: Callable[..., Any], tmp_path: Path) -> None:
    """A11: also a text column that Gaussian mixtures refuse."""
    frame = table().drop(columns="colour").assign(width=np.arange(N) % 5 + 0.25, note=[f"text {k}" for k in range(N)])
    data = write(tmp_path / "t.csv", frame)
    further = {
        "parameters": ("--method", "ml"), "cmm": ("--components", "1", "--time-limit", "5"), "export": (),
        "structure": ("--score", "bic"), "compare": ("--solvers", "greedy", "--time-limit", "5"),
    }  # fmt: skip
    if name == "compare":
        further["compare"] = ("--score", "bic", "--solvers", "subset_search", "--time-limit", "5")
    out = tmp_path / ("p.mps" if name == "export" else "out")
    done = command(name, "--data", data, "--target", "class", "--out", out, "--drop", "note", *further[name])
    assert done.status in (0, 1), done.err
    assert "note" not in done.out


def test_mixtures_hear_of_odd_columns_too(caplog: pytest.LogCaptureFixture) -> None:
    """A11, A12: the same look at a matrix of numbers."""
    frame = table(id=np.arange(N), const=1.5).drop(columns="colour")
    X, y = frame.drop(columns="class"), frame["class"]
    with caplog.at_level(logging.WARNING, logger="mmbn_opt"):
        model = mm.CMMClassifier(n_components=1, iterations=5).fit(X, y)
    names = {f"x{j}": name for j, name in enumerate(X.columns)}
    assert {names[f.column]: f.kind for f in model.result_.remarks} == {"id": KIND.IDENTIFIER, "const": KIND.CONSTANT}
    assert len(caplog.records) == 2  # once, however many programs there are
    with pytest.raises(mm.InputError, match="regression target"):
        mm.MixtureClassifier.fit(X, np.arange(N) * 0.5)


TARGETS: dict[str, Any] = {
    "fractions": np.round(np.arange(N) * 0.1, 1) % 5.3,
    "fractions, decimals": [Decimal(k % 40) / 8 for k in range(N)],
    "fractions, nullable": pd.array(np.arange(N) % 41 / 4, dtype="Float64"),
    "fractions as text with a few other cells": [str(k % 40 / 8) if k else "n/a" for k in range(N)],
    "fractions with commas": [str(k % 40 / 8).replace(".", ",") for k in range(N)],
    "prices": np.arange(N) * 37 % 1009 + 1000,
    "prices, some twice": np.arange(N) // 2 * 37 + np.arange(N) % 2 * 5,
    "names": [f"row {k}" for k in range(N)],
    "moments": days,
    "row numbers": np.arange(N),
}


@pytest.mark.parametrize("case", TARGETS)
def test_a_regression_target_is_refused(case: str) -> None:
    """A12: as the classifiers refuse it, whatever the entry."""
    frame = table().assign(**{"class": TARGETS[case]})
    with pytest.raises(mm.InputError, match=r"The class column 'class' .*(regression target|another label in each)"):
        mm.prepare(frame, "class")
    with pytest.raises(mm.InputError, match="The class column 'class'"):
        mm.DiscreteDataset.from_frame(frame.drop(columns="size"), "class")


def test_a_regression_target_is_refused_on_the_command_line(command: Callable[..., Any], tmp_path: Path) -> None:
    """A12: 43 lengths of petals are no classes, for networks and for mixtures."""
    data = write(tmp_path / "iris.csv", mm.load_dataset("iris"))
    for name in ("structure", "parameters", "export"):
        refused = command(name, "--data", data, "--target", "petal_length", "--out", tmp_path / f"of-{name}")
        assert refused.status == 2
        assert "regression target" in refused.err
        assert "43 different values in 150 rows" in refused.err
    refused = command("cmm", "--data", data, "--target", "petal_length", "--out", tmp_path / "x", "--drop", "class")
    assert refused.status == 2
    assert "'petal_length' holds numbers with fractions" in refused.err


@pytest.mark.parametrize(
    "labels",
    [
        np.arange(N) % 26,
        np.arange(N) % 3 + 0.0,
        np.where(np.arange(N) % 2, 1.5, 2.5),
        [str(k % 12) for k in range(N)],
        pd.Categorical(np.arange(N) % 40),
        np.arange(N) % 2 == 0,
    ],
    ids=["letters", "whole floats", "two halves", "texts", "categories", "bools"],
)
def test_classes_are_no_regression_target(labels: Any) -> None:
    """A12."""
    frame = table().assign(**{"class": labels})
    assert mm.prepare(frame, "class").data.n_classes == pd.Series(labels).nunique()


def test_classes_of_one_row_and_of_a_few_rows_are_told() -> None:
    """A11: classes with one row; a row of weight 3 is no single one."""
    labels = np.where(np.arange(N) % 2, "a", "b").astype(object)
    labels[0] = "alone"
    frame = table().assign(**{"class": labels})
    assert found_in(frame)["class"] is KIND.SINGLE_ROW_CLASS
    assert "'alone'" in str(mm.prepare(frame, "class").remarks[-1])
    assert "class" not in found_in(frame, sample_weight=np.full(N, 3.0))
    assert found_in(table().assign(**{"class": np.arange(N) // 2 % 40}))["class"] is KIND.MANY_CLASSES


def moments(unit: str) -> pd.Series:
    return pd.Series(days.to_numpy().astype(f"datetime64[{unit}]"))


MOMENTS: dict[str, pd.Series] = {
    **{f"datetime64[{u}]": moments(u) for u in ("s", "ms", "us", "ns")},
    **{f"timedelta64[{u}]": moments(u) - moments(u).iloc[0] for u in ("s", "ms", "us", "ns")},
    "with a zone": pd.Series(days.tz_localize("Europe/Berlin")),
    "in UTC": pd.Series(days.tz_localize("UTC")),
    "periods": pd.Series(days.to_period("D")),
    "dates": pd.Series([d.date() for d in days], dtype=object),
    "Python moments": pd.Series([d.to_pydatetime() for d in days], dtype=object),
    "Timestamps": pd.Series(list(days), dtype=object),
    "Periods": pd.Series(list(days.to_period("D")), dtype=object),
    "Timedeltas": pd.Series([datetime.timedelta(hours=k) for k in range(N)], dtype=object),
    "times of day": pd.Series([datetime.time(k // 60, k % 60) for k in range(N)], dtype=object),
}
HALVES = np.array(["early"] * (N // 2) + ["late"] * (N // 2))


@pytest.mark.parametrize("case", MOMENTS)
def test_moments_are_numbers_as_features(case: str, tmp_path: Path) -> None:
    """B1: fit, predict, save, load; other rows and the rows of training alike."""
    X = pd.DataFrame({"when": MOMENTS[case], "z": np.arange(N) // 2 % 2})
    model = mm.NaiveBayesClassifier().fit(X.iloc[::2], HALVES[::2])
    assert model.preparation_.kinds["when"] == "numeric"
    assert len(model.network_.features[0].cuts) == 1
    assert model.score(X, HALVES) == 1.0
    model.network_.save(tmp_path / "m.json")
    again = mm.BayesianNetwork.load(tmp_path / "m.json")
    assert np.array_equal(again.predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize("unit", ["D", "s", "ns"])
@pytest.mark.parametrize("kind", ["datetime64", "timedelta64"])
def test_arrays_of_moments_are_numbers(kind: str, unit: str) -> None:
    """B1: days too, which NumPy has and pandas has not; networks and mixtures."""
    moment = days.to_numpy().astype(f"datetime64[{unit}]")[:, None]
    X = moment if kind == "datetime64" else moment - moment[0]
    for model in (mm.NaiveBayesClassifier(), mm.CMMClassifier(n_components=1, iterations=20)):
        assert model.fit(X, HALVES).score(X, HALVES) > 0.95


def test_moments_are_cut_by_the_discretizer_too() -> None:
    """B1."""
    frame = pd.DataFrame({"when": moments("ms"), "how long": moments("ms") - moments("ms").iloc[0]})
    codes = mm.MDLPDiscretizer().fit(frame, HALVES).transform(frame)
    assert codes.tolist() == [[0, 0]] * (N // 2) + [[1, 1]] * (N // 2)
    array = frame[["when"]].to_numpy()
    assert mm.MDLPDiscretizer().fit(array, HALVES).transform(array).tolist() == codes[:, :1].tolist()


def test_unlabelled_rows_that_were_left_out_are_told() -> None:
    """A11."""
    (finding,) = label_findings(pd.Series(["a", "b"] * 10), "class", unlabelled=3)
    assert str(finding).startswith("Column 'class' (3 rows): rows without a label, which were left out.")


def test_a_unit_of_time_does_not_matter_at_prediction() -> None:
    """B1: seconds in training, nanoseconds, dates and text later."""
    model = mm.NaiveBayesClassifier().fit(pd.DataFrame({"when": moments("s")}), HALVES)
    for values in (moments("ns"), MOMENTS["dates"], pd.Series(days.strftime("%Y-%m-%d")), MOMENTS["in UTC"]):
        assert model.score(pd.DataFrame({"when": values}), HALVES) == 1.0
    assert model.network_.features[0].states[0].startswith("(-inf, 2020-02-2")
    assert "2020-02-2" in model.preparation_.describe()[0]


@pytest.mark.parametrize("case", [c for c in MOMENTS if c != "Timedeltas"])
def test_moments_are_labels_as_labels(case: str, tmp_path: Path) -> None:
    """B1: `classes_` and predictions in the type that was given; networks and mixtures, saved and loaded."""
    labels = MOMENTS[case].iloc[[3] * (N // 2) + [80] * (N // 2)].reset_index(drop=True)
    X = pd.DataFrame({"x0": np.arange(N) / 3.0})
    for y in (labels, labels.to_numpy()):
        network, mixture = mm.NaiveBayesClassifier().fit(X, y), mm.CMMClassifier(n_components=1, iterations=20)
        mixture.fit(X.to_numpy(), y)
        for model in (network, mixture):
            assert model.classes_.dtype == np.asarray(y).dtype
            assert len(model.classes_) == 2
            predicted = model.predict(X if model is network else X.to_numpy())
            assert (pd.Series(predicted) == pd.Series(np.asarray(y))).mean() > 0.95
        network.network_.save(tmp_path / "n.json")
        again = mm.BayesianNetwork.load(tmp_path / "n.json")
        assert (pd.Series(again.predict(X)) == pd.Series(network.predict(X))).all()
        mixture.model_.save(tmp_path / "m.json")
        loaded = mm.MixtureClassifier.load(tmp_path / "m.json")
        assert (pd.Series(loaded.predict(X.to_numpy())) == pd.Series(mixture.predict(X.to_numpy()))).all()


def test_a_missing_moment_is_a_missing_cell_and_no_label() -> None:
    """B1: NaT."""
    X = pd.DataFrame({"when": moments("us").where(np.arange(N) != 5)})
    with pytest.raises(mm.InputError, match="Missing cells in 'when'"):
        mm.NaiveBayesClassifier().fit(X, HALVES)
    assert mm.NaiveBayesClassifier(missing="state").fit(X, HALVES).score(X, HALVES) > 0.95
    y = days.to_numpy().astype("datetime64[D]")[np.arange(N) % 2].copy()
    y[4] = np.datetime64("NaT")
    with pytest.raises(mm.InputError, match="labels are missing"):
        mm.NaiveBayesClassifier().fit(X.fillna(days[0]), y)


@pytest.mark.parametrize("case", MOMENTS)
def test_states_that_are_moments_are_seen_again_and_saved(case: str, tmp_path: Path) -> None:
    """B1: `from_frame` takes every value as a state."""
    values = MOMENTS[case].iloc[[3, 80] * (N // 2)].reset_index(drop=True)
    frame = pd.DataFrame({"when": values, "class": ["a", "b"] * (N // 2)})
    data = mm.DiscreteDataset.from_frame(frame, "class")
    network = mm.BayesianNetwork.fit(mm.naive_bayes(data), data)
    network.save(tmp_path / "m.json")
    again = mm.BayesianNetwork.load(tmp_path / "m.json")
    assert again.features[0].states == network.features[0].states
    assert again.predict(frame).tolist() == frame["class"].tolist()


def test_decimal_commas_are_numbers_in_training_and_later(command: Callable[..., Any], tmp_path: Path) -> None:
    """A11: a German table; the same rows with points are the same rows."""
    frame = table()
    data = write(tmp_path / "de.csv", frame, sep=";", decimal=",")
    out = ("--target", "class", "--out", tmp_path / "m")
    assert command("parameters", "--data", data, *out, "--method", "ml").status == 0
    network = mm.BayesianNetwork.load(tmp_path / "m" / "model.json")
    assert network.features[0].cuts == mm.prepare(frame, "class").data.features[0].cuts
    german = mm.read_table(data)
    assert np.array_equal(network.predict_proba(german), network.predict_proba(frame))
    assert mm.prepare(german, "class", kinds={"size": "categorical"}).data.features[0].cuts is None


def test_dates_as_text_are_moments_where_that_is_asked(command: Callable[..., Any], tmp_path: Path) -> None:
    """A11: the cure that the remark names."""
    data = write(tmp_path / "t.csv", pd.DataFrame({"day": days.strftime("%Y-%m-%d"), "class": HALVES}))
    run = ("--data", data, "--target", "class", "--out", tmp_path / "m", "--method", "ml", "--numeric", "day")
    assert command("parameters", *run).status == 0
    network = mm.BayesianNetwork.load(tmp_path / "m" / "model.json")
    assert network.features[0].states == ("(-inf, 2020-02-29T12:00:00]", "(2020-02-29T12:00:00, inf)")
    done = command("predict", "--model", tmp_path / "m", "--data", data, "--out", tmp_path / "p.csv")
    assert "accuracy: 1.0000" in done.out


@pytest.mark.parametrize("name", ["structure", "parameters", "cmm"])
def test_the_model_remembers_what_was_read_as_missing(name: str, command: Callable[..., Any], tmp_path: Path) -> None:
    """A11: `predict` reads as training did, unless it is told otherwise."""
    frame = table().drop(columns="colour").assign(width=with_cells("NULL", "-"))
    data = write(tmp_path / "t.csv", frame)
    further = {
        "structure": ("--score", "bic", "--missing", "state"), "parameters": ("--method", "ml", "--missing", "drop"),
        "cmm": ("--components", "1", "--missing", "drop", "--time-limit", "5"),
    }  # fmt: skip
    learned = command(
        name, "--data", data, "--target", "class", "--out", tmp_path / "m", "--na", "NULL,-", *further[name]
    )
    assert learned.status in (0, 1), learned.err
    assert json.loads((tmp_path / "m" / "model.json").read_text())["na_values"] == ["", "NULL", "-"]
    predict = ("predict", "--model", tmp_path / "m", "--data", data, "--out", tmp_path / "p.csv")
    assert command(*predict).status == 0
    refused = command(*predict, "--na", "NaN")
    assert refused.status == 2
    assert "width" in refused.err


def test_what_was_read_as_missing_is_part_of_the_network(tmp_path: Path) -> None:
    """A11: without it a model file is as it was; with nonsense in it the file is refused."""
    data = mm.prepare(table(), "class").data
    network = mm.BayesianNetwork.fit(mm.naive_bayes(data), data)
    network.save(tmp_path / "m.json")
    content = json.loads((tmp_path / "m.json").read_text())
    assert "na_values" not in content
    assert mm.BayesianNetwork.load(tmp_path / "m.json").na_values is None
    (tmp_path / "x.json").write_text(json.dumps(content | {"na_values": ["NULL", 3]}))
    with pytest.raises(mm.FormatError, match="na_values"):
        mm.BayesianNetwork.load(tmp_path / "x.json")


def test_an_edge_at_a_column_without_a_cut_says_so(caplog: pytest.LogCaptureFixture) -> None:
    """B10: the column is named as what it is; where the edge is possible, it is there."""
    frame = table(age=ODD_COLUMNS["nothing about the class"][0])
    with caplog.at_level(logging.INFO, logger="mmbn_opt"):
        data = mm.prepare(frame, "class").data
    assert "'age': got no cut, hence constant" in caplog.text
    required = (("class", "age"), ("size", "age"))
    with pytest.raises(mm.InputError, match="'age' got no cut and is constant"):
        mm.solve(mm.SoftMarginStructure(data, max_parents=1, required_edges=required))
    result = mm.solve(mm.SoftMarginStructure(data, max_parents=1, required_edges=required[:1]))
    assert result.model.parents["age"] == ["class"]
    assert [f.kind for f in result.remarks] == [KIND.NO_CUT]


LONG = "x" * 20_000


def long_messages() -> dict[str, Callable[[], Any]]:
    many = [f"state {k} {LONG}" for k in range(40)]
    wide = pd.DataFrame({f"column {k} {LONG}": ["a", "b"] * 2 for k in range(60)}).assign(**{"class": list("nyny")})
    text = pd.DataFrame({"a": many, "class": list("nyny") * 10})
    data = mm.DiscreteDataset.from_frame(text, "class")
    network = mm.BayesianNetwork.fit(mm.naive_bayes(data), data)
    gaps = wide.assign(**{c: ["a", None, "b", "b"] for c in wide.columns[:-1]})
    numeric = pd.DataFrame({"a": [1.5, 2.5, LONG, 3.5], "class": list("nyny")})
    return {
        "unseen states": lambda: network.predict(pd.DataFrame({"a": [LONG, *"bcdefg"]}), unseen="error"),
        "target": lambda: mm.prepare(wide, "klass"),
        "long target": lambda: mm.prepare(wide, LONG),
        "kinds": lambda: mm.prepare(wide, "class", kinds={LONG: "numeric"}),
        "kind": lambda: mm.prepare(wide, "class", kinds={wide.columns[0]: LONG}),  # type: ignore[dict-item]
        "ignore": lambda: mm.prepare(wide, "class", ignore=[LONG]),
        "absent columns": lambda: network.predict(wide),
        "missing cells": lambda: mm.prepare(gaps, "class"),
        "cell of a numeric column": lambda: mm.prepare(numeric, "class", kinds={"a": "numeric"}),
        "edges": lambda: mm.Structure.from_names(list(wide.columns[:-1]), "class", [(LONG, "class")]),
        "node": lambda: network.cpt(LONG),
        "cycle": lambda: mm.Structure.from_names(
            list(wide.columns[:-1]), "class", [*zip(wide.columns[:-2], wide.columns[1:-1], strict=True),
                                               (wide.columns[-2], wide.columns[0])],
        ),
        "argument": lambda: mm.NaiveBayesClassifier(unseen=LONG).fit(wide.drop(columns="class"), wide["class"]),
        "columns of a mixture": lambda: mm.MixtureClassifier.fit(wide.drop(columns="class"), wide["class"]),
        "repeated names": lambda: mm.prepare(pd.concat([wide, wide], axis=1), "class"),
        "duplicate states": lambda: DiscreteVariable("a", (*many, many[0])),
    }  # fmt: skip


@pytest.mark.parametrize("case", sorted(long_messages()))
def test_no_message_is_longer_than_can_be_read(case: str) -> None:
    """B14: a few states and columns, 60 characters of each."""
    with pytest.raises(mm.InputError) as caught:
        long_messages()[case]()
    assert len(str(caught.value)) <= 1_300
    assert max(map(len, re.findall(r"x+", str(caught.value)))) <= 60


def test_remarks_on_wide_tables_are_short(caplog: pytest.LogCaptureFixture) -> None:
    """B14: 300 columns of one value make one line."""
    frame = table(**{f"constant {k} {LONG}": "k" for k in range(300)})
    with caplog.at_level(logging.WARNING, logger="mmbn_opt"):
        mm.prepare(frame, "class")
    (record,) = caplog.records
    assert len(record.getMessage()) < 1_500
    assert "and 294 more" in record.getMessage()


def test_what_no_place_has_cut_is_cut_by_the_error_itself() -> None:
    """B14: the cure stands at the end and stays."""
    message = str(mm.InputError(f"Wrong: {LONG}. Mend it."))
    assert len(message) <= 2_000
    assert message.startswith("Wrong: x")
    assert message.endswith("Mend it.")


def numbered() -> pd.DataFrame:
    return pd.DataFrame({0: [0, 1] * 10, 1: [0, 1, 1, 0] * 5, 2: list("ab") * 10})


@pytest.mark.parametrize("name", [1, np.int64(1), np.uint8(1), "1"], ids=repr)
@pytest.mark.parametrize("from_file", [False, True], ids=["frame", "file"])
def test_a_name_that_is_a_number_is_found(name: Any, from_file: bool, tmp_path: Path) -> None:
    """B16: target, kinds, ignore, edges and nodes; frames with integer columns and files with integer headers."""
    frame = mm.read_table(write(tmp_path / "t.csv", numbered())) if from_file else numbered()
    other = type(name)(0)
    data = mm.prepare(frame, name, kinds={other: "categorical"}, ignore=[2]).data
    assert (data.feature_names, data.class_name) == (("0",), "1")
    assert mm.DiscreteDataset.from_frame(frame, name).class_name == "1"
    assert (
        mm.DiscreteDataset.from_arrays(frame[frame.columns[:1]], frame[frame.columns[1]], class_name=name) is not None
    )
    formulation = mm.SoftMarginStructure(data, required_edges=((name, other),))
    assert mm.solve(formulation).model.parents["0"] == ["1"]
    network = mm.BayesianNetwork.fit(mm.Structure.from_names([other], name, [(name, other)]), data)
    assert network.cpt(other).shape == (2, 2)


@pytest.mark.parametrize("key", [1, np.int64(1), "x1"], ids=repr)
def test_kinds_of_an_array_are_given_by_position_or_name(key: Any) -> None:
    """B16: the columns of an array are called x0, x1."""
    X, y = numbered()[[0, 1]].to_numpy(), [0, 1] * 10
    model = mm.NaiveBayesClassifier(kinds={key: "numeric"}).fit(X, y)
    assert dict(model.preparation_.kinds) == {"x0": "categorical", "x1": "numeric"}
    with pytest.raises(mm.InputError, match="unknown column '7'"):
        mm.NaiveBayesClassifier(kinds={7: "numeric"}).fit(X, y)


def test_remarks_do_not_make_other_data_of_the_same_rows() -> None:
    """A11: a stored comparison is found again, whatever is remarked upon."""
    data = mm.prepare(table(id=np.arange(N)), "class").data
    assert data.remarks
    assert fingerprint(data) == fingerprint(replace(data, remarks=()))
    assert fingerprint(data) != fingerprint(replace(data, n_dropped=1))
    assert data.subset([0, 1]).remarks == data.aggregate().remarks == data.remarks
