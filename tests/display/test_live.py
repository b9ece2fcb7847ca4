"""The live view: moves while the run goes on, ends as a plain picture, does without widgets and without a kernel."""

import importlib.util
import re
import threading

import pytest

import mmbn_opt as mm
from mmbn_opt.display.html import result_html, run_html

WIDGET = "application/vnd.jupyter.widget-view+json"
SETUP = """
import numpy as np
import mmbn_opt as mm
rng = np.random.default_rng(0)
data = mm.DiscreteDataset.from_arrays(rng.integers(0, 3, (500, 14)), rng.integers(0, 3, 500))
hard = mm.SoftMarginStructure(data)
"""

needs_kernel = pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in ("nbclient", "nbconvert", "ipykernel", "ipywidgets")),
    reason="needs nbclient, nbconvert, ipykernel and ipywidgets: pip install 'mmbn-opt[test]'",
)


@pytest.fixture(scope="module")
def easy():
    return mm.SoftMarginStructure(mm.DiscreteDataset.from_frame(mm.load_dataset("corral"), target="class"))


def test_a_run_shows_its_state_and_then_its_result(easy):
    run = mm.start(easy, time_limit=60)
    early = run_html(run)
    result = run.result()
    assert "</div>" in early
    assert run_html(run) == result_html(result)
    assert run._repr_mimebundle_() == {"text/plain": repr(run), "text/html": result_html(result)}


def test_the_figures_of_a_run_that_goes_on(easy):
    reached, go_on = threading.Event(), threading.Event()

    def hold(record):
        if record.source == "tan_cmi":
            reached.set()
            go_on.wait(30)

    with mm.start(easy, time_limit=500, callback=hold) as run:
        assert reached.wait(30)
        shown = run_html(run)
        go_on.set()
    assert '<p class="status open"><b>running</b> highs on Soft-margin structure.</p>' in shown
    for figure in ("Objective", "Upper bound", "Gap", "Time", "Time left"):
        assert f"<dt>{figure}</dt>" in shown
    assert shown.count("<svg") == 4  # curve and network, each for a wide page and for a phone
    assert "script" not in shown


def test_a_failed_run_tells_its_error(easy):
    def fail(record):
        raise ZeroDivisionError("<own code>")

    run = mm.start(easy, callback=fail)
    run.wait()
    html = run_html(run)
    assert '<p class="status bad"><b>failed</b> ZeroDivisionError: &lt;own code&gt;</p>' in html


WIDGETS = """
from ipywidgets import HTML, Button
from ipywidgets.widgets.widget import _instances
(button,) = [w for w in _instances.values() if isinstance(w, Button)]
(picture,) = [w for w in _instances.values() if isinstance(w, HTML)]
first = picture.value
run.wait(1.5)
assert picture.value != first, "the view does not move"
button.click()
assert button.disabled and button.description == "Stopping"
result = run.result()
assert run.best() is result.model
assert not _instances, "widgets were left behind"
print(result.termination_status)
"""


@pytest.fixture(scope="module")
def notebook():
    """Run and stop by the button, show what has ended, run without widgets: one kernel for all."""
    from notebook_runs import executed, notebook_of

    show = "run = mm.start(hard, time_limit=300)\nrun"
    without = "import sys\nsys.modules['ipywidgets'] = None"
    return executed(notebook_of([SETUP, show, WIDGETS, "run", without, show, "run.wait(1.0)"]))


@needs_kernel
def test_the_stop_button_stops(notebook):
    (printed,) = notebook.cells[2].outputs
    assert printed["text"].strip() == "INTERRUPTED"


@needs_kernel
def test_a_notebook_keeps_the_last_picture(notebook):
    from notebook_runs import as_page, bundles

    (live,), (static,) = bundles(notebook.cells[1]), bundles(notebook.cells[3])
    assert WIDGET not in live
    assert "<b>interrupted</b>" in live["text/html"]
    assert live == static
    assert "Run(SoftMarginStructure, INTERRUPTED" in live["text/plain"]
    assert as_page(notebook).count('class="mmbn-svg mmbn-net"') == 2 * 3  # each wide and narrow


@needs_kernel
def test_without_widgets_the_picture_itself_moves(notebook):
    from notebook_runs import bundles

    (live,) = bundles(notebook.cells[5])
    assert WIDGET not in live
    assert "<b>running</b>" in live["text/html"]
    seconds = re.search(r"<dt>Time</dt><dd>([0-9.]+) s</dd>", live["text/html"])
    assert float(seconds.group(1)) > 0.4
