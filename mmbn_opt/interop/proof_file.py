"""The proof file of a convex relaxation: the multipliers of its bound, in the frames of a tree file.

docs/proof-file.md is its description.
"""

import struct
from enum import IntEnum
from pathlib import Path
from typing import Any

import numpy as np

from mmbn_opt.exceptions import InputError
from mmbn_opt.formulations import MaxMarginRelaxation
from mmbn_opt.interop._version import package_version
from mmbn_opt.interop.atomic import write_bytes_atomic
from mmbn_opt.interop.json_model import variable_to_dict
from mmbn_opt.interop.tree_file import framed, head
from mmbn_opt.interop.tree_header import smoothing_told, table_told
from mmbn_opt.networks.smoothing import as_smoothing
from mmbn_opt.programs.tree_records import text_of
from mmbn_opt.results.result import Result

__all__ = ["PROOF", "has_proof", "proof_content", "save_proof"]

PROOF = "proof.mmbn"
"""Its name in the folder of a run."""

MAGIC = b"\x89MMBNC\r\n"
FORMAT, FORMAT_VERSION = "mmbn_opt/multipliers", 1


class _Kind(IntEnum):
    HEADER = 1
    MULTIPLIERS = 2
    TABLES = 3


def save_proof(result: Result, path: str | Path) -> Path:
    """Write the proof of a result; see `Result.save_proof`."""
    return write_bytes_atomic(path, proof_content(result))


def has_proof(result: Result) -> bool:
    """Whether there is a bound that a proof file can hold."""
    return _missing(result) is None


def proof_content(result: Result) -> bytes:
    """The bytes of the proof file of a result.

    Raises
    ------
    InputError
        Where there is no proof that such a file can hold.
    """
    missing = _missing(result)
    if missing is not None:
        raise InputError(f"There is no proof file for this result: {missing}")
    relaxation = result.formulation
    margins = relaxation.program.margins
    none = np.zeros((margins.n_samples, margins.n_classes))
    multipliers, _ = relaxation.program.unpacked(none if result.multipliers is None else result.multipliers)
    w = relaxation.program.project(result.solution)
    claimed = {
        "bound": result.bounds.dual_bound,
        "value": result.bounds.primal_bound,
        "gamma": relaxation.program.best_gamma(w),
    }
    content = {
        "format": FORMAT,
        "version": FORMAT_VERSION,
        "product": package_version(),
        "problem": _problem(relaxation),
        **table_told(relaxation.data, relaxation.merged),
        "claimed": {name: float(value) for name, value in claimed.items()},
    }
    there = multipliers.ravel() != 0.0
    weights = struct.pack("<II", *multipliers.shape) + np.packbits(there, bitorder="little").tobytes()
    weights += multipliers.ravel()[there].astype("<f8").tobytes()
    return (
        head(MAGIC, FORMAT_VERSION)
        + framed(_Kind.HEADER, text_of(content))
        + framed(_Kind.MULTIPLIERS, weights)
        + framed(_Kind.TABLES, w.astype("<f8").tobytes())
    )


def _missing(result: Result) -> str | None:
    """Why there is none."""
    relaxation = result.formulation
    if not isinstance(relaxation, MaxMarginRelaxation):
        return (
            f"it is one of {type(relaxation).__name__}. The bound of MaxMarginRelaxation comes from multipliers; "
            "searches for structures write theirs to checkpoint=."
        )
    if relaxation.constraints:
        return "constraints on the tables are not verified. Solve the relaxation without them."
    if not (relaxation.data.sample_weight == 1.0).all():
        return "the rows have weights, and the verifier counts rows. Repeat rows in place of weights."
    if result.solution is None or result.bounds.dual_bound is None:
        return "the run ended without tables or a bound. Give it more time."
    if result.multipliers is None and result.bounds.dual_bound > relaxation.trivial_bound():  # which takes none
        return f"{result.solver_name} left no multipliers for its bound. Take another solver, such as first_order."
    try:
        for variable in (*relaxation.data.features, relaxation.data.target):
            variable_to_dict(variable)
    except InputError as error:  # a label that no file can hold
        return str(error)
    return None


def _problem(relaxation: MaxMarginRelaxation) -> dict[str, Any]:
    """What was solved; what plays no part in it is null."""
    hybrid = relaxation.normalization == "hybrid"
    return {
        "title": relaxation.title,
        "gamma": relaxation.gamma,
        "B": relaxation.B,
        "normalization": relaxation.normalization,
        "alpha": relaxation.alpha if hybrid else None,
        "smoothing": smoothing_told(as_smoothing(relaxation.smoothing)) if hybrid else None,
        "min_prob": None if relaxation.normalization == "published" else relaxation.min_prob,
        "edges": [list(edge) for edge in relaxation.structure.edges],
        "constraints": [],
    }
