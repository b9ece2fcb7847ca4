"""Notebooks as a reader sees them: in a real browser, from a file and from a running server."""

import importlib.util
import io
from pathlib import Path

import pytest
from browser_page import browser_page, find_browser

CELLS = [
    """import numpy as np
import mmbn_opt as mm
rng = np.random.default_rng(0)
data = mm.DiscreteDataset.from_arrays(rng.integers(0, 3, (500, 14)), rng.integers(0, 3, 500))""",
    "run = mm.start(mm.SoftMarginStructure(data), time_limit=300)\nrun",
    "print(run.result().termination_status, run.best() is run.result().model)",
]


def has(*names: str) -> bool:
    return all(importlib.util.find_spec(name) is not None for name in names)


pytestmark = [
    pytest.mark.skipif(find_browser() is None, reason="no Chromium here (Debian: apt install chromium)"),
    pytest.mark.skipif(
        not has("websocket", "nbclient", "nbconvert", "ipykernel", "PIL"),
        reason="needs websocket-client, nbclient, nbconvert, ipykernel and Pillow: pip install 'mmbn-opt[test]'",
    ),
]


@pytest.fixture
def page(tmp_path: Path):
    profile = tmp_path / "profile"
    profile.mkdir()
    with browser_page(profile) as opened:
        opened.resize(900, 900)
        yield opened


def darkness(png: bytes) -> float:
    """Mean brightness subtracted from white, 0 to 255."""
    from PIL import Image, ImageStat

    return 255.0 - ImageStat.Stat(Image.open(io.BytesIO(png)).convert("L")).mean[0]


CURVE = "document.querySelector('.mmbn-curve')"
NETWORK = "document.querySelector('.mmbn-net')"


def test_a_result_page_is_drawn_light_and_dark_without_a_script(page, tmp_path):
    data = corral()
    import mmbn_opt as mm

    result = mm.solve(mm.SoftMarginStructure(data))
    target = tmp_path / "page.html"
    target.write_text(f"<!doctype html><meta charset=utf-8><body>{result._repr_html_()}</body>", encoding="utf-8")
    page.open(target.as_uri())
    assert page.evaluate(f"{NETWORK}.querySelectorAll('.node').length") == data.n_features + 1
    assert page.evaluate(f"{NETWORK}.querySelectorAll('.edge').length") == len(result.model.structure.edges)
    assert page.evaluate(f"{CURVE}.querySelector('path.primal').getTotalLength()") > 100
    assert page.evaluate("document.scripts.length") == 0
    colours = set()
    for theme in ("light", "dark"):
        page.theme(theme)
        colours.add(page.evaluate(f"getComputedStyle({CURVE}.querySelector('path.primal')).stroke"))
        assert darkness(page.screenshot(CURVE)) > 1.0, "nothing is drawn"
    assert len(colours) == 2
    page.click("[...document.querySelectorAll('summary')].find(s => s.textContent.startsWith('Tables'))")
    page.click("document.querySelector('.tables details summary')")
    shown = page.evaluate("document.querySelector('.tables table').innerText")
    assert "0." in shown
    assert page.errors == []


def corral():
    import mmbn_opt as mm

    return mm.DiscreteDataset.from_frame(mm.load_dataset("corral"), target="class")


@pytest.mark.slow
def test_the_live_view_moves_and_is_stopped_by_its_button(page, tmp_path):
    if not has("jupyterlab", "ipywidgets"):
        pytest.skip("needs a Jupyter server with widgets: pip install jupyterlab ipywidgets")
    import nbformat
    from notebook_runs import as_page, notebook_of
    from notebook_server import notebook_server, open_notebook, output_of, run_cell, save_notebook, stop_button

    work = tmp_path / "work"
    work.mkdir()
    nbformat.write(notebook_of(CELLS), work / "live.ipynb")
    view = output_of(1)
    seconds = f"parseFloat({view}?.querySelectorAll('.figures dd')[3]?.textContent)"
    with notebook_server(work) as address:
        open_notebook(page, address, "live.ipynb")
        run_cell(page, 0)
        run_cell(page, 1)
        page.wait_for(f"!!{stop_button(1)} && {seconds} > 0")
        early = page.evaluate(seconds)
        page.wait_for(f"{seconds} >= {early} + 1.0")
        assert page.evaluate(f"{view}.querySelectorAll('svg.mmbn-svg').length") == 2
        page.click(stop_button(1))
        page.wait_for(f"!{stop_button(1)}")
        assert "interrupted" in page.evaluate(f"{view}.querySelector('.status').innerText")
        run_cell(page, 2)
        assert page.evaluate(f"{output_of(2)}.innerText").strip() == "INTERRUPTED True"
        save_notebook(page)
        assert page.errors == []
    saved = nbformat.read(work / "live.ipynb", as_version=4)
    target = tmp_path / "saved.html"
    target.write_text(as_page(saved), encoding="utf-8")
    assert "<b>interrupted</b>" in target.read_text(encoding="utf-8")
    page.open(target.as_uri())
    assert page.evaluate("document.querySelectorAll('svg.mmbn-svg').length") == 2
    assert darkness(page.screenshot(NETWORK)) > 1.0
