from mmbn_opt.tuning.grid import Tuning as Tuning
from mmbn_opt.tuning.grid import tune as tune
from mmbn_opt.tuning.held_out import Choice as Choice
from mmbn_opt.tuning.lambda_path import LambdaPath as LambdaPath
from mmbn_opt.tuning.likelihood import MaximumLikelihood as MaximumLikelihood
from mmbn_opt.tuning.parameters import Learning as Learning
from mmbn_opt.tuning.parameters import Parameters as Parameters
from mmbn_opt.tuning.parameters import ParameterSettings as ParameterSettings
