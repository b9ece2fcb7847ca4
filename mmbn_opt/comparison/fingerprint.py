"""A name for content: equal values have equal fingerprints, in every process and on every machine."""

import hashlib
import pickle
from collections.abc import Mapping, Set
from dataclasses import Field, fields, is_dataclass
from enum import Enum
from typing import Any

import numpy as np

from mmbn_opt.exceptions import InputError

__all__ = ["fingerprint"]


def fingerprint(*values: Any) -> str:
    """32 hexadecimal digits that depend on the content of `values` alone.

    Dataclasses are taken by their fields, so that what they cache does not matter, but for fields with the metadata
    ``{"content": False}``, which are remarks on the rest; arrays by type, shape and bytes;
    mappings and sets without regard to order. A class counts by its name, so that it may move to another module.

    Examples
    --------
    >>> fingerprint({"a": 1, "b": 2}) == fingerprint({"b": 2, "a": 1})
    True
    >>> fingerprint(1) == fingerprint(1.0)
    False
    """
    return _digest(values).hex()


def _digest(value: Any) -> bytes:
    kind, parts = _parts(value)
    state = hashlib.blake2b(kind.encode(), digest_size=16)
    for part in parts:
        state.update(len(part).to_bytes(8, "little"))
        state.update(part)
    return state.digest()


def _is_content(field: Field[Any]) -> bool:
    return field.init and bool(field.metadata.get("content", True))


def _parts(value: Any) -> tuple[str, list[bytes]]:
    """A word for the kind of a value, and its content in pieces."""
    kind = type(value).__qualname__
    if value is None or isinstance(value, (bool, int, float, complex, str, bytes)):
        return kind, [repr(value).encode()]
    if isinstance(value, Enum):
        return kind, [value.name.encode()]
    if isinstance(value, np.generic):
        return _parts(value.item())
    if isinstance(value, np.ndarray):
        if value.dtype.hasobject:
            return kind, [repr(value.shape).encode(), *map(_digest, value.ravel().tolist())]
        return kind, [value.dtype.str.encode(), repr(value.shape).encode(), np.ascontiguousarray(value).tobytes()]
    if isinstance(value, Mapping):
        return "mapping", sorted(_digest(key) + _digest(entry) for key, entry in value.items())
    if isinstance(value, Set):
        return "set", sorted(map(_digest, value))
    if isinstance(value, (tuple, list)):
        return "sequence", [_digest(entry) for entry in value]
    if isinstance(value, type):
        return "class", [value.__qualname__.encode()]
    if is_dataclass(value):
        return kind, [_digest((f.name, getattr(value, f.name))) for f in fields(value) if _is_content(f)]
    # Tables, sparse matrices, functions: joblib knows how to take them by content.
    import joblib

    try:
        return kind, [str(joblib.hash(value)).encode()]
    except pickle.PicklingError as error:
        raise InputError(
            f"Each run is a process of its own, to which a {kind} cannot be sent: {error.args[0]}. Define functions by "
            "def in a module that can be imported."
        ) from error
