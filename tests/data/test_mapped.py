"""Data whose codes lie in a file give the answers of data in memory."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import mmbn_opt as mm
from mmbn_opt.data import block_counts, block_passes, counts
from mmbn_opt.data.mapped import MappedDataset
from mmbn_opt.data.samples import Samples

pytest.importorskip("pyarrow")


def table(n_rows: int = 900, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n_rows)
    frame = pd.DataFrame({"real": rng.normal(y, 1.0), "text": rng.choice(list("abc"), n_rows), "code": y * 2 % 3})
    frame["code"] = np.where(rng.random(n_rows) < 0.3, rng.integers(0, 3, n_rows), frame["code"])
    frame["other"] = np.where(rng.random(n_rows) < 0.5, frame["code"], rng.integers(0, 3, n_rows))
    return frame.assign(y=np.array(["n", "p", "q"])[y])


def both(frame: pd.DataFrame, folder: Path, **how: object) -> tuple[mm.DiscreteDataset, mm.DiscreteDataset]:
    (folder / "rows").mkdir()
    for k, first in enumerate(range(0, len(frame), 400)):
        frame[first : first + 400].to_parquet(folder / "rows" / f"{k}.parquet")
    make = mm.DiscreteDataset.from_parquet
    return make(folder / "rows", "y", **how), make(folder / "rows", "y", codes_in=folder / "codes", **how)


@pytest.fixture
def short_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (block_passes, block_counts, counts):
        monkeypatch.setattr(module, "BLOCK_ROWS", 64)


def test_the_file_holds_the_rows_as_they_came_in_a_byte_each(tmp_path: Path) -> None:
    frame = table()
    merged, mapped = both(frame, tmp_path)
    assert isinstance(mapped, MappedDataset)
    assert isinstance(mapped.codes, np.memmap)
    assert mapped.codes.dtype == mapped.target_codes.dtype == np.int8
    assert mapped.features == merged.features
    assert mapped.remarks == merged.remarks
    read = mm.prepare(frame, "y").data
    assert (mapped.codes == read.codes).all()
    assert (mapped.target_codes == read.target_codes).all()
    assert mapped.total_weight == merged.total_weight == 900
    assert mapped.aggregate() is mapped
    assert "900 samples" in Samples(mapped, "y", mapped.aggregate()).sentence


def test_three_hundred_states_take_two_bytes_in_all_columns(tmp_path: Path) -> None:
    frame = table().assign(many=[f"s{k % 300:03}" for k in range(900)])
    frame = frame[["real", "many", "text", "y"]]
    merged, mapped = both(frame, tmp_path)
    assert mapped.codes.dtype == np.int16
    assert mapped.codes.max() == 299
    assert (mapped.codes == mm.prepare(frame, "y").data.codes).all()
    assert merged.features == mapped.features


def test_rows_with_missing_cells_are_dropped_or_a_state_as_in_memory(tmp_path: Path) -> None:
    frame = table()
    frame.loc[[3, 500], "text"] = None
    for how in ("drop", "state"):
        (tmp_path / how).mkdir()
        merged, mapped = both(frame, tmp_path / how, missing=how)
        assert mapped.features == merged.features
        assert mapped.n_dropped == merged.n_dropped == (2 if how == "drop" else 0)
        assert mapped.total_weight == merged.total_weight


@pytest.mark.usefixtures("short_blocks")
def test_structures_and_models_are_those_of_the_rows_in_memory(tmp_path: Path) -> None:
    merged, mapped = both(table(), tmp_path)
    assert mm.tan_cmi(mapped) == mm.tan_cmi(merged)
    tree = mm.tan_cmi(merged)
    one, other = mm.BayesianNetwork.fit(tree, merged), mm.BayesianNetwork.fit(tree, mapped)
    assert all((a == b).all() for a, b in zip(one.log_cpts, other.log_cpts, strict=True))
    problems = [
        lambda data: mm.DecomposableStructure(data, score="bic"),
        lambda data: mm.DecomposableStructure(data, score="bdeu"),
        lambda data: mm.SoftMarginStructure(data),
    ]
    for make in problems:
        in_memory, from_file = mm.solve(make(merged)), mm.solve(make(mapped))
        assert from_file.model.structure == in_memory.model.structure
        assert from_file.bounds.primal_bound == pytest.approx(in_memory.bounds.primal_bound, rel=1e-12)
        assert from_file.certificate.ok
    relaxed = [mm.solve(mm.MaxMarginRelaxation(data, tree), rel_gap=1e-6) for data in (merged, mapped)]
    assert relaxed[1].bounds.primal_bound == pytest.approx(relaxed[0].bounds.primal_bound, rel=2e-6)
    trained = [mm.solve(mm.SmoothMargin(data, tree)) for data in (merged, mapped)]
    assert trained[1].bounds.primal_bound == pytest.approx(trained[0].bounds.primal_bound, rel=1e-6)


@pytest.mark.parametrize("ess", [None, 1.0, 7.5])
@pytest.mark.usefixtures("short_blocks")
def test_sums_over_cells_by_blocks_are_those_of_all_rows(ess: float | None, monkeypatch: pytest.MonkeyPatch) -> None:
    data = mm.prepare(table(), "y").data.aggregate()
    sets = np.array([[-1, -1], [-1, 0], [0, 1], [2, 4], [3, 4]], dtype=np.int32)
    by_block = counts.sums_over_cells(data, sets, ess)
    monkeypatch.setattr(counts, "MAX_TABLE_CELLS", 20)  # a few tables at a time
    assert (counts.sums_over_cells(data, sets, ess) == by_block).all()
    monkeypatch.undo()
    np.testing.assert_allclose(by_block, counts.sums_over_cells(data, sets, ess), rtol=1e-12, atol=1e-9)


def test_a_file_of_codes_is_not_overwritten_and_none_is_left_by_an_error(tmp_path: Path) -> None:
    frame = table()
    both(frame, tmp_path)
    with pytest.raises(mm.InputError, match=r"codes_in: .*codes.npy' exists"):
        mm.DiscreteDataset.from_parquet(tmp_path / "rows", "y", codes_in=tmp_path / "codes")
    frame.loc[3, "other"] = None
    (tmp_path / "b").mkdir()
    frame.to_parquet(tmp_path / "b" / "rows.parquet")
    with pytest.raises(mm.InputError, match="Missing cells in 'other'"):
        mm.DiscreteDataset.from_parquet(tmp_path / "b", "y", codes_in=tmp_path / "new")
    assert not list((tmp_path / "new").iterdir())
    (tmp_path / "file").write_text("")
    with pytest.raises(mm.InputError, match="cannot be written"):
        mm.DiscreteDataset.from_parquet(tmp_path / "rows", "y", codes_in=tmp_path / "file")


def test_a_subset_is_in_memory(tmp_path: Path) -> None:
    _, mapped = both(table(), tmp_path)
    part = mapped.subset(np.arange(0, 900, 3))
    assert type(part) is mm.DiscreteDataset
    assert part.codes.dtype == np.int32
    assert (part.codes == mapped.codes[::3]).all()
    assert part.aggregate().total_weight == 300


@pytest.mark.usefixtures("short_blocks")
def test_a_table_is_counted_once_in_whatever_order_its_nodes_come(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    merged, mapped = both(table(), tmp_path)
    passes = []
    usual = block_counts.columns_of_block
    monkeypatch.setattr(block_counts, "columns_of_block", lambda *given: passes.append(given) or usual(*given))
    for nodes in ([0, 3, 4], [4, 0, 3], [3, 4, 0]):
        assert (counts.contingency(mapped, nodes) == counts.contingency(merged, nodes)).all()
    of_mapped = [given for given in passes if given[0] is mapped.codes]
    assert len(of_mapped) == 15  # blocks of 64 rows
    monkeypatch.setattr(block_counts, "_KEPT_CELLS", 0)
    assert (counts.contingency(mapped, [1, 2]) == counts.contingency(merged, [1, 2])).all()
    assert (1, 2) not in mapped.tables
