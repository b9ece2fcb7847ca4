"""Gaussian mixtures from data: k-means for a start, expectation-maximization for maximum likelihood."""

import hashlib
import warnings
from functools import lru_cache
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from mmbn_opt._arguments import is_number
from mmbn_opt._arrays import FloatArray
from mmbn_opt._budget import leave_in_time, under_deadline
from mmbn_opt._threads import limited_threads
from mmbn_opt.exceptions import InputError
from mmbn_opt.mixtures.density import MixtureDensity

__all__ = ["em_density", "gaussian_density", "k_means_density", "moments"]

_KMEANS_STARTS = 5

_EM_ROUNDS = 200

_TERMS_A_STEP = 400_000
"""Gaussian terms (samples x components x features) after which EM looks at the clock: some 20 ms."""

_REMEMBERED = 256
"""Fits that are kept: a choice of settings by cross-validation asks for each of them many times."""


class _Rows:
    """Samples as a key: equal where all values are."""

    def __init__(self, values: FloatArray) -> None:
        self.values = values
        self._digest = (values.shape, hashlib.blake2b(values.tobytes(), digest_size=16).digest())

    def __hash__(self) -> int:
        return hash(self._digest)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Rows) and self._digest == other._digest


def em_density(
    z: FloatArray, n_components: int, *, covariance: Literal["diag", "full"] = "diag", tau: float = 1e-6, seed: int = 0
) -> MixtureDensity:
    """Maximum-likelihood mixture of some samples; the result does not depend on their order.

    Examples
    --------
    >>> import numpy as np
    >>> em_density(np.array([[0.0], [0.2], [5.0], [5.2]]), 2).means.round(3).ravel().tolist()
    [0.1, 5.1]
    """
    if covariance not in ("diag", "full"):
        raise InputError(f'covariance must be "diag" or "full", got {covariance!r}.')
    if not is_number(tau) or not 0 < tau < np.inf:
        raise InputError(f"tau must be a positive number, got {tau!r}: variances have to stay above zero.")
    return _em(_Rows(_ordered(z)), n_components, covariance, float(tau), seed)


@lru_cache(maxsize=_REMEMBERED)
def _em(rows: _Rows, n_components: int, covariance: str, tau: float, seed: int) -> MixtureDensity:
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.mixture import GaussianMixture

    leave_in_time()
    n_components = min(n_components, _distinct(rows.values))
    leave_in_time()
    at_once = _EM_ROUNDS
    if under_deadline():
        at_once = max(1, min(_EM_ROUNDS, _TERMS_A_STEP // (rows.values.size * n_components)))
    # A warm start goes on where the last call ended, to the last digit.
    model = GaussianMixture(
        n_components, covariance_type=covariance, reg_covar=tau, random_state=seed, max_iter=at_once, warm_start=True
    )
    with warnings.catch_warnings(), limited_threads(1, "openmp"):
        # EM that has not settled after all rounds is still a fair rival; nothing downstream relies on convergence.
        warnings.simplefilter("ignore", ConvergenceWarning)
        for done in range(0, _EM_ROUNDS, at_once):
            leave_in_time()
            model.max_iter = min(at_once, _EM_ROUNDS - done)
            if model.fit(rows.values).converged_:
                break
    return _density(model.weights_, model.means_, model.covariances_)


def k_means_density(z: FloatArray, n_components: int, *, tau: float = 1e-6, seed: int = 0) -> MixtureDensity:
    """A Gaussian for each cluster of k-means: mean, variances and share of its samples (Guo et al. 2018, section 3.2).

    Variances are at least ``2 tau``. With fewer different samples than components, components repeat: the density is
    that of the mixture with as many components as there are different samples. The result does not depend on the order
    of the samples. NaN marks a missing value.

    Examples
    --------
    >>> import numpy as np
    >>> density = k_means_density(np.array([[0.0], [0.2], [5.0], [5.2]]), 2)
    >>> density.means.round(3).ravel().tolist(), np.exp(density.log_weights).tolist()
    ([0.1, 5.1], [0.5, 0.5])
    """
    rows = _ordered(z)
    overall = np.nan_to_num(_nan_mean(rows))
    filled = np.where(np.isnan(rows), overall, rows)
    leave_in_time()
    n_clusters = 1 if n_components == 1 else min(n_components, _distinct(filled))
    labels = np.zeros(len(rows), dtype=np.intp) if n_clusters == 1 else _clusters(_Rows(filled), n_clusters, seed)
    weights, means, variances = (
        np.empty(n_clusters),
        np.empty((n_clusters, z.shape[1])),
        np.empty((n_clusters, z.shape[1])),
    )
    for k in range(n_clusters):
        members = rows[labels == k]
        weights[k] = len(members) / len(rows)
        means[k] = np.where(np.isnan(members).all(axis=0), overall, _nan_mean(members))
        variances[k] = np.nan_to_num(_nan_mean((members - means[k]) ** 2))
    variances = np.maximum(variances, 2.0 * tau if tau > 0 else 1e-12)
    order = np.lexsort(means.T[::-1])
    copies = np.resize(order, n_components)
    share = weights[copies] / np.bincount(copies, minlength=n_clusters)[copies]
    return _density(share, means[copies], variances[copies])


@lru_cache(maxsize=_REMEMBERED)
def _clusters(rows: _Rows, n_clusters: int, seed: int) -> NDArray[np.intp]:
    from sklearn.cluster import KMeans

    with limited_threads(1, "openmp"):
        if under_deadline():
            best = _clusters_in_time(rows.values, n_clusters, seed)
        else:
            best = KMeans(n_clusters, n_init=_KMEANS_STARTS, random_state=seed).fit(rows.values)
    labels: NDArray[np.intp] = best.labels_
    labels.flags.writeable = False
    return labels


def _clusters_in_time(values: FloatArray, n_clusters: int, seed: int) -> Any:
    """What `KMeans` with all starts does, to the last digit, with a look at the clock before each."""
    from sklearn.cluster import KMeans

    best: Any = None
    draw = np.random.RandomState(seed)  # one stream for all starts, as there
    for _ in range(_KMEANS_STARTS):
        leave_in_time()
        model = KMeans(n_clusters, n_init=1, random_state=draw).fit(values)
        if best is None or (model.inertia_ < best.inertia_ and not _same_clustering(model.labels_, best.labels_)):
            best = model
    return best


def _same_clustering(labels: NDArray[np.intp], others: NDArray[np.intp]) -> bool:
    """Whether two clusterings differ by the numbers of their clusters only; a rounding error is then no progress."""
    width = 1 + int(max(labels.max(), others.max()))
    pairs = len(np.unique(labels * width + others))
    return pairs == len(np.unique(labels)) == len(np.unique(others))


def moments(z: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Values, mean and variance of each feature; both are 0 for a feature without values (NaN).

    Examples
    --------
    >>> [figure.tolist() for figure in moments(np.array([[0.0, 1.0], [2.0, np.nan]]))]
    [[2.0, 1.0], [1.0, 1.0], [1.0, 0.0]]
    """
    means = np.nan_to_num(_nan_mean(z))
    return (~np.isnan(z)).sum(axis=0).astype(np.float64), means, np.nan_to_num(_nan_mean((z - means) ** 2))


def gaussian_density(means: FloatArray, variances: FloatArray, n_components: int = 1) -> MixtureDensity:
    """One diagonal Gaussian, repeated as often as there are to be components.

    Examples
    --------
    >>> gaussian_density(np.array([1.0]), np.array([2.0]), 2).covariances.tolist()
    [[2.0], [2.0]]
    """
    share = np.full(n_components, 1.0 / n_components)
    return _density(share, np.tile(means, (n_components, 1)), np.tile(variances, (n_components, 1)))


def _density(weights: FloatArray, means: FloatArray, covariances: FloatArray) -> MixtureDensity:
    order = np.lexsort(means.T[::-1])
    with np.errstate(divide="ignore"):
        log_weights = np.log(weights / weights.sum())
    return MixtureDensity(
        np.ascontiguousarray(log_weights[order]),
        np.ascontiguousarray(means[order]),
        np.ascontiguousarray(covariances[order]),
    )


def _ordered(z: FloatArray) -> FloatArray:
    """Rows in an order of their own, so that what is drawn at random does not depend on the order of the file."""
    return np.ascontiguousarray(z[np.lexsort(z.T[::-1])])


def _distinct(rows: FloatArray) -> int:
    return len(np.unique(rows, axis=0))


def _nan_mean(rows: FloatArray) -> FloatArray:
    """Mean of what is there; NaN where nothing is."""
    seen = ~np.isnan(rows)
    count = seen.sum(axis=0)
    total = np.where(seen, rows, 0.0).sum(axis=0)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)
