"""The papers' tests: against the papers' own tables, SciPy, brute force and published constants."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from mmbn_opt.exceptions import InputError
from mmbn_opt.reproduction import load_experiment
from mmbn_opt.reproduction.statistics import (
    binomial_half,
    friedman,
    mean_half,
    outperforms_on_folds,
    outperforms_on_rows,
    paired_t,
    wilcoxon,
)

METHODS = ("CMM", "TAN", "AODE", "HNB", "WAODE", "EM", "SVM")
GUO_TABLE_10 = {  # Guo et al. 2018: sums of ranks for the first and for the second, out of its Table 9
    ("CMM", "TAN"): (42, 13), ("CMM", "AODE"): (37, 18), ("CMM", "HNB"): (34, 21), ("CMM", "WAODE"): (35, 20),
    ("CMM", "EM"): (46, 9), ("CMM", "SVM"): (46, 9), ("TAN", "AODE"): (13, 42), ("TAN", "HNB"): (9, 46),
    ("TAN", "WAODE"): (9, 46), ("TAN", "EM"): (19, 36), ("TAN", "SVM"): (20, 35), ("AODE", "HNB"): (27, 28),
    ("AODE", "WAODE"): (32, 23), ("AODE", "EM"): (26, 29), ("AODE", "SVM"): (22, 33), ("HNB", "WAODE"): (33.5, 21.5),
    ("HNB", "EM"): (28, 27), ("HNB", "SVM"): (25, 30), ("WAODE", "EM"): (21, 24), ("WAODE", "SVM"): (26, 29),
    ("EM", "SVM"): (29, 26),
}  # fmt: skip


def guo_table_9():
    paper = load_experiment("guo2018-table9").paper
    sets = list(dict.fromkeys(dataset for dataset, _ in paper))
    return {m: np.array([paper[s, m].value for s in sets]) for m in METHODS}


@pytest.mark.parametrize("pair", GUO_TABLE_10)
def test_sums_of_ranks_are_those_of_the_paper(pair):
    table = guo_table_9()
    found = wilcoxon(table[pair[0]], table[pair[1]])
    first, second = GUO_TABLE_10[pair]
    if pair == ("WAODE", "EM"):
        # Both have 95.08 on wdbc. The paper drops the tie; Demšar gives it the first rank, half to each, and so every
        # other rank is one higher.
        ahead = int((table["WAODE"] > table["EM"]).sum())
        first, second = first + ahead + 0.5, second + (9 - ahead) + 0.5
    assert (found.for_first, found.for_second) == (first, second)


values = st.lists(st.integers(0, 20).map(lambda k: k / 20), min_size=2, max_size=9)


@given(st.data())
def test_ranks_add_up_and_the_test_does_not_care_for_the_order_of_the_sets(data):
    a = data.draw(values)
    b = data.draw(st.lists(st.integers(0, 20).map(lambda k: k / 20), min_size=len(a), max_size=len(a)))
    order = data.draw(st.permutations(range(len(a))))
    found = wilcoxon(a, b)
    n = len(a)
    assert found.for_first + found.for_second == pytest.approx(n * (n + 1) / 2)
    again = wilcoxon([a[k] for k in order], [b[k] for k in order])
    assert (again.for_first, again.for_second) == (found.for_first, found.for_second)
    assert again.p_value == pytest.approx(found.p_value)
    swapped = wilcoxon(b, a)
    assert (swapped.for_first, swapped.for_second) == (found.for_second, found.for_first)


def test_the_p_value_of_the_ranks_is_that_of_counting_all_signs():
    a, b = np.array([0.91, 0.82, 0.73, 0.64, 0.55, 0.46]), np.array([0.9, 0.8, 0.7, 0.6, 0.6, 0.4])
    ranks = stats.rankdata(np.abs(np.round(a - b, 10)))
    less = wilcoxon(a, b).for_second
    sums = [sum(r for r, s in zip(ranks, signs, strict=True) if s) for signs in itertools.product((0, 1), repeat=6)]
    # Two-sided: as far from the middle as what was seen.
    expected = np.mean([min(s, ranks.sum() - s) <= less for s in sums])
    assert wilcoxon(a, b).p_value == pytest.approx(expected)


def test_two_equal_methods_are_not_told_apart():
    assert wilcoxon([0.9, 0.8], [0.9, 0.8]).p_value == 1.0
    assert paired_t([0.9, 0.8], [0.9, 0.8]) == paired_t([0.1], [0.1])
    assert paired_t([0.9, 0.8], [0.9, 0.8]).ahead == 0


@given(values, st.integers(0, 1000))
def test_the_paired_t_test_is_that_of_scipy(a, seed):
    b = np.clip(np.array(a) + np.random.default_rng(seed).normal(0, 0.1, len(a)), 0, 1)
    if np.ptp(np.round(np.array(a) - b, 12)) == 0:
        return
    found = paired_t(a, b)
    alternative = "greater" if found.ahead == 1 else "less"
    assert found.p_value == pytest.approx(stats.ttest_rel(a, b, alternative=alternative).pvalue, abs=1e-9)
    assert found.p_value <= 0.5


def test_the_same_difference_on_all_folds_is_certain():
    assert paired_t([0.9, 0.8, 0.7], [0.8, 0.7, 0.6]).p_value == 0.0
    assert outperforms_on_folds([0.9, 0.8], [0.8, 0.7], 0.95)
    assert not outperforms_on_folds([0.8, 0.7], [0.9, 0.8], 0.68)


@pytest.mark.parametrize(
    ("rate", "n", "half"),
    [  # Peharz & Pernkopf 2012, Table 2: rate and half of the interval on the sizes of the test parts
        (0.9371, 1066, 1.46), (0.7350, 5000, 1.22), (0.8672, 1024, 2.08), (0.8740, 2000, 1.45), (0.9065, 770, 2.06),
        (0.9881, 1934, 0.48), (0.7885, 4700, 1.17), (0.8296, 576, 3.07), (0.9005, 6480, 0.73), (0.8375, 15060, 0.59),
    ],
)  # fmt: skip
def test_intervals_on_test_rows_are_those_of_the_paper(rate, n, half):
    assert 100 * binomial_half(rate, n) == pytest.approx(half, abs=0.0101)


def test_the_interval_of_a_mean_is_students():
    found = stats.t.interval(0.95, 4, loc=0.85, scale=stats.sem([0.8, 0.82, 0.85, 0.88, 0.9]))
    assert mean_half([0.8, 0.82, 0.85, 0.88, 0.9]) == pytest.approx((found[1] - found[0]) / 2)
    assert math.isnan(mean_half([0.8]))


@pytest.mark.parametrize(("k", "q"), [(2, 1.960), (3, 2.343), (4, 2.569), (5, 2.728), (6, 2.850), (10, 3.164)])
def test_critical_differences_are_those_of_demsar_2006(k, q):
    table = pd.DataFrame(np.random.default_rng(0).random((14, k)))
    assert friedman(table).critical_difference == pytest.approx(q * math.sqrt(k * (k + 1) / (6 * 14)), rel=1e-3)


def test_ties_share_their_rank():
    table = pd.DataFrame({"a": [0.9, 0.8, 0.7], "b": [0.9, 0.7, 0.8], "c": [0.1, 0.8, 0.6]}, index=["x", "y", "z"])
    found = friedman(table)
    # x: a and b share 1 and 2; y: a and c do; z: b, a, c.
    assert found.ranks.to_dict() == pytest.approx({"a": 5 / 3, "b": 5.5 / 3, "c": 7.5 / 3})
    assert found.p_value == pytest.approx(stats.friedmanchisquare(*table.to_numpy().T).pvalue)
    assert found.groups == [("a", "b", "c")]


def test_methods_far_apart_are_in_different_groups():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({name: level + 0.01 * rng.random(30) for name, level in (("a", 3), ("b", 2), ("c", 1))})
    assert friedman(table).groups == []
    assert friedman(table, larger_is_better=False).ranks.index.tolist() == ["c", "b", "a"]


def test_a_set_that_a_method_lacks_is_left_out_of_the_ranks():
    table = pd.DataFrame({"a": [1.0, 2.0, np.nan, 3.0], "b": [0.0, 1.0, 5.0, 2.0]})
    found = friedman(table)
    assert found.sets == 3
    assert found.ranks.to_dict() == {"a": 1.0, "b": 2.0}
    assert found.p_value == pytest.approx(0.25)  # the sign test: 2 / 2^3


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: wilcoxon([1.0], [1.0, 2.0]), "one value of each a set"),
        (lambda: paired_t([], []), "one value of each a set"),
        (lambda: binomial_half(1.2, 10), "rate must be"),
        (lambda: outperforms_on_rows(0.5, 0.4, 10, 1.0), "level must be"),
        (lambda: friedman(pd.DataFrame({"a": [1.0, 2.0]})), "two methods and two data sets"),
    ],
)
def test_what_makes_no_test_is_refused(call, message):
    with pytest.raises(InputError, match=message):
        call()
