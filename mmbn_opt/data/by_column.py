"""Discrete data made a column at a time, from tables of which only one column fits into memory as it is."""

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mmbn_opt._arguments import choice_of, listed, shown
from mmbn_opt._budget import leave_in_time
from mmbn_opt.data.discrete import DiscreteDataset, MissingPolicy
from mmbn_opt.data.findings import Finding, FindingKind, tell
from mmbn_opt.data.inspection import feature_findings
from mmbn_opt.data.mapped import CodeFile, MappedDataset
from mmbn_opt.data.merging import equal_rows
from mmbn_opt.data.preparation import Kind, preparation_of
from mmbn_opt.data.readers.parquet_columns import ParquetColumns, taken
from mmbn_opt.data.variable import DiscreteVariable
from mmbn_opt.exceptions import InputError

__all__ = ["dataset_of_parquet"]

_MOST_CELLS, _ROWS_A_CELL = 65_535, 20
"""Different cells of a column up to which it is read by them, and rows that each has at the mean then."""

_BY_ROWS = (FindingKind.IDENTIFIER, FindingKind.MANY_STATES)
"""What cannot be said of a column where each cell has `_ROWS_A_CELL` rows at the mean."""

_ROWS_AT_ONCE = 1 << 16


def dataset_of_parquet(
    path: str | os.PathLike[str],
    target: str,
    *,
    missing: MissingPolicy = "error",
    kinds: Mapping[str, Kind] | None = None,
    ignore: Collection[str] = (),
    codes_in: str | os.PathLike[str] | None = None,
) -> DiscreteDataset:
    """What `DiscreteDataset.from_parquet` does; see there.

    A column becomes codes of one byte each (where it has no more than 255 states) before the next one is read.
    """
    choice_of("missing", missing, ("error", "drop", "state"))
    table = ParquetColumns(path, ignore)
    if target not in table.names:
        raise InputError(f"There is no target column {shown(target)}; the columns are [{listed(table.names)}].")
    features = [name for name in table.names if name != target]
    unknown = [name for name in kinds or {} if name not in features]
    if unknown:
        raise InputError(f"kinds names the unknown column {shown(unknown[0])}; the features are [{listed(features)}].")
    labels = table.column(target)
    keep = _complete(table, labels, features) if missing == "drop" else np.ones(len(labels), dtype=np.bool_)
    of_class = preparation_of(pd.DataFrame({target: labels[keep]}), target, missing=missing).data
    coded = pd.Series(pd.Categorical.from_codes(of_class.target_codes, pd.RangeIndex(of_class.n_classes)), name=target)
    file = None if codes_in is None else CodeFile(codes_in, len(features) + 1, len(coded))
    try:
        variables, columns, remarks = _coded(table, features, keep, coded, missing, kinds, file)
    except BaseException:
        if file is not None:
            file.remove()
        raise
    told: tuple[Finding, ...] = (*remarks, *of_class.remarks)
    tell(told)
    n_dropped = len(labels) - len(of_class.target_codes)
    if file is not None:
        file.write(len(features), of_class.target_codes, of_class.n_classes)
        found = file.columns()
        return MappedDataset(
            found[:-1].T,
            found[-1],
            tuple(variables),
            of_class.target,
            np.broadcast_to(1.0, len(coded)),
            n_dropped,
            told,
        )
    card = (of_class.n_classes, *(v.cardinality for v in variables))
    rows, weight = equal_rows((of_class.target_codes, *columns), card, of_class.sample_weight)
    codes = np.empty((len(rows), len(columns)), dtype=np.int32, order="F")
    for j, column in enumerate(columns):
        codes[:, j] = column[rows]
    return replace(
        of_class, codes=codes, target_codes=of_class.target_codes[rows], features=tuple(variables),
        sample_weight=weight, n_dropped=n_dropped, remarks=told,
    )  # fmt: skip


def _coded(
    table: ParquetColumns,
    features: Sequence[str],
    keep: NDArray[np.bool_],
    labels: pd.Series,
    missing: MissingPolicy,
    kinds: Mapping[str, Kind] | None,
    file: CodeFile | None,
) -> tuple[list[DiscreteVariable], list[NDArray[Any]], list[Finding]]:
    """Variables, codes (in the file, where there is one) and remarks of the features, one after another."""
    variables: list[DiscreteVariable] = []
    columns: list[NDArray[Any]] = []
    remarks: list[Finding] = []
    for j, name in enumerate(features):
        leave_in_time()
        given = {name: kinds[name]} if kinds and name in kinds else None
        one, codes, found = _few_cells(table, name, keep, labels, missing, given) or _any_cells(
            table, name, keep, labels, missing, given
        )
        variables.append(one)
        if file is not None:
            file.write(j, codes, one.cardinality)
        else:
            columns.append(codes)
        remarks += found
    return variables, columns, remarks


_Coded = tuple[DiscreteVariable, NDArray[np.integer[Any]], list[Finding]]


def _any_cells(
    table: ParquetColumns,
    name: str,
    keep: NDArray[np.bool_],
    labels: pd.Series,
    missing: MissingPolicy,
    kinds: Mapping[str, Kind] | None,
) -> _Coded:
    """Variable, codes and remarks of a feature, all its cells at once."""
    target = str(labels.name)
    frame = pd.DataFrame({name: table.column(name)[keep].reset_index(drop=True), target: labels})
    one = preparation_of(frame, target, kinds=kinds, missing=missing).data
    codes = one.codes[:, 0].astype(np.min_scalar_type(one.cardinalities[0] - 1))
    return one.features[0], codes, [finding for finding in one.remarks if finding.column == name]


def _few_cells(
    table: ParquetColumns,
    name: str,
    keep: NDArray[np.bool_],
    labels: pd.Series,
    missing: MissingPolicy,
    kinds: Mapping[str, Kind] | None,
) -> _Coded | None:
    """The same from the different cells, with the number of rows of each class; None where there are many of them."""
    found = table.numbered(name, min(_MOST_CELLS, len(labels) // _ROWS_A_CELL))
    if found is None:
        return None
    cells, numbers = found
    if missing == "error" and cells.isna().any():
        return None  # refused with the number of such rows
    numbers = numbers if missing != "drop" else numbers[keep]
    target, n_classes, own = str(labels.name), len(labels.cat.categories), labels.cat.codes.to_numpy()
    times = np.zeros(len(cells) * n_classes, dtype=np.int64)
    for start in range(0, len(numbers), _ROWS_AT_ONCE):
        rows = slice(start, start + _ROWS_AT_ONCE)
        pairs = numbers[rows].astype(np.intp)
        pairs *= n_classes
        pairs += own[rows]
        times += np.bincount(pairs, minlength=len(times))
    there = np.flatnonzero(times)
    cell, label = np.divmod(there, n_classes)
    frame = pd.DataFrame(
        {
            name: cells.iloc[cell].reset_index(drop=True),
            target: pd.Categorical.from_codes(label, labels.cat.categories),
        }
    )
    one = preparation_of(frame, target, kinds=kinds, missing=missing, sample_weight=times[there]).data
    variable, remarks = one.features[0], [finding for finding in one.remarks if finding.column == name]
    code_of = np.zeros(len(cells), dtype=np.min_scalar_type(variable.cardinality - 1))
    code_of[cell] = one.codes[:, 0]
    if variable.cuts == () or len(np.unique(cell)) == 1 or any(f.kind not in _BY_ROWS for f in remarks):
        # Something is odd; what it is in words depends on all rows.
        commas = [name] if any(f.kind is FindingKind.DECIMAL_COMMA for f in remarks) else []
        whole = pd.DataFrame({name: cells.iloc[numbers].reset_index(drop=True)})
        remarks = feature_findings(whole, [variable], code_of[numbers][:, None].astype(np.int32), commas)
    else:
        remarks = []
    return variable, taken(code_of, numbers), remarks


def _complete(table: ParquetColumns, labels: pd.Series, features: Collection[str]) -> NDArray[np.bool_]:
    """Rows without a missing cell; every column is read once for it."""
    keep: NDArray[np.bool_] = labels.notna().to_numpy()
    for name in features:
        leave_in_time()
        keep = keep & table.column(name).notna().to_numpy()
    if not keep.any():
        raise InputError(f'No row is left: all {len(keep)} have a missing cell. Use missing="state" or fill the cells.')
    return keep
