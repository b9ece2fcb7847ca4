"""Random small problems and their optima over all networks of the class as its definition says, by plain counting.

Nothing of the package is used but the names under which a problem is handed to it: every DAG over the nodes is listed,
those with too many parents, without a required or with a forbidden edge are dropped, and the rest is scored.
"""

import itertools
import math
from dataclasses import dataclass, field
from functools import cache

import numpy as np

Parents = tuple[tuple[int, ...], ...]

MARGINS = ("sm", "sbm")
SCORES = (*MARGINS, "bic", "mdl", "bdeu", "loglik")


@cache
def all_dags(n_nodes: int) -> tuple[Parents, ...]:
    """Every DAG over labelled nodes: 1, 3, 25, 543, 29,281 for one to five nodes."""
    subsets = [
        [s for k in range(n_nodes) for s in itertools.combinations([j for j in range(n_nodes) if j != v], k)]
        for v in range(n_nodes)
    ]
    found: set[Parents] = set()
    for order in itertools.permutations(range(n_nodes)):
        place = {v: k for k, v in enumerate(order)}
        options = [[s for s in subsets[v] if all(place[p] < place[v] for p in s)] for v in range(n_nodes)]
        found.update(itertools.product(*options))
    return tuple(sorted(found))


@dataclass(frozen=True)
class Problem:
    """A score on a small table; the class is the last column. Nodes are named x0, x1, ... and class."""

    rows: tuple[tuple[int, ...], ...]
    card: tuple[int, ...]
    weights: tuple[float, ...]
    score: str
    max_parents: int
    gamma: float = 1.0
    pseudo: float = 1.0
    prior_ess: float | None = None
    ess: float = 1.0
    required: tuple[tuple[int, int], ...] = ()
    forbidden: tuple[tuple[int, int], ...] = ()
    _families: dict = field(default_factory=dict, compare=False, repr=False)

    def members(self) -> list[Parents]:
        """Networks of the class."""
        return [dag for dag in all_dags(len(self.card)) if self.holds(dag)]

    def holds(self, parents: Parents) -> bool:
        if any(len(s) > self.max_parents for s in parents):
            return False
        if any(a not in parents[b] for a, b in self.required):
            return False
        return not any(a in parents[b] for a, b in self.forbidden)

    def optimum(self) -> float:
        return max(self.values(self.members()))

    def values(self, dags: list[Parents]) -> np.ndarray:
        """Scores of some networks."""
        total = self.totals(dags)
        if self.score not in MARGINS:
            return np.asarray(total)
        return np.minimum(total.min(axis=2), self.gamma) @ np.array(self.weights)

    def totals(self, dags: list[Parents]) -> np.ndarray:
        """Sums of local scores, or of each row's margin to each rival, shape (n_dags, n_rows, n_rivals)."""
        total: np.ndarray | float = 0.0
        for node in range(len(self.card)):
            sets = sorted({dag[node] for dag in dags})
            table = np.array([self.family(node, s) for s in sets])
            place = {s: k for k, s in enumerate(sets)}
            total = total + table[[place[dag[node]] for dag in dags]]
        return np.asarray(total)

    def family(self, node: int, parents: tuple[int, ...]):
        """Local score of a family, or its part of every sample's margin to every rival."""
        key = (node, parents)
        if key not in self._families:
            make = {"sm": self._soft, "sbm": self._binary}.get(self.score, self._local)
            self._families[key] = make(node, parents)
        return self._families[key]

    def _counts(self, nodes, labels=None):
        table: dict[tuple[int, ...], float] = {}
        for m, (row, weight) in enumerate(zip(self.rows, self.weights, strict=True)):
            point = row if labels is None else (*row[:-1], labels[m])
            key = tuple(point[v] for v in nodes)
            table[key] = table.get(key, 0.0) + weight
        return table

    def _soft(self, node, parents):
        joint, below = self._counts((*parents, node)), self._counts(parents)
        cells = math.prod(self.card[p] for p in parents) * self.card[node]
        pseudo = self.pseudo if self.prior_ess is None else self.prior_ess / cells

        def log_entry(point):
            key = tuple(point[p] for p in parents)
            cell = joint.get((*key, point[node]), 0.0) + pseudo
            return math.log(cell) - math.log(below.get(key, 0.0) + pseudo * self.card[node])

        c = len(self.card) - 1
        return [
            [log_entry(row) - log_entry((*row[:-1], k)) for k in range(self.card[c]) if k != row[c]]
            for row in self.rows
        ]

    def _binary(self, node, parents):
        c, found = len(self.card) - 1, []
        for row in self.rows:
            labels = [int(other[c] != row[c]) for other in self.rows]
            joint, below = self._counts((*parents, node), labels), self._counts(parents, labels)
            entries = []
            for label in (0, 1):
                point = (*row[:c], label)
                key = tuple(point[p] for p in parents)
                if node == c:  # the merged class has the pseudo-counts of all that it merges
                    pseudo = self.pseudo if label == 0 else self.pseudo * (self.card[c] - 1)
                    least = self.pseudo * self.card[c]
                else:
                    pseudo, least = self.pseudo, self.pseudo * self.card[node]
                cell = joint.get((*key, point[node]), 0.0) + pseudo
                entries.append(math.log(cell) - math.log(below.get(key, 0.0) + least))
            found.append([entries[0] - entries[1]])
        return found

    def _local(self, node, parents):
        joint, below = self._counts((*parents, node)), self._counts(parents)
        configurations = math.prod(self.card[p] for p in parents)
        if self.score == "bdeu":
            row, cell = self.ess / configurations, self.ess / (configurations * self.card[node])
            total = sum(math.lgamma(row) - math.lgamma(n + row) for n in below.values())
            return total + sum(math.lgamma(n + cell) - math.lgamma(cell) for n in joint.values())
        likelihood = sum(n * math.log(n / below[key[:-1]]) for key, n in joint.items() if n > 0)
        if self.score == "loglik":
            return likelihood
        free = configurations * (self.card[node] - 1)
        return likelihood - 0.5 * math.log(sum(self.weights)) * free


def random_problem(seed: int, score: str) -> Problem:
    """A problem with what has misled learners: odd columns and weights, required and forbidden edges, ties, zeros."""
    rng = np.random.default_rng(seed)
    n_features = int(rng.choice([1, 2, 3, 4], p=[0.1, 0.35, 0.4, 0.15]))
    card = [int(rng.integers(2, 4)) for _ in range(n_features)] + [int(rng.integers(2, 5 if score == "sbm" else 4))]
    n_rows = int(rng.integers(3, 13))
    table = np.column_stack([rng.integers(0, r, n_rows) for r in card])
    for j in range(n_features):
        kind = rng.choice(
            ["plain", "constant", "one state", "unused", "copy", "class"], p=[0.6, 0.1, 0.08, 0.08, 0.07, 0.07]
        )
        if kind in ("constant", "one state"):
            table[:, j] = 0
            card[j] = 1 if kind == "one state" else card[j]
        elif kind == "unused":
            card[j] += 1
        elif kind == "copy" and j:
            table[:, j], card[j] = table[:, j - 1], card[j - 1]
        elif kind == "class":
            table[:, j], card[j] = table[:, -1], card[-1]
    if rng.random() < 0.12:  # every row with every class: no feature tells anything, and the best margin sum is 0
        table = np.array([[*row[:-1], k] for row in table[: max(1, n_rows // card[-1])] for k in range(card[-1])])
    table[0, -1], table[1, -1] = 0, 1
    if rng.random() < 0.4:
        table = np.concatenate([table, table[rng.integers(0, len(table), 3)]])
    weights = np.ones(len(table))
    if rng.random() < 0.4:
        weights = rng.choice([0.25, 0.5, 1.0, 2.0, 3.7], len(table))
    nodes = n_features + 1
    pairs = list(itertools.permutations(range(nodes), 2))
    required: tuple[tuple[int, int], ...] = ()
    forbidden: tuple[tuple[int, int], ...] = ()
    if rng.random() < 0.5 and nodes > 1:
        drawn = [pairs[k] for k in rng.permutation(len(pairs))[:3]]
        n_required = int(rng.integers(0, 3))
        required, forbidden = tuple(sorted(drawn[:n_required])), tuple(sorted(drawn[n_required:]))
    problem = Problem(
        rows=tuple(tuple(int(v) for v in row) for row in table),
        card=tuple(card),
        weights=tuple(float(w) for w in weights),
        score=score,
        max_parents=int(rng.integers(1, 4)),
        gamma=float(rng.choice([0.405, 1.0, 2.197, 6.907])),
        pseudo=float(rng.choice([0.5, 1.0, 3.0])),
        prior_ess=float(rng.choice([0.5, 4.0])) if score == "sm" and rng.random() < 0.25 else None,
        ess=float(rng.choice([0.5, 1.0, 10.0])),
        required=required,
        forbidden=forbidden,
    )
    return problem if problem.members() else random_problem(seed + 1_000_003, score)
