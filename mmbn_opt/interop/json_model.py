"""Networks as JSON: everything that prediction needs, in a text that no pickle can hide in."""

import math
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mmbn_opt._arguments import shown
from mmbn_opt.data.variable import DiscreteVariable
from mmbn_opt.exceptions import FormatError, SizeLimitError
from mmbn_opt.interop._json_document import document_text, list_of, load_document, na_values_of, require_format
from mmbn_opt.interop._labels import label_from_json, label_to_json, refuse_half_characters
from mmbn_opt.interop.atomic import write_text_atomic
from mmbn_opt.interop.limits import check_network, max_cells
from mmbn_opt.networks.network import BayesianNetwork
from mmbn_opt.networks.structure import Structure

__all__ = [
    "FORMAT",
    "FORMAT_VERSION",
    "load_network",
    "network_from_dict",
    "network_text",
    "network_to_dict",
    "save_network",
    "table_to_lists",
    "variable_from_dict",
    "variable_to_dict",
]

FORMAT = "mmbn_opt/network"
FORMAT_VERSION = 1

_ROW_SUM_TOLERANCE = 1e-6
_VARIABLE_KEYS = {"name", "states", "cuts", "has_missing_state"}


def save_network(network: BayesianNetwork, path: str | Path) -> None:
    """Write a network as JSON, whole or not at all.

    Labels keep their type (str, bool, int, float, `pandas.Interval`, `pandas.Timestamp`), tables are log-probabilities
    with all their digits; a probability of zero is the string ``"-inf"``.

    Raises
    ------
    InputError
        If the path cannot be written, or a label has a type that JSON cannot hold (the column is named).
    SizeLimitError
        If the tables have more cells than are read again (50 million); large ones are warned of.
    """
    check_network(network, path)
    write_text_atomic(path, network_text(network))


def network_text(network: BayesianNetwork) -> str:
    """What `save_network` writes."""
    return document_text(network_to_dict(network))


def load_network(path: str | Path) -> BayesianNetwork:
    """Read a network that `save_network` wrote.

    Raises
    ------
    FormatError
        If the file is not such a network; the message names the part that is wrong.
    SizeLimitError
        If the file or its tables are larger than any network that can be used.
    """
    return load_document(path, network_from_dict)


def network_to_dict(network: BayesianNetwork) -> dict[str, Any]:
    """The content of a model file as plain Python values.

    Examples
    --------
    >>> from mmbn_opt import DiscreteDataset
    >>> data = DiscreteDataset.from_arrays([["x"], ["y"]], [0, 1])
    >>> network = BayesianNetwork.fit(Structure.from_names(["x0"], "class", []), data)
    >>> network_to_dict(network)["target"]
    {'name': 'class', 'states': [0, 1], 'cuts': None, 'has_missing_state': False}
    """
    content = {
        "format": FORMAT,
        "version": FORMAT_VERSION,
        "features": [variable_to_dict(v) for v in network.features],
        "target": variable_to_dict(network.target),
        "parents": [list(ps) for ps in network.structure.parents],
        "log_cpts": [table_to_lists(table) for table in network.log_cpts],
    }
    if not network.structure.has_class:
        content["has_class"] = False
    return content if network.na_values is None else content | {"na_values": list(network.na_values)}


def network_from_dict(content: Any) -> BayesianNetwork:
    """The network of a dict that `network_to_dict` made (or that a stranger did)."""
    require_format(content, FORMAT, FORMAT_VERSION, "model")
    features = tuple(variable_from_dict(v, f"features[{k}]") for k, v in enumerate(list_of(content, "features")))
    target = variable_from_dict(content.get("target"), "target")
    variables = (*features, target)
    parents = _parents_from_lists(list_of(content, "parents"), len(variables))
    if not isinstance(has_class := content.get("has_class", True), bool):
        raise FormatError(f'"has_class" must be true or false, got {shown(has_class)}.')
    structure = Structure(tuple(v.name for v in features), target.name, parents, has_class=has_class)
    tables = list_of(content, "log_cpts")
    if len(tables) != len(variables):
        raise FormatError(f'"log_cpts" holds {len(tables)} tables for {len(variables)} variables.')
    shapes = [
        (prod(variables[p].cardinality for p in ps), variables[v].cardinality) for v, ps in enumerate(structure.parents)
    ]
    cells = sum(rows * states for rows, states in shapes)
    if cells > max_cells():
        raise SizeLimitError(
            f"The tables would hold {cells:,} cells; the limit is {max_cells():,}. Nothing was allocated."
        )
    log_cpts = tuple(_table_from_lists(t, shape, v.name) for t, shape, v in zip(tables, shapes, variables, strict=True))
    return BayesianNetwork(structure, features, target, log_cpts, na_values=na_values_of(content))


def variable_to_dict(variable: DiscreteVariable) -> dict[str, Any]:
    """A variable as plain Python values."""
    refuse_half_characters(variable.name, "There is a column")
    return {
        "name": variable.name,
        "states": [label_to_json(s, variable.name) for s in variable.states],
        "cuts": None if variable.cuts is None else [float(c) for c in variable.cuts],
        "has_missing_state": variable.has_missing_state,
    }


def variable_from_dict(value: Any, where: str) -> DiscreteVariable:
    """The variable of a dict that `variable_to_dict` made; `where` is what messages call its place."""
    if not isinstance(value, dict) or set(value) != _VARIABLE_KEYS:
        raise FormatError(f"{where} must be an object with the keys {sorted(_VARIABLE_KEYS)}.")
    name, cuts, flag = value["name"], value["cuts"], value["has_missing_state"]
    if not isinstance(name, str) or not isinstance(flag, bool):
        raise FormatError(
            f"{where} must have a text as name and true or false as has_missing_state, got {shown(name)} and "
            f"{shown(flag)}."
        )
    states = tuple(label_from_json(s, name) for s in list_of(value, "states"))
    if cuts is None:
        return DiscreteVariable(name, states, has_missing_state=flag)
    if not isinstance(cuts, list) or not all(_is_number(c) and math.isfinite(c) for c in cuts):
        raise FormatError(f"The cut points of column {shown(name)} must be a list of finite numbers or null.")
    return DiscreteVariable(name, states, cuts=tuple(float(c) for c in cuts), has_missing_state=flag)


def _parents_from_lists(value: list[Any], n_nodes: int) -> tuple[tuple[int, ...], ...]:
    for k, ps in enumerate(value):
        if not isinstance(ps, list) or not all(type(p) is int for p in ps) or len(set(ps)) != len(ps):
            raise FormatError(f"parents[{k}] must be a list of distinct node numbers below {n_nodes}, got {shown(ps)}.")
    return tuple(tuple(ps) for ps in value)


def table_to_lists(table: NDArray[np.float64]) -> list[list[Any]]:
    """Rows of logarithms, "-inf" for that of zero."""
    rows: list[list[Any]] = table.tolist()
    if np.isneginf(table).any():
        return [["-inf" if v == -math.inf else v for v in row] for row in rows]
    return rows


def _table_from_lists(value: Any, shape: tuple[int, int], name: str) -> NDArray[np.float64]:
    rows, states = shape
    if (
        not isinstance(value, list)
        or len(value) != rows
        or not all(isinstance(r, list) and len(r) == states for r in value)
    ):
        raise FormatError(
            f"The table of {shown(name)} must have {rows} rows of {states} numbers, as its parents and states call for."
        )
    table = np.empty(shape)
    for k, row in enumerate(value):
        if not all(_is_number(v) or v == "-inf" for v in row):
            raise FormatError(f'Row {k} of the table of {shown(name)} must hold numbers or "-inf", got {shown(row)}.')
        table[k] = [-math.inf if v == "-inf" else v for v in row]
    if np.isposinf(table).any():
        raise FormatError(f"The table of {shown(name)} holds a number too large to be a log-probability.")
    with np.errstate(over="ignore"):
        off = np.abs(np.exp(table).sum(axis=1) - 1.0)
    if (off > _ROW_SUM_TOLERANCE).any():
        raise FormatError(
            f"Row {int(off.argmax())} of the table of {shown(name)} does not sum to 1 (as probabilities)."
        )
    return table


def _is_number(value: Any) -> bool:
    # A huge JSON integer would overflow the conversion to float.
    return type(value) is float or (type(value) is int and abs(value) < 2**63)
