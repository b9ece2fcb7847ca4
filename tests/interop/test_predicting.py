"""Rows of files classified in blocks: what is written, told and warned is what one block would give."""

import json
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import mmbn_opt as mm
from mmbn_opt.interop.csv_text import csv_content
from mmbn_opt.scores.calibrated import CalibratedModel
from mmbn_opt.scores.calibration import Calibration, Reliability


def rows(count: int, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"size": rng.normal(size=count).round(3), "kind": rng.choice(list("uvw"), count)})
    frame["code"] = rng.integers(0, 4, count)
    frame["class"] = np.where(frame["size"] + (frame["kind"] == "u") > 0.3, "yes", "no")
    return frame


def network() -> mm.BayesianNetwork:
    data = mm.prepare(rows(300), target="class").data
    return mm.BayesianNetwork.fit(mm.tan_cmi(data), data)


def models() -> dict[str, object]:
    numbers = rows(300)
    mixture = mm.MixtureClassifier.fit(numbers[["size", "code"]], numbers["class"], 2)
    net = network()
    return {
        "network": net,
        "calibrated": CalibratedModel(net, Calibration(temperature=2.0)),
        "mixture": mixture,
    }


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mmbn_opt.data.readers.in_blocks._HEAD_BYTES", 500)
    monkeypatch.setattr("mmbn_opt.data.readers.in_blocks._BLOCK_ROWS", 64)
    monkeypatch.setattr("mmbn_opt.data.readers.in_blocks.BLOCK_BYTES", 700)


@pytest.mark.parametrize("kind", ["network", "calibrated", "mixture"])
@pytest.mark.parametrize("ending", ["csv", "csv.gz", "parquet"])
@pytest.mark.usefixtures("small_blocks")
def test_the_file_is_what_the_table_in_memory_gives(kind: str, ending: str, tmp_path: Path) -> None:
    model, frame = models()[kind], rows(1000, seed=1)
    frame.loc[[3, 500, 999], "kind"] = None
    frame.loc[[7, 800], "class"] = None
    data = tmp_path / f"rows.{ending}"
    frame.to_parquet(data) if ending == "parquet" else frame.to_csv(data, index=False)
    seen: list[tuple[int, float]] = []
    done = mm.predict_file(model, data, tmp_path / "out.csv", progress=lambda *told: seen.append(told))
    read = mm.read_table(data)
    proba = model.predict_proba(read)
    table = pd.DataFrame({"class": model.classes[proba.argmax(axis=1)]})
    for k, label in enumerate(model.classes):
        table[f"P(class={label})"] = proba[:, k]
    assert (tmp_path / "out.csv").read_bytes() == csv_content(table)
    assert len(seen) > 3
    assert seen[-1] == (1000, 1.0)
    labelled = frame["class"].notna().to_numpy()
    assert (done.rows, done.labelled) == (1000, 998)
    assert done.right == int((table["class"] == frame["class"])[labelled].sum())
    codes = (frame["class"] == model.classes[1]).astype(int).to_numpy()
    whole = Reliability.of(np.log(proba[labelled]), codes[labelled])
    assert done.reliability is not None
    assert done.reliability.log_loss == pytest.approx(whole.log_loss, rel=1e-12)
    assert done.reliability.calibration_error == pytest.approx(whole.calibration_error, rel=1e-9)


@pytest.mark.usefixtures("small_blocks")
def test_labels_never_seen_give_the_warning_of_the_whole_table(tmp_path: Path) -> None:
    model, frame = network(), rows(600, seed=2)
    frame.loc[[5, 300, 301, 590], "kind"] = ["new", "other", "new", "third"]
    frame.loc[2, "code"] = 9
    data = tmp_path / "rows.csv"
    frame.to_csv(data, index=False)
    with pytest.warns(UserWarning, match="never seen") as told:
        mm.predict_file(model, data, tmp_path / "out.csv")
    with pytest.warns(UserWarning, match="never seen") as whole:
        model.predict_proba(mm.read_table(data))
    assert [str(one.message) for one in told] == [str(one.message) for one in whole]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mm.predict_file(model, data, tmp_path / "silent.csv", unseen="missing")
    assert (tmp_path / "silent.csv").read_bytes() == (tmp_path / "out.csv").read_bytes()


@pytest.mark.usefixtures("small_blocks")
def test_a_fault_in_the_last_block_leaves_the_file_that_was_there(tmp_path: Path) -> None:
    frame = rows(600, seed=2)
    frame.loc[599, "kind"] = "new"
    data, out = tmp_path / "rows.csv", tmp_path / "out.csv"
    frame.to_csv(data, index=False)
    out.write_text("before")
    with pytest.raises(mm.InputError, match=r"'kind' holds 'new', never seen in training"):
        mm.predict_file(network(), data, out, unseen="error")
    assert out.read_text() == "before"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.csv", "rows.csv"]


def test_a_name_in_digits_in_the_last_row_makes_texts_of_all_rows(tmp_path: Path) -> None:
    """What one cell says of its column holds for rows that were classified long before it is read."""
    learned = pd.DataFrame({"code": ["1.50", "2"] * 20, "class": ["a", "b"] * 20})
    data = mm.DiscreteDataset.from_frame(learned, target="class")
    model = mm.BayesianNetwork.fit(mm.naive_bayes(data), data)
    path = tmp_path / "rows.csv"
    path.write_text("code\n" + "1.50\n" * 400_000 + "007\n")
    with pytest.warns(UserWarning, match="'007'"):
        done = mm.predict_file(model, path, tmp_path / "out.csv")
    written = pd.read_csv(tmp_path / "out.csv")
    assert done.rows == 400_001
    assert set(written["class"][:-1]) == {"a"}


_CHILD = """
import json, resource, sys
import mmbn_opt as mm
model = mm.load_model(sys.argv[1])
done = mm.predict_file(model, sys.argv[2], sys.argv[3])
print(json.dumps({"rows": done.rows, "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}))
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss is in kilobytes on Linux alone")
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_memory_does_not_grow_with_the_file(ending: str, tmp_path: Path) -> None:
    model = network()
    model.save(tmp_path / "model.json")
    block, peaks = rows(400_000), {}
    for times in (1, 12):
        data, out = tmp_path / f"rows.{ending}", tmp_path / "out.csv"
        if ending == "csv":
            with data.open("w") as stream:
                for k in range(times):
                    block.to_csv(stream, index=False, header=k == 0)
        else:
            import pyarrow as pa
            import pyarrow.parquet as pq

            with pq.ParquetWriter(data, pa.Table.from_pandas(block).schema) as writer:
                for _ in range(times):
                    writer.write_table(pa.Table.from_pandas(block))
        command = [sys.executable, "-c", _CHILD, str(tmp_path / "model.json"), str(data), str(out)]
        told = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
        assert told["rows"] == times * len(block)
        peaks[times] = told["peak"]
        size = data.stat().st_size
        out.unlink()
    if ending == "csv":
        assert size > 60_000_000  # read at once, it takes ten times as much
    assert peaks[12] < peaks[1] + 40_000_000
