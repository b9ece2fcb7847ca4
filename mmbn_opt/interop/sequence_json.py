"""Models of sequences as JSON: everything that prediction needs, every digit of it."""

import math
from pathlib import Path
from typing import Any

import numpy as np

from mmbn_opt._arguments import is_whole, shown
from mmbn_opt._arrays import FloatArray
from mmbn_opt.data.windows import Window
from mmbn_opt.exceptions import FormatError, SizeLimitError
from mmbn_opt.interop._json_document import document_text, list_of, load_document, require_format
from mmbn_opt.interop.atomic import write_text_atomic
from mmbn_opt.interop.json_model import table_to_lists, variable_from_dict, variable_to_dict
from mmbn_opt.interop.limits import max_cells
from mmbn_opt.networks.hidden_markov import HiddenMarkovClassifier

__all__ = [
    "FORMAT",
    "FORMAT_VERSION",
    "load_sequence_model",
    "save_sequence_model",
    "sequence_model_from_dict",
    "sequence_model_text",
    "sequence_model_to_dict",
]

FORMAT = "mmbn_opt/sequence-model"
FORMAT_VERSION = 1


def save_sequence_model(model: HiddenMarkovClassifier, path: str | Path) -> None:
    """Write a model as JSON, whole or not at all.

    Raises
    ------
    InputError
        If the path cannot be written, or a label has a type that JSON cannot hold.
    """
    write_text_atomic(path, sequence_model_text(model))


def sequence_model_text(model: HiddenMarkovClassifier) -> str:
    """What `save_sequence_model` writes."""
    return document_text(sequence_model_to_dict(model))


def load_sequence_model(path: str | Path) -> HiddenMarkovClassifier:
    """Read a model that `save_sequence_model` wrote.

    Raises
    ------
    FormatError
        If the file is not such a model; the message names the part that is wrong.
    """
    return load_document(path, sequence_model_from_dict)


def sequence_model_to_dict(model: HiddenMarkovClassifier) -> dict[str, Any]:
    """The content of a model file as plain Python values.

    Examples
    --------
    >>> from mmbn_opt import SequenceDataset
    >>> data = SequenceDataset.from_lists(["ab", "b"], ["XY", "Y"])
    >>> content = sequence_model_to_dict(HiddenMarkovClassifier.fit(data))
    >>> content["format"], content["window"], content["target"]["states"], content["log_end"]
    ('mmbn_opt/sequence-model', [0, 0], ['X', 'Y'], None)
    """
    return {
        "format": FORMAT,
        "version": FORMAT_VERSION,
        "features": [variable_to_dict(v) for v in model.features],
        "target": variable_to_dict(model.target),
        "window": list(model.window),
        "log_initial": table_to_lists(model.log_initial[None, :])[0],
        "log_transition": table_to_lists(model.log_transition),
        "log_emissions": [table_to_lists(table) for table in model.log_emissions],
        "log_end": None if model.log_end is None else table_to_lists(model.log_end[None, :])[0],
    }


def sequence_model_from_dict(content: Any) -> HiddenMarkovClassifier:
    """The model of a dict that `sequence_model_to_dict` made (or that a stranger did)."""
    require_format(content, FORMAT, FORMAT_VERSION, "sequence model")
    features = tuple(variable_from_dict(v, f"features[{j}]") for j, v in enumerate(list_of(content, "features")))
    target = variable_from_dict(content.get("target"), "target")
    window = _window(content)
    k, places = target.cardinality, 1 + sum(window)
    shapes = [(k, v.cardinality) for v in features] * places
    cells = k + k * k + sum(a * b for a, b in shapes)
    if cells > max_cells():
        raise SizeLimitError(
            f"The tables would hold {cells:,} cells; the limit is {max_cells():,}. Nothing was allocated."
        )
    tables = list_of(content, "log_emissions")
    if len(tables) != len(shapes):
        raise FormatError(
            f'"log_emissions" holds {len(tables)} tables for {len(features)} features at {places} places of the window.'
        )
    end = content.get("log_end")
    return HiddenMarkovClassifier(
        features,
        target,
        _table([content.get("log_initial")], (1, k), "log_initial")[0],
        _table(content.get("log_transition"), (k, k), "log_transition"),
        tuple(_table(t, shape, f"log_emissions[{j}]") for j, (t, shape) in enumerate(zip(tables, shapes, strict=True))),
        None if end is None else _table([end], (1, k), "log_end")[0],
        window,
    )


def _window(content: dict[str, Any]) -> Window:
    window = list_of(content, "window")
    if len(window) != 2 or not all(is_whole(n) and 0 <= n <= 1000 for n in window):
        raise FormatError(f'"window" must be two whole numbers from 0 to 1000, got {shown(window)}.')
    return window[0], window[1]


def _table(value: Any, shape: tuple[int, int], name: str) -> FloatArray:
    rows, states = shape
    whole = isinstance(value, list) and len(value) == rows
    if not whole or not all(isinstance(row, list) and len(row) == states for row in value):
        raise FormatError(f'"{name}" must have {rows} x {states} numbers, as labels and symbols call for.')
    table = np.empty(shape)
    for r, row in enumerate(value):
        if not all(v == "-inf" or (type(v) in (int, float) and abs(v) < 1e300) for v in row):
            raise FormatError(f'Row {r} of "{name}" must hold finite numbers or "-inf", got {shown(row)}.')
        table[r] = [-math.inf if v == "-inf" else v for v in row]
    return table
