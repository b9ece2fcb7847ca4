"""Every colour of the theme can be seen on what it stands on, light and dark (WCAG 2.2, 1.4.3 and 1.4.11)."""

import re
from itertools import pairwise

import pytest

from mmbn_opt.display._templates import fragment_style, page_style
from mmbn_opt.display._theme import (
    CURVE_STYLE,
    NETWORK_STYLE,
    PALETTES,
    ROLES,
    SERIES,
    STANDALONE_STYLE,
    SVG_PALETTES,
    series_style,
)
from mmbn_opt.display.comparison_curves import gaps_svg

LEAST = {"text": 4.5, "graphic": 3.0}
NOTEBOOKS = {"light": ("#ffffff",), "dark": ("#111111", "#1e1e1e", "#121212")}
"""Grounds that a fragment is shown on: JupyterLab, VS Code, the documentation."""


def luminance(colour: str) -> float:
    """Of sRGB, as WCAG defines it."""
    parts = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


PAIRS = [
    (theme, name, ground, LEAST[role])
    for theme in PALETTES
    for name, (role, grounds) in ROLES.items()
    for ground in grounds
]


def test_the_measure_is_that_of_the_standard() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21.0)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)
    # What the edges from the class were: too pale to be seen.
    assert contrast("#a3baf0", "#ffffff") == pytest.approx(1.9, abs=0.05)


@pytest.mark.parametrize(("theme", "name", "ground", "least"), PAIRS)
def test_colours_of_pages_reach_the_contrast_of_their_role(theme: str, name: str, ground: str, least: float) -> None:
    assert contrast(PALETTES[theme][name], PALETTES[theme][ground]) >= least


@pytest.mark.parametrize("theme", sorted(SVG_PALETTES))
def test_drawings_can_be_seen_on_the_grounds_of_notebooks(theme: str) -> None:
    on_page = {name: LEAST[role] for name, (role, grounds) in ROLES.items() if "--mm-page" in grounds}
    for ground in NOTEBOOKS[theme]:
        for name, colour in SVG_PALETTES[theme].items():
            assert contrast(colour, ground) >= on_page.get(name, 0.0), (name, ground)
        for colour in SERIES[theme]:
            assert contrast(colour, ground) >= 3.0, (colour, ground)


def test_every_colour_has_a_role_and_a_value_in_both_themes() -> None:
    assert set(PALETTES["light"]) == set(PALETTES["dark"]) == set(ROLES)
    assert set(SVG_PALETTES["light"]) == set(SVG_PALETTES["dark"]) <= set(ROLES)


def test_styles_name_no_colour_that_the_theme_does_not_have() -> None:
    for style in (CURVE_STYLE, NETWORK_STYLE, page_style(), fragment_style(), gaps_svg([])):
        used = set(re.findall(r"var\((--mm-[\w-]+)\)", style))
        assert used <= set(ROLES) | {f"--mm-s{k}" for k in range(len(SERIES["light"]))}
        # A colour that is written out belongs to the theme's values or to a file's own ground.
        rules = re.sub(r"--mm-[\w-]+:#[0-9a-f]+", "", style).replace(STANDALONE_STYLE, "")
        assert re.findall(r"#[0-9a-f]{3,6}\b", rules) == []


def test_a_site_with_a_switch_of_its_own_decides_over_the_reader() -> None:
    assert '[data-theme="dark"] .mmbn-net' in NETWORK_STYLE
    assert '[data-theme="light"] .mmbn-curve' in CURVE_STYLE


def test_no_two_of_many_lines_look_alike_and_neighbours_differ_in_their_dashes_too() -> None:
    looks = [series_style(k) for k in range(24)]
    assert len(set(looks)) == 24
    assert all(a[1] != b[1] for a, b in pairwise(looks))
