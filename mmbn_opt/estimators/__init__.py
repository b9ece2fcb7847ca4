"""scikit-learn's conventions over `tuning` and `solving`; no optimization of its own."""

from mmbn_opt.estimators.bayes import MaxMarginBayesClassifier
from mmbn_opt.estimators.cmm import CMMClassifier
from mmbn_opt.estimators.generative import NaiveBayesClassifier, TANClassifier
from mmbn_opt.estimators.sequences import SequenceClassifier
from mmbn_opt.estimators.structure import MaxMarginStructureClassifier

__all__ = [
    "CMMClassifier",
    "MaxMarginBayesClassifier",
    "MaxMarginStructureClassifier",
    "NaiveBayesClassifier",
    "SequenceClassifier",
    "TANClassifier",
]
