"""The comparison itself: plan, skip what is done, run the rest apart from each other, keep each as it ends."""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from mmbn_opt._arguments import check_arguments, is_whole, whole
from mmbn_opt.comparison._isolated import execute_unless_cancelled
from mmbn_opt.comparison.conduct import conduct
from mmbn_opt.comparison.machine import can_measure_memory
from mmbn_opt.comparison.plan import (
    LeftOut,
    Limits,
    Plan,
    labelled_formulations,
    labelled_solvers,
    make_plan,
)
from mmbn_opt.comparison.record import RunOutcome, RunRecord
from mmbn_opt.comparison.store import RunStore
from mmbn_opt.comparison.table import Comparison
from mmbn_opt.exceptions import InputError
from mmbn_opt.formulations.base import Formulation
from mmbn_opt.solvers.base import Solver
from mmbn_opt.solving.settings import SolveSettings

__all__ = ["Progress", "compare", "plan_of"]

logger = logging.getLogger(__name__)

Progress = Callable[[RunRecord, int, int], object]
"""Called with each run that has ended, how many have ended, and how many there are."""


def compare(
    formulations: Formulation | Iterable[Formulation] | Mapping[str, Formulation],
    solvers: str | Solver | Iterable[str | Solver] | Mapping[str, str | Solver] = "all",
    *,
    time_limit: float | None = 60.0,
    seeds: Sequence[int] = (0, 1, 2),
    folder: str | Path | None = None,
    n_jobs: int | None = None,
    grace: float = 10.0,
    memory_limit: float | None = None,
    rel_gap: float | None = None,
    abs_gap: float | None = None,
    threads: int | None = None,
    rerun_failed: bool = False,
    progress: Progress | None = None,
) -> Comparison:
    """Run solvers on formulations, each run in a process of its own, and hold the answers against the data.

    A run that crashes, hangs, eats the memory or lies is a row of the table with its status. Objectives are recomputed
    by the formulation from the data; a solver that claims another one, or a bound that a verified incumbent of any
    other run contradicts, is flagged and does not count as having solved the problem. Ctrl-C ends the comparison; what
    is done is returned.

    Parameters
    ----------
    formulations : Formulation, iterable of them, or mapping from labels
    solvers : str, Solver, iterable of them, or mapping from labels
        Names (see `mmbn_opt.solvers`), ``"auto"``, configured solvers, or ``"all"``: each one that accepts a kind of
        program that the formulation emits, and takes it. Solvers that are not installed or refuse, and named ones that
        do not fit, are listed in ``left_out`` with the reason.
    time_limit : float or None
        Wall-clock seconds a run, building and heuristics included, for configured solvers too. None runs to proof, or
        as long as a configured solver says.
    seeds : sequence of int
    folder : path or None
        Where each run is kept as it ends. A comparison that is started again there does only what is missing; what a
        run is known by covers the data, all settings, the labels and the versions.
    n_jobs : int or None
        Runs at the same time. None: what ``joblib.parallel_config`` says, else one. Runs that share a processor
        disturb each other's times. With ``joblib.parallel_config(backend="dask")`` the runs go to a Dask cluster.
    grace : float
        Seconds after the limit at which a run that goes on is killed.
    memory_limit : float or None
        Megabytes that the process of a run and what it starts may hold, interpreter and libraries included (Linux).
    rel_gap, abs_gap, threads
        As in `mmbn_opt.solve`: those that are not given are what a configured solver says, and else 0, 0 and 1.
    rerun_failed : bool
        Run again what crashed, hung, raised or ran out of memory.
    progress : callable or None
        Called with each run as it ends: ``progress(run, n_done, n_all)``.

    Returns
    -------
    Comparison
        A `pandas.DataFrame` with one row a run; see there for the columns.

    Raises
    ------
    InputError
        For an unknown solver, a limit that makes no sense, or when no solver fits any formulation.

    Examples
    --------
    >>> import mmbn_opt as mm
    >>> data = mm.DiscreteDataset.from_arrays([["a", "u"], ["a", "v"], ["b", "u"], ["b", "v"]] * 5, [0, 1, 1, 0] * 5)
    >>> table = mm.compare(mm.SoftMarginStructure(data), ["highs"], time_limit=30, seeds=[0])
    >>> table[["solver", "status", "solved", "claim_ok", "bound_ok"]].values.tolist()
    [['highs', 'OPTIMAL', True, True, True]]
    """
    check_arguments(compare, locals())
    plan = plan_of(
        formulations, solvers, time_limit=time_limit, seeds=seeds, n_jobs=n_jobs, grace=grace,
        memory_limit=memory_limit, rel_gap=rel_gap, abs_gap=abs_gap, threads=threads,
    )  # fmt: skip
    everything = _everything(solvers)
    store = RunStore(folder, RunRecord)
    done = {run.key: record for run in plan.runs if (record := store.find(run)) is not None}
    if rerun_failed:
        done = {key: record for key, record in done.items() if record.status is not None}
    logger.info("%d runs, of which %d are done", len(plan.runs), len(done))

    def keep(record: RunRecord) -> None:
        store.keep(record)
        done[record.key] = record
        if progress is not None:
            progress(record, len(done), len(plan.runs))

    pending = [run for run in plan.runs if run.key not in done]
    interrupted = conduct(pending, execute_unless_cancelled, plan.token, n_jobs, keep)
    finished = [done[run.key] for run in plan.runs if run.key in done]
    left_out = list(plan.left_out)
    if everything:
        # Nobody asked for these by name, and only the run could tell that they do not take this problem.
        refused = [run for run in finished if run.outcome is RunOutcome.REFUSED]
        left_out += dict.fromkeys(LeftOut(run.formulation, run.solver, run.detail) for run in refused)
        finished = [run for run in finished if run.outcome is not RunOutcome.REFUSED]
    return Comparison(finished, left_out, interrupted=interrupted)


def plan_of(
    formulations: Formulation | Iterable[Formulation] | Mapping[str, Formulation],
    solvers: str | Solver | Iterable[str | Solver] | Mapping[str, str | Solver] = "all",
    *,
    time_limit: float | None,
    seeds: Sequence[int],
    n_jobs: int | None = None,
    grace: float = 10.0,
    memory_limit: float | None = None,
    rel_gap: float | None = None,
    abs_gap: float | None = None,
    threads: int | None = None,
) -> Plan:
    """The runs of a comparison; everything that it is called with is checked here, before any work.

    Parameters are those of `compare`.

    Raises
    ------
    InputError
    """
    settings = SolveSettings(time_limit=time_limit, rel_gap=rel_gap, abs_gap=abs_gap, threads=threads)
    limits = Limits(settings, grace, memory_limit)
    if n_jobs is not None and (not is_whole(n_jobs) or n_jobs == 0):
        raise InputError(f"n_jobs must be a whole number other than 0 (-1 for all cores), got {n_jobs!r}.")
    if memory_limit is not None and not can_measure_memory():
        raise InputError("memory_limit needs Linux, where the memory of another process can be read; leave it out.")
    plan = make_plan(
        labelled_formulations(formulations),
        labelled_solvers(solvers),
        _checked_seeds(seeds),
        limits,
        everything=_everything(solvers),
    )
    if not plan.runs:
        reasons = "; ".join(f"{pair.solver} on {pair.formulation}: {pair.reason}" for pair in plan.left_out)
        raise InputError(f"No solver can run any of the formulations. {reasons or 'See mmbn_opt.solvers().'}")
    return plan


def _everything(solvers: object) -> bool:
    return isinstance(solvers, str) and solvers == "all"


def _checked_seeds(seeds: Sequence[int]) -> list[int]:
    listed = list(seeds)
    for seed in listed:
        whole("seeds", seed, expected="whole numbers >= 0")
    if len(set(listed)) != len(listed) or not listed:
        raise InputError(f"seeds must be distinct and at least one, got {listed!r}.")
    return [int(seed) for seed in listed]
