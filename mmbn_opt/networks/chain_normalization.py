"""Hidden Markov models out of chains whose rows don't sum to 1, with the same posterior of the labels.

Sums of emission rows are moved to the transitions that lead to their label: ``A(j, k) = T(j, k) E(k)``. Where all rows
of A have one sum, dividing by it leaves a factor that is the same for all labellings of a length, and a hidden Markov
model is found. Otherwise a table that is tied over positions can't take up what is over, but an end state can: for any
mu below 1 / (spectral radius of A), ``r = (I - mu A)^-1 1`` is positive, and

    T'(j, k) = mu A(j, k) r(k) / r(j),    end(j) = 1 / r(j),    initial'(k) ~ initial(k) E(k) r(k)

are probabilities, whose product over a labelling is that of A up to a factor that depends on the length alone.
"""

from dataclasses import dataclass

import numpy as np

from mmbn_opt._arrays import FloatArray
from mmbn_opt.exceptions import InputError

__all__ = ["NormalizedTables", "normalized_tables"]

EVEN = 1e-12
"""Nats between sums of rows of A up to which they count as one."""
NEVER = -1e4
DOUBLINGS = 20


@dataclass(frozen=True, eq=False)
class NormalizedTables:
    """Tables whose rows sum to 1, as logarithms."""

    log_initial: FloatArray
    log_transition: FloatArray
    log_emissions: tuple[FloatArray, ...]
    log_end: FloatArray | None
    form: str
    unevenness: float


def normalized_tables(
    log_initial: FloatArray,
    log_transition: FloatArray,
    log_emissions: tuple[FloatArray, ...],
    log_end: FloatArray | None,
    mean_length: float,
) -> NormalizedTables:
    """Normalised tables with the same posterior of the labels for every observed sequence.

    Raises
    ------
    InputError
        If a row of emissions is empty, or the transitions allow no sequence.

    Examples
    --------
    Rows of transitions with the sums 1 and 0.5: an end state takes up the difference.

    >>> tables = normalized_tables(np.log([0.5, 0.5]), np.log([[0.5, 0.5], [0.25, 0.25]]), (), None, 10.0)
    >>> tables.form, tables.log_end is None
    ('with end state', False)
    >>> bool(np.allclose(np.exp(tables.log_transition).sum(axis=1) + np.exp(tables.log_end), 1.0))
    True
    """
    k = len(log_initial)
    emitted, weight = [], np.zeros(k)
    for table in log_emissions:
        sums = np.logaddexp.reduce(table, axis=1)
        if np.isneginf(sums).any():
            raise InputError(
                f"Label number {int(np.isneginf(sums).argmax())} emits nothing: a row of its emissions is all zero. "
                "Learn the tables with a pseudo-count (smoothing)."
            )
        emitted.append(table - sums[:, None])
        weight += sums
    steps, first = log_transition + weight, log_initial + weight
    if np.isneginf(steps).all() or np.isneginf(first).all():
        raise InputError("The tables allow no sequence: all initial or all transition entries are zero.")
    sums = np.logaddexp.reduce(steps, axis=1)
    unevenness = float(np.ptp(sums)) if np.isfinite(sums).all() else np.inf
    # An end that is impossible counts as one of a probability that no double holds: the sums stay finite.
    ends = np.zeros(k) if log_end is None else np.maximum(log_end, NEVER)
    if unevenness <= EVEN and np.ptp(ends) == 0.0:
        start = first - np.logaddexp.reduce(first)
        return NormalizedTables(start, steps - sums[:, None], tuple(emitted), None, "without end state", unevenness)
    log_mu = np.log1p(-1.0 / mean_length) - _log_growth(steps)
    later = _resolvent(steps + log_mu, ends)
    start = first + later
    transition, end = steps + log_mu + later - later[:, None], ends - later
    # What rounding has left goes where it changes nothing but the last digit.
    total = np.logaddexp(np.logaddexp.reduce(transition, axis=1), end)
    return NormalizedTables(
        start - np.logaddexp.reduce(start), transition - total[:, None], tuple(emitted), end - total,
        "with end state", unevenness,
    )  # fmt: skip


def _log_growth(steps: FloatArray) -> float:
    """Logarithm of an upper bound of the spectral radius of exp(steps), nearly attained.

    The largest row sum of a power bounds that power of the radius.
    """
    power, scale = steps, 1.0
    for _ in range(DOUBLINGS):
        power, scale = _log_product(power, power), 2.0 * scale
    return float(np.logaddexp.reduce(power, axis=1).max()) / scale


def _resolvent(steps: FloatArray, ends: FloatArray) -> FloatArray:
    """Logarithm of ``(I - A)^-1 e`` for A = exp(steps), whose spectral radius is below 1, and e = exp(ends).

    ``sum_n A^n e``, twice as many terms a round.
    """
    log, power = ends, steps
    for _ in range(2 * DOUBLINGS):
        more = np.logaddexp.reduce(power + log, axis=1)
        new = np.logaddexp(log, more)
        if float((new - log).max()) <= 0.0:
            break
        log, power = new, _log_product(power, power)
    return log


def _log_product(a: FloatArray, b: FloatArray) -> FloatArray:
    """Logarithm of ``exp(a) exp(b)``, without underflow."""
    out = np.empty((len(a), b.shape[1]))
    for j, row in enumerate(a):
        out[j] = np.logaddexp.reduce(row[:, None] + b, axis=0)
    return out
