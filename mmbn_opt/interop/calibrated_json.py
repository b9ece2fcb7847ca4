"""Calibrations in model files: a key beside the model's own, so that who wants the bare model still reads it."""

import json
import math
from pathlib import Path
from typing import Any

from mmbn_opt._arguments import is_number, shown
from mmbn_opt.exceptions import FormatError
from mmbn_opt.interop.atomic import write_text_atomic
from mmbn_opt.interop.json_model import network_to_dict
from mmbn_opt.interop.limits import check_network
from mmbn_opt.interop.mixture_json import mixture_to_dict
from mmbn_opt.networks.network import BayesianNetwork
from mmbn_opt.scores.calibrated import CalibratedModel
from mmbn_opt.scores.calibration import Calibration, Reliability

__all__ = ["KEY", "calibrated_text", "calibration_from_dict", "calibration_to_dict", "save_calibrated"]

KEY = "calibration"
_KEYS = {"temperature", "knee", "rows", "before", "after", "reason"}
_RELIABILITY_KEYS = {"log_loss", "calibration_error"}


def save_calibrated(model: CalibratedModel, path: str | Path) -> None:
    """Write a model with its calibration as JSON, whole or not at all.

    Raises
    ------
    InputError
        If the path cannot be written, or a label has a type that JSON cannot hold.
    """
    if isinstance(model.model, BayesianNetwork):
        check_network(model.model, path)
    write_text_atomic(path, calibrated_text(model))


def calibrated_text(model: CalibratedModel) -> str:
    """What `save_calibrated` writes."""
    bare = model.model
    content = network_to_dict(bare) if isinstance(bare, BayesianNetwork) else mixture_to_dict(bare)
    return json.dumps(content | {KEY: calibration_to_dict(model.calibration)}, allow_nan=False) + "\n"


def calibration_to_dict(calibration: Calibration) -> dict[str, Any]:
    """A calibration as plain Python values.

    Examples
    --------
    >>> calibration_to_dict(Calibration(2.0))
    {'temperature': 2.0, 'knee': None, 'rows': 0.0, 'before': None, 'after': None, 'reason': ''}
    """
    return {
        "temperature": calibration.temperature,
        "knee": calibration.knee,
        "rows": calibration.rows,
        "before": _reliability_to_dict(calibration.before),
        "after": _reliability_to_dict(calibration.after),
        "reason": calibration.reason,
    }


def calibration_from_dict(content: Any) -> Calibration:
    """The calibration of a dict that `calibration_to_dict` made (or that a stranger did)."""
    if not isinstance(content, dict) or set(content) != _KEYS:
        raise FormatError(f'"{KEY}" must be an object with the keys {sorted(_KEYS)}, got {shown(content)}.')
    temperature, rows, reason = content["temperature"], content["rows"], content["reason"]
    if not is_number(temperature) or not 0.0 < temperature < math.inf:
        raise FormatError(f'The temperature of "{KEY}" must be a finite number > 0, got {shown(temperature)}.')
    knee = content["knee"]
    if knee is not None and not (is_number(knee) and 0.0 < knee < math.inf):
        raise FormatError(f'The knee of "{KEY}" must be a finite number > 0 or null, got {shown(knee)}.')
    if not is_number(rows) or not 0.0 <= rows < math.inf:
        raise FormatError(f'The rows of "{KEY}" must be a finite number >= 0, got {shown(rows)}.')
    if not isinstance(reason, str):
        raise FormatError(f'The reason of "{KEY}" must be a text, got {shown(reason)}.')
    before, after = (_reliability_from_dict(content[name], name) for name in ("before", "after"))
    return Calibration(float(temperature), float(rows), before, after, reason, None if knee is None else float(knee))


def _reliability_to_dict(reliability: Reliability | None) -> dict[str, float] | None:
    if reliability is None:
        return None
    return {"log_loss": reliability.log_loss, "calibration_error": reliability.calibration_error}


def _reliability_from_dict(content: Any, name: str) -> Reliability | None:
    if content is None:
        return None
    if not isinstance(content, dict) or set(content) != _RELIABILITY_KEYS:
        raise FormatError(f'"{name}" of "{KEY}" must be null or an object with the keys {sorted(_RELIABILITY_KEYS)}.')
    numbers = content["log_loss"], content["calibration_error"]
    if not all(is_number(number) and 0.0 <= number < math.inf for number in numbers):
        raise FormatError(f'"{name}" of "{KEY}" must hold finite numbers >= 0, got {shown(content)}.')
    return Reliability(*map(float, numbers))
