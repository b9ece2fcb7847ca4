from mmbn_opt.mixtures.classifier import DecisionRule as DecisionRule
from mmbn_opt.mixtures.classifier import MixtureClassifier as MixtureClassifier
from mmbn_opt.mixtures.classifier import MixturePart as MixturePart
from mmbn_opt.mixtures.density import MixtureDensity as MixtureDensity
from mmbn_opt.mixtures.parts import BinaryPart as BinaryPart
