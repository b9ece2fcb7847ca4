"""012: tables are counted before anything is promised or allocated, whatever the number of rows."""

import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mmbn_opt as mm
from mmbn_opt.data import counts
from mmbn_opt.formulations.parameters import base
from mmbn_opt.heuristics import order_mi, tan_cmi, tan_cr
from mmbn_opt.programs.base import ProgramKind
from mmbn_opt.scores import margin_counts

MANY = 64 * 2**20
"""Bytes: more than any refusal here may have allocated, and a fraction of what is refused."""


def wide(rows: int = 300, columns: int = 40, labels: int = 300, classes: int = 26) -> mm.DiscreteDataset:
    """Columns of many labels in few rows."""
    rng = np.random.default_rng(0)
    X = np.stack([rng.permutation(np.arange(rows) % labels) for _ in range(columns)], axis=1)
    return mm.DiscreteDataset.from_arrays(X, np.arange(rows) % classes)


WIDE = wide()
LABELS = wide(rows=100_000, columns=3, labels=100_000, classes=2)
"""A column of 100,000 labels as the parent of others."""
FOUR = wide(columns=4)
THREE_PARENTS = mm.Structure.from_names(
    [f"x{j}" for j in range(4)], "class", [("x0", "x3"), ("x1", "x3"), ("x2", "x3"), ("class", "x3")]
)
CHAIN = mm.Structure.from_names(
    [f"x{j}" for j in range(40)],
    "class",
    [(f"x{j}", f"x{j + 1}") for j in range(39)] + [("class", f"x{j}") for j in range(40)],
)

REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "soft margin": (lambda: mm.solve(mm.SoftMarginStructure(WIDE, max_parents=2)), r"5,476,224,026 numbers \(40.8 GiB"),
    "its tables": (lambda: mm.SoftMarginStructure(WIDE, max_parents=2).tables, "max_cells=200,000,000"),
    "its rows": (
        lambda: mm.SoftMarginStructure(WIDE, max_parents=2).build(ProgramKind.MIXED_INTEGER),
        r"'x0' \(300 states\), 'x1' \(300 states\), 'class' \(26 states\)",
    ),
    "binary": (lambda: mm.solve(mm.BinarySoftMarginStructure(WIDE, max_parents=2)), "5,476,224,026 numbers"),
    "classifier": (
        lambda: mm.MaxMarginStructureClassifier(max_parents=2).fit(WIDE.codes.astype(str), WIDE.target_codes),
        "leave columns with many states out",
    ),
    "four parents": (lambda: mm.solve(mm.SoftMarginStructure(FOUR, max_parents=4)), "210,600,000,000 cells"),
    "relaxation": (lambda: mm.MaxMarginRelaxation(WIDE, CHAIN), r"91,2\d\d,\d\d\d parameters.*'x1' 2,340,000"),
    "smooth margin": (lambda: mm.SmoothMargin(WIDE, CHAIN), "max_parameters=5,000,000"),
    "likelihood": (lambda: mm.ConditionalLikelihood(WIDE, CHAIN), "max_parameters=5,000,000"),
    "Markov network": (lambda: mm.MaxMarginMarkovNetwork(WIDE, CHAIN), "max_parameters=5,000,000"),
    "raised": (
        lambda: mm.MaxMarginRelaxation(FOUR, THREE_PARENTS, max_parameters=10**12),
        r"'x2' \(300\), 'class' \(26\), 'x3' \(300\) would have 210,600,000,000 cells",
    ),
    "fit": (lambda: mm.BayesianNetwork.fit(THREE_PARENTS, FOUR), "210,600,000,000 cells; the limit is 50,000,000"),
    "tan of labels": (lambda: tan_cmi(LABELS), r"'x0' \(100,000\), 'x1' \(100,000\), 'class' \(2\)"),
    "order of labels": (lambda: order_mi(LABELS), "20,000,000,000 cells"),
    "structure of labels": (lambda: mm.solve(mm.SoftMarginStructure(LABELS, max_parents=2)), "20,000,000,000 cells"),
    "two parents": (lambda: order_mi(WIDE, k=2), r"for each of 5 folds, would have 3,510,000,000 cells"),
    "pairs": (lambda: tan_cr(WIDE), "1,825,200,000 cells"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_012_what_takes_gigabytes_is_refused_with_its_figures_before_anything_large_is_allocated(case: str) -> None:
    ask, figure = REFUSED[case]
    tracemalloc.start()
    try:
        with pytest.raises(mm.SizeLimitError, match=figure):
            ask()
        assert tracemalloc.get_traced_memory()[1] < MANY
    finally:
        tracemalloc.stop()


def test_012_the_margin_tables_are_counted_to_the_entry() -> None:
    data = wide(rows=60, columns=4, labels=7, classes=3)
    formulation = mm.SoftMarginStructure(data, max_parents=3)
    sizes = margin_counts.block_sizes(data, formulation.candidates)
    table = formulation.tables.table
    assert len(table) == 1 + sizes.sum()
    cells = int(sizes.sum()) * data.n_classes
    just = mm.SoftMarginStructure(data, max_parents=3, max_cells=cells)
    np.testing.assert_array_equal(just.tables.table, table)
    with pytest.raises(mm.SizeLimitError, match=f"{cells:,} numbers"):
        mm.solve(mm.SoftMarginStructure(data, max_parents=3, max_cells=cells - 1))


def test_012_no_limit_lets_tables_have_more_places_than_compiled_code_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    data = wide(rows=60, columns=4, labels=7, classes=3)
    formulation = mm.SoftMarginStructure(data, max_parents=3)
    cells = int(margin_counts.block_sizes(data, formulation.candidates).sum()) * data.n_classes
    monkeypatch.setattr(margin_counts, "MOST_PLACES", cells - 1)
    with pytest.raises(mm.SizeLimitError, match=f"the limit is {cells - 1:,}, whatever max_cells is"):
        mm.solve(mm.SoftMarginStructure(data, max_parents=3, max_cells=2 * cells))


def test_012_all_tables_of_a_network_together_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    data = wide(rows=60, columns=4, labels=7, classes=3)
    structure = tan_cmi(data)
    cells = sum(table.size for table in mm.BayesianNetwork.fit(structure, data).log_cpts)
    monkeypatch.setattr(counts, "MAX_NETWORK_CELLS", cells)
    assert mm.BayesianNetwork.fit(structure, data).structure == structure
    monkeypatch.setattr(counts, "MAX_NETWORK_CELLS", cells - 1)
    with pytest.raises(mm.SizeLimitError, match=rf"{cells:,} cells, the largest 'x\d' 147"):
        mm.BayesianNetwork.fit(structure, data)
    with pytest.raises(mm.SizeLimitError, match="merge states"):
        mm.SmoothMargin(data, structure)


@pytest.mark.parametrize("kind", [mm.SoftMarginStructure, mm.BinarySoftMarginStructure, mm.DecomposableStructure])
def test_012_a_search_that_could_find_what_is_too_large_to_be_made_is_refused_before_it(
    kind: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = wide(rows=60, columns=4, labels=7, classes=3)
    formulation = kind(data, max_parents=2)
    card = (*data.cardinalities,)
    largest = [
        max(card[node] * int(np.prod([card[p] for p in s])) for s in options)
        for node, options in enumerate(formulation.candidates.sets)
    ]
    monkeypatch.setattr(counts, "MAX_NETWORK_CELLS", sum(largest) - 1)
    with pytest.raises(mm.SizeLimitError, match=f"could have {sum(largest):,} table cells, the largest 'x"):
        mm.solve(formulation)
    monkeypatch.setattr(counts, "MAX_NETWORK_CELLS", sum(largest))
    assert mm.solve(formulation, time_limit=20.0).model is not None


@pytest.mark.parametrize("kind", [mm.MaxMarginRelaxation, mm.MaxMarginMarkovNetwork])
def test_012_samples_times_classes_are_counted_where_each_has_a_multiplier(
    kind: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = wide(rows=60, columns=4, labels=7, classes=3)
    formulation = kind(data, mm.naive_bayes(data))
    pairs = 3 * data.aggregate().n_samples
    monkeypatch.setattr(base, "MAX_MARGINS", pairs - 1)
    with pytest.raises(mm.SizeLimitError, match=f"make {pairs}; the limit is {pairs - 1}"):
        mm.solve(formulation)
    monkeypatch.setattr(base, "MAX_MARGINS", pairs)
    assert mm.solve(formulation, rel_gap=1e-2, time_limit=20.0).model is not None
