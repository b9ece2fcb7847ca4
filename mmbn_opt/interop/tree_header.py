"""What a tree file says of its problem, so that another one is told from it and a stranger can state it again."""

import base64
import hashlib
import zlib
from collections.abc import Mapping
from dataclasses import fields
from itertools import pairwise
from typing import Any

import numpy as np

from mmbn_opt._arguments import is_number
from mmbn_opt.data.discrete import DiscreteDataset
from mmbn_opt.exceptions import InputError
from mmbn_opt.formulations.base import Formulation
from mmbn_opt.formulations.structure.base import StructureFormulation
from mmbn_opt.formulations.structure.by_score import SCORES
from mmbn_opt.formulations.structure.parent_sets import ParentSetFormulation
from mmbn_opt.interop._version import package_version
from mmbn_opt.interop.json_model import variable_to_dict
from mmbn_opt.interop.limits_told import limits_told
from mmbn_opt.networks.smoothing import Dirichlet, Laplace
from mmbn_opt.programs.choice import ChoiceProgram
from mmbn_opt.programs.side import SideConstraints
from mmbn_opt.programs.tree_records import FORMAT, FORMAT_VERSION

__all__ = ["difference", "smoothing_told", "table_told", "tree_header"]

_ROWS_AT_ONCE = 1 << 16

MOST_ROWS = 10_000_000
"""Of more rows no checksum each is kept."""

_RESUMABLE = ("node_limit", "memory_limit", "work_limit", "helpers")
"""Options that may change when a run goes on."""

_PARTS: Mapping[str, str] = {
    "nodes": "columns, states or cut points",
    "data": "rows of the table",
    "candidates": "candidate parent sets",
    "root_columns": "symmetries",
    "side": "side constraints",
    "costs": "local scores",
    "offset": "local scores",
}


def tree_header(formulation: Formulation, program: ChoiceProgram, settings: Mapping[str, Any]) -> dict[str, Any]:
    """The header of the tree file of a formulation and its program.

    Raises
    ------
    InputError
        For a program of somebody's own with a term, which cannot be told from another one.
    """
    problem: dict[str, Any] = {"title": formulation.title, "score": "given", "sense": formulation.sense.name.lower()}
    own: dict[str, Any] = {"nodes": None, "data": None}
    if isinstance(formulation, ParentSetFormulation):
        problem, own = _problem(formulation), _table(formulation)
        if told := limits_told(formulation):
            problem["limits"] = told
    elif program.term is not None:
        raise InputError(
            "checkpoint must be left out with a program that has a term of its own: nothing would tell it from another "
            "one. Structure formulations can be gone on with, and choice programs without a term."
        )
    columns = [np.flatnonzero(row).tolist() for row in program.parents]
    options = {name: value for name, value in dict(settings["options"]).items() if name not in _RESUMABLE}
    return {
        "format": FORMAT,
        "version": FORMAT_VERSION,
        "product": package_version(),
        "problem": problem,
        **own,
        "candidates": [columns[a:b] for a, b in pairwise(program.offsets.tolist())],
        "root_columns": None if program.root_columns is None or program.turning_cost else program.root_columns.tolist(),
        "side": None if program.side is None else _side(program.side),
        "costs": program.c.tolist() if program.c.any() else None,
        "offset": program.offset,
        "settings": {**{name: settings[name] for name in ("rel_gap", "abs_gap", "seed")}, "options": options},
    }


def _problem(formulation: ParentSetFormulation) -> dict[str, Any]:
    """The class of structures and the score."""
    given = {f.name: getattr(formulation, f.name) for f in fields(formulation)}
    score = given.get("score", next((name for name, kind in SCORES.items() if type(formulation) is kind), "given"))
    restriction = given.get("restriction")
    content: dict[str, Any] = {
        "title": formulation.title,
        "score": score,
        "sense": "maximize",
        "max_parents": given["max_parents"],
        "required_edges": [list(edge) for edge in given["required_edges"]],
        "forbidden_edges": [list(edge) for edge in given["forbidden_edges"]],
        "restriction": None if restriction is None else [list(partners) for partners in restriction.partners],
        "constraints": [str(constraint) for constraint in given["constraints"]],
    }
    content |= {name: given[name] for name in ("parent_sets",) if name in given}
    content |= {name: _told(given[name]) for name in ("gamma", "margin_weight") if name in given}
    content["terms"] = [str(term) for term in given.get("terms", ())]
    if score == "bdeu":
        content["ess"] = given["ess"]
    if isinstance(formulation, StructureFormulation):
        content["smoothing"] = smoothing_told(formulation.prior)
    return content


def _told(value: Any) -> Any:
    """A number, or numbers by class or row: enough to tell them from others."""
    if is_number(value):
        return value
    if isinstance(value, Mapping):
        return {"classes": [[str(label), float(number)] for label, number in value.items()]}
    return {"rows": hashlib.sha256(np.asarray(value, dtype="<f8").tobytes()).hexdigest()}


def smoothing_told(prior: Laplace | Dirichlet) -> dict[str, float]:
    """Kind and amount of smoothing."""
    return {"laplace": prior.pseudo_count} if isinstance(prior, Laplace) else {"dirichlet": prior.ess}


def _table(formulation: ParentSetFormulation) -> dict[str, Any]:
    """Variables and rows; names alone where there is no table."""
    if not isinstance(formulation, StructureFormulation):
        return {"nodes": [{"name": name} for name in formulation.node_names], "data": None}
    return table_told(formulation.data, formulation.merged)


def table_told(data: DiscreteDataset, merged: DiscreteDataset) -> dict[str, Any]:
    """Variables, and enough of the rows to tell them from others."""
    content = {
        "rows": data.n_samples,
        "dropped": data.n_dropped,
        "total_weight": data.total_weight,
        "merged": merged.n_samples,
        "sha256": _digest(merged),
        "row_crc32": _checksums(data) if data.n_samples <= MOST_ROWS else None,
    }
    return {"nodes": [variable_to_dict(v) for v in (*data.features, data.target)], "data": content}


def _digest(merged: DiscreteDataset) -> str:
    """Of the merged rows in their order, each with its weight; a block of rows is in memory at a time."""
    found = hashlib.sha256()
    width = merged.n_features + 1
    for start in range(0, merged.n_samples, _ROWS_AT_ONCE):
        rows = slice(start, start + _ROWS_AT_ONCE)
        own = merged.target_codes[rows]
        each = np.zeros(len(own), dtype=[("codes", "<i4", (width,)), ("weight", "<f8")])
        each["codes"][:, 0], each["codes"][:, 1:] = own, merged.codes[rows]
        each["weight"] = merged.sample_weight[rows]
        found.update(each.tobytes())
    return found.hexdigest()


def _checksums(data: DiscreteDataset) -> str:
    """One a row, so that a differing one can be named."""
    sums = np.empty(data.n_samples, dtype="<u4")
    for start in range(0, data.n_samples, _ROWS_AT_ONCE):
        some = slice(start, start + _ROWS_AT_ONCE)
        rows = np.ascontiguousarray(np.column_stack([data.codes[some], data.target_codes[some]]), dtype="<i4")
        sums[some] = [zlib.crc32(row) for row in rows]
    return base64.b64encode(sums.tobytes()).decode()


def _side(side: SideConstraints) -> dict[str, Any]:
    names = ("rows", "upper", "cover", "weights", "caps", "groups", "above", "apart")
    return {"items": [list(item) for item in side.items], **{name: getattr(side, name).tolist() for name in names}}


def difference(old: Mapping[str, Any], new: Mapping[str, Any]) -> str | None:
    """What was another problem or setting, in the words of who called; None where it is the same.

    Examples
    --------
    >>> difference({"problem": {"gamma": 1.0}, "offset": 0.0}, {"problem": {"gamma": 2.0}, "offset": 0.0})
    'gamma is 2.0, and was 1.0'
    """
    for part in ("problem", "settings"):
        before, after = dict(old.get(part) or {}), dict(new.get(part) or {})
        for name in dict.fromkeys([*after, *before]):
            if name in ("title", "limits"):  # what the constraints are called, and their rows, is compared
                continue
            if before.get(name) != after.get(name):
                return f"{name} is {after.get(name)!r}, and was {before.get(name)!r}"
    for part, words in _PARTS.items():
        if _content(old, part) != _content(new, part):
            return f"the {words} are others"
    return None


def _content(header: Mapping[str, Any], part: str) -> Any:
    """A part without what hangs on the order of the rows, and what files of earlier versions have not."""
    content = header.get(part)
    left_out = {"data": "row_crc32", "side": "items"}.get(part)
    return content if content is None or left_out is None else {**content, left_out: None}
