"""An experiment, run: plan, skip what is done, run the rest apart from each other, keep each as it ends."""

import logging
import secrets
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mmbn_opt._arguments import is_whole
from mmbn_opt.comparison.conduct import conduct
from mmbn_opt.comparison.fingerprint import fingerprint
from mmbn_opt.comparison.machine import package_versions
from mmbn_opt.comparison.record import RunOutcome
from mmbn_opt.comparison.store import RunStore
from mmbn_opt.exceptions import InputError
from mmbn_opt.reproduction._isolated import dismiss, execute_unless_cancelled
from mmbn_opt.reproduction.declaration import Experiment
from mmbn_opt.reproduction.measures import Removal
from mmbn_opt.reproduction.methods import METHOD_KINDS, Context, availability
from mmbn_opt.reproduction.methods.registry import same_settings, version_of
from mmbn_opt.reproduction.remaining import Remaining, remaining
from mmbn_opt.reproduction.results import Results
from mmbn_opt.reproduction.sources import Source, Table, where_to_get
from mmbn_opt.reproduction.trial import PlannedTrial, TrialRecord

__all__ = ["Plan", "Progress", "plan_of", "run_experiment"]

logger = logging.getLogger(__name__)

_TIMES_THE_LIMIT = 10.0
_GRACE_SEC = 60.0
"""A method that keeps no limit is ended after ten times what it was given, and a minute."""

Progress = Callable[[TrialRecord, int, int, Remaining], object]
"""Called with each run that has ended, how many have ended, how many there are, and how long the rest will take."""


@dataclass(frozen=True, eq=False)
class Plan:
    """All runs, and all that is left out.

    Parameters
    ----------
    trials : tuple of PlannedTrial
        The first splits of all sets come first.
    left_out : mapping of set or method to str
        What cannot be run here, and why.
    """

    trials: tuple[PlannedTrial, ...]
    left_out: dict[str, str]


def plan_of(experiment: Experiment, source: Source, *, wanted: Sequence[str] = ()) -> Plan:
    """Cross sets, methods and splits; leave out what is not here, and say why.

    Parameters
    ----------
    experiment : Experiment
    source : Source
    wanted : sequence of str
        Sets and methods that were asked for by name: these are not left out in silence.

    Raises
    ------
    InputError
        If one of `wanted` is not here, or nothing is left.
    """
    left_out = {name: f"{reason}" for name, reason in experiment.absent.items()}
    left_out |= dict(experiment.not_run)
    methods = {}
    for label, method in experiment.methods.items():
        reason = availability(method.kind)
        if reason is None:
            methods[label] = method
            continue
        if label in wanted:
            raise InputError(f"methods cannot hold {label!r} here: {reason}.")
        left_out[label] = reason
    if not methods:
        reasons = "; ".join(f"{label}: {left_out[label]}" for label in experiment.methods)
        raise InputError(f"No method of {experiment.name} can be run here. {reasons}.")
    tables = {}
    for name in experiment.sets:
        table = source.find(name)
        if table is not None:
            tables[name] = table
            continue
        if name in wanted:
            raise InputError(f"The data set {name!r} is not here: {where_to_get(name)}.")
        left_out[name] = f"not here: {where_to_get(name)}"
    if not tables:
        raise InputError(
            f"None of the {len(experiment.sets)} data sets of {experiment.name} is here. data names a folder with one "
            f"file a set. {experiment.sets[0]!r}: {where_to_get(experiment.sets[0])}."
        )
    token = secrets.token_hex(8)
    trials = [trial for table in tables.values() for trial in _trials(experiment, table, methods, token)]
    return Plan(tuple(sorted(trials, key=lambda trial: trial.split)), left_out)


def _trials(experiment: Experiment, table: Table, methods: Any, token: str) -> Iterator[PlannedTrial]:
    splits = experiment.splits.of(table, complete_only=experiment.missing == "drop")[: experiment.n_splits]
    context = Context(dict(table.kinds), experiment.missing, experiment.time_limit, experiment.splits.seed)
    code = package_versions().get("mmbn-opt", "")
    removal = Removal(experiment.removed, experiment.patterns) if experiment.removed else None
    runs = [(label, method, settings) for label, method in methods.items() for settings in method.variants()]
    for label, method, settings in runs:
        about = (method.kind, settings, context, code, METHOD_KINDS[method.kind].package)
        taken_out = [] if removal is None else [removal]
        known = fingerprint(table.name, table.content, *about, version_of(method.kind))
        own = (known, label, *taken_out, *(["timed"] if experiment.is_timed else []))
        alike = (method.kind, same_settings(method.kind, settings, table.y.nunique()), *taken_out)
        for number, rows in enumerate(splits):
            key = fingerprint(*own, rows[0], rows[1])
            yield PlannedTrial(
                key=key, work=key if experiment.is_timed else fingerprint(table.name, number, *alike), method=label,
                split=number, table=table, rows=rows, kind=method.kind, settings=settings, context=context,
                time_limit=_TIMES_THE_LIMIT * context.time_limit, token=token,
                chosen={name: str(settings[name]) for name in method.chosen_from}, removal=removal,
                is_timed=experiment.is_timed, grace=_GRACE_SEC,
            )  # fmt: skip


def run_experiment(
    experiment: Experiment,
    *,
    folder: str | Path | None = None,
    data: str | Path | None = None,
    wanted: Sequence[str] = (),
    n_jobs: int | None = None,
    rerun_failed: bool = False,
    progress: Progress | None = None,
) -> Results:
    """Run what is not done of an experiment, each run in a process apart.

    Ctrl-C ends it; what is done is kept and returned, and the same call goes on from there. Two methods that are the
    same on a set (SBM is SM where there are two classes) are run once there and told under both labels.

    Parameters
    ----------
    experiment : Experiment
    folder : path or None
        Where each run is kept as it ends, in ``runs``; experiments that share runs share them there.
    data : path or None
        Folder of the data sets, as `Source` has it.
    wanted : sequence of str
        Sets and methods that must not be left out.
    n_jobs : int or None
        Runs at the same time. None: what ``joblib.parallel_config`` says (a Dask cluster, perhaps), else one.
    rerun_failed : bool
        Run again what raised, crashed, hung or ran out of memory.
    progress : callable or None
        ``progress(run, n_done, n_all, remaining)``.

    Raises
    ------
    InputError

    Examples
    --------
    >>> from mmbn_opt.reproduction import load_experiment
    >>> little = load_experiment("peharz2012-table2").narrowed(sets=["iris"], methods=["NB"], n_splits=1)
    >>> run_experiment(little).frame[["dataset", "method", "outcome"]].values.tolist()
    [['iris', 'NB', 'ANSWERED']]
    """
    if n_jobs is not None and (not is_whole(n_jobs) or n_jobs == 0):
        raise InputError(f"n_jobs must be a whole number other than 0 (-1 for all cores), got {n_jobs!r}.")
    plan = plan_of(experiment, Source(data), wanted=wanted)
    store = RunStore(folder, TrialRecord)
    done = {trial.key: record for trial in plan.trials if (record := store.find(trial)) is not None}
    if rerun_failed:
        done = {key: record for key, record in done.items() if record.outcome is RunOutcome.ANSWERED}
    logger.info("%d runs of %s, of which %d are done", len(plan.trials), experiment.name, len(done))
    at_once = _at_once(n_jobs)
    pending: dict[str, list[PlannedTrial]] = {}  # by the first of those that are the same under other labels

    def tell(trial: PlannedTrial, record: TrialRecord) -> None:
        own = record.under(trial)
        store.keep(own)
        done[own.key] = own
        if progress is not None:
            left = remaining([alike[0] for alike in pending.values()], done.values(), at_once)
            progress(own, len(done), len(plan.trials), left)

    def keep(record: TrialRecord) -> None:
        for trial in pending.pop(record.key, []):
            tell(trial, record)

    first: dict[str, str] = {}
    known = {trial.work: done[trial.key] for trial in plan.trials if trial.key in done}
    to_do = [trial for trial in plan.trials if trial.key not in done]
    for trial in to_do:
        if trial.work not in known:
            pending.setdefault(first.setdefault(trial.work, trial.key), []).append(trial)
    for trial in to_do:
        if trial.work in known:
            tell(trial, known[trial.work])
    token = plan.trials[0].token
    try:
        interrupted = conduct([alike[0] for alike in pending.values()], execute_unless_cancelled, token, n_jobs, keep)
    finally:
        dismiss()
    records = [done[trial.key] for trial in plan.trials if trial.key in done]
    return Results.of(experiment, records, plan.left_out, planned=len(plan.trials), interrupted=interrupted)


def _at_once(n_jobs: int | None) -> int:
    import joblib

    return max(1, int(joblib.effective_n_jobs(1 if n_jobs is None else n_jobs)))
