"""Tables of every kind: types of pandas, names, columns that say nothing, numbers that are none, shared arrays."""

import pickle
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
from table_files import write_table

import mmbn_opt as mm


def small() -> pd.DataFrame:
    return pd.DataFrame({"a": list("uvuvuv"), "b": [1, 2, 1, 2, 2, 1], "c": [True, False] * 3, "class": list("nynyyn")})


def network_of(frame: pd.DataFrame) -> mm.BayesianNetwork:
    data = mm.prepare(frame, "class").data
    return mm.BayesianNetwork.fit(mm.naive_bayes(data), data)


DTYPES: dict[str, Callable[[pd.DataFrame], pd.DataFrame]] = {
    "object": lambda f: f.astype(object),
    "string": lambda f: f.astype({"a": "string", "class": "string"}),
    "category": lambda f: f.astype("category"),
    "nullable": lambda f: f.convert_dtypes(),
    "small integers": lambda f: f.astype({"b": np.int8}),
    "unsigned": lambda f: f.astype({"b": np.uint64}),
    "pyarrow": lambda f: f.convert_dtypes(dtype_backend="pyarrow"),
    "bytes order": lambda f: f.assign(b=f["b"].to_numpy().astype(">i4")),
}


@pytest.mark.parametrize("dtype", DTYPES)
def test_pandas_dtypes(dtype: str) -> None:
    if dtype == "pyarrow":
        pytest.importorskip("pyarrow", reason="pyarrow (extra parquet) is not installed")
    plain, other = network_of(small()), DTYPES[dtype](small())
    network = network_of(other)
    assert [[str(s).removesuffix(".0") for s in v.states] for v in network.variables] == [
        [str(s) for s in v.states] for v in plain.variables
    ]
    # Fitted on one type and asked with the other, both ways.
    assert np.array_equal(network.predict_proba(small()), plain.predict_proba(small()))
    assert np.array_equal(plain.predict_proba(other), plain.predict_proba(small()))


def test_one_table_gives_one_network_whatever_its_format(kind: str, read_as: Any) -> None:
    plain = network_of(small())
    network = network_of(read_as(kind, small()))
    for mine, other in zip(network.log_cpts, plain.log_cpts, strict=True):
        assert np.array_equal(mine, other)
    assert np.array_equal(network.predict_proba(small()), plain.predict_proba(small()))


def test_columns_reordered_or_added_at_predict(kind: str, read_as: Any) -> None:
    network = network_of(small())
    mixed = read_as(kind, small()[["c", "class", "a", "b"]].assign(z=0))
    assert np.array_equal(network.predict_proba(mixed), network.predict_proba(small()))


def test_columns_missing_at_predict(kind: str, read_as: Any) -> None:
    table = read_as(kind, small()[["c", "class"]])
    with pytest.raises(mm.InputError, match=r"Columns \['a', 'b'\] are absent; the data have \['c', 'class'\]"):
        network_of(small()).predict(table)


def test_columns_missing_at_predict_on_the_command_line(command: Callable[..., Any], tmp_path: Path) -> None:
    network_of(small()).save(tmp_path / "m.json")
    small()[["c", "class"]].to_csv(tmp_path / "t.csv", index=False)
    done = command("predict", "--model", tmp_path / "m.json", "--data", tmp_path / "t.csv", "--out", tmp_path / "o.csv")
    assert done.status == 2
    assert "Columns ['a', 'b'] are absent" in done.err


def test_duplicate_names(file_kind: str, tmp_path: Path) -> None:
    double = small()[["a", "b", "a", "class"]]
    with pytest.raises(mm.InputError, match=r"repeated: \['a'\]. Rename or drop the copies"):
        mm.prepare(double, "class")
    if file_kind == "parquet":
        pytest.importorskip("pyarrow", reason="pyarrow (extra parquet) is not installed")
        with pytest.raises(ValueError, match="Duplicate column names"):
            write_table(double, file_kind, tmp_path / "t")
        return
    with pytest.raises(mm.FormatError, match=r"more than once: 'a' \(2 times\)"):
        mm.read_table(write_table(double, file_kind, tmp_path / "t"))


def test_names_that_become_one_text() -> None:
    with pytest.raises(mm.InputError, match=r"repeated: \['1'\]"):
        mm.prepare(pd.DataFrame([["u", "v", "n"]], columns=[1, "1", "class"]), "class")


def test_a_constant_column(kind: str, read_as: Any, travel: Any) -> None:
    frame = small().assign(a="same", d=1.5)
    kept = travel.place in ("as it is", "json", "uai", "networkx")
    if not kept:
        frame = frame.drop(columns="d")  # cut points, and with them numbers to predict from, do not travel there
    network = travel(network_of(read_as(kind, frame)))
    without = network_of(small()[["b", "c", "class"]])
    assert np.allclose(network.predict_proba(frame), without.predict_proba(small()), rtol=1e-12)


def test_cut_points_travel_or_become_labels(travel: Any) -> None:
    frame = pd.DataFrame({"b": [1.0, 1.5, 2.0, 7.5, 8.0, 9.5] * 4, "class": list("aaabbb") * 4})
    network = network_of(frame)
    again = travel(network)
    if travel.place in ("as it is", "json", "uai", "networkx"):
        assert again.features == network.features
        assert np.array_equal(again.predict(frame), frame["class"])
    else:
        assert again.features[0].cuts is None
        assert again.features[0].states == ("(-inf, 4.75]", "(4.75, inf)")
        assert again.predict([["(-inf, 4.75]"], ["(4.75, inf)"]]).tolist() == ["a", "b"]


def test_one_feature(kind: str, read_as: Any, travel: Any) -> None:
    network = travel(network_of(read_as(kind, small()[["a", "class"]])))
    assert np.allclose(network.predict_proba(pd.DataFrame({"a": ["u"]})), [[4 / 5, 1 / 5]], atol=1 / 5)


def test_zero_features(kind: str, read_as: Any, travel: Any) -> None:
    data = mm.prepare(read_as(kind, small()[["class"]]), "class").data
    assert data.n_features == 0
    network = travel(mm.BayesianNetwork.fit(mm.naive_bayes(data), data))
    assert np.allclose(network.predict_proba(np.empty((2, 0))), [[0.5, 0.5]] * 2, rtol=1e-12)


def test_one_class(kind: str, read_as: Any) -> None:
    data = mm.prepare(read_as(kind, small().assign(**{"class": "n"})), "class").data
    with pytest.raises(mm.InputError, match="class column 'class' holds only 'n'; margins need at least two classes"):
        data.require_learnable()
    with pytest.raises(mm.InputError, match="margins need at least two classes"):
        mm.SoftMarginStructure(data, max_parents=1, gamma=1.0)
    # A generative network of one class is defined, and sure of itself.
    network = mm.BayesianNetwork.fit(mm.naive_bayes(data), data)
    assert network.predict_proba(small()).tolist() == [[1.0]] * 6


def test_one_class_on_the_command_line(command: Callable[..., Any], tmp_path: Path) -> None:
    small().assign(**{"class": "n"}).to_csv(tmp_path / "t.csv", index=False)
    done = command(
        "structure", "--data", tmp_path / "t.csv", "--target", "class", "--score", "sm", "--out", tmp_path / "o"
    )
    assert done.status == 2
    assert "holds only 'n'; margins need at least two classes" in done.err


def test_one_sample(kind: str, read_as: Any) -> None:
    data = mm.prepare(read_as(kind, small().iloc[:1]), "class").data
    assert (data.n_samples, data.n_classes) == (1, 1)


def test_no_sample(file_kind: str, read_as: Any) -> None:
    with pytest.raises(mm.InputError, match="no rows"):
        mm.prepare(read_as(file_kind, small().iloc[:0]), "class")


def test_no_row_to_predict(kind: str, read_as: Any) -> None:
    network = network_of(small())
    assert network.predict_proba(read_as(kind, small().iloc[:0])).shape == (0, 2)


def test_read_only_arrays_and_memory_maps(tmp_path: Path) -> None:
    rows = small()[["a", "b"]].to_numpy().astype("U1")
    np.save(tmp_path / "rows.npy", rows)
    mapped = np.load(tmp_path / "rows.npy", mmap_mode="r")
    rows.setflags(write=False)
    labels = small()["class"].to_numpy().astype("U1")
    labels.setflags(write=False)
    weight = np.ones(6)
    weight.setflags(write=False)
    answers = []
    for X in (rows, mapped, np.asfortranarray(rows), rows[::-1][::-1], rows.tolist()):
        data = mm.DiscreteDataset.from_arrays(X, labels, sample_weight=weight)
        network = mm.BayesianNetwork.fit(mm.naive_bayes(data), data)
        answers.append(network.predict_proba(X))
    assert all(np.array_equal(answer, answers[0]) for answer in answers)
    codes = np.array([[0, -1], [1, 0]], dtype=np.int32)
    codes.setflags(write=False)
    assert np.isfinite(network.log_joint(codes)).all()


def test_pickled_copied_and_parallel_networks_give_the_same_answer() -> None:
    network = network_of(small())
    expected = network.predict_proba(small())
    for again in (pickle.loads(pickle.dumps(network)), deepcopy(network)):
        assert np.array_equal(again.predict_proba(small()), expected)
    parts = joblib.Parallel(n_jobs=2, prefer="threads")(
        joblib.delayed(network.predict_proba)(small().iloc[k : k + 2]) for k in (0, 2, 4)
    )
    assert np.array_equal(np.vstack(parts), expected)
    data = mm.prepare(small(), "class").data
    assert np.array_equal(pickle.loads(pickle.dumps(data)).codes, data.codes)


@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_infinite_numbers_are_refused(value: float) -> None:
    frame = small().assign(b=[1.0, 2.5, 1.0, value, 2.0, 1.0])
    for make in (
        lambda: mm.prepare(frame, "class"),
        lambda: mm.DiscreteDataset.from_frame(frame, "class"),
        lambda: mm.MDLPDiscretizer().fit(frame[["b"]], frame["class"]),
    ):
        with pytest.raises(ValueError, match=r"(?i)'b'.*(infinit|inf)|inf"):
            make()


def test_infinite_numbers_in_a_file_are_refused(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("b,class\n1.5,n\ninf,y\n2.5,n\n")
    with pytest.raises(mm.InputError, match=r"Column 'b' (is numeric, but row 1|holds) 'inf'|Column 'b' holds inf"):
        mm.prepare(mm.read_table(tmp_path / "t.csv"), "class", kinds={"b": "numeric"})
    (tmp_path / "t.arff").write_text("@relation r\n@attribute b numeric\n@attribute class {n,y}\n@data\ninf,n\n")
    with pytest.raises(mm.FormatError, match="line 5: 'inf' is not a finite number"):
        mm.read_table(tmp_path / "t.arff")


def test_infinite_numbers_at_predict_are_refused() -> None:
    frame = pd.DataFrame({"b": [1.0, 1.5, 2.0, 7.5, 8.0, 9.5] * 4, "class": list("aaabbb") * 4})
    network = network_of(frame)
    with pytest.raises(mm.InputError, match="Column 'b' holds inf at position 1; only finite numbers"):
        network.predict(pd.DataFrame({"b": [1.0, np.inf]}))
    assert np.allclose(network.predict_proba(pd.DataFrame({"b": [np.nan]})), [[0.5, 0.5]], rtol=1e-12)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -1.0])
def test_weights_that_are_none_are_refused_by_row(bad: float) -> None:
    weight = np.array([1.0, 1.0, bad, 1.0, 1.0, 1.0])
    for make in (mm.prepare, mm.DiscreteDataset.from_frame):
        with pytest.raises(mm.InputError, match=rf"finite and >= 0; row 2 has .*{bad!r}"):
            make(small().astype({"b": str, "c": str}), "class", sample_weight=weight)


def test_weight_0_is_the_row_removed(kind: str, read_as: Any) -> None:
    frame = read_as(kind, pd.concat([small(), pd.DataFrame({"a": ["w"], "b": [9], "c": [True], "class": ["x"]})]))
    for make in (mm.prepare, lambda *a, **k: mm.DiscreteDataset.from_frame(*a, **k)):
        made = make(frame, "class", sample_weight=[1, 1, 1, 1, 1, 1, 0])
        data = made.data if isinstance(made, mm.Preparation) else made
        assert (data.n_samples, data.n_dropped) == (6, 1)
        if kind != "arff":  # its states are declared
            assert data.target.states == ("n", "y")
        counts = mm.BayesianNetwork.fit(mm.naive_bayes(data), data, smoothing=0.0).cpt("class").to_numpy()[0]
        assert np.allclose(counts[:2], [0.5, 0.5], rtol=1e-14)
    with pytest.raises(mm.InputError, match=r"No row is left|no rows"):
        mm.prepare(frame, "class", sample_weight=np.zeros(7))


def test_a_time_limit_before_any_incumbent(command: Callable[..., Any], tmp_path: Path) -> None:
    data = mm.prepare(mm.load_dataset("corral"), "class").data
    result = mm.solve(mm.SoftMarginStructure(data, max_parents=2, gamma=1.0), time_limit=0.001)
    assert result.termination_status is mm.TerminationStatus.TIME_LIMIT
    if result.model is None:
        assert result.solution_status is mm.SolutionStatus.NO_SOLUTION
        assert result.bounds.primal_bound is None
    else:
        value = mm.SoftMarginStructure(data, max_parents=2, gamma=1.0).evaluate(result.model)
        assert result.bounds.primal_bound == pytest.approx(value, abs=1e-9)


def test_a_million_rows_at_predict_are_not_taken_one_by_one() -> None:
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 3, (1_000_000, 5)).astype(np.int32)
    data = mm.DiscreteDataset.from_arrays(codes[:50].astype(str), rng.integers(0, 3, 50))
    network = mm.BayesianNetwork.fit(mm.naive_bayes(data), data)
    joint = network.log_joint(np.asfortranarray(codes))
    picked = [0, 77_777, 999_999]
    expected = np.log(network.cpt("class").to_numpy())[0] + sum(
        np.log(network.cpt(f"x{j}").to_numpy())[:, codes[picked, j]].T for j in range(5)
    )
    assert np.allclose(joint[picked], expected, rtol=1e-12)
