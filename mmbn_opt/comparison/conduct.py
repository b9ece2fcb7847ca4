"""Runs at the same time, each handed over as it ends; Ctrl-C ends all that are going on."""

import warnings
from collections.abc import Callable, Sequence
from typing import TypeVar

from joblib import Parallel, delayed

from mmbn_opt._budget import interruptible, noting_signals, until_interrupted
from mmbn_opt.comparison.isolation import cancel, withdraw

__all__ = ["conduct"]

_PATIENCE_SEC = 3.0
"""How long the runs may take to end after Ctrl-C; those on other machines do not hear of it."""

Run = TypeVar("Run")
Record = TypeVar("Record")


def conduct(
    pending: Sequence[Run],
    execute: Callable[[Run], Record | None],
    token: str,
    n_jobs: int | None,
    keep: Callable[[Record], None],
) -> bool:
    """Do the runs and hand over each as it ends, in whatever order.

    Parameters
    ----------
    pending : sequence
    execute : callable (run) -> record or None
        None for a run that was cancelled. It can be pickled: joblib's backend may do it elsewhere.
    token : str
        What `cancel` knows the runs by.
    n_jobs : int or None
        As in ``joblib.Parallel``.
    keep : callable (record)

    Returns
    -------
    bool
        Whether an interruption cut something off.
    """
    kept = 0

    def hand_over(record: Record) -> None:
        nonlocal kept
        keep(record)
        kept += 1

    with noting_signals(lambda: withdraw(token)) as noted:
        with until_interrupted() as cut, interruptible(_PATIENCE_SEC):
            _execute(pending, execute, token, n_jobs, hand_over)
        return bool(cut) or (bool(noted) and kept < len(pending))


def _execute(
    pending: Sequence[Run],
    execute: Callable[[Run], Record | None],
    token: str,
    n_jobs: int | None,
    keep: Callable[[Record], None],
) -> None:
    # Threads only wait for processes; the word is a preference, which `joblib.parallel_config` overrides.
    parallel = Parallel(n_jobs=n_jobs, prefer="threads", batch_size=1, return_as="generator_unordered")
    answers = parallel(delayed(execute)(run) for run in pending)
    try:
        for record in answers:
            if record is not None:
                keep(record)
    except BaseException:
        cancel(token)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # joblib wonders why the rest is not wanted
            answers.close()
        raise
