"""CASES-2, section C, first lines: what stands in a report and what a picture shows."""

import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

import mmbn_opt as mm
from mmbn_opt.display._shown import shown
from mmbn_opt.display.comparison_curves import gaps_svg, profile_svg
from mmbn_opt.display.report import render_report
from mmbn_opt.formulations import Formulation
from mmbn_opt.results import BoundTrace, Confusion, Sense, TraceRecord
from mmbn_opt.scores import classification_rate, confusion_on
from mmbn_opt.tuning.likelihood import MaximumLikelihood


class Text(HTMLParser):
    """The text of a page without styles and drawings."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.inside: list[str] = []
        self.words: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        if tag in ("style", "svg"):
            self.inside.append(tag)

    def handle_endtag(self, tag):
        if self.inside and self.inside[-1] == tag:
            self.inside.pop()

    def handle_data(self, data):
        if not self.inside:
            self.words.append(data)

    def __str__(self) -> str:
        return " ".join(" ".join(self.words).split())


@pytest.fixture(scope="module")
def corral():
    return mm.DiscreteDataset.from_frame(mm.load_dataset("corral"), target="class")


@pytest.fixture(scope="module")
def results(corral):
    tree = mm.tan_cmi(corral)
    return {
        "structure": mm.solve(mm.SoftMarginStructure(corral), "branch_and_cut", time_limit=60),
        "milp": mm.solve(mm.DecomposableStructure(corral, score="bic"), "highs", time_limit=60),
        "smooth margin": mm.solve(mm.SmoothMargin(corral, tree)),
        "conditional likelihood": mm.solve(mm.ConditionalLikelihood(corral, tree), time_limit=20),
        "relaxation": mm.solve(mm.MaxMarginRelaxation(corral, mm.naive_bayes(corral)), time_limit=20),
        "markov network": mm.solve(mm.MaxMarginMarkovNetwork(corral, tree), time_limit=20),
        "ml": MaximumLikelihood(corral, tree).learn(),
    }


KINDS = ("structure", "milp", "smooth margin", "conditional likelihood", "relaxation", "markov network", "ml")


@pytest.mark.parametrize("kind", KINDS)
def test_no_raw_object_stands_in_a_report(results, kind):
    """C1: `BoundTrace(...)`, `Structure(feature_names=...)` and arrays are nothing to read."""
    text = str(Text(render_report(results[kind])))
    assert not re.search(r"\b[A-Z]\w+\((?:\w+=|\[|<)", text)
    assert not re.search(r"\barray\(|np\.\w+\(|object at 0x|TraceRecord", text)


@pytest.mark.parametrize("value", [object(), np.zeros(3), [np.zeros(2)], {"a": object()}, (1, object()), print, int])
def test_what_has_no_words_is_left_out(value):
    """C1, the kind: any object in `stats` or among the settings."""
    assert shown(value) == ""


def test_records_in_stats_are_left_out_of_the_report(results):
    """C1, the input: a solver that puts its trace among its counts."""
    result = results["structure"]
    spoiled = replace(result, stats={**result.stats, "trace": result.trace, "rows": [result.trace.records[0]]})
    assert str(Text(render_report(spoiled))) == str(Text(render_report(result)))


def test_bounds_have_the_sign_of_the_stated_objective(results):
    """C1: a maximum of 261.13 had a "root bound" of -261.2 and a "bound reproved" of -261.1."""
    result = results["structure"]
    optimum = result.bounds.primal_bound
    assert optimum == pytest.approx(261.1348, abs=1e-3)
    assert result.stats["root_bound"] >= optimum - 1e-6
    if "bound_reproved" in result.stats:
        assert result.stats["bound_reproved"] >= optimum * (1 - 1e-6)
    milp = results["milp"]
    assert milp.bounds.primal_bound < 0
    assert milp.stats["raw_dual_bound"] == pytest.approx(milp.bounds.primal_bound, rel=1e-5)
    smallest = results["relaxation"]
    assert all(smallest.stats[name] >= 0 for name in ("raw_objective", "raw_dual_bound") if smallest.stats.get(name))


@pytest.mark.parametrize("kind", KINDS)
def test_curves_say_what_both_axes_show(results, kind):
    """C1: no axis titles. The unit is that of the formulation."""
    html = render_report(results[kind])
    name = results[kind].formulation.value_name
    assert re.search(r"nats|no unit", name)
    drawn = re.findall(r'class="mmbn-svg mmbn-curve".*?</svg>', html, flags=re.DOTALL)
    assert len(drawn) == 2, "one for a wide page, one for a phone"
    for svg in drawn:
        if "there is no course to draw" in svg:
            assert f"{name}: " in svg
            continue
        assert re.search(r"Time, seconds( \(log scale\))?</text>", svg)
        better = "larger" if results[kind].sense.value == "maximize" else "smaller"
        assert f"{name} ({better} is better)</text>" in svg


def test_every_formulation_names_its_objective_and_its_samples():
    """C1, the kind: a formulation without a name would have an axis without a unit."""
    public = [getattr(mm, name) for name in mm.__all__ if isinstance(getattr(mm, name), type)]
    kinds = [kind for kind in public if issubclass(kind, Formulation)]
    assert len(kinds) >= 8
    for kind in kinds:
        assert re.search(r"nats|no unit", kind.value_name), kind
        assert kind.samples is not Formulation.samples, kind


def test_axes_of_comparisons_have_titles():
    """C1, the same of `compare`."""
    assert ">Share of problems proved, %</text>" in profile_svg({"a": [1.0]}, {"a": 1})
    trace = BoundTrace(Sense.MAXIMIZE, (TraceRecord(0.0, 1.0, 2.0, None, None, "start", "x"),))
    assert ">Relative gap, % (log scale)</text>" in gaps_svg([("a", trace)])


def test_a_curve_of_parameters_has_the_steps_of_the_descent(results):
    """C1: one dot. Conjugate gradients improve in every iteration, and the curve shows it."""
    result = results["smooth margin"]
    html = render_report(result)
    way = re.search(r'<path class="primal" d="(M\d[^"]*L[^"]*)"', html.split("mmbn-curve")[-1])
    assert way is not None
    assert way.group(1).count("L") > 2 * len(result.trace)
    last = re.findall(r'<text class="primal"[^>]*>([^<]*)<', html)[-1]
    assert float(last.replace(",", "")) == pytest.approx(result.bounds.primal_bound, rel=1e-5)


def test_a_closed_form_has_no_curve_of_one_dot(results):
    """C1: what was found in one step is told in words."""
    html = render_report(results["ml"])
    assert "Found in one step: there is no course to draw." in html
    assert "<circle" not in html


@pytest.mark.parametrize("kind", ["smooth margin"])
def test_where_no_bound_is_claimed_nothing_is_marked_as_claimed(results, kind):
    """C1: "bound: none is claimed" was marked "claimed" and counted as the solver's own claim."""
    result = results[kind]
    assert result.bounds.dual_bound is None
    assert "[not claimed] bound: nothing is said about" in str(result.certificate)
    text = str(Text(render_report(result)))
    assert "not claimed" in text
    assert "stands as the solver's own claim" not in text
    assert "Gap unknown" not in text
    assert "bound source" not in text


def test_the_shaded_gap_is_not_called_closed(results):
    """C1: "gap closed" as the label of the shaded gap."""
    html = render_report(results["structure"])
    assert "gap closed" not in html
    assert "gap between them: 0 % at the end" in html


def test_tables_of_all_nodes_stand_in_the_report(results):
    """C1: no CPTs."""
    model = results["structure"].model
    html = render_report(results["structure"])
    assert f"Tables of all {len(model.variables)} nodes" in html
    cpt = model.cpt(model.target.name)
    assert f'<td class="num">{float(np.asarray(cpt, dtype=float).ravel()[0]):.4f}</td>' in html


def test_accuracy_says_on_which_rows_it_was_taken(corral, results):
    """C1: no held-out accuracy, no confusion matrix; and accuracy on training rows is said to be that."""
    result = results["structure"]
    text = str(Text(render_report(result)))
    rate = classification_rate(result.model, corral)
    assert "Accuracy on the training rows" in text
    assert f"{100 * rate:.2f} % of 128 rows that the model was learned from" in text
    assert "Accuracy on held-out data" not in text
    rest = corral.subset(np.arange(40, 128))
    held_out = confusion_on(result.model, rest)
    text = str(Text(render_report(result, held_out=held_out)))
    assert "Accuracy on held-out data" in text
    assert f"{100 * held_out.accuracy:.2f} % of {rest.n_samples} rows that were held out" in text
    assert "True class" in text


def test_a_confusion_matrix_counts_labels_that_the_model_does_not_know():
    """C1, the kind: test rows with a class that was never trained."""
    confusion = Confusion.of(["a", "c", "b"], ["a", "a", "b"], ["a", "b"])
    assert confusion.classes == ("a", "b", "c")
    assert confusion.accuracy == pytest.approx(2 / 3)
    assert confusion.counts.sum() == 3


def test_words_of_the_trade_are_explained_where_they_occur(results):
    """C5 (docs) and C1: incumbent, dual bound, program vector, tree exhausted, closed boxes."""
    text = str(Text(render_report(results["structure"])))
    for word in ("Bound (dual bound)", "Incumbent", "Gap", "Certificate", "Nat", "Soft margin", "CPT"):
        assert f"{word} : " in text or f"{word} " in text.split("Words used here")[1], word
    for phrase in ("tree exhausted", "closed boxes", "program vector"):
        if phrase in text.split("Words used here")[0]:
            assert phrase in text.split("Words used here")[1].lower()


def test_hostile_names_stay_text_in_every_part():
    """C1 and point 4: quotes, tags, formulas and letters of other scripts as names of columns, states and classes."""
    hostile = ["</script>", "</style><b>", "=cmd|' /C calc'!A0", "\"onload='x'", "é年", "&amp;"]
    rows = [[hostile[k % 6], hostile[(k + 1) % 6]] for k in range(24)]
    data = mm.DiscreteDataset.from_arrays(
        rows, [hostile[k % 2] for k in range(24)], feature_names=["<svg/onload=x>", "</title>"]
    )
    result = mm.solve(mm.DecomposableStructure(data, score="bic"), time_limit=20)
    html = render_report(result, held_out=confusion_on(result.model, data), title="<h1>", command="<script>x</script>")
    assert not re.search(r"<script|<svg/onload|</style><b>|\sonload='x'\"", html)
    text = str(Text(html))
    for name in ("</script>", "=cmd|' /C calc'!A0", "é年", "&amp;", "<svg/onload=x>"):
        assert name in text


def test_a_run_that_had_no_time_has_a_report_too(corral):
    """C1, the kind: the trivial answer, found before the first tick of the clock."""
    result = mm.solve(mm.SoftMarginStructure(corral), time_limit=1e-3)
    text = str(Text(render_report(result)))
    assert result.termination_status.sentence in text
    assert "Accuracy on the training rows" in text
