"""Mixture classifiers as JSON: everything that prediction needs, every digit of it."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mmbn_opt._arguments import shown
from mmbn_opt._arrays import FloatArray
from mmbn_opt.data.cells import as_state
from mmbn_opt.exceptions import FormatError
from mmbn_opt.interop._json_document import (
    document_text,
    list_of,
    load_document,
    na_values_of,
    require_format,
    value_text,
)
from mmbn_opt.interop._labels import label_from_json, label_to_json
from mmbn_opt.interop.atomic import write_text_atomic
from mmbn_opt.mixtures.classifier import DecisionRule, MixtureClassifier, MixturePart
from mmbn_opt.mixtures.density import MixtureDensity

__all__ = [
    "FORMAT",
    "FORMAT_VERSION",
    "classes_from_dict",
    "classes_to_dict",
    "load_mixture",
    "mixture_from_dict",
    "mixture_text",
    "mixture_to_dict",
    "save_mixture",
]

FORMAT = "mmbn_opt/mixture"
FORMAT_VERSION = 1

_LABEL_TYPE = re.compile(
    r"bool|object|str|u?int(8|16|32|64)|float(16|32|64)|(datetime|timedelta)64\[(D|h|m|s|ms|us|ns)\]"
)
_RULES = {str(rule): rule for rule in DecisionRule}


def save_mixture(model: MixtureClassifier, path: str | Path) -> None:
    """Write a classifier as JSON, whole or not at all.

    Raises
    ------
    InputError
        If the path cannot be written, or a label has a type that JSON cannot hold.
    """
    write_text_atomic(path, mixture_text(model))


def mixture_text(model: MixtureClassifier, more: Mapping[str, Any] | None = None) -> str:
    """What `save_mixture` writes, with `more` beside it; a density that many parts share is put into words once."""
    known: dict[int, str] = {}

    def text_of(density: MixtureDensity) -> str:
        if id(density) not in known:
            known[id(density)] = value_text(_density_to_dict(density))
        return known[id(density)]

    parts = []
    for part in model.parts:
        head = value_text(_part_head(part)).removesuffix("}")
        parts.append(f'{head}, "densities": [{", ".join(text_of(density) for density in part.densities)}]}}')
    return document_text(_head_to_dict(model) | dict(more or {}), {"parts": f"[{', '.join(parts)}]"})


def load_mixture(path: str | Path) -> MixtureClassifier:
    """Read a classifier that `save_mixture` wrote.

    Raises
    ------
    FormatError
        If the file is not such a classifier; the message names the part that is wrong.
    SizeLimitError
        If the file is larger than any classifier that can be used.
    """
    return load_document(path, mixture_from_dict)


def mixture_to_dict(model: MixtureClassifier) -> dict[str, Any]:
    """The content of a model file as plain Python values.

    Examples
    --------
    >>> model = MixtureClassifier.fit([[0.0], [1.0], [5.0], [6.0]], [False, False, True, True])
    >>> content = mixture_to_dict(model)
    >>> content["classes"], content["rule"], content["location"]
    ([False, True], 'bayes', [3.0])
    """
    parts = [
        _part_head(part) | {"densities": [_density_to_dict(density) for density in part.densities]}
        for part in model.parts
    ]
    return _head_to_dict(model) | {"parts": parts}


def _head_to_dict(model: MixtureClassifier) -> dict[str, Any]:
    """All but the parts."""
    content = {
        "format": FORMAT,
        "version": FORMAT_VERSION,
        **classes_to_dict(model.classes, model.class_name),
        "class_name": model.class_name,
        "features": list(model.feature_names),
        "rule": str(model.rule),
        "location": model.location.tolist(),
        "scale": model.scale.tolist(),
    }
    return content if model.na_values is None else content | {"na_values": list(model.na_values)}


def mixture_from_dict(content: Any) -> MixtureClassifier:
    """The classifier of a dict that `mixture_to_dict` made (or that a stranger did)."""
    require_format(content, FORMAT, FORMAT_VERSION, "mixture")
    names = list_of(content, "features")
    if not names or not all(isinstance(name, str) for name in names) or len(set(names)) != len(names):
        raise FormatError(f'"features" must be distinct texts, at least one, got {shown(names)}.')
    rule = _RULES.get(str(content.get("rule")))
    if rule is None:
        raise FormatError(f'"rule" must be one of {", ".join(_RULES)}, got {shown(content.get("rule"))}.')
    classes = classes_from_dict(content)
    parts = tuple(_part_from_dict(part, f"parts[{k}]") for k, part in enumerate(list_of(content, "parts")))
    class_name = content.get("class_name", "class")
    if not isinstance(class_name, str) or not class_name:
        raise FormatError(f'"class_name" must be a text, got {shown(class_name)}.')
    return MixtureClassifier(
        classes, tuple(names), rule, parts, _array(content, "location", 1), _array(content, "scale", 1), class_name,
        na_values=na_values_of(content),
    )  # fmt: skip


def _part_head(part: MixturePart) -> dict[str, Any]:
    return {"groups": [list(g) for g in part.groups], "log_prior": part.log_prior.tolist()}


def _density_to_dict(density: MixtureDensity) -> dict[str, Any]:
    return {
        "log_weights": np.maximum(density.log_weights, -np.finfo(np.float64).max).tolist(),
        "means": density.means.tolist(),
        "covariances": density.covariances.tolist(),
    }


def _part_from_dict(value: Any, where: str) -> MixturePart:
    if not isinstance(value, dict):
        raise FormatError(f"{where} must be an object with groups, log_prior and densities.")
    groups = []
    for group in list_of(value, "groups"):
        if not isinstance(group, list) or not all(type(c) is int for c in group):
            raise FormatError(f"The groups of {where} must be lists of class numbers, got {shown(group)}.")
        groups.append(tuple(group))
    densities = []
    for k, density in enumerate(list_of(value, "densities")):
        if not isinstance(density, dict):
            raise FormatError(f"densities[{k}] of {where} must be an object with log_weights, means and covariances.")
        depth = 3 if _is_deep(density.get("covariances")) else 2
        densities.append(
            MixtureDensity(
                _array(density, "log_weights", 1), _array(density, "means", 2), _array(density, "covariances", depth)
            )
        )
    return MixturePart(tuple(groups), _array(value, "log_prior", 1), tuple(densities))


def classes_to_dict(classes: NDArray[Any], name: str) -> dict[str, Any]:
    """Class labels with their type; `name` is their column's, for messages."""
    kind = "str" if classes.dtype.kind == "U" else classes.dtype.name
    return {"classes": [label_to_json(label, name) for label in classes], "class_type": kind}


def classes_from_dict(content: dict[str, Any]) -> NDArray[Any]:
    """Class labels with their type, as `classes_to_dict` told them."""
    labels = [label_from_json(label, "class") for label in list_of(content, "classes")]
    kind = content.get("class_type")
    if not isinstance(kind, str) or not _LABEL_TYPE.fullmatch(kind):
        raise FormatError(f'"class_type" must name a type of labels, got {shown(kind)}.')
    if len(labels) < 2 or len(set(labels)) != len(labels):
        raise FormatError(f'"classes" must hold at least two different labels, got {shown(labels)}.')
    try:
        classes = np.array(labels, dtype=np.dtype(kind))
    except (ValueError, TypeError, OverflowError) as error:
        raise FormatError(f'"classes" {shown(labels)} are not of the type {shown(kind)}.') from error
    if [as_state(label) for label in classes] != labels:
        raise FormatError(f'"classes" {shown(labels)} are not of the type {shown(kind)}.')
    return classes


def _is_deep(value: Any) -> bool:
    return bool(value and isinstance(value, list) and isinstance(value[0], list) and value[0]) and isinstance(
        value[0][0], list
    )


def _array(content: dict[str, Any], key: str, depth: int) -> FloatArray:
    value = list_of(content, key)
    if not _is_numeric(value, depth):
        raise FormatError(f'"{key}" must be lists of numbers, {depth} deep, got {shown(value)}.')
    try:
        array = np.array(value, dtype=np.float64)
    except ValueError as error:
        raise FormatError(f'The lists of "{key}" have different lengths.') from error
    if array.ndim != depth or not np.isfinite(array).all():
        raise FormatError(f'"{key}" must hold finite numbers in lists of equal length, {depth} deep.')
    return array


def _is_numeric(value: Any, depth: int) -> bool:
    if depth:
        return isinstance(value, list) and all(_is_numeric(v, depth - 1) for v in value)
    # A huge JSON integer would overflow the conversion to float.
    return type(value) is float or (type(value) is int and abs(value) < 2**63)
