"""Plots with matplotlib show what the drawings show."""

import builtins
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from mmbn_opt.display.plots import plot_network, plot_trace
from mmbn_opt.exceptions import MissingDependencyError
from mmbn_opt.networks.structure import Structure
from mmbn_opt.results.result import Result
from mmbn_opt.results.status import Sense
from mmbn_opt.results.trace import BoundTrace, TraceRecord

matplotlib = pytest.importorskip("matplotlib", reason="matplotlib (extra plot) is not installed")
matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def close_figures() -> Iterator[None]:
    yield
    from matplotlib import pyplot as plt

    plt.close("all")


def test_both_bounds_are_steps(result: Result) -> None:
    ax = result.trace.plot()
    ax.figure.canvas.draw()
    assert [line.get_label() for line in ax.get_lines()] == ["incumbent (best found)", "upper bound"]
    assert np.array_equal(ax.get_lines()[0].get_ydata(), [1.0, 4.0, 5.0])
    assert ax.get_xlabel() == "Time, seconds"
    assert ax.get_ylabel() == "Objective (larger is better)"
    assert result.trace.plot(value_name="Soft margin, nats").get_ylabel() == "Soft margin, nats (larger is better)"


def test_what_is_not_known_has_no_line_and_one_moment_is_a_mark() -> None:
    trace = BoundTrace(Sense.MINIMIZE, (TraceRecord(0.5, 3.0, None, None, None, "final", "x"),))
    ax = plot_trace(trace)
    (line,) = ax.get_lines()
    assert line.get_marker() == "o"
    assert ax.get_ylabel() == "Objective (smaller is better)"
    assert not ax.collections


def test_an_empty_trace_gives_an_empty_plot() -> None:
    plot_trace(BoundTrace(Sense.MAXIMIZE)).figure.canvas.draw()


def test_nodes_and_edges_are_drawn(result: Result, star: Structure) -> None:
    ax = plot_network(star)
    ax.figure.canvas.draw()
    assert len(ax.texts) == 61
    assert len(ax.patches) == 61 + 2 * 60  # boxes, ways, heads
    assert len(result.model.plot().texts) == 3


def test_given_axes_are_used(result: Result, star: Structure) -> None:
    from matplotlib import pyplot as plt

    _, (left, right) = plt.subplots(1, 2)
    assert plot_trace(result.trace, ax=left) is left
    assert plot_network(star, ax=right) is right


def test_names_are_not_formulas() -> None:
    ax = plot_network(Structure.from_names(["$x$", "$\\bad"], "class", [("class", "$x$")]))
    ax.figure.canvas.draw()
    assert "$x$" in [t.get_text().replace("\\$", "$") for t in ax.texts]


def test_without_matplotlib_the_extra_is_named(monkeypatch: pytest.MonkeyPatch, star: Structure) -> None:
    real = builtins.__import__

    def without(name: str, *rest: Any, **options: Any) -> Any:
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return real(name, *rest, **options)

    monkeypatch.setattr(builtins, "__import__", without)
    for draw in (lambda: plot_network(star), lambda: plot_trace(BoundTrace(Sense.MAXIMIZE))):
        with pytest.raises(MissingDependencyError, match=r"pip install 'mmbn-opt\[plot\]'"):
            draw()
