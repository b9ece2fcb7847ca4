"""Classifiers with the conventions of scikit-learn."""

from mmbn_opt.estimators.cmm import CMMClassifier

__all__ = ["CMMClassifier"]
