"""013: limits in proportion to file and memory; what is written can be read, and is warned of before."""

import gzip
import logging
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import mmbn_opt as mm
from mmbn_opt.data import counts
from mmbn_opt.data.readers import limits as memory
from mmbn_opt.interop import limits

SPARSE = "".join(f"@attribute c{j} numeric\n" for j in range(100))
Travel = Callable[[mm.BayesianNetwork], mm.BayesianNetwork]


def named_rows(rows: int = 400, classes: int = 3) -> mm.BayesianNetwork:
    """TAN of a column that names each row, which is a parent or a child of the others."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({
        "name": [f"row {k}" for k in range(rows)],
        "a": rng.integers(0, 5, rows).astype(str),
        "b": rng.integers(0, 4, rows).astype(str),
        "class": np.arange(rows) % classes,
    })  # fmt: skip
    data = mm.DiscreteDataset.from_frame(frame, "class")
    return mm.BayesianNetwork.fit(mm.tan_cmi(data), data)


@pytest.fixture
def peak() -> Iterator[Callable[[], int]]:
    tracemalloc.start()
    try:
        yield lambda: tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


# -- tables ---------------------------------------------------------------------------------------------------------


def test_013_a_compressed_bomb_is_left_at_the_limit_for_its_size(tmp_path: Path, peak: Callable[[], int]) -> None:
    raw = gzip.compress(b"a,b\n" + b"1,2\n" * 25_000_000, compresslevel=9)
    assert len(raw) < 200_000
    path = tmp_path / "t.csv.gz"
    path.write_bytes(raw)
    tracemalloc.reset_peak()
    told = rf"the {len(raw):,} compressed bytes unpack to more than 33,554,432.*200 times.*max_bytes.*MMBN_MAX_BYTES"
    with pytest.raises(mm.SizeLimitError, match=told):
        mm.read_table(path)
    assert peak() < 100e6


def test_013_the_limit_grows_with_the_file_and_is_raised_by_argument_and_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert memory.unpacked_limit(1000, least=50, most=10**6) == 200_000
    assert memory.unpacked_limit(10, least=5000, most=10**6) == 5000
    assert memory.unpacked_limit(10**6, least=50, most=10**6) == 10**6
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(b"a,b\n" + b"1,2\n" * 1000))
    assert mm.read_table(path).shape == (1000, 2)
    monkeypatch.setenv("MMBN_MAX_BYTES", "1000")
    with pytest.raises(mm.SizeLimitError, match="unpack to more than max_bytes=1,000"):
        mm.read_table(path)
    assert mm.read_table(path, max_bytes=10_000).shape == (1000, 2)
    for wrong in ("0", "-3", "2 GB"):
        monkeypatch.setenv("MMBN_MAX_BYTES", wrong)
        with pytest.raises(mm.InputError, match=f"MMBN_MAX_BYTES must be a whole number of bytes >= 1, got '{wrong}'"):
            mm.read_table(path)
    with pytest.raises(mm.InputError, match="max_bytes must be a whole number"):
        mm.read_table(path, max_bytes=1.5)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("t.csv", "a,b\n" + "1,2\n" * 2000),
        (
            "t.arff",
            "@relation r\n" + "".join(f"@attribute c{j} numeric\n" for j in range(100)) + "@data\n" + "{}\n" * 99,
        ),
    ],
)
def test_013_a_table_beyond_the_memory_is_refused_with_what_it_would_take(
    name: str, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / name
    path.write_text(text)
    shape = mm.read_table(path).shape
    monkeypatch.setattr(memory, "available_bytes", lambda: 100_000)
    with pytest.raises(mm.SizeLimitError, match=r"would take about 0.0 GiB to read; 0.0 GiB of memory are available"):
        mm.read_table(path)
    assert mm.read_table(path, max_bytes=10**9).shape == shape


def test_013_a_text_that_parquet_stores_once_is_counted_as_often_as_it_is_used(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow", reason="pyarrow (extra parquet) is not installed")
    path = tmp_path / "t.parquet"
    frame = pd.DataFrame({"a": ["x" * 100_000, None] * 2700, "k": pd.Categorical(["u", "v"] * 2700)})
    frame.to_parquet(path)
    assert path.stat().st_size < 100_000
    with pytest.raises(mm.SizeLimitError, match=r"texts of column 'a', .* at least 270,000,000 bytes.*268,435,456"):
        mm.read_table(path)
    read = mm.read_table(path, max_bytes=10**9)
    assert read["a"].iloc[0] == "x" * 100_000
    assert read["a"].isna().sum() == 2700
    assert read["k"].cat.categories.tolist() == ["u", "v"]


def test_013_runs_of_a_number_in_parquet_are_counted_before_they_are_read(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow", reason="pyarrow (extra parquet) is not installed")
    path = tmp_path / "t.parquet"
    pd.DataFrame({f"c{j}": np.zeros(1_200_000) for j in range(30)}).to_parquet(path)
    with pytest.raises(mm.SizeLimitError, match=r"1,200,000 rows of 30 columns take at least 288,000,000 bytes"):
        mm.read_table(path)


# -- networks ---------------------------------------------------------------------------------------------------------


def cells_of(network: mm.BayesianNetwork) -> int:
    return sum(table.size for table in network.log_cpts)


def test_013_the_largest_network_that_is_written_is_read_in_every_format(
    travel: Travel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The limits are brought down to the network: no reader has one of its own that is lower."""
    network = named_rows()
    monkeypatch.setattr(counts, "MAX_NETWORK_CELLS", cells_of(network))
    # What stands between the numbers, at the least: the labels, thrice for their aliases, in each row of its children.
    monkeypatch.setattr(limits, "TEXT_BYTES", 200_000)
    back = travel(network)
    assert [v.cardinality for v in back.variables] == [v.cardinality for v in network.variables]
    for ours, theirs in zip(network.log_cpts, back.log_cpts, strict=True):
        np.testing.assert_allclose(theirs, ours, atol=1e-12)


@pytest.mark.parametrize("place", ["save", "to_bif", "to_uai", "to_xmlbif"])
def test_013_a_network_that_could_not_be_read_again_is_not_written(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    network = named_rows()
    cells = cells_of(network)
    monkeypatch.setattr(counts, "MAX_NETWORK_CELLS", cells - 1)
    told = rf"{cells:,} table cells \(the largest tables: 'a' given 'name', 'class' 6,000; .*at most {cells - 1:,}"
    with pytest.raises(mm.SizeLimitError, match=told):
        getattr(network, place)(tmp_path / "network")
    assert list(tmp_path.iterdir()) == []


def test_013_a_compressed_network_that_readers_would_take_for_a_bomb_is_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    network = named_rows()
    monkeypatch.setattr(limits, "SMALL_TEXT", 1000)
    network.to_bif(tmp_path / "n.bif.gz")
    assert mm.BayesianNetwork.from_bif(tmp_path / "n.bif.gz", "class").log_cpts[0].size == network.log_cpts[0].size
    monkeypatch.setattr(memory, "EXPANSION", 2)
    with pytest.raises(mm.SizeLimitError, match=r"Write it without \.gz"):
        network.to_bif(tmp_path / "other.bif.gz")
    assert not (tmp_path / "other.bif.gz").exists()
    with pytest.raises(mm.SizeLimitError, match=r"unpacks its .* bytes to more than .*decompress it"):
        mm.BayesianNetwork.from_bif(tmp_path / "n.bif.gz", "class")


def test_013_a_large_model_is_named_with_its_largest_tables_before_it_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    network = named_rows()
    caplog.clear()  # names of rows are told, which is another matter
    with caplog.at_level(logging.WARNING):
        network.save(tmp_path / "model.json")
    assert caplog.text == ""
    monkeypatch.setattr(limits, "LARGE_CELLS", 1000)
    with caplog.at_level(logging.WARNING):
        network.save(tmp_path / "model.json")
    assert f"model.json will hold {cells_of(network):,} table cells" in caplog.text
    assert "the largest tables: 'a' given 'name', 'class' 6,000; 'b'" in caplog.text


@pytest.mark.slow
def test_013_a_model_of_three_hundred_megabytes_is_written_and_read(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    names = [f"x{j}" for j in range(8)]
    data = mm.DiscreteDataset.from_arrays(
        np.stack([np.arange(6000), *(rng.integers(0, 80, 6000) for _ in range(7))], axis=1), np.arange(6000) % 4
    )
    structure = mm.Structure.from_names(
        names, "class", [("x0", name) for name in names[1:]] + [("class", n) for n in names]
    )
    network = mm.BayesianNetwork.fit(structure, data)
    assert 13_000_000 < cells_of(network) < 14_000_000
    network.save(tmp_path / "model.json")
    assert (tmp_path / "model.json").stat().st_size > 256 * 2**20
    back = mm.BayesianNetwork.load(tmp_path / "model.json")
    for ours, theirs in zip(network.log_cpts, back.log_cpts, strict=True):
        np.testing.assert_array_equal(theirs, ours)
