"""Tables of margin coefficients, counted from data."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mmbn_opt._arguments import shown
from mmbn_opt._arrays import FloatArray
from mmbn_opt._budget import leave_in_time
from mmbn_opt.data.counts import CountedSets, KeptCounts, narrow_columns
from mmbn_opt.data.discrete import DiscreteDataset
from mmbn_opt.data.mapped import MappedDataset
from mmbn_opt.exceptions import SizeLimitError
from mmbn_opt.networks.candidates import CandidateParents
from mmbn_opt.networks.network import estimate_log_cpt
from mmbn_opt.networks.smoothing import Smoothing
from mmbn_opt.scores.margins import EntryLookup, MarginTables
from mmbn_opt.scores.predictive import one_against_rest_log_cpt

__all__ = ["MAX_MARGIN_CELLS", "block_sizes", "count_margin_tables", "refuse_oversized"]

MAX_MARGIN_CELLS = 200_000_000
"""Most numbers in the tables of all candidates together: 1.6 GB.

Searches by branch and cut hold them once more for pieces, four columns side by side, some of which are empty: up to
4/3 of that for two parents.
"""

MOST_PLACES = 2**30 - 1
"""Numbers up to which compiled code counts places in the tables, four columns side by side, in 32 bits."""


def count_margin_tables(
    data: DiscreteDataset,
    candidates: CandidateParents,
    smoothing: Smoothing,
    *,
    binary: bool,
    samples: DiscreteDataset | None = None,
) -> MarginTables:
    """Tables for every column of `candidates`, counted from `data`, which should be aggregated.

    Parameters
    ----------
    data : DiscreteDataset
    candidates : CandidateParents
    smoothing : Smoothing
    binary : bool
        For the binary soft margin, else for the soft margin.
    samples : DiscreteDataset or None
        What looks them up: those of `data`, or a part of them.
    """
    samples = data if samples is None else samples
    sizes = block_sizes(data, candidates)
    count: CountedSets | KeptCounts
    if isinstance(data, MappedDataset):
        families = [candidates.columns[int(column)] for column in np.flatnonzero(sizes)]
        count = CountedSets(data, [(*parents, node) for node, parents in families])
        columns = narrow_columns(samples)
    else:
        count = KeptCounts(data)
        columns = count.columns if samples is data else narrow_columns(samples)
    lookup = _lookup_of(data, candidates, sizes, columns)
    # Entry 0: columns that are the same for every class.
    table = np.zeros((1 + int(sizes.sum()), data.n_classes))
    for column, (node, parents) in enumerate(candidates.columns):
        if not sizes[column]:
            continue
        leave_in_time()
        start = int(lookup.first_row[column])
        table[start : start + int(sizes[column])] = _block(data, node, parents, smoothing, count, binary)
    return MarginTables(binary, table, lookup, samples.target_codes.astype(np.int32), samples.sample_weight)


def block_sizes(data: DiscreteDataset, candidates: CandidateParents) -> NDArray[np.int64]:
    """Entries of every column, shape (n_columns,); 0 where the column is the same for every class."""
    c, parents, owner = candidates.class_index, candidates.parent_array, candidates.owner
    card = np.array(data.cardinalities, dtype=np.float64)
    states = np.append(np.where(np.arange(c + 1) == c, 1.0, card), 1.0)  # the last is that of no parent, -1
    moves = (owner == c) | (parents == c).any(axis=1)
    entries = states[parents].prod(axis=1) * states[owner]
    # Far beyond any limit a float is exact enough, and does not overflow.
    return np.where(moves, np.minimum(entries, 2.0**53), 0.0).astype(np.int64)


def refuse_oversized(data: DiscreteDataset, candidates: CandidateParents, max_cells: int = MAX_MARGIN_CELLS) -> None:
    """Raise `SizeLimitError` when the tables of all candidates together would have more than `max_cells` numbers.

    Parameters
    ----------
    data : DiscreteDataset
    candidates : CandidateParents
    max_cells : int
    """
    sizes = block_sizes(data, candidates).astype(np.float64)
    cells = int(sizes.sum()) * data.n_classes
    limit = min(max_cells, MOST_PLACES)
    if cells <= limit:
        return
    names, card = (*data.feature_names, data.class_name), data.cardinalities
    node, parents = candidates.columns[int(sizes.argmax())]
    largest = ", ".join(f"{shown(names[v])} ({card[v]:,} states)" for v in (node, *parents))
    said, cure = f"max_cells={max_cells:,}", ", or raise max_cells"
    if max_cells > MOST_PLACES:
        said, cure = f"{limit:,}, whatever max_cells is", ""
    raise SizeLimitError(
        f"The margin tables of {candidates.n_columns:,} candidate parent sets would have {cells:,} numbers "
        f"({8 * cells / 2**30:,.1f} GiB), the largest over {largest}; the limit is {said}. Merge "
        "states, leave columns with many states out, lower max_parents, or keep fewer candidates (restriction, "
        f"--candidates){cure}."
    )


def _block(
    data: DiscreteDataset, node: int, parents: Sequence[int], smoothing: Smoothing, count: CountedSets | KeptCounts,
    binary: bool,
) -> FloatArray:  # fmt: skip
    if binary:
        own, rest = one_against_rest_log_cpt(data, node, parents, smoothing, count)
        assert own is not None
        assert rest is not None
        return own - rest
    table = estimate_log_cpt(data, node, parents, smoothing, count)
    if node == data.n_features:
        return table
    cube = table.reshape(-1, data.n_classes, data.cardinalities[node])
    return np.ascontiguousarray(cube.swapaxes(1, 2)).reshape(-1, data.n_classes)


def _lookup_of(
    data: DiscreteDataset, candidates: CandidateParents, sizes: NDArray[np.int64], codes: NDArray[Any]
) -> EntryLookup:
    """The lookup of candidates whose blocks of `sizes` entries follow one another from entry 1 on."""
    c, card = candidates.class_index, data.cardinalities
    width = max(2, candidates.parent_array.shape[1])
    members, strides = np.zeros((2, candidates.n_columns, width), dtype=np.int32)
    for column in np.flatnonzero(sizes).tolist():
        features = _features_of(*candidates.columns[column], c)
        stride_of = dict(zip(features, np.cumprod([1, *(card[j] for j in features[:0:-1])])[::-1], strict=False))
        for place, feature in enumerate(sorted(features)):
            members[column, place], strides[column, place] = feature, stride_of[feature]
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]]) + 1
    first_row = np.where(sizes > 0, starts, 0).astype(np.int32)
    return EntryLookup(first_row, members, strides, np.array(card, dtype=np.int32), codes)


def _features_of(node: int, parents: Sequence[int], class_index: int) -> list[int]:
    """Features whose states tell the entries of a column apart, the one that varies fastest last."""
    others = [p for p in parents if p != class_index]
    return others if node == class_index else [*others, node]
