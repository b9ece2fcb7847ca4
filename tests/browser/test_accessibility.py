"""Reports, comparisons and what notebooks show, held against axe-core in a browser, light and dark, wide and narrow.

The script of axe-core comes with the package axe-playwright-python; it is run through the DevTools protocol, so that
the pages' own policy (nothing is loaded, nothing runs) stays as it is.
"""

import importlib.util
import json
from importlib.resources import files
from pathlib import Path

import pytest
from browser_page import browser_page, find_browser

import mmbn_opt as mm
from mmbn_opt.display.report import render_report
from mmbn_opt.formulations.mixture.multiclass import MulticlassMargin
from mmbn_opt.scores.confusion import confusion_on
from mmbn_opt.solvers.nonlinear.exterior_penalty import ExteriorPenaltySolver
from mmbn_opt.solving.parts import solve_parts

pytestmark = [
    pytest.mark.skipif(find_browser() is None, reason="no Chromium here (Debian: apt install chromium)"),
    pytest.mark.skipif(
        any(importlib.util.find_spec(name) is None for name in ("axe_playwright_python", "websocket")),
        reason="needs axe-playwright-python and websocket-client: pip install 'mmbn-opt[browser]'",
    ),
]

SIZES = (1280, 390)
THEMES = ("light", "dark")
KINDS = ("structure", "parameters", "relaxation", "cmm", "comparison", "result in a notebook", "hostile names")
LEAST_TEXT_PX = 11.0

SMALLEST_TEXT = """(() => {
  const sizes = [...document.querySelectorAll('svg text')].filter(t => t.getClientRects().length).map(t => {
    const svg = t.ownerSVGElement, scale = svg.getBoundingClientRect().width / svg.viewBox.baseVal.width;
    return parseFloat(getComputedStyle(t).fontSize) * scale;
  });
  return [sizes.length, Math.min(...sizes)];
})()"""


def corral() -> mm.DiscreteDataset:
    return mm.DiscreteDataset.from_frame(mm.load_dataset("corral"), target="class")


def hostile() -> mm.DiscreteDataset:
    rows = [["</script>", "=cmd|' /C calc'!A0"], ["é年", "</style>"], ["</script>", "</style>"], ["é年", "b"]] * 6
    names = ['<img src=x onerror="x">' * 6, "an_attribute_with_a_very_long_name_that_never_ends_" * 4]
    return mm.DiscreteDataset.from_arrays(rows, ["</title>", "<b>"] * 12, feature_names=names)


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    data = corral()
    best = mm.solve(mm.SoftMarginStructure(data), time_limit=20)
    iris = mm.load_dataset("iris")
    problem = MulticlassMargin(iris.drop(columns="class"), iris["class"], n_components=1, xi_growth=1.0)
    mixture = solve_parts(problem, ExteriorPenaltySolver(restarts=0, max_iterations=100))
    table = mm.compare([mm.DecomposableStructure(data, score="bic")], ["branch_and_cut", "highs"], seeds=(0,))
    rates = [{"name": "naive Bayes", "accuracy": 0.8, "n_test": 64, "soft_margin": 10.0}]
    contents = {
        "structure": render_report(best, comparison=rates, held_out=confusion_on(best.model, data), command="mmbn-opt"),
        "parameters": render_report(mm.solve(mm.SmoothMargin(data, mm.tan_cmi(data)), time_limit=20)),
        "relaxation": render_report(mm.solve(mm.MaxMarginRelaxation(data, mm.naive_bayes(data)), time_limit=20)),
        "cmm": render_report(mixture),
        "comparison": table.report_html(),
        "hostile names": render_report(mm.solve(mm.DecomposableStructure(hostile(), score="bic"), time_limit=20)),
        "result in a notebook": (
            '<!doctype html><html lang="en"><meta charset="utf-8"><title>t</title>'
            '<meta name="viewport" content="width=device-width,initial-scale=1">'
            "<style>body{background:#fff;color:#000}@media(prefers-color-scheme:dark){body{background:#111;color:#eee}}"
            f"</style><main><h1>t</h1>{best._repr_html_()}</main></html>"
        ),
    }
    for name, content in contents.items():
        (folder / f"{name}.html").write_text(content, encoding="utf-8")
    return {name: folder / f"{name}.html" for name in contents}


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory):
    with browser_page(tmp_path_factory.mktemp("profile")) as opened:
        yield opened


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("width", SIZES)
@pytest.mark.parametrize("kind", KINDS)
def test_the_checker_finds_no_fault_and_text_is_large_enough(page, pages, kind, width, theme):
    page.theme(theme)
    page.resize(width, 900)
    page.open(pages[kind].as_uri())
    page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true })")
    found = found_by_axe(page)
    assert found == []
    n_texts, smallest = page.evaluate(SMALLEST_TEXT)
    assert n_texts > 0
    assert smallest >= LEAST_TEXT_PX
    assert page.evaluate("document.documentElement.scrollWidth") <= width, "the page itself scrolls sideways"
    assert page.evaluate("document.images.length + document.scripts.length") == 0
    assert page.errors == []


def test_the_checker_would_find_a_fault(page, tmp_path):
    target = tmp_path / "bad.html"
    target.write_text("<!doctype html><html><body style='background:#fff'><p style='color:#ccc'>pale", encoding="utf-8")
    page.open(target.as_uri())
    assert {"color-contrast", "html-has-lang"} <= {rule for rule, _ in found_by_axe(page)}


def found_by_axe(page) -> list[tuple[str, str]]:
    """Rule and place of each fault."""
    page.evaluate((files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8") + "; 0")
    told = page.evaluate(
        "axe.run(document, {resultTypes: ['violations']}).then(r => JSON.stringify(r.violations.flatMap("
        "v => v.nodes.map(n => [v.id, n.html.slice(0, 160) + ' ' + (n.failureSummary || '')]))))"
    )
    return [(rule, place) for rule, place in json.loads(told)]
