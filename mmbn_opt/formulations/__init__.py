"""A paper's problem: samples to program, point to model, model to value recomputed; never solves."""

from .._lazy import names_on_demand

__getattr__, __dir__, __all__ = names_on_demand(__name__)
