"""The best rival of a class, as compiled code that local search and the cuts' kernels share."""

from mmbn_opt._arrays import FloatArray, kernel

__all__ = ["NOT_A_RIVAL", "greatest", "rival_score"]

NOT_A_RIVAL = -1e300


@kernel(nogil=True, fastmath={"nnan", "nsz"})
def rival_score(rest: FloatArray, entries: FloatArray) -> float:
    """``max_c rest[c] + entries[c]``, in a form that compilers vectorise.

    Parameters
    ----------
    rest, entries : float64 arrays (n_classes,)
        What a sample scores without a column, and what the column adds. The sample's own class has `NOT_A_RIVAL`.

    Examples
    --------
    >>> import numpy as np
    >>> float(rival_score(np.array([NOT_A_RIVAL, -1.0, -2.0]), np.array([0.0, -1.0, -0.5])))
    -2.0
    """
    rival = NOT_A_RIVAL
    for c in range(len(rest)):
        value = rest[c] + entries[c]
        if value > rival:
            rival = value
    return rival


@kernel(nogil=True, fastmath={"nnan", "nsz"})
def greatest(scores: FloatArray) -> float:
    """The greatest of some scores, or `NOT_A_RIVAL`.

    Examples
    --------
    >>> import numpy as np
    >>> float(greatest(np.array([NOT_A_RIVAL, -1.0, -2.0])))
    -1.0
    """
    best = NOT_A_RIVAL
    for c in range(len(scores)):
        if scores[c] > best:
            best = scores[c]
    return best
