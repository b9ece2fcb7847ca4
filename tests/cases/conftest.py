"""The same table in every format that is read, and the same network through every place that it travels to."""

import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest
from table_files import TABLES, write_table

import mmbn_opt as mm
from mmbn_opt import cli
from mmbn_opt.exceptions import MissingDependencyError
from mmbn_opt.interop._optional import optional_module

DECLARING = ("frame", "parquet", "arff")
"""Formats that can declare states which no row has."""
MODELS = ("as it is", "json", "bif", "bif.gz", "xmlbif", "uai", "pgmpy", "pyagrum", "networkx")

Read = Callable[..., pd.DataFrame]
Travel = Callable[[mm.BayesianNetwork], mm.BayesianNetwork]


@pytest.fixture(params=TABLES)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=[k for k in TABLES if k != "frame"])
def file_kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=DECLARING)
def declaring_kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def read_as(tmp_path: Path) -> Read:
    """``read_as(kind, frame)``: the frame, written and read again."""

    def read(kind: str, frame: pd.DataFrame, **options: Any) -> pd.DataFrame:
        return frame if kind == "frame" else mm.read_table(write_table(frame, kind, tmp_path / "table"), **options)

    return read


def _other_tool(name: str) -> None:
    try:
        optional_module(name)
    except MissingDependencyError:
        pytest.skip(f"{name.partition('.')[0]} (extra interop) is not installed")


@pytest.fixture(params=MODELS)
def travel(request: pytest.FixtureRequest, tmp_path: Path) -> Travel:
    """``travel(network)``: the network as it comes back from a file or another tool.

    The places that hold text only give text back, which is all that differs.
    """
    place = str(request.param)

    def go(network: mm.BayesianNetwork) -> mm.BayesianNetwork:
        target, cls = network.target.name, mm.BayesianNetwork
        path = tmp_path / f"network.{place}"
        match place:
            case "json":
                network.save(path)
                return cls.load(path)
            case "bif" | "bif.gz":
                network.to_bif(path)
                return cls.from_bif(path, target)
            case "xmlbif":
                _other_tool("pgmpy.readwrite")
                network.to_xmlbif(path)
                return cls.from_xmlbif(path, target)
            case "uai":
                network.to_uai(path)
                return cls.from_uai(path, variables=network.variables)
            case "pgmpy":
                _other_tool("pgmpy.models")
                return cls.from_pgmpy(network.to_pgmpy(), target)
            case "pyagrum":
                _other_tool("pyagrum")
                return cls.from_pyagrum(network.to_pyagrum(), target)
            case "networkx":
                _other_tool("networkx")
                return cls.from_networkx(network.to_networkx())
        return network

    go.place = place  # type: ignore[attr-defined]
    return go


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Any]:
    """``command("predict", ...)``: exit status and what was said, run in this process."""

    def run(*arguments: Any) -> SimpleNamespace:
        monkeypatch.setattr(sys, "argv", ["mmbn-opt", *map(str, arguments)])
        status: Any = 0
        try:
            cli.main()
        except SystemExit as leave:
            status = leave.code or 0
        said = capsys.readouterr()
        return SimpleNamespace(status=status, out=said.out, err=said.err)

    return run
