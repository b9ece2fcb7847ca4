"""A plan of elimination at work in one row: what enters each bucket, with which strides, and the messages upwards.

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

__all__ = [
    "Book",
    "Codes",
    "Desk",
    "add_up",
    "at_chosen",
    "enter",
    "lay_out",
    "mark_needed",
    "n_rest_of",
    "new_desk",
    "next_digits",
    "upwards",
]

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
def new_desk(book: Book) -> Desk:
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
def mark_needed(book: Book, codes: Codes, wanted: BoolArray, needed: BoolArray) -> None:
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
def lay_out(book: Book, codes: Codes, needed: BoolArray, desk: Desk) -> None:
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
def enter(book: Book, b: int, desk: Desk) -> int:
    """Bring the active inputs of a bucket to the desk."""
    n = 0
    for i in range(book.input_ptr[b], book.input_ptr[b + 1]):
        if desk.active[i]:
            desk.entered[n] = i
            desk.at[n] = desk.base[i]
            n += 1
    return n


@kernel(nogil=True)
def add_up(book: Book, b: int, n: int, store: FloatArray, desk: Desk) -> int:
    """Sum the inputs over the states of the eliminated node, at the present digits."""
    n_states: int = desk.size[book.member_ptr[b]]
    for x in range(n_states):
        desk.acc[x] = 0.0
    for a in range(n):
        at, stride = desk.at[a], desk.step[desk.entered[a], 0]
        for x in range(n_states):
            desk.acc[x] += store[at + stride * x]
    return n_states


@kernel(nogil=True)
def next_digits(book: Book, b: int, n: int, desk: Desk) -> None:
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
def n_rest_of(book: Book, b: int, desk: Desk) -> int:
    n_rest = 1
    for p in range(book.member_ptr[b] + 1, book.member_ptr[b + 1]):
        n_rest *= desk.size[p]
    return n_rest


@kernel(nogil=True)
def upwards(book: Book, store: FloatArray, desk: Desk) -> None:
    """All messages of a row."""
    for b in range(book.member_ptr.size - 1):
        if not desk.has_message[b]:
            continue
        n = enter(book, b, desk)
        desk.digit[:] = 0
        start = book.message_start[b]
        for rest in range(n_rest_of(book, b, desk)):
            n_states = add_up(book, b, n, store, desk)
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
            next_digits(book, b, n, desk)


@kernel(nogil=True)
def at_chosen(book: Book, b: int, chosen: Codes, store: FloatArray, desk: Desk) -> int:
    """Sum the inputs over the states of the eliminated node where the other members have the chosen states."""
    n, first = enter(book, b, desk), book.member_ptr[b]
    for p in range(1, book.member_ptr[b + 1] - first):
        if desk.size[first + p] > 1:
            state = chosen[book.member[first + p]]
            for a in range(n):
                desk.at[a] += desk.step[desk.entered[a], p] * state
    n_states: int = add_up(book, b, n, store, desk)
    return n_states
