"""The process of one run of an experiment: a method, the rows to learn from, those held out."""

import logging
import os
import pickle
import threading
import time
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from mmbn_opt.comparison.isolation import Answer, Ready
from mmbn_opt.comparison.machine import machine, own_peak_bytes, package_versions
from mmbn_opt.experiments.measures import Measured, measure
from mmbn_opt.experiments.methods import Context
from mmbn_opt.experiments.methods.registry import METHOD_KINDS, build, version_of
from mmbn_opt.solvers.hosting.link import EngineFailure, EngineLink
from mmbn_opt.solvers.hosting.wire import read_message
from mmbn_opt.solvers.hosting.worker import begin, obey

__all__ = ["TrialAnswered", "TrialJob", "TrialTask", "main"]


@dataclass(frozen=True, eq=False)
class TrialTask:
    """What is learned, from what."""

    kind: str
    settings: Mapping[str, Any]
    context: Context
    train: tuple[pd.DataFrame, "pd.Series[str]"]
    test: tuple[pd.DataFrame, "pd.Series[str]"]


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


def main() -> None:
    """Read a job, run it, send what happens."""
    incoming, send = begin()
    job: TrialJob = read_message(incoming)
    threading.Thread(target=obey, args=(incoming, EngineLink(send, time.monotonic())), daemon=True).start()
    try:
        task: TrialTask = pickle.loads(job.payload)
        # What is odd about a table is told by the set, not by each of hundreds of runs on it.
        logging.getLogger("mmbn_opt").setLevel(logging.ERROR)
        warnings.simplefilter("ignore")
        model = build(task.kind, task.context, task.settings)
        package = METHOD_KINDS[task.kind].package
        send(Ready(machine(), {**package_versions(), package: version_of(task.kind)}))
        send(TrialAnswered(measure(model, task.train, task.test), own_peak_bytes()))
    except BaseException as error:
        send(EngineFailure.of(error))
    os._exit(0)
