"""B20: texts that a spreadsheet would run as formulas, in every CSV that is written; B6: and CSV is UTF-8 always."""

import csv
import io
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mmbn_opt as mm
from mmbn_opt.comparison import Comparison, RunRecord
from mmbn_opt.comparison.record import RunOutcome
from mmbn_opt.interop import from_spreadsheet
from mmbn_opt.interop.csv_text import csv_content, spreadsheet_cell, text_of_cell
from mmbn_opt.results.status import Sense
from mmbn_opt.results.trace import BoundTrace, TraceRecord

FORMULAS = [
    "=cmd|' /C calc'!A0", "=1+1", "@SUM(A1)", "-1+2", "+1", "+49 30 1234", "\t=1", "\r=1", "-", "-x", "--1", "＝1",
    " =1", "a;=1", "a\n=1", "a\t@b", '"=1"\n=2', "-1e", "-1 2",
]  # fmt: skip
HARMLESS = ["", "low", "-1", "-1.5", "-.5", "-1e-05", "1+1", "a=b", "a@b", "(-inf, -0.5]", "年", "😀", "'quoted'", "$x"]
STARTS = ("=", "+", "-", "@", "\t", "\r", "＝", "＋", "－", "＠")


def runs_as_a_formula(text: str) -> bool:
    """As a spreadsheet sees it that parts lines at commas, semicolons or tabs; a number is no formula."""
    for cell in text.replace("\r", "\n").replace(";", "\n").replace("\t", "\n").split("\n"):
        bare = cell.lstrip(" \xa0")
        try:
            number = bare[:1] == "-" and float(bare) <= 0 and bare[1:2].isascii()
        except ValueError:
            number = False
        if bare.startswith(STARTS) and not number:
            return True
    return text.startswith(STARTS[4:6])


@pytest.mark.parametrize("text", FORMULAS)
def test_b20_formulas_become_texts_and_come_back(text: str) -> None:
    cell = spreadsheet_cell(text)
    assert not runs_as_a_formula(cell)
    assert cell != text
    assert text_of_cell(cell) == text
    assert text_of_cell(spreadsheet_cell(cell)) == cell


@pytest.mark.parametrize("text", HARMLESS)
def test_b20_other_texts_stay_as_they_are(text: str) -> None:
    assert spreadsheet_cell(text) == text == text_of_cell(text)


@given(st.text(st.sampled_from("=+-@\t\r\n;' \xa0a1.e＝")) | st.text())
def test_b20_every_text_comes_back(text: str) -> None:
    assert text_of_cell(spreadsheet_cell(text)) == text


@given(st.lists(st.text(st.characters(codec="utf-8"), min_size=1), min_size=1, max_size=4), st.booleans())
def test_b20_a_table_comes_back_with_its_numbers(texts: list[str], spreadsheet: bool) -> None:
    frame = pd.DataFrame({"=label": texts, "p": np.linspace(-1.0, 1.0, len(texts)) / 3})
    content = csv_content(frame, spreadsheet=spreadsheet)
    again = pd.read_csv(io.BytesIO(content), keep_default_na=False, dtype={0: str}, encoding="utf-8")
    if spreadsheet:
        again = from_spreadsheet(again)
    assert list(again.columns) == ["=label", "p"]
    assert again["p"].tolist() == frame["p"].tolist()
    assert [str(text) for text in again["=label"]] == texts


def _trained(tmp_path: Path, labels: list[str]) -> tuple[Path, Path]:
    rows = [(label, f"v{k}", k * 0.5) for k, label in enumerate(labels)] * 6
    frame = pd.DataFrame(rows, columns=["=class", "@feature", "size"])
    frame.to_csv(tmp_path / "rows.csv", index=False, encoding="utf-8")
    return tmp_path / "rows.csv", tmp_path / "out"


@pytest.mark.parametrize("option", [(), ("--spreadsheet",)])
def test_b20_predictions_with_labels_like_formulas(tmp_path: Path, command: Any, option: tuple[str, ...]) -> None:
    labels = ["=1+1", "@x", "-1+2", "+1", "年", "😀"]
    data, out = _trained(tmp_path, labels)
    done = command(
        "structure", "--data", data, "--target", "=class", "--max-parents", 1, "--out", out, "--categorical", "size"
    )
    assert done.status == 0, done.err
    target = tmp_path / "predictions.csv"
    assert command("predict", "--model", out, "--data", data, "--out", target, *option).status == 0
    with target.open(encoding="utf-8", newline="") as stream:
        header, *rows = list(csv.reader(stream))
    assert any(runs_as_a_formula(cell) for cell in header + [row[0] for row in rows]) == (not option)
    for row in rows:
        assert sum(float(cell) for cell in row[1:]) == pytest.approx(1.0)
    again = mm.read_table(target)
    if option:
        again = from_spreadsheet(again)
    assert list(again.columns) == ["=class", *(f"P(=class={label})" for label in sorted(labels))]
    assert again["=class"].tolist() == labels * 6


def test_b20_violations_of_a_mixture_with_labels_like_formulas(tmp_path: Path, command: Any) -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=24), "y": rng.normal(size=24), "c": ["=1+1", "@x"] * 12})
    frame.to_csv(tmp_path / "rows.csv", index=False)
    # Noise: no two Gaussians part it.
    done = command(
        "cmm", "--data", tmp_path / "rows.csv", "--target", "c", "--components", 1, "--time-limit", 2,
        "--out", tmp_path / "out", "--spreadsheet",
    )  # fmt: skip
    assert done.status == 1, done.err
    table = mm.read_table(tmp_path / "out" / "violations.csv")
    assert not any(runs_as_a_formula(text) for text in [*table["part"], *table["label"]])
    assert set(from_spreadsheet(table)["label"]) <= {"=1+1", "@x"}
    assert table["violation"].dtype == np.float64


def test_b20_a_comparison_of_problems_named_like_formulas(tmp_path: Path) -> None:
    trace = BoundTrace(Sense.MAXIMIZE, (TraceRecord(1.0, -0.1, -0.1, None, None, "final", "x"),))
    run = RunRecord(
        key="k", formulation="=1+1", solver="highs", seed=0, time_limit=10.0, rel_gap=0.0, abs_gap=0.0,
        sense=Sense.MAXIMIZE, outcome=RunOutcome.ANSWERED, status=mm.TerminationStatus.OPTIMAL, raw_status="-1+2",
        detail="", trace=trace, claimed_primal=-0.1, own_value=-0.1, certificate_ok=True, failed_checks="", seconds=1.0,
        peak_memory=2**20, solver_version="1",
    )  # fmt: skip
    folder = Comparison([run]).write(tmp_path / "runs", spreadsheet=True)
    written = mm.read_table(folder / "results.csv")
    assert written["formulation"].tolist() == ["'=1+1"]
    assert from_spreadsheet(written)["formulation"].tolist() == ["=1+1"]
    assert from_spreadsheet(written)["raw_status"].tolist() == ["-1+2"]
    assert written["primal_bound"].tolist() == [-0.1]
