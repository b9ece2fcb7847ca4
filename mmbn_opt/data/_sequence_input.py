"""Raw sequences of any form as one table with a row a position."""

from collections.abc import Collection, Iterable, Mapping, Reversible, Sequence
from typing import Any

import numpy as np
import pandas as pd

from mmbn_opt._arguments import described, listed, shown
from mmbn_opt._arrays import IntArray
from mmbn_opt.data.cells import as_state
from mmbn_opt.data.frames import as_pandas
from mmbn_opt.exceptions import InputError

__all__ = ["joined_labels", "joined_observations", "sorted_groups"]

_FORMS = (
    "a list of sequences, each an array (length, n_features), a list of symbols, a text, a table, or a list of mappings"
)
_CHAIN = "Labels lie on a chain; trees, grids and other graphs of labels are not supported."


def joined_observations(X: Any, names: Sequence[str] | None, *, training: bool = True) -> tuple[pd.DataFrame, IntArray]:
    """All positions as one table, and where each sequence begins.

    Parameters
    ----------
    X : list of sequences
    names : sequence of str or None
        Names of the columns; at prediction those of the model, which tables may have in another order.
    training : bool
    """
    sequences = _listed_sequences("X", X, _FORMS)
    first, named = None, False
    parts: list[Any] = []
    for i, sequence in enumerate(sequences):
        part = _as_table(i, sequence)
        if not len(part):
            raise InputError(f"X[{i}] is an empty sequence; leave it out of X and y, every sequence has a position.")
        if first is None:
            first, named = part, isinstance(part, pd.DataFrame)
        elif isinstance(part, pd.DataFrame) != named or (not named and part.shape[1] != first.shape[1]):
            raise InputError(
                f"X[{i}] has {_width(part)}, X[0] has {_width(first)}; all sequences need the same features."
            )
        parts.append(part)
    assert first is not None
    starts = np.concatenate([[0], np.cumsum([len(part) for part in parts])]).astype(np.int64)
    if named:
        return _joined_tables(parts, names if training else None), starts
    columns = [f"x{j}" for j in range(first.shape[1])] if names is None else [str(name) for name in names]
    if len(columns) != first.shape[1]:
        wanted = f"{len(columns)} feature names" if training else f"the model has {len(columns)} features"
        raise InputError(f"The sequences have {_width(first)}, but {wanted}: [{listed(columns)}].")
    return pd.DataFrame(np.concatenate(parts), columns=columns).infer_objects(), starts


def _joined_tables(parts: list[pd.DataFrame], names: Sequence[str] | None) -> pd.DataFrame:
    joined = pd.concat(parts, ignore_index=True)
    joined.columns = [str(c) for c in joined.columns]
    if names is None:
        return joined
    absent = [str(name) for name in names if str(name) not in joined.columns]
    if absent:
        raise InputError(f"feature_names holds [{listed(absent)}]; the sequences have [{listed(joined.columns)}].")
    return joined[[str(name) for name in names]]


def _width(part: Any) -> str:
    if isinstance(part, pd.DataFrame):
        return "named columns"
    return f"{part.shape[1]} feature{'s' if part.shape[1] != 1 else ''} without names"


def _unordered(labels: Iterable[Any]) -> bool:
    """Whether these are many things without an order of their own: a set, the nodes of a graph, columns of a table."""
    ordered = (Reversible, np.ndarray, pd.Series, pd.Index, pd.api.extensions.ExtensionArray)
    return isinstance(labels, Collection) and not isinstance(labels, ordered)


def _listed_sequences(name: str, values: Any, forms: str) -> list[Any]:
    values = as_pandas(values)
    single = isinstance(values, (str, bytes, Mapping, pd.DataFrame)) or not isinstance(values, Iterable)
    if single or (isinstance(values, np.ndarray) and values.dtype != object and values.ndim < 2):
        cure = f"A single sequence goes into a list: [{name}]."
        raise InputError(f"{name} must be {forms}; got {described(values)}. {cure}")
    sequences = list(values)
    if not sequences:
        raise InputError(f"{name} holds no sequence; nothing can be learned or predicted.")
    return sequences


def _as_table(i: int, sequence: Any) -> Any:
    """A sequence as a two-dimensional array, or as a table where its columns have names."""
    sequence = as_pandas(sequence)
    if isinstance(sequence, pd.DataFrame):
        return sequence
    if isinstance(sequence, str):
        sequence = list(sequence)
    if isinstance(sequence, (bytes, Mapping)) or not isinstance(sequence, Iterable):
        raise InputError(f"X[{i}] must be a sequence of positions, got {described(sequence)}; X is {_FORMS}.")
    if isinstance(sequence, np.ndarray) and sequence.dtype != object:
        array = sequence
    else:
        positions = list(sequence)
        if positions and isinstance(positions[0], Mapping):
            if not all(isinstance(p, Mapping) for p in positions):
                raise InputError(f"X[{i}] holds mappings beside other things; give each position the same form.")
            return pd.DataFrame(positions)
        array = _objects(i, positions)
    if array.ndim == 1:
        array = array[:, None]
    if array.ndim != 2:
        raise InputError(f"X[{i}] must be two-dimensional (length, n_features), got shape {array.shape}.")
    return array


def _objects(i: int, positions: list[Any]) -> Any:
    """Symbols, or rows of symbols, with their own types."""
    rows = [
        list(p) if isinstance(p, (list, tuple, np.ndarray, pd.Series)) and np.ndim(p) != 0 else None for p in positions
    ]
    if not any(row is not None for row in rows):
        array = np.empty(len(positions), dtype=object)
        array[:] = positions
        return array
    widths = {len(row) if row is not None else -1 for row in rows}
    if len(widths) > 1:
        at = next(n for n, row in enumerate(rows) if row is None or len(row) != len(rows[0] or ()))
        raise InputError(
            f"Position {at} of X[{i}] holds {shown(positions[at])}, position 0 {shown(positions[0])}; each "
            "position needs the same number of observations (None for a missing one)."
        )
    array = np.empty((len(rows), widths.pop()), dtype=object)
    for n, row in enumerate(rows):
        array[n, :] = row
    return array


def joined_labels(y: Any, starts: IntArray, name: str) -> pd.Series:
    """The labels of all positions, as many as the observations of each sequence."""
    sequences = _listed_sequences("y", y, "a list of label sequences, as long as those of X")
    if len(sequences) != len(starts) - 1:
        raise InputError(f"X holds {len(starts) - 1} sequences, y holds {len(sequences)}; each needs its labels.")
    labels = np.empty(int(starts[-1]), dtype=object)
    for i, sequence in enumerate(sequences):
        given = as_pandas(sequence)
        if isinstance(given, bytes) or not isinstance(given, Iterable):
            raise InputError(f"y[{i}] must be a sequence of labels, got {described(sequence)}.")
        if isinstance(given, Mapping) or _unordered(given):
            raise InputError(
                f"y[{i}] must be a sequence of labels, one a position, in order; got {described(sequence)}. {_CHAIN}"
            )
        found = list(given)
        length = int(starts[i + 1] - starts[i])
        if len(found) != length:
            raise InputError(f"X[{i}] has {length} positions, y[{i}] has {len(found)} labels; each position needs one.")
        for n, label in enumerate(found):
            if isinstance(label, Iterable) and not isinstance(label, (str, bytes)):
                raise InputError(f"y[{i}] holds {shown(label)} at position {n}; a label is a single value. {_CHAIN}")
            if pd.isna(label):
                raise InputError(f"y[{i}] has no label at position {n}; every position of a sequence needs one.")
        labels[starts[i] : starts[i + 1]] = found
    return pd.Series(labels, name=name).infer_objects()


def sorted_groups(
    frame: pd.DataFrame, target: str | None, group: str, order: str | None
) -> tuple[pd.DataFrame, IntArray]:
    """Rows of a long table sequence by sequence, each in its order, and where each sequence begins."""
    roles = {role: c for role, c in (("target", target), ("group", group), ("order", order)) if c is not None}
    for role, column in roles.items():
        if column not in frame.columns:
            raise InputError(f"{role} must be a column of the table, [{listed(frame.columns)}]; got {shown(column)}.")
        if list(frame.columns).count(column) > 1:
            raise InputError(f"Column names must be distinct; {shown(column)} stands there twice. Rename one.")
        if frame[column].isna().any():
            row = frame.index[int(frame[column].isna().to_numpy().argmax())]
            raise InputError(f"Column {shown(column)} ({role}) is missing in row {row!r}; each row needs one.")
    if len(set(roles.values())) < len(roles):
        raise InputError(f"target, group and order must be different columns, got {listed(roles.values())}.")
    if not len(frame):
        raise InputError("The table has no rows; nothing can be learned from it.")
    frame = frame.reset_index(drop=True)
    number = pd.factorize(frame[group])[0]
    if order is None:
        rows = np.argsort(number, kind="stable")
    else:
        twice = frame.duplicated([group, order], keep=False).to_numpy()
        if twice.any():
            row = frame.loc[int(twice.argmax())]
            raise InputError(
                f"{group}={shown(as_state(row[group]))} has {order}={shown(as_state(row[order]))} twice; each position "
                "of a sequence has one row. Remove the copies, or name another order column."
            )
        try:
            place = frame[order].rank(method="first").to_numpy()
        except TypeError:
            raise InputError(
                f"Column {shown(order)} (order) mixes texts and numbers; rows can't be sorted by it."
            ) from None
        rows = np.lexsort([place, number])
    lengths = np.bincount(number)
    return frame.iloc[rows].reset_index(drop=True), np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
