"""Runs that a choice is made from: side by side, up to Ctrl-C, and how many will do."""

import logging
import warnings
from collections.abc import Iterable
from typing import Any

from mmbn_opt._budget import interruptible, noting_signals, until_interrupted
from mmbn_opt.results.pace import Pace

__all__ = ["ONE_PART_ABOVE", "run_until_interrupted"]

logger = logging.getLogger(__name__)

ONE_PART_ABOVE = 1000
"""Rows above which one held-out fifth does, as in the papers."""


def run_until_interrupted(function: Any, work: Iterable[tuple[Any, ...]], n_jobs: int | None) -> list[Any]:
    """Call `function` with each tuple of arguments, through joblib, up to the first call that Ctrl-C cut off.

    The log tells every few seconds how many are done, and how long the others will take.

    Parameters
    ----------
    function : callable
        Returns None when it was cut off.
    work : iterable of tuple
    n_jobs : int or None

    Returns
    -------
    list
        What the calls returned, in their order: those before the first that was cut off.
    """
    from joblib import Parallel, delayed

    done: list[Any] = []
    work = list(work)
    pace = Pace(len(work))
    with noting_signals() as noted:
        answers = Parallel(n_jobs=n_jobs, return_as="generator")(delayed(function)(*given) for given in work)
        try:
            with until_interrupted(), interruptible():
                for answer in answers:
                    if answer is None:
                        break
                    done.append(answer)
                    if (news := pace.news(len(done))) is not None:
                        logger.info("%s", news)
                    if noted:
                        break
        finally:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # joblib wonders why the rest is not wanted
                answers.close()
    return done
