"""Options of ``structure`` that limit a structure or put a price on its size, and what they stand for."""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from mmbn_opt.cli.options import num, text, whole
from mmbn_opt.exceptions import InputError

__all__ = [
    "Above",
    "AllOrNone",
    "AtMostOne",
    "Budget",
    "EdgePenalty",
    "FeatureCosts",
    "Likelihood",
    "MaxEdges",
    "MaxFeatures",
    "MaxParameters",
    "NotAbove",
    "ParameterPenalty",
    "SideOptions",
    "Tiers",
    "terms",
]

LIMITS = "Limits"

OBJECTIVE = "Objective"

EdgePenalty = Annotated[float | None, num("--edge-penalty", panel=OBJECTIVE, help="Each edge costs so much score.")]
ParameterPenalty = Annotated[
    float | None,
    num("--parameter-penalty", panel=OBJECTIVE, help="Each free parameter of the tables costs so much score."),
]
Likelihood = Annotated[
    float | None,
    num("--likelihood", panel=OBJECTIVE, help="Add the log-likelihood of the table to the score, times this."),
]

MaxEdges = Annotated[int | None, whole("--max-edges", panel=LIMITS, help="At most N edges.")]
MaxFeatures = Annotated[
    int | None,
    whole("--max-features", panel=LIMITS, help="Use at most N features (those in the Markov blanket of the class)."),
]
MaxParameters = Annotated[
    int | None, whole("--max-parameters", panel=LIMITS, help="At most N free parameters in all tables together.")
]
FeatureCosts = Annotated[
    Path | None,
    text(
        "--feature-costs", panel=LIMITS, metavar="FILE",
        help="What each feature costs: a table of two columns, the feature and its cost (others are free).",
    ),
]  # fmt: skip
Budget = Annotated[
    float | None, num("--budget", panel=LIMITS, help="What the features that are used may cost together.")
]
Tiers = Annotated[
    str,
    text(
        "--tiers", panel=LIMITS, metavar="TIERS",
        help='No edge from a later tier to an earlier one: "age,sex < bp < class" (quote it).',
    ),
]  # fmt: skip
Above = Annotated[
    list[str] | None,
    text(
        "--above", panel=LIMITS, metavar="PAIR",
        help='"first>second": a path leads from the first to the second; can be given again.',
    ),
]  # fmt: skip
NotAbove = Annotated[
    list[str] | None,
    text(
        "--not-above", panel=LIMITS, metavar="PAIR",
        help='"first>second": no path leads from the first to the second; can be given again.',
    ),
]  # fmt: skip
AllOrNone = Annotated[
    list[str] | None,
    text(
        "--all-or-none", panel=LIMITS, metavar="FEATURES",
        help="Use all of these features, between commas, or none; can be given again.",
    ),
]  # fmt: skip
AtMostOne = Annotated[
    list[str] | None,
    text(
        "--at-most-one", panel=LIMITS, metavar="FEATURES",
        help="Use at most one of these features, between commas; can be given again.",
    ),
]  # fmt: skip


@dataclass(frozen=True)
class SideOptions:
    """What was given of these options."""

    max_edges: int | None
    max_features: int | None
    max_parameters: int | None
    feature_costs: Path | None
    budget: float | None
    tiers: str
    above: list[str] | None
    not_above: list[str] | None
    all_or_none: list[str] | None
    at_most_one: list[str] | None

    def constraints(self) -> tuple[Any, ...]:
        """The constraints that they stand for; only the file of costs is read.

        Raises
        ------
        InputError
        """
        from mmbn_opt.cli.problems import edges
        from mmbn_opt.cli.tables import names_in
        from mmbn_opt.networks import feature_constraints as features
        from mmbn_opt.networks import order_constraints as order
        from mmbn_opt.networks.constraints import MaxEdges, MaxParameters

        found: list[Any] = []
        if self.max_edges is not None:
            found.append(MaxEdges(_least("--max-edges", self.max_edges)))
        if self.max_features is not None:
            found.append(features.MaxFeatures(_least("--max-features", self.max_features)))
        if self.max_parameters is not None:
            found.append(MaxParameters(_least("--max-parameters", self.max_parameters)))
        if (self.feature_costs is None) != (self.budget is None):
            given, missing = ("--feature-costs", "--budget") if self.budget is None else ("--budget", "--feature-costs")
            raise InputError(f"{given} needs {missing}: what each feature costs, and what they may cost together.")
        if self.feature_costs is not None and self.budget is not None:
            found.append(features.FeatureBudget(costs_in(self.feature_costs), self.budget))
        if self.tiers:
            found.append(order.Tiers([names_in(tier) for tier in self.tiers.split("<")]))
        found += [order.Ancestor(*pair) for pair in edges("--above", self.above)]
        found += [order.NotAncestor(*pair) for pair in edges("--not-above", self.not_above)]
        found += [features.AllOrNone(names_in(group)) for group in self.all_or_none or ()]
        found += [features.AtMostOne(names_in(group)) for group in self.at_most_one or ()]
        return tuple(found)


def terms(edge: float | None, parameter: float | None, likelihood: float | None) -> tuple[Any, ...]:
    """What is added to the score.

    Raises
    ------
    InputError
    """
    from mmbn_opt.formulations.structure.objective_terms import EdgePenalty, ParameterPenalty, ScoreTerm

    given = {"--edge-penalty": edge, "--parameter-penalty": parameter, "--likelihood": likelihood}
    for option, value in given.items():
        if value is not None and not 0 <= value < math.inf:
            raise InputError(f"{option} must be a finite number >= 0, got {value:g}.")
    made = (
        None if edge is None else EdgePenalty(edge),
        None if parameter is None else ParameterPenalty(parameter),
        None if likelihood is None else ScoreTerm("loglik", likelihood),
    )
    return tuple(term for term in made if term is not None)


def _least(option: str, value: int) -> int:
    if value < 0:
        raise InputError(f"{option} must be a whole number >= 0, got {value}.")
    return value


def costs_in(path: Path) -> dict[str, float]:
    """Features and their costs, from a table of two columns with a header.

    Raises
    ------
    InputError
        Naming the row and what is wrong with it.
    """
    from mmbn_opt.data.readers import read_table

    frame = read_table(path)
    if frame.shape[1] != 2:
        raise InputError(
            f"--feature-costs needs a table of two columns, the feature and its cost; {str(path)!r} has "
            f"{frame.shape[1]}: {list(map(str, frame.columns))}."
        )
    costs: dict[str, float] = {}
    for number, (name, cost) in enumerate(frame.itertuples(index=False), 2):
        if str(name) in costs:
            raise InputError(f"Line {number} of {str(path)!r} gives {str(name)!r} a second cost; leave one of the two.")
        try:
            costs[str(name)] = float(cost)
        except (TypeError, ValueError):
            raise InputError(
                f"Line {number} of {str(path)!r} gives {str(name)!r} the cost {cost!r}, which is no number."
            ) from None
    return costs
