"""The checklists of CONTRIBUTING.md: what they name is there, and they are as short as they say."""

import re
import tomllib
from dataclasses import fields
from pathlib import Path

import pytest

from mmbn_opt.formulations import Formulation
from mmbn_opt.solvers import Solver

ROOT = Path(__file__).resolve().parent.parent
TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
LISTS = dict(re.findall(r"^## Checklist: new (\w+)\n.*?```text\n(.*?)```", TEXT, flags=re.MULTILINE | re.DOTALL))
PATH = re.compile(r"(?<![\w./])(?:[\w<>]+/)*[\w<>]+\.(?:pyi?|md|toml|cff)\b|(?<![\w./])(?:[\w<>]+/)+")
FROM_THE_SCRIPT = {"all", "test", "_SOLVERS"}
"""Words in backticks that are no members of the class: two extras and the registry's table."""


def paths(text):
    return {found for found in PATH.findall(text) if found != "pull/"}


@pytest.mark.parametrize("path", sorted(paths(TEXT)))
def test_every_path_that_is_named_exists(path):
    pattern = re.sub(r"<\w+>", "*", path)
    found = list(ROOT.glob(pattern))
    assert found, path
    if "<" not in path:
        assert len(found) == 1


def test_there_is_a_checklist_for_each_kind_of_change():
    assert set(LISTS) == {"benchmark", "formulation", "solver"}
    assert "mmbn_opt/formulations/<room>/<noun>.py" in paths(TEXT)
    assert "tests/conformance/solver_matrix.py" in paths(TEXT)


@pytest.mark.parametrize(("what", "number", "said"), [("formulation", 7, "Seven"), ("solver", 6, "Six")])
def test_a_change_touches_as_many_files_as_is_said(what, number, said):
    touched = re.findall(r"^\[ \] (\S+?):", LISTS[what], flags=re.MULTILINE)
    assert set(touched) <= paths(LISTS[what])
    assert len(touched) == len(set(touched)) == number
    assert re.search(rf"## Checklist: new {what}\n\n{said} files\.", TEXT)


@pytest.mark.parametrize(("what", "base"), [("formulation", Formulation), ("solver", Solver)])
def test_members_in_backticks_are_members(what, base):
    named = set(re.findall(r"`([A-Za-z_]+)(?:=\w+)?`", LISTS[what])) - FROM_THE_SCRIPT
    members = set(dir(base)) | {f.name for f in fields(base)} | set(base.__annotations__)
    assert len(named) > 5
    assert named <= members


def test_targets_of_make_that_are_named_are_there():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):", makefile, flags=re.MULTILINE))
    assert set(re.findall(r"make ([a-z-]+)", TEXT)) <= targets


def test_extras_that_are_named_are_there():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert {"all", "test"} <= set(project["optional-dependencies"])
