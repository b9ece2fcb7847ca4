"""The files of a run: complete, readable by the next step, never a mix of two runs."""

import json
import logging
import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest

from mmbn_opt.data.discrete import DiscreteDataset
from mmbn_opt.data.samples import Samples
from mmbn_opt.exceptions import InputError
from mmbn_opt.interop.json_model import load_network
from mmbn_opt.interop.result_files import result_to_dict, write_result_files
from mmbn_opt.networks.network import BayesianNetwork
from mmbn_opt.networks.structure import Structure
from mmbn_opt.programs.base import ProgramSize
from mmbn_opt.results.bounds import ObjectiveBounds
from mmbn_opt.results.result import Certificate, Check, Result, Seconds
from mmbn_opt.results.status import Sense, SolutionStatus, TerminationStatus
from mmbn_opt.results.trace import BoundTrace, TraceRecord


@dataclass(frozen=True)
class ToyFormulation:
    data: DiscreteDataset
    title: ClassVar[str] = "Toy"

    @property
    def samples(self) -> Samples:
        return Samples(self.data, self.data.class_name, self.data.aggregate())


class Tableless:
    samples = None


@pytest.fixture
def result() -> Result:
    frame = pd.DataFrame({"a": ["x", "y", "x", "x", "y"], "b": [0, 1, 0, 1, 1], "class": ["n", "y", "n", "y", "y"]})
    frame.loc[4, "a"] = None
    data = DiscreteDataset.from_frame(frame, "class", missing="drop")
    model = BayesianNetwork.fit(Structure.from_names(("a", "b"), "class", [("class", "b"), ("a", "b")]), data)
    records = (
        TraceRecord(0.0, None, 8.0, None, None, "start", ""),
        TraceRecord(1.5, 5.0, 6.0, 12, 99, "final", "highs"),
    )
    return Result(
        model=model,
        certificate=Certificate((Check("acyclic", True, "3 nodes"), Check("bound", None, "claimed"))),
        termination_status=TerminationStatus.TIME_LIMIT,
        solution_status=SolutionStatus.FEASIBLE,
        raw_status="kTimeLimit",
        solution=np.zeros(3),
        bounds=ObjectiveBounds(Sense.MAXIMIZE, 5.0, 6.0),
        trace=BoundTrace(Sense.MAXIMIZE, records),
        sense=Sense.MAXIMIZE,
        formulation=ToyFormulation(data),
        solver_name="highs",
        solver_version="1.16.0",
        solver_rule="auto",
        seconds=Seconds(0.1, 0.2, 1.2, 1.5),
        program_size=ProgramSize(10, 6, 20, 40),
        settings={"seed": np.int64(3), "time_limit": 1.5, "rel_gap": math.inf, "path": Path("x"), "set": {2, 1}},
    )


def test_the_dict_has_every_field_of_the_contract(result: Result) -> None:
    content = result_to_dict(result)
    assert json.loads(json.dumps(content, allow_nan=False)) == content
    assert content["formulation"] == "ToyFormulation"
    assert (content["solver"], content["solver_version"]) == ("highs", "1.16.0")
    assert (content["termination_status"], content["solution_status"]) == ("TIME_LIMIT", "FEASIBLE")
    assert (content["primal_bound"], content["dual_bound"], content["sense"]) == (5.0, 6.0, "maximize")
    assert content["gap_rel"] == pytest.approx(1 / 6)
    assert content["seconds"] == {"build": 0.1, "heuristics": 0.2, "solve": 1.2, "total": 1.5}
    assert content["program"] == {"columns": 10, "integers": 6, "rows": 20, "nonzeros": 40}
    assert content["data"] == {"samples": 4, "samples_merged": 3, "features": 2, "classes": 2, "dropped": 1}
    assert content["parents"] == {"class": [], "a": [], "b": ["a", "class"]}
    assert content["certificate"] == {
        "ok": True,
        "checks": [
            {"name": "acyclic", "ok": True, "detail": "3 nodes"},
            {"name": "bound", "ok": None, "detail": "claimed"},
        ],
    }
    assert content["seed"] == 3
    assert content["settings"] == {"seed": 3, "time_limit": 1.5, "rel_gap": None, "path": "x", "set": [1, 2]}


def test_what_is_unknown_is_null(result: Result) -> None:
    bare = replace(
        result, model=None, bounds=ObjectiveBounds(Sense.MAXIMIZE), program_size=None, formulation=Tableless()
    )
    content = result_to_dict(bare)
    for key in ("primal_bound", "dual_bound", "gap_rel", "program", "data", "parents"):
        assert content[key] is None


def test_all_files_are_written_and_read_back(result: Result, tmp_path: Path) -> None:
    folder = tmp_path / "new" / "out"
    written = write_result_files(result, folder, report_html="<html></html>")
    names = ["model.json", "network.bif", "report.html", "result.json", "trace.csv"]
    assert sorted(p.name for p in written) == names
    assert sorted(p.name for p in folder.iterdir()) == sorted([*names, "manifest.json"])
    model: Any = result.model
    assert load_network(folder / "model.json").variables == model.variables
    assert BayesianNetwork.from_bif(folder / "network.bif", "class").structure == model.structure
    assert json.loads((folder / "result.json").read_text()) == result_to_dict(result)
    trace = pd.read_csv(folder / "trace.csv")
    assert trace["dual_bound"].tolist() == [8.0, 6.0]
    assert trace["primal_bound"].isna().tolist() == [True, False]
    assert trace["event"].tolist() == ["start", "final"]


def test_files_of_an_earlier_run_do_not_stay(result: Result, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    write_result_files(result, tmp_path, report_html="<html></html>")
    (tmp_path / "notes.txt").write_text("mine")
    with caplog.at_level(logging.INFO, "mmbn_opt"):
        written = write_result_files(replace(result, model=None), tmp_path, report_html=None)
    assert sorted(p.name for p in written) == ["result.json", "trace.csv"]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["manifest.json", "notes.txt", "result.json", "trace.csv"]
    assert "model.json of an earlier run is removed" in caplog.text


def test_an_output_folder_that_is_a_file_is_refused(result: Result, tmp_path: Path) -> None:
    (tmp_path / "out").touch()
    with pytest.raises(InputError, match=r"The output folder .* is a file; choose another folder"):
        write_result_files(result, tmp_path / "out", report_html=None)
