"""`mmbn-opt structure --scores`: a file of local scores in, a structure with its certificate out."""

import gzip
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from mmbn_opt.cli import app

GOOD = "3\na 2\n-10.5 0\n-8.25 2 b c\nb 2\n-3 0\n-1 1 a\nc 1\n-2 0\n"
"""The optimum is -13.25: a <- b, c costs 8.25, b and c stand alone."""


class Answer(NamedTuple):
    """What a command left behind."""

    exit_code: int
    output: str


Structure = Callable[..., Answer]


@pytest.fixture
def structure(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Structure:
    """Runs the command in this process."""
    monkeypatch.setenv("COLUMNS", "300")

    def run(*arguments: object) -> Answer:
        monkeypatch.setattr("sys.argv", ["mmbn-opt", "structure", *map(str, arguments)])
        with pytest.raises(SystemExit) as end:
            app.main()
        said = capsys.readouterr()
        return Answer(int(end.value.code or 0), said.out + said.err)

    return run


@pytest.fixture
def scores(tmp_path: Path) -> Path:
    path = tmp_path / "s.jkl"
    path.write_text(GOOD)
    return path


@pytest.mark.parametrize("solver", ["auto", "branch-and-cut", "highs", "subset_search"])
def test_every_engine_proves_and_writes_the_structure(
    structure: Structure, scores: Path, tmp_path: Path, solver: str
) -> None:
    answer = structure("--scores", scores, "--out", tmp_path / "r", "--solver", solver)
    assert answer.exit_code == 0, answer.output
    assert "a <- b, c" in answer.output
    assert "recomputed from 5 local scores" in answer.output
    written = json.loads((tmp_path / "r" / "result.json").read_text())
    assert written["primal_bound"] == pytest.approx(-13.25)
    assert written["dual_bound"] == pytest.approx(-13.25)
    assert written["termination_status"] == "OPTIMAL"
    assert written["certificate"]["ok"]
    assert written["parents"] == {"a": ["b", "c"], "b": [], "c": []}
    assert json.loads((tmp_path / "r" / "structure.json").read_text())["parents"] == written["parents"]
    files = {path.name for path in (tmp_path / "r").iterdir()}
    assert files == {"result.json", "structure.json", "trace.csv", "report.html", "manifest.json"}
    report = (tmp_path / "r" / "report.html").read_text()
    assert "Sum of the local scores" in report
    assert '<th scope="col">Parents</th>' in report
    assert "States" not in report


def test_edges_and_the_number_of_parents_count(structure: Structure, scores: Path, tmp_path: Path) -> None:
    with gzip.open(tmp_path / "s.jkl.gz", "wt") as stream:
        stream.write(GOOD)
    zipped = structure("--scores", tmp_path / "s.jkl.gz", "--out", tmp_path / "r", "--max-parents", 1)
    assert "objective: -13.500000" in zipped.output  # a alone, b <- a, c alone
    required = structure("--scores", scores, "--out", tmp_path / "q", "--require", "a>b")
    assert "objective: -13.500000" in required.output
    forbidden = structure("--scores", scores, "--out", tmp_path / "p", "--forbid", "c>a", "--forbid", "a>b")
    assert "objective: -15.500000" in forbidden.output


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "ends after line 0, before all variables"),
        (GOOD[:-5], "ends after line 8, before all variables .*copy or download it again"),
        (GOOD.replace("b 2", "b 1"), "line 7: expected 2 words"),
        (GOOD.replace("-8.25", "nan"), "line 4: 'nan' is not a finite score"),
        (GOOD.replace("2 b c", "2 b z"), "line 4: 'a' has the parent 'z', which is no variable"),
        (GOOD.replace("1 a", "1 b"), "line 7: 'b' is a parent of itself"),
        (GOOD.replace("a 2", "a 999999999999"), "line 2: the number of parent sets of 'a' is '999999999999'"),
        (GOOD.replace("a 2", "a 99999999"), "promises 99,999,999 parent sets"),
        (GOOD.replace("-3 0", "-3 1 a"), r"line 7: 'b' has the parent set \['a'\] in line 6 too; remove one"),
        ("2\na 1\n-1 1 b\nb 1\n-2 1 a\n", r"Each parent set of \['a', 'b'\] holds another one of these"),
    ],
)
def test_a_hostile_file_is_an_error_with_line_value_and_cure(
    structure: Structure, scores: Path, tmp_path: Path, content: str, message: str
) -> None:
    scores.write_text(content)
    answer = structure("--scores", scores, "--out", tmp_path / "r")
    assert answer.exit_code == 2
    assert re.search(message, answer.output), answer.output
    assert not (tmp_path / "r" / "result.json").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--data", "t.csv"], "--scores takes the place of a table, and --data would say"),
        (["--score", "bic"], "and --score would say"),
        (["--ess", "2", "--hold-out", "0.3"], "and --hold-out, --ess would say|and --ess, --hold-out would say"),
        (["--max-parents", "0"], "--max-parents must be a whole number >= 1"),
        (["--require", "a>z"], "unknown node 'z'"),
        (["--solver", "clarabel"], "clarabel"),
    ],
)
def test_options_that_do_not_fit_are_named(
    structure: Structure, scores: Path, tmp_path: Path, options: list[str], message: str
) -> None:
    answer = structure("--scores", scores, "--out", tmp_path / "r", *options)
    assert answer.exit_code == 2
    assert re.search(message, answer.output), answer.output


def test_neither_a_table_nor_scores_is_an_error_that_says_what_to_give(structure: Structure, tmp_path: Path) -> None:
    answer = structure("--out", tmp_path / "r")
    assert answer.exit_code == 2
    assert "give --data FILE and --target COLUMN, or local scores by --scores FILE.jkl" in answer.output
    missing = structure("--out", tmp_path / "r", "--data", "t.csv")
    assert "give --target COLUMN, or" in missing.output
    absent = structure("--out", tmp_path / "r", "--scores", tmp_path / "nothing.jkl")
    assert "There is no local score file" in absent.output
