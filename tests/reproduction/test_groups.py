"""Groups of features: what they gain is mutual information given the label, and chance alone gains nothing."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mmbn_opt.reproduction.methods.groups import Groups, conditional_gains


def information(a, b, c):
    """By its definition, in nats."""
    total = 0.0
    for x, y, z in set(zip(a, b, c, strict=True)):
        here = (a == x) & (b == y) & (c == z)
        with_x, with_y = ((a == x) & (c == z)).mean(), ((b == y) & (c == z)).mean()
        total += here.mean() * np.log(here.mean() * (c == z).mean() / (with_x * with_y))
    return total


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 5), st.integers(1, 3), st.integers(4, 60))
def test_gains_are_mutual_information_less_what_chance_shows(seed, width, n_labels, n):
    rng = np.random.default_rng(seed)
    codes, labels = rng.integers(0, width, (n, 3)), rng.integers(0, n_labels, n)
    found = conditional_gains(codes, labels)
    for i, j in ((0, 1), (0, 2), (1, 2)):
        free = sum(
            (len(np.unique(codes[labels == c, i])) - 1) * (len(np.unique(codes[labels == c, j])) - 1)
            for c in np.unique(labels)
        )
        expected = information(codes[:, i], codes[:, j], labels) - free / (2 * n)
        assert found[i, j] == pytest.approx(expected, abs=1e-9)
        assert found[j, i] == pytest.approx(found[i, j], abs=1e-12)


def test_independent_features_gain_nothing_on_the_average():
    rng = np.random.default_rng(0)
    gains = [conditional_gains(rng.integers(0, 3, (1000, 2)), rng.integers(0, 4, 1000))[0, 1] for _ in range(300)]
    # Without the correction the mean would be 16 / 2000 = 0.008.
    assert abs(np.mean(gains)) < 0.0008


def copies(n=400, seed=0):
    """Eight features in two families of four that repeat each other within a label, and one that is alone."""
    rng = np.random.default_rng(seed)
    labels, first, second = (rng.integers(0, 2, n) for _ in range(3))
    noise = rng.random((n, 8)) < np.array([0.02, 0.02, 0.05, 0.05] * 2)
    family = np.column_stack([first] * 4 + [second] * 4) ^ noise
    return np.column_stack([family, rng.integers(0, 2, n)]), labels


def test_after_each_round_groups_are_twice_as_large_and_families_stay_together():
    values, labels = copies()
    one = Groups(1).fit(values, labels).members
    assert sorted(map(len, one)) == [1, 2, 2, 2, 2]
    two = Groups(2).fit(values, labels).members
    assert sorted(map(sorted, two)) == [[0, 1, 2, 3], [4, 5, 6, 7], [8]]


def test_equal_groups_have_equal_numbers_and_others_have_others():
    values, labels = copies(seed=3)
    groups = Groups(2).fit(values, labels)
    found = groups.transform(values)
    for column, members in zip(found.T, groups.members, strict=True):
        rows = [tuple(row) for row in values[:, members]]
        assert len(set(zip(rows, column.tolist(), strict=True))) == len(set(rows)) == len(set(column.tolist()))


def test_a_value_that_was_never_seen_leaves_its_group_alone_missing():
    values, labels = copies()
    groups = Groups(1).fit(values, labels)
    changed = values[:1].copy()
    changed[0, 0] = 7
    hit = [0 in members for members in groups.members]
    assert [cell is None for cell in groups.transform(changed)[0]] == hit


def test_texts_are_grouped_as_their_numbers_are_and_constants_stay_alone():
    values, labels = copies()
    values[:, 8] = 0
    texts = values.astype(str).astype(object)
    assert Groups(1).fit(texts, labels).members == Groups(1).fit(values, labels).members
    assert [8] in Groups(1).fit(values, labels).members
