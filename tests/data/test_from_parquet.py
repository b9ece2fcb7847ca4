"""A table read from Parquet column by column is the table read at once, with equal rows merged."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import mmbn_opt as mm
from mmbn_opt.data.readers.parquet_columns import ParquetColumns

pytest.importorskip("pyarrow", reason="reading Parquet needs pyarrow, the extra `parquet`")


def table(rows: int = 400, seed: int = 0) -> pd.DataFrame:
    """A column of every kind that cells come in; each has missing cells in the last rows of `holed`."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, rows)
    return pd.DataFrame(
        {
            "text": np.where(y == 1, "ja", rng.choice(["ja", "nein", 'ü, "x"'], rows)),
            "few": rng.integers(0, 4, rows),
            "many": rng.integers(0, 50, rows) + 20 * y,
            "number": np.round(rng.normal(y, 0.4), 3),
            "flag": rng.random(rows) < 0.5,
            "size": pd.Categorical(rng.choice(["S", "L"], rows), categories=["S", "M", "L"]),
            "day": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 30, rows) + 40 * y, unit="D"),
            "class": np.array(["a", "b", "c"])[y],
        }
    )


def holed(rows: int = 400) -> pd.DataFrame:
    frame = table(rows).astype({"few": "Int64", "flag": "boolean"})
    rng = np.random.default_rng(1)
    for name in frame.columns[:-1]:
        frame.loc[rng.random(rows) < 0.02, name] = None
    return frame


def written(frame: pd.DataFrame, folder: Path, parts: int, **options: Any) -> Path:
    """The frame as so many files of a folder, or as one file."""
    if parts == 1:
        frame.to_parquet(folder / "table.parquet", **options)
        return folder / "table.parquet"
    (folder / "deep").mkdir()
    for k, rows in enumerate(np.array_split(np.arange(len(frame)), parts)):
        frame.iloc[rows].to_parquet(folder / ("deep" if k else ".") / f"part-{k}.parquet", **options)
    return folder


def same(one: mm.DiscreteDataset, other: mm.DiscreteDataset) -> None:
    assert one.features == other.features
    assert one.target == other.target
    assert one.n_dropped == other.n_dropped
    for name in ("codes", "target_codes", "sample_weight"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    assert {str(f) for f in one.remarks} == {str(f) for f in other.remarks}


@pytest.mark.parametrize("parts", [1, 3])
@pytest.mark.parametrize(
    ("frame", "missing"), [(table(), "error"), (holed(), "drop"), (holed(), "state")], ids=["whole", "drop", "state"]
)
def test_it_is_what_prepare_makes_of_the_table(frame: pd.DataFrame, missing: Any, parts: int, tmp_path: Path) -> None:
    path = written(frame, tmp_path, parts)
    at_once = mm.prepare(frame, "class", missing=missing).data
    found = mm.DiscreteDataset.from_parquet(path, target="class", missing=missing)
    same(found, at_once.aggregate())
    assert found.total_weight == at_once.n_samples
    assert any(v.cuts for v in found.features)


def test_labels_alone_are_what_from_frame_makes_of_them(tmp_path: Path) -> None:
    frame = table()[["text", "few", "flag", "size", "class"]]
    found = mm.DiscreteDataset.from_parquet(written(frame, tmp_path, 4), target="class")
    same(found, mm.DiscreteDataset.from_frame(frame, "class").aggregate())


def test_kinds_and_columns_to_leave_out_are_those_of_prepare(tmp_path: Path) -> None:
    frame = table()
    path = written(frame, tmp_path, 2)
    kinds: Any = {"many": "categorical", "few": "numeric"}
    found = mm.DiscreteDataset.from_parquet(path, target="class", kinds=kinds, ignore=["day", "number"])
    same(found, mm.prepare(frame, "class", kinds=kinds, ignore=["day", "number"]).data.aggregate())


def test_row_numbers_that_pandas_kept_are_no_column_and_a_named_index_is_one(tmp_path: Path) -> None:
    frame = table()
    shuffled = frame.sample(frac=1.0, random_state=0)
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    unnamed = mm.DiscreteDataset.from_parquet(written(shuffled, tmp_path / "a", 2), target="class")
    assert unnamed.feature_names == tuple(frame.columns[:-1])
    indexed = frame.set_index("few")
    named = mm.DiscreteDataset.from_parquet(written(indexed, tmp_path / "b", 2), target="class")
    assert set(named.feature_names) == set(frame.columns[:-1])
    assert named.target_codes.tolist() == sorted(named.target_codes.tolist())


def test_what_is_odd_is_logged_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    frame = table().assign(same="x")
    path = written(frame, tmp_path, 3)
    with caplog.at_level("WARNING"):
        found = mm.DiscreteDataset.from_parquet(path, target="class")
    assert sum("'same'" in record.getMessage() for record in caplog.records) == 1
    assert any(finding.column == "same" for finding in found.remarks)


def other_columns(folder: Path) -> None:
    table().drop(columns="few").to_parquet(folder / "z.parquet")


def other_types(folder: Path) -> None:
    table().assign(few="many").to_parquet(folder / "z.parquet")


def cut_off(folder: Path) -> None:
    (folder / "z.parquet").write_bytes((folder / "part-0.parquet").read_bytes()[:-40])


def partitioned(folder: Path) -> None:
    (folder / "year=2020").mkdir()
    table().to_parquet(folder / "year=2020" / "p.parquet")


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (other_columns, r"z\.parquet: the file lacks \['few'\]|z\.parquet: the file lacks 'few'"),
        (other_types, r"column 'few' is of types that do not go together.*z\.parquet"),
        (cut_off, r"z\.parquet: this is no Parquet file, or a damaged one"),
        (partitioned, r"parted by folders such as 'year=2020'"),
    ],
)
def test_folders_whose_files_do_not_fit_together_are_refused_by_name(spoil: Any, said: str, tmp_path: Path) -> None:
    path = written(table(), tmp_path, 2)
    spoil(path)
    with pytest.raises(mm.InputError, match=said):
        mm.DiscreteDataset.from_parquet(path, target="class")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"target": "klass"}, "no target column 'klass'"),
        ({"target": "class", "ignore": "fwe"}, "Did you mean 'few'"),
        ({"target": "class", "kinds": {"fwe": "numeric"}}, "unknown column 'fwe'"),
        ({"target": "number"}, "regression target"),
        ({"target": "class", "missing": "later"}, "missing"),
    ],
)
def test_arguments_that_fit_no_column_are_refused(arguments: Any, said: str, tmp_path: Path) -> None:
    with pytest.raises(mm.InputError, match=said):
        mm.DiscreteDataset.from_parquet(written(table(), tmp_path, 2), **arguments)


def test_a_folder_without_files_and_a_path_that_is_none_are_told_apart(tmp_path: Path) -> None:
    with pytest.raises(mm.InputError, match=r"has no file that ends in \.parquet or \.pq"):
        mm.DiscreteDataset.from_parquet(tmp_path, target="class")
    with pytest.raises(mm.InputError, match="No such file or folder"):
        mm.DiscreteDataset.from_parquet(tmp_path / "absent", target="class")


def test_one_column_at_a_time_is_in_memory(tmp_path: Path) -> None:
    path = written(table(), tmp_path, 3)
    columns = ParquetColumns(path)
    assert columns.n_rows == 400
    assert columns.names == list(table().columns)
    assert sorted(columns.column("number").tolist()) == sorted(table()["number"].tolist())
