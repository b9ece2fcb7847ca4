"""Colours and type of all drawings; light and dark by the reader's setting, a notebook's own theme before it."""

from mmbn_opt.display._text import escape

__all__ = ["CURVE_STYLE", "FONT", "NETWORK_STYLE", "STANDALONE_STYLE", "svg_opening", "text_theme"]

FONT = 'system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif'

_LIGHT = {
    "--mm-class": "#1d4ed8",
    "--mm-bus": "#a3baf0",
    "--mm-arc": "#3b4452",
    "--mm-fill": "#f6f7f9",
    "--mm-line": "#c5ccd6",
    "--mm-soft": "#5a6572",
    "--mm-primal": "#1d4ed8",
    "--mm-dual": "#b45309",
    "--mm-good": "#15803d",
    "--mm-bad": "#b91c1c",
}
_DARK = {
    "--mm-class": "#3565e8",
    "--mm-bus": "#3f5699",
    "--mm-arc": "#c3cad4",
    "--mm-fill": "#20252d",
    "--mm-line": "#465060",
    "--mm-soft": "#9aa5b4",
    "--mm-primal": "#86a8ff",
    "--mm-dual": "#f0a95b",
    "--mm-good": "#4ade80",
    "--mm-bad": "#f87171",
}


_TEXT_LIGHT = {
    "--mm-page": "#ffffff",
    "--mm-text": "#1b1f26",
    "--mm-rule": "#e3e7ec",
    "--mm-tag-good": "#15803d",
    "--mm-tag-open": "#8a5a06",
    "--mm-tag-bad": "#b91c1c",
}
_TEXT_DARK = _TEXT_LIGHT | {"--mm-page": "#14171c", "--mm-text": "#e4e8ee", "--mm-rule": "#2b323c"}


def text_theme(selector: str) -> str:
    """All colours, those of pages and tables too."""
    return themed(selector, _LIGHT | _TEXT_LIGHT, _DARK | _TEXT_DARK)


def themed(selector: str, light: dict[str, str] | None = None, dark: dict[str, str] | None = None) -> str:
    """Rules that give `selector` the light values, the dark ones where the reader or the notebook is dark."""
    day = _declarations(_LIGHT if light is None else light)
    night = _declarations(_DARK if dark is None else dark)
    return (
        f"{selector}{{{day}}}"
        f"@media screen and (prefers-color-scheme:dark){{{selector}{{{night}}}}}"
        f'[data-jp-theme-light="true"] {selector},.vscode-light {selector}{{{day}}}'
        f'[data-jp-theme-light="false"] {selector},.vscode-dark {selector}{{{night}}}'
    )


def svg_opening(kind: str, width: float, height: float, label: str, *, standalone: bool) -> str:
    """The ``<svg>`` tag; a file needs the name space, inside a page it would only be an address."""
    space = 'xmlns="http://www.w3.org/2000/svg" ' if standalone else ""
    return (
        f'<svg {space}class="mmbn-svg {kind}" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
        f'height="{height:.0f}" role="img" aria-label="{escape(label)}">'
    )


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
    ".mmbn-net .class text{fill:#fff;font-weight:600}"
    ".mmbn-net .way{fill:none}"
    ".mmbn-net .bus .way{stroke:var(--mm-bus);stroke-width:1.3}.mmbn-net .bus .head{fill:var(--mm-bus)}"
    ".mmbn-net .arc .way{stroke:var(--mm-arc);stroke-width:1.5}.mmbn-net .arc .head{fill:var(--mm-arc)}"
    ".mmbn-net .edge{transition:opacity .12s}"
    ".mmbn-net .node:hover rect{stroke:currentColor}"
)

CURVE_STYLE = (
    themed(".mmbn-curve")
    + f".mmbn-curve{{font:12px {FONT};max-width:100%;height:auto}}"
    + ".mmbn-curve text{fill:currentColor}.mmbn-curve .soft{fill:var(--mm-soft)}"
    ".mmbn-curve .grid{stroke:var(--mm-line);stroke-width:1;opacity:.55}"
    ".mmbn-curve .axis{stroke:var(--mm-line);stroke-width:1}"
    ".mmbn-curve .gap{fill:var(--mm-dual);opacity:.11}"
    ".mmbn-curve path.primal{fill:none;stroke:var(--mm-primal);stroke-width:2}"
    ".mmbn-curve path.dual{fill:none;stroke:var(--mm-dual);stroke-width:2}"
    ".mmbn-curve circle.primal{fill:var(--mm-primal)}.mmbn-curve circle.dual{fill:var(--mm-dual)}"
    ".mmbn-curve text.primal{fill:var(--mm-primal);font-weight:600}"
    ".mmbn-curve text.dual{fill:var(--mm-dual);font-weight:600}"
)
