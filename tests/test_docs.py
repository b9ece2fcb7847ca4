"""The documentation: what is generated in it, and where its examples import from."""

import importlib.util
import json
import re
from pathlib import Path

import pytest

import mmbn_opt as mm
from mmbn_opt.formulations import Formulation

ROOT = Path(__file__).resolve().parent.parent
PROSE = [
    *(path for path in (ROOT / "docs").rglob("*.md") if not {"_build", "_generated"} & set(path.parts)),
    *(ROOT / "examples").glob("*.py"),
    *(ROOT / "examples").glob("*.ipynb"),
    *(ROOT / "benchmarks" / "benchopt").glob("*.md"),
    *ROOT.glob("*.md"),
]


def load(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("page", PROSE, ids=lambda page: str(page.relative_to(ROOT)))
def test_pages_and_examples_import_from_the_face_and_its_rooms_only(page):
    text = page.read_text(encoding="utf-8")
    if page.suffix == ".ipynb":
        text = "\n".join(line for cell in json.loads(text)["cells"] for line in cell["source"])
    assert re.findall(r"(?:from|import) (mmbn_opt\.\w+\.[\w.]+)", text) == []
    for room in set(re.findall(r"from (mmbn_opt\.\w+) import", text)):
        assert hasattr(importlib.import_module(room), "__all__"), f"{room} is a module, not a room"


def test_the_table_of_formulations_has_every_public_one_with_its_page_and_bound(tmp_path):
    load("formulation_pages").write_formulation_table(tmp_path)
    rows = (tmp_path / "formulation-table.md").read_text(encoding="utf-8").splitlines()[2:]
    found = {}
    for row in rows:
        name, page, title, _, _, bound = re.fullmatch(
            r"\| \[`(\w+)`\]\(([\w-]+\.md)\) \| (.+) \| (.+) \| (.+) \| (\w+) \|", row
        ).groups()
        assert name in (ROOT / "docs" / "formulations" / page).read_text(encoding="utf-8").split("---")[1]
        found[name] = title, bound
    public = [getattr(mm, name) for name in mm.__all__ if isinstance(getattr(mm, name), type)]
    formulations = [kind for kind in public if issubclass(kind, Formulation)]
    assert found == {kind.__name__: (kind.title, kind.bound_kind.name.lower()) for kind in formulations}
    assert found["SoftMarginStructure"] == ("Soft-margin structure", "exact")


def test_a_formulation_without_a_page_is_named_when_the_docs_are_built(monkeypatch, tmp_path):
    pages = load("formulation_pages")

    class Unwritten(mm.SoftMarginStructure):
        pass

    known = pages.public_formulations()
    monkeypatch.setattr(pages, "public_formulations", lambda: known | {"Unwritten": Unwritten})
    with pytest.raises(ValueError, match=r"No page in .*formulations begins with `formulations: Unwritten`"):
        pages.write_formulation_table(tmp_path)


def test_pages_of_solvers_show_the_path_that_is_meant_for_import(tmp_path):
    load("solver_pages").write_solver_pages(tmp_path)
    page = (tmp_path / "solvers" / "highs.md").read_text(encoding="utf-8")
    assert "`mmbn_opt.solvers.HighsSolver`" in page
    assert not re.findall(r"mmbn_opt\.\w+\.[a-z_]+\.", page)
