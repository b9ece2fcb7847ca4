"""Colours and type of all drawings; light and dark by the reader's setting, after a notebook's or a site's own."""

from mmbn_opt.display._text import escape

__all__ = [
    "CURVE_STYLE",
    "FONT",
    "NETWORK_STYLE",
    "PALETTES",
    "ROLES",
    "SERIES",
    "STANDALONE_STYLE",
    "SVG_PALETTES",
    "series_style",
    "svg_opening",
    "text_theme",
    "themed",
]

FONT = 'system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif'

ROLES: dict[str, tuple[str, tuple[str, ...]]] = {
    "--mm-page": ("ground", ()),
    "--mm-fill": ("ground", ()),
    "--mm-text": ("text", ("--mm-page", "--mm-fill")),
    "--mm-soft": ("text", ("--mm-page", "--mm-fill")),
    "--mm-primal": ("text", ("--mm-page",)),
    "--mm-dual": ("text", ("--mm-page",)),
    "--mm-good": ("text", ("--mm-page",)),
    "--mm-bad": ("text", ("--mm-page",)),
    "--mm-class-text": ("text", ("--mm-class",)),
    "--mm-tag-text": ("text", ("--mm-tag-good", "--mm-tag-open", "--mm-tag-bad")),
    "--mm-class": ("graphic", ("--mm-page",)),
    "--mm-bus": ("graphic", ("--mm-page", "--mm-fill")),
    "--mm-arc": ("graphic", ("--mm-page", "--mm-fill")),
    "--mm-line": ("graphic", ("--mm-page", "--mm-fill")),
    "--mm-tag-good": ("graphic", ("--mm-page",)),
    "--mm-tag-open": ("graphic", ("--mm-page",)),
    "--mm-tag-bad": ("graphic", ("--mm-page",)),
    "--mm-rule": ("decoration", ()),
}
"""What each colour is for and what it stands on: text needs a contrast of 4.5, a graphic one of 3, decoration none.

Decoration is what no reader misses: grid lines behind a curve, and lines between the rows of a table.
"""

_LIGHT = {
    "--mm-class": "#1d4ed8",
    "--mm-class-text": "#ffffff",
    "--mm-bus": "#5f82dc",
    "--mm-arc": "#3b4452",
    "--mm-fill": "#f6f7f9",
    "--mm-line": "#838d9b",
    "--mm-rule": "#e3e7ec",
    "--mm-soft": "#5a6572",
    "--mm-primal": "#1d4ed8",
    "--mm-dual": "#b45309",
    "--mm-good": "#15803d",
    "--mm-bad": "#b91c1c",
}
_DARK = {
    "--mm-class": "#3565e8",
    "--mm-class-text": "#ffffff",
    "--mm-bus": "#6283dd",
    "--mm-arc": "#c3cad4",
    "--mm-fill": "#20252d",
    "--mm-line": "#6b7789",
    "--mm-rule": "#2b323c",
    "--mm-soft": "#9aa5b4",
    "--mm-primal": "#86a8ff",
    "--mm-dual": "#f0a95b",
    "--mm-good": "#4ade80",
    "--mm-bad": "#f87171",
}
SVG_PALETTES = {"light": _LIGHT, "dark": _DARK}
"""What drawings use."""

PALETTES = {
    "light": _LIGHT
    | {
        "--mm-page": "#ffffff",
        "--mm-text": "#1b1f26",
        "--mm-tag-text": "#ffffff",
        "--mm-tag-good": "#15803d",
        "--mm-tag-open": "#8a5a06",
        "--mm-tag-bad": "#b91c1c",
    },
    "dark": _DARK
    | {
        "--mm-page": "#14171c",
        "--mm-text": "#e4e8ee",
        "--mm-tag-text": "#14171c",
        "--mm-tag-good": "#4ade80",
        "--mm-tag-open": "#f0a95b",
        "--mm-tag-bad": "#f87171",
    },
}
"""What pages use."""

SERIES = {
    "light": ("#1d4ed8", "#c2410c", "#15803d", "#7c3aed", "#b91c1c", "#0e7490", "#be185d", "#57534e"),
    "dark": ("#86a8ff", "#fb9a5b", "#4ade80", "#c4a5ff", "#f87171", "#5cd0e6", "#f58ac0", "#c9c4be"),
}
"""Graphics of the lines of a comparison, one a solver."""

_DASHES = ((), (7.0, 3.0), (2.0, 2.5), (9.0, 3.0, 2.0, 3.0))


def series_style(place: int) -> tuple[int, tuple[float, ...]]:
    """Number of the colour and the dashes of a line: neighbours differ in both, so that colour is not all there is.

    Examples
    --------
    >>> series_style(0), series_style(1), series_style(8)
    ((0, ()), (1, (7.0, 3.0)), (0, (7.0, 3.0)))
    """
    turn, colour = divmod(place, len(SERIES["light"]))
    return colour, _DASHES[(colour + turn) % len(_DASHES)]


def text_theme(selector: str) -> str:
    """All colours, those of pages and tables too."""
    return themed(selector, PALETTES["light"], PALETTES["dark"])


def themed(selector: str, light: dict[str, str] | None = None, dark: dict[str, str] | None = None) -> str:
    """Rules that give `selector` the light values, the dark ones where the reader, the notebook or the site is dark."""
    day = _declarations(_LIGHT if light is None else light)
    night = _declarations(_DARK if dark is None else dark)
    return (
        f"{selector}{{{day}}}"
        f"@media screen and (prefers-color-scheme:dark){{{selector}{{{night}}}}}"
        f'[data-jp-theme-light="true"] {selector},.vscode-light {selector},[data-theme="light"] {selector}{{{day}}}'
        f'[data-jp-theme-light="false"] {selector},.vscode-dark {selector},[data-theme="dark"] {selector}{{{night}}}'
    )


def svg_opening(kind: str, width: float, height: float, label: str, *, standalone: bool) -> str:
    """The ``<svg>`` tag; a file needs the name space, inside a page it would only be an address.

    A page may shrink a drawing, but not to where its text would be smaller than 11 px: then the page scrolls it.
    """
    space = 'xmlns="http://www.w3.org/2000/svg" ' if standalone else ""
    return (
        f'<svg {space}class="mmbn-svg {kind}" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
        f'height="{height:.0f}" style="min-width:{width * _LEAST_SCALE:.0f}px" role="img" aria-label="{escape(label)}">'
    )


SVG_TEXT_PX = 12.5
"""Least size of text in a drawing that is shown as large as it is."""
_LEAST_SCALE = 0.88


def _declarations(values: dict[str, str]) -> str:
    return ";".join(f"{key}:{value}" for key, value in values.items())


# Inside a page text colour and ground are the page's; a file has no page around it, and viewers differ in the ground.
STANDALONE_STYLE = (
    ".mmbn-svg{color:#1b1f26;background:#fff}"
    "@media screen and (prefers-color-scheme:dark){.mmbn-svg{color:#e4e8ee;background:#14171c}}"
)

NETWORK_STYLE = (
    themed(".mmbn-net")
    + f".mmbn-net{{font:13px {FONT};max-width:100%;height:auto}}"
    + ".mmbn-net text{fill:currentColor;text-anchor:middle}"
    ".mmbn-net rect{fill:var(--mm-fill);stroke:var(--mm-line)}"
    ".mmbn-net .class rect{fill:var(--mm-class);stroke:none}"
    ".mmbn-net .class text{fill:var(--mm-class-text);font-weight:600}"
    ".mmbn-net .way{fill:none}"
    ".mmbn-net .bus .way{stroke:var(--mm-bus);stroke-width:1.3}.mmbn-net .bus .head{fill:var(--mm-bus)}"
    ".mmbn-net .arc .way{stroke:var(--mm-arc);stroke-width:1.5}.mmbn-net .arc .head{fill:var(--mm-arc)}"
    ".mmbn-net .edge{transition:opacity .12s}"
    ".mmbn-net .node:hover rect{stroke:currentColor}"
)

CURVE_STYLE = (
    themed(".mmbn-curve")
    + f".mmbn-curve{{font:{SVG_TEXT_PX}px {FONT};max-width:100%;height:auto}}"
    + ".mmbn-curve text{fill:currentColor}.mmbn-curve .soft{fill:var(--mm-soft)}"
    ".mmbn-curve .grid{stroke:var(--mm-rule);stroke-width:1}"
    ".mmbn-curve .axis{fill:none;stroke:var(--mm-line);stroke-width:1}"
    ".mmbn-curve .gap{fill:var(--mm-dual);fill-opacity:.13}.mmbn-curve rect.gap{stroke:var(--mm-dual)}"
    ".mmbn-curve path.primal{fill:none;stroke:var(--mm-primal);stroke-width:2}"
    ".mmbn-curve path.dual{fill:none;stroke:var(--mm-dual);stroke-width:2;stroke-dasharray:6 2.5}"
    ".mmbn-curve circle.primal{fill:var(--mm-primal)}.mmbn-curve circle.dual{fill:var(--mm-dual)}"
    ".mmbn-curve text.primal{fill:var(--mm-primal);font-weight:600}"
    ".mmbn-curve text.dual{fill:var(--mm-dual);font-weight:600}"
)
