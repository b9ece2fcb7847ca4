"""Hypothesis strategies for small data sets."""

import numpy as np
from hypothesis import strategies as st

from mmbn_opt.data.discrete import DiscreteDataset
from mmbn_opt.data.variable import DiscreteVariable


def dataset_of(rows: list[list[int]], card: list[int], weights: list[float] | None = None) -> DiscreteDataset:
    """Data set of integer rows (class last) with all states of `card` declared."""
    table = np.array(rows, dtype=np.int32).reshape(len(rows), len(card))
    features = tuple(DiscreteVariable(f"x{j}", tuple(range(r))) for j, r in enumerate(card[:-1]))
    weight = np.ones(len(rows)) if weights is None else np.asarray(weights, dtype=float)
    return DiscreteDataset(
        np.asfortranarray(table[:, :-1]),
        table[:, -1].copy(),
        features,
        DiscreteVariable("class", tuple(range(card[-1]))),
        weight,
    )


@st.composite
def tiny_problems(draw, max_features: int = 3, max_classes: int = 4, max_rows: int = 8):
    """(rows, card): at least two classes observed, class last."""
    n_features = draw(st.integers(1, max_features))
    card = [draw(st.integers(2, 3)) for _ in range(n_features)] + [draw(st.integers(2, max_classes))]
    row = st.tuples(*(st.integers(0, r - 1) for r in card)).map(list)
    rows = draw(st.lists(row, min_size=2, max_size=max_rows))
    rows[0][-1], rows[1][-1] = 0, 1
    return rows, card
