"""Gaussian mixtures as densities: diagonal or full covariances, evaluated in logs, missing dimensions left out."""

from dataclasses import dataclass

import numpy as np

from mmbn_opt._arguments import listed
from mmbn_opt._arrays import FloatArray
from mmbn_opt.exceptions import InputError

__all__ = ["LOWEST_LOG_DENSITY", "MixtureDensity"]

LOWEST_LOG_DENSITY = -1e300
"""Stands for log-densities too low for a float: differences of them stay numbers."""

_WEIGHT_TOLERANCE = 1e-6


@dataclass(frozen=True, eq=False)
class MixtureDensity:
    """``p(z) = sum_k w_k N(z | mu_k, Sigma_k)`` (Guo et al. 2018, eq. 27-28).

    Parameters
    ----------
    log_weights : float64 array (n_components,)
        Logarithms of weights that sum to 1.
    means : float64 array (n_components, n_features)
    covariances : float64 array (n_components, n_features) or (n_components, n_features, n_features)
        Variances of diagonal Gaussians, or full covariance matrices.

    Examples
    --------
    >>> import numpy as np
    >>> density = MixtureDensity(np.log([0.5, 0.5]), np.array([[0.0, 0.0], [4.0, 0.0]]), np.ones((2, 2)))
    >>> density.log_density(np.array([[0.0, 0.0], [2.0, 0.0]])).round(4).tolist()
    [-2.5307, -3.8379]

    A missing value is summed out exactly:

    >>> density.log_density(np.array([[np.nan, 0.0]])).round(4).tolist()
    [-0.9189]
    """

    log_weights: FloatArray
    means: FloatArray
    covariances: FloatArray

    def __post_init__(self) -> None:
        if self.means.ndim != 2 or 0 in self.means.shape:
            raise InputError(f"means must have shape (n_components, n_features), got {self.means.shape}.")
        k, d = self.means.shape
        if self.log_weights.shape != (k,):
            raise InputError(f"log_weights has shape {self.log_weights.shape}; {k} means call for ({k},).")
        if self.covariances.shape not in {(k, d), (k, d, d)}:
            raise InputError(
                f"covariances has shape {self.covariances.shape}; the means call for {(k, d)} or {(k, d, d)}."
            )
        if not (np.isfinite(self.means).all() and np.isfinite(self.covariances).all()):
            raise InputError("The means and covariances of a mixture must be finite.")
        with np.errstate(over="ignore"):
            weights = np.exp(self.log_weights)
        if np.isnan(weights).any() or abs(float(weights.sum()) - 1.0) > _WEIGHT_TOLERANCE:
            raise InputError(f"The weights of a mixture must sum to 1, got [{listed(weights.tolist())}].")
        if self.is_diagonal and not (self.covariances > 0).all():
            raise InputError(f"Variances must be positive; the smallest is {self.covariances.min()!r}.")
        if not self.is_diagonal and not all(_is_positive_definite(c) for c in self.covariances):
            raise InputError("A covariance matrix is not symmetric positive definite.")

    @property
    def is_diagonal(self) -> bool:
        """Whether the Gaussians have independent features."""
        return self.covariances.ndim == 2

    @property
    def n_components(self) -> int:
        """Number of Gaussians."""
        return len(self.means)

    @property
    def n_features(self) -> int:
        """Number of dimensions."""
        return int(self.means.shape[1])

    def log_components(self, z: FloatArray) -> FloatArray:
        """``log w_k + log N(z_i | mu_k, Sigma_k)``, shape (n_samples, n_components); NaN marks a missing value."""
        if self.is_diagonal:
            from mmbn_opt.mixtures.kernels import log_components

            out = np.empty((len(z), self.n_components))
            log_components(np.ascontiguousarray(z), self.log_weights, self.means, self.covariances, out)
        else:
            out = self._log_full(z)
        return np.maximum(out, LOWEST_LOG_DENSITY)

    def log_density(self, z: FloatArray) -> FloatArray:
        """``log p(z_i)``, shape (n_samples,)."""
        terms = self.log_components(z)
        top = terms.max(axis=1)  # finite, so that this needs none of what makes `scipy.special.logsumexp` slow
        values: FloatArray = top + np.log(np.exp(terms - top[:, np.newaxis]).sum(axis=1))
        return values

    def rescaled(self, location: FloatArray, scale: FloatArray) -> "MixtureDensity":
        """The density of ``z * scale + location``."""
        factor = scale**2 if self.is_diagonal else np.outer(scale, scale)
        return MixtureDensity(self.log_weights, self.means * scale + location, self.covariances * factor)

    def _log_full(self, z: FloatArray) -> FloatArray:
        """One Cholesky factor a component and pattern of missing values."""
        out = np.empty((len(z), self.n_components))
        patterns, members = np.unique(~np.isnan(z), axis=0, return_inverse=True)
        for p, seen in enumerate(patterns):
            rows = np.flatnonzero(members == p)
            for k in range(self.n_components):
                factor = np.linalg.cholesky(self.covariances[k][np.ix_(seen, seen)])
                e = np.linalg.solve(factor, (z[np.ix_(rows, seen)] - self.means[k, seen]).T)
                log_det = 2.0 * np.log(np.diag(factor)).sum() + seen.sum() * np.log(2.0 * np.pi)
                with np.errstate(over="ignore"):
                    out[rows, k] = self.log_weights[k] - 0.5 * (log_det + (e * e).sum(axis=0))
        return out


def _is_positive_definite(matrix: FloatArray) -> bool:
    if not np.allclose(matrix, matrix.T, rtol=1e-9, atol=0.0):
        return False
    try:
        np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        return False
    return True
