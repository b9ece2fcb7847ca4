"""Gaussian mixtures from data: k-means for a start, expectation-maximization for maximum likelihood."""

import hashlib
import warnings
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from mmbn_opt._arguments import is_number
from mmbn_opt._arrays import FloatArray
from mmbn_opt._threads import limited_threads
from mmbn_opt.exceptions import InputError
from mmbn_opt.mixtures.density import MixtureDensity

__all__ = ["em_density", "k_means_density"]

_KMEANS_STARTS = 5

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

    n_components = min(n_components, _distinct(rows.values))
    model = GaussianMixture(n_components, covariance_type=covariance, reg_covar=tau, random_state=seed, max_iter=200)
    with warnings.catch_warnings(), limited_threads(1, "openmp"):
        # EM that has not settled after 200 rounds is still a fair rival; nothing downstream relies on convergence.
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(rows.values)
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
    n_clusters = min(n_components, _distinct(filled))
    labels = _clusters(_Rows(filled), n_clusters, seed)
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
        labels: NDArray[np.intp] = KMeans(n_clusters, n_init=_KMEANS_STARTS, random_state=seed).fit_predict(rows.values)
    labels.flags.writeable = False
    return labels


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
