"""One look at a table before anything is learned from it: what is odd, by column, and what refuses it."""

import re
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mmbn_opt._arguments import listed, shown
from mmbn_opt.data.cells import (
    DECIMAL_COMMA,
    UNDECIDED_COMMA,
    are_moments,
    has_moments,
    holds_objects,
    is_numeric,
    numbers_in,
)
from mmbn_opt.data.findings import Finding, FindingKind
from mmbn_opt.data.variable import MISSING_LABEL, DiscreteVariable
from mmbn_opt.exceptions import InputError

__all__ = [
    "decimal_commas",
    "feature_findings",
    "label_findings",
    "matrix_findings",
    "refuse_fractions",
    "refuse_quantity",
]

_FEW_ROWS = 10
"""Below it every column has a value of its own in nearly each row."""
_FEW_CLASS_ROWS = 5
_SHARE_OF_ROWS = 0.5
"""Different values for this share of the rows are names of rows."""
_MANY_STATES = 50
_ROWS_A_STATE = 20
_MANY_VALUES = 10
"""Numbers and dates with more distinct values than this are quantities rather than labels."""
_LOOKED_AT = 2_000
"""Distinct texts of a column that are looked at."""

_ID_NAME = re.compile(
    r"(?i:(|.*[\s_.-])(id|ids|uuid|guid|index|idx|rowid|row|rownames?|nr|serial)|unnamed.*)|.*[a-z](Id|ID)"
)
_DATES = re.compile(
    r"([0-9]{4}[-/.][0-9]{1,2}[-/.][0-9]{1,2}|[0-9]{1,2}[-/.][0-9]{1,2}[-/.]([0-9]{4}|[0-9]{2})"
    r"|[0-9]{1,2}[\s.-]*[A-Za-z]{3,9}[\s.,-]*[0-9]{2,4}|[A-Za-z]{3,9}[\s.]*[0-9]{1,2},?\s*[0-9]{4})"
    r"([T\s]+[0-9]{1,2}:[0-9]{2}(:[0-9]{2}([.,][0-9]+)?)?\s*([AaPp][Mm])?\s*(Z|UTC|[+-][0-9]{2}:?[0-9]{2})?)?"
    r"|[0-9]{1,2}:[0-9]{2}(:[0-9]{2}([.,][0-9]+)?)?\s*([AaPp][Mm])?"
)
_SIGNED = re.compile(r"[+-]?\s*+[$€£¥]?\s*+[+-]?[0-9][0-9.,' ]*+\s*+([%$€£¥]|[A-Za-zµ°]{1,3}2?)?|\([$€£¥]?[0-9.,]+\)")
_MISSING_WORD = re.compile(
    r"|#?n/?a|n\.a\.|nan|null|none|nil|missing|not available|unknown|unk|[?*]|-{1,3}|\.{1,3}|#null!|<na>", re.IGNORECASE
)


def refuse_quantity(labels: pd.Series, name: str) -> None:
    """Refuse a class column that is a quantity, or of which no two rows share a class.

    Raises
    ------
    InputError
        Numbers with fractions; different labels in every row; whole numbers or moments of which most occur once.
    """
    n_rows = len(labels)
    declared = isinstance(labels.dtype, pd.CategoricalDtype)
    n_classes = int(labels.nunique())
    measured = not declared and is_numeric(labels)
    numbers = numbers_in(labels) if measured else np.empty(0)
    if not measured and not declared and n_classes > _MANY_VALUES:
        numbers = _mostly_numbers(labels)
    fractions = numbers[np.isfinite(numbers) & (numbers != np.round(numbers))]
    cure = "Choose the column of the classes; a quantity has to be cut into classes first (pandas.cut, pandas.qcut)."
    quantity = n_classes > _MANY_VALUES or (n_rows >= _FEW_CLASS_ROWS and n_classes > _SHARE_OF_ROWS * n_rows)
    if len(fractions) and quantity and not has_moments(labels):
        raise InputError(
            f"The class column {shown(name)} holds numbers with fractions, such as {float(fractions[0])!r} "
            f"({n_classes} different values in {n_rows} rows): a regression target, not classes (unknown label type: "
            f"continuous). {cure}"
        )
    if n_rows >= _FEW_CLASS_ROWS and n_classes == n_rows:
        raise InputError(
            f"The class column {shown(name)} has another label in each of its {n_rows} rows: no class has two rows to "
            f"learn from. {cure}"
        )
    if measured and n_classes > max(2 * _MANY_VALUES, _SHARE_OF_ROWS * n_rows):
        raise InputError(
            f"The class column {shown(name)} has {n_classes} different numbers in {n_rows} rows: a regression target, "
            f"not classes. {cure}"
        )


def refuse_fractions(name: str, values: pd.Series) -> None:
    """Refuse a column of numbers with fractions where every value is to be a state."""
    if pd.api.types.is_float_dtype(values.dtype):
        numbers = values.dropna().astype("float64").to_numpy()
        if not np.isfinite(numbers).all():
            raise InputError(f"Column {shown(name)} holds an infinite value; only finite numbers can be used.")
        if (numbers != np.round(numbers)).any():
            raise InputError(
                f"Column {shown(name)} is numeric with {len(np.unique(numbers))} distinct values; discretize it first "
                "(mmbn_opt.prepare(frame, target) or MDLPDiscretizer), or turn its values into strings."
            )


def label_findings(
    labels: pd.Series, name: str, weight: NDArray[np.float64] | None = None, *, unlabelled: int = 0
) -> list[Finding]:
    """What is odd about class labels that can be learned from; `unlabelled` rows were left out before."""
    counts = labels.value_counts()
    counts = counts[counts > 0]
    found = [Finding(FindingKind.UNLABELLED, name, f"{unlabelled:,} rows")] if unlabelled else []
    if len(counts) > 2 * _MANY_VALUES and len(labels) < _FEW_CLASS_ROWS * len(counts):
        found.append(Finding(FindingKind.MANY_CLASSES, name, f"{len(counts)} classes in {len(labels)} rows"))
    single = [label for label, count in counts.items() if count == 1]
    if weight is not None and single:
        # A row that stands for several samples is no single one.
        heavy = set(labels[np.asarray(weight) > 1].unique())
        single = [label for label in single if label not in heavy]
    if single:
        found.append(Finding(FindingKind.SINGLE_ROW_CLASS, name, listed(single, 4)))
    return found


def feature_findings(
    frame: pd.DataFrame,
    features: Sequence[DiscreteVariable],
    codes: NDArray[np.int32],
    commas: Collection[str] = (),
) -> list[Finding]:
    """What is odd about feature columns.

    Parameters
    ----------
    frame : DataFrame
        The columns as they came.
    features : sequence of DiscreteVariable
        What was made of them.
    codes : int32 array (n_samples, n_features)
    commas : collection of str
        Text columns that were read as numbers with a decimal comma.
    """
    found: list[Finding] = []
    for j, variable in enumerate(features):
        name, values = variable.name, frame[variable.name]
        if variable.cuts is None:
            finding = _categorical(variable, values, int((np.bincount(codes[:, j]) > 0).sum()))
        else:
            finding = _numeric(name, values, uncut=not variable.cuts)
        if finding is not None:
            found.append(finding)
        if name in commas:
            example = next(str(cell) for cell in values.dropna().unique() if "," in str(cell))
            found.append(Finding(FindingKind.DECIMAL_COMMA, name, shown(example)))
        elif variable.cuts is not None and (has_moments(values) or are_moments(values)):
            found.append(Finding(FindingKind.MOMENTS, name))
    return found


def matrix_findings(
    x: NDArray[np.float64], names: Sequence[str], constant: NDArray[np.bool_], labels: pd.Series, class_name: str
) -> tuple[Finding, ...]:
    """What is odd about a matrix of numbers (n_samples, n_features) and its labels."""
    found = [Finding(FindingKind.CONSTANT, names[j]) for j in np.flatnonzero(constant).tolist()] if len(x) > 1 else []
    if len(x) >= 2 * _FEW_ROWS:
        for j in np.flatnonzero((x == np.round(x)).all(axis=0) & ~constant).tolist():
            values = pd.Series(x[:, j])
            if _names_rows(names[j], values):
                found.append(Finding(FindingKind.IDENTIFIER, names[j], _whole_numbers(values)))
    return (*found, *label_findings(labels, class_name))


def decimal_commas(values: pd.Series) -> bool:
    """Whether a text column holds nothing but numbers, some of them with what can only be a decimal comma."""
    # A few cells first: most text is no number at a glance, and columns may be long.
    glance = [cell for cell in values.iloc[:20].tolist() if isinstance(cell, str)]
    if not all(any(character.isdigit() for character in cell) for cell in glance) or not _is_text(values):
        return False
    texts = _texts(values)
    comma = [text for text in texts if "," in text]
    if not comma or all(UNDECIDED_COMMA.fullmatch(text) for text in comma):
        return False
    rest = pd.Series([text for text in texts if "," not in text], dtype=object)
    return all(map(DECIMAL_COMMA.fullmatch, comma)) and bool(pd.to_numeric(rest, errors="coerce").notna().all())


def _categorical(variable: DiscreteVariable, values: pd.Series, n_states: int) -> Finding | None:
    name, n_rows = variable.name, len(values)
    states = f"{n_states:,} states in {n_rows:,} rows"
    if n_states == 1 and n_rows > 1:
        return Finding(FindingKind.CONSTANT, name)
    texts = [state.strip() for state in variable.states if isinstance(state, str) and state != MISSING_LABEL]
    if len(texts) >= 3:
        finding = _text(name, values, texts[:_LOOKED_AT], states)
        if finding is not None:
            return finding
    if n_rows >= _FEW_ROWS and n_states > max(_SHARE_OF_ROWS * n_rows, _FEW_ROWS - 1):
        return Finding(FindingKind.IDENTIFIER, name, states)
    if n_states >= _MANY_STATES and n_rows < _ROWS_A_STATE * n_states:
        return Finding(FindingKind.MANY_STATES, name, states)
    return None


def _text(name: str, values: pd.Series, texts: Sequence[str], states: str) -> Finding | None:
    """A text column that was meant to be numbers or dates."""
    numbers = pd.to_numeric(pd.Series(texts, dtype=object), errors="coerce").to_numpy(dtype=np.float64)
    plain = [text for text, number in zip(texts, numbers, strict=True) if np.isfinite(number)]
    other = [text for text, number in zip(texts, numbers, strict=True) if not np.isfinite(number)]
    if not other:
        return Finding(FindingKind.ZEROS, name, f"{shown(texts[0])}; {states}") if len(texts) > _MANY_VALUES else None
    dates = [text for text in other if _DATES.fullmatch(text)]
    if len(dates) > _MANY_VALUES and len(dates) >= 0.9 * len(texts):
        return Finding(FindingKind.DATE_TEXT, name, states)
    comma = [text for text in other if DECIMAL_COMMA.fullmatch(text) or UNDECIDED_COMMA.fullmatch(text)]
    signed = [
        text for text in other if text not in comma and any(c.isdigit() for c in text) and _SIGNED.fullmatch(text)
    ]
    odd = [text for text in other if text not in comma and text not in signed]
    words = [text for text in odd if _MISSING_WORD.fullmatch(text)]
    few = len(odd) <= max(3, 0.1 * len(texts))
    if comma and len(comma) + len(plain) + len(odd) == len(texts) and few and not odd:
        return Finding(FindingKind.UNDECIDED_COMMA, name, shown(comma[0]))
    if signed and few and len(texts) - len(odd) > _MANY_VALUES and _has_sign(signed):
        return Finding(FindingKind.SIGNS, name, listed([*signed[:1], *odd[:2]]))
    numeric = len(plain) + len(comma)
    if (odd or signed) and (
        (few and numeric > _MANY_VALUES and numeric >= 0.8 * len(texts))
        or (len(words) == len(odd) + len(signed) and numeric >= 2 and numeric > len(words))
    ):
        return Finding(FindingKind.ODD_CELLS, name, _counted(values, [*odd, *signed]), (*odd, *signed))
    return None


def _has_sign(texts: Sequence[str]) -> bool:
    """Whether the same sign or unit stands in them all: "12A", "7C" are codes."""
    ends = {re.sub(r"[0-9.,' ]+", "", text).lstrip("+-") for text in texts}
    return bool(ends & set("%$€£¥")) or len(ends) == 1


def _counted(values: pd.Series, odd: Sequence[str]) -> str:
    counts = values.dropna().astype(str).str.strip().value_counts()
    told = [f"{shown(text)} in {int(counts[text]):,}" for text in odd[:4] if text in counts.index]
    more = f" and {len(odd) - 4} more" if len(odd) > 4 else ""
    return f"{', '.join(told)}{more} of {len(values):,} rows"


def _numeric(name: str, values: pd.Series, *, uncut: bool) -> Finding | None:
    n_rows = len(values)
    if uncut:
        numbers = numbers_in(values)
        known = numbers[~np.isnan(numbers)]
        if n_rows > 1 and len(known) == n_rows and known.min() == known.max():
            return Finding(FindingKind.CONSTANT, name)
    if n_rows >= 2 * _FEW_ROWS and _names_rows(name, values):
        return Finding(FindingKind.IDENTIFIER, name, _whole_numbers(values))
    return Finding(FindingKind.NO_CUT, name) if uncut else None


def _whole_numbers(values: pd.Series) -> str:
    return f"{values.nunique():,} whole numbers in {len(values):,} rows"


def _names_rows(name: str, values: pd.Series) -> bool:
    """Whether numbers count the rows, or are called an identifier and are as good as distinct."""
    if has_moments(values):
        return False
    named = _ID_NAME.fullmatch(name) is not None
    first = values.iloc[:64]
    if not named and not first.is_unique:
        return False
    numbers = numbers_in(values)
    if np.isnan(numbers).any() or (numbers != np.round(numbers)).any():
        return False
    if named and values.nunique() > _SHARE_OF_ROWS * len(values):
        return True
    ordered = np.sort(numbers)
    # 1, 2, 3 ... in any order, or growing from row to row by whole numbers.
    return bool((np.diff(ordered) == 1).all() or (np.diff(numbers) > 0).all())


def _mostly_numbers(labels: pd.Series) -> NDArray[np.float64]:
    """Numbers of a text column that is numeric but for a few cells; empty where it is not."""
    if not _is_text(labels):
        return np.empty(0)
    numbers = numbers_in(pd.Series([t for t in _texts(labels) if not _DATES.fullmatch(t)], dtype=object))
    known = numbers[np.isfinite(numbers)]
    return known if len(known) >= 0.8 * len(numbers) and len(known) > _MANY_VALUES else np.empty(0)


def _is_text(values: pd.Series) -> bool:
    of: Any = values.cat.categories if isinstance(values.dtype, pd.CategoricalDtype) else values
    return bool(pd.api.types.is_string_dtype(of.dtype)) or (
        holds_objects(pd.Series(of))
        and pd.api.types.infer_dtype(of, skipna=True) in ("string", "mixed", "mixed-integer")
    )


def _texts(values: pd.Series) -> list[str]:
    """The different cells of a column that is text, without blanks around them."""
    try:
        cells = values.cat.categories if isinstance(values.dtype, pd.CategoricalDtype) else pd.unique(values.dropna())
    except TypeError:  # a cell that is no label; who makes states of them says which
        return []
    return [str(cell).strip() for cell in cells]
