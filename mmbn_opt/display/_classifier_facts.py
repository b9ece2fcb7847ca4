"""What a fitted classifier tells at a glance."""

import math
from dataclasses import replace
from typing import Any

from mmbn_opt.display._facts import Headline, headline
from mmbn_opt.display._text import number

__all__ = ["classifier_headline"]


def classifier_headline(estimator: Any) -> Headline:
    """Status and figures of the search behind a classifier, its accuracy on the training rows first.

    Parameters
    ----------
    estimator : fitted classifier of `mmbn_opt.estimators`
    """
    rate = estimator.training_accuracy_
    accuracy = ("Accuracy, training rows", "no time left" if math.isnan(rate) else f"{100 * rate:.1f} %")
    if estimator.result_ is None:
        failed = not estimator.certificate_.ok
        sizes = (
            ("Classes", f"{len(estimator.classes_):,}"),
            ("Features", f"{estimator.n_features_in_:,}"),
            ("Free parameters", number(estimator.network_.n_parameters)),
        )
        sentence = "The tables are smoothed counts; nothing was searched."
        return Headline("bad" if failed else "good", "closed form", sentence, (accuracy, *sizes))
    found = headline(estimator.result_)
    return replace(found, figures=(accuracy, *found.figures))
