"""Chains by enumeration of all labellings: nothing here is shared with the package but what a score is."""

import itertools
import math
import warnings

import numpy as np


def tables_of(w, n_labels, cards):
    """Initial, transition and emission tables of a vector, read off one entry after the other."""
    entries = iter(list(w))
    initial = [next(entries) for _ in range(n_labels)]
    transition = [[next(entries) for _ in range(n_labels)] for _ in range(n_labels)]
    emissions = [[[next(entries) for _ in range(s)] for _ in range(n_labels)] for s in cards]
    assert next(entries, None) is None
    return initial, transition, emissions


def score(w, n_labels, cards, x, y):
    """Sum of the entries that the labels y of the observations x look up; missing cells (-1) look nothing up."""
    initial, transition, emissions = tables_of(w, n_labels, cards)
    total = initial[y[0]]
    for before, after in itertools.pairwise(y):
        total += transition[before][after]
    for cells, label in zip(x, y, strict=True):
        for f, cell in enumerate(cells):
            if cell >= 0:
                total += emissions[f][label][cell]
    return total


def features(n_labels, cards, x, y):
    """How often each entry is looked up: the score's slope by each entry of its own."""
    n = n_labels + n_labels**2 + n_labels * sum(cards)
    return np.array([score(np.eye(n)[j], n_labels, cards, x, y) for j in range(n)])


def labellings(n_labels, length):
    return list(itertools.product(range(n_labels), repeat=length))


def loss(w, n_labels, cards, X, Y, gamma):
    """``sum_i max_y gamma delta(i, y) + score(y) - score(y_i)``."""
    total = 0.0
    for x, y in zip(X, Y, strict=True):
        own = score(w, n_labels, cards, x, y)
        total += max(
            gamma * sum(a != b for a, b in zip(y, z, strict=True)) + score(w, n_labels, cards, x, z) - own
            for z in labellings(n_labels, len(y))
        )
    return total


def posterior(w, n_labels, cards, x):
    """All labellings with their probabilities, and the logarithm of the sum of their weights."""
    ways = labellings(n_labels, len(x))
    scores = [score(w, n_labels, cards, x, y) for y in ways]
    top = max(scores)
    if top == -math.inf:
        return ways, np.zeros(len(ways)), -math.inf
    weights = np.array([math.exp(s - top) for s in scores])
    return ways, weights / weights.sum(), top + math.log(weights.sum())


def rows_of(n_labels, cards):
    """Places of each row's entries in the vector."""
    sizes = [n_labels] * (1 + n_labels) + [s for s in cards for _ in range(n_labels)]
    ends = np.cumsum(sizes)
    return [list(range(end - size, end)) for size, end in zip(sizes, ends, strict=True)]


def optimum(n_labels, cards, X, Y, *, gamma=None, B=None, linear=None, min_prob=None, C=None):
    """The optimum over all labellings by cvxpy: published (no min_prob), with a floor, or of a Markov network (C)."""
    import cvxpy as cp

    n = n_labels + n_labels**2 + n_labels * sum(cards)
    w, slack = cp.Variable(n), cp.Variable(len(X))
    margin = cp.Variable() if B is not None else (1.0 if C is not None else gamma)
    constraints = []
    for i, (x, y) in enumerate(zip(X, Y, strict=True)):
        own = features(n_labels, cards, x, y)
        for z in labellings(n_labels, len(y)):
            wrong = sum(a != b for a, b in zip(y, z, strict=True))
            constraints.append(slack[i] >= wrong * margin - (own - features(n_labels, cards, x, z)) @ w)
    losses = cp.sum(slack) - (0 if linear is None else linear @ w)
    if C is not None:
        objective = 0.5 * cp.sum_squares(w) + C * losses
    else:
        constraints += [cp.sum(cp.exp(w[row])) <= 1 for row in rows_of(n_labels, cards)]
        if min_prob is not None:
            constraints.append(w >= math.log(min_prob))
        objective = losses if B is None else 0.5 * cp.power(margin, -2) + B * losses
    problem = cp.Problem(cp.Minimize(objective), constraints)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of an answer a little short of ten digits
        problem.solve(solver="CLARABEL", tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
    return float(problem.value)
