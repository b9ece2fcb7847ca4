"""The bound curve says what the trace says, whatever the trace looks like."""

import math
import re
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmbn_opt.display._axes import linear_axis, nice_step, time_axis, value_range
from mmbn_opt.display._chart import NARROW, SHEETS, WIDE
from mmbn_opt.display._text import number
from mmbn_opt.display.curves import trace_svg
from mmbn_opt.results.status import Sense
from mmbn_opt.results.trace import BoundTrace, TraceRecord, TraceRecorder

SPACE = "{http://www.w3.org/2000/svg}"


def trace_of(*points: tuple[float, float | None, float | None], sense: Sense = Sense.MAXIMIZE) -> BoundTrace:
    return BoundTrace(sense, tuple(TraceRecord(t, p, d, None, None, "progress", "highs") for t, p, d in points))


def paths(svg: str, kind: str) -> list[list[tuple[float, float]]]:
    root = ElementTree.fromstring(svg)
    found = [p.get("d") or "" for p in root.iter(f"{SPACE}path") if p.get("class") == kind]
    return [[(float(x), float(y)) for x, y in re.findall(r"([-\d.]+) ([-\d.]+)", d)] for d in found if "h16" not in d]


def size(svg: str) -> tuple[float, float]:
    _, _, width, height = (ElementTree.fromstring(svg).get("viewBox") or "").split()
    return float(width), float(height)


def texts(svg: str) -> list[str]:
    return [t.text or "" for t in ElementTree.fromstring(svg).iter(f"{SPACE}text")]


@st.composite
def traces(draw: st.DrawFn) -> BoundTrace:
    sense = draw(st.sampled_from(list(Sense)))
    recorder = TraceRecorder(sense)
    value = st.none() | st.floats(-1e12, 1e12) | st.integers(-5, 5).map(float)
    for time in sorted(draw(st.lists(st.floats(0, 1e6), max_size=12))):
        recorder.record(primal=draw(value), dual=draw(value), time_sec=time, source=draw(st.text(max_size=3)))
    return recorder.snapshot()


@given(traces(), st.sampled_from(sorted(SHEETS)))
def test_every_trace_is_drawn_inside_its_frame(trace: BoundTrace, sheet: str) -> None:
    svg = trace_svg(trace, sheet=SHEETS[sheet])
    width, height = size(svg)
    assert "nan" not in svg
    if "there is no course to draw" in svg or "nothing was recorded" in svg:
        assert not paths(svg, "primal")
        return
    for kind in ("primal", "dual", "gap"):
        for path in paths(svg, kind):
            assert all(0 <= x <= width and 0 <= y <= height for x, y in path)
            if kind != "gap":
                assert [x for x, _ in path] == sorted(x for x, _ in path)
    bounds = trace.bounds
    assert len(paths(svg, "primal")) == (bounds.primal_bound is not None)
    assert len(paths(svg, "dual")) == (bounds.dual_bound is not None)
    assert any(text.startswith("Time, seconds") for text in texts(svg))
    assert any(text.endswith("is better)") for text in texts(svg))


def test_steps_gap_and_final_values_are_there() -> None:
    svg = trace_svg(trace_of((0, 8, 16), (0.5, 12, 16), (2, 12, 15)))
    (primal,), (dual,), gap = paths(svg, "primal"), paths(svg, "dual"), paths(svg, "gap")
    assert len(primal) == 4  # start, corner, step, end
    assert [y for _, y in primal] == sorted((y for _, y in primal), reverse=True)
    assert [y for _, y in dual] == sorted(y for _, y in dual)
    assert gap
    legend = {"incumbent (best found)", "upper bound", "gap between them: 20.00 % at the end"}
    assert legend | {"Time, seconds", "Objective (larger is better)", "12", "15"} <= set(texts(svg))


def test_a_minimum_has_a_lower_bound_and_the_unit_of_its_objective() -> None:
    svg = trace_svg(trace_of((0, 16, 8), (2, 15, 12), sense=Sense.MINIMIZE), value_name="Cost, nats")
    assert {"lower bound", "Cost, nats (smaller is better)"} <= set(texts(svg))


def test_what_is_not_drawn_is_not_in_the_legend() -> None:
    told = set(texts(trace_svg(trace_of((0, 8, None), (2, 12, None)))))
    assert "incumbent (best found)" in told
    assert not any("bound" in text or "gap" in text for text in told)


@pytest.mark.parametrize("sense", list(Sense))
def test_a_run_of_one_step_is_told_and_not_drawn_as_a_dot(sense: Sense) -> None:
    for trace in (trace_of((0.25, 5.0, None), sense=sense), trace_of((0.25, 5.0, 5.0), sense=sense)):
        told = texts(trace_svg(trace, value_name="Soft margin, nats"))
        assert told[0] == "Found in one step: there is no course to draw."
        assert told[1].startswith("Soft margin, nats: 5 after 0.25 s")


def test_no_text_of_the_narrow_drawing_is_wider_than_it() -> None:
    trace = trace_of((0, 8, 123456.789), (1, 12, 99.5), (2, 12.123456, 13.654321))
    for name in ("Binary soft margin, nats", "Conditional log-likelihood, nats"):
        svg = trace_svg(trace, value_name=name, sheet=NARROW)
        for text in ElementTree.fromstring(svg).iter(f"{SPACE}text"):
            assert len(text.text or "") * 6.6 <= NARROW.width
    assert size(trace_svg(trace, sheet=NARROW))[0] < 358 < size(trace_svg(trace, sheet=WIDE))[0]


def test_a_closed_gap_has_one_final_label() -> None:
    svg = trace_svg(trace_of((0, 8, 16), (2, 12.5, 12.5)))
    assert texts(svg).count("12.5") == 1
    assert "gap between them: 0 % at the end" in texts(svg)


def test_labels_of_close_values_do_not_overlap() -> None:
    svg = trace_svg(trace_of((0, 0, 1000), (1, 999.9, 1000)))
    heights = [
        float(t.get("y") or 0)
        for t in ElementTree.fromstring(svg).iter(f"{SPACE}text")
        if t.get("class") in ("primal", "dual")
    ]
    assert abs(heights[0] - heights[1]) >= 14


@pytest.mark.parametrize(
    ("trace", "told"),
    [
        (trace_of(), "nothing was recorded"),
        (trace_of((0, None, None)), "nothing was recorded"),
        (trace_of((0, None, 8.0), (1, None, 7.0)), "upper bound"),
        (trace_of((0, 8.0, None)), "Objective: 8 after 0 s"),
        (trace_of((0, 0.0, 0.0)), "Objective: 0 after 0 s, proved at once"),
        (trace_of((5e-324, 0.0, 5e-324)), "bound: 4.94065646e−324 after 4.9e−324 s"),
        (trace_of((0, 1e15, 1e15 + 0.125), (1, 1e15, 1e15 + 0.125)), "gap between them: 0 % at the end"),
        (trace_of((0, 0.0, 3796.7), (1, 0.0, 3796.7)), "gap between them: 100.00 % at the end"),
    ],
)
def test_traces_that_hold_little_are_told(trace: BoundTrace, told: str) -> None:
    assert told in texts(trace_svg(trace))


def test_a_far_off_first_bound_is_cut_and_told() -> None:
    points = [(0.0, 800.0, 16312.0), (1.0, 7000.0, 8000.0)]
    points += [(k, 7000.0 + 5 * k, 8000.0 - 8 * k) for k in range(2, 40)]
    svg = trace_svg(trace_of(*points))
    assert "off the chart: first bound 16,312, first incumbent 800" in texts(svg)
    ((_, first), *_) = paths(svg, "dual")[0]
    assert first == pytest.approx(WIDE.top(2))  # comes in from the upper border


def test_a_bound_that_is_the_story_is_not_cut() -> None:
    svg = trace_svg(trace_of((0, 8, 16), (10, 12, 13)))
    assert not any(t.startswith("off the chart") for t in texts(svg))


def test_times_within_a_moment_get_a_log_axis() -> None:
    points = [(0.001 * 2**k, float(k), 100.0 - k) for k in range(8)]
    assert "Time, seconds (log scale)" in texts(trace_svg(trace_of(*points, (600.0, 9.0, 50.0))))
    assert "Time, seconds" in texts(trace_svg(trace_of(*points)))


def test_hostile_sources_are_text() -> None:
    trace = BoundTrace(Sense.MAXIMIZE, (TraceRecord(0.0, 1.0, 2.0, None, None, "start", "<script>\x00"),))
    svg = trace_svg(trace, standalone=False)
    ElementTree.fromstring(svg)
    assert "<script" not in svg
    assert "http" not in svg
    assert not re.search(r"\b(id|href|src)=", svg)


@given(st.floats(1e-12, 1e12), st.integers(2, 10))
def test_steps_are_round_and_as_many_as_asked(span: float, count: int) -> None:
    step = nice_step(span, count)
    mantissa = step / 10 ** math.floor(math.log10(step) + 1e-9)
    assert any(math.isclose(mantissa, m) for m in (1, 2, 5))
    assert count / 2.6 <= span / step <= count * 1.01


@given(st.floats(-1e9, 1e9), st.floats(1e-3, 1e9))
def test_ticks_lie_inside_and_labels_tell_them_apart(low: float, span: float) -> None:
    axis = linear_axis(low, low + span, 0.0, 100.0)
    values = [v for v, _ in axis.ticks]
    assert all(low - span * 1e-6 <= v <= low + span * (1 + 1e-6) for v in values)
    assert len({label for _, label in axis.ticks}) == len(values)
    assert len(values) >= 2


@given(st.lists(st.floats(1e-6, 1e6), min_size=1, max_size=20))
def test_time_axes_keep_the_order_of_times(times: list[float]) -> None:
    axis = time_axis(times, 0.0, 100.0)
    pixels = [axis(t) for t in sorted(times)]
    assert pixels == sorted(pixels)
    assert all(0.0 <= p <= 100.0 for p in pixels)


def test_the_range_holds_the_final_values() -> None:
    low, high = value_range([(1e9, 0.01), (5.0, 0.99), (6.0, 1.0)], [5.0, 6.0])
    assert low < 5.0 < 6.0 < high < 10.0


def test_a_long_run_is_drawn_by_what_can_be_seen_of_it() -> None:
    records = tuple(TraceRecord(0.1 * k, 10.0, 1000.0 - 0.04 * k, None, None, "bound", "highs") for k in range(20_000))
    svg = trace_svg(BoundTrace(Sense.MAXIMIZE, records))
    assert len(svg) < 60_000
    assert f">{number(records[-1].dual_bound, 7)}</text>" in svg
