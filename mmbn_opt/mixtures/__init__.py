"""Gaussian mixtures and the classifiers made of them."""

from typing import TYPE_CHECKING

from mmbn_opt._lazy import names_on_demand

if TYPE_CHECKING:
    from mmbn_opt.mixtures.classifier import DecisionRule as DecisionRule
    from mmbn_opt.mixtures.classifier import MixtureClassifier as MixtureClassifier
    from mmbn_opt.mixtures.classifier import MixturePart as MixturePart
    from mmbn_opt.mixtures.density import MixtureDensity as MixtureDensity
    from mmbn_opt.mixtures.parts import BinaryPart as BinaryPart

_HOMES = {
    "BinaryPart": "parts",
    "DecisionRule": "classifier",
    "MixtureClassifier": "classifier",
    "MixtureDensity": "density",
    "MixturePart": "classifier",
}

__all__ = [*_HOMES]

__getattr__, __dir__ = names_on_demand(__name__, _HOMES)
