"""One run of an experiment in a process of its own, as a record."""

import pickle
from typing import ClassVar

from mmbn_opt._budget import now
from mmbn_opt.comparison.isolation import Cancelled, RunHost, Watch, going, observe
from mmbn_opt.comparison.machine import machine, package_versions
from mmbn_opt.experiments._child import TrialAnswered, TrialJob, TrialTask
from mmbn_opt.experiments.trial import PlannedTrial, TrialRecord

__all__ = ["execute_unless_cancelled"]


class _TrialHost(RunHost):
    worker: ClassVar[str] = "mmbn_opt.experiments._child"


def execute_unless_cancelled(trial: PlannedTrial) -> TrialRecord | None:
    """Do a run in a fresh process and say what became of it; None when all were interrupted."""
    watch = Watch(trial)
    began = now()
    try:
        with going(trial.token):
            observe(watch, _TrialHost(TrialJob(_payload(trial))))
    except Cancelled:
        return None
    answer = watch.answer if isinstance(watch.answer, TrialAnswered) else None
    sampled = watch.peak_memory or None
    return TrialRecord(
        key=trial.key,
        dataset=trial.dataset,
        method=trial.method,
        split=trial.split,
        outcome=watch.outcome,
        detail=watch.detail,
        numbers={} if answer is None else dict(answer.measured.numbers),
        certificate="" if answer is None else answer.measured.certificate,
        chosen={} if answer is None else dict(answer.measured.chosen),
        n_train=len(trial.rows[0]),
        n_test=len(trial.rows[1]),
        time_limit=trial.context.time_limit,
        seconds=now() - began,
        peak_memory=max(filter(None, (sampled, None if answer is None else answer.peak_memory)), default=None),
        versions=dict(package_versions() if watch.ready is None else watch.ready.versions),
        machine=machine() if watch.ready is None else watch.ready.machine,
    )


def _payload(trial: PlannedTrial) -> bytes:
    """Made when the run begins, so that plans hold each table once."""
    train, test = trial.rows
    X, y = trial.table.X, trial.table.y
    task = TrialTask(
        trial.kind, dict(trial.settings), trial.context, (X.iloc[train], y.iloc[train]), (X.iloc[test], y.iloc[test])
    )
    return pickle.dumps(task)
