"""Bayesian networks over discrete variables, mostly with a class: tables in logs, vectorised posteriors."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mmbn_opt._arguments import check_arguments, check_fields
from mmbn_opt._arrays import FloatArray
from mmbn_opt._lazy import delegate
from mmbn_opt.data.counts import contingency, refuse_large_network
from mmbn_opt.data.discrete import DiscreteDataset
from mmbn_opt.data.unseen import Unseen
from mmbn_opt.data.variable import DiscreteVariable
from mmbn_opt.exceptions import InputError
from mmbn_opt.networks.draws import NetworkDraws
from mmbn_opt.networks.exchange import NetworkExchange
from mmbn_opt.networks.inference import log_joint_marginal
from mmbn_opt.networks.node_names import node_number
from mmbn_opt.networks.posterior import features_with_children, log_joint_observed, normalize_rows
from mmbn_opt.networks.queries import NetworkQueries
from mmbn_opt.networks.smoothing import Smoothing, as_smoothing
from mmbn_opt.networks.structure import Structure
from mmbn_opt.networks.tables import FactorTables, encode_rows, with_parents_ascending

__all__ = ["BayesianNetwork", "estimate_log_cpt", "smoothed_log_table"]

logger = logging.getLogger(__name__)


def estimate_log_cpt(
    data: DiscreteDataset,
    node: int,
    parents: Sequence[int],
    smoothing: Smoothing,
    count: Callable[[Sequence[int]], FloatArray] | None = None,
) -> FloatArray:
    """Log of a smoothed maximum-likelihood CPT, shape (n_configurations, n_states).

    ``log (n[h, j] + s) / (n[h] + s * n_states)`` (Peharz & Pernkopf 2012, eq. 2, with pseudo-count s). Parents are
    taken in ascending order, the class last, the last one varying fastest. Without smoothing a configuration never
    seen is uniform. `count` is asked for counts in place of `contingency`, where many tables are made.
    """
    name = (*data.feature_names, data.class_name)[node]
    nodes = [*sorted(parents), node]
    counts = (contingency(data, nodes) if count is None else count(nodes)).reshape(-1, data.cardinalities[node])
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
class BayesianNetwork(NetworkQueries, NetworkDraws, NetworkExchange):
    """A structure with conditional probability tables and the labels of its states.

    Parameters
    ----------
    structure : Structure
    features : tuple of DiscreteVariable
    target : DiscreteVariable
        The class; where ``structure.has_class`` is False, just the last variable.
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
        self._require_class()
        return self.target.labels

    @property
    def n_parameters(self) -> int:
        """Free parameters."""
        return sum(t.shape[0] * (t.shape[1] - 1) for t in self.log_cpts)

    def cpt(self, name: str) -> pd.DataFrame:
        """The CPT of a node: a row a parent configuration, a column a state."""
        check_arguments(BayesianNetwork.cpt, locals())
        node = node_number(self.structure.names, name)
        parents = self.structure.parents[node]
        index = self.states_of(parents) if parents else pd.Index([""], name=None)
        columns = self.states_of([node])
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
        self._require_class()
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
        self._require_class()
        return self.posterior(self.log_joint(self.encode(X, unseen=unseen)), log=False)

    def predict(self, X: Any, *, unseen: Unseen = "warn") -> NDArray[Any]:
        """Most probable class label of each row; the first one on a tie."""
        labels: NDArray[Any] = self.classes[np.argmax(self.predict_proba(X, unseen=unseen), axis=1)]
        return labels

    def with_class(self, name: str) -> "BayesianNetwork":
        """The same distribution with this node as the class, for `predict`; it becomes the last node."""
        structure = self.structure.with_class(name)
        old = {v: k for k, v in enumerate(self.structure.names)}
        new = {v: k for k, v in enumerate(structure.names)}
        variables = [self.variables[old[name]] for name in structure.names]
        tables = []
        for variable in variables:
            parents = [self.variables[p] for p in self.structure.parents[old[variable.name]]]
            order, sizes = [new[p.name] for p in parents], [p.cardinality for p in parents]
            tables.append(with_parents_ascending(self.log_cpts[old[variable.name]], order, sizes))
        return BayesianNetwork(structure, tuple(variables[:-1]), variables[-1], tuple(tables), na_values=self.na_values)

    def _require_class(self) -> None:
        if not self.structure.has_class:
            raise InputError(
                "This network has no class to predict. with_class(name) makes a node the class; query(name, evidence) "
                "asks for any node."
            )

    def plot(self, ax: Any = None) -> Any:
        """Draw the DAG with matplotlib (extra ``plot``)."""
        return delegate("plot_network")(self, ax=ax)

    def __repr__(self) -> str:
        if not self.structure.has_class:
            return (
                f"BayesianNetwork({len(self.variables)} nodes, no class, {len(self.structure.edges)} edges, "
                f"{self.n_parameters:,} parameters)"
            )
        return (
            f"BayesianNetwork({len(self.features)} features, class {self.target.name!r:.60} with "
            f"{self.target.cardinality} states, {len(self.structure.edges)} edges, {self.n_parameters:,} parameters)"
        )

    def _repr_html_(self) -> str:
        html: str = delegate("network_html")(self)
        return html
