"""Fixtures of the whole suite: the reference data beside the checkout."""

import gc
import json
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

ROOT = Path(__file__).resolve().parent.parent

SharedTable = tuple[pd.DataFrame, dict[str, str]]


@pytest.fixture(scope="session")
def shared_dir() -> Path:
    """Folder with the reference data sets and the independently found optima."""
    named = os.environ.get("MMBN_SHARED")
    folder = Path(named) if named else ROOT.parent / "shared"
    if not (folder / "data" / "manifest.json").is_file():
        pytest.skip(f"the reference data is not at {folder}; put it there or set MMBN_SHARED to its folder")
    return folder


@pytest.fixture(scope="session")
def shared_manifest(shared_dir: Path) -> dict[str, dict[str, Any]]:
    """What is known of each reference data set, by name: kinds, sizes, split, provenance."""
    entries = json.loads((shared_dir / "data" / "manifest.json").read_text(encoding="utf-8"))
    return {entry["name"]: entry for entry in entries}


@pytest.fixture(scope="session")
def shared_table(shared_dir: Path, shared_manifest: dict[str, dict[str, Any]]) -> Callable[[str], SharedTable]:
    """Reader of a reference data set: ``frame, kinds = shared_table("iris")``.

    Numeric features are floats, all other columns strings as written, an empty cell is missing; the class is the last
    column and called "class". `kinds` maps each feature to "numeric" or "categorical".
    """

    @cache
    def read(name: str) -> SharedTable:
        entry = shared_manifest[name]
        frame = pd.read_csv(shared_dir / "data" / entry["file"], dtype=str, keep_default_na=False)
        frame = frame.mask(frame == "")
        kinds = dict(zip(frame.columns[:-1], entry["feature_kinds"], strict=True))
        numeric = {column: float for column, kind in kinds.items() if kind == "numeric"}
        return frame.astype(numeric), kinds

    def copy_of(name: str) -> SharedTable:
        frame, kinds = read(name)
        return frame.copy(), dict(kinds)

    return copy_of


@pytest.fixture(scope="session")
def shared_optima(shared_dir: Path) -> dict[str, Any]:
    """Optimal values that were found by enumeration, independently of this project."""
    optima: dict[str, Any] = json.loads((shared_dir / "oracle" / "optima.json").read_text(encoding="utf-8"))
    return optima


def pytest_collection_finish(session: pytest.Session) -> None:
    """Leave what was imported and collected to itself: looking through it for circles takes a tenth of the time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)
