"""Bayesian networks over discrete variables with a class: tables in logs, vectorised posteriors."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mmbn_opt._arguments import check_arguments, check_fields, listed, shown
from mmbn_opt._arrays import FloatArray
from mmbn_opt._lazy import delegate
from mmbn_opt.data.counts import contingency, refuse_large_network
from mmbn_opt.data.discrete import DiscreteDataset
from mmbn_opt.data.unseen import Unseen
from mmbn_opt.data.variable import DiscreteVariable
from mmbn_opt.exceptions import InputError
from mmbn_opt.networks.exchange import NetworkExchange
from mmbn_opt.networks.inference import log_joint_marginal
from mmbn_opt.networks.posterior import features_with_children, log_joint_observed, normalize_rows
from mmbn_opt.networks.smoothing import Smoothing, as_smoothing
from mmbn_opt.networks.structure import Structure
from mmbn_opt.networks.tables import FactorTables, encode_rows

__all__ = ["BayesianNetwork", "estimate_log_cpt", "smoothed_log_table"]

logger = logging.getLogger(__name__)


def estimate_log_cpt(data: DiscreteDataset, node: int, parents: Sequence[int], smoothing: Smoothing) -> FloatArray:
    """Log of a smoothed maximum-likelihood CPT, shape (n_configurations, n_states).

    ``log (n[h, j] + s) / (n[h] + s * n_states)`` (Peharz & Pernkopf 2012, eq. 2, with pseudo-count s). Parents are
    taken in ascending order, the class last, the last one varying fastest. Without smoothing a configuration never
    seen is uniform.
    """
    name = (*data.feature_names, data.class_name)[node]
    counts = contingency(data, [*sorted(parents), node]).reshape(-1, data.cardinalities[node])
    return smoothed_log_table(counts, smoothing, name)


def smoothed_log_table(counts: FloatArray, smoothing: Smoothing, name: str) -> FloatArray:
    """Log of the smoothed frequencies of counts (n_configurations, n_states); `name` is the node's, for the log."""
    n_states = counts.shape[1]
    pseudo = smoothing.per_cell(n_states, counts.shape[0])
    total = counts.sum(axis=1, keepdims=True) + pseudo * n_states
    if n_empty := int((total == 0).sum()):
        logger.info("%r: %d of %d rows of its table were never seen and are uniform", name, n_empty, len(total))
    with np.errstate(divide="ignore"):
        table: FloatArray = np.log(np.where(total > 0, counts + pseudo, 1.0)) - np.log(
            np.where(total > 0, total, float(n_states))
        )
    return table


@dataclass(frozen=True, eq=False)
class BayesianNetwork(NetworkExchange):
    """A structure with conditional probability tables and the labels of its states.

    Parameters
    ----------
    structure : Structure
    features : tuple of DiscreteVariable
    target : DiscreteVariable
    log_cpts : tuple of float64 arrays
        One a node, class last, shape (n_parent_configurations, n_states); parents ascending, the class last, the last
        one varying fastest.
    na_values : tuple of str or None
        Cells that were read as missing where the table was a file of text: `read_table` with the same ones reads other
        rows alike. None where that is not known.

    Examples
    --------
    >>> data = DiscreteDataset.from_arrays([["x"], ["y"], ["x"], ["y"]], ["no", "yes", "no", "no"])
    >>> tree = Structure.from_names(["x0"], "class", [("class", "x0")])
    >>> network = BayesianNetwork.fit(tree, data, smoothing=1.0)
    >>> network.predict([["x"], ["y"]]).tolist()
    ['no', 'no']
    >>> network.predict_proba([["x"]]).round(4).tolist()
    [[0.7826, 0.2174]]
    >>> network.cpt("x0").round(3)
    x0         x      y
    class
    no     0.600  0.400
    yes    0.333  0.667
    """

    structure: Structure
    features: tuple[DiscreteVariable, ...]
    target: DiscreteVariable
    log_cpts: tuple[FloatArray, ...] = field(repr=False)
    na_values: tuple[str, ...] | None = field(default=None, repr=False, kw_only=True, metadata={"content": False})

    def __post_init__(self) -> None:
        check_fields(self)
        _ = self.tables  # checks names and shapes

    @cached_property
    def tables(self) -> FactorTables:
        """The tables by the numbers of the nodes."""
        return FactorTables.of(self.structure, self.variables, self.log_cpts)

    @classmethod
    def fit(cls, structure: Structure, data: DiscreteDataset, smoothing: float | Smoothing = 1.0) -> "BayesianNetwork":
        """Smoothed maximum-likelihood parameters for a structure.

        Parameters
        ----------
        smoothing : float or Smoothing
            Pseudo-count per cell (1 is Laplace's), or ``Dirichlet(ess=...)``.

        Raises
        ------
        SizeLimitError
            When the tables together would have more than 50 million cells; nothing is counted then.
        """
        check_arguments(cls.fit, locals())
        structure.require_columns((*data.feature_names, data.class_name))
        refuse_large_network(data, structure.parents)
        prior = as_smoothing(smoothing)
        tables = [estimate_log_cpt(data, node, parents, prior) for node, parents in enumerate(structure.parents)]
        return cls(structure, data.features, data.target, tuple(tables))

    @property
    def variables(self) -> tuple[DiscreteVariable, ...]:
        """All variables, class last."""
        return (*self.features, self.target)

    @cached_property
    def cardinalities(self) -> tuple[int, ...]:
        """States of every node, class last."""
        return tuple(v.cardinality for v in self.variables)

    @property
    def parents(self) -> dict[str, list[str]]:
        """Parents by name, the class first."""
        return self.structure.parent_names

    @property
    def classes(self) -> NDArray[Any]:
        """Class labels in code order."""
        return self.target.labels

    @property
    def n_parameters(self) -> int:
        """Free parameters."""
        return sum(t.shape[0] * (t.shape[1] - 1) for t in self.log_cpts)

    def cpt(self, name: str) -> pd.DataFrame:
        """The CPT of a node: a row a parent configuration, a column a state."""
        check_arguments(BayesianNetwork.cpt, locals())
        name = str(name)
        if name not in self.structure.names:
            raise InputError(f"There is no node {shown(name)}; the nodes are [{listed(self.structure.names)}].")
        node = self.structure.names.index(name)
        parents = [self.variables[p] for p in self.structure.parents[node]]
        index: pd.Index
        if not parents:
            index = pd.Index([""], name=None)
        elif len(parents) == 1:
            index = pd.Index(list(parents[0].states), name=parents[0].name)
        else:
            index = pd.MultiIndex.from_product([list(p.states) for p in parents], names=[p.name for p in parents])
        columns = pd.Index(list(self.variables[node].states), name=name)
        return pd.DataFrame(np.exp(self.log_cpts[node]), index=index, columns=columns)

    def encode(self, X: Any, *, unseen: Unseen = "warn") -> NDArray[np.int32]:
        """Codes (n_samples, n_features) of a DataFrame (by name), a 2-D array (by position), or a DiscreteDataset."""
        return encode_rows(X, self.features, unseen=unseen)

    def log_joint(self, codes: NDArray[np.integer[Any]]) -> FloatArray:
        """``log P(c, x)`` for every class, shape (n_samples, n_classes); missing cells (-1) are summed out exactly."""
        incomplete = (codes[:, features_with_children(self.structure)] < 0).any(axis=1)
        if not incomplete.any():
            return log_joint_observed(self.tables, codes)
        if incomplete.all():
            return log_joint_marginal(self.tables, codes)
        out = np.empty((len(codes), self.target.cardinality))
        out[~incomplete] = log_joint_observed(self.tables, codes[~incomplete])
        out[incomplete] = log_joint_marginal(self.tables, codes[incomplete])
        return out

    def predict_log_proba(self, X: Any, *, unseen: Unseen = "warn") -> FloatArray:
        """``log P(c | x)``; rows that are impossible under every class get the class prior."""
        return self.posterior(self.log_joint(self.encode(X, unseen=unseen)), log=True)

    def posterior(self, joint: FloatArray, *, log: bool) -> FloatArray:
        """``P(c | x)``, or its logarithm, in place of what `log_joint` returned."""
        return normalize_rows(joint, self._log_class_prior, log=log)

    def _log_class_prior(self) -> FloatArray:
        """``log P(c)``: a row of nothing but missing cells, since the class may have parents."""
        nothing_known = np.full((1, len(self.features)), -1, dtype=np.int32)
        prior: FloatArray = self.log_joint(nothing_known)[0]
        return prior

    def predict_proba(self, X: Any, *, unseen: Unseen = "warn") -> FloatArray:
        """``P(c | x)``, shape (n_samples, n_classes), columns as in `classes`."""
        return self.posterior(self.log_joint(self.encode(X, unseen=unseen)), log=False)

    def predict(self, X: Any, *, unseen: Unseen = "warn") -> NDArray[Any]:
        """Most probable class label of each row; the first one on a tie."""
        labels: NDArray[Any] = self.classes[np.argmax(self.predict_proba(X, unseen=unseen), axis=1)]
        return labels

    def plot(self, ax: Any = None) -> Any:
        """Draw the DAG with matplotlib (extra ``plot``)."""
        return delegate("plot_network")(self, ax=ax)

    def __repr__(self) -> str:
        return (
            f"BayesianNetwork({len(self.features)} features, class {self.target.name!r:.60} with "
            f"{self.target.cardinality} states, {len(self.structure.edges)} edges, {self.n_parameters:,} parameters)"
        )

    def _repr_html_(self) -> str:
        html: str = delegate("network_html")(self)
        return html
