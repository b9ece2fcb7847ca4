"""Notebooks executed here, and pages made of them."""

from typing import Any

import nbformat
from nbclient import NotebookClient
from nbconvert import HTMLExporter

CELL_LIMIT_SEC = 240


def notebook_of(cells: list[str]) -> Any:
    """A notebook with these code cells."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in cells])
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return notebook


def executed(notebook: Any) -> Any:
    """The notebook after all its cells; an exception in a cell is raised here."""
    return NotebookClient(notebook, timeout=CELL_LIMIT_SEC, kernel_name="python3").execute()


def as_page(notebook: Any) -> str:
    """The notebook as nbconvert writes it."""
    body, _ = HTMLExporter(template_name="lab").from_notebook_node(notebook)
    return str(body)


def bundles(cell: Any) -> list[dict[str, str]]:
    """What the outputs of a cell hold, by type."""
    return [dict(output["data"]) for output in cell.outputs if "data" in output]
