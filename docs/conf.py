"""Sphinx configuration. The API listing is written from the package's public names, so that it can't go stale."""

import sys
from collections import defaultdict
from enum import Enum
from importlib import import_module
from importlib.metadata import version as installed_version
from pathlib import Path

from sphinx.application import Sphinx

import mmbn_opt

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from experiment_pages import write_experiment_pages  # noqa: E402 -- a neighbour of this file
from formulation_pages import write_formulation_table  # noqa: E402 -- a neighbour of this file
from notebook_pages import write_notebook_pages  # noqa: E402 -- a neighbour of this file
from solver_pages import write_solver_pages  # noqa: E402 -- a neighbour of this file

project = "mmbn_opt"
author = "the mmbn_opt developers"
project_copyright = "2026, the mmbn_opt developers"
release = installed_version("mmbn-opt")
version = ".".join(release.split(".")[:2])

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx.ext.viewcode",
    "sphinx-mathjax-offline",
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
# The tables are parts of pages, no pages of their own.
exclude_patterns = ["_build", "_templates", "_generated/*-table.md", "_generated/auto-rules.md"]
templates_path = ["_templates"]

myst_enable_extensions = ["amsmath", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

autosummary_generate = True
autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False

html_theme = "pydata_sphinx_theme"
html_title = "mmbn_opt"
html_show_sourcelink = False
html_static_path = ["_static"]
html_css_files = ["site.css"]
# Pages that have no pages below them need no list of those: the room is the text's.
html_sidebars = {
    page.stem: []
    for page in HERE.glob("*.md")
    if "{toctree}" not in page.read_text(encoding="utf-8") or page.stem == "index"
}
html_theme_options = {
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": ["theme-version"],
}

# The order of the listing is that in which one meets the rooms; a room that is not named follows.
ORDER = (
    "data",
    "networks",
    "mixtures",
    "scores",
    "heuristics",
    "formulations",
    "solvers",
    "solving",
    "results",
    "tuning",
)


def room_of(name: str) -> str | None:
    """The room below `mmbn_opt` that defines a public name; None for a plain value such as the version."""
    module: str = getattr(getattr(mmbn_opt, name), "__module__", "")
    return module.split(".")[1].lstrip("_") if module.startswith("mmbn_opt.") else None


def write_api_listing() -> None:
    """Write `_generated/api.rst`: one autosummary table for each room."""
    listing = defaultdict(list)
    for name in sorted(mmbn_opt.__all__):
        room = room_of(name)
        if room is not None:
            listing[room].append(name)
    rooms = [room for room in ORDER if room in listing] + sorted(set(listing) - set(ORDER))
    lines = [
        "API reference",
        "=============",
        "",
        "All names live in ``mmbn_opt``.",
        "",
        ".. currentmodule:: mmbn_opt",
        "",
    ]
    for room in rooms:
        title = room.capitalize()
        sentence = (import_module(f"mmbn_opt.{room}").__doc__ or "").strip().partition("\n\n")[0]
        lines += [title, "-" * len(title), "", sentence, "", ".. autosummary::", "   :toctree: api", ""]
        lines += [f"   {name}" for name in listing[room]]
        lines += [""]
    target = HERE / "_generated" / "api.rst"
    target.parent.mkdir(exist_ok=True)
    text = "\n".join(lines)
    if not target.exists() or target.read_text(encoding="utf-8") != text:
        target.write_text(text, encoding="utf-8")
    for page in target.parent.glob("api/mmbn_opt.*.rst"):
        if page.stem.removeprefix("mmbn_opt.") not in mmbn_opt.__all__:
            page.unlink()


def skip_what_scikit_learn_injects(
    app: Sphinx, what: str, name: str, obj: object, skip: bool, options: object
) -> bool | None:
    """Leave out methods such as `set_transform_request`: their text refers to pages of scikit-learn's own site."""
    return True if (getattr(obj, "__module__", None) or "").startswith("sklearn.") else None


def list_enum_members(app: Sphinx, what: str, name: str, obj: object, options: object, lines: list[str]) -> None:
    """Show each member of a status enum with the sentence that it carries."""
    if isinstance(obj, type) and issubclass(obj, Enum):
        for member in obj:
            lines += ["", f"``{member.name}``", f"   {getattr(member, 'sentence', '') or member.value}"]


def setup(app: Sphinx) -> None:
    app.connect("autodoc-skip-member", skip_what_scikit_learn_injects)
    app.connect("autodoc-process-docstring", list_enum_members)


write_api_listing()
write_solver_pages(HERE / "_generated")
write_formulation_table(HERE / "_generated")
write_notebook_pages(HERE.parent / "examples", HERE / "_generated" / "notebooks")
write_experiment_pages(HERE.parent / "benchmarks" / "papers", HERE / "_generated")
