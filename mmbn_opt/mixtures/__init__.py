"""Gaussian mixtures and the classifiers made of them."""

from mmbn_opt._lazy import names_on_demand

__getattr__, __dir__, __all__ = names_on_demand(__name__)
