"""Compiled elimination over buckets: sums and maxima upwards, best or drawn states downwards, all marginals at once.

A bucket eliminates its first member; what is left is its message over the other members. The last bucket eliminates
nothing: its first member is a stand-in with one state, and its message is the answer. An observed node has a domain of
one state in its row, a member on which nothing that enters a bucket depends has one there, and nodes below which
nothing is asked or observed drop out; so one plan serves every pattern of evidence.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mmbn_opt._arrays import BoolArray, FloatArray, IntArray, kernel

__all__ = ["Book", "answer_rows", "choose_rows", "draw_states", "row_marginals"]

Codes = NDArray[np.int32]


class Book(NamedTuple):
    """A plan as flat arrays, for kernels.

    Parameters
    ----------
    card : int64 array (n_nodes + 1,)
        The last one is the stand-in.
    table_start : int64 array (n_nodes,)
        Where a node's table starts in the store; the messages follow behind all tables.
    scope_ptr, scope, scope_step : int64 arrays
        Family of each node and its strides in the table.
    children_first : int64 array (n_nodes,)
    member_ptr, member : int64 arrays
        Members of each bucket, the eliminated one first.
    maximise : bool array (n_buckets,)
    input_ptr, source : int64 arrays
        What enters each bucket: the table of a node, or the message of bucket b as ``-1 - b``.
    input_step, input_place : int64 arrays (n_inputs, width)
        By member position: strides of a table; place among the sender's members, or -1.
    message_start : int64 array (n_buckets + 1,)
        In the store; the last entry is its size.
    """

    card: IntArray
    table_start: IntArray
    scope_ptr: IntArray
    scope: IntArray
    scope_step: IntArray
    children_first: IntArray
    member_ptr: IntArray
    member: IntArray
    maximise: BoolArray
    input_ptr: IntArray
    source: IntArray
    input_step: IntArray
    input_place: IntArray
    message_start: IntArray


class Desk(NamedTuple):
    """What is worked out for one row."""

    size: IntArray
    message_step: IntArray
    has_message: BoolArray
    active: BoolArray
    base: IntArray
    step: IntArray
    at: IntArray
    entered: IntArray
    digit: IntArray
    acc: FloatArray


@kernel(nogil=True)
def _desk(book: Book) -> Desk:
    n_buckets, n_inputs, width = book.member_ptr.size - 1, book.source.size, book.input_step.shape[1]
    most, largest = 1, 1
    for b in range(n_buckets):
        most = max(most, book.input_ptr[b + 1] - book.input_ptr[b])
        largest = max(largest, book.card[book.member[book.member_ptr[b]]])
    return Desk(
        np.ones(book.member.size, np.int64),
        np.zeros(book.member.size, np.int64),
        np.zeros(n_buckets, np.bool_),
        np.zeros(n_inputs, np.bool_),
        np.zeros(n_inputs, np.int64),
        np.zeros((n_inputs, width), np.int64),
        np.zeros(most, np.int64),
        np.zeros(most, np.int64),
        np.zeros(width, np.int64),
        np.zeros(largest),
    )


@kernel(nogil=True)
def _mark_needed(book: Book, codes: Codes, wanted: BoolArray, needed: BoolArray) -> None:
    """Mark what is wanted or observed, and all that is above it."""
    for k in range(book.children_first.size):
        node = book.children_first[k]
        needed[node] = wanted[node] or codes[node] >= 0
    for k in range(book.children_first.size):
        node = book.children_first[k]
        if needed[node]:
            for s in range(book.scope_ptr[node], book.scope_ptr[node + 1]):
                needed[book.scope[s]] = True


@kernel(nogil=True)
def _lay_out(book: Book, codes: Codes, needed: BoolArray, desk: Desk) -> None:
    """Sizes, strides and starts of this row."""
    for b in range(book.member_ptr.size - 1):
        first, last = book.member_ptr[b], book.member_ptr[b + 1]
        width = last - first
        for p in range(width):
            desk.size[first + p] = 1
        some = False
        for i in range(book.input_ptr[b], book.input_ptr[b + 1]):
            source = book.source[i]
            if source >= 0:
                desk.active[i] = needed[source]
                if not needed[source]:
                    continue
                start = book.table_start[source]
                for s in range(book.scope_ptr[source], book.scope_ptr[source + 1]):
                    code = codes[book.scope[s]]
                    if code >= 0:
                        start += book.scope_step[s] * code
                desk.base[i] = start
                for p in range(width):
                    node = book.member[first + p]
                    desk.step[i, p] = book.input_step[i, p] if codes[node] < 0 else 0
                    if desk.step[i, p] != 0:
                        desk.size[first + p] = book.card[node]
            else:
                sender = -1 - source
                desk.active[i] = desk.has_message[sender]
                if not desk.has_message[sender]:
                    continue
                desk.base[i] = book.message_start[sender]
                for p in range(width):
                    place = book.input_place[i, p]
                    desk.step[i, p] = desk.message_step[book.member_ptr[sender] + place] if place >= 0 else 0
                    if desk.step[i, p] != 0:
                        desk.size[first + p] = book.card[book.member[first + p]]
            some = True
        desk.has_message[b] = some
        stride = 1
        for p in range(last - 1, first, -1):
            desk.message_step[p] = stride if desk.size[p] > 1 else 0
            stride *= desk.size[p]


@kernel(nogil=True)
def _enter(book: Book, b: int, desk: Desk) -> int:
    """Bring the active inputs of a bucket to the desk."""
    n = 0
    for i in range(book.input_ptr[b], book.input_ptr[b + 1]):
        if desk.active[i]:
            desk.entered[n] = i
            desk.at[n] = desk.base[i]
            n += 1
    return n


@kernel(nogil=True)
def _add_up(book: Book, b: int, n: int, store: FloatArray, desk: Desk) -> int:
    """Sum the inputs over the states of the eliminated node, at the present digits."""
    n_states = desk.size[book.member_ptr[b]]
    for x in range(n_states):
        desk.acc[x] = 0.0
    for a in range(n):
        at, stride = desk.at[a], desk.step[desk.entered[a], 0]
        for x in range(n_states):
            desk.acc[x] += store[at + stride * x]
    return n_states


@kernel(nogil=True)
def _next(book: Book, b: int, n: int, desk: Desk) -> None:
    """The next digits, the last member varying fastest."""
    first = book.member_ptr[b]
    for p in range(book.member_ptr[b + 1] - first - 1, 0, -1):
        desk.digit[p] += 1
        if desk.digit[p] < desk.size[first + p]:
            for a in range(n):
                desk.at[a] += desk.step[desk.entered[a], p]
            return
        desk.digit[p] = 0
        for a in range(n):
            desk.at[a] -= desk.step[desk.entered[a], p] * (desk.size[first + p] - 1)


@kernel(nogil=True)
def _n_rest(book: Book, b: int, desk: Desk) -> int:
    n_rest = 1
    for p in range(book.member_ptr[b] + 1, book.member_ptr[b + 1]):
        n_rest *= desk.size[p]
    return n_rest


@kernel(nogil=True)
def _upwards(book: Book, store: FloatArray, desk: Desk) -> None:
    """All messages of a row."""
    for b in range(book.member_ptr.size - 1):
        if not desk.has_message[b]:
            continue
        n = _enter(book, b, desk)
        desk.digit[:] = 0
        start = book.message_start[b]
        for rest in range(_n_rest(book, b, desk)):
            n_states = _add_up(book, b, n, store, desk)
            value = desk.acc[0]
            if n_states > 1:
                for x in range(1, n_states):
                    value = max(value, desk.acc[x])
                if not book.maximise[b] and value > -math.inf:
                    total = 0.0
                    for x in range(n_states):
                        total += math.exp(desk.acc[x] - value)
                    value += math.log(total)
            store[start + rest] = value
            _next(book, b, n, desk)


@kernel(nogil=True)
def _at_chosen(book: Book, b: int, chosen: Codes, store: FloatArray, desk: Desk) -> int:
    """Sum the inputs over the states of the eliminated node where the other members have the chosen states."""
    n, first = _enter(book, b, desk), book.member_ptr[b]
    for p in range(1, book.member_ptr[b + 1] - first):
        if desk.size[first + p] > 1:
            state = chosen[book.member[first + p]]
            for a in range(n):
                desk.at[a] += desk.step[desk.entered[a], p] * state
    return _add_up(book, b, n, store, desk)


@kernel(nogil=True)
def _weigh(
    book: Book,
    store: FloatArray,
    row: int,
    nodes: IntArray,
    starts: IntArray,
    likelihood: FloatArray,
    added: FloatArray,
) -> None:
    """Put a row's likelihoods into the tables of their nodes, in place of those in `added`."""
    for k in range(nodes.size):
        node = nodes[k]
        start, n_states = book.table_start[node], book.card[node]
        end = book.table_start[node + 1] if node + 1 < book.table_start.size else book.message_start[0]
        for cell in range(start, end):
            store[cell] = added[cell] + likelihood[row, starts[k] + (cell - start) % n_states]


@kernel(nogil=True)
def answer_rows(
    book: Book,
    tables: FloatArray,
    codes: Codes,
    wanted: BoolArray,
    nodes: IntArray,
    starts: IntArray,
    likelihood: FloatArray,
    out: FloatArray,
) -> None:
    """Fill `out` (n_rows, n_cells of the answer) with the logs of the last bucket's message.

    Parameters
    ----------
    tables : float64 array
        All tables in logs, each node's own state varying fastest.
    codes : int32 array (n_rows, n_nodes)
        -1 where not observed.
    wanted : bool array (n_nodes,)
        Nodes that stay whatever is observed.
    nodes, starts : int64 arrays
        Nodes with a likelihood, and the column of `likelihood` where theirs begins.
    likelihood : float64 array (n_rows or 1, n_columns)
        Logs.
    """
    store = np.empty(book.message_start[-1])
    store[: tables.size] = tables
    needed = np.zeros(wanted.size, np.bool_)
    desk = _desk(book)
    last = book.member_ptr.size - 2
    for row in range(codes.shape[0]):
        if row < likelihood.shape[0]:
            _weigh(book, store, row, nodes, starts, likelihood, tables)
        _mark_needed(book, codes[row], wanted, needed)
        _lay_out(book, codes[row], needed, desk)
        _upwards(book, store, desk)
        for k in range(out.shape[1]):
            out[row, k] = store[book.message_start[last] + k] if desk.has_message[last] else 0.0


@kernel(nogil=True)
def choose_rows(
    book: Book,
    tables: FloatArray,
    codes: Codes,
    wanted: BoolArray,
    nodes: IntArray,
    starts: IntArray,
    likelihood: FloatArray,
    chosen: Codes,
    out: FloatArray,
) -> None:
    """Fill `chosen`, a copy of `codes`, with the best states of the nodes under a maximum, and `out` with their logs.

    See `answer_rows`; on a tie the first state is chosen.
    """
    store = np.empty(book.message_start[-1])
    store[: tables.size] = tables
    needed = np.zeros(wanted.size, np.bool_)
    desk = _desk(book)
    last = book.member_ptr.size - 2
    for row in range(codes.shape[0]):
        if row < likelihood.shape[0]:
            _weigh(book, store, row, nodes, starts, likelihood, tables)
        _mark_needed(book, codes[row], wanted, needed)
        _lay_out(book, codes[row], needed, desk)
        _upwards(book, store, desk)
        out[row] = store[book.message_start[last]] if desk.has_message[last] else 0.0
        for b in range(last - 1, -1, -1):
            if book.maximise[b] and desk.has_message[b]:
                n_states = _at_chosen(book, b, chosen[row], store, desk)
                best = 0
                for x in range(1, n_states):
                    if desk.acc[x] > desk.acc[best]:
                        best = x
                node = book.member[book.member_ptr[b]]
                if codes[row, node] < 0:
                    chosen[row, node] = best


@kernel(nogil=True)
def draw_states(
    book: Book,
    tables: FloatArray,
    codes: Codes,
    wanted: BoolArray,
    nodes: IntArray,
    starts: IntArray,
    likelihood: FloatArray,
    uniform: FloatArray,
    drawn: Codes,
) -> float:
    """Fill `drawn` (n, n_nodes) with states given one row of evidence, by independent uniform numbers (n, n_nodes).

    Nodes below which nothing is observed stay -1. Returns the log-probability of the evidence; where that is -inf
    nothing is drawn.
    """
    store = np.empty(book.message_start[-1])
    store[: tables.size] = tables
    needed = np.zeros(wanted.size, np.bool_)
    desk = _desk(book)
    last = book.member_ptr.size - 2
    _weigh(book, store, 0, nodes, starts, likelihood, tables)
    _mark_needed(book, codes, wanted, needed)
    _lay_out(book, codes, needed, desk)
    _upwards(book, store, desk)
    known: float = store[book.message_start[last]] if desk.has_message[last] else 0.0
    if known == -math.inf:
        return known
    for k in range(drawn.shape[0]):
        for b in range(last - 1, -1, -1):
            node = book.member[book.member_ptr[b]]
            if not desk.has_message[b] or not needed[node] or codes[node] >= 0:
                continue
            n_states = _at_chosen(book, b, drawn[k], store, desk)
            top = desk.acc[0]
            for x in range(1, n_states):
                top = max(top, desk.acc[x])
            total = 0.0
            for x in range(n_states):
                desk.acc[x] = math.exp(desk.acc[x] - top)
                total += desk.acc[x]
            left = uniform[k, node] * total
            state = 0
            # A state of probability 0 is never the answer, not even where rounding leaves a rest behind the last one.
            for x in range(n_states):
                if desk.acc[x] > 0.0:
                    state = x
                    left -= desk.acc[x]
                    if left < 0.0:
                        break
            drawn[k, node] = state
    return known


@kernel(nogil=True)
def row_marginals(
    book: Book,
    tables: FloatArray,
    codes: Codes,
    nodes: IntArray,
    starts: IntArray,
    likelihood: FloatArray,
    out: FloatArray,
) -> float:
    """Fill `out` (n_nodes, n_states) with the posterior of every node given one row; returns the evidence's log.

    Messages go up and down the buckets once. Downwards they are posteriors of separators over what came up, so that
    no cell is ever taken out of a sum again.
    """
    store = np.empty(book.message_start[-1])
    store[: tables.size] = tables
    down = np.zeros(book.message_start[-1] - book.message_start[0])
    n_tables = book.message_start[0]
    needed = np.ones(codes.size, np.bool_)
    desk = _desk(book)
    last = book.member_ptr.size - 2
    _weigh(book, store, 0, nodes, starts, likelihood, tables)
    _lay_out(book, codes, needed, desk)
    _upwards(book, store, desk)
    known: float = store[book.message_start[last]] if desk.has_message[last] else 0.0
    for node in range(codes.size):
        if codes[node] >= 0:
            out[node, codes[node]] = 1.0
    if known == -math.inf:
        return known
    for b in range(last, -1, -1):
        if not desk.has_message[b]:
            continue
        start, node = book.message_start[b] - n_tables, book.member[book.member_ptr[b]]
        for k in range(_n_rest(book, b, desk)):
            # What came down is a posterior so far; over what went up it is the weight of all that is elsewhere.
            if b == last:
                down[start + k] = -known
            elif down[start + k] > 0.0:
                down[start + k] = math.log(down[start + k]) - store[start + n_tables + k]
            else:
                down[start + k] = -math.inf
        n = _enter(book, b, desk)
        desk.digit[:] = 0
        for rest in range(_n_rest(book, b, desk)):
            n_states = _add_up(book, b, n, store, desk)
            for x in range(n_states):
                share = math.exp(desk.acc[x] + down[start + rest])
                if share == 0.0:
                    continue
                if node < codes.size and codes[node] < 0:
                    out[node, x] += share
                for a in range(n):
                    if book.source[desk.entered[a]] < 0:
                        down[desk.at[a] + desk.step[desk.entered[a], 0] * x - n_tables] += share
            _next(book, b, n, desk)
    return known
