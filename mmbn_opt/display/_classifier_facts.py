"""What a fitted classifier tells at a glance."""

import math
from dataclasses import replace
from typing import Any

from mmbn_opt.display._facts import Headline, headline
from mmbn_opt.display._text import number
from mmbn_opt.scores.calibration import Calibration

__all__ = ["classifier_headline"]


def classifier_headline(estimator: Any) -> Headline:
    """Status and figures of the search behind a classifier, its accuracy on the training rows first.

    Parameters
    ----------
    estimator : fitted classifier of `mmbn_opt.estimators`
    """
    rate = estimator.training_accuracy_
    accuracy: tuple[tuple[str, str], ...] = (
        ("Accuracy, training rows", "no time left" if math.isnan(rate) else f"{100 * rate:.1f} %"),
    )
    accuracy = (*accuracy, *_probabilities(estimator.calibration_))
    if estimator.result_ is None:
        failed = not estimator.certificate_.ok
        sizes = (
            ("Classes", f"{len(estimator.classes_):,}"),
            ("Features", f"{estimator.n_features_in_:,}"),
            ("Free parameters", number(estimator.network_.n_parameters)),
        )
        sentence = "The tables are smoothed counts; nothing was searched."
        return Headline("bad" if failed else "good", "closed form", sentence, (*accuracy, *sizes))
    found = headline(estimator.result_)
    return replace(found, figures=(*accuracy, *found.figures))


def _probabilities(calibration: Calibration) -> tuple[tuple[str, str], ...]:
    """Log loss and calibration error on the rows that were held out inside `fit`."""
    if calibration.after is None:
        return ()
    return (
        ("Log loss, held out", f"{calibration.after.log_loss:.3f}"),
        ("Calibration error, held out", f"{calibration.after.calibration_error:.3f}"),
    )
