"""Every bound on a rounding error is held against exact arithmetic."""

import math
from decimal import Context, Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_proofs import SmallProblem

from mmbn_opt.rigour.enclosed import Enclosed, gamma, log, log_rising, n_log_n
from mmbn_opt.rigour.samples import Samples
from mmbn_opt.verification.bounds import Bounds
from mmbn_opt.verification.margins import Margins
from mmbn_opt.verification.problem import Problem
from mmbn_opt.verification.tree_file import Evidence

DIGITS = Context(prec=60)
NUMBERS = st.floats(-1e6, 1e6, allow_subnormal=False)


def ln(number):
    return DIGITS.ln(DIGITS.divide(Decimal(number.numerator), Decimal(number.denominator)))


def distance(value, exact):
    return DIGITS.abs(DIGITS.subtract(Decimal(float(value)), exact))


@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=20), st.fractions(Fraction(1, 1000), 1000))
def test_logarithms_of_counts_are_enclosed(counts, extra):
    found = log(np.array(counts, dtype=np.float64), extra)
    for n, value, error in zip(counts, *found, strict=True):
        assert distance(value, ln(Fraction(n) + extra)) <= Decimal(float(error))
        assert error <= 4e-15


@given(st.lists(st.integers(0, 10**5), min_size=1, max_size=20))
def test_n_log_n_is_enclosed(counts):
    found = n_log_n(np.array(counts, dtype=np.float64))
    for n, value, error in zip(counts, *found, strict=True):
        exact = Decimal(n) * ln(Fraction(n)) if n else Decimal(0)
        assert distance(value, exact) <= Decimal(float(error))
        assert error <= 1e-15 * max(1.0, n * math.log(max(n, 2)))


@settings(max_examples=20)
@given(st.lists(st.integers(0, 60), min_size=1, max_size=6), st.fractions(Fraction(1, 100), 50))
def test_rising_products_are_enclosed(counts, start):
    found = log_rising(np.array(counts, dtype=np.float64), start)
    for n, value, error in zip(counts, *found, strict=True):
        product = math.prod((start + k for k in range(n)), start=Fraction(1))
        assert distance(value, ln(product)) <= Decimal(float(error))
        assert value == pytest.approx(math.lgamma(start + n) - math.lgamma(start), abs=1e-9)


@given(st.lists(st.tuples(NUMBERS, NUMBERS), min_size=1, max_size=30), NUMBERS)
def test_differences_products_and_sums_are_enclosed(pairs, factor):
    a, b = (np.array(column) for column in zip(*pairs, strict=True))
    zero = np.zeros(len(a))
    found = Enclosed(a, zero).minus(Enclosed(b, zero)).times(factor).total()
    exact = sum((Fraction(x) - Fraction(y)) * Fraction(factor) for x, y in pairs)
    assert abs(Fraction(float(found.value)) - exact) <= Fraction(float(found.error))
    size = sum(abs(x - y) * abs(factor) for x, y in pairs)
    assert found.error <= (gamma(len(pairs)) + 1e-15) * size * 1.001 + 1e-298


class _Free:
    """A problem without rows of samples: columns of three nodes."""

    owner = np.array([0, 0, 0, 1, 1, 2, 2])
    offsets = np.array([0, 3, 5])


def exact_bound(cost, owner, rows, rhs, lam, allowed):
    """The bound of a box and of its choices with each column, in fractions."""
    value = [
        Fraction(c) - sum(Fraction(m) * Fraction(r[k]) for m, r in zip(lam, rows, strict=True))
        for k, c in enumerate(cost)
    ]
    base = sum(Fraction(m) * Fraction(b) for m, b in zip(lam, rhs, strict=True))
    least = [min(value[k] for k in range(len(cost)) if owner[k] == i and allowed[k]) for i in range(owner[-1] + 1)]
    bound = base + sum(least)
    return bound, [bound + value[k] - least[owner[k]] for k in range(len(cost))]


@settings(deadline=None)
@given(st.integers(0, 10**9), st.sampled_from([1e-12, 1.0, 1e8]))
def test_bounds_from_rows_without_a_loss_are_below_exact_ones_and_near(seed, scale):
    rng = np.random.default_rng(seed)
    owner, offsets = _Free.owner, _Free.offsets
    n_rows = int(rng.integers(0, 40))
    cost = rng.normal(size=7) * scale
    rows, rhs = rng.normal(size=(n_rows, 7)), rng.normal(size=n_rows) * scale
    lam = rng.exponential(size=n_rows) * scale
    bounds = Bounds(Enclosed(cost, np.zeros(7)), offsets, owner, None)
    units = rng.choice([1.0, 3.0, 1e-7, 1e9], n_rows)
    bounds.others = {k: (rows[k], float(rhs[k]), float(units[k])) for k in range(n_rows)}
    names = [(-1, k) for k in range(n_rows)]
    bounds.form(set(names))
    allowed = rng.random(7) < 0.7
    allowed[offsets + rng.integers(0, 2, 3)] = True
    (bound,), (column,), (rounding,) = bounds.prove(Evidence(names, (lam * units)[None]), allowed[None])
    lam = (lam * units) / units
    exact, exact_columns = exact_bound(cost, owner, rows, rhs, lam, allowed)
    size = (10 + n_rows) * (np.abs(cost).sum() + lam @ (np.abs(rows).max(axis=1, initial=0.0) + np.abs(rhs)) + 1e-200)
    assert Fraction(float(bound)) <= exact
    assert exact - Fraction(float(bound)) <= Fraction(1e-14 * size)
    assert rounding <= 1e-14 * size
    for k in np.flatnonzero(allowed):
        assert Fraction(float(column[k])) <= exact_columns[k]


def small(seed, score="sm", cards=(2, 3, 3)):
    rng = np.random.default_rng(seed)
    rows = [tuple(rng.integers(0, c) for c in cards) for _ in range(15)]
    problem = SmallProblem(rows, cards, score, gamma=0.7, smoothing=0.3)
    samples = Samples.of(np.array(problem.rows), problem.cards)
    return problem, samples, Margins(samples, Problem(problem.header()))


@pytest.mark.parametrize("cards", [(2, 3, 2), (2, 3, 3)])
def test_coefficients_of_cuts_are_enclosed_and_their_bounds_true(cards):
    problem, samples, margins = small(3, cards=cards)
    rng = np.random.default_rng(0)
    c = len(cards) - 1
    active = rng.random(len(samples.codes)) < 0.6
    labels = samples.codes[:, c]
    rivals = (labels + rng.integers(1, cards[c], len(labels))) % cards[c]
    ((row,), (weight,)) = margins.cuts(np.arange(len(labels)), active[None], rivals[None])
    assert weight == samples.weight[active].sum()
    for k, (node, parents) in enumerate(problem.columns):
        exact = Decimal(0)
        for m in np.flatnonzero(active):
            own = tuple(samples.codes[m].tolist())
            rival = (*own[:c], int(rivals[m]))
            part = problem._log_theta(node, parents, own) - problem._log_theta(node, parents, rival)
            exact = DIGITS.add(exact, Decimal(float(samples.weight[m])) * part)
        assert distance(row[k], exact) <= Decimal(float(weight * margins.error[k]))
        assert abs(row[k]) <= weight * margins.size[k]
    assert margins.error.max() < 1e-12


@pytest.mark.parametrize("score", ["sm", "bic"])
@pytest.mark.parametrize("seed", range(3))
def test_values_of_structures_are_enclosed(score, seed):
    rng = np.random.default_rng(seed)
    rows = [tuple(rng.integers(0, c) for c in (2, 3, 3)) for _ in range(15)]
    problem = SmallProblem(rows, (2, 3, 3), score, gamma=0.7, smoothing=0.3)
    samples, stated = Samples.of(np.array(rows), problem.cards), Problem(problem.header())
    for parents in list(problem.structures())[::7]:
        choice = [problem.columns.index(pair) for pair in enumerate(parents)]
        if score == "sm":
            value, error = Margins(samples, stated).value(choice)
        else:
            parts = [stated.local_score(samples, node, s) for node, s in enumerate(parents)]
            value, error = sum(p.value for p in parts), sum(p.error for p in parts) + 1e-13
        assert distance(value, problem.value(parents)) <= Decimal(float(error))
        assert error < 1e-11


def test_multipliers_that_sum_to_more_than_one_prove_no_more_than_the_truth():
    problem, samples, margins = small(4, cards=(2, 2, 2))
    boxes_owner = np.array([node for node, _ in problem.columns])
    offsets = np.searchsorted(boxes_owner, np.arange(3))
    zero = np.zeros(len(boxes_owner))
    bounds = Bounds(Enclosed(zero, zero), offsets, boxes_owner, margins)
    bounds.start(np.zeros(len(samples.codes), dtype=np.intp))
    least = Decimal(margins.gamma) * len(problem.rows) - problem.best()[0]
    rng = np.random.default_rng(0)
    for number, parents in enumerate(problem.structures()):
        choice = np.array(sorted(problem.columns.index(pair) for pair in enumerate(parents)))
        bounds.points[number] = choice, np.ones(len(choice))
    names = [(k, 0) for k in bounds.points]
    bounds.form(set(names))
    every = np.ones((1, len(boxes_owner)), dtype=bool)
    for _ in range(300):
        lam = rng.exponential(size=len(names)) * rng.choice([0.01, 1.0, 1e6, 1e200])
        lam[rng.random(len(names)) < 0.7] = rng.choice([0.0, -1.0, np.inf, np.nan])
        with np.errstate(all="ignore"):
            (bound,), *_ = bounds.prove(Evidence(names, lam[None]), every)
        assert Decimal(float(bound)) <= least
