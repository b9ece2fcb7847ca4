"""The files that a run leaves behind: result, model, network, trace and report."""

import json
import logging
import math
from collections.abc import Iterable, Mapping
from enum import Enum
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from mmbn_opt.interop.atomic import ensure_directory, write_text_atomic
from mmbn_opt.interop.bif import write_bif
from mmbn_opt.interop.json_model import save_network
from mmbn_opt.interop.mixture_json import save_mixture
from mmbn_opt.mixture import MixtureClassifier
from mmbn_opt.network import BayesianNetwork
from mmbn_opt.result import Result

__all__ = ["RESULT_FILES", "ensure_directory", "result_to_dict", "write_result_files"]

logger = logging.getLogger(__name__)

RESULT_FILES = ("model.json", "network.bif", "report.html", "result.json", "trace.csv")
"""Names of the files, sorted."""


def result_to_dict(result: Result) -> dict[str, Any]:
    """A result as plain values that JSON can hold; what is unknown or infinite is None.

    Returns
    -------
    dict
        ``formulation, solver, solver_version, solver_rule, termination_status, solution_status, raw_status,
        primal_bound, dual_bound, gap_rel, sense, seconds, program, data, parents, certificate, seed, settings,
        mmbn_opt_version``, and ``parts`` where the result is made of several.
    """
    size, model = result.program_size, result.model
    content = {
        "formulation": type(result.formulation).__name__,
        "solver": result.solver_name,
        "solver_version": result.solver_version,
        "solver_rule": result.solver_rule,
        "termination_status": result.termination_status.label,
        "solution_status": result.solution_status.label,
        "raw_status": result.raw_status,
        "primal_bound": result.bounds.primal_bound,
        "dual_bound": result.bounds.dual_bound,
        "gap_rel": result.bounds.gap_rel,
        "sense": result.sense.value,
        "seconds": {key: getattr(result.seconds, key) for key in ("build", "heuristics", "solve", "total")},
        "program": None
        if size is None
        else {key: getattr(size, key) for key in ("columns", "integers", "rows", "nonzeros")},
        "data": _data(result.formulation),
        "parents": model.parents if isinstance(model, BayesianNetwork) else None,
        "certificate": {
            "ok": result.certificate.ok,
            "checks": [{"name": c.name, "ok": c.ok, "detail": c.detail} for c in result.certificate.checks],
        },
        "seed": result.settings.get("seed"),
        "settings": dict(result.settings),
        "mmbn_opt_version": _version(),
    }
    if result.parts:
        content["parts"] = [_part(part) for part in result.parts]
    return {key: _plain(value) for key, value in content.items()}


def write_result_files(result: Result, directory: str | Path, *, report_html: str | None) -> list[Path]:
    """Write ``result.json``, ``model.json``, ``network.bif``, ``trace.csv`` and ``report.html``, each atomically.

    A file that this result does not have (no model, no report) is removed where an earlier run left one, so that the
    folder never mixes two runs.

    Parameters
    ----------
    result : Result
    directory : str or Path
        Made if absent.
    report_html : str or None
        Content of the report.

    Returns
    -------
    list of Path
        The files written.

    Raises
    ------
    InputError
        If `directory` is a file or cannot be written, or if a label cannot be held by a file.
    """
    folder = ensure_directory(directory)
    model = result.model if isinstance(result.model, BayesianNetwork) else None
    mixture = result.model if isinstance(result.model, MixtureClassifier) else None
    has = dict.fromkeys(RESULT_FILES, True)
    has["network.bif"] = model is not None
    has["model.json"] = model is not None or mixture is not None
    has["report.html"] = report_html is not None
    for name, present in has.items():
        if not present and (folder / name).is_file():
            logger.info("%s of an earlier run is removed", folder / name)
            (folder / name).unlink()
    write_text_atomic(folder / "trace.csv", result.trace.to_frame().to_csv(index=False, lineterminator="\n"))
    write_text_atomic(folder / "result.json", json.dumps(result_to_dict(result), indent=2, allow_nan=False) + "\n")
    if report_html is not None:
        write_text_atomic(folder / "report.html", report_html)
    if model is not None:
        save_network(model, folder / "model.json")
        write_bif(model, folder / "network.bif")
    if mixture is not None:
        save_mixture(mixture, folder / "model.json")
    return [folder / name for name, present in has.items() if present]


def _part(part: Result) -> dict[str, Any]:
    """What is told of a program among several."""
    return {
        "name": part.settings.get("part"),
        "termination_status": part.termination_status.label,
        "solution_status": part.solution_status.label,
        "raw_status": part.raw_status,
        "primal_bound": part.bounds.primal_bound,
        "seconds": part.seconds.total,
        "certificate": {"ok": part.certificate.ok, "failures": [check.name for check in part.certificate.failures]},
    }


def _data(formulation: Any) -> dict[str, Any] | None:
    data, merged = getattr(formulation, "data", None), getattr(formulation, "merged", None)
    if data is None:
        return None
    return {
        "samples": data.n_samples,
        "samples_merged": None if merged is None else merged.n_samples,
        "features": data.n_features,
        "classes": data.n_classes,
        "dropped": data.n_dropped,
    }


def _plain(value: Any) -> Any:
    """The value in JSON's types; infinities and NaN become None, strangers their text."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Enum):
        return str(value)
    if isinstance(value, str):
        return str(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, (set, frozenset)):
        return sorted((_plain(entry) for entry in value), key=str)
    if isinstance(value, Iterable):
        return [_plain(entry) for entry in value]
    return str(value)


def _version() -> str:
    try:
        return version("mmbn-opt")
    except PackageNotFoundError:
        return "unknown"
