"""A15: the default settings are what users run, so they are what is checked, for every public classifier."""

import pytest
from sklearn.base import BaseEstimator, is_classifier
from sklearn.utils.estimator_checks import check_sample_weight_equivalence_on_dense_data

import mmbn_opt as mm

CLASSIFIERS = sorted(
    name
    for name in mm.__all__
    if isinstance(kind := getattr(mm, name), type) and issubclass(kind, BaseEstimator) and is_classifier(kind())
)


def test_a15_all_public_classifiers_are_found() -> None:
    assert {"CMMClassifier", "MaxMarginBayesClassifier", "MaxMarginStructureClassifier"} < set(CLASSIFIERS)


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_a15_a_weight_of_two_is_the_row_twice_by_default(name: str) -> None:
    check_sample_weight_equivalence_on_dense_data(name, getattr(mm, name)())
