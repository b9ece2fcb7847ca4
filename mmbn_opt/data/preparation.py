"""From a raw table to discrete data: column kinds, discretization, missing cells; the same choices everywhere."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import pandas as pd

from mmbn_opt._arguments import check_arguments, listed, shown
from mmbn_opt._arrays import FloatArray
from mmbn_opt.data.cells import (
    are_moments,
    finite_numbers,
    has_moments,
    holds_objects,
    is_numeric,
    moment_text,
    of_one_type,
)
from mmbn_opt.data.columns import left_out
from mmbn_opt.data.cutting import cut_variable
from mmbn_opt.data.discrete import (
    DiscreteDataset,
    MissingPolicy,
    check_columns,
    complete_target,
    named_by_text,
)
from mmbn_opt.data.findings import Finding, remark_lines, tell
from mmbn_opt.data.frames import with_columns
from mmbn_opt.data.inspection import decimal_commas, feature_findings, label_findings, refuse_quantity
from mmbn_opt.data.unseen import Unseen
from mmbn_opt.data.variable import DiscreteVariable
from mmbn_opt.data.weights import as_counts, checked_weight
from mmbn_opt.exceptions import InputError

__all__ = ["Kind", "Preparation", "column_kinds", "preparation_of", "prepare"]

Kind = Literal["categorical", "numeric"]
MAX_INTEGER_STATES = 10


@dataclass(frozen=True, eq=False)
class Preparation:
    """What was done to each column, and the data that came out.

    Parameters
    ----------
    data : DiscreteDataset
        The prepared training rows.
    kinds : dict of str to {"categorical", "numeric"}
        Kind of every feature.
    missing : {"error", "drop", "state"}
    numbers : mapping from feature to float64 array (n_samples,)
        The numeric columns as they were before they were cut.
    """

    data: DiscreteDataset
    kinds: Mapping[str, Kind]
    missing: MissingPolicy
    numbers: Mapping[str, FloatArray] = field(default_factory=dict, repr=False)

    def apply(self, frame: Any, *, unseen: Unseen = "error") -> DiscreteDataset:
        """Other rows in the same codes (a test part): same cuts, same states, same missing policy."""
        check_arguments(Preparation.apply, locals())
        policy: Any = self.missing
        return DiscreteDataset.from_variables(
            frame, self.data.features, self.data.target, missing=policy, unseen=unseen
        )

    @property
    def remarks(self) -> tuple[Finding, ...]:
        """What was odd about the table."""
        return self.data.remarks

    def describe(self, *, remarks: bool = True) -> list[str]:
        """One line a feature: its kind and its states or cut points; then what was odd about the table.

        Parameters
        ----------
        remarks : bool
            False leaves out what the log has said already.
        """
        lines = []
        for variable in self.data.features:
            if variable.cuts is None:
                lines.append(f"{variable.name}: categorical, {variable.cardinality} states")
            else:
                cuts = ", ".join(_short(text) for text in variable.cut_texts) or "none (constant)"
                lines.append(f"{variable.name}: numeric, MDLP cuts {cuts}")
        return lines + (remark_lines(self.remarks) if remarks else [])


def _short(cut: str) -> str:
    try:
        return f"{float(cut):g}"
    except ValueError:
        return cut


def column_kinds(frame: pd.DataFrame, target: str, kinds: Mapping[str, Kind] | None = None) -> dict[str, Kind]:
    """Kind of every feature column.

    Given `kinds` win. Else strings, categories and bools are categorical, integer columns with at most 10 distinct
    values are categorical, other numbers are numeric, moments and durations too, and text that holds nothing but
    numbers with a decimal comma.
    """
    given = {str(name): kind for name, kind in dict(kinds or {}).items()}
    known = [c for c in frame.columns if c != target]
    for name, kind in given.items():
        if name not in known:
            raise InputError(
                f"kinds names the unknown column {shown(name)}; the feature columns are [{listed(known)}]."
            )
        if kind not in ("categorical", "numeric"):
            raise InputError(f'The kind of column {shown(name)} must be "categorical" or "numeric", got {shown(kind)}.')
    found: dict[str, Kind] = {}
    for name in known:
        found[name] = given.get(name) or _guess_kind(frame[name])
    return found


def _guess_kind(values: pd.Series) -> Kind:
    if not is_numeric(values):
        return "numeric" if decimal_commas(values) else "categorical"
    if has_moments(values):
        return "numeric"
    numbers = values.dropna()
    whole = pd.api.types.is_integer_dtype(values.dtype) or (values.hasnans and bool((numbers == numbers.round()).all()))
    return "categorical" if whole and numbers.nunique() <= MAX_INTEGER_STATES else "numeric"


def prepare(
    frame: Any,
    target: str,
    *,
    kinds: Mapping[str, Kind] | None = None,
    missing: MissingPolicy = "error",
    discretize: bool = True,
    sample_weight: Any = None,
    ignore: Iterable[str] | str = (),
) -> Preparation:
    """Prepare training rows: choose kinds, discretize numeric columns by MDLP, treat missing cells.

    What is odd about the table (identifiers, dates as text, numbers with a few odd cells, columns that say nothing) is
    logged as a warning and kept in ``remarks``.

    Parameters
    ----------
    frame : DataFrame (pandas, polars, pyarrow, ...)
        Training rows, class included.
    target : str
        Class column.
    kinds : mapping of column name to {"categorical", "numeric"}, or None
        Overrides for some or all columns.
    missing : {"error", "drop", "state"}
    discretize : bool
        False refuses numeric columns instead of cutting them.
    sample_weight : array-like (n_samples,) or None
        Whole numbers are counts, a row of weight 0 is left out; others are taken up to a factor, see `as_counts`.
    ignore : iterable of str
        Columns to leave out.

    Raises
    ------
    InputError
        Unknown columns, missing cells under ``missing="error"``, numeric columns under ``discretize=False``,
        text or infinities in numeric columns, a class column that is a quantity (a regression target).

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"size": [1.0, 1.5, 2.0, 7.5, 8.0, 9.5] * 4, "class": list("aaabbb") * 4})
    >>> preparation = prepare(frame, "class")
    >>> preparation.describe()
    ['size: numeric, MDLP cuts 4.75']
    >>> preparation.data.features[0].states
    ('(-inf, 4.75]', '(4.75, inf)')
    """
    check_arguments(prepare, locals())
    found = preparation_of(
        frame, target, kinds=kinds, missing=missing, discretize=discretize, sample_weight=sample_weight, ignore=ignore
    )
    tell(found.remarks)
    return found


def preparation_of(
    frame: Any,
    target: str,
    *,
    kinds: Mapping[str, Kind] | None = None,
    missing: MissingPolicy = "error",
    discretize: bool = True,
    sample_weight: Any = None,
    ignore: Iterable[str] | str = (),
) -> Preparation:
    """What `prepare` returns, and nothing in the log: for tables that come in parts. Parameters are those of it."""
    target = str(target)
    frame = left_out(named_by_text(frame), ignore, target)
    check_columns(frame, target)
    n_rows, weight = len(frame), as_counts(checked_weight(sample_weight, len(frame)))
    if n_rows and not weight.all():
        # As if these rows were not there: a column that is text because of one of them is none.
        frame, weight = frame[weight > 0].infer_objects(), weight[weight > 0]
    frame = with_columns(frame, {c: of_one_type(frame[c]) for c in frame.columns if holds_objects(frame[c])})
    found = column_kinds(frame, target, kinds)
    numeric = [name for name, kind in found.items() if kind == "numeric"]
    if numeric and not discretize:
        raise InputError(
            f"Columns [{listed(numeric)}] are numeric and discretization is off; discretize them yourself, "
            "declare them categorical, or allow MDLP."
        )
    table = with_columns(frame, {name: _as_numbers(name, frame[name]) for name in numeric})
    labels = complete_target(table, target, missing=missing)
    keep = weight > 0
    if missing == "drop":
        # Before states and cuts are read off: a value seen only in rows that go is none.
        keep &= ~table.isna().any(axis=1).to_numpy()
    table, labels, weight, raw = table[keep], labels[keep], weight[keep], frame[keep]
    if not len(table):
        raise InputError(
            f'No row is left: all {n_rows} have a missing cell or weight 0. Use missing="state" or fill the cells.'
        )
    refuse_quantity(labels, target)
    class_variable = DiscreteVariable.infer(target, labels)
    codes = class_variable.encode(labels)
    variables = [
        DiscreteVariable.infer(name, table[name], missing_state=missing == "state")
        if kind == "categorical"
        else _cut(table[name], codes, class_variable.cardinality, weight, missing, are_moments(raw[name]))
        for name, kind in found.items()
    ]
    policy: MissingPolicy = "state" if missing == "state" else "error"
    data = DiscreteDataset.from_variables(table, variables, class_variable, missing=policy, sample_weight=weight)
    commas = [name for name in numeric if not is_numeric(raw[name]) and decimal_commas(raw[name])]
    remarks = (
        *feature_findings(raw, variables, data.codes, commas),
        *label_findings(labels, target, weight, unlabelled=int(frame[target].isna().sum())),
    )
    numbers = {name: table[name].to_numpy(dtype=np.float64) for name in numeric}
    return Preparation(replace(data, n_dropped=n_rows - len(table), remarks=remarks), found, missing, numbers)


def _as_numbers(name: str, values: pd.Series) -> pd.Series:
    cure = (
        "Correct the value, have it read as missing (na_values of read_table, --na on the command line), or "
        "declare the column categorical."
    )
    return pd.Series(finite_numbers(name, values, cure), index=values.index, name=name)


def _cut(
    values: pd.Series, codes: Any, n_classes: int, weight: Any, missing: MissingPolicy, moments: bool
) -> DiscreteVariable:
    numbers = values.to_numpy(dtype=np.float64)
    has_missing = missing == "state" and bool(np.isnan(numbers).any())
    text = moment_text if moments else None
    return cut_variable(str(values.name), numbers, codes, n_classes, weight, has_missing=has_missing, text=text)
