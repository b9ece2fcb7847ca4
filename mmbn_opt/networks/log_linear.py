"""Log-linear classifiers: log-factors on a structure that need not be conditional probabilities."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mmbn_opt._arguments import check_fields
from mmbn_opt._arrays import FloatArray
from mmbn_opt._lazy import delegate
from mmbn_opt.data.unseen import Unseen
from mmbn_opt.data.variable import DiscreteVariable
from mmbn_opt.exceptions import InputError
from mmbn_opt.networks.network import BayesianNetwork
from mmbn_opt.networks.posterior import log_joint_observed
from mmbn_opt.networks.structure import Structure
from mmbn_opt.networks.tables import FactorTables, encode_rows

if TYPE_CHECKING:
    from mmbn_opt.networks.renormalizability import Renormalization

__all__ = ["LogLinearClassifier"]


@dataclass(frozen=True, eq=False)
class LogLinearClassifier:
    """``P(c | x)`` proportional to ``exp(sum of log-factors)``, one factor a node, rows not normalised.

    What the convex relaxation returns (rows sum to at most 1) and what Markov network training returns (any rows).
    It classifies; it neither samples nor sums out missing values, for which a normalised network is needed: see
    `normalize`.

    Parameters
    ----------
    structure : Structure
    features : tuple of DiscreteVariable
    target : DiscreteVariable
    log_factors : tuple of float64 arrays
        Shapes and order of `BayesianNetwork.log_cpts`.

    Examples
    --------
    >>> import numpy as np
    >>> from mmbn_opt import DiscreteDataset, naive_bayes
    >>> data = DiscreteDataset.from_arrays([["x"], ["y"], ["x"], ["y"]], ["no", "yes", "no", "no"])
    >>> factors = (np.log([[0.6, 0.2], [0.1, 0.5]]), np.log([[0.3, 0.3]]))
    >>> model = LogLinearClassifier(naive_bayes(data), data.features, data.target, factors)
    >>> model.predict_proba([["x"], ["y"]]).round(3).tolist()
    [[0.857, 0.143], [0.286, 0.714]]
    >>> model.normalize().network.predict_proba([["x"], ["y"]]).round(3).tolist()
    [[0.857, 0.143], [0.286, 0.714]]
    """

    structure: Structure
    features: tuple[DiscreteVariable, ...]
    target: DiscreteVariable
    log_factors: tuple[FloatArray, ...] = field(repr=False)

    def __post_init__(self) -> None:
        check_fields(self)
        if any(np.isposinf(table).any() for table in self.log_factors):
            raise InputError("A log-factor holds +inf; factors must be finite, or zero (-inf in logs).")
        _ = self.tables  # checks names and shapes

    def __repr__(self) -> str:
        return (
            f"LogLinearClassifier({len(self.features)} features, class {self.target.name!r:.60} with "
            f"{self.target.cardinality} states, {len(self.structure.edges)} edges)"
        )

    @classmethod
    def of_network(cls, network: BayesianNetwork) -> "LogLinearClassifier":
        """The same classifier, its CPTs taken as factors."""
        return cls(network.structure, network.features, network.target, network.log_cpts)

    @cached_property
    def tables(self) -> FactorTables:
        """The factors by the numbers of the nodes."""
        return FactorTables.of(self.structure, (*self.features, self.target), self.log_factors)

    @property
    def classes(self) -> NDArray[Any]:
        """Class labels in code order."""
        return self.target.labels

    @property
    def largest_row_sum(self) -> float:
        """Largest sum over the states of a factor row; at most 1 for an answer of the relaxation."""
        return max(float(np.exp(table).sum(axis=1).max()) for table in self.log_factors)

    def encode(self, X: Any, *, unseen: Unseen = "warn") -> NDArray[np.int32]:
        """Codes of a frame, an array or a data set; see `BayesianNetwork.encode`."""
        return encode_rows(X, self.features, unseen=unseen)

    def log_joint(self, codes: NDArray[np.integer[Any]]) -> FloatArray:
        """Sum of the log-factors for every class, shape (n_samples, n_classes)."""
        if (codes < 0).any():
            raise InputError(
                f"{int((codes < 0).any(axis=1).sum())} rows have missing cells; factors that are not normalised cannot "
                "sum them out. Use `normalize().network`."
            )
        return log_joint_observed(self.tables, codes)

    def predict_log_proba(self, X: Any, *, unseen: Unseen = "warn") -> FloatArray:
        """``log P(c | x)``, shape (n_samples, n_classes)."""
        codes = self.encode(X, unseen=unseen)
        joint = self.log_joint(codes)
        impossible = np.isneginf(joint).all(axis=1)
        joint[impossible] = 0.0
        posterior: FloatArray = joint - np.logaddexp.reduce(joint, axis=1, keepdims=True)
        return posterior

    def predict_proba(self, X: Any, *, unseen: Unseen = "warn") -> FloatArray:
        """``P(c | x)``, shape (n_samples, n_classes), columns as in `classes`."""
        probabilities: FloatArray = np.exp(self.predict_log_proba(X, unseen=unseen))
        return probabilities

    def predict(self, X: Any, *, unseen: Unseen = "warn") -> NDArray[Any]:
        """Most probable class label of each row; the first one on a tie."""
        labels: NDArray[Any] = self.classes[np.argmax(self.predict_proba(X, unseen=unseen), axis=1)]
        return labels

    def normalize(self) -> "Renormalization":
        """The Bayesian network with the same ``P(c | x)``, or the nearest that can be had; see `renormalize`.

        Made once: the factors are taken to stay as they are.
        """
        return self._renormalization

    @cached_property
    def _renormalization(self) -> "Renormalization":
        outcome: Renormalization = delegate("renormalize")(self)
        return outcome
