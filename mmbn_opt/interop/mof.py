"""Problems as MathOptFormat files, which JuMP reads: one variable and one constraint a line, names that speak."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from mmbn_opt.exceptions import InputError
from mmbn_opt.formulations import MaxMarginRelaxation
from mmbn_opt.formulations.base import Formulation
from mmbn_opt.formulations.structure.parent_sets import ParentSetFormulation
from mmbn_opt.programs.as_mof import convex_mof, linear_mof

from .atomic import write_text_atomic

__all__ = ["to_mof"]


def to_mof(formulation: Formulation, path: str | Path) -> Path:
    """See `ModelExchange.to_mof`."""
    if isinstance(formulation, ParentSetFormulation):
        document = linear_mof(formulation.named_program())
    elif isinstance(formulation, MaxMarginRelaxation):
        program = formulation.held_program
        margins, sums, *_ = formulation.dual_rows(
            np.zeros((program.margins.n_samples, program.margins.n_classes)), program.first_point()
        )
        document = convex_mof(program, formulation.entry_names, margins.names, sums.names)
    else:
        raise InputError(
            f"{type(formulation).__name__} has neither a row form nor cones, which to_mof could write; structure "
            "formulations and MaxMarginRelaxation have."
        )
    return write_text_atomic(path, _text(document))


def _text(document: dict[str, Any]) -> str:
    """The document, an item of its lists a line, so that it can be read and compared."""
    parts = []
    for name, value in document.items():
        body = _lines(value) if isinstance(value, list) else _json(value)
        parts.append(f"{json.dumps(name)}: {body}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _lines(items: Iterable[Any]) -> str:
    return "[\n" + ",\n".join(map(_json, items)) + "\n]"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
