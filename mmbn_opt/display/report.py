"""The report of a run: one HTML file that opens without network, in light, dark and on paper."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from mmbn_opt.data.discrete import DiscreteDataset
from mmbn_opt.data.findings import remark_lines
from mmbn_opt.data.numeric import NumericDataset
from mmbn_opt.display import _facts as facts
from mmbn_opt.display._templates import package_version, page_style, render
from mmbn_opt.display._text import number
from mmbn_opt.display.curves import trace_svg
from mmbn_opt.display.html import network_caption, trace_caption
from mmbn_opt.display.svg import network_svg
from mmbn_opt.mixtures.classifier import MixtureClassifier
from mmbn_opt.networks.network import BayesianNetwork
from mmbn_opt.results.result import Result

__all__ = ["render_report"]

_WHISKER_WIDTH = 180.0


def render_report(
    result: Result,
    *,
    comparison: Sequence[Mapping[str, Any]] | None = None,
    title: str | None = None,
    command: str | None = None,
) -> str:
    """Write the report of a result.

    Parameters
    ----------
    result : Result
    comparison : sequence of mappings, or None
        Models side by side: ``name``, ``accuracy``, and where known ``n_test``, ``standard_error`` and ``soft_margin``.
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
    formulation = result.formulation
    heading = title or facts.title_of(formulation)
    return render(
        "report.html.j2",
        title=heading,
        subtitle=_subtitle(formulation),
        version=package_version(),
        style=page_style(),
        headline=facts.headline(result),
        sentence=facts.certificate_sentence(result.certificate),
        network=None if model is None else Markup(network_svg(model, standalone=False)),
        network_caption="" if model is None else network_caption(model),
        curve=Markup(trace_svg(result.trace, standalone=False)),
        curve_caption=trace_caption(result.trace),
        checks=facts.check_rows(result.certificate),
        comparison=_comparison(comparison) if comparison else None,
        mixtures=facts.mixture_rows(result.model) if isinstance(result.model, MixtureClassifier) else [],
        programs=[facts.part_row(part, result) for part in result.parts],
        remarks=remark_lines(result.remarks),
        parents=[] if model is None else facts.parent_rows(model),
        variables=[] if model is None else facts.variable_rows([model.target, *model.features]),
        problem=facts.problem_rows(formulation),
        run=facts.run_rows(result),
        command=command,
    )


def _subtitle(formulation: Any) -> str:
    data = getattr(formulation, "data", None)
    if isinstance(data, NumericDataset):
        column = getattr(formulation, "class_name", "class")
        return (
            f"{data.n_samples:,} samples, {data.n_features:,} features, {data.n_classes} classes in column “{column}”"
        )
    if not isinstance(data, DiscreteDataset):
        return ""
    size = f"{data.n_samples:,} samples, {data.n_features:,} features"
    return f"{size}, {data.n_classes} classes in column “{data.class_name}”"


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
