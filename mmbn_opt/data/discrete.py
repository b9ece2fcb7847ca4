"""Discrete data sets: integer codes beside the names and labels that they stand for."""

import logging
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
import pandas as pd

from mmbn_opt._arguments import check_arguments, check_fields, choice_of, listed, shown
from mmbn_opt._arrays import BoolArray, FloatArray, Int32Array
from mmbn_opt._lazy import delegate
from mmbn_opt.data.columns import frame_of_array, left_out
from mmbn_opt.data.findings import Finding, tell
from mmbn_opt.data.frames import as_pandas, check_columns, named_by_text
from mmbn_opt.data.inspection import feature_findings, label_findings, refuse_fractions, refuse_quantity
from mmbn_opt.data.merging import equal_rows
from mmbn_opt.data.unseen import UNSEEN, Unseen, warn_of_unseen
from mmbn_opt.data.variable import DiscreteVariable
from mmbn_opt.data.weights import checked_weight
from mmbn_opt.exceptions import InputError

__all__ = [
    "DiscreteDataset",
    "MissingPolicy",
    "check_columns",
    "complete_target",
    "encode_features",
    "named_by_text",
]

logger = logging.getLogger(__name__)

MissingPolicy = Literal["error", "drop", "state"]


@dataclass(frozen=True, eq=False)
class DiscreteDataset:
    """Samples of discrete features with a class.

    Parameters
    ----------
    codes : int32 array (n_samples, n_features)
        State numbers; -1 marks a missing cell (only in data for prediction).
    target_codes : int32 array (n_samples,)
    features : tuple of DiscreteVariable
    target : DiscreteVariable
    sample_weight : float64 array (n_samples,)
        Number of samples that a row stands for.
    n_dropped : int
        Rows left out because of missing cells or zero weight.
    remarks : tuple of Finding
        What was odd about the table.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"a": ["x", "y", "x", "x"], "b": [0, 1, 0, 1], "class": ["no", "yes", "no", "yes"]})
    >>> data = DiscreteDataset.from_frame(frame, target="class")
    >>> data
    DiscreteDataset(4 samples, 2 features, class 'class' with 2 states)
    >>> merged = data.aggregate()
    >>> merged.n_samples, merged.sample_weight.tolist()
    (3, [2.0, 1.0, 1.0])
    """

    codes: Int32Array
    target_codes: Int32Array
    features: tuple[DiscreteVariable, ...]
    target: DiscreteVariable
    sample_weight: FloatArray = field(repr=False)
    n_dropped: int = 0
    remarks: tuple[Finding, ...] = field(default=(), repr=False, metadata={"content": False})

    def __post_init__(self) -> None:
        check_fields(self)
        n_rows = len(self.target_codes)
        if self.codes.shape != (n_rows, len(self.features)) or self.sample_weight.shape != (n_rows,):
            raise InputError(
                f"DiscreteDataset shapes disagree: codes {self.codes.shape}, target {self.target_codes.shape}, "
                f"weights {self.sample_weight.shape}, {len(self.features)} features."
            )
        names = [v.name for v in (*self.features, self.target)]
        repeated = sorted({n for n in names if names.count(n) > 1})
        if repeated:
            raise InputError(
                f"Column names must be distinct; repeated: [{listed(repeated)}]. Rename or drop the copies."
            )

    def __repr__(self) -> str:
        return (
            f"DiscreteDataset({self.n_samples} samples, {self.n_features} features, "
            f"class {self.target.name!r} with {self.n_classes} states)"
        )

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return len(self.target_codes)

    @property
    def n_features(self) -> int:
        """Number of features."""
        return len(self.features)

    @property
    def n_classes(self) -> int:
        """Number of class states, declared ones included."""
        return self.target.cardinality

    @cached_property
    def cardinalities(self) -> tuple[int, ...]:
        """Number of states of every node, class last."""
        return (*(v.cardinality for v in self.features), self.target.cardinality)

    @cached_property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the features in column order."""
        return tuple(v.name for v in self.features)

    @property
    def class_name(self) -> str:
        """Name of the class column."""
        return self.target.name

    @property
    def total_weight(self) -> float:
        """Number of samples that the rows stand for."""
        return float(self.sample_weight.sum())

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        target: str,
        *,
        missing: MissingPolicy = "error",
        sample_weight: Any = None,
        ignore: Iterable[str] | str = (),
    ) -> "DiscreteDataset":
        """Take every column as categorical (numbers with a fraction are refused: see `mmbn_opt.prepare`).

        Parameters
        ----------
        frame : DataFrame (pandas, polars, pyarrow, ...)
            Columns of strings, categories, bools or integers, in pandas' own or pyarrow types.
        target : str
            The class column.
        missing : {"error", "drop", "state"}
            Missing feature cells: refuse, leave their rows out (unlabelled ones too), or make "missing" a state.
        sample_weight : array-like (n_samples,) or None
            Non-negative; a row of weight 0 is left out.
        ignore : iterable of str
            Columns to leave out.
        """
        check_arguments(cls.from_frame, locals())
        target = str(target)
        frame = left_out(named_by_text(frame), ignore, target)
        check_columns(frame, target)
        weight = checked_weight(sample_weight, len(frame))
        keep: BoolArray = np.asarray(weight > 0)
        complete_target(frame[keep], target, missing=missing)
        if missing == "drop":
            # Before the states are read off: a label seen only in rows that go is no state.
            keep &= frame.notna().all(axis=1).to_numpy()
            if not keep.any():
                told = f"No row is left: all {len(keep)} have a missing cell or weight 0."
                raise InputError(f'{told} Use missing="state" or fill the cells.')
        n_dropped = int((~keep).sum())
        frame, weight = frame[keep], weight[keep]
        refuse_quantity(frame[target], target)
        for name in frame.columns:
            refuse_fractions(name, frame[name])
        columns = [c for c in frame.columns if c != target]
        variables = tuple(DiscreteVariable.infer(c, frame[c], missing_state=missing == "state") for c in columns)
        label = DiscreteVariable.infer(target, complete_target(frame, target))
        data = cls.from_variables(frame, variables, label, missing=missing, sample_weight=weight)
        remarks = (*feature_findings(frame, variables, data.codes), *label_findings(frame[target], target, weight))
        tell(remarks)
        return replace(data, n_dropped=n_dropped, remarks=remarks)

    @classmethod
    def from_parquet(
        cls,
        path: str | os.PathLike[str],
        target: str,
        *,
        missing: MissingPolicy = "error",
        kinds: Mapping[str, Any] | None = None,
        ignore: Iterable[str] | str = (),
        codes_in: str | os.PathLike[str] | None = None,
    ) -> "DiscreteDataset":
        """The rows of a Parquet file, or of a folder of such files, merged: as `prepare` does it, column by column.

        Parameters
        ----------
        path : path-like
            A folder's files are taken in the order of their names, in folders within it too.
        target, missing, ignore
            As in `from_frame`.
        kinds : mapping of column name to {"categorical", "numeric"}, or None
            As in `prepare`: numeric columns are cut by MDLP over all rows.
        codes_in : path-like or None
            A folder to keep codes in, a byte each or as few as do, for tables beyond memory: rows are not merged then.
        """
        check_arguments(cls.from_parquet, locals())
        unwanted = frozenset(map(str, [ignore] if isinstance(ignore, str) else ignore))
        data: DiscreteDataset = delegate("dataset_of_parquet")(
            path, str(target), missing=missing, kinds=kinds, ignore=unwanted, codes_in=codes_in
        )
        return data

    @classmethod
    def from_variables(
        cls,
        frame: Any,
        features: Sequence[DiscreteVariable],
        target: DiscreteVariable,
        *,
        missing: MissingPolicy | Literal["keep"] = "error",
        sample_weight: Any = None,
        unseen: Unseen = "error",
    ) -> "DiscreteDataset":
        """Encode a frame by variables that are known already (a test part, for example).

        Labels that no variable knows are an error, or cells of code -1 (`unseen`), which prediction sums out.
        """
        check_arguments(cls.from_variables, locals())
        frame = named_by_text(frame)
        check_columns(frame, target.name)
        weight, n_rows = checked_weight(sample_weight, len(frame)), len(frame)
        if not weight.all():  # what stands in a row of weight 0 doesn't matter
            frame, weight = frame[weight > 0], weight[weight > 0]
        y = target.encode(complete_target(frame, target.name, missing=missing))
        codes = encode_features(frame, features, unseen=unseen)
        keep: BoolArray = np.ones(len(frame), dtype=np.bool_)
        if missing == "drop":
            keep &= (codes >= 0).all(axis=1) & (y >= 0)
        elif missing != "keep" and (codes < 0).any():
            # Labels never seen are no missing cells: where they are let through, they are what is summed out.
            absent = (codes < 0) & frame[[v.name for v in features]].isna().to_numpy()
            counts = [f"{shown(v.name)} ({n} cells)" for v, n in zip(features, absent.sum(axis=0), strict=True) if n]
            if counts:
                raise InputError(
                    f'Missing cells in {listed(counts, show=str)}. Pass missing="drop" to leave those rows out '
                    'or missing="state" to make missing a state.'
                )
        return cls(
            np.asfortranarray(codes[keep]), y[keep], tuple(features), target, weight[keep],
            n_dropped=n_rows - int(keep.sum()),
        )  # fmt: skip

    @classmethod
    def from_arrays(
        cls,
        X: Any,
        y: Any,
        *,
        feature_names: Sequence[str] | None = None,
        class_name: str = "class",
        missing: MissingPolicy = "error",
        sample_weight: Any = None,
        ignore: Iterable[str] | str = (),
    ) -> "DiscreteDataset":
        """From a 2-D array (or a DataFrame) of labels and a 1-D array of class labels.

        Features are called ``x0, x1, ...`` unless named; the class is called ``class``.
        """
        check_arguments(cls.from_arrays, locals())
        X, y = as_pandas(X), as_pandas(y)
        frame = X.copy() if isinstance(X, pd.DataFrame) else frame_of_array(X, feature_names)
        labels = (
            y
            if isinstance(y, pd.Series)
            else pd.Series(np.asarray(y).ravel() if not isinstance(y, pd.Categorical) else y)
        )
        if len(labels) != len(frame):
            raise InputError(f"X has {len(frame)} rows, y has {len(labels)}.")
        class_name = str(class_name)
        if class_name in map(str, frame.columns):
            raise InputError(f"A feature is already called {shown(class_name)}; pass another class_name.")
        frame[class_name] = (
            labels.to_numpy() if not isinstance(labels.dtype, pd.CategoricalDtype) else labels.set_axis(frame.index)
        )
        return cls.from_frame(frame, class_name, missing=missing, sample_weight=sample_weight, ignore=ignore)

    def subset(self, rows: Any) -> "DiscreteDataset":
        """The given rows (index array, boolean mask or slice), all labels kept."""
        return replace(
            self,
            codes=np.asfortranarray(self.codes[rows]),
            target_codes=self.target_codes[rows],
            sample_weight=self.sample_weight[rows],
        )

    def aggregate(self) -> "DiscreteDataset":
        """Merge equal rows; weights add up. The order of the result does not depend on the order of the rows."""
        columns = (self.target_codes, *self.codes.T)
        rows, weight = equal_rows(columns, (self.n_classes, *self.cardinalities[:-1]), self.sample_weight)
        return replace(
            self,
            codes=np.take(self.codes.T, rows, axis=1).T,
            target_codes=self.target_codes[rows],
            sample_weight=weight,
        )

    def observed_classes(self) -> list[int]:
        """Class codes that occur."""
        return [int(c) for c in np.unique(self.target_codes)]

    def constant_features(self) -> list[int]:
        """Features with one observed state."""
        return [j for j in range(self.n_features) if self.n_samples == 0 or np.ptp(self.codes[:, j]) == 0]

    def require_learnable(self) -> None:
        """Raise `InputError` unless there are rows, two classes, and no missing cells."""
        if self.n_samples == 0:
            raise InputError("The data have no rows; nothing can be learned from them.")
        if len(self.observed_classes()) < 2:
            only = self.target.states[int(self.target_codes[0])]
            raise InputError(
                f"The class column {shown(self.class_name)} holds only {shown(only)}; margins need at least two "
                "classes. Check the target column."
            )
        if any((column < 0).any() for column in self.codes.T):
            raise InputError('The data have missing cells; build them with missing="drop" or missing="state".')


def encode_features(
    frame: pd.DataFrame, features: Sequence[DiscreteVariable], *, unseen: Unseen = "error"
) -> Int32Array:
    """Codes (n_samples, n_features) of a frame's columns, matched by name; labels never seen become -1 or an error."""
    choice_of("unseen", unseen, UNSEEN)
    frame = named_by_text(frame)
    absent = [v.name for v in features if v.name not in frame.columns]
    if absent:
        raise InputError(f"Columns [{listed(absent)}] are absent; the data have [{listed(map(str, frame.columns))}].")
    codes = np.empty((len(frame), len(features)), dtype=np.int32, order="F")
    for j, variable in enumerate(features):
        codes[:, j] = variable.encode(frame[variable.name], unseen="error" if unseen == "error" else "missing")
    if unseen == "warn":
        warn_of_unseen(frame, features, codes)
    return codes


def complete_target(frame: pd.DataFrame, target: str, *, missing: str = "error") -> pd.Series:
    """The class column; `InputError` when there are no rows, or a label is missing and `missing` is not "drop"."""
    labels = frame[target]
    if n_missing := int(labels.isna().sum()):
        told = f"The class column {shown(target)} is missing in {n_missing} of {len(labels)} rows"
        if missing != "drop":
            cure = 'label them, or leave them out: missing="drop"'
            raise InputError(f"{told}; {cure}.")
        logger.warning("%s, which are left out", told)
    if not len(labels):
        raise InputError("The data have no rows (left); nothing can be learned from them.")
    return labels
