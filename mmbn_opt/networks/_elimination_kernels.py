"""Compiled elimination: sums and maxima upwards, best or drawn states downwards, all marginals at once."""

import math

import numpy as np

from mmbn_opt._arrays import BoolArray, FloatArray, IntArray, kernel
from mmbn_opt.networks._elimination_desk import (
    Book,
    Codes,
    Desk,
    add_up,
    at_chosen,
    enter,
    lay_out,
    mark_needed,
    n_rest_of,
    new_desk,
    next_digits,
    upwards,
)

__all__ = ["answer_rows", "choose_rows", "draw_states", "row_marginals"]


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
def _with_room(book: Book, tables: FloatArray) -> FloatArray:
    """The tables, and room for all messages behind them."""
    store = np.empty(book.message_start[-1])
    store[: tables.size] = tables
    return store


@kernel(nogil=True)
def _collect(
    book: Book,
    store: FloatArray,
    tables: FloatArray,
    row: int,
    codes: Codes,
    wanted: BoolArray,
    needed: BoolArray,
    nodes: IntArray,
    starts: IntArray,
    likelihood: FloatArray,
    desk: Desk,
) -> float:
    """Send all messages up for one row of evidence; returns the first number of the last, 0 where there is none."""
    if row < likelihood.shape[0]:
        _weigh(book, store, row, nodes, starts, likelihood, tables)
    mark_needed(book, codes, wanted, needed)
    lay_out(book, codes, needed, desk)
    upwards(book, store, desk)
    last = book.member_ptr.size - 2
    known: float = store[book.message_start[last]] if desk.has_message[last] else 0.0
    return known


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
    store = _with_room(book, tables)
    needed = np.zeros(wanted.size, np.bool_)
    desk = new_desk(book)
    last = book.member_ptr.size - 2
    for row in range(codes.shape[0]):
        _collect(book, store, tables, row, codes[row], wanted, needed, nodes, starts, likelihood, desk)
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
    store = _with_room(book, tables)
    needed = np.zeros(wanted.size, np.bool_)
    desk = new_desk(book)
    last = book.member_ptr.size - 2
    for row in range(codes.shape[0]):
        out[row] = _collect(book, store, tables, row, codes[row], wanted, needed, nodes, starts, likelihood, desk)
        for b in range(last - 1, -1, -1):
            if book.maximise[b] and desk.has_message[b]:
                n_states = at_chosen(book, b, chosen[row], store, desk)
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
    store = _with_room(book, tables)
    needed = np.zeros(wanted.size, np.bool_)
    desk = new_desk(book)
    last = book.member_ptr.size - 2
    known: float = _collect(book, store, tables, 0, codes, wanted, needed, nodes, starts, likelihood, desk)
    if known == -math.inf:
        return known
    for k in range(drawn.shape[0]):
        for b in range(last - 1, -1, -1):
            node = book.member[book.member_ptr[b]]
            if not desk.has_message[b] or not needed[node] or codes[node] >= 0:
                continue
            n_states = at_chosen(book, b, drawn[k], store, desk)
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
    store = _with_room(book, tables)
    down = np.zeros(book.message_start[-1] - book.message_start[0])
    n_tables = book.message_start[0]
    needed = np.ones(codes.size, np.bool_)
    desk = new_desk(book)
    last = book.member_ptr.size - 2
    _weigh(book, store, 0, nodes, starts, likelihood, tables)
    lay_out(book, codes, needed, desk)
    upwards(book, store, desk)
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
        for k in range(n_rest_of(book, b, desk)):
            # What came down is a posterior so far; over what went up it is the weight of all that is elsewhere.
            if b == last:
                down[start + k] = -known
            elif down[start + k] > 0.0:
                down[start + k] = math.log(down[start + k]) - store[start + n_tables + k]
            else:
                down[start + k] = -math.inf
        n = enter(book, b, desk)
        desk.digit[:] = 0
        for rest in range(n_rest_of(book, b, desk)):
            n_states = add_up(book, b, n, store, desk)
            for x in range(n_states):
                share = math.exp(desk.acc[x] + down[start + rest])
                if share == 0.0:
                    continue
                if node < codes.size and codes[node] < 0:
                    out[node, x] += share
                for a in range(n):
                    if book.source[desk.entered[a]] < 0:
                        down[desk.at[a] + desk.step[desk.entered[a], 0] * x - n_tables] += share
            next_digits(book, b, n, desk)
    return known
