"""Compiled passes over samples for mixtures of diagonal Gaussians; loaded when a density is first evaluated."""

import math

import numpy as np

from mmbn_opt._arrays import FloatArray, kernel

__all__ = ["add_gradient", "log_components", "normalize_rows"]

_NEGLIGIBLE = 1e-300
"""A sample's pull below this is lost in any sum."""


@kernel(nogil=True, fastmath={"reassoc", "contract"})
def log_components(
    z: FloatArray, log_weights: FloatArray, means: FloatArray, variances: FloatArray, out: FloatArray
) -> None:
    """``out[i, k] = log w_k + log N(z_i | mu_k, diag var_k)`` over the dimensions that are not NaN."""
    n_components, n_features = means.shape
    half_log = 0.5 * np.log(2.0 * math.pi * variances)
    precision = 1.0 / variances
    for k in range(n_components):
        constant = log_weights[k] - half_log[k].sum()
        for i in range(z.shape[0]):
            absent = 0.0
            quadratic = 0.0
            for j in range(n_features):
                e = z[i, j] - means[k, j]
                quadratic += e * e * precision[k, j]
            if quadratic != quadratic:  # a branch in the loop above would keep it from being vectorised
                quadratic = 0.0
                for j in range(n_features):
                    e = z[i, j] - means[k, j]
                    if e == e:
                        quadratic += e * e * precision[k, j]
                    else:
                        absent += half_log[k, j]
            out[i, k] = constant + absent - 0.5 * quadratic


@kernel(nogil=True)
def normalize_rows(terms: FloatArray, lowest: float, log_sum: FloatArray) -> None:
    """Turn ``log w_k + log N_k`` into responsibilities in place, with ``log_sum[i] = log sum_k exp(terms[i, k])``."""
    for i in range(terms.shape[0]):
        top = lowest
        for k in range(terms.shape[1]):
            terms[i, k] = max(terms[i, k], lowest)
            top = max(top, terms[i, k])
        total = 0.0
        for k in range(terms.shape[1]):
            terms[i, k] = math.exp(terms[i, k] - top)
            total += terms[i, k]
        log_sum[i] = top + math.log(total)
        for k in range(terms.shape[1]):
            terms[i, k] /= total


@kernel(nogil=True)
def add_gradient(
    z: FloatArray,
    means: FloatArray,
    variances: FloatArray,
    responsibility: FloatArray,
    pull: FloatArray,
    for_weights: FloatArray,
    for_means: FloatArray,
    for_variances: FloatArray,
) -> None:
    """Add ``sum_i pull_i d log p(z_i) / d (log w_k, mu_kj, var_kj)``, log w_k as if it were free.

    With the responsibility rho_k and ``e = z_j - mu_kj``: ``d log p / d log w_k = rho_k``,
    ``d log p / d mu_kj = rho_k e / var``, ``d log p / d var_kj = rho_k (e^2 / var - 1) / (2 var)``; a dimension that is
    NaN contributes nothing.
    """
    n_components, n_features = means.shape
    precision = 1.0 / variances
    for i in range(z.shape[0]):
        if pull[i] == 0.0:
            continue
        total = 0.0
        for j in range(n_features):
            total += z[i, j]
        complete = total == total
        for k in range(n_components):
            a = pull[i] * responsibility[i, k]
            if abs(a) < _NEGLIGIBLE:
                continue
            for_weights[k] += a
            if complete:
                for j in range(n_features):
                    t = (z[i, j] - means[k, j]) * precision[k, j]
                    for_means[k, j] += a * t
                    for_variances[k, j] += 0.5 * a * ((z[i, j] - means[k, j]) * t - 1.0) * precision[k, j]
                continue
            for j in range(n_features):
                e = z[i, j] - means[k, j]
                if e == e:
                    t = e * precision[k, j]
                    for_means[k, j] += a * t
                    for_variances[k, j] += 0.5 * a * (e * t - 1.0) * precision[k, j]
