"""Compiled message passing over elimination buckets; imported only when cells are missing, so that numba loads late."""

import math

import numpy as np
from numpy.typing import NDArray

from mmbn_opt._arrays import FloatArray, IntArray, kernel

__all__ = ["sum_out"]


@kernel(nogil=True)
def sum_out(
    codes: NDArray[np.int32],
    card: IntArray,
    n_classes: int,
    table: FloatArray,
    table_start: IntArray,
    class_step: IntArray,
    scope_ptr: IntArray,
    scope: IntArray,
    scope_step: IntArray,
    children_first: IntArray,
    member_ptr: IntArray,
    member: IntArray,
    family_ptr: IntArray,
    family: IntArray,
    family_step: IntArray,
    inbox_ptr: IntArray,
    inbox: IntArray,
    inbox_pos: IntArray,
    message_start: IntArray,
    out: FloatArray,
) -> None:
    """Fill `out` with ``log P(c, observed part of x)`` for every row of `codes` and class c.

    Bucket b eliminates node ``member[member_ptr[b]]``; its other members are the separator. The last bucket eliminates
    nothing. An observed node has a domain of one state in its row, so that one schedule serves every missing pattern; a
    missing node below which nothing is observed (barren) drops out with its factor.

    Parameters
    ----------
    codes : int32 array (n_rows, n_features)
        -1 where missing.
    card : int64 array (n_nodes,)
    table : float64 array
        All log-factors, the class varying fastest, then the node's own state, then its parents.
    table_start, class_step : int64 arrays (n_nodes,)
        Where a node's factor starts; 1 where it depends on the class, else 0.
    scope_ptr, scope, scope_step : int64 arrays
        Features of each node's family and their strides in the factor.
    children_first : int64 array (n_nodes,)
        Nodes in an order in which children come before parents.
    member_ptr, member : int64 arrays
        Members of each bucket, the eliminated node first.
    family_ptr, family, family_step : int64 arrays
        Factors of each bucket and their strides by member position.
    inbox_ptr, inbox, inbox_pos : int64 arrays
        Buckets whose message arrives in each bucket; for each member position the position among the sender's members,
        or -1.
    message_start : int64 array (n_buckets,)
        Where a bucket's message starts in the workspace; the last entry is the size of the workspace.
    out : float64 array (n_rows, n_classes)
    """
    n_nodes = card.size
    n_buckets = member_ptr.size - 1
    width = max(1, family_step.shape[1])
    largest = 1
    most_families, most_inbox = 1, 1
    for b in range(n_buckets + 1):
        most_families = max(most_families, family_ptr[b + 1] - family_ptr[b])
        most_inbox = max(most_inbox, inbox_ptr[b + 1] - inbox_ptr[b])
        if b < n_buckets:
            largest = max(largest, card[member[member_ptr[b]]])
    needed = np.zeros(n_nodes, np.bool_)
    messages = np.zeros(message_start[-1])
    message_step = np.zeros((n_buckets, width), np.int64)
    size = np.ones(width, np.int64)
    digit = np.zeros(width, np.int64)
    base = np.zeros(most_families, np.int64)
    active = np.zeros(most_families, np.int64)
    step = np.zeros((most_inbox, width), np.int64)
    acc = np.zeros((largest, n_classes))

    for row in range(codes.shape[0]):
        for k in range(n_nodes):
            node = children_first[k]
            needed[node] = node == n_nodes - 1 or codes[row, node] >= 0
        for k in range(n_nodes):
            node = children_first[k]
            if needed[node]:
                for s in range(scope_ptr[node], scope_ptr[node + 1]):
                    needed[scope[s]] = True

        for b in range(n_buckets + 1):
            first = member_ptr[b] if b < n_buckets else 0
            n_members = member_ptr[b + 1] - first if b < n_buckets else 0
            n_rest = 1
            for p in range(n_members):
                node = member[first + p]
                size[p] = card[node] if codes[row, node] < 0 and needed[node] else 1
                digit[p] = 0
            # Strides of this bucket's own message, the last separator member varying fastest.
            if b < n_buckets:
                for p in range(n_members - 1, 0, -1):
                    message_step[b, p] = n_rest * n_classes if size[p] > 1 else 0
                    n_rest *= size[p]
            n_active = 0
            for e in range(family_ptr[b], family_ptr[b + 1]):
                node = family[e]
                if needed[node]:
                    start = table_start[node]
                    for s in range(scope_ptr[node], scope_ptr[node + 1]):
                        if codes[row, scope[s]] >= 0:
                            start += scope_step[s] * codes[row, scope[s]]
                    base[n_active] = start
                    active[n_active] = e
                    n_active += 1
            for i in range(inbox_ptr[b + 1] - inbox_ptr[b]):
                e = inbox_ptr[b] + i
                for p in range(n_members):
                    step[i, p] = message_step[inbox[e], inbox_pos[e, p]] if inbox_pos[e, p] >= 0 else 0

            n_states = size[0] if n_members > 0 else 1
            target = message_start[b] if b < n_buckets else 0
            for rest in range(n_rest):
                for x in range(n_states):
                    if n_members > 0:
                        digit[0] = x
                    for c in range(n_classes):
                        acc[x, c] = 0.0
                    for a in range(n_active):
                        e = active[a]
                        at = base[a]
                        for p in range(n_members):
                            if size[p] > 1:
                                at += family_step[e, p] * digit[p]
                        by_class = class_step[family[e]]
                        for c in range(n_classes):
                            acc[x, c] += table[at + by_class * c]
                    for i in range(inbox_ptr[b + 1] - inbox_ptr[b]):
                        at = message_start[inbox[inbox_ptr[b] + i]]
                        for p in range(n_members):
                            at += step[i, p] * digit[p]
                        for c in range(n_classes):
                            acc[x, c] += messages[at + c]
                for c in range(n_classes):
                    value = acc[0, c]
                    if n_states > 1:
                        top = acc[0, c]
                        for x in range(1, n_states):
                            top = max(top, acc[x, c])
                        value = top
                        if top > -math.inf:
                            total = 0.0
                            for x in range(n_states):
                                total += math.exp(acc[x, c] - top)
                            value = top + math.log(total)
                    if b < n_buckets:
                        messages[target + rest * n_classes + c] = value
                    else:
                        out[row, c] = value
                for p in range(n_members - 1, 0, -1):
                    digit[p] += 1
                    if digit[p] < size[p]:
                        break
                    digit[p] = 0
