"""The drawing of mean ranks: places are to scale, bars join those that are alike, ways do not cross, names are safe."""

import re
import xml.etree.ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmbn_opt.display.ranks import ranks_svg
from mmbn_opt.exceptions import InputError

SPACE = "{http://www.w3.org/2000/svg}"
THREE = {"b": 2.0, "a": 1.0, "c": 3.0}


def drawn(*args, **kwargs):
    return ET.fromstring(ranks_svg(*args, **kwargs))


def places(root):
    return [float(dot.get("cx")) for dot in root.iter(f"{SPACE}circle")]


def ways(root):
    found = re.findall(r'class="way" d="M([\d.]+) ([\d.]+)V([\d.]+)H([\d.]+)"', ET.tostring(root).decode())
    return [tuple(map(float, way)) for way in found]


def test_places_are_to_scale_and_the_best_comes_first():
    first, second, third = places(drawn(THREE, 1.0))
    assert second - first == pytest.approx(third - second)
    told = [text.text for text in drawn(THREE, 1.0).iter(f"{SPACE}text")]
    assert told[0] == "critical difference 1.00"
    assert told[-3:] == ["a  1.00", "b  2.00", "3.00  c"]


def test_the_critical_difference_is_as_long_as_so_many_ranks():
    text = ranks_svg(THREE, 1.0)
    [left, right] = re.search(r"M([\d.]+) 28\.0v8M[\d.]+ 32\.0H([\d.]+)", text).groups()
    first, second, _ = places(drawn(THREE, 1.0))
    assert float(right) - float(left) == pytest.approx(second - first, abs=0.1)
    assert "critical difference 2.50, longer than the axis" in ranks_svg(THREE, 2.5)


def test_a_bar_joins_those_that_are_not_told_apart():
    root = drawn(THREE, 1.0, [("a", "b"), ("b", "c")])
    bars = [(float(line.get("x1")), float(line.get("x2"))) for line in root.iter(f"{SPACE}line")]
    first, second, third = places(root)
    assert bars == [
        (pytest.approx(first - 3), pytest.approx(second + 3)),
        (pytest.approx(second - 3), pytest.approx(third + 3)),
    ]
    assert [line[0].text for line in root.iter(f"{SPACE}line")] == ["a = b", "b = c"]


@given(st.lists(st.floats(1.0, 1.0e9), min_size=2, max_size=20))
def test_no_way_crosses_another_and_all_lies_within(values):
    top = float(len(values))
    ranks = {f"m{k}": min(1.0 + value % 7.0 * (top - 1) / 7.0, top) for k, value in enumerate(values)}
    root = drawn(ranks, 0.5)
    width, height = float(root.get("width")), float(root.get("height"))
    found = ways(root)
    assert len(found) == len(ranks)
    for x, _, y, edge in found:
        assert 0 < edge < width
        assert y + 6 < height
        for other, top_y, end, _ in found:
            # A horizontal part meets no other vertical one above whose end it runs.
            between = min(x, edge) + 0.05 < other < max(x, edge) - 0.05
            assert not (between and top_y <= y < end - 0.05)


def test_names_are_escaped_and_shortened_and_kept_whole_in_the_tip():
    name = "<b>" + "long " * 12
    text = ranks_svg({name: 1.0, "other": 2.0}, 0.3)
    assert "<b>" not in text
    assert "…" in text
    assert ET.fromstring(text).find(f".//{SPACE}title").text.startswith(name.strip())


def test_in_a_page_the_drawing_sets_no_ground():
    assert "background" in ranks_svg(THREE, 1.0)
    assert "background" not in ranks_svg(THREE, 1.0, standalone=False)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (({"a": 1.0}, 1.0), "ranks must be of at least two methods, got 1"),
        (({"a": 0.5, "b": 2.0}, 1.0), r"ranks\['a'\] must be"),
        (({"a": 1.0, "b": float("nan")}, 1.0), r"ranks\['b'\] must be"),
        (({"a": 1.0, "b": 3.0}, 1.0), r"ranks\['b'\] must be"),
        ((THREE, -1.0), "critical_difference must be"),
        ((THREE, float("inf")), "critical_difference must be"),
        ((THREE, 1.0, [("a", "x")]), "groups must be of methods that have ranks, got 'x'"),
    ],
)
def test_what_cannot_be_drawn_is_refused(args, message):
    with pytest.raises(InputError, match=message):
        ranks_svg(*args)
