"""One Gaussian a class, made once for all pairs of classes: the start of programs that no time is left for."""

from collections.abc import Sequence

import numpy as np

from ..._arrays import FloatArray, log_expit
from ...data.numeric import NumericDataset
from ...mixtures.classifier import DecisionRule, MixtureClassifier, MixturePart
from ...mixtures.density import MixtureDensity
from ...mixtures.fitting import gaussian_density, moments
from ..base import Start
from ._starts import ONE_GAUSSIAN

__all__ = ["ClassGaussians"]

Group = tuple[int, ...]


class ClassGaussians:
    """The Gaussians of classes and of groups of them, over the standardised samples of all classes.

    Parameters
    ----------
    data : NumericDataset
    tau : float
        Lower limit of the variances, in units of a feature's variance over the samples of a pair.
    """

    def __init__(self, data: NumericDataset, tau: float) -> None:
        self.data = data
        self.tau = tau
        self._names = tuple(f"x{j}" for j in range(data.n_features))
        self._location, self._scale = np.zeros(data.n_features), np.ones(data.n_features)
        self._moments: dict[Group, tuple[FloatArray, FloatArray, FloatArray]] = {}
        self._smallest: dict[Group, tuple[float, float]] = {}
        self._densities: dict[tuple[Group, int], MixtureDensity] = {}
        self._n = data.counts()

    def start(self, groups: Sequence[Group], n_components: int) -> Start:
        """The classifier between two groups of classes; pairs share the densities of their classes."""
        least = None if self._is_wide(groups) else 2.0 * self.tau * self._variance(groups)
        densities = tuple(self._density(group, n_components, least) for group in groups)
        odds = float(np.log(self._n[list(groups[0])].sum() / self._n[list(groups[1])].sum()))
        part = MixturePart(((0,), (1,)), log_expit(np.array([odds, -odds])), densities)
        model = MixtureClassifier(
            np.array([0, 1]), self._names, DecisionRule.MAX_WINS, (part,), self._location, self._scale
        )
        return Start(model, ONE_GAUSSIAN)

    def _is_wide(self, groups: Sequence[Group]) -> bool:
        """Whether no variance can be at its lower limit: squares about the mean of two groups sum to no more than all.

        Of standardised features that is the number of samples.
        """
        smallest = [self._smallest_of(group) for group in groups]
        n = sum(n for n, _ in smallest)
        return n > 0 and all(variance > 2.0 * self.tau * self.data.n_samples / n for _, variance in smallest)

    def _smallest_of(self, group: Group) -> tuple[float, float]:
        """The fewest values that a feature has in a group, and the least variance."""
        if group not in self._smallest:
            n, _, variances = self._of(group)
            self._smallest[group] = float(n.min()), float(variances.min())
        return self._smallest[group]

    def _density(self, group: Group, n_components: int, least: FloatArray | None) -> MixtureDensity:
        _, means, variances = self._of(group)
        if least is not None and (variances < least).any():
            return gaussian_density(means, np.maximum(variances, least), n_components)
        if (group, n_components) not in self._densities:
            self._densities[group, n_components] = gaussian_density(means, variances, n_components)
        return self._densities[group, n_components]

    def _variance(self, groups: Sequence[Group]) -> FloatArray:
        """Variance of each feature over the samples of all groups; 1 for a constant one, as its scale is."""
        (n, mean, variance), (n_other, mean_other, variance_other) = (self._of(group) for group in groups)
        total = np.maximum(n + n_other, 1.0)
        pooled = (n * variance + n_other * variance_other) / total + n * n_other * ((mean - mean_other) / total) ** 2
        return np.where(pooled > 1e-28, pooled, 1.0)

    def _of(self, group: Group) -> tuple[FloatArray, FloatArray, FloatArray]:
        if group not in self._moments:
            codes = self.data.codes
            members = codes == group[0] if len(group) == 1 else np.isin(codes, group)
            self._moments[group] = moments(self.data.z[members])
        return self._moments[group]
