"""One run of an experiment in a process apart, as a record."""

import pickle
import threading
from typing import ClassVar

from mmbn_opt._budget import now
from mmbn_opt.comparison.isolation import Cancelled, RunHost, Watch, going, observe
from mmbn_opt.comparison.machine import machine, package_versions
from mmbn_opt.reproduction._child import TrialAnswered, TrialJob, TrialTask
from mmbn_opt.reproduction.methods import METHOD_KINDS
from mmbn_opt.reproduction.trial import PlannedTrial, TrialRecord

__all__ = ["dismiss", "execute_unless_cancelled"]


class _TrialHost(RunHost):
    """A process that takes one run after the other: to start one takes longer than most runs on small sets."""

    worker: ClassVar[str] = "mmbn_opt.reproduction._child"

    def give(self, job: TrialJob) -> None:
        """The next run of a process that has answered."""
        self._outbox.put(job)

    @property
    def lives(self) -> bool:
        """Whether it can take another run."""
        return self._process.poll() is None


_idle: list[_TrialHost] = []
_changing = threading.Lock()


def _host(job: TrialJob) -> _TrialHost:
    """A process that is on its way to do the job; one that has nothing to do, or a new one."""
    with _changing:
        while _idle:
            host = _idle.pop()
            if host.lives:
                host.give(job)
                return host
            host.close()
    return _TrialHost(job)


def dismiss() -> None:
    """End the processes that wait for another run."""
    with _changing:
        waiting = list(_idle)
        _idle.clear()
    for host in waiting:
        host.close()


def execute_unless_cancelled(trial: PlannedTrial) -> TrialRecord | None:
    """Do a run in a process apart and say what became of it; None when all were interrupted."""
    watch = Watch(trial)
    began = now()
    try:
        with going(trial.token):
            host = _host(TrialJob(_payload(trial)))
            observe(watch, host, reusable=True)
            if watch.answer is not None:
                with _changing:
                    _idle.append(host)
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
        chosen=dict(trial.chosen) or ({} if answer is None else dict(answer.measured.chosen)),
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
    X, y = trial.table.features(with_sequences=METHOD_KINDS[trial.kind].of_sequences), trial.table.y
    task = TrialTask(
        trial.kind, dict(trial.settings), trial.context, (X.iloc[train], y.iloc[train]), (X.iloc[test], y.iloc[test]),
        trial.removal, trial.is_timed,
    )  # fmt: skip
    return pickle.dumps(task)
