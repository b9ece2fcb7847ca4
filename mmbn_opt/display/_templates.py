"""The Jinja environment of this room: everything is escaped unless it is a drawing of ours."""

from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from mmbn_opt.display._text import clean
from mmbn_opt.display._theme import FONT, text_theme

__all__ = ["fragment_style", "package_version", "page_style", "render"]


def render(template: str, **values: Any) -> str:
    """Fill a template; text in `values` is cleaned of characters that XML forbids and escaped."""
    return _environment().get_template(template).render(values)


def page_style() -> Markup:
    """Style of a report."""
    return Markup(text_theme(":root") + render("report.css.j2", root="report", font=Markup(FONT)))


def fragment_style() -> Markup:
    """Style of a fragment in a notebook."""
    base = f".mmbn{{font:14px/1.45 {FONT};max-width:62rem}}"
    return Markup(text_theme(".mmbn") + base + render("common.css.j2", root="mmbn"))


def package_version() -> str:
    """Version of the installed package."""
    try:
        return version("mmbn-opt")
    except PackageNotFoundError:
        return "(not installed)"


@cache
def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("mmbn_opt", "display/templates"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=lambda value: (
            value if isinstance(value, Markup) else clean(value) if isinstance(value, str) else value
        ),
        trim_blocks=True,
        lstrip_blocks=True,
    )
