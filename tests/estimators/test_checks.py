"""scikit-learn's own checks of all classifiers on discrete features (those of CMMClassifier are in test_cmm)."""

from typing import Any

import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator, parametrize_with_checks

import mmbn_opt as mm

QUICK = [
    mm.NaiveBayesClassifier(),
    mm.TANClassifier(missing="state"),
    mm.MaxMarginBayesClassifier(),
    mm.MaxMarginBayesClassifier("tan-cmi", "cg-cl", iterations=10, missing="drop"),
    mm.MaxMarginStructureClassifier(missing="state"),
]
LONG = [
    mm.MaxMarginBayesClassifier("nb", "relaxation", rel_gap=1e-2, missing="state"),
    mm.MaxMarginStructureClassifier("sbm", parameters="cg-mm", missing="drop"),
    mm.MaxMarginStructureClassifier("bic", 1, parameters="relaxation", missing="state"),
]


def expected_failures(estimator: Any) -> dict[str, str]:
    if estimator.missing != "error":
        return {}
    return {"check_estimators_nan_inf": "prediction sums missing cells out, whether or not training refuses them"}


@parametrize_with_checks(QUICK, expected_failed_checks=expected_failures)
def test_scikit_learns_checks(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks(LONG, expected_failed_checks=expected_failures)
def test_scikit_learns_checks_of_the_slower_ones(estimator: Any, check: Any) -> None:
    check(estimator)


def test_the_list_of_checks_is_not_empty() -> None:
    names = {getattr(check, "func", check).__name__ for _, check in estimator_checks_generator(QUICK[0])}
    assert {"check_classifiers_train", "check_sample_weight_equivalence_on_dense_data"} <= names
