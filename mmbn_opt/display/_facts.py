"""What reports and notebooks tell about a result, as plain rows of text."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import numpy as np

from mmbn_opt.data.discrete import DiscreteDataset
from mmbn_opt.data.numeric import NumericDataset
from mmbn_opt.data.variable import DiscreteVariable
from mmbn_opt.display._text import number, percent, shorten
from mmbn_opt.exceptions import MmbnError
from mmbn_opt.mixtures.classifier import MixtureClassifier
from mmbn_opt.networks.network import BayesianNetwork
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
    "parent_rows",
    "part_row",
    "problem_rows",
    "run_headline",
    "run_rows",
    "solver_licence",
    "title_of",
    "variable_rows",
]

Rows = list[tuple[str, str]]

_MAX_STATES_SHOWN = 12
_MAX_MEANS_SHOWN = 8


@dataclass(frozen=True)
class CheckRow:
    """A check of the certificate; `kind` is "ok", "claimed" or "failed"."""

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
    figures = (
        ("Objective", number(result.bounds.primal_bound, 9)),
        (_bound_side(result.sense), number(result.bounds.dual_bound, 9)),
        ("Gap", percent(result.bounds.gap_rel)),
        ("Time", f"{number(result.seconds.total, 3)} s"),
    )
    stalled = status is TerminationStatus.SLOW_PROGRESS
    kind = "bad" if failed else "good" if solved else "open" if status.is_limit or stalled else "bad"
    return Headline(kind, status.label.replace("_", " ").lower(), status.sentence, figures)


def title_of(formulation: Any) -> str:
    """What a formulation calls itself."""
    return str(getattr(formulation, "title", type(formulation).__name__))


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
        kind, status, sentence = "open", "running", f"{run.solver_name} on {title_of(run.formulation)}."
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
    kind, mark = {True: ("ok", "✓"), None: ("claimed", "○"), False: ("failed", "✗")}[check.ok]
    return CheckRow(kind, mark, check.name, check.detail)


def certificate_sentence(certificate: Certificate) -> str:
    """How the checks went, in one sentence."""
    total, failed = len(certificate.checks), len(certificate.failures)
    claimed = sum(check.ok is None for check in certificate.checks)
    if not total:
        return "Nothing was checked."
    if failed:
        return f"{failed} of {total} checks failed."
    if claimed:
        stands = "stands as the solver's own claim" if claimed == 1 else "stand as the solver's own claims"
        return f"{total - claimed} of {total} checks passed, {claimed} {stands}."
    return f"All {total} checks passed." if total > 1 else "The one check passed."


def parent_rows(network: BayesianNetwork) -> list[tuple[str, int, str]]:
    """Name, number of states and parents of each node, the class first."""
    states = {v.name: v.cardinality for v in network.variables}
    return [(name, states[name], ", ".join(parents)) for name, parents in network.parents.items()]


def mixture_rows(model: MixtureClassifier) -> list[tuple[str, str, str]]:
    """Class and what it is told from, weight and means of each Gaussian of a classifier."""
    rows = []
    for part in model.parts:
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
    return rows


def part_row(part: Result, whole: Result) -> tuple[str, str, str, str]:
    """Name, status, recomputed objective and outcome of a program among several; rows are those of the whole data."""
    failed = [check.detail for check in whole.certificate.failures if check.part and check.part == part.part]
    failed = failed or [check.detail for check in part.certificate.failures]
    # Without a vector no time was left to evaluate the model, nor is there any now.
    value = "-" if part.solution is None else number(part.formulation.evaluate(part.model), 9)
    status = part.termination_status.label.replace("_", " ").lower()
    return part.part, status, value, failed[0] if failed else "all checks passed"


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


def problem_rows(formulation: Any) -> Rows:
    """The formulation, its data and its settings."""
    rows: Rows = [("Formulation", type(formulation).__name__)]
    data, merged = getattr(formulation, "data", None), getattr(formulation, "merged", None)
    if isinstance(data, DiscreteDataset):
        distinct = f", {merged.n_samples:,} distinct" if isinstance(merged, DiscreteDataset) else ""
        rows.append(
            ("Samples", f"{data.n_samples:,}{distinct}" + (f", {data.n_dropped:,} dropped" if data.n_dropped else ""))
        )
        rows.append(("Features", f"{data.n_features:,}"))
        rows.append(("Class", f"{data.class_name}, {data.n_classes} states"))
    elif isinstance(data, NumericDataset):
        dropped = f", {data.n_dropped:,} dropped" if data.n_dropped else ""
        rows += [("Samples", f"{data.n_samples:,}{dropped}"), ("Features", f"{data.n_features:,}")]
    if is_dataclass(formulation):
        values = {f.name: getattr(formulation, f.name) for f in fields(formulation) if f.repr}
        rows += [(name, _shown(value)) for name, value in values.items() if _is_setting(value)]
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
        ("Its own words", result.raw_status),
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
    rows += [(name, _shown(value)) for name, value in result.settings.items()]
    rows += [(name.replace("_", " "), _shown(value)) for name, value in result.stats.items() if _is_setting(value)]
    return [(name, value) for name, value in rows if value]


def solver_licence(name: str) -> str:
    """Licence of a registered solver, or an empty text."""
    from mmbn_opt.solvers.registry import get_solver_class

    try:
        return get_solver_class(name).licence
    except MmbnError:
        return ""


def _is_setting(value: Any) -> bool:
    return not isinstance(value, DiscreteDataset) and not hasattr(value, "shape") and not callable(value)


def _shown(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return number(value) if math.isfinite(value) else str(value)
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, (Mapping, tuple, list)) and not value:
        return "none"
    if isinstance(value, Mapping):
        return ", ".join(f"{k}={_shown(v)}" for k, v in value.items())
    if isinstance(value, (tuple, list)):
        return ", ".join(" → ".join(map(str, v)) if isinstance(v, tuple) else _shown(v) for v in value)
    return str(value)
