"""`mmbn-opt structure --checkpoint`: the same command again goes on, another one is refused in the command's words."""

from collections.abc import Callable
from pathlib import Path

import pytest

import mmbn_opt as mm
from mmbn_opt.cli import app

Run = Callable[..., tuple[int, str]]


@pytest.fixture
def structure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs the command in this process, on corral, with results and checkpoint in one folder."""
    monkeypatch.setenv("COLUMNS", "300")
    table, out = tmp_path / "t.csv", tmp_path / "run"
    mm.load_dataset("corral").to_csv(table, index=False)

    def run(*more: object, solver: str = "branch-and-cut") -> tuple[int, str]:
        usual = [
            "-d",
            table,
            "-t",
            "class",
            "-o",
            out,
            "--checkpoint",
            out,
            "--calibration",
            "none",
            "--solver",
            solver,
        ]
        monkeypatch.setattr("sys.argv", ["mmbn-opt", "structure", *map(str, [*usual, *more])])
        with pytest.raises(SystemExit) as end:
            app.main()
        said = capsys.readouterr()
        return int(end.value.code or 0), said.out + said.err

    return run


def test_the_same_command_goes_on_and_another_one_is_refused(structure: Run, tmp_path: Path) -> None:
    status, said = structure("--max-parents", "1")
    assert status == 0
    assert "OPTIMAL" in said
    saved = mm.load_run(tmp_path / "run")
    status, _ = structure("--max-parents", "1", "--time-limit", "100")
    assert status == 0
    assert len(saved.refresh().sessions) == 2
    assert {"tree.mmbn", "run.json", "model.json", "report.html"} <= {p.name for p in (tmp_path / "run").iterdir()}
    status, said = structure("--max-parents", "2")
    assert status == 2
    assert "holds the search of another problem: max_parents is 2, and was 1" in said.replace(
        "--max-parents", "max_parents"
    )
    assert len(saved.refresh().sessions) == 2


def test_a_solver_without_a_tree_is_refused_in_options(structure: Run) -> None:
    status, said = structure(solver="highs")
    assert status == 2
    assert "--checkpoint must be left out with 'highs'" in said
    assert "--solver branch_and_cut does" in said
