"""A slow second opinion: scores by plain loops over dictionaries, structures by enumeration.

Nothing here uses the package's counting, tables or formulations.
"""

import itertools
import math
from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

Parents = tuple[tuple[int, ...], ...]


def counts(rows: Sequence[Sequence[int]], weights: Sequence[float], nodes: Sequence[int]) -> Counter:
    table: Counter = Counter()
    for row, weight in zip(rows, weights, strict=True):
        table[tuple(row[v] for v in nodes)] += weight
    return table


def log_factor(rows, weights, card, node, parents, row, pseudo=1.0) -> float:
    """log P(node | parents) at `row` (class last), Laplace-smoothed."""
    joint = counts(rows, weights, [*parents, node])
    margin = counts(rows, weights, list(parents))
    key = tuple(row[p] for p in parents)
    return math.log(joint[(*key, row[node])] + pseudo) - math.log(margin[key] + pseudo * card[node])


def log_joint(rows, weights, card, parents: Parents, row) -> float:
    return sum(log_factor(rows, weights, card, v, parents[v], row) for v in range(len(card)))


def soft_margin(rows, weights, card, parents: Parents, gamma: float) -> float:
    total = 0.0
    for row, weight in zip(rows, weights, strict=True):
        own = log_joint(rows, weights, card, parents, row)
        rivals = [log_joint(rows, weights, card, parents, [*row[:-1], c]) for c in range(card[-1]) if c != row[-1]]
        total += weight * min(own - max(rivals), gamma)
    return total


def binary_soft_margin(rows, weights, card, parents: Parents, gamma: float) -> float:
    """Relabel each sample's class against the rest, count again, compare the two."""
    n_classes, c_index = card[-1], len(card) - 1
    total = 0.0
    for row, weight in zip(rows, weights, strict=True):
        relabelled = [[*r[:-1], int(r[-1] != row[-1])] for r in rows]
        margin = 0.0
        for node in range(len(card)):
            values = []
            for label in (0, 1):
                point = [*row[:-1], label]
                joint = counts(relabelled, weights, [*parents[node], node])
                below = counts(relabelled, weights, list(parents[node]))
                key = tuple(point[p] for p in parents[node])
                if node == c_index:
                    pseudo = 1.0 if label == 0 else n_classes - 1.0
                    values.append(math.log(joint[(*key, label)] + pseudo) - math.log(below[key] + n_classes))
                else:
                    values.append(math.log(joint[(*key, point[node])] + 1.0) - math.log(below[key] + card[node]))
            margin += values[0] - values[1]
        total += weight * min(margin, gamma)
    return total


def family_score(rows, weights, card, node, parents, score: str, ess: float = 1.0) -> float:
    joint = counts(rows, weights, [*parents, node])
    below = counts(rows, weights, list(parents))
    configurations = math.prod(card[p] for p in parents)
    if score == "bdeu":
        row_prior, cell_prior = ess / configurations, ess / (configurations * card[node])
        total = sum(math.lgamma(row_prior) - math.lgamma(n + row_prior) for n in below.values())
        return total + sum(math.lgamma(n + cell_prior) - math.lgamma(cell_prior) for n in joint.values())
    likelihood = sum(n * math.log(n / below[key[:-1]]) for key, n in joint.items() if n > 0)
    if score == "loglik":
        return likelihood
    return likelihood - 0.5 * math.log(sum(weights)) * configurations * (card[node] - 1)


def is_acyclic(parents: Parents) -> bool:
    left = set(range(len(parents)))
    while left:
        free = {v for v in left if not left & set(parents[v])}
        if not free:
            return False
        left -= free
    return True


def margin_sets(n_features: int, max_parents: int, usable=None) -> list[list[tuple[int, ...]]]:
    """Parent sets that can move a margin, node by node, class last."""
    pool = list(range(n_features)) if usable is None else usable
    options: list[list[tuple[int, ...]]] = []
    for node in range(n_features):
        others = [j for j in pool if j != node]
        with_class = [(*s, n_features) for k in range(max_parents) for s in itertools.combinations(others, k)]
        options.append([(), *(with_class if node in pool else [])])
    options.append([s for k in range(max_parents + 1) for s in itertools.combinations(pool, k)])
    return options


def all_sets(n_features: int, max_parents: int, usable=None) -> list[list[tuple[int, ...]]]:
    pool = [*(range(n_features) if usable is None else usable), n_features]
    return [
        [
            s
            for k in range(max_parents + 1)
            for s in itertools.combinations([j for j in pool if j != node] if node in pool else [], k)
        ]
        for node in range(n_features + 1)
    ]


def all_dags(options: list[list[tuple[int, ...]]]) -> Iterator[Parents]:
    for parents in itertools.product(*options):
        if is_acyclic(parents):
            yield parents


def best_margin(rows, weights, card, max_parents: int, gamma: float, *, binary: bool = False) -> float:
    """Largest soft margin over all DAGs, from alphas tabulated by the plain loops above."""
    n_features = len(card) - 1
    options = margin_sets(n_features, max_parents)
    alpha: list[dict[tuple[int, ...], np.ndarray]] = []
    for node, sets in enumerate(options):
        alpha.append({s: _alphas(rows, weights, card, node, s, binary=binary) for s in sets})
    best = -math.inf
    weight = np.asarray(weights, dtype=float)
    for parents in all_dags(options):
        margins = sum(alpha[node][s] for node, s in enumerate(parents)).min(axis=1)
        best = max(best, float(weight @ np.minimum(margins, gamma)))
    return best


def _alphas(rows, weights, card, node, parents, *, binary: bool) -> np.ndarray:
    """alpha of one candidate for every sample and rival, shape (samples, rivals)."""
    n_classes, c_index = card[-1], len(card) - 1
    out = []
    for row in rows:
        if binary:
            relabelled = [[*r[:-1], int(r[-1] != row[-1])] for r in rows]
            joint, below = counts(relabelled, weights, [*parents, node]), counts(relabelled, weights, list(parents))
            values = []
            for label in (0, 1):
                point = [*row[:-1], label]
                key = tuple(point[p] for p in parents)
                if node == c_index:
                    pseudo = 1.0 if label == 0 else n_classes - 1.0
                    values.append(math.log(joint[(*key, label)] + pseudo) - math.log(below[key] + n_classes))
                else:
                    values.append(math.log(joint[(*key, point[node])] + 1.0) - math.log(below[key] + card[node]))
            out.append([values[0] - values[1]])
        else:
            own = log_factor(rows, weights, card, node, parents, row)
            rivals = [c for c in range(n_classes) if c != row[-1]]
            out.append([own - log_factor(rows, weights, card, node, parents, [*row[:-1], c]) for c in rivals])
    return np.array(out)


def best_decomposable(rows, weights, card, max_parents: int, score: str, ess: float = 1.0) -> float:
    options = all_sets(len(card) - 1, max_parents)
    local = [
        {s: family_score(rows, weights, card, node, s, score, ess) for s in sets} for node, sets in enumerate(options)
    ]
    return max(sum(local[v][s] for v, s in enumerate(parents)) for parents in all_dags(options))


def random_log_tables(parents, card, seed: int, zeros: float = 0.0) -> tuple[np.ndarray, ...]:
    """Logs of random conditional tables; a share `zeros` of the entries is 0, the largest of a row never."""
    rng = np.random.default_rng(seed)
    tables = []
    for node, ps in enumerate(parents):
        table = rng.dirichlet(np.ones(card[node]), size=math.prod(card[p] for p in ps))
        if zeros:
            keep = rng.random(table.shape) >= zeros
            keep[np.arange(len(table)), table.argmax(axis=1)] = True
            table = np.where(keep, table, 0.0)
            table /= table.sum(axis=1, keepdims=True)
        with np.errstate(divide="ignore"):
            tables.append(np.log(table))
    return tuple(tables)
