"""The instances that are kept for other solvers: what they say of themselves holds."""

import csv
import gzip
import json
import lzma
from pathlib import Path

import highspy
import pytest

from mmbn_opt.verification import verify

FOLDER = Path(__file__).parent.parent / "benchmarks" / "structure" / "instances"


def _lines() -> list[dict[str, str]]:
    with open(FOLDER / "instances.csv", encoding="utf-8", newline="") as file:
        return [line for line in csv.DictReader(file) if line["value"]]


def test_every_file_has_a_line_and_every_line_its_files() -> None:
    names = {line["instance"] for line in _lines()}
    for ending in (".mps.gz", ".mps.names.json.gz", ".mmbn.xz"):
        assert {path.name.removesuffix(ending) for path in FOLDER.glob(f"*{ending}")} == names
    assert len(names) == 21


@pytest.mark.parametrize("name", ["iris-sm-0.9", "iris-sbm-0.99", "corral-sm-0.6", "glass2-sm-0.99"])
def test_another_solver_finds_the_optimum_that_is_said(name: str, tmp_path: Path) -> None:
    (line,) = [line for line in _lines() if line["instance"] == name]
    (tmp_path / "x.mps").write_bytes(gzip.decompress((FOLDER / f"{name}.mps.gz").read_bytes()))
    model = highspy.Highs()
    model.setOptionValue("output_flag", False)
    model.setOptionValue("mip_rel_gap", 1e-9)
    model.readModel(str(tmp_path / "x.mps"))
    model.run()
    assert model.getModelStatus() == highspy.HighsModelStatus.kOptimal
    assert -model.getObjectiveValue() == pytest.approx(float(line["value"]), rel=1e-7)
    assert (model.getNumCol(), model.getNumRow()) == (int(line["columns"]), int(line["rows"]))
    names = json.loads(gzip.decompress((FOLDER / f"{name}.mps.names.json.gz").read_bytes()))
    assert len(names["columns"]) == model.getNumCol()


@pytest.mark.shared
@pytest.mark.parametrize("line", _lines(), ids=lambda line: line["instance"])
def test_the_proofs_that_are_kept_hold_from_the_raw_table(
    line: dict[str, str], shared_dir: Path, tmp_path: Path
) -> None:
    tree = tmp_path / "tree.mmbn"
    tree.write_bytes(lzma.decompress((FOLDER / f"{line['instance']}.mmbn.xz").read_bytes()))
    found = verify(tree, shared_dir / "data" / f"{line['set']}.csv.gz")
    assert found.holds == (line["verified"] == "rounding included")
    assert found.value <= found.bound
    assert found.bound == pytest.approx(float(line["bound"]), rel=1e-9)
    assert found.value == pytest.approx(float(line["value"]), rel=1e-12)
