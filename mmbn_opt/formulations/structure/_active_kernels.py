"""Compiled sorting of the samples below gamma: those of some groups, in the order wanted, with their kinds."""

import numpy as np
from numpy.typing import NDArray

from mmbn_opt._arrays import CodeArray, FloatArray, Int32Array, kernel


@kernel(nogil=True)
def number_kinds(
    labels: Int32Array,
    rival: Int32Array,
    n_classes: int,
    ends: NDArray[np.intp],
    number: Int32Array,
    kinds: Int32Array,
    kind_ends: NDArray[np.intp],
) -> None:
    """Number the pairs of true class and nearest rival (-1 where it doesn't matter) in each group, as they come.

    `number` gets that of every sample, `kinds` from ``kind_ends[i]`` on the pairs of group i as
    ``label (n_classes + 1) + rival + 1``.
    """
    seen = np.full(n_classes * (n_classes + 1), -1, dtype=np.int32)
    kind_ends[0] = 0
    for i in range(len(ends) - 1):
        count, begin = 0, kind_ends[i]
        for a in range(ends[i], ends[i + 1]):
            pair = labels[a] * (n_classes + 1) + rival[a] + 1
            if seen[pair] < 0:
                seen[pair] = count
                kinds[begin + count] = pair
                count += 1
            number[a] = seen[pair]
        for q in range(count):
            seen[kinds[begin + q]] = -1
        kind_ends[i + 1] = begin + count


@kernel(nogil=True)
def sort_out(
    below: Int32Array,
    nearest: Int32Array,
    begins: NDArray[np.intp],
    counts: NDArray[np.intp],
    group: Int32Array,
    n_groups: int,
    groups: NDArray[np.intp],
    codes: CodeArray,
    labels: Int32Array,
    weight: FloatArray,
    n_classes: int,
) -> tuple[CodeArray, Int32Array, FloatArray, Int32Array, NDArray[np.intp], Int32Array, Int32Array, NDArray[np.intp]]:
    """The samples below gamma of some groups, in the order in which these are wanted.

    `below` and `nearest` are what `margin_pass` found: ``counts[i]`` samples from ``begins[i]`` on, by groups.

    Returns
    -------
    codes, labels, weight, rival : arrays
        Of these samples.
    ends : intp array (len(groups) + 1,)
        Where the samples of each group end.
    number, kinds, kind_ends : arrays
        See `number_kinds`.
    """
    of_group = np.zeros(n_groups + 1, dtype=np.intp)
    for part in range(len(begins)):
        for i in range(begins[part], begins[part] + counts[part]):
            of_group[group[below[i]] + 1] += 1
    for g in range(n_groups):
        of_group[g + 1] += of_group[g]
    active, rivals = np.empty(of_group[n_groups], dtype=np.int32), np.empty(of_group[n_groups], dtype=np.int32)
    n = 0
    for part in range(len(begins)):
        for i in range(begins[part], begins[part] + counts[part]):
            active[n], rivals[n] = below[i], nearest[i]
            n += 1
    ends = np.zeros(len(groups) + 1, dtype=np.intp)
    for j in range(len(groups)):
        ends[j + 1] = ends[j] + of_group[groups[j] + 1] - of_group[groups[j]]
    n = ends[len(groups)]
    samples, rival = np.empty(n, dtype=np.int32), np.empty(n, dtype=np.int32)
    for j in range(len(groups)):
        first = of_group[groups[j]]
        for i in range(ends[j + 1] - ends[j]):
            samples[ends[j] + i], rival[ends[j] + i] = active[first + i], rivals[first + i]
    own_codes = np.empty((len(codes), n), dtype=codes.dtype)
    for v in range(len(codes)):
        row, own = codes[v], own_codes[v]
        for i in range(n):
            own[i] = row[np.uint32(samples[i])]
    own_labels, own_weight = np.empty(n, dtype=np.int32), np.empty(n)
    for i in range(n):
        own_labels[i], own_weight[i] = labels[samples[i]], weight[samples[i]]
    number, kinds = np.empty(n, dtype=np.int32), np.empty(n, dtype=np.int32)
    kind_ends = np.empty(len(ends), dtype=np.intp)
    number_kinds(own_labels, rival, n_classes, ends, number, kinds, kind_ends)
    return own_codes, own_labels, own_weight, rival, ends, number, kinds, kind_ends
