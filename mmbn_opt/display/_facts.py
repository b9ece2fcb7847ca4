"""What reports and notebooks tell about a result, as plain rows of text."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import numpy as np

from mmbn_opt.data.variable import DiscreteVariable
from mmbn_opt.display._shown import shown
from mmbn_opt.display._text import number, percent, shorten
from mmbn_opt.exceptions import MmbnError
from mmbn_opt.formulations.base import Described
from mmbn_opt.mixtures.classifier import MixtureClassifier
from mmbn_opt.networks.network import BayesianNetwork
from mmbn_opt.networks.structure import Structure
from mmbn_opt.results.result import Certificate, Check, Result
from mmbn_opt.results.status import Sense, TerminationStatus
from mmbn_opt.solving.handle import Run

__all__ = [
    "CheckRow",
    "Headline",
    "certificate_sentence",
    "check_rows",
    "headline",
    "mixture_rows",
    "n_gaussians",
    "parent_rows",
    "part_rows",
    "problem_rows",
    "run_headline",
    "run_rows",
    "solver_licence",
    "variable_rows",
]

Rows = list[tuple[str, str]]

_DATA = ("data", "X", "y", "local_scores")
"""Fields that are rows of a table or given scores, whose size is told by itself."""

_MAX_STATES_SHOWN = 12
_MAX_MEANS_SHOWN = 8
_MAX_GAUSSIANS_SHOWN = 400


@dataclass(frozen=True)
class CheckRow:
    """A check of the certificate; `kind` is "ok", "claimed", "not claimed" or "failed"."""

    kind: str
    mark: str
    name: str
    detail: str


@dataclass(frozen=True)
class Headline:
    """The answer in one line and five figures; `kind` is "good", "open" or "bad"."""

    kind: str
    status: str
    sentence: str
    figures: tuple[tuple[str, str], ...]


def headline(result: Result) -> Headline:
    """Status, objective, bound, gap and time."""
    status = result.termination_status
    failed = result.model is None or not result.certificate.ok
    solved = status in (TerminationStatus.OPTIMAL, TerminationStatus.LOCALLY_OPTIMAL)
    bounds = result.bounds
    figures = [
        ("Objective", number(bounds.primal_bound, 9)),
        (_bound_side(result.sense), number(bounds.dual_bound, 9)),
        ("Gap", percent(bounds.gap_rel)),
        ("Time", f"{number(result.seconds.total, 3)} s"),
    ]
    unclaimed = any(not check.claims for check in result.certificate.checks)
    if bounds.dual_bound is None and (unclaimed or bounds.primal_bound is not None):
        # No bound is claimed: a dash and "unknown" would only ask for an explanation.
        figures = [figures[0], figures[-1]]
    stalled = status is TerminationStatus.SLOW_PROGRESS
    kind = "bad" if failed else "good" if solved else "open" if status.is_limit or stalled else "bad"
    return Headline(kind, status.label.replace("_", " ").lower(), status.sentence, tuple(figures))


def _bound_side(sense: Sense) -> str:
    return "Upper bound" if sense is Sense.MAXIMIZE else "Lower bound"


def run_headline(run: Run) -> Headline:
    """The same of a run that goes on or has failed, with the time that is left."""
    error = run.error
    if error is not None:
        kind, status, sentence = "bad", "failed", f"{type(error).__name__}: {error}"
    elif run.stopping:
        kind, status, sentence = "open", "stopping", "The run was asked to stop and is handing over what it has."
    else:
        kind, status, sentence = "open", "running", f"{run.solver_name} on {run.formulation.title}."
    left = run.time_left()
    bounds = run.bounds
    figures = (
        ("Objective", number(bounds.primal_bound, 7)),
        (_bound_side(bounds.sense), number(bounds.dual_bound, 7)),
        ("Gap", percent(bounds.gap_rel)),
        ("Time", f"{run.elapsed():.1f} s"),
        ("Time left", "no limit" if left is None else f"{left:.1f} s"),
    )
    return Headline(kind, status, sentence, figures)


def check_rows(certificate: Certificate) -> list[CheckRow]:
    """One row a check."""
    return [_check_row(check) for check in certificate.checks]


def _check_row(check: Check) -> CheckRow:
    unproved = ("claimed", "○") if check.claims else ("not claimed", "–")
    kind, mark = {True: ("ok", "✓"), None: unproved, False: ("failed", "✗")}[check.ok]
    return CheckRow(kind, mark, check.name, check.detail)


def certificate_sentence(certificate: Certificate) -> str:
    """How the checks went, in one sentence."""
    made = [check for check in certificate.checks if check.claims]
    total, failed = len(made), len(certificate.failures)
    claimed = sum(check.ok is None for check in made)
    if not total:
        return "Nothing was checked."
    if failed:
        return f"{failed} of {total} checks failed."
    open_ = [check.name for check in certificate.checks if not check.claims]
    tail = f" Not claimed: {', '.join(open_)}." if open_ else ""
    if claimed:
        stands = "stands as the solver's own claim" if claimed == 1 else "stand as the solver's own claims"
        return f"{total - claimed} of {total} checks passed, {claimed} {stands}.{tail}"
    return (f"All {total} checks passed." if total > 1 else "The one check passed.") + tail


def parent_rows(network: BayesianNetwork | Structure) -> list[tuple[str, int | None, str]]:
    """Name, number of states (of a bare structure none) and parents of each node, the class first."""
    if isinstance(network, Structure):
        return [(name, None, ", ".join(parents)) for name, parents in network.parent_names.items()]
    states = {v.name: v.cardinality for v in network.variables}
    return [(name, states[name], ", ".join(parents)) for name, parents in network.parents.items()]


def mixture_rows(model: MixtureClassifier) -> list[tuple[str, str, str]]:
    """Class and what it is told from, weight and means of each Gaussian of a classifier, the first 400 of them."""
    rows: list[tuple[str, str, str]] = []
    for part in model.parts:
        if len(rows) >= _MAX_GAUSSIANS_SHOWN:
            break
        names = [" + ".join(str(model.classes[c]) for c in group) for group in part.groups]
        for name, density in zip(names, part.densities, strict=True):
            rivals = " and ".join(other for other in names if other != name)
            for k in range(density.n_components):
                means = density.means[k] * model.scale + model.location
                told = ", ".join(
                    f"{feature} {number(mean, 4)}"
                    for feature, mean in zip(model.feature_names[:_MAX_MEANS_SHOWN], means, strict=False)
                )
                more = model.n_features - _MAX_MEANS_SHOWN
                told += f" and {more} more" if more > 0 else ""
                rows.append((f"{name}, against {rivals}", number(float(np.exp(density.log_weights[k])), 3), told))
    return rows[:_MAX_GAUSSIANS_SHOWN]


def n_gaussians(model: MixtureClassifier) -> int:
    """Number of Gaussians of all parts."""
    return sum(density.n_components for part in model.parts for density in part.densities)


def part_rows(whole: Result) -> list[tuple[str, str, str, str]]:
    """Name, status, recomputed objective and outcome of each program of several; rows are those of the whole data."""
    failed: dict[str, str] = {}
    for check in whole.certificate.failures:
        if check.part:
            failed.setdefault(check.part, check.detail)
    return [_part_row(part, failed.get(part.part)) for part in whole.parts]


def _part_row(part: Result, failed: str | None) -> tuple[str, str, str, str]:
    details = [failed] if failed else [check.detail for check in part.certificate.failures]
    # Without a vector no time was left to evaluate the model, nor is there any now.
    value = "-" if part.solution is None else number(part.formulation.evaluate(part.model), 9)
    status = part.termination_status.label.replace("_", " ").lower()
    return part.part, status, value, details[0] if details else "all checks passed"


def variable_rows(variables: Sequence[DiscreteVariable]) -> list[tuple[str, str, str]]:
    """Name, kind, and states or cut points of each variable."""
    return [(v.name, _kind(v), _states(v)) for v in variables]


def _kind(variable: DiscreteVariable) -> str:
    kind = "categorical" if variable.cuts is None else "numeric, cut"
    if variable.has_missing_state:
        kind += ", missing is a state"
    return kind + (" (constant)" if variable.cardinality == 1 else "")


def _states(variable: DiscreteVariable) -> str:
    if variable.cuts is not None:
        cuts = ", ".join(number(c) for c in variable.cuts)
        return f"cut at {cuts}" if cuts else "no cut point: one interval"
    labels = [shorten(str(s), 30) for s in variable.states[:_MAX_STATES_SHOWN]]
    more = variable.cardinality - len(labels)
    return ", ".join(labels) + (f" and {more} more" if more > 0 else "")


def problem_rows(formulation: Described) -> Rows:
    """The formulation, its data and its settings."""
    rows: Rows = [("Formulation", type(formulation).__name__)]
    if (samples := formulation.samples) is not None:
        data, distinct = samples.data, samples.n_distinct
        told = f"{data.n_samples:,}" + ("" if distinct is None else f", {distinct:,} distinct")
        rows.append(("Samples", told + (f", {data.n_dropped:,} dropped" if data.n_dropped else "")))
        rows.append(("Features", f"{data.n_features:,}"))
        rows.append(("Class", f"{samples.class_name}, {data.n_classes} states"))
    settings: Any = formulation
    if is_dataclass(settings):
        values = {f.name: getattr(settings, f.name) for f in fields(settings) if f.repr and f.name not in _DATA}
        rows += [(name, text) for name, value in values.items() if (text := shown(value))]
    return rows


def run_rows(result: Result) -> Rows:
    """Solver, program, seconds and settings."""
    licence = solver_licence(result.solver_name)
    rows: Rows = [
        (
            "Solver",
            " ".join(filter(None, (result.solver_name, result.solver_version))) + (f" ({licence})" if licence else ""),
        ),
        ("Why this solver", result.solver_rule),
        ("Its own words", shorten(result.raw_status, 500)),
        ("Part", result.part),
    ]
    if (size := result.program_size) is not None:
        columns = f"{size.columns:,} columns ({size.integers:,} integer)"
        rows.append(("Program", f"{columns}, {size.rows:,} rows, {size.nonzeros:,} non-zeros"))
    seconds = result.seconds
    parts = [
        ("heuristics", seconds.heuristics),
        ("build", seconds.build),
        ("solve", seconds.solve),
        ("total", seconds.total),
    ]
    rows.append(("Seconds", ", ".join(f"{name} {number(value, 3)}" for name, value in parts)))
    rows += [(name, shown(value)) for name, value in result.settings.items()]
    counts = {name: value for name, value in result.stats.items() if value is not None}
    if result.bounds.dual_bound is None:
        counts.pop("bound_source", None)
    rows += [(name.replace("_", " "), shown(value)) for name, value in counts.items()]
    return [(name, value) for name, value in rows if value]


def solver_licence(name: str) -> str:
    """Licence of a registered solver, or an empty text."""
    from mmbn_opt.solvers.registry import get_solver_class

    try:
        return get_solver_class(name).licence
    except MmbnError:
        return ""
