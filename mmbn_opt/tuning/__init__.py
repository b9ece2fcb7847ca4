"""Settings chosen on held-out rows."""

from typing import TYPE_CHECKING

from mmbn_opt._lazy import names_on_demand

if TYPE_CHECKING:
    from mmbn_opt.tuning.grid import Tuning as Tuning
    from mmbn_opt.tuning.grid import tune as tune
    from mmbn_opt.tuning.held_out import Choice as Choice
    from mmbn_opt.tuning.lambda_path import LambdaPath as LambdaPath
    from mmbn_opt.tuning.likelihood import MaximumLikelihood as MaximumLikelihood
    from mmbn_opt.tuning.parameters import Learning as Learning
    from mmbn_opt.tuning.parameters import Parameters as Parameters
    from mmbn_opt.tuning.parameters import ParameterSettings as ParameterSettings

_HOMES = {
    "Choice": "held_out",
    "LambdaPath": "lambda_path",
    "Learning": "parameters",
    "MaximumLikelihood": "likelihood",
    "ParameterSettings": "parameters",
    "Parameters": "parameters",
    "Tuning": "grid",
    "tune": "grid",
}

__all__ = [*_HOMES]

__getattr__, __dir__ = names_on_demand(__name__, _HOMES)
