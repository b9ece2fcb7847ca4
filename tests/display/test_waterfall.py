"""The waterfall: its bars add up, whatever the terms, and its text is escaped."""

import itertools
import re
from xml.etree import ElementTree

import numpy as np
import pytest

import mmbn_opt as mm
from mmbn_opt.display.waterfall import MAX_BARS, bars_of, waterfall_svg
from mmbn_opt.scores.explanation import Explanation


def explanation(terms: list[float], names: list[str] | None = None) -> Explanation:
    odds = np.zeros((len(terms), 2, 2))
    odds[:, 0, 1] = terms
    odds[:, 1, 0] = [-term for term in terms]
    known = tuple(names or ["class", *(f"x{k}" for k in range(len(terms) - 1))])
    values = ("", *("v" for _ in known[1:]))
    return Explanation(known, values, ("yes", "no"), odds, np.array([0.7, 0.3]), 0, 1)


@pytest.mark.parametrize(
    "terms",
    [
        [0.5],
        [0.0],
        [0.0, 0.0, 0.0],
        [1.0, -2.0, 0.5],
        [1e-12, -1e6, 3.0],
        list(np.linspace(-3, 2, 40)),
        [np.inf, 1.0, -2.0],
        [-np.inf, 1.0],
    ],
    ids=str,
)
@pytest.mark.parametrize("narrow", [False, True])
def test_any_terms_make_a_drawing_whose_bars_follow_one_another(terms: list[float], narrow: bool) -> None:
    found = explanation(terms)
    svg = ElementTree.fromstring(waterfall_svg(found, narrow=narrow))
    width, height = float(svg.attrib["width"]), float(svg.attrib["height"])
    rects = [r.attrib for r in svg.iter("{http://www.w3.org/2000/svg}rect") if "rx" in r.attrib]
    bars = bars_of(found)
    assert len(rects) == len(bars) + 1 <= MAX_BARS + 1
    ends = [(float(r["x"]), float(r["x"]) + float(r["width"])) for r in rects]
    assert all(0 <= low <= high <= width for low, high in ends)
    assert all(float(r["y"]) + float(r["height"]) < height for r in rects)
    for (before, after), (_, _, term), (_, _, following) in zip(itertools.pairwise(ends), bars, bars[1:], strict=False):
        at = before[1] if term > 0 else before[0]
        begins = after[0] if following > 0 else after[1]
        assert begins == pytest.approx(at, abs=1.2)  # a bar of a pixel at least
    if np.isfinite(terms).all():
        assert sum(term for _, _, term in bars) == pytest.approx(found.log_odds)


def test_names_and_values_are_escaped_and_values_stay_readable() -> None:
    found = explanation([0.5, 1.5], ["class", "a very long <name> of a feature that has no room & more"])
    svg = waterfall_svg(found, narrow=True)
    ElementTree.fromstring(svg)
    assert "<name>" not in svg
    assert re.search(r"… = v<", svg)


def test_a_notebook_and_matplotlib_show_it() -> None:
    frame = mm.load_dataset("vote")
    X, y = frame.drop(columns="class"), frame["class"]
    model = mm.NaiveBayesClassifier(missing="state").fit(X, y)
    found = model.explain(X.iloc[0])
    html = found._repr_html_()
    assert html.count("<svg") == 2
    assert "republican against democrat" in html
    assert " id=" not in html
    pytest.importorskip("matplotlib").use("Agg")
    ax = found.plot()
    assert len(ax.patches) == len(bars_of(found)) + 1
    assert "nats" in ax.get_xlabel()
