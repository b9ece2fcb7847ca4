"""Boxes whose programs begin without dear columns: answer, proof and file are those of a search with all of them."""

from pathlib import Path

import numpy as np
import pytest

import mmbn_opt as mm
from mmbn_opt.programs.base import ProgramKind
from mmbn_opt.solvers.choice.branch_and_cut import BranchAndCut
from mmbn_opt.solvers.choice.branch_and_cut import _narrow as narrow
from mmbn_opt.solvers.choice.branch_and_cut._tableau import Tableau
from tests.solving.test_checkpoint import BRANCH, PROBLEMS, proved, same, solve, table
from tests.solving.test_processes import long, undisturbed

ALL = {"reach": float("inf")}
"""Columns in a box's program from the start."""


@pytest.mark.parametrize("reach", [0.0, 0.04, 0.5])
@pytest.mark.parametrize("name", PROBLEMS)
def test_without_dear_columns_the_answer_is_the_same(name: str, reach: float, tmp_path: Path) -> None:
    problem = PROBLEMS[name]()
    whole = mm.solve(problem, BRANCH, options=ALL)
    result = solve(problem, tmp_path, options={"reach": reach})
    same(result, whole, problem, tmp_path)
    assert whole.stats["programs_widened"] == 0
    if reach == 0.0 and whole.stats["nodes"] > 20:
        assert result.stats["programs_widened"] > 5


@pytest.mark.parametrize("rule", ["dual", "mixture"])
def test_the_tree_is_about_as_large(rule: str) -> None:
    """Bounds are as good as with all columns: what was missed comes in before a box is parted."""
    whole = mm.solve(long(), BRANCH, options={"branching": rule, **ALL})
    for reach in (0.0, 0.04):
        result = mm.solve(long(), BRANCH, options={"branching": rule, "reach": reach})
        assert result.stats["programs_widened"] > 100
        assert result.stats["nodes"] < 1.15 * whole.stats["nodes"]


def test_wherever_it_is_cut_off_the_file_proves_the_bound(tmp_path: Path) -> None:
    problem = PROBLEMS["three classes"]()
    for limit in (1, 2, 3, 5, 8, 13, 21, 34):
        folder = tmp_path / str(limit)
        result = solve(problem, folder, options={"node_limit": limit, "reach": 0.0, "ahead": 0.0})
        scale = max(1.0, abs(result.bounds.dual_bound))
        assert -proved(problem, folder).bound == pytest.approx(result.bounds.dual_bound, abs=2e-9 * scale)


def test_what_cannot_be_priced_in_is_begun_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(narrow, "MOST_PRICED", 0)
    result = solve(long(), tmp_path, options={"branching": "dual", "reach": 0.0})
    assert result.stats["programs_widened"] > 100
    same(result, undisturbed(), long(), tmp_path)


def test_several_threads_and_boxes_that_wait(tmp_path: Path) -> None:
    options = {"branching": "dual", "reach": 0.04, "ahead": 0.0}
    result = solve(long(), tmp_path, threads=3, options=options)
    same(result, undisturbed(), long(), tmp_path)


def test_by_default_wide_programs_begin_narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    """A look at each tableau to which columns come: none of them was there, all are afterwards."""
    data = table(7, 80, 22)
    problem = mm.SoftMarginStructure(data, gamma=mm.log_odds(0.9))
    program = problem.build(ProgramKind.IMPLICIT_CONCAVE)
    assert program.n_columns > narrow.NARROW_COLUMNS
    shares = []
    widen = Tableau.widen

    def watched(self: Tableau, pool: object, costs: object, new: np.ndarray, *others: object) -> bool:
        before = self.columns()
        assert not before[new].any()
        shares.append(before.mean())
        done = widen(self, pool, costs, new, *others)
        assert self.columns()[new].all()
        return done

    monkeypatch.setattr(Tableau, "widen", watched)
    result = BranchAndCut(options={"node_limit": 30}).solve(program)
    assert result.nodes == 30
    assert min(shares) < 0.8
