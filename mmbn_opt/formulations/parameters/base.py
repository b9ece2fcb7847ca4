"""What every formulation of the parameters of a given structure shares."""

from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from typing import Any

import numpy as np

from mmbn_opt._arguments import shown

from ..._arguments import check_fields
from ..._arrays import FloatArray
from ...data.counts import refuse_large_network
from ...exceptions import InputError, SizeLimitError
from ...networks.log_linear import LogLinearClassifier
from ...networks.network import BayesianNetwork
from ...networks.smoothing import Smoothing, as_smoothing
from ...networks.structure import Structure
from ...programs.base import ProgramKind
from ..base import DiscreteFormulation
from ..given_starts import given_model, given_structure
from ._factor_index import ParameterLayout

__all__ = ["HELD_MARGINS", "StructureParameters"]

MAX_MARGINS = 100_000_000
"""Most pairs of a sample and a class: methods that keep a multiplier for each hold several tables of 0.8 GB then."""

HELD_MARGINS = 2_000_000
"""Pairs of a sample and a class of data in a file up to which a number for each is held: 16 MB a table."""


@dataclass(frozen=True, eq=False)
class StructureParameters(DiscreteFormulation):
    """Parameters of the class's factor and those of its children; the other factors change no posterior.

    Parameters
    ----------
    data : DiscreteDataset
    structure : Structure
        Over the data's columns, in their order.
    smoothing : float or Smoothing
        Of the maximum-likelihood network that the search starts from, and that the other factors are taken from.
    max_parameters : int
        Larger vectors are refused.
    """

    structure: Structure
    smoothing: float | Smoothing = field(default=1.0, kw_only=True)
    max_parameters: int = field(default=5_000_000, kw_only=True)

    def __post_init__(self) -> None:
        check_fields(self)
        as_smoothing(self.smoothing)
        self.data.require_learnable()
        self.structure.require_columns((*self.data.feature_names, self.data.class_name))
        if self.layout.size > self.max_parameters:
            raise SizeLimitError(
                f"{self.title} on this structure would have {self.layout.size:,} parameters; the limit is "
                f"max_parameters={self.max_parameters:,}; the largest tables are {self._largest_blocks()}. Use fewer "
                "parents, merge states, or raise the limit."
            )
        refuse_large_network(self.data, self.structure.parents)

    def with_constraints(self, *constraints: Any) -> Any:
        """Refused by name but for `MaxMarginRelaxation`."""
        raise InputError(
            f"{type(self).__name__} takes no constraints on its tables: rows that are linear in logarithms of "
            "probabilities stay convex only where tables may sum to less than 1, as in MaxMarginRelaxation."
        )

    def _largest_blocks(self) -> str:
        """Names and cells of the three largest tables of the vector."""
        cells = {self.structure.names[v]: prod(self.layout.shape(v)) for v in self.layout.nodes}
        largest = sorted(cells, key=lambda name: -cells[name])[:3]
        return ", ".join(f"{shown(name)} {cells[name]:,}" for name in largest) + (", ..." if len(cells) > 3 else "")

    def _refuse_margins(self) -> None:
        """Raise `SizeLimitError` when a number for every sample and class would be too much."""
        if self.data.n_samples * self.data.n_classes <= MAX_MARGINS:
            return
        margins = self.merged.n_samples * self.data.n_classes
        if margins > MAX_MARGINS:
            raise SizeLimitError(
                f"{self.title} keeps several tables of a number for every sample and class: "
                f"{self.merged.n_samples:,} different samples and {self.data.n_classes} classes make {margins:,}; the "
                f"limit is {MAX_MARGINS:,}. Learn from fewer rows, merge classes or states, or use a formulation that "
                "passes over the samples (SmoothMargin, ConditionalLikelihood)."
            )

    @cached_property
    def layout(self) -> ParameterLayout:
        """Which CPT entries the vector holds, and where."""
        return ParameterLayout(self.structure, self.data.cardinalities)

    @cached_property
    def maximum_likelihood(self) -> BayesianNetwork:
        """Smoothed maximum-likelihood network of the structure."""
        return BayesianNetwork.fit(self.structure, self.merged, self.smoothing)

    def log_linear(self, solution: FloatArray) -> LogLinearClassifier:
        """Classifier of a vector of log-parameters; the other factors keep their maximum-likelihood values."""
        tables = list(self.maximum_likelihood.log_cpts)
        for node, a, b in zip(self.layout.nodes, self.layout.starts[:-1], self.layout.starts[1:], strict=True):
            tables[node] = np.array(solution[a:b]).reshape(self.layout.shape(node))
        return LogLinearClassifier(self.structure, self.data.features, self.data.target, tuple(tables))

    def adopt(self, model: Any, kind: ProgramKind) -> Any:
        """A network on this structure as the program can say it; the structure alone stands for the trivial start.

        Raises
        ------
        InputError
            Naming the nodes, edges or states that are others.
        """
        names = self.structure.names
        given = given_structure(model, names)
        own, others = set(self.structure.edges), set(given.edges)
        if own != others:
            raise InputError(
                f"The start has another structure than the formulation: it lacks the edges {sorted(own - others)[:10]} "
                f"and has {sorted(others - own)[:10]} besides. Give a network on the formulation's structure."
            )
        network = given_model(model)
        if not isinstance(network, (BayesianNetwork, LogLinearClassifier)):
            return self.trivial_start().model
        if network.structure.names != names:
            raise InputError(
                f"The start has the nodes {list(network.structure.names)}, in this order, not {list(names)}."
            )
        for mine, its in zip((*self.data.features, self.data.target), (*network.features, network.target), strict=True):
            if mine != its:
                raise InputError(
                    f"The start has {its.name!r} with the states {list(its.states)[:10]}, in this order; the data have "
                    f"{list(mine.states)[:10]}. Encode both with the same variables."
                )
        return super().adopt(network, kind)

    def log_parameters(self, model: "BayesianNetwork | LogLinearClassifier", log_zero: float) -> FloatArray:
        """Vector of log-parameters of a model on this structure, `log_zero` in place of the logarithm of zero."""
        if model.structure.parents != self.structure.parents or model.features != self.data.features:
            raise InputError(
                "The model's structure or variables are not those of the formulation; "
                f"its edges are {model.structure.edges[:5]}{' ...' if len(model.structure.edges) > 5 else ''}."
            )
        tables = model.log_cpts if isinstance(model, BayesianNetwork) else model.log_factors
        w = np.concatenate([tables[node].ravel() for node in self.layout.nodes])
        return np.where(np.isneginf(w), log_zero, w)
