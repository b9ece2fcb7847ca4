"""Settings and counts in words; what has none is not shown, so that no reader ever meets a raw object."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

import numpy as np

from mmbn_opt.data.discrete import DiscreteDataset
from mmbn_opt.data.numeric import NumericDataset
from mmbn_opt.display._text import number, shorten
from mmbn_opt.networks.structure import Structure

__all__ = ["shown"]

_MOST = 12
_WIDTH = 120


def shown(value: Any) -> str:
    """A setting or a count for readers; empty where it is nothing to read, such as an array or a record.

    Examples
    --------
    >>> shown(12000), shown(None), shown((("class", "a"), ("a", "b"))), shown({"cuts": 7})
    ('12,000', 'none', 'class → a, a → b', 'cuts=7')
    >>> shown(object())
    ''
    """
    if (text := _scalar(value)) is not None:
        return text
    if isinstance(value, Structure):
        return f"{len(value.names):,} nodes, {len(value.edges):,} edges"
    if isinstance(value, (DiscreteDataset, NumericDataset)):
        return f"{value.n_samples:,} samples"
    if isinstance(value, Mapping):
        parts = [(key, _scalar(entry)) for key, entry in value.items()]
        return _joined([f"{shorten(str(key), 40)}={text}" for key, text in parts if text is not None], len(value))
    if isinstance(value, (tuple, list)):
        return _joined([text for entry in value if (text := _entry(entry))], len(value))
    return _record(value) if is_dataclass(value) and not isinstance(value, type) else ""


def _scalar(value: Any) -> str | None:
    if value is None:
        return "none"
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return number(value) if math.isfinite(value) else str(value)
    if isinstance(value, int):
        return f"{value:,}"
    return shorten(str(value), _WIDTH) if isinstance(value, (str, Enum)) else None


def _entry(value: Any) -> str:
    """An entry of a list: a plain value, or an edge."""
    if isinstance(value, tuple) and value and all(isinstance(end, str) for end in value):
        return " → ".join(shorten(end, 40) for end in value)
    return _scalar(value) or ""


def _joined(texts: list[str], total: int) -> str:
    """The texts; none of them where any of the values has no words, unless there are no values at all."""
    if not total:
        return "none"
    if len(texts) < total:
        return ""
    more = f" and {total - _MOST:,} more" if total > _MOST else ""
    return ", ".join(texts[:_MOST]) + more


def _record(value: Any) -> str:
    """A small object that is all settings, such as a smoothing."""
    found: Iterable[tuple[str, str | None]] = [(f.name, _scalar(getattr(value, f.name))) for f in fields(value)]
    if any(text is None for _, text in found):
        return ""
    return f"{type(value).__name__}({', '.join(f'{name}={text}' for name, text in found)})"
