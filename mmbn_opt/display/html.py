"""Fragments of HTML that notebooks show for results, networks, structures, traces and certificates.

No fragment has an id or a script, so any number of them can stand in one page.
"""

from typing import Any

from mmbn_opt.display import _facts as facts
from mmbn_opt.display._classifier_facts import classifier_headline
from mmbn_opt.display._cpts import Table, cpt_tables
from mmbn_opt.display._history import history
from mmbn_opt.display._pictures import Picture, network_picture, trace_picture
from mmbn_opt.display._templates import fragment_style, render
from mmbn_opt.display._text import number
from mmbn_opt.display.svg import drawable_part
from mmbn_opt.display.waterfall import waterfall_picture
from mmbn_opt.formulations.base import Described
from mmbn_opt.networks.log_linear import LogLinearClassifier
from mmbn_opt.networks.network import BayesianNetwork
from mmbn_opt.networks.structure import Structure
from mmbn_opt.results.result import Certificate, Result
from mmbn_opt.results.trace import BoundTrace
from mmbn_opt.scores.explanation import Explanation
from mmbn_opt.solving.handle import Run

__all__ = [
    "certificate_html",
    "classifier_html",
    "explanation_html",
    "network_caption",
    "network_html",
    "result_html",
    "run_html",
    "structure_html",
    "trace_caption",
    "trace_html",
]


def trace_html(trace: BoundTrace) -> str:
    """Both curves of a trace, and when the first incumbent came."""
    return _fragment(pictures=[trace_picture(trace)], caption=trace_caption(trace))


def network_html(network: BayesianNetwork) -> str:
    """The drawing of a network; pointing at a node shows its parents and its CPT, a fold has all tables."""
    pictures = [network_picture(network)]
    return _fragment(pictures=pictures, caption=network_caption(network), tables=cpt_tables(network))


def structure_html(structure: Structure) -> str:
    """The drawing of a structure."""
    return _fragment(pictures=[network_picture(structure)], caption=network_caption(structure))


def certificate_html(certificate: Certificate) -> str:
    """The checks, each marked ok, claimed or failed."""
    return _fragment(checks=facts.check_rows(certificate), sentence=facts.certificate_sentence(certificate))


def result_html(result: Result) -> str:
    """Status, figures, network, curve and certificate of a result."""
    return _fragment(
        headline=facts.headline(result),
        pictures=_pictures(history(result), result.model, result.formulation),
        tables=cpt_tables(result.model) if isinstance(result.model, BayesianNetwork) else None,
        checks=facts.check_rows(result.certificate),
        sentence=facts.certificate_sentence(result.certificate),
    )


def classifier_html(estimator: Any) -> str:
    """A fitted classifier at a glance: what it is, accuracy, objective and bound, network, certificate."""
    network = getattr(estimator, "network_", None)
    text = " ".join(repr(estimator).split())
    caption = text if network is None else f"{text}: {network_caption(network)}"
    return _fragment(
        headline=classifier_headline(estimator),
        pictures=[] if network is None else [network_picture(network)],
        caption=caption,
        tables=None if network is None else cpt_tables(network),
        checks=facts.check_rows(estimator.certificate_),
        sentence=facts.certificate_sentence(estimator.certificate_),
    )


def explanation_html(explanation: Explanation) -> str:
    """Why a row is taken for what it is: the waterfall of its log-odds."""
    pair = f"{explanation.label} against {explanation.rival}"
    probabilities = ", ".join(
        f"{label} {100 * p:.1f} %" for label, p in zip(explanation.classes, explanation.proba, strict=True)
    )
    caption = f"{pair}: {number(explanation.log_odds)} nats, {explanation.of}. Probabilities: {probabilities}."
    return _fragment(pictures=[waterfall_picture(explanation)], caption=caption)


def run_html(run: Run) -> str:
    """A run as it stands: status, figures, curve and the network so far; its result when it has one."""
    if run.outcome is not None:
        return result_html(run.outcome)
    return _fragment(headline=facts.run_headline(run), pictures=_pictures(run.trace, run.best(), run.formulation))


def _pictures(trace: BoundTrace, model: Any, formulation: Described) -> list[Picture]:
    pictures = [trace_picture(trace, formulation.value_name)]
    drawn = model.structure if isinstance(model, LogLinearClassifier) else model
    if isinstance(drawn, (BayesianNetwork, Structure)):
        pictures.append(network_picture(drawn))
    return pictures


def network_caption(network: BayesianNetwork | Structure) -> str:
    """Size of the network, and what the lines mean."""
    structure = network.structure if isinstance(network, BayesianNetwork) else network
    drawn, _ = drawable_part(structure)
    caption = f"{len(structure.names):,} nodes, {len(structure.edges):,} edges"
    if isinstance(network, BayesianNetwork):
        caption += f", {network.n_parameters:,} free parameters"
    if len(drawn.names) < len(structure.names):
        middle = "the class" if structure.has_class else repr(drawn.class_name)
        caption += f"; drawn are {middle} and {len(drawn.names) - 1:,} nodes of its Markov blanket"
    if structure.has_class and structure.children(structure.class_index):
        caption += ". Blue lines lead from the class, grey ones from features"
    return caption + ". Point at a node to see its parents."


def trace_caption(trace: BoundTrace) -> str:
    """First incumbent and primal integral."""
    first = trace.first_incumbent_sec()
    if first is None:
        return f"{len(trace):,} records; no incumbent was found."
    integral = f"{100 * trace.primal_integral():.2f} %"
    return f"{len(trace):,} records; first incumbent after {number(first, 2)} s, primal integral {integral} of the run."


def _fragment(
    *,
    pictures: list[Picture] | None = None,
    caption: str = "",
    tables: list[Table] | None = None,
    headline: facts.Headline | None = None,
    checks: list[facts.CheckRow] | None = None,
    sentence: str = "",
) -> str:
    values: dict[str, Any] = {
        "style": fragment_style(),
        "pictures": pictures or [],
        "caption": caption,
        "tables": tables,
        "headline": headline,
        "checks": checks,
        "sentence": sentence,
    }
    return render("fragment.html.j2", **values)
