"""Certificates: what can be recomputed from the data is recomputed; what cannot is marked as claimed."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from mmbn_opt._arguments import check_arguments, shown
from mmbn_opt.exceptions import InputError
from mmbn_opt.formulations.base import Formulation
from mmbn_opt.formulations.checks import in_time
from mmbn_opt.results.bounds import ObjectiveBounds
from mmbn_opt.results.result import Certificate, Check, Result
from mmbn_opt.results.status import BoundKind, TerminationStatus
from mmbn_opt.results.trace import BoundTrace
from mmbn_opt.solvers.base import SolverResult
from mmbn_opt.solvers.ending import OBJECTIVE_TOLERANCE, Tolerances

__all__ = ["NO_BOUND", "ReprovedBound", "certify", "certify_run", "reproved_bound"]

NO_BOUND = "nothing is said about the distance to the global optimum"


def certify(model: Any, formulation: Formulation, result: Result | None = None) -> Certificate:
    """Re-check a model against the data of its formulation, and a result's claims where one is given.

    Parameters
    ----------
    model : BayesianNetwork or other model
        Any model, from this library or not.
    formulation : Formulation
    result : Result or None
        Whose bounds, status and trace are to be checked too.

    Examples
    --------
    >>> import mmbn_opt as mm
    >>> data = mm.DiscreteDataset.from_arrays([["a"], ["b"]] * 5, [0, 1] * 5)
    >>> formulation = mm.SoftMarginStructure(data)
    >>> model = mm.BayesianNetwork.fit(mm.naive_bayes(data), data)
    >>> print(certify(model, formulation))
    [ok] acyclic: 2 nodes, 1 edges
    [ok] within the model class: all acyclic networks over 1 feature and 'class' with at most 2 parents a node
    [ok] candidates cover the class: each parent set of the class has one among the 4 candidates with ...
    [ok] CPTs normalised: largest |row sum - 1| is ...
    [ok] parameters from the data: largest difference to a fresh estimate with a pseudo-count of 1 a cell is 0.0e+00
    [ok] objective: 17.917595 recomputed from 10 samples
    """
    check_arguments(certify, locals())
    if result is None:
        try:
            value = formulation.evaluate(model)
        except (AttributeError, TypeError) as error:
            raise InputError(
                f"model must be a classifier that {type(formulation).__name__} can learn (BayesianNetwork, "
                f"LogLinearClassifier or MixtureClassifier), got {shown(model)}."
            ) from error
        check = Check("objective", True, f"{value:.6f} recomputed from {formulation.source_in_words}")
        return Certificate((*formulation.check(model), check, *_distance(model, formulation)))
    return certify_run(
        model,
        formulation,
        bounds=result.bounds,
        status=result.termination_status,
        trace=result.trace,
        tolerances=Tolerances(
            float(result.settings.get("rel_gap", 0.0)), float(result.settings.get("abs_gap", 0.0)), formulation.scale
        ),
        bound_source=result.bound_source or result.solver_name,
        reproved=reproved_bound(result, formulation),
    )


def certify_run(
    model: Any,
    formulation: Formulation,
    *,
    bounds: ObjectiveBounds,
    status: TerminationStatus,
    trace: BoundTrace,
    tolerances: Tolerances,
    bound_source: str,
    extra: Iterable[Check] = (),
    reproved: "ReprovedBound | None" = None,
) -> Certificate:
    """Checks of a model together with the claims of the run that found it."""
    checks = [
        *formulation.check(model),
        *in_time("objective", lambda: _check_objective(model, formulation, bounds.primal_bound)),
        *extra,
        *_check_bounds(bounds, formulation, bound_source, reproved),
        _check_trace(trace, bounds),
    ]
    return Certificate((*checks, _check_status(bounds, status, tolerances, Certificate(tuple(checks)).failures)))


def _check_objective(model: Any, formulation: Formulation, reported: float | None) -> Check:
    """Whether the objective that was reported is what the data say of the model."""
    value, violation = formulation.evaluate(model), formulation.infeasibility(model)
    if violation > 0:
        told = f"{value:.6f} recomputed, but the constraints are violated by {violation:.3g}: no bound"
        return Check("objective", reported is None, told)
    agrees = reported is not None and abs(value - reported) <= OBJECTIVE_TOLERANCE * max(1.0, abs(value))
    told = f"{value:.6f} recomputed from {formulation.source_in_words}, {_number(reported)} reported"
    return Check("objective", agrees, told)


def _distance(model: Any, formulation: Formulation) -> tuple[Check, ...]:
    """How far the model is from the optimum, where a convex program proves it in seconds."""
    from mmbn_opt.formulations.parameters.relaxation import MaxMarginRelaxation
    from mmbn_opt.solving.distance import distance_to_optimum

    if not isinstance(formulation, MaxMarginRelaxation):
        return ()
    return (distance_to_optimum(model, formulation).check(),)


def _number(value: float | None) -> str:
    return "none" if value is None else f"{value:.6f}"


@dataclass(frozen=True)
class ReprovedBound:
    """A dual bound that a proof beside the search has computed anew, in the formulation's sense.

    Parameters
    ----------
    value : float
    detail : str
        What the proof consists of, with figures.
    """

    value: float
    detail: str


def reproved_bound(answer: Result | SolverResult, formulation: Formulation) -> ReprovedBound | None:
    """A bound that was computed anew: beside a search while it ran, or here from the multipliers that it left."""
    if answer.proof is not None:
        return ReprovedBound(formulation.sense.sign * answer.proof.value, f"beside the search, {answer.proof}")
    proved = None if answer.multipliers is None else formulation.prove_bound(answer.multipliers)
    return None if proved is None else ReprovedBound(proved, "the Lagrangian value of the solver's last multipliers")


def _check_bounds(
    bounds: ObjectiveBounds, formulation: Formulation, source: str, reproved: ReprovedBound | None
) -> tuple[Check, ...]:
    if bounds.dual_bound is None and formulation.bound_kind is BoundKind.HEURISTIC:
        return (Check("bound", None, NO_BOUND, claims=False),)
    return _check_bound_side(bounds), _check_bound_source(bounds, formulation, source, reproved)


def _check_bound_side(bounds: ObjectiveBounds) -> Check:
    detail = f"dual {_number(bounds.dual_bound)}, primal {_number(bounds.primal_bound)}, gap {bounds.gap_rel:.4%}"
    return Check("bound on the right side", bounds.is_consistent(OBJECTIVE_TOLERANCE), detail)


def _check_bound_source(
    bounds: ObjectiveBounds, formulation: Formulation, source: str, reproved: ReprovedBound | None
) -> Check:
    if bounds.dual_bound is None:
        return Check("bound proved", None, "no bound is claimed", claims=False)
    trivial = formulation.trivial_bound()
    if trivial is not None and abs(trivial - bounds.dual_bound) <= OBJECTIVE_TOLERANCE * max(1.0, abs(trivial)):
        return Check("bound proved", True, f"{trivial:.6f} follows from the formulation alone")
    if reproved is not None and _no_weaker(bounds, reproved.value):
        detail = f"{bounds.dual_bound:.6f} computed anew from multipliers: {reproved.detail}"
        return Check("bound proved", True, detail)
    return Check(
        "bound proved", None, f"{bounds.dual_bound:.6f} as claimed by {source}; its search tree is not re-proved here"
    )


def _no_weaker(bounds: ObjectiveBounds, proved: float) -> bool:
    """Whether the dual bound claims no more than what was proved."""
    assert bounds.dual_bound is not None
    slack = OBJECTIVE_TOLERANCE * max(1.0, abs(proved))
    return bounds.sense.sign * (bounds.dual_bound - proved) <= slack


def _check_status(
    bounds: ObjectiveBounds, status: TerminationStatus, tolerances: Tolerances, failures: Sequence[Check]
) -> Check:
    if status is not TerminationStatus.OPTIMAL:
        return Check("status", True, f"{status}: {status.sentence}")
    if failures:
        names = ", ".join(check.name for check in failures)
        return Check("status", False, f"OPTIMAL cannot be said of an answer that failed its checks ({names})")
    asked = f"asked: {tolerances.rel_gap:g} relative, {tolerances.abs_gap:g} absolute"
    granted = f"{tolerances.relative:g} or {tolerances.absolute:.2g} count as closed"
    gap = f"{bounds.gap_rel:.2e} relative, {bounds.gap_abs:.2e} absolute"
    return Check("status", tolerances.closed(bounds), f"OPTIMAL claimed at a gap of {gap} ({asked}; {granted})")


def _check_trace(trace: BoundTrace, bounds: ObjectiveBounds) -> Check:
    sign = trace.sense.sign
    pairs = list(zip(trace.records, trace.records[1:], strict=False))
    ordered = all(a.time_sec <= b.time_sec for a, b in pairs)
    primal = all(
        a.primal_bound is None or (b.primal_bound is not None and sign * (b.primal_bound - a.primal_bound) <= 0)
        for a, b in pairs
    )
    dual = all(
        a.dual_bound is None or (b.dual_bound is not None and sign * (b.dual_bound - a.dual_bound) >= 0)
        for a, b in pairs
    )
    ends = trace.bounds.primal_bound == bounds.primal_bound and trace.bounds.dual_bound == bounds.dual_bound
    detail = f"{len(trace)} records, both bounds monotone, last record equal to the result"
    return Check(
        "trace",
        ordered and primal and dual and ends,
        detail if ordered and primal and dual and ends else "not monotone, or ends elsewhere",
    )
