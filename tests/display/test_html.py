"""Notebook fragments: well-formed, escaped, any number of them in one page."""

from dataclasses import replace
from xml.etree import ElementTree

import pytest

from mmbn_opt.display._facts import certificate_sentence
from mmbn_opt.display.html import certificate_html, network_html, result_html, structure_html, trace_html
from mmbn_opt.networks.network import BayesianNetwork
from mmbn_opt.networks.structure import Structure
from mmbn_opt.results.result import Certificate, Check, Result
from mmbn_opt.results.status import Sense
from mmbn_opt.results.trace import BoundTrace


def fragments(result: Result, network: BayesianNetwork) -> list[str]:
    bad = Certificate((Check("<b>", False, "1 < 2 & 3\x00"), Check("bound", None, "claimed")))
    return [
        result_html(result),
        result_html(replace(result, model=None, certificate=Certificate())),
        network_html(network),
        structure_html(network.structure),
        trace_html(result.trace),
        certificate_html(bad),
    ]


def test_fragments_are_well_formed_and_cannot_collide(result: Result, hostile_network: BayesianNetwork) -> None:
    found = fragments(result, hostile_network)
    page = ElementTree.fromstring(f"<body>{''.join(found)}</body>")
    attributes = {name for element in page.iter() for name in element.attrib}
    assert not {name for name in attributes if name in ("id", "href", "src") or name.startswith("on")}
    assert not [element for element in page.iter() if element.tag == "script"]
    for html in found:
        assert "http" not in html


def test_the_core_classes_show_themselves_by_these(result: Result) -> None:
    model: BayesianNetwork = result.model
    assert result._repr_html_() == result_html(result)
    assert model._repr_html_() == network_html(model)
    assert model.structure._repr_html_() == structure_html(model.structure)
    assert result.trace._repr_html_() == trace_html(result.trace)
    assert result.certificate._repr_html_() == certificate_html(result.certificate)


def test_a_result_tells_status_figures_and_checks(result: Result) -> None:
    html = result_html(result)
    assert "<b>time limit</b> The time limit was reached" in html
    assert "<dt>Objective</dt><dd>5</dd>" in html
    assert "<dt>Upper bound</dt><dd>6</dd>" in html
    assert "<dt>Gap</dt><dd>16.67 %</dd>" in html
    assert "1 of 2 checks passed, 1 stands as the solver&#39;s own claim." in html
    assert "Lower bound" in result_html(replace(result, sense=Sense.MINIMIZE))


@pytest.mark.parametrize(
    ("oks", "sentence"),
    [
        ((), "Nothing was checked."),
        ((True,), "The one check passed."),
        ((True, True), "All 2 checks passed."),
        ((True, None, None), "1 of 3 checks passed, 2 stand as the solver's own claims."),
        ((True, False, None), "1 of 3 checks failed."),
    ],
)
def test_the_certificate_is_summed_up(oks: tuple[bool | None, ...], sentence: str) -> None:
    assert certificate_sentence(Certificate(tuple(Check("c", ok, "") for ok in oks))) == sentence


def test_captions_say_what_is_not_drawn() -> None:
    names = [f"x{j}" for j in range(200)]
    html = structure_html(Structure.from_names(names, "class", [("class", "x0")]))
    assert "201 nodes, 1 edges; drawn are the class and 1 nodes of its Markov blanket" in html


def test_an_empty_trace_has_a_caption() -> None:
    assert "0 records; no incumbent was found." in trace_html(BoundTrace(Sense.MAXIMIZE))
