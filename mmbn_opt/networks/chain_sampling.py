"""Sequences drawn from the tables of a hidden Markov model."""

from collections.abc import Iterable, Sequence

import numpy as np

from mmbn_opt._arguments import is_whole, shown, whole
from mmbn_opt._arrays import FloatArray, IntArray
from mmbn_opt.exceptions import InputError

__all__ = ["drawn_positions"]

LONGEST = 1_000_000
"""Positions at which a sequence ends in any case: with an end of next to no probability it would go on for ever."""


def drawn_positions(
    log_initial: FloatArray,
    log_transition: FloatArray,
    log_emissions: Sequence[FloatArray],
    log_end: FloatArray | None,
    n: int,
    length: int | Sequence[int] | None,
    rng: np.random.Generator,
) -> tuple[IntArray, IntArray, IntArray]:
    """Labels, symbols (n_positions, n_features), and where each of `n` sequences begins.

    Given lengths are conditioned on: with an end state, labels are drawn with what is to come in mind.
    """
    n = whole("n", n, 1)
    if length is None:
        if log_end is None:
            raise InputError(
                "length must be given: a model without an end state has sequences of no length of its own."
            )
        labels = [_until_the_end(log_initial, log_transition, log_end, rng) for _ in range(n)]
    else:
        labels = [_of_length(log_initial, log_transition, log_end, one, rng) for one in _lengths(n, length)]
    joined = np.concatenate(labels)
    starts = np.concatenate([[0], np.cumsum([len(part) for part in labels])]).astype(np.int64)
    symbols = [_choose(np.exp(table)[joined], rng) for table in log_emissions]
    codes = np.stack(symbols, axis=1) if symbols else np.empty((len(joined), 0), dtype=np.int64)
    return joined, codes, starts


def _lengths(n: int, length: int | Sequence[int]) -> list[int]:
    if is_whole(length) or not isinstance(length, Iterable):
        return [whole("length", length, 1)] * n
    lengths = [whole("length", one, 1) for one in length]
    if len(lengths) != n:
        raise InputError(f"length must be one number or n={n} of them, got {len(lengths)}: {shown(length)}.")
    return lengths


def _choose(weights: FloatArray, rng: np.random.Generator) -> IntArray:
    """A column for each row, with probabilities in proportion to its weights."""
    sums = np.cumsum(weights, axis=1)
    points = rng.random(len(weights)) * sums[:, -1]
    columns = (points[:, None] >= sums).sum(axis=1)
    return np.asarray(np.minimum(columns, weights.shape[1] - 1), dtype=np.int64)


def _until_the_end(
    log_initial: FloatArray, log_transition: FloatArray, log_end: FloatArray, rng: np.random.Generator
) -> IntArray:
    k = len(log_initial)
    steps = np.exp(np.column_stack([log_transition, log_end]))
    labels = [int(_choose(np.exp(log_initial)[None, :], rng)[0])]
    while len(labels) < LONGEST:
        following = int(_choose(steps[labels[-1]][None, :], rng)[0])
        if following == k:
            break
        labels.append(following)
    return np.array(labels, dtype=np.int64)


def _of_length(
    log_initial: FloatArray,
    log_transition: FloatArray,
    log_end: FloatArray | None,
    length: int,
    rng: np.random.Generator,
) -> IntArray:
    k = len(log_initial)
    later = np.zeros((length, k))
    if log_end is not None:
        later[-1] = log_end
        for t in range(length - 2, -1, -1):
            later[t] = np.logaddexp.reduce(log_transition + later[t + 1], axis=1)
            later[t] -= later[t].max()
    labels = np.empty(length, dtype=np.int64)
    for t in range(length):
        scores = (log_initial if t == 0 else log_transition[labels[t - 1]]) + later[t]
        if np.isneginf(scores).all():
            raise InputError(
                f"No sequence of length {length} has a positive probability in this model; draw another length."
            )
        labels[t] = _choose(np.exp(scores - scores.max())[None, :], rng)[0]
    return labels
