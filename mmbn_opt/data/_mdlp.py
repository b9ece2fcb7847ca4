"""Cut points of one numeric column by minimal entropy with the MDL stop, and the names of the intervals."""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mmbn_opt._arrays import FloatArray
from mmbn_opt.data.weights import as_counts, checked_weight
from mmbn_opt.exceptions import InputError

__all__ = ["interval_labels", "mdlp_cut_points"]


def mdlp_cut_points(
    values: ArrayLike, codes: ArrayLike, n_classes: int, weights: ArrayLike | None = None
) -> FloatArray:
    r"""Cut points of one numeric column, chosen to explain the class.

    A set S of rows with total weight W is cut at the boundary point T (a midpoint of two adjacent values whose rows
    are not all of one class) with the least :math:`E(T) = (W_1 Ent(S_1) + W_2 Ent(S_2)) / W`, the smallest T among
    equals, if

    .. math:: Ent(S) - E(T) > \frac{\log_2(W - 1)}{W}
              + \frac{\log_2(3^k - 2) - k Ent(S) + k_1 Ent(S_1) + k_2 Ent(S_2)}{W},

    where k counts the classes present; then both halves are treated alike.

    Parameters
    ----------
    values : float array, shape (n,)
        NaN cells are left out.
    codes : int array, shape (n,)
        Class of each row, in 0..n_classes-1.
    n_classes : int
    weights : float array, shape (n,), optional
        Weight 2 is the row twice, weight 0 the row removed; weights with fractions are taken up to a factor, see
        :func:`mmbn_opt.data.weights.as_counts`.

    Returns
    -------
    float64 array
        Strictly increasing; empty when no cut pays. State k is ``(cuts[k-1], cuts[k]]``.

    Raises
    ------
    InputError
        Infinite values, codes out of range, negative or non-finite weights, lengths that differ.

    References
    ----------
    .. [1] Fayyad, U. M., Irani, K. B. (1993). Multi-interval discretization of continuous-valued attributes for
       classification learning. IJCAI, 1022-1027.

    Examples
    --------
    >>> mdlp_cut_points([1, 2, 3, 4, 5, 6, 7, 8], [0, 0, 0, 0, 1, 1, 1, 1], 2).tolist()
    [4.5]
    """
    # Deferred: numba takes longer to load than most columns take to cut.
    from mmbn_opt.data._mdlp_kernels import mdl_splits

    x = np.asarray(values, dtype=np.float64)
    y = np.asarray(codes, dtype=np.int64)
    w = np.ones(x.shape) if weights is None else np.asarray(weights, dtype=np.float64)
    _check_column(x, y, w, n_classes)
    kept = ~np.isnan(x) & (w > 0)
    x, y, w = x[kept], y[kept], as_counts(w[kept])
    if x.size == 0:
        return np.empty(0)
    order = np.argsort(x, kind="stable")
    x, y, w = x[order], y[order], w[order]

    starts = np.flatnonzero(np.concatenate(([True], x[1:] != x[:-1])))
    ends = np.append(starts[1:], x.size)
    lowest, highest = np.minimum.reduceat(y, starts), np.maximum.reduceat(y, starts)
    same_class = (lowest == highest)[:-1] & (lowest[:-1] == lowest[1:]) & (lowest == highest)[1:]
    groups = mdl_splits(y, w, ends, ~same_class, n_classes)
    return _midpoints(x[starts[groups]], x[starts[groups + 1]])


def interval_labels(cuts: ArrayLike, text: Callable[[float], str] = repr) -> tuple[str, ...]:
    """Names of the intervals between cut points: unique, and exact when read back as numbers.

    Parameters
    ----------
    cuts : float array, shape (k,)
        Strictly increasing.
    text : callable
        How a cut is written. ``repr`` gives the fewest digits that still name this double and no other.

    Returns
    -------
    tuple of str, length k + 1

    Examples
    --------
    >>> interval_labels([2.45, 4.75])
    ('(-inf, 2.45]', '(2.45, 4.75]', '(4.75, inf)')
    >>> interval_labels([])
    ('(-inf, inf)',)
    """
    edges = ["-inf", *(text(float(cut)) for cut in np.asarray(cuts, dtype=np.float64)), "inf"]
    last = len(edges) - 2
    return tuple(f"({edges[k]}, {edges[k + 1]}{')' if k == last else ']'}" for k in range(last + 1))


def _midpoints(low: FloatArray, high: FloatArray) -> FloatArray:
    """Numbers c with low <= c < high, halfway where doubles allow it."""
    # Halving first keeps 1e308 + 1e308 from overflowing; adding first keeps subnormal numbers exact.
    huge = np.maximum(np.abs(low), np.abs(high)) > np.finfo(np.float64).max / 2
    middle = np.where(huge, low / 2 + high / 2, (np.where(huge, 0.0, low) + np.where(huge, 0.0, high)) / 2)
    # Between adjacent doubles the midpoint rounds to one of them: the lower one still separates the two.
    return np.where((middle < high) & (middle >= low), middle, low)


def _check_column(x: FloatArray, y: NDArray[np.int64], w: FloatArray, n_classes: int) -> None:
    if x.ndim != 1 or y.shape != x.shape or w.shape != x.shape:
        raise InputError(f"Values, codes and weights need one length, got shapes {x.shape}, {y.shape} and {w.shape}.")
    infinite = np.isinf(x) & ~(w == 0)
    if infinite.any():
        raise InputError(f"The column holds {infinite.sum()} infinite values. Replace them by NaN or a finite limit.")
    known = y[~(w == 0)]
    if known.size and not 0 <= known.min() <= known.max() < n_classes:
        raise InputError(f"Class codes must lie in 0..{n_classes - 1}, got {known.min()}..{known.max()}.")
    checked_weight(w, w.size)
