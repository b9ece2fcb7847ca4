"""What a proof is about: the samples, the score, the class of structures, and the candidates that stand for it."""

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np

from mmbn_opt.exceptions import FormatError, InputError
from mmbn_opt.rigour.enclosed import SAFE, Enclosed, Floats, log, log_rising, n_log_n
from mmbn_opt.rigour.samples import Parents, Samples
from mmbn_opt.verification.limits import Limits

__all__ = ["Problem"]


class Problem:
    """The problem as the header of a tree file states it; nodes are the features in order and the class last."""

    def __init__(self, header: dict[str, Any]) -> None:
        said = header["problem"]
        for name, plain in (("terms", []), ("margin_weight", 1)):
            if said.get(name, plain) != plain:
                raise InputError(f"Scores with {name.replace('_', ' ')} of their own are not verified.")
        if isinstance(said.get("gamma"), dict):
            raise InputError("Margins with a gamma of each class or row are not verified.")
        self.score, self.gamma = said["score"], float(Fraction(said.get("gamma", 0)))  # finite
        if self.score not in ("sm", "sbm", "loglik", "bic", "mdl", "bdeu"):
            raise InputError(f"Score {self.score!r}, which is not from a table, is not verified.")
        if header["side"] is not None and not said.get("limits"):
            raise InputError(
                "These side constraints are not verified: the tree file does not declare them. It is one of an earlier "
                f"version, or has one of somebody's own that forbids parent sets: {said.get('constraints')}."
            )
        self.by_margin = self.score in ("sm", "sbm")
        ((prior, amount),) = said["smoothing"].items()
        self.dirichlet, self._amount, self._ess = prior == "dirichlet", Fraction(amount), Fraction(said.get("ess", 1))
        self._max_parents, self._pools = said["max_parents"], said["restriction"]
        self._with_class = said.get("parent_sets") == "margin"
        self.names = [node["name"] for node in header["nodes"]]
        self.c = len(self.names) - 1
        self.limits = Limits(said.get("limits") or [], self.names, [len(node["states"]) for node in header["nodes"]])
        self.side_said = header["side"]
        self._must, self._never = (
            [{self.names.index(a) for a, b in said[key] if b == name} for name in self.names]
            for key in ("required_edges", "forbidden_edges")
        )
        self.columns = [(node, tuple(p)) for node, sets in enumerate(header["candidates"]) for p in sets]
        for node, parents in self.columns:
            if (
                list(parents) != sorted({*parents} & {*range(self.c + 1)} - {node})
                or self.names.count(self.names[node]) > 1
            ):
                raise FormatError(f"The tree file has a node twice, or a candidate that is none: {parents} of {node}.")

    def sets_of(self, node: int) -> Iterator[frozenset[int]]:
        """All parent sets that the class of structures allows a node."""
        must, pool = self._must[node], range(self.c) if self._pools is None else self._pools[node]
        free = sorted({*pool, self.c} - must - self._never[node] - {node})
        for size in range(self._max_parents - len(must) + 1):
            for some in combinations(free, size):
                found = frozenset(must.union(some))
                if self._with_class and node != self.c and found and self.c not in found:
                    continue
                if not self.limits.forbids(node, found):
                    yield found

    def uncovered(self, samples: Samples, cost: Enclosed) -> float:
        """By how much the best structure of the class may be better than the best of candidates; an error if unknown.

        A set of the class that is no candidate needs one among its subsets, which closes no more cycles: with the same
        margins, or with a score that is no less but for what is added here. Where fewer edges may break a side
        constraint, all sets have to be candidates.
        """
        flat = {v for v, size in enumerate(samples.cards) if size == 1}

        def part(node: int, parents: frozenset[int]) -> frozenset[int]:
            """Parents that move a margin."""
            idle = node in flat or (node != self.c and self.c not in parents)
            return frozenset() if idle else parents - flat

        excess = np.zeros(len(self.names))
        for node, name in enumerate(self.names):
            options = {frozenset(parents): k for k, (own, parents) in enumerate(self.columns) if own == node}
            for wanted in self.sets_of(node):
                inside = [
                    s
                    for s in options
                    if s == wanted or (self.limits.closed and s < wanted)
                    if not self.by_margin or part(node, s) == part(node, wanted)
                ]
                if not inside:
                    told = [self.names[v] for v in sorted(wanted)]
                    raise FormatError(f"No candidate of the tree file stands for {name!r} with the parents {told}.")
                if not self.by_margin and wanted not in options:
                    others = [options[s] for s in inside]
                    found = self.local_score(samples, node, tuple(sorted(wanted)))
                    gain = found.minus(Enclosed(-cost.value[others], cost.error[others]))
                    excess[node] = max(excess[node], (gain.value + gain.error).min())
        return SAFE * float(excess.sum())

    def family(self, samples: Samples, node: int, parents: Parents) -> Enclosed:
        """Table of a candidate over the states of what it looks at, in rows, and the classes.

        For "sm" logarithms of probabilities, and for "sbm" what they are above those of all other classes merged.
        """
        others, axis = tuple(v for v in parents if v != self.c), -1 if node == self.c else -2
        counts = samples.counts((*others, self.c) if node == self.c else (*others, node, self.c))
        states, n_rest = samples.cards[node], samples.cards[self.c] - 1
        extra = self._amount / counts.size if self.dirichlet else self._amount

        def share(part: Floats, of: Floats, extra: Fraction, cells: int = 1) -> Enclosed:
            return log(part, extra * cells).minus(log(of.sum(axis=axis, keepdims=True), extra * states))

        found, rest = share(counts, counts, extra), counts.sum(axis=-1, keepdims=True) - counts
        if self.score == "sbm" and node == self.c:
            found = found.minus(share(rest, counts, extra, n_rest))
        elif self.score == "sbm":
            found = found.minus(share(rest, rest, extra * (n_rest if self.dirichlet else 1)))
        return Enclosed(*(part.reshape(-1, samples.cards[self.c]) for part in found))

    def local_score(self, samples: Samples, node: int, parents: Parents) -> Enclosed:
        """What a candidate adds to a decomposable score."""
        counts = samples.counts((*parents, node)).reshape(-1, samples.cards[node])
        rows = counts.sum(axis=1)
        if self.score == "bdeu":
            cells = log_rising(counts, self._ess / counts.size).total()
            return cells.minus(log_rising(rows, self._ess / len(rows)).total())
        found = n_log_n(counts).total().minus(n_log_n(rows).total())
        size = log(samples.weight.sum(keepdims=True), Fraction(0)).total()
        free = 0.5 * len(rows) * (samples.cards[node] - 1)
        return found.minus(size.times(free * (self.score != "loglik")))
