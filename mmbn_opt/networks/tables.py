"""The tables of a classifier by the numbers of its nodes, and samples in these numbers."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mmbn_opt._arguments import listed, shown
from mmbn_opt._arrays import FloatArray
from mmbn_opt.data.discrete import DiscreteDataset, encode_features
from mmbn_opt.data.frames import as_pandas
from mmbn_opt.data.unseen import Unseen
from mmbn_opt.data.variable import DiscreteVariable
from mmbn_opt.exceptions import InputError
from mmbn_opt.networks.structure import Structure

__all__ = ["FactorTables", "encode_rows", "with_parents_ascending"]


@dataclass(frozen=True, eq=False)
class FactorTables:
    """One table in logs a node: all that joint probabilities and inference take of a network or of factors.

    Parameters
    ----------
    structure : Structure
    cardinalities : tuple of int
        States of every node, class last.
    log_tables : tuple of float64 arrays
        One a node, class last, shape (n_parent_configurations, n_states); parents ascending, the class last, the last
        one varying fastest.
    """

    structure: Structure
    cardinalities: tuple[int, ...]
    log_tables: tuple[FloatArray, ...] = field(repr=False)

    @classmethod
    def of(
        cls, structure: Structure, variables: Sequence[DiscreteVariable], log_tables: tuple[FloatArray, ...]
    ) -> Self:
        """Tables of some variables, class last; raises `InputError` where names or shapes disagree."""
        if len(log_tables) != len(variables):
            raise InputError(f"A network of {len(variables)} nodes needs as many tables, got {len(log_tables)}.")
        cardinalities = tuple(v.cardinality for v in variables)
        names = tuple(v.name for v in variables)
        if names != structure.names:
            raise InputError(
                f"Structure and variables disagree: [{listed(structure.names)}] against [{listed(names)}]."
            )
        for node, variable in enumerate(variables):
            shape = (prod(cardinalities[p] for p in structure.parents[node]), variable.cardinality)
            if log_tables[node].shape != shape:
                raise InputError(
                    f"The CPT of {shown(variable.name)} has shape {log_tables[node].shape}; its parents call for "
                    f"{shape}."
                )
            if np.isnan(log_tables[node]).any():
                raise InputError(f"The CPT of {shown(variable.name)} holds NaN.")
        return cls(structure, cardinalities, log_tables)


def with_parents_ascending(table: FloatArray, order: Sequence[int], sizes: Sequence[int]) -> FloatArray:
    """Rows of a table, whose parents stand in any order (the last one varying fastest), for ascending parents.

    Parameters
    ----------
    table : float64 array (n_configurations, n_states)
    order : sequence of int
        Numbers of the parents as the rows have them.
    sizes : sequence of int
        Their numbers of states.

    Examples
    --------
    >>> with_parents_ascending(np.arange(6.0).reshape(6, 1), [1, 0], [3, 2]).ravel().tolist()
    [0.0, 2.0, 4.0, 1.0, 3.0, 5.0]
    """
    if len(order) < 2:
        return table
    # numpy allows 64 axes; a parent with one state needs none.
    wide = [k for k, size in enumerate(sizes) if size > 1]
    cube = table.reshape(*(sizes[k] for k in wide), table.shape[1])
    axes = [*sorted(range(len(wide)), key=lambda a: order[wide[a]]), len(wide)]
    return np.ascontiguousarray(cube.transpose(axes)).reshape(table.shape)


def encode_rows(X: Any, features: tuple[DiscreteVariable, ...], *, unseen: Unseen = "warn") -> NDArray[np.int32]:
    """Codes (n_samples, n_features) of a DataFrame (by name), a 2-D array (by position), or a DiscreteDataset."""
    if isinstance(X, DiscreteDataset):
        if X.features != features:
            raise InputError("The data set's variables are not the network's; pass a DataFrame instead.")
        return X.codes
    X = as_pandas(X)
    if not isinstance(X, pd.DataFrame):
        array = np.asarray(X)
        if array.ndim != 2 or array.shape[1] != len(features):
            raise InputError(f"X must have shape (n_samples, {len(features)}), got {array.shape}.")
        X = pd.DataFrame(array, columns=[v.name for v in features])
    return encode_features(X, features, unseen=unseen)
