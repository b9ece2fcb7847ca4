"""Where CMM begins: k-means or maximum likelihood, and one Gaussian a class where the time is up for either."""

from abc import abstractmethod
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np

from ..._arrays import FloatArray
from ..._budget import OutOfTime, leave_in_time, leaving_when, now, under_deadline
from ...data.numeric import NumericDataset
from ...mixtures.classifier import MixtureClassifier
from ...mixtures.density import MixtureDensity
from ...mixtures.fitting import em_density, gaussian_density, k_means_density, moments
from ..base import Formulation, Start

__all__ = ["ONE_GAUSSIAN", "StartingMixtures"]

ONE_GAUSSIAN = "one Gaussian a class"
"""Source of a start that was made for lack of time."""


class StartingMixtures(Formulation):
    """The starts of a program between two mixtures; the program itself is the subclass's."""

    n_components: int
    tau: float
    start: Any
    seed: int

    @cached_property
    @abstractmethod
    def data(self) -> NumericDataset:
        """The samples, checked and standardised."""

    @abstractmethod
    def _model(self, log_odds: float, densities: list[MixtureDensity]) -> MixtureClassifier: ...

    @property
    def hurries(self) -> bool:
        """K-means and expectation-maximization take their time."""
        return True

    def trivial_start(self) -> Start:
        """A Gaussian a cluster of k-means (section 3.2), or what `start` names instead.

        Where a deadline passes before that is there, one Gaussian a class, repeated.
        """
        try:
            return self._usual_start()
        except OutOfTime:
            return self._one_gaussian

    def known_start(self) -> Start | None:
        """The trivial start, if it was asked for before and there was time for it."""
        try:
            with leaving_when(lambda: True):
                return self._usual_start()
        except OutOfTime:
            return None

    def starts(self, *, seed: int = 0, deadline: float | None = None) -> Iterator[Start]:
        """Maximum likelihood beside the trivial start, where `start` leaves the choice to the solver."""
        if self.start != "best":
            return
        try:
            with leaving_when(lambda: deadline is not None and now() >= deadline):
                likeliest = self._likeliest
        except OutOfTime:
            return
        if likeliest is not None:
            yield likeliest

    def _start_at_hand(self) -> Start:
        """Within a run the start is known or was given up for lack of time: it is not fitted once more."""
        return (self.known_start() or self._one_gaussian) if under_deadline() else self.trivial_start()

    def _usual_start(self) -> Start:
        return (self._likeliest if self.start == "em" else None) or self._k_means

    @cached_property
    def _k_means(self) -> Start:
        leave_in_time()
        return self._start("k-means", k_means_density)

    @cached_property
    def _one_gaussian(self) -> Start:
        def fit(z: FloatArray, n_components: int, *, tau: float, seed: int) -> MixtureDensity:
            _, means, variances = moments(z)
            return gaussian_density(means, np.maximum(variances, 2.0 * tau), n_components)

        return self._start(ONE_GAUSSIAN, fit)

    @cached_property
    def _likeliest(self) -> Start | None:
        """Maximum likelihood by expectation-maximization, where no value is missing and the samples suffice."""
        leave_in_time()
        z, codes = self.data.z, self.data.codes
        if self.data.has_missing or min(_distinct(z[codes == c]) for c in range(2)) < self.n_components:
            return None
        return self._start("expectation-maximization", em_density)

    def _start(self, source: str, fit: Any) -> Start:
        counts = self.data.counts()
        densities = [
            fit(self.data.z[self.data.codes == c], self.n_components, tau=self.tau, seed=self.seed) for c in range(2)
        ]
        model = self._model(float(np.log(counts[0] / counts[1])), densities)
        return Start(self.recover(self.encode(model, self._default_kind)), source)


def _distinct(z: FloatArray) -> int:
    leave_in_time()
    return len(np.unique(z, axis=0))
