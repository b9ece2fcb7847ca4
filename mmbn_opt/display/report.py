"""The report of a run: one HTML file that opens without network, in light, dark and on paper."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from markupsafe import Markup

from mmbn_opt.data.findings import remark_lines
from mmbn_opt.display import _facts as facts
from mmbn_opt.display._accuracy import AccuracyTable, accuracy_table
from mmbn_opt.display._cpts import cpt_tables
from mmbn_opt.display._history import history
from mmbn_opt.display._pictures import network_picture, trace_picture
from mmbn_opt.display._templates import package_version, page_style, render
from mmbn_opt.display._text import number
from mmbn_opt.display._words import glossary
from mmbn_opt.display.html import network_caption, trace_caption
from mmbn_opt.formulations.base import Described
from mmbn_opt.mixtures.classifier import MixtureClassifier
from mmbn_opt.networks.network import BayesianNetwork
from mmbn_opt.networks.structure import Structure
from mmbn_opt.results.confusion import Confusion
from mmbn_opt.results.result import Result
from mmbn_opt.scores.confusion import confusion_on

if TYPE_CHECKING:
    from mmbn_opt.display.reasons import Reasons

__all__ = ["render_report"]

_WHISKER_WIDTH = 180.0


def render_report(
    result: Result,
    *,
    comparison: Sequence[Mapping[str, Any]] | None = None,
    held_out: Confusion | None = None,
    training: Confusion | Literal["computed"] | None = "computed",
    probabilities: Sequence[tuple[str, str]] = (),
    reasons: "Reasons | None" = None,
    title: str | None = None,
    command: str | None = None,
) -> str:
    """Write the report of a result.

    Parameters
    ----------
    result : Result
    comparison : sequence of mappings, or None
        Models side by side: ``name``, ``accuracy``, and where known ``n_test``, ``standard_error`` and ``soft_margin``.
    held_out : Confusion or None
        The model on rows that it was not learned from.
    training : Confusion, "computed" or None
        The model on the rows that it was learned from, where that is known already; None leaves it out.
    probabilities : sequence of (name, value)
        How far the model's probabilities can be believed.
    reasons : Reasons or None
        Why the model says what it says.
    title : str or None
        Heading; by default the formulation's title.
    command : str or None
        The command that made the report.

    Returns
    -------
    str
        HTML without scripts, links or anything to be loaded. Equal input gives equal text.
    """
    model = result.model if isinstance(result.model, BayesianNetwork) else None
    drawn = result.model if isinstance(result.model, Structure) else model
    formulation: Described = result.formulation
    samples = formulation.samples
    curve = history(result)
    values: dict[str, Any] = {
        "title": title or formulation.title,
        "subtitle": "" if samples is None else samples.sentence,
        "headline": facts.headline(result),
        "sentence": facts.certificate_sentence(result.certificate),
        "network": None if drawn is None else network_picture(drawn),
        "network_caption": "" if drawn is None else network_caption(drawn),
        "curve": trace_picture(curve, formulation.value_name),
        "value_name": formulation.value_name,
        "curve_caption": trace_caption(curve),
        "bounded": result.bounds.dual_bound is not None,
        "checks": facts.check_rows(result.certificate),
        "comparison": _comparison(comparison) if comparison else None,
        "held_out": None if held_out is None else accuracy_table(held_out, held_out=True),
        "training": _training(result, training),
        "probabilities": list(probabilities),
        "reasons": reasons,
        "mixtures": facts.mixture_rows(result.model) if isinstance(result.model, MixtureClassifier) else [],
        "gaussians": facts.n_gaussians(result.model) if isinstance(result.model, MixtureClassifier) else 0,
        "programs": facts.part_rows(result),
        "remarks": remark_lines(result.remarks),
        "parents": [] if drawn is None else facts.parent_rows(drawn),
        "tables": [] if model is None else cpt_tables(model),
        "variables": [] if model is None else facts.variable_rows([model.target, *model.features]),
        "problem": facts.problem_rows(formulation),
        "run": facts.run_rows(result),
        "command": command,
    }
    words = glossary(list(_texts(values)))
    return render("report.html.j2", **values, words=words, version=package_version(), style=page_style())


def _training(result: Result, known: Confusion | Literal["computed"] | None) -> AccuracyTable | None:
    """The model on the rows that it was learned from."""
    samples = result.formulation.samples
    if known == "computed":
        known = None if result.model is None or samples is None else confusion_on(result.model, samples)
    return None if known is None else accuracy_table(known, held_out=False)


def _texts(values: Mapping[str, Any]) -> Iterator[str]:
    """The prose among the values, where words of the trade occur."""
    for key in ("title", "sentence", "network_caption", "curve_caption"):
        yield values[key]
    yield values["headline"].sentence
    yield from (f"{name} {value}" for name, value in (*values["headline"].figures, *values["run"]))
    yield from (f"{check.name} {check.detail} {check.kind}" for check in values["checks"])
    yield values["value_name"]
    yield "CPT" if values["tables"] else ""
    yield "confusion matrix" if values["training"] or values["held_out"] else ""
    yield "held-out" if values["comparison"] or values["held_out"] else ""


@dataclass(frozen=True)
class _ComparisonRow:
    name: str
    accuracy: str
    whisker: Markup
    margin: str
    best: bool


def _comparison(models: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    accuracies = [float(m["accuracy"]) for m in models]
    errors = [_standard_error(m) for m in models]
    reach = [1.96 * e for e in errors if e is not None]
    low = max(0.0, min(accuracies) - max(reach, default=0.0))
    high = min(1.0, max(accuracies) + max(reach, default=0.0))
    sizes = {int(m["n_test"]) for m in models if m.get("n_test")}
    rows = [
        _ComparisonRow(
            str(m["name"]),
            f"{100 * accuracy:.2f} %",
            _whisker(accuracy, error, low, high),
            number(m.get("soft_margin"), 9),
            accuracy == max(accuracies),
        )
        for m, accuracy, error in zip(models, accuracies, errors, strict=True)
    ]
    tested = f"{', '.join(f'{n:,}' for n in sorted(sizes))} rows that no model was fitted to. " if sizes else ""
    return {
        "rows": rows,
        "whiskers": any(e is not None for e in errors),
        "margins": any(m.get("soft_margin") is not None for m in models),
        "caption": tested + (f"The lines span {100 * low:.1f} % to {100 * high:.1f} %." if reach else ""),
    }


def _standard_error(model: Mapping[str, Any]) -> float | None:
    if model.get("standard_error") is not None:
        return float(model["standard_error"])
    if not model.get("n_test"):
        return None
    accuracy = float(model["accuracy"])
    return math.sqrt(max(0.0, accuracy * (1.0 - accuracy)) / float(model["n_test"]))


def _whisker(accuracy: float, error: float | None, low: float, high: float) -> Markup:
    if error is None:
        return Markup("")
    span = max(high - low, 1e-9)

    def place(value: float) -> float:
        return 5.0 + (_WHISKER_WIDTH - 10.0) * (min(max(value, low), high) - low) / span

    ends = place(accuracy - 1.96 * error), place(accuracy + 1.96 * error)
    return Markup(
        f'<svg class="whisker" viewBox="0 0 {_WHISKER_WIDTH:.0f} 16" role="img" aria-label="{100 * accuracy:.2f} %">'
        f'<path d="M{ends[0]:.1f} 8H{ends[1]:.1f}"/><circle cx="{place(accuracy):.1f}" cy="8" r="4"/></svg>'
    )
