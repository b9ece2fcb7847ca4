"""The report: every fact in it, nothing to load, nothing unescaped."""

import re
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest

from mmbn_opt.display._facts import part_rows
from mmbn_opt.display.report import render_report
from mmbn_opt.formulations.mixture.multiclass import MulticlassMargin
from mmbn_opt.networks.network import BayesianNetwork
from mmbn_opt.results.bounds import ObjectiveBounds
from mmbn_opt.results.result import Certificate, Check, Result
from mmbn_opt.results.status import Sense, SolutionStatus, TerminationStatus
from mmbn_opt.solvers.nonlinear.exterior_penalty import ExteriorPenaltySolver
from mmbn_opt.solving.parts import solve_parts

VOID = {"meta", "link", "br", "hr", "img", "input"}


class Reader(HTMLParser):
    """Collects text and attributes, and sees to it that every tag is closed."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.words: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] != "style":
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


def read(html: str) -> Reader:
    reader = Reader()
    reader.feed(html)
    reader.close()
    assert reader.open == []
    return reader


COMPARISON: list[dict[str, Any]] = [
    {"name": "naive Bayes", "accuracy": 0.81, "n_test": 100, "soft_margin": 12.5},
    {"name": "TAN <b>", "accuracy": 0.9, "n_test": 100, "soft_margin": 14.25, "standard_error": 0.02},
]


def test_every_fact_is_told(result: Result) -> None:
    text = read(render_report(result, comparison=COMPARISON, command="mmbn-opt structure --out 'x y'")).text
    for fact in (
        "Toy structure",
        "4 samples, 2 features, 2 classes in column “class”",
        "time limit The time limit was reached",
        "Objective 5",
        "Upper bound 6",
        "Gap 16.67 %",
        "Time 1.5 s",
        "3 nodes, 2 edges, 5 free parameters",
        "3 records; first incumbent after 0 s, primal integral",
        "✓ acyclic 3 nodes, 2 edges",
        "○ bound as claimed by highs claimed",
        "naive Bayes 81.00 % 12.5",
        "TAN <b> 90.00 % 14.25",
        "100 rows that no model was fitted to.",
        "a class 2",
        "a categorical x, y",
        "Samples 4, 3 distinct",
        "required_edges class → a",
        "Solver highs 1.16.0 (MIT)",
        "Why this solver auto: any size -> highs",
        "Program 1,000 columns (60 integer), 20 rows, 4,000 non-zeros",
        "Seconds heuristics 0.2, build 0.1, solve 1.2, total 1.5",
        "seed 3",
        "mmbn-opt structure --out 'x y'",
    ):
        assert fact in text, fact


def test_nothing_is_loaded_and_nothing_runs(result: Result) -> None:
    html = render_report(result, comparison=COMPARISON, title="A & B")
    reader = read(html)
    assert not re.search("https?:", html)
    assert "url(" not in html
    assert "@import" not in html
    assert not {"script", "iframe", "img", "object", "embed"} & set(reader.tags)
    assert [v for k, v in reader.attributes if k in ("src", "href")] == ["data:,"]
    assert not [k for k, _ in reader.attributes if k.startswith("on")]
    assert "default-src 'none'" in html
    assert "<title>A &amp; B</title>" in html


def test_light_dark_and_paper_are_provided_for(result: Result) -> None:
    html = render_report(result)
    assert "prefers-color-scheme:dark" in html
    assert "@media print" in html
    assert "color-scheme:light dark" in html


def test_hostile_names_are_text(result: Result, hostile_network: BayesianNetwork) -> None:
    bad = Certificate((Check("<i>", False, "<script>1</script>"),))
    hostile = replace(
        result, model=hostile_network, certificate=bad, raw_status="<script>2</script>", solver_name="</p>"
    )
    html = render_report(hostile, title="<script>3</script>", command="<script>4</script>")
    reader = read(html)
    assert "script" not in reader.tags
    for k in range(1, 5):
        assert f"<script>{k}</script>" in reader.text
    assert "\x00" not in html
    html.encode("utf-8")


def test_equal_results_give_equal_reports(result: Result) -> None:
    assert render_report(result) == render_report(result)


def test_optional_parts_are_left_out(result: Result) -> None:
    text = read(render_report(result)).text
    assert "Accuracy on held-out data" not in text
    bare = [{"name": "m", "accuracy": 0.5}]
    text = read(render_report(result, comparison=bare)).text
    assert "m 50.00 %" in text
    assert "Soft margin" not in text
    assert "standard errors" not in text


def test_cut_points_and_odd_columns_are_told(result: Result, hostile_network: BayesianNetwork) -> None:
    text = read(render_report(replace(result, model=hostile_network))).text
    assert "'onload=' numeric, cut cut at 0.5" in text


@pytest.mark.parametrize(
    ("status", "checks", "kind"),
    [
        (TerminationStatus.OPTIMAL, (Check("c", True, ""),), "good"),
        (TerminationStatus.TIME_LIMIT, (Check("c", True, ""),), "open"),
        (TerminationStatus.OPTIMAL, (Check("c", False, ""),), "bad"),
        (TerminationStatus.SOLVER_ERROR, (Check("c", True, ""),), "bad"),
    ],
)
def test_the_badge_has_the_colour_of_the_answer(
    result: Result, status: TerminationStatus, checks: tuple[Check, ...], kind: str
) -> None:
    html = render_report(replace(result, termination_status=status, certificate=Certificate(checks)))
    assert re.search(rf'<p class="status {kind}"><b>{status.label.replace("_", " ").lower()}</b>', html)


def test_a_run_without_a_model_is_reported(result: Result) -> None:
    empty = replace(
        result,
        model=None,
        certificate=Certificate(),
        solution_status=SolutionStatus.NO_SOLUTION,
        bounds=ObjectiveBounds(Sense.MAXIMIZE),
        program_size=None,
    )
    text = read(render_report(empty)).text
    assert "The run returned no model." in text
    assert "Nothing was checked." in text
    assert "Gap unknown" in text


def test_a_program_among_several_is_told_its_own_failures_even_where_one_name_ends_with_another() -> None:
    """Two copies of a row, one of class aa and one of b: only "aa against b" can fail, not "a against b"."""
    X = np.concatenate([np.arange(5.0), 20 + np.arange(5.0), 40 + np.arange(5.0), [42.0]])[:, np.newaxis]
    y = np.array(["a"] * 5 + ["aa"] * 5 + ["b"] * 5 + ["aa"])
    problem = MulticlassMargin(X, y, n_components=1, xi_growth=1.0)
    result = solve_parts(problem, ExteriorPenaltySolver(restarts=0, max_iterations=100))
    told = {name: outcome for name, _, _, outcome in part_rows(result)}
    assert list(told) == ["a against aa", "a against b", "aa against b"]
    assert told["a against b"] == "all checks passed"
    assert "of 11 samples miss xi = 2.6: row" in told["aa against b"]


def test_of_very_many_gaussians_the_first_are_shown_and_the_number_of_all_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("mmbn_opt.display._facts._MAX_GAUSSIANS_SHOWN", 3)
    X, y = np.arange(15.0)[:, np.newaxis], np.repeat(["a", "b", "c"], 5)
    result = solve_parts(MulticlassMargin(X, y, n_components=1), ExteriorPenaltySolver(max_iterations=20))
    report = read(render_report(result))
    assert "The first 3 of 6 Gaussians" in report.text
    assert report.text.count("against c 1 x0") == 1
