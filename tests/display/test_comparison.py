"""Drawings of several solvers: what is drawn is what the traces say."""

import re
from xml.etree import ElementTree

from mmbn_opt.display._chart import NARROW, WIDE
from mmbn_opt.display.comparison_curves import gaps_svg, profile_steps, profile_svg
from mmbn_opt.results.status import Sense
from mmbn_opt.results.trace import BoundTrace, TraceRecord


def trace(*rows):
    return BoundTrace(Sense.MAXIMIZE, tuple(TraceRecord(t, p, d, None, None, "bound", "x") for t, p, d in rows))


CLOSING = trace((0.0, 50.0, 100.0), (1.0, 90.0, 100.0), (2.0, 100.0, 100.0))


def lines(svg):
    """Corners of the stair of each series."""
    found = re.findall(r'<g class="c\d+ s\d+[^"]*"><title>[^<]*</title><path d="M([^"]*)"', svg)
    return [[tuple(map(float, p.split())) for p in way.split("L")] for way in found if "L" in way]


def test_gaps_fall_to_the_bottom_when_they_close():
    svg = gaps_svg([("a", CLOSING), ("b", trace((0.0, 50.0, 100.0), (3.0, 50.0, 100.0)))])
    ElementTree.fromstring(svg)
    closed, still = lines(svg)
    assert [x for x, _ in closed] == sorted(x for x, _ in closed)
    assert [y for _, y in closed] == sorted(y for _, y in closed)  # downwards on the page
    assert closed[-1][1] == WIDE.top(1) + WIDE.plot_height  # the axis: a gap of zero
    assert len({y for _, y in still}) == 1
    assert still[-1][0] > closed[-1][0]  # it ran for longer


def test_runs_of_one_solver_share_colour_and_legend():
    svg = gaps_svg([("a", CLOSING), ("a", CLOSING), ("b", CLOSING)])
    assert svg.count('class="c0 s0 thin"') == 2
    assert svg.count('class="c1 s1 thin"') == 1
    assert svg.count(">a</text>") == 1


def test_names_are_escaped_and_many_solvers_stay_apart():
    svg = gaps_svg([(f"<s{k}>", CLOSING) for k in range(11)])
    ElementTree.fromstring(svg)
    assert "<s3>" not in svg
    looks = re.findall(r'<g class="(c\d+) s\d+"><title>[^<]*</title><path d="[^"]*"( stroke-dasharray="[^"]*")?/>', svg)
    assert len(looks) == len(set(looks)) == 11


def test_both_axes_say_what_they_show_in_every_size():
    for sheet in (WIDE, NARROW):
        gaps = gaps_svg([("a", CLOSING)], sheet=sheet)
        assert ">Time, seconds</text>" in gaps
        assert ">Relative gap, % (log scale)</text>" in gaps
        profile = profile_svg({"a": [1.0, 3.0]}, {"a": 2}, sheet=sheet)
        assert ">Time, multiple of the fastest (log scale)</text>" in profile
        assert ">Share of problems proved, %</text>" in profile


def test_without_bounds_or_proofs_the_drawing_says_so():
    assert "no bounds to draw" in gaps_svg([("a", trace((0.0, 1.0, None)))])
    assert "nothing was proved" in profile_svg({"a": ()}, {"a": 2})


def test_a_profile_ends_at_what_was_solved():
    assert profile_steps([3.0, 1.0], 4) == ((1.0, 0.25), (3.0, 0.5))
    assert profile_steps([2.0, 2.0], 2) == ((1.0, 0.0), (2.0, 1.0))
    svg = profile_svg({"fast": [1.0, 1.0], "slow": [3.0]}, {"fast": 2, "slow": 2})
    ElementTree.fromstring(svg)
    fast, slow = lines(svg)
    assert fast[-1][1] < slow[-1][1]  # higher on the page
    assert "slow: 1 of 2" in svg
