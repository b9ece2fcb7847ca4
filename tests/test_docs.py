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


def test_every_notebook_is_a_page_with_its_code_tables_and_figures(tmp_path):
    (tmp_path / "gone.md").write_text("of a notebook that is no more")
    load("notebook_pages").write_notebook_pages(ROOT / "examples", tmp_path)
    notebooks = sorted((ROOT / "examples").glob("*.ipynb"))
    assert {page.stem for page in tmp_path.glob("*.md")} == {notebook.stem for notebook in notebooks}
    for notebook in notebooks:
        page = (tmp_path / f"{notebook.stem}.md").read_text(encoding="utf-8")
        cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
        assert page.startswith("".join(cells[0]["source"]).splitlines()[0])
        outputs = [output for cell in cells for output in cell.get("outputs", [])]
        for cell in cells:
            assert "".join(cell["source"]) in page
        for output in outputs:
            assert "".join(output.get("text", "")).rstrip() in page
        figures = [output["data"] for output in outputs if "image/svg+xml" in output.get("data", {})]
        drawn = sorted(tmp_path.glob(f"{notebook.stem}-*.svg"))
        assert len(drawn) == len(figures) >= 1
        assert all(f"]({figure.name})" in page for figure in drawn)


def test_the_first_page_opens_with_a_picture_and_lists_the_notebooks():
    page = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    picture = re.search(r"!\[(.+)\]\((images/.+\.png)\)", page)
    assert picture is not None
    assert (ROOT / "docs" / picture.group(2)).is_file()
    assert page.index(picture.group(0)) < page.index("make demo")
    assert "\nnotebooks\n" in page


def test_code_of_the_site_scrolls_or_wraps():
    style = (ROOT / "docs" / "_static" / "site.css").read_text(encoding="utf-8")
    assert re.search(r"div\.highlight pre \{[^}]*overflow-x: auto", style)
    assert re.search(r"div\.highlight-default pre \{[^}]*white-space: pre-wrap", style)
