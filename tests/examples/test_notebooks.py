"""The notebooks run from top to bottom, and are kept as they look after a run."""

import importlib.util
import re
import time
from pathlib import Path

import pytest

NOTEBOOKS = sorted((Path(__file__).resolve().parents[2] / "examples").glob("*.ipynb"))
LIMIT_SEC = 300.0
"""Each takes well under a minute on a slow core; this only stops what hangs."""

pytestmark = [
    pytest.mark.skipif(
        any(importlib.util.find_spec(name) is None for name in ("nbclient", "nbconvert", "ipykernel", "matplotlib")),
        reason="needs nbclient, nbconvert, ipykernel and matplotlib: pip install 'mmbn-opt[test]'",
    ),
    pytest.mark.skipif(not NOTEBOOKS, reason="no notebooks here"),
]


@pytest.fixture(params=NOTEBOOKS, ids=lambda path: path.stem)
def notebook(request):
    import nbformat

    return nbformat.read(request.param, as_version=4)


def code_cells(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def test_is_kept_with_the_outputs_of_one_run(notebook):
    import nbformat

    nbformat.validate(notebook)
    cells = code_cells(notebook)
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    kinds = {output.output_type for cell in cells for output in cell.outputs}
    assert "error" not in kinds
    assert not any(output.get("name") == "stderr" for cell in cells for output in cell.outputs), "a cell warned"
    assert sum("image/svg+xml" in output.get("data", {}) for cell in cells for output in cell.outputs) >= 1


def test_names_no_place_on_the_machine_that_ran_it(notebook):
    import nbformat

    text = nbformat.writes(notebook)
    assert not re.search(r"(?<![\w.])/(home|root|tmp|work|Users|opt)/", text)
    assert "widgets" not in notebook.metadata


def test_begins_with_its_title_and_tells_a_story(notebook):
    first = notebook.cells[0]
    assert first.cell_type == "markdown"
    assert first.source.startswith("# ")
    words = sum(len(cell.source.split()) for cell in notebook.cells if cell.cell_type == "markdown")
    assert 100 < words < 700


SHORT = {"the-same-model-in-five-languages", "labels-that-help-each-other"}
"""One with solvers, one with sequences; all others are run by `make test-slow`."""

NEEDS = {"the-same-model-in-five-languages": ("pyomo", "cvxpy", "pyscipopt")}
"""Libraries that a notebook is about, of extras of their own."""


@pytest.mark.timeout(LIMIT_SEC)
@pytest.mark.parametrize(
    "notebook",
    [pytest.param(path, id=path.stem, marks=[pytest.mark.slow] * (path.stem not in SHORT)) for path in NOTEBOOKS],
    indirect=True,
)
def test_runs(notebook, request):
    from notebook_runs import executed

    for name in NEEDS.get(request.node.callspec.id, ()):
        pytest.importorskip(name, reason=f"{name} is not installed, which the notebook is about")

    began = time.monotonic()
    executed(notebook)
    assert time.monotonic() - began < LIMIT_SEC
