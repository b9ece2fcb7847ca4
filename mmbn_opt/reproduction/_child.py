"""A process for runs of an experiment: each is a method, the rows to learn from, those held out."""

import logging
import os
import pickle
import queue
import threading
import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, BinaryIO

import pandas as pd

from mmbn_opt.comparison.isolation import Answer, Ready
from mmbn_opt.comparison.machine import machine, own_peak_bytes, package_versions
from mmbn_opt.reproduction.measures import Measured, Removal, measure
from mmbn_opt.reproduction.methods import Context
from mmbn_opt.reproduction.methods.registry import METHOD_KINDS, build, version_of
from mmbn_opt.solvers.hosting.link import EngineFailure
from mmbn_opt.solvers.hosting.wire import read_message
from mmbn_opt.solvers.hosting.worker import begin

__all__ = ["TrialAnswered", "TrialJob", "TrialTask", "main"]


@dataclass(frozen=True, eq=False)
class TrialTask:
    """What is learned, from what; where it is timed, a few rows are learned from before."""

    kind: str
    settings: Mapping[str, Any]
    context: Context
    train: tuple[pd.DataFrame, "pd.Series[str]"]
    test: tuple[pd.DataFrame, "pd.Series[str]"]
    removal: Removal | None = None
    is_timed: bool = False


@dataclass(frozen=True)
class TrialJob:
    """What the child gets: a pickled `TrialTask`."""

    payload: bytes
    threads: int = 1
    verbose: bool = False


@dataclass(frozen=True, eq=False)
class TrialAnswered(Answer):
    """The last word of a run."""

    measured: Measured
    peak_memory: int | None


_FEW = 12
"""Rows of each class to warm up with."""

_warm: set[tuple[object, ...]] = set()
"""What this process has warmed up for."""


def main() -> None:
    """Read jobs, one after the other; send what happens."""
    incoming, send = begin()
    # What is odd about a table is told by the set, not by each of hundreds of runs on it.
    logging.getLogger("mmbn_opt").setLevel(logging.ERROR)
    warnings.simplefilter("ignore")
    jobs: queue.SimpleQueue[TrialJob] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(incoming, jobs), daemon=True).start()
    while True:
        _do(jobs.get(), send)


def _listen(incoming: BinaryIO, jobs: "queue.SimpleQueue[TrialJob]") -> None:
    """Take jobs until the parent closes the pipe; then end at once, so that no orphan goes on computing."""
    with suppress(EOFError, OSError):
        while True:
            jobs.put(read_message(incoming))
    os._exit(1)


def _warm_up(task: TrialTask) -> None:
    """Load and compile: what was not needed before in this process would be counted with the run.

    Once for tables of a kind: numbers, texts, gaps and more than two classes each have code of their own.
    """
    X, y = task.train
    kinds = sorted(set(task.context.kinds.values()))
    known = (task.kind, repr(task.settings), *kinds, y.nunique() > 2, bool(X.isna().to_numpy().any()))
    if known in _warm:
        return
    rows = [place for _, places in y.reset_index(drop=True).groupby(y.to_numpy()) for place in places.index[:_FEW]]
    with suppress(Exception):  # what is wrong with the method is told by the run itself
        build(task.kind, task.context, task.settings).fit(X.iloc[rows], y.iloc[rows]).predict(X.iloc[rows])
        _warm.add(known)


def _do(job: TrialJob, send: Callable[[object], None]) -> None:
    try:
        task: TrialTask = pickle.loads(job.payload)
        model = build(task.kind, task.context, task.settings)
        package = METHOD_KINDS[task.kind].package
        if task.is_timed:
            _warm_up(task)
        send(Ready(machine(), {**package_versions(), package: version_of(task.kind)}))
        send(TrialAnswered(measure(model, task.train, task.test, task.removal), own_peak_bytes()))
    except BaseException as error:
        send(EngineFailure.of(error))
