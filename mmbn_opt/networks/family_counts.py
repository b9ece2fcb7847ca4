"""Counts of every family of a structure: all that tables by counting need of the rows, so that rows can be added."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Self

import numpy as np

from mmbn_opt._arrays import FloatArray
from mmbn_opt.data.counts import contingency, refuse_large_network
from mmbn_opt.data.discrete import DiscreteDataset
from mmbn_opt.data.variable import DiscreteVariable
from mmbn_opt.exceptions import InputError
from mmbn_opt.networks.network import BayesianNetwork, smoothed_log_table
from mmbn_opt.networks.smoothing import Smoothing, as_smoothing
from mmbn_opt.networks.structure import Structure

__all__ = ["FamilyCounts"]


@dataclass(frozen=True, eq=False)
class FamilyCounts:
    """How much weight each cell of each table has seen.

    Parameters
    ----------
    structure : Structure
    features : tuple of DiscreteVariable
    target : DiscreteVariable
    counts : tuple of float64 arrays
        One a node, class last, an axis a parent in ascending order, the node's own last.

    Examples
    --------
    >>> from mmbn_opt import naive_bayes
    >>> data = DiscreteDataset.from_arrays([["x"], ["y"]], ["no", "yes"])
    >>> FamilyCounts.of(naive_bayes(data), data).plus(data).network(1.0).cpt("x0").round(3).to_numpy().tolist()
    [[0.75, 0.25], [0.25, 0.75]]
    """

    structure: Structure
    features: tuple[DiscreteVariable, ...]
    target: DiscreteVariable
    counts: tuple[FloatArray, ...] = field(repr=False)

    @classmethod
    def of(cls, structure: Structure, data: DiscreteDataset) -> Self:
        """Of some rows."""
        structure.require_columns((*data.feature_names, data.class_name))
        refuse_large_network(data, structure.parents)
        counts = tuple(
            contingency(data, [*sorted(parents), node]).reshape([data.cardinalities[v] for v in (*parents, node)])
            for node, parents in enumerate(structure.parents)
        )
        return cls(structure, data.features, data.target, counts)

    def plus(self, data: DiscreteDataset) -> "FamilyCounts":
        """With further rows of the same variables."""
        if (data.features, data.target) != (self.features, self.target):
            raise InputError("The rows have other variables than the counts; see `with_variables`.")
        more = FamilyCounts.of(self.structure, data)
        added = tuple(a + b for a, b in zip(self.counts, more.counts, strict=True))
        return FamilyCounts(self.structure, self.features, self.target, added)

    def with_variables(self, features: Sequence[DiscreteVariable], target: DiscreteVariable) -> "FamilyCounts":
        """The same counts for variables that have further states, which nothing was seen of."""
        new, old = (*features, target), (*self.features, self.target)
        places = [
            [known.states.index(state) for state in variable.states] for variable, known in zip(old, new, strict=True)
        ]
        counts = []
        for node, (parents, table) in enumerate(zip(self.structure.parents, self.counts, strict=True)):
            axes = (*parents, node)
            grown = np.zeros([new[v].cardinality for v in axes])
            grown[np.ix_(*(places[v] for v in axes))] = table
            counts.append(grown)
        return FamilyCounts(self.structure, tuple(features), target, tuple(counts))

    def network(self, smoothing: float | Smoothing = 1.0) -> BayesianNetwork:
        """The network that `BayesianNetwork.fit` learns from all these rows."""
        prior = as_smoothing(smoothing)
        names = self.structure.names
        tables = [
            smoothed_log_table(table.reshape(-1, table.shape[-1]), prior, name)
            for table, name in zip(self.counts, names, strict=True)
        ]
        return BayesianNetwork(self.structure, self.features, self.target, tuple(tables))
