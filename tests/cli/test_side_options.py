"""Limits on a structure, as they are typed."""

import json
import sys

import pytest

import mmbn_opt as mm
from mmbn_opt.cli import app


@pytest.fixture
def structure(tmp_path, monkeypatch, capsys):
    """Runs ``mmbn-opt structure`` on corral in a folder with two tables of costs."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "300")
    mm.load_dataset("corral").to_csv("c.csv", index=False)
    (tmp_path / "costs.csv").write_text("feature,cost\nA0,1\nA1,2.5\nB0,4\n")
    (tmp_path / "wrong.csv").write_text("feature,cost\nA0,cheap\n")
    (tmp_path / "twice.csv").write_text("feature,cost\nA0,1\nA0,2\n")
    (tmp_path / "wide.csv").write_text("feature,cost,unit\nA0,1,EUR\n")
    (tmp_path / "s.jkl").write_text("3\na 2\n-10.5 0\n-8.25 2 b c\nb 2\n-3 0\n-1 1 a\nc 1\n-2 0\n")

    def run(*arguments, rows=("-d", "c.csv", "-t", "class")):
        monkeypatch.setattr(sys, "argv", ["mmbn-opt", "structure", *rows, "-o", "out", "-q", *arguments])
        with pytest.raises(SystemExit) as ended:
            app.main()
        said = capsys.readouterr()
        return int(ended.value.code or 0), said.out + said.err

    return run


def written_parents(tmp_path):
    return json.loads((tmp_path / "out" / "result.json").read_text())["parents"]


@pytest.mark.parametrize(
    ("arguments", "keeps"),
    [
        (["--max-edges", "2"], lambda ps: sum(map(len, ps.values())) == 2),
        (["--max-features", "2"], lambda ps: len({v for v, of in ps.items() if "class" in of} | set(ps["class"])) <= 2),
        (["--max-parameters", "9"], lambda ps: sum(2 ** len(of) for of in ps.values()) <= 9),
        (["--feature-costs", "costs.csv", "--budget", "0"], lambda ps: not {"A0", "A1", "B0"} & set(ps["class"])),
        (["--tiers", "class < A0, A1,B0,B1 < Correlated"], lambda ps: set(ps["class"]) <= {"Irrelevant"}),
        pytest.param(
            ["--above", "A0>B1", "--above", "B1 > class"], lambda ps: "B1" in ps["class"] or ps["class"],
            marks=pytest.mark.slow,
        ),
        (["--not-above", "class>A0", "--max-edges", "3"], lambda ps: "class" not in ps["A0"]),
        (["--at-most-one", "A0,A1,B0,B1,Correlated"], lambda ps: sum("class" in of for of in ps.values()) <= 2),
        pytest.param(
            ["--all-or-none", "A0,A1", "--max-features", "2"], lambda ps: not {"B0", "B1"} & set(ps["class"]),
            marks=pytest.mark.slow,
        ),
    ],
)  # fmt: skip
def test_each_limit_is_kept_and_said(structure, tmp_path, arguments, keeps):
    code, said = structure(*arguments)
    assert code == 0, said
    assert "OPTIMAL" in said
    assert ", keeping " in said
    assert keeps(written_parents(tmp_path))


def test_given_scores_take_limits_that_need_no_class(structure, tmp_path):
    code, said = structure("--max-edges", "1", rows=("--scores", "s.jkl"))
    assert code == 0, said
    assert written_parents(tmp_path) == {"a": [], "b": ["a"], "c": []}
    code, said = structure("--max-features", "1", rows=("--scores", "s.jkl"))
    assert code == 2
    assert "local scores have no class" in said


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--max-edges", "-1"], "--max-edges must be a whole number >= 0, got -1"),
        (["--max-features", "x"], "'x' is not a whole number"),
        (["--budget", "3"], "--budget needs --feature-costs"),
        (["--feature-costs", "costs.csv"], "--feature-costs needs --budget"),
        (["--feature-costs", "wrong.csv", "--budget", "3"], "Line 2 of 'wrong.csv' gives 'A0' the cost 'cheap'"),
        (["--feature-costs", "twice.csv", "--budget", "3"], "Line 3 of 'twice.csv' gives 'A0' a second cost"),
        (["--feature-costs", "wide.csv", "--budget", "3"], "'wide.csv' has 3: ['feature', 'cost', 'unit']"),
        (["--feature-costs", "none.csv", "--budget", "3"], "none.csv"),
        (["--feature-costs", "costs.csv", "--budget", "-3"], "--budget must be a finite number >= 0, got -3"),
        (["--tiers", "A0"], "--tiers needs two tiers or more"),
        (["--tiers", "A0 < Q"], "names the unknown node 'Q'; known: ['A0'"),
        (["--above", "A0"], '--above needs "parent>child", got \'A0\''),
        (["--all-or-none", "A0"], "needs two members or more"),
        (["--max-edges", "1", "--above", "A0>A1", "--above", "A1>B0"], "No structure keeps these 3 constraints"),
        (["--score", "bic", "--max-edges", "1", "--solver", "subset_search"], "branch_and_cut, highs"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_told_by_option_and_value(structure, arguments, words):
    code, said = structure(*arguments)
    assert code == 2, said
    assert words in said
    assert "Traceback" not in said


@pytest.mark.parametrize(
    ("arguments", "value"),
    [
        (["--edge-penalty", "5"], 229.03),
        (["--parameter-penalty", "1"], 242.89),
        (["--likelihood", "0.1"], 208.21),
        (["--edge-penalty", "1000"], 3.96),
    ],
)
def test_prices_and_likelihood_are_part_of_the_objective(structure, tmp_path, arguments, value):
    code, said = structure(*arguments)
    assert code == 0, said
    found = json.loads((tmp_path / "out" / "result.json").read_text())
    assert found["primal_bound"] == pytest.approx(value, abs=0.01), found


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--edge-penalty", "-1"], "--edge-penalty must be a finite number >= 0, got -1"),
        (["--likelihood", "inf"], "--likelihood must be a finite number >= 0"),
        (["--parameter-penalty", "much"], "--parameter-penalty"),
    ],
)
def test_prices_that_are_none_are_refused(structure, arguments, words):
    code, said = structure(*arguments)
    assert code == 2, said
    assert words in said


def test_scores_that_are_given_have_their_prices_in_them(structure):
    code, said = structure("--scores", "s.jkl", "--edge-penalty", "1", rows=())
    assert code == 2
    assert "--scores takes the place of a table, and --edge-penalty would say something" in said
