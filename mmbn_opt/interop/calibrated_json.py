"""Calibrations in model files: a key beside the model's own, so that who wants the bare model still reads it."""

import math
from pathlib import Path
from typing import Any

import numpy as np

from mmbn_opt._arguments import is_number, shown
from mmbn_opt.exceptions import FormatError
from mmbn_opt.interop._json_document import document_text
from mmbn_opt.interop.atomic import write_text_atomic
from mmbn_opt.interop.json_model import network_to_dict
from mmbn_opt.interop.limits import check_network
from mmbn_opt.interop.mixture_json import mixture_text
from mmbn_opt.networks.network import BayesianNetwork
from mmbn_opt.scores.bends import Bends
from mmbn_opt.scores.calibrated import CalibratedModel
from mmbn_opt.scores.calibration import Calibration, Reliability

__all__ = ["KEY", "calibrated_text", "calibration_from_dict", "calibration_to_dict", "save_calibrated"]

KEY = "calibration"
_KEYS = {"temperature", "bends", "rows", "before", "after", "reason", "seen", "shares"}
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
    more = {KEY: calibration_to_dict(model.calibration)}
    return (
        document_text(network_to_dict(bare) | more) if isinstance(bare, BayesianNetwork) else mixture_text(bare, more)
    )


def calibration_to_dict(calibration: Calibration) -> dict[str, Any]:
    """A calibration as plain Python values.

    Examples
    --------
    >>> {key: value for key, value in calibration_to_dict(Calibration(2.0)).items() if value}
    {'temperature': 2.0}
    """
    return {
        "temperature": calibration.temperature,
        "bends": [list(point) for point in calibration.bends],
        "rows": calibration.rows,
        "before": _reliability_to_dict(calibration.before),
        "after": _reliability_to_dict(calibration.after),
        "reason": calibration.reason,
        "seen": calibration.seen,
        "shares": list(calibration.shares),
    }


def calibration_from_dict(content: Any) -> Calibration:
    """The calibration of a dict that `calibration_to_dict` made (or that a stranger did)."""
    if not isinstance(content, dict) or set(content) != _KEYS:
        raise FormatError(f'"{KEY}" must be an object with the keys {sorted(_KEYS)}, got {shown(content)}.')
    temperature, rows, reason = content["temperature"], content["rows"], content["reason"]
    if not is_number(temperature) or not 0.0 < temperature < math.inf:
        raise FormatError(f'The temperature of "{KEY}" must be a finite number > 0, got {shown(temperature)}.')
    bends = _bends_from_list(content["bends"])
    if not is_number(rows) or not 0.0 <= rows < math.inf:
        raise FormatError(f'The rows of "{KEY}" must be a finite number >= 0, got {shown(rows)}.')
    if not isinstance(content["seen"], bool):
        raise FormatError(f'"seen" of "{KEY}" must be true or false, got {shown(content["seen"])}.')
    if not isinstance(reason, str):
        raise FormatError(f'The reason of "{KEY}" must be a text, got {shown(reason)}.')
    before, after = (_reliability_from_dict(content[name], name) for name in ("before", "after"))
    shares = content["shares"]
    if not isinstance(shares, list) or not all(is_number(share) and 0.0 < share < 1.0 for share in shares):
        raise FormatError(f'The shares of "{KEY}" must be numbers between 0 and 1, got {shown(shares)}.')
    if shares and abs(sum(shares) - 1.0) > 1e-3:
        raise FormatError(f'The shares of "{KEY}" must sum to 1, got {shown(shares)}.')
    seen, known = content["seen"], tuple(map(float, shares))
    return Calibration(float(temperature), float(rows), before, after, reason, bends, seen, known)


def _bends_from_list(content: Any) -> Bends:
    """Points of a map that rises; the last one lies above 0, so that the best class stays the best one."""
    points = content if isinstance(content, list) else [None]
    pairs = [point for point in points if isinstance(point, list) and len(point) == 2 and all(map(is_number, point))]
    bends = tuple((float(distance), float(height)) for distance, height in pairs)
    both = np.array([(0.0, 0.0), *bends])
    if len(pairs) == len(points) and np.isfinite(both).all():
        steps = np.diff(both, axis=0)
        if not bends or ((steps[:, 0] > 0.0).all() and (steps[:, 1] >= 0.0).all() and bends[-1][1] > 0.0):
            return bends
    raise FormatError(
        f'The bends of "{KEY}" must be points (distance, log-odds) that rise from (0, 0), got {shown(content)}.'
    )


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
