"""Rows are merged by numbers that stand for them, exactly as by comparing them cell by cell."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mmbn_opt as mm
from mmbn_opt.data.counts import KeptCounts, contingency, narrow_columns
from mmbn_opt.data.merging import equal_rows
from mmbn_opt.data.variable import DiscreteVariable


@given(
    st.lists(st.integers(1, 70_000), min_size=1, max_size=9),
    st.integers(1, 40),
    st.integers(0, 10_000),
    st.sampled_from([np.int32, np.int64, np.uint8]),
)
def test_merged_rows_are_those_of_a_dictionary(card: list[int], n_rows: int, seed: int, kind: type) -> None:
    """Many states and columns need several numbers a row; few make many rows equal; -1 is a missing cell."""
    rng = np.random.default_rng(seed)
    if kind is np.uint8:
        card = [min(states, 256) for states in card]
    some = [rng.integers(0 if kind is np.uint8 else -1, states, size=3) for states in card]
    columns = [rng.choice(values, size=n_rows).astype(kind) for values in some]
    weight = rng.random(n_rows)
    rows, merged = equal_rows(columns, card, weight)
    last = [np.where(values < 0, states, values.astype(np.int64)) for values, states in zip(columns, card, strict=True)]
    expected: dict[tuple[int, ...], float] = {}
    for row, share in zip(zip(*(values.tolist() for values in last), strict=True), weight.tolist(), strict=True):
        expected[row] = expected.get(row, 0.0) + share
    assert [tuple(int(values[m]) for values in last) for m in rows] == sorted(expected)
    assert merged.tolist() == [expected[row] for row in sorted(expected)]


@pytest.mark.parametrize("states", [2, 300, 70_000])
def test_narrow_columns_hold_every_code_in_few_bytes(states: int) -> None:
    labels = np.array([0, states - 1, 1, 0])
    data = mm.DiscreteDataset(
        np.asfortranarray(labels[:, None].astype(np.int32)), np.array([0, 1, 1, 0], dtype=np.int32),
        (DiscreteVariable("x", tuple(range(states))),), DiscreteVariable("y", (0, 1)), np.ones(4),
    )  # fmt: skip
    narrow = narrow_columns(data)
    assert narrow.tolist() == [labels.tolist(), [0, 1, 1, 0]]
    assert narrow.itemsize == {2: 1, 300: 2, 70_000: 4}[states]


@given(st.integers(0, 1000), st.permutations([0, 1, 2, 3]), st.integers(0, 4))
def test_kept_counts_are_the_counts_in_whatever_order_they_are_asked_for(seed: int, nodes: list[int], n: int) -> None:
    rng = np.random.default_rng(seed)
    data = mm.DiscreteDataset.from_arrays(
        rng.integers(0, 3, (30, 3)), rng.permutation([0, 1] * 15), sample_weight=rng.random(30) + 0.1
    )
    count = KeptCounts(data)
    for asked in (nodes[:n], nodes[:n][::-1]):
        np.testing.assert_array_equal(count(asked), contingency(data, asked))
