"""Side constraints as a tree file declares them, so that a stranger can check for himself what was kept."""

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from mmbn_opt.formulations.structure.parent_sets import ParentSetFormulation
from mmbn_opt.networks.constraint_form import ConstraintForm, Item, RowPart
from mmbn_opt.networks.constraints import DegreeLimit, MaxEdges, MaxParameters, StructureConstraint
from mmbn_opt.networks.feature_constraints import AllOrNone, AtMostOne, FeatureBudget, MaxFeatures
from mmbn_opt.networks.linear_row import LinearRow
from mmbn_opt.networks.order_constraints import Ancestor, NotAncestor, Tiers

__all__ = ["limits_told"]

Told = dict[str, Any]


def limits_told(formulation: ParentSetFormulation) -> list[Told] | None:
    """What the constraints of a formulation say, as docs/tree-file.md has it; None where that cannot be said of all.

    That is so for a constraint of somebody's own that forbids parent sets: which it would forbid that are no candidates
    only its author knows.
    """
    found: list[Told] = []
    for constraint in getattr(formulation, "constraints", ()):
        told = _named(constraint)
        parts = [told] if told is not None else _parts(constraint, formulation)
        if parts is None:
            return None
        found += parts
    return found


def _named(constraint: StructureConstraint) -> Told | None:
    """One of those that the format has a name for; exactly of these kinds, since a subclass may say anything."""
    kind = type(constraint)
    if isinstance(constraint, (MaxEdges, MaxParameters, MaxFeatures)):
        names = {MaxEdges: "edges", MaxParameters: "parameters", MaxFeatures: "features"}
        return {"kind": names[kind], "most": constraint.most} if kind in names else None
    if kind is FeatureBudget and isinstance(constraint, FeatureBudget):
        return {"kind": "weights", "of": [list(pair) for pair in constraint.costs.items()], "most": constraint.budget}
    if kind in (AllOrNone, AtMostOne) and isinstance(constraint, (AllOrNone, AtMostOne)):
        members = [member if isinstance(member, str) else list(member) for member in constraint.members]
        return {"kind": "all or none" if kind is AllOrNone else "at most one", "of": members}
    if kind is DegreeLimit and isinstance(constraint, DegreeLimit):
        nodes = None if constraint.nodes is None else list(constraint.nodes)
        limits = {name: getattr(constraint, name) for name in ("max_in", "max_out", "min_in", "min_out")}
        return {"kind": "degrees", "nodes": nodes, **{name: n for name, n in limits.items() if n is not None}}
    if kind is Tiers and isinstance(constraint, Tiers):
        return {"kind": "tiers", "of": [list(tier) for tier in constraint.tiers]}
    if kind in (Ancestor, NotAncestor) and isinstance(constraint, (Ancestor, NotAncestor)):
        words = "ancestor" if kind is Ancestor else "no ancestor"
        return {"kind": words, "above": constraint.above, "below": constraint.below}
    if kind is LinearRow and isinstance(constraint, LinearRow) and isinstance(constraint.terms, Mapping):
        terms = [[a, b if isinstance(b, str) else list(b), float(w)] for (a, b), w in constraint.terms.items()]
        lower, upper = constraint.lower, constraint.upper
        return _sum(terms, -math.inf if lower is None else lower, math.inf if upper is None else upper)
    return None


def _parts(constraint: StructureConstraint, formulation: ParentSetFormulation) -> list[Told] | None:
    """Another one by the parts that it writes itself down in."""
    form = ConstraintForm(formulation.model_nodes)
    constraint.write(form)
    if form.forbidden:
        return None
    names = form.nodes.names
    return [
        *(_sum(_terms(part, formulation), part.lower, part.upper) for part in form.rows),
        *(
            {"kind": "weights", "of": [[_member(item, names), w] for item, w in cap.weights.items()], "most": cap.upper}
            for cap in form.caps
        ),
        *({"kind": "all or none", "of": [_member(item, names) for item in group]} for group in form.together),
        *({"kind": "ancestor", "above": names[a], "below": names[b]} for a, b in form.above),
        *({"kind": "no ancestor", "above": names[a], "below": names[b]} for a, b in form.apart),
    ]


def _sum(terms: list[list[Any]], lower: float, upper: float) -> Told:
    sides = {"least": lower, "most": upper}
    return {"kind": "sum", "of": terms, **{name: side for name, side in sides.items() if math.isfinite(side)}}


def _terms(part: RowPart, formulation: ParentSetFormulation) -> list[list[Any]]:
    """Coefficients by edges, or by the candidates, that are not 0."""
    names, weights = formulation.node_names, part.coefficient
    if isinstance(weights, np.ndarray):
        return [[names[p], names[v], float(weights[v, p])] for v, p in np.argwhere(weights).tolist()]
    columns: Iterable[tuple[int, tuple[int, ...]]] = formulation.candidates.columns
    found = ((v, parents, float(weights(v, parents))) for v, parents in columns)
    return [[names[v], [names[p] for p in parents], weight] for v, parents, weight in found if weight]


def _member(item: Item, names: tuple[str, ...]) -> str | list[str]:
    return names[item.node] if item.parent < 0 else [names[item.parent], names[item.node]]
