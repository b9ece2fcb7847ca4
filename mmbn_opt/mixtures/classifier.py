"""Bayes classifiers whose class-conditional densities are Gaussian mixtures."""

from collections import Counter
from dataclasses import dataclass, field
from enum import Enum
from itertools import combinations, islice
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mmbn_opt._arguments import listed, shown
from mmbn_opt._arrays import FloatArray, log_expit, log_softmax
from mmbn_opt._budget import leave_in_time
from mmbn_opt._lazy import delegate
from mmbn_opt.data.numeric import NumericDataset, as_matrix
from mmbn_opt.exceptions import InputError
from mmbn_opt.mixtures.density import LOWEST_LOG_DENSITY, MixtureDensity
from mmbn_opt.mixtures.fitting import em_density

__all__ = ["DecisionRule", "MixtureClassifier", "MixturePart", "fit_mixture_classifier"]

IMPOSSIBLE = 0.5 * LOWEST_LOG_DENSITY
"""A row whose log-densities are all at most this is decided by the prior."""

_BLOCK = 65_536
"""Samples that are classified at a time."""


class DecisionRule(Enum):
    """How the parts of a classifier come to a class.

    Examples
    --------
    >>> print(DecisionRule.MAX_WINS)
    one-vs-one
    """

    BAYES = "bayes"
    MAX_WINS = "one-vs-one"
    ONE_VS_REST = "one-vs-rest"

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, eq=False)
class MixturePart:
    """A Bayes classifier between groups of classes.

    Parameters
    ----------
    groups : tuple of tuples of int
        Class codes of each group, such as ``((0,), (1, 2))``.
    log_prior : float64 array (n_groups,)
        Logarithms of prior probabilities that sum to 1.
    densities : tuple of MixtureDensity
        One a group.
    """

    groups: tuple[tuple[int, ...], ...]
    log_prior: FloatArray
    densities: tuple[MixtureDensity, ...]

    def __post_init__(self) -> None:
        n_groups = len(self.groups)
        if n_groups < 2 or len(self.densities) != n_groups or self.log_prior.shape != (n_groups,):
            raise InputError(
                f"A part needs as many densities and priors as groups, at least two; got {n_groups} groups, "
                f"{len(self.densities)} densities and priors of shape {self.log_prior.shape}."
            )
        with np.errstate(over="ignore"):  # what is no prior at all may be anything
            prior = np.exp(self.log_prior)
        if np.isnan(prior).any() or abs(float(prior.sum()) - 1.0) > 1e-6:
            raise InputError(f"The priors of a part must sum to 1, got [{listed(prior.tolist())}].")
        if len({density.n_features for density in self.densities}) > 1:
            raise InputError("The densities of a part must have the same number of features.")

    def log_joint(self, z: FloatArray) -> FloatArray:
        """``log P(group) + log p(z | group)``, shape (n_samples, n_groups); the prior where every density is 0."""
        return self.joint_of(self.log_densities(z))

    def log_densities(self, z: FloatArray) -> FloatArray:
        """``log p(z | group)``, shape (n_samples, n_groups)."""
        return np.column_stack([density.log_density(z) for density in self.densities])

    def joint_of(self, log_density: FloatArray) -> FloatArray:
        """`log_joint` of what `log_densities` returned, which stays as it is."""
        log_density = log_density.copy()
        impossible = (log_density <= IMPOSSIBLE).all(axis=1)
        log_density[impossible] = 0.0
        joint: FloatArray = log_density + self.log_prior
        return joint

    def decision(self, z: FloatArray) -> FloatArray:
        """Log-odds of the first group against the second, in nats (Guo et al. 2018, eq. 7)."""
        joint = self.log_joint(z)
        odds: FloatArray = joint[:, 0] - joint[:, 1]
        return odds


@dataclass(frozen=True, eq=False)
class MixtureClassifier:
    """Gaussian mixtures per class, or per pair of classes, with a rule that decides.

    ``BAYES``: one part with all classes; the class with the largest ``log P(c) + log p(x | c)``.

    ``MAX_WINS``: one part for every pair of classes, each casts a vote; most votes win. Ties are broken by the losses:
    with d the log-odds of a duel, ``t_c = mean of log sigmoid(d)`` over the duels of class c is largest for the class
    that lost by least. The score is ``votes + 1 / (1 - t_c)``; equal scores go to the class that comes first.

    ``ONE_VS_REST``: one part a class against all others; the largest log-odds win.

    Two classes always are a single part, and the probabilities are its posterior. With more classes the probabilities
    of ``MAX_WINS`` are shares of the scores and those of ``ONE_VS_REST`` the softmax of the log-odds: they order the
    classes as the rule does, and are not calibrated.

    Parameters
    ----------
    classes : array (n_classes,)
        Labels; predictions have their type.
    feature_names : tuple of str
    rule : DecisionRule
    parts : tuple of MixturePart
        Over ``z = (x - location) / scale``; pairs in the order (0, 1), (0, 2), ..., (1, 2), ...
    location, scale : float64 arrays (n_features,)
    class_name : str
        What the labels are called in files.
    na_values : tuple of str or None
        Cells that were read as missing where the table was a file of text; None where that is not known.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]])
    >>> model = MixtureClassifier.fit(X, ["low", "low", "low", "high", "high", "high"], n_components=1)
    >>> model.predict([[1.5], [9.0]]).tolist()
    ['low', 'high']
    >>> model.predict_proba([[6.0], [np.nan]]).round(3).tolist()
    [[0.5, 0.5], [0.5, 0.5]]
    """

    classes: NDArray[Any]
    feature_names: tuple[str, ...]
    rule: DecisionRule
    parts: tuple[MixturePart, ...] = field(repr=False)
    location: FloatArray = field(repr=False)
    scale: FloatArray = field(repr=False)
    class_name: str = "class"
    na_values: tuple[str, ...] | None = field(default=None, repr=False, kw_only=True, metadata={"content": False})

    def __post_init__(self) -> None:
        n_features = len(self.feature_names)
        for name in ("location", "scale"):
            value = getattr(self, name)
            if value.shape != (n_features,) or not np.isfinite(value).all():
                raise InputError(f"{name} must hold {n_features} finite numbers, got {shown(value)}.")
        if not (self.scale > 0).all():
            raise InputError(f"scale must be positive, got [{listed(self.scale.tolist())}].")
        if any(part.densities[0].n_features != n_features for part in self.parts):
            raise InputError(f"The densities do not have the {n_features} features [{listed(self.feature_names)}].")
        groups = tuple(part.groups for part in self.parts)
        if groups != _groups(self.rule, len(self.classes)):
            raise InputError(f"The parts {groups} are not those of {self.rule} with {len(self.classes)} classes.")

    @classmethod
    def fit(
        cls,
        X: Any,
        y: Any,
        n_components: int = 1,
        *,
        covariance: Literal["diag", "full"] = "diag",
        tau: float = 1e-6,
        seed: int = 0,
    ) -> "MixtureClassifier":
        """Maximum likelihood by EM, class by class; see `mmbn_opt.mixtures.classifier.fit_mixture_classifier`."""
        return fit_mixture_classifier(X, y, n_components, covariance=covariance, tau=tau, seed=seed)

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.classes)

    @property
    def n_features(self) -> int:
        """Number of features."""
        return len(self.feature_names)

    def standardize(self, X: Any) -> FloatArray:
        """The coordinates of the densities, shape (n_samples, n_features); columns of a frame are matched by name."""
        return (as_matrix(X, self.feature_names) - self.location) / self.scale

    def decision_values(self, X: Any) -> FloatArray:
        """Score of each class by the rule, shape (n_samples, n_classes).

        ``BAYES`` and two classes: log-joint in nats; ``MAX_WINS``: votes and tie-break; ``ONE_VS_REST``: log-odds.
        """
        z = self.standardize(X)
        blocks = [self._scores(z[a : a + _BLOCK]) for a in range(0, len(z), _BLOCK)]
        return np.concatenate(blocks) if blocks else np.empty((0, self.n_classes))

    def predict_proba(self, X: Any) -> FloatArray:
        """Probabilities of the classes, shape (n_samples, n_classes); missing values are summed out."""
        return self.proba_of(self.decision_values(X))

    def proba_of(self, scores: FloatArray) -> FloatArray:
        """`predict_proba` of what `decision_values` returned."""
        if self.rule is DecisionRule.MAX_WINS and self.n_classes > 2:
            shares: FloatArray = scores / scores.sum(axis=1, keepdims=True)
            return shares
        if self.n_classes == 2:
            odds = scores[:, 0] - scores[:, 1]
            return np.exp(np.column_stack([log_expit(odds), log_expit(-odds)]))
        probabilities: FloatArray = np.exp(log_softmax(scores))
        return probabilities

    def predict(self, X: Any) -> NDArray[Any]:
        """Most probable class; the first of equals."""
        labels: NDArray[Any] = self.classes[self.predict_proba(X).argmax(axis=1)]
        return labels

    def score(self, X: Any, y: Any) -> float:
        """Classification rate."""
        return float(np.mean(self.predict(X) == np.asarray(y)))

    def predict_file(self, data: str | Path, out: str | Path, **settings: Any) -> Any:
        """Classify the rows of a file into a CSV file, in constant memory; see `mmbn_opt.predict_file`."""
        return delegate("predict_file")(self, data, out, **settings)

    def save(self, path: str | Path) -> None:
        """Write the classifier as JSON."""
        delegate("save_mixture")(self, path)

    @classmethod
    def load(cls, path: str | Path) -> "MixtureClassifier":
        """Read a classifier that `save` wrote."""
        model: MixtureClassifier = delegate("load_mixture")(path)
        return model

    def describe(self) -> pd.DataFrame:
        """One row a Gaussian of each part: group, weight, and mean and standard deviation of each feature."""
        rows = []
        for part in self.parts:
            for group, density in zip(part.groups, part.densities, strict=True):
                variances = density.covariances
                if not density.is_diagonal:
                    variances = np.diagonal(variances, axis1=1, axis2=2)
                for k in range(density.n_components):
                    mean = density.means[k] * self.scale + self.location
                    deviation = np.sqrt(variances[k]) * self.scale
                    row: dict[str, Any] = {"group": " + ".join(str(self.classes[c]) for c in group)}
                    row |= {"component": k, "weight": float(np.exp(density.log_weights[k]))}
                    for j, name in enumerate(self.feature_names):
                        row |= {f"mean {name}": mean[j], f"sd {name}": deviation[j]}
                    rows.append(row)
        return pd.DataFrame(rows)

    def _scores(self, z: FloatArray) -> FloatArray:
        if self.rule is DecisionRule.BAYES or self.n_classes == 2:
            return self.parts[0].log_joint(z)
        if self.rule is DecisionRule.ONE_VS_REST:
            odds = []
            for part in self.parts:
                leave_in_time()
                odds.append(part.decision(z))
            return np.column_stack(odds)
        return self._max_wins(z)

    def _max_wins(self, z: FloatArray) -> FloatArray:
        # Parts that were not learned share the densities of their classes.
        uses = Counter(id(density) for part in self.parts for density in part.densities)
        known: dict[int, FloatArray] = {}

        def log_density(density: MixtureDensity) -> FloatArray:
            leave_in_time()
            if id(density) in known:
                return known[id(density)]
            values = density.log_density(z)
            if uses[id(density)] > 1:
                known[id(density)] = values
            return values

        votes = np.zeros((len(z), self.n_classes))
        losses = np.zeros((len(z), self.n_classes))
        duels = iter(self.parts)
        for a in range(self.n_classes - 1):
            parts = list(islice(duels, self.n_classes - 1 - a))
            first, second = (
                np.column_stack([log_density(part.densities[side]) for part in parts]) for side in range(2)
            )
            impossible = (first <= IMPOSSIBLE) & (second <= IMPOSSIBLE)
            first[impossible], second[impossible] = 0.0, 0.0
            prior = np.array([part.log_prior for part in parts])
            odds = (first + prior[:, 0]) - (second + prior[:, 1])
            votes[:, a] += (odds >= 0).sum(axis=1)
            votes[:, a + 1 :] += odds < 0
            losses[:, a] -= log_expit(odds).sum(axis=1)
            losses[:, a + 1 :] -= log_expit(-odds)
        # 1 / (1 + mean loss) lies in (0, 1], so it never outweighs a vote.
        scores: FloatArray = votes + 1.0 / (1.0 + losses / (self.n_classes - 1))
        return scores


def _groups(rule: DecisionRule, n_classes: int) -> tuple[tuple[tuple[int, ...], ...], ...]:
    """The groups that the parts of a classifier must have."""
    codes = range(n_classes)
    if rule is DecisionRule.BAYES:
        return (tuple((c,) for c in codes),)
    if rule is DecisionRule.MAX_WINS or n_classes == 2:
        return tuple(((a,), (b,)) for a, b in combinations(codes, 2))
    return tuple(((c,), tuple(o for o in codes if o != c)) for c in codes)


def fit_mixture_classifier(
    X: Any,
    y: Any,
    n_components: int = 1,
    *,
    covariance: Literal["diag", "full"] = "diag",
    tau: float = 1e-6,
    seed: int = 0,
) -> MixtureClassifier:
    """Maximum-likelihood mixtures, one a class, with the class frequencies as priors.

    Each class is fitted by scikit-learn's ``GaussianMixture`` (expectation-maximization from k-means) in coordinates
    with mean 0 and variance 1.

    Parameters
    ----------
    X : DataFrame or array (n_samples, n_features)
        No missing values.
    y : array (n_samples,)
    n_components : int
        Gaussians a class.
    covariance : {"diag", "full"}
    tau : float
        Added to every variance, in units of the feature's own variance.
    seed : int

    Raises
    ------
    InputError
        For data that cannot be learned from.
    """
    data = NumericDataset.from_arrays(X, y)
    data.require_members(n_components)
    densities = tuple(
        em_density(data.z[data.codes == c], n_components, covariance=covariance, tau=tau, seed=seed)
        for c in range(data.n_classes)
    )
    log_prior = np.log(data.counts() / data.n_samples)
    part = MixturePart(tuple((c,) for c in range(data.n_classes)), log_prior, densities)
    return MixtureClassifier(data.classes, data.feature_names, DecisionRule.BAYES, (part,), data.location, data.scale)
