"""What is known, in whatever form it comes: one case or many, states or likelihoods of states, gaps wherever."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mmbn_opt._arguments import is_number, listed, shown
from mmbn_opt._arrays import FloatArray, IntArray
from mmbn_opt.data.cells import as_state
from mmbn_opt.data.discrete import DiscreteDataset, check_columns, named_by_text
from mmbn_opt.data.frames import as_pandas
from mmbn_opt.data.variable import DiscreteVariable
from mmbn_opt.exceptions import InputError, WrongTypeError
from mmbn_opt.networks.node_names import node_number, suggestion

__all__ = ["Evidence", "observed_names", "read_evidence"]

_FORMS = (
    "a mapping of node to state, a Series, a table with a row a case and any of the nodes as columns, or a list of "
    "mappings"
)

_LIKELIHOODS = (Mapping, list, np.ndarray, pd.Series)


@dataclass(frozen=True, eq=False)
class Evidence:
    """Cases of evidence in the numbers of a network.

    Parameters
    ----------
    codes : int32 array (n_cases, n_nodes)
        -1 where not observed.
    nodes, starts : int64 arrays
        Nodes with a likelihood of states, and the column of `likelihood` where theirs begins.
    likelihood : float64 array (n_cases or 1, n_columns)
        Logs.
    index : pandas.Index or None
        Of the cases; None for a single one, whose answer is no table.
    """

    codes: NDArray[np.int32]
    nodes: IntArray
    starts: IntArray
    likelihood: FloatArray
    index: pd.Index | None

    @property
    def n_cases(self) -> int:
        """Number of cases."""
        return len(self.codes)


def read_evidence(variables: Sequence[DiscreteVariable], given: Any, likelihood: Any = None) -> Evidence:
    """Evidence in codes.

    Parameters
    ----------
    variables : sequence of DiscreteVariable
        Of the network, in the order of its nodes.
    given : mapping, Series, table, DiscreteDataset, list of mappings, or None
    likelihood : mapping of node to likelihoods, or None
        For each node, numbers >= 0 by state: a mapping, a sequence, or an array with a row a case.

    Raises
    ------
    InputError
        For an unknown node or state, with the likeliest one, and for likelihoods that are none.
    """
    names = [v.name for v in variables]
    soft: dict[int, FloatArray] = {}
    index: pd.Index | None = None
    if not isinstance(given, Mapping):
        given = as_pandas(given)
    if isinstance(given, pd.Series):
        given = dict(given)
    if given is None or isinstance(given, Mapping):
        codes = np.full((1, len(names)), -1, dtype=np.int32)
        soft = _read_case(variables, names, {} if given is None else given, codes[0])
    elif isinstance(given, DiscreteDataset):
        index, codes = pd.RangeIndex(given.n_samples), _codes_of_data(variables, given)
    elif isinstance(given, pd.DataFrame):
        index, codes = given.index, _codes_of_frame(variables, names, given)
    elif isinstance(given, (list, tuple)) and all(isinstance(case, Mapping) for case in given):
        index = pd.RangeIndex(len(given))
        codes = np.full((len(given), len(names)), -1, dtype=np.int32)
        for row, case in enumerate(given):
            for node, values in _read_case(variables, names, case, codes[row]).items():
                soft.setdefault(node, np.zeros((len(given), variables[node].cardinality)))[row] = values
    else:
        raise WrongTypeError(f"evidence must be {_FORMS}, got {shown(given)}.")
    for name, values in (likelihood or {}).items():
        node = node_number(names, name)
        logs = _read_likelihood(variables[node], values, len(codes))
        soft[node] = soft[node] + logs if node in soft else logs
    codes[:, [len(v.states) == 1 for v in variables]] = 0
    n_rows = max((len(np.atleast_2d(values)) for values in soft.values()), default=1)
    columns = [np.broadcast_to(np.atleast_2d(v), (n_rows, variables[node].cardinality)) for node, v in soft.items()]
    lengths = [variables[node].cardinality for node in soft]
    return Evidence(
        codes,
        np.array(list(soft), dtype=np.int64),
        np.cumsum([0, *lengths])[:-1].astype(np.int64),
        np.ascontiguousarray(np.hstack(columns)) if columns else np.zeros((1, 0)),
        index,
    )


def observed_names(case: Any) -> set[str]:
    """Names of the nodes that one case gives a state, not a gap or likelihoods."""
    held = {} if case is None else dict(as_pandas(case))
    return {str(name) for name, value in held.items() if not (isinstance(value, _LIKELIHOODS) or pd.isna(value))}


def _read_case(
    variables: Sequence[DiscreteVariable], names: Sequence[str], case: Mapping[Any, Any], codes: NDArray[np.int32]
) -> dict[int, FloatArray]:
    """Fill the codes of one case; likelihoods, which stand in the place of a state, are handed back."""
    soft = {}
    for name, value in case.items():
        node = node_number(names, name)
        if isinstance(value, _LIKELIHOODS):
            soft[node] = _read_likelihood(variables[node], value, 1)[0]
        else:
            codes[node] = _code(variables[node], value)
    return soft


def _code(variable: DiscreteVariable, value: Any) -> int:
    if variable.cuts is None or isinstance(value, str):  # the quick way for a label as it stands
        for code, state in enumerate(variable.states):
            if type(state) is type(value) and state == value:
                return code
    return int(_codes_of_column(variable, pd.Series([value]))[0])


def _codes_of_column(variable: DiscreteVariable, column: pd.Series) -> NDArray[Any]:
    if variable.cuts is not None and (known := column.dropna()).isin(variable.states).all() and len(known):
        # Intervals by their own labels, as answers have them, beside numbers that lie in them.
        variable = replace(variable, cuts=None)
    codes = variable.encode(column, unseen="missing")
    strange = column[(codes < 0) & column.notna().to_numpy()]
    if len(strange):
        value = as_state(strange.iloc[0])
        hint = suggestion(str(value), [str(state) for state in variable.states])
        raise InputError(
            f"Node {shown(variable.name)} has no state {shown(value)}{hint} Its states are "
            f"[{listed(variable.states, 12)}]."
        )
    return codes


def _codes_of_frame(
    variables: Sequence[DiscreteVariable], names: Sequence[str], frame: pd.DataFrame
) -> NDArray[np.int32]:
    frame = named_by_text(frame)
    check_columns(frame, None)
    codes = np.full((len(frame), len(names)), -1, dtype=np.int32)
    for name in frame.columns:
        node = node_number(names, name)
        codes[:, node] = _codes_of_column(variables[node], frame[name])
    return codes


def _codes_of_data(variables: Sequence[DiscreteVariable], data: DiscreteDataset) -> NDArray[np.int32]:
    if (*data.features, data.target) != tuple(variables):
        raise InputError("The data set's variables are not the network's; pass a DataFrame instead.")
    return np.ascontiguousarray(np.column_stack([data.codes, data.target_codes]), dtype=np.int32)


def _read_likelihood(variable: DiscreteVariable, values: Any, n_cases: int) -> FloatArray:
    """Logs of likelihoods, (1 or n_cases, n_states)."""
    told = f"The likelihood of {shown(variable.name)}"
    if isinstance(values, (Mapping, pd.Series)):
        by_state = dict(values)
        numbers = np.zeros((1, variable.cardinality))
        codes = [_code(variable, state) for state in by_state]
        if not all(map(is_number, by_state.values())):
            raise InputError(f"{told} must be numbers by state, got {shown(by_state)}.")
        numbers[0, codes] = list(by_state.values())
    else:
        try:
            numbers = np.atleast_2d(np.asarray(values, dtype=np.float64))
        except (TypeError, ValueError):
            raise InputError(
                f"{told} must be numbers, one a state, got {shown(values)}. A state itself is given as it is, and "
                "several cases as a table: pandas.DataFrame(evidence)."
            ) from None
        if numbers.ndim != 2 or len(numbers) not in (1, n_cases) or numbers.shape[1] != variable.cardinality:
            raise InputError(
                f"{told} has shape {np.shape(values)}; {variable.cardinality} states "
                f"([{listed(variable.states, 12)}]) call for as many numbers."
            )
    if not (np.isfinite(numbers).all() and (numbers >= 0).all() and (numbers > 0).any(axis=1).all()):
        raise InputError(f"{told} must be finite numbers >= 0, not all of them 0, got {shown(values)}.")
    with np.errstate(divide="ignore"):
        logs: FloatArray = np.log(numbers)
    return logs
