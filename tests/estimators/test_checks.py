"""scikit-learn's own checks of every public class: with its default settings, and with those that decide its ways."""

import inspect
from typing import Any

import pytest
from sklearn.base import BaseEstimator
from sklearn.utils.estimator_checks import check_estimator, estimator_checks_generator, parametrize_with_checks

import mmbn_opt as mm

PUBLIC = [
    kind
    for kind in (getattr(mm, name) for name in mm.__all__)
    if inspect.isclass(kind) and issubclass(kind, BaseEstimator) and kind is not mm.SequenceClassifier
]
"""All that calls itself an estimator: a new class is checked by being public. One takes lists of sequences, and
scikit-learn's checks only know tables."""

DEFAULTS = [kind() for kind in PUBLIC]
VARIANTS = [
    mm.TANClassifier(missing="state"),
    mm.MaxMarginBayesClassifier("tan-cmi", "cg-cl", iterations=10, missing="drop"),
]
LONG = [
    mm.MaxMarginStructureClassifier(missing="state", unseen="error"),
    mm.CMMClassifier(strategy="one-vs-rest", iterations=5, missing="marginalize"),
    mm.MaxMarginBayesClassifier("nb", "relaxation", rel_gap=1e-2, missing="state"),
    mm.MaxMarginStructureClassifier("sbm", parameters="cg-mm", missing="drop"),
    mm.MaxMarginStructureClassifier("bic", 1, parameters="relaxation", missing="state"),
]

WEIGHT_CHECKS = {
    "check_sample_weights_pandas_series", "check_sample_weights_not_an_array", "check_sample_weights_list",
    "check_sample_weights_shape", "check_sample_weights_not_overwritten",
    "check_sample_weight_equivalence_on_dense_data",
}  # fmt: skip


def name_of(check: Any) -> str:
    """Of a check, whose settings may be bound already."""
    return str(getattr(check, "func", check).__name__)


def expected_failures(estimator: Any) -> dict[str, str]:
    """Networks sum missing cells out at prediction; scikit-learn wants refused there what training refuses."""
    if estimator.get_params().get("missing") != "error" or isinstance(estimator, mm.CMMClassifier):
        return {}
    return {"check_estimators_nan_inf": "prediction sums missing cells out, whether or not training refuses them"}


LONG_CHECKS = {"check_dtype_object", "check_supervised_y_2d"}
"""Each fits ten times and more; `test_the_checks_pass_as_users_run_them` has them too."""


@parametrize_with_checks([*DEFAULTS, *VARIANTS], expected_failed_checks=expected_failures)
def test_scikit_learns_checks(estimator: Any, check: Any) -> None:
    if isinstance(estimator, mm.CMMClassifier | mm.MaxMarginStructureClassifier) and name_of(check) in LONG_CHECKS:
        pytest.skip("takes long: `make test-slow` runs it with all others")
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks(LONG, expected_failed_checks=expected_failures)
def test_scikit_learns_checks_of_the_slower_ones(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.slow
@pytest.mark.parametrize("kind", PUBLIC)
def test_the_checks_pass_as_users_run_them(kind: type[BaseEstimator]) -> None:
    check_estimator(kind(), expected_failed_checks=expected_failures(kind()))


def test_the_list_of_classes_is_that_of_the_package() -> None:
    names = {kind.__name__ for kind in PUBLIC}
    assert names >= {
        "NaiveBayesClassifier", "TANClassifier", "MaxMarginBayesClassifier", "MaxMarginStructureClassifier",
        "CMMClassifier", "MDLPDiscretizer",
    }  # fmt: skip


@pytest.mark.parametrize("estimator", DEFAULTS, ids=lambda estimator: type(estimator).__name__)
def test_the_list_of_checks_holds_those_of_weights(estimator: Any) -> None:
    names = {name_of(check) for _, check in estimator_checks_generator(estimator)}
    assert names >= WEIGHT_CHECKS | {"check_fit_score_takes_y", "check_n_features_in_after_fitting"}
