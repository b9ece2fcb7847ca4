"""Random side constraints, each with what it means said in plain Python over the parents of a network.

Nothing of how the package writes constraints down is used: only the names under which they are handed to it.
"""

import itertools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from enumeration import Parents, Problem

import mmbn_opt as mm

KINDS = (
    "edges", "parameters", "features", "budget", "all or none", "one of", "one of edges", "in", "out", "out at least",
    "in at least", "tiers", "above", "not above", "edge row", "edge row from below", "set row", "function row",
)  # fmt: skip


class Meant(NamedTuple):
    """A constraint and what it means."""

    constraint: Any
    holds: Callable[[Parents], bool]


def blanket(parents: Parents) -> set[int]:
    """Features whose value the posterior of the class depends on."""
    c = len(parents) - 1
    children = [v for v in range(c) if c in parents[v]]
    return ({*parents[c], *children} | {p for v in children for p in parents[v]}) - {c}


def is_above(parents: Parents, top: int, low: int) -> bool:
    """By walking down every path."""
    children = [v for v in range(len(parents)) if top in parents[v]]
    return any(v == low or is_above(parents, v, low) for v in children)


def edges(parents: Parents) -> list[tuple[int, int]]:
    return [(p, v) for v, ps in enumerate(parents) for p in ps]


def random_meant(rng: np.random.Generator, problem: Problem, kind: str) -> Meant:
    """A constraint of a kind that some networks keep and some do not, more often than not."""
    card, nodes = problem.card, len(problem.card)
    names = [*(f"x{j}" for j in range(nodes - 1)), "class"]
    a, b = (int(v) for v in rng.permutation(nodes)[:2])
    some = [int(v) for v in rng.permutation(nodes - 1)[: int(rng.integers(2, 4))]]
    pairs = [(int(p), int(v)) for p, v in rng.permutation(list(itertools.permutations(range(nodes), 2)))]
    named = [(names[p], names[v]) for p, v in pairs]
    limit = int(rng.integers(0, 4))
    if len(some) < 2 and kind in ("all or none", "one of"):
        kind = "features"
    if kind == "edges":
        return Meant(mm.MaxEdges(limit), lambda ps: len(edges(ps)) <= limit)
    if kind == "parameters":
        most = int(rng.integers(2, 20))

        def free(ps: Parents) -> int:
            return sum((card[v] - 1) * math.prod(card[p] for p in ps[v]) for v in range(nodes))

        return Meant(mm.MaxParameters(most), lambda ps: free(ps) <= most)
    if kind == "features":
        return Meant(mm.MaxFeatures(limit), lambda ps: len(blanket(ps)) <= limit)
    if kind == "budget":
        costs = {names[v]: float(rng.choice([0.0, 0.1, 0.5, 1.0, 7.0])) for v in some}
        money = float(rng.choice([0.0, 0.3, 0.6, 1.0, 1.5, 7.1]))
        return Meant(
            mm.FeatureBudget(costs, money),
            lambda ps: sum(costs.get(names[v], 0.0) for v in blanket(ps)) <= money + 1e-9,
        )
    if kind == "all or none":
        return Meant(mm.AllOrNone([names[v] for v in some]), lambda ps: len(blanket(ps) & set(some)) in (0, len(some)))
    if kind == "one of":
        return Meant(mm.AtMostOne([names[v] for v in some]), lambda ps: len(blanket(ps) & set(some)) <= 1)
    if kind == "one of edges":
        return Meant(mm.AtMostOne(named[:3]), lambda ps: len(set(edges(ps)) & set(pairs[:3])) <= 1)
    if kind == "in":
        most = min(limit, 1)
        return Meant(mm.DegreeLimit(max_in=most), lambda ps: all(len(s) <= most for s in ps))
    if kind == "out":
        return Meant(mm.DegreeLimit(names[a], max_out=limit), lambda ps: sum(a in s for s in ps) <= limit)
    if kind == "out at least":
        return Meant(mm.DegreeLimit(names[a], min_out=1), lambda ps: any(a in s for s in ps))
    if kind == "in at least":
        return Meant(mm.DegreeLimit([names[a]], min_in=1), lambda ps: len(ps[a]) >= 1)
    if kind == "tiers":
        tier = {int(v): int(rng.integers(0, 2)) for v in rng.permutation(nodes)[: int(rng.integers(2, nodes + 1))]}
        tiers = [[names[v] for v in tier if tier[v] == k] for k in (0, 1)]

        def ordered(ps: Parents) -> bool:
            return all(not (p in tier and v in tier and tier[p] > tier[v]) for p, v in edges(ps))

        return Meant(mm.Tiers(tiers), ordered)
    if kind == "above":
        return Meant(mm.Ancestor(names[a], names[b]), lambda ps: is_above(ps, a, b))
    if kind == "not above":
        return Meant(mm.NotAncestor(names[a], names[b]), lambda ps: not is_above(ps, a, b))
    weights = {pair: float(rng.choice([0.25, 0.5, 1.0, 2.0])) for pair in pairs[: int(rng.integers(1, 6))]}
    by_name = {(names[p], names[v]): w for (p, v), w in weights.items()}
    if kind == "edge row":
        upper = float(rng.choice([0.25, 0.75, 1.0, 2.5]))
        return Meant(
            mm.LinearRow(by_name, upper=upper), lambda ps: sum(weights.get(e, 0.0) for e in edges(ps)) <= upper
        )
    if kind == "edge row from below":
        lower = float(rng.choice([0.25, 0.5, 1.0]))
        return Meant(
            mm.LinearRow(by_name, lower=lower), lambda ps: sum(weights.get(e, 0.0) for e in edges(ps)) >= lower
        )
    if kind == "set row":
        sets = {(a, (b,)): 1.0, (b, ()): 0.5, **{(v, ()): 0.25 for v in some}}
        terms = {(names[v], tuple(names[p] for p in ps)): w for (v, ps), w in sets.items()}
        upper = float(rng.choice([0.5, 0.75, 1.0]))
        return Meant(
            mm.LinearRow(terms, upper=upper, lower=0.25),
            lambda ps: 0.25 <= sum(sets.get((v, s), 0.0) for v, s in enumerate(ps)) <= upper,
        )
    assert kind == "function row"
    low, high = int(rng.integers(0, 2)), int(rng.integers(1, 6))
    return Meant(
        mm.LinearRow(lambda node, ps: float(len(ps) ** 2), lower=low, upper=high),
        lambda ps: low <= sum(len(s) ** 2 for s in ps) <= high,
    )
