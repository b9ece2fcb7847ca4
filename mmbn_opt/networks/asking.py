"""What all questions to a network share: its plans, the names of what is asked, and what is said of bad cases."""

import logging
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mmbn_opt._arguments import listed, shown
from mmbn_opt._arrays import FloatArray
from mmbn_opt.data.variable import DiscreteVariable
from mmbn_opt.exceptions import InputError
from mmbn_opt.networks.engine import Engine
from mmbn_opt.networks.evidence import Evidence
from mmbn_opt.networks.node_names import node_number
from mmbn_opt.networks.structure import Structure
from mmbn_opt.networks.tables import FactorTables

__all__ = ["Asked", "as_table", "numbers_of", "refuse_observed", "tell_impossible", "told"]

logger = logging.getLogger(__name__)


class Asked(ABC):
    """A network as those see it who ask it."""

    structure: Structure

    @property
    @abstractmethod
    def variables(self) -> tuple[DiscreteVariable, ...]:
        """All variables by the numbers of their nodes."""

    @property
    @abstractmethod
    def tables(self) -> FactorTables:
        """The tables by the numbers of the nodes."""

    @cached_property
    def engine(self) -> Engine:
        """Plans of elimination that questions share."""
        return Engine(self.tables)

    @cached_property
    def _indexes(self) -> dict[tuple[int, ...], pd.Index]:
        """Those of answers, which take longer to make than many an answer."""
        return {}

    def states_of(self, nodes: Sequence[int]) -> pd.Index:
        """All combinations of the states of some nodes, as answers are indexed."""
        key = tuple(nodes)
        if key not in self._indexes:
            self._indexes[key] = _index_of([self.variables[v] for v in nodes])
        return self._indexes[key]


def numbers_of(names: Sequence[str], targets: Any) -> list[int]:
    """Numbers of the nodes that are asked for: one name, or several different ones."""
    asked = [targets] if isinstance(targets, (str, int, np.integer)) else list(targets)
    nodes = [node_number(names, name) for name in asked]
    if not nodes:
        raise InputError(f"targets is empty; name one of the nodes [{listed(names)}].")
    if len(set(nodes)) < len(nodes):
        raise InputError(f"targets names a node twice: [{listed(asked)}].")
    return nodes


def told(variables: Sequence[DiscreteVariable], nodes: Sequence[int]) -> str:
    """Names of nodes, for a message."""
    return listed((variables[v].name for v in nodes), 3, str)


def refuse_observed(case: Evidence, nodes: Sequence[int], variables: Sequence[DiscreteVariable]) -> None:
    """A target with a state in some case would be answered by the question; one with one state is no secret."""
    for v in nodes:
        seen = case.codes[:, v] >= 0
        if variables[v].cardinality > 1 and seen.any():
            state = variables[v].states[case.codes[int(seen.argmax()), v]]
            raise InputError(
                f"Target {shown(variables[v].name)} is in the evidence itself ({shown(state)}); take it out of the "
                "evidence, or out of the targets."
            )


def tell_impossible(possible: NDArray[np.bool_], case: Evidence) -> None:
    """Refuse a single case of probability 0; those among many go to the log."""
    if possible.all():
        return
    if case.index is None:
        raise InputError(
            "This evidence has probability 0 in the network, so that nothing follows from it. Leave findings out, or "
            "learn the tables with a pseudo-count (smoothing)."
        )
    rows = case.index[~possible]
    logger.warning(
        "%d of %d cases have probability 0 in the network; their answers are missing (rows %s)",
        len(rows),
        len(possible),
        listed(rows, 5),
    )


def _index_of(variables: Sequence[DiscreteVariable]) -> pd.Index:
    if len(variables) == 1:
        return _labels_of(variables[0])
    return pd.MultiIndex.from_product([_labels_of(v) for v in variables], names=[v.name for v in variables])


def as_table(answer: FloatArray, states: pd.Index, case: Evidence) -> Any:
    """Probabilities as a Series, or as a table with a row a case."""
    if case.index is None:
        return pd.Series(answer[0], index=states, name="probability")
    return pd.DataFrame(answer, index=case.index, columns=states)


def _labels_of(variable: DiscreteVariable) -> pd.Index:
    labels = variable.labels
    # The type is said, since pandas would turn objects that are texts into Arrow's, which can't hold every text.
    index: pd.Index = pd.Index(labels, dtype=labels.dtype, name=variable.name)
    return index
