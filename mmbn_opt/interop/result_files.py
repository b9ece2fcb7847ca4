"""The files that a run leaves behind: result, model, network, trace and report."""

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np

from mmbn_opt.formulations.base import Described, Formulation
from mmbn_opt.interop._version import package_version
from mmbn_opt.interop.bif import bif_content
from mmbn_opt.interop.calibrated_json import calibrated_text, calibration_to_dict
from mmbn_opt.interop.csv_text import csv_content
from mmbn_opt.interop.json_model import network_text
from mmbn_opt.interop.limits import check_network
from mmbn_opt.interop.mixture_json import mixture_text
from mmbn_opt.interop.run_folder import RunFolder
from mmbn_opt.mixtures.classifier import MixtureClassifier
from mmbn_opt.networks.network import BayesianNetwork
from mmbn_opt.networks.structure import Structure
from mmbn_opt.programs.base import ProgramKind
from mmbn_opt.results.result import Result
from mmbn_opt.results.trace import BoundTrace
from mmbn_opt.scores.calibrated import CalibratedModel
from mmbn_opt.scores.calibration import Calibration, Reliability

__all__ = [
    "RESULT_FILES",
    "model_contents",
    "parents_of",
    "result_to_dict",
    "unfinished_contents",
    "write_result_files",
]

RESULT_FILES = ("model.json", "network.bif", "report.html", "result.json", "trace.csv")
"""Names of the files, sorted; ``manifest.json``, which has their checksums, lies beside them.

A convex relaxation whose bound has multipliers leaves ``proof.mmbn`` too.
"""


def result_to_dict(result: Result) -> dict[str, Any]:
    """A result as plain values that JSON can hold; what is unknown or infinite is None.

    Returns
    -------
    dict
        ``formulation, solver, solver_version, solver_rule, termination_status, solution_status, raw_status,
        primal_bound, dual_bound, gap_rel, sense, seconds, program, data, remarks, parents, certificate, seed, settings,
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
        "remarks": [
            {
                "kind": f.kind.value,
                "column": f.column,
                "severity": str(f.severity),
                "sentence": f.sentence,
                "cure": f.cure,
            }
            for f in result.remarks
        ],
        "parents": parents_of(model),
        "certificate": {
            "ok": result.certificate.ok,
            "checks": [{"name": c.name, "ok": c.ok, "detail": c.detail} for c in result.certificate.checks],
        },
        "seed": result.settings.get("seed"),
        "settings": dict(result.settings),
        "mmbn_opt_version": package_version(),
    }
    if result.parts:
        content["parts"] = [_part(part) for part in result.parts]
    return {key: _plain(value) for key, value in content.items()}


def write_result_files(
    result: Result,
    directory: str | Path | RunFolder,
    *,
    report_html: str | None,
    extra: Mapping[str, bytes] | None = None,
    accuracy: Mapping[str, Any] | None = None,
    calibration: Calibration | None = None,
    reliability: Reliability | None = None,
) -> list[Path]:
    """Write ``result.json``, ``model.json``, ``network.bif``, ``trace.csv`` and ``report.html``, all or none.

    With them goes ``proof.mmbn`` of a convex relaxation (see `Result.save_proof`).

    Files of an earlier run that this one does not have (no model, no report) are removed, so that the folder never
    mixes two runs; ``manifest.json`` has the checksum of each.

    Parameters
    ----------
    result : Result
    directory : str, Path or RunFolder
        Made if absent. A `RunFolder` is one that is held already.
    report_html : str or None
        Content of the report.
    extra : mapping from name to content, or None
        Further files of this run.
    accuracy : mapping or None
        What ``result.json`` says of the model's accuracy, if anything.
    calibration : Calibration or None
        What ``model.json`` says of the model's probabilities where it changes them, and ``result.json`` in any case.
    reliability : Reliability or None
        Of the calibrated probabilities on held-out rows, for ``result.json``.

    Returns
    -------
    list of Path
        The files written, without the manifest.

    Raises
    ------
    InputError
        If `directory` is a file, is in use by another run or cannot be written, or if a label cannot be held by a file.
    """
    if isinstance(result.model, BayesianNetwork):
        check_network(result.model, "model.json")
    told: dict[str, Any] = {} if accuracy is None else {"accuracy": _plain(accuracy)}
    if calibration is not None:
        held_out = None if reliability is None else asdict(reliability)
        told["probabilities"] = _plain({"calibration": calibration_to_dict(calibration), "held_out": held_out})
    contents = {
        "result.json": _json(result_to_dict(result) | told),
        "trace.csv": _csv(result.trace),
        **model_contents(result.model, calibration),
        **(extra or {}),
    }
    if isinstance(result.formulation, Formulation) and ProgramKind.CONVEX in result.formulation.kinds:
        from mmbn_opt.interop.proof_file import PROOF, has_proof, proof_content

        if has_proof(result):
            contents[PROOF] = proof_content(result)
    if report_html is not None:
        contents["report.html"] = report_html.encode()
    contents = dict(sorted(contents.items()))
    if isinstance(directory, RunFolder):
        return directory.publish(contents)
    with RunFolder(directory) as folder:
        return folder.publish(contents)


def model_contents(model: Any, calibration: Calibration | None = None) -> dict[str, bytes]:
    """The files of a model: ``model.json``, ``network.bif`` of a network; ``structure.json`` of a bare structure."""
    calibrated = None
    if isinstance(model, (BayesianNetwork, MixtureClassifier)) and calibration is not None and calibration.changes:
        calibrated = calibrated_text(CalibratedModel(model, calibration)).encode()
    if isinstance(model, BayesianNetwork):
        return {"model.json": calibrated or network_text(model).encode(), "network.bif": bif_content(model)}
    if isinstance(model, MixtureClassifier):
        return {"model.json": calibrated or mixture_text(model).encode()}
    if isinstance(model, Structure):
        return {"structure.json": _json({"format": "mmbn_opt structure", "parents": model.parent_names})}
    if model is None:
        return {}
    from mmbn_opt.interop.sequence_json import sequence_model_text
    from mmbn_opt.networks.hidden_markov import HiddenMarkovClassifier

    return {"model.json": sequence_model_text(model).encode()} if isinstance(model, HiddenMarkovClassifier) else {}


def parents_of(model: Any) -> dict[str, list[str]] | None:
    """The parents of each node of a network or a structure."""
    if isinstance(model, Structure):
        return model.parent_names
    return model.parents if isinstance(model, BayesianNetwork) else None


def unfinished_contents(model: Any, trace: BoundTrace, *, formulation: str, source: str) -> dict[str, bytes]:
    """The files of a run that goes on: the best model so far, and what is known of it; nothing of it is certified."""
    content = {
        "status": "unfinished",
        "formulation": formulation,
        "source": source,
        "primal_bound": trace.bounds.primal_bound,
        "dual_bound": trace.bounds.dual_bound,
        "gap_rel": trace.bounds.gap_rel,
        "sense": trace.sense.value,
        "seconds": trace.records[-1].time_sec if trace.records else 0.0,
        "parents": parents_of(model),
        "mmbn_opt_version": package_version(),
    }
    plain = {key: _plain(value) for key, value in content.items()}
    return {**model_contents(model), "result.json": _json(plain), "trace.csv": _csv(trace)}


def _json(content: Mapping[str, Any]) -> bytes:
    return (json.dumps(content, indent=2, allow_nan=False) + "\n").encode()


def _csv(trace: BoundTrace) -> bytes:
    return csv_content(trace.to_frame())


def _part(part: Result) -> dict[str, Any]:
    """What is told of a program among several."""
    return {
        "name": part.part,
        "termination_status": part.termination_status.label,
        "solution_status": part.solution_status.label,
        "raw_status": part.raw_status,
        "primal_bound": part.bounds.primal_bound,
        "seconds": part.seconds.total,
        "certificate": {"ok": part.certificate.ok, "failures": [check.name for check in part.certificate.failures]},
    }


def _data(formulation: Described) -> dict[str, Any] | None:
    samples = formulation.samples
    if samples is None:
        return None
    data = samples.data
    return {
        "samples": data.n_samples,
        "samples_merged": samples.n_distinct,
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
