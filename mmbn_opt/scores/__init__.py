"""What a structure or a model is worth on samples: every score once, in one form."""

from typing import TYPE_CHECKING

from mmbn_opt._lazy import names_on_demand

if TYPE_CHECKING:
    from mmbn_opt.scores.margins import MarginTables as MarginTables
    from mmbn_opt.scores.predictive import binary_soft_margin as binary_soft_margin
    from mmbn_opt.scores.predictive import classification_rate as classification_rate
    from mmbn_opt.scores.predictive import conditional_log_likelihood as conditional_log_likelihood
    from mmbn_opt.scores.predictive import log_margins as log_margins
    from mmbn_opt.scores.predictive import log_odds as log_odds
    from mmbn_opt.scores.predictive import soft_margin as soft_margin

_HOMES = {
    "MarginTables": "margins",
    "binary_soft_margin": "predictive",
    "classification_rate": "predictive",
    "conditional_log_likelihood": "predictive",
    "log_margins": "predictive",
    "log_odds": "predictive",
    "soft_margin": "predictive",
}

__all__ = [*_HOMES]

__getattr__, __dir__ = names_on_demand(__name__, _HOMES)
