"""Discrete data made a column at a time, from tables of which only one column fits into memory as it is."""

import os
from collections.abc import Collection, Mapping
from dataclasses import replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mmbn_opt._arguments import choice_of, listed, shown
from mmbn_opt._budget import leave_in_time
from mmbn_opt.data.discrete import DiscreteDataset, MissingPolicy
from mmbn_opt.data.findings import Finding, tell
from mmbn_opt.data.merging import equal_rows
from mmbn_opt.data.preparation import Kind, preparation_of
from mmbn_opt.data.readers.parquet_columns import ParquetColumns
from mmbn_opt.exceptions import InputError

__all__ = ["dataset_of_parquet"]


def dataset_of_parquet(
    path: str | os.PathLike[str],
    target: str,
    *,
    missing: MissingPolicy = "error",
    kinds: Mapping[str, Kind] | None = None,
    ignore: Collection[str] = (),
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
    variables, columns, remarks = [], [], []
    for name in features:
        leave_in_time()
        frame = pd.DataFrame({name: table.column(name)[keep].reset_index(drop=True), target: coded})
        given = {name: kinds[name]} if kinds and name in kinds else None
        one = preparation_of(frame, target, kinds=given, missing=missing).data
        variables.append(one.features[0])
        columns.append(one.codes[:, 0].astype(np.min_scalar_type(one.cardinalities[0] - 1)))
        remarks += [finding for finding in one.remarks if finding.column == name]
    told: tuple[Finding, ...] = (*remarks, *of_class.remarks)
    tell(told)
    card = (of_class.n_classes, *(v.cardinality for v in variables))
    rows, weight = equal_rows((of_class.target_codes, *columns), card, of_class.sample_weight)
    codes = np.empty((len(rows), len(columns)), dtype=np.int32, order="F")
    for j, column in enumerate(columns):
        codes[:, j] = column[rows]
    return replace(
        of_class, codes=codes, target_codes=of_class.target_codes[rows], features=tuple(variables),
        sample_weight=weight, n_dropped=len(labels) - len(of_class.target_codes), remarks=told,
    )  # fmt: skip


def _complete(table: ParquetColumns, labels: pd.Series, features: Collection[str]) -> NDArray[np.bool_]:
    """Rows without a missing cell; every column is read once for it."""
    keep: NDArray[np.bool_] = labels.notna().to_numpy()
    for name in features:
        leave_in_time()
        keep = keep & table.column(name).notna().to_numpy()
    if not keep.any():
        raise InputError(f'No row is left: all {len(keep)} have a missing cell. Use missing="state" or fill the cells.')
    return keep
