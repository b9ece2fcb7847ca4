"""The workers of a cluster search one tree: the optimum, the structure and a file that proves them, whoever is lost."""

import itertools
import os
import re
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import mmbn_opt as mm
from mmbn_opt.programs.base import ProgramKind
from mmbn_opt.solvers.choice.branch_and_cut import BranchAndCut, _coordinator
from mmbn_opt.solvers.workers import WorkersLost
from tests.solving.test_checkpoint import BRANCH, PROBLEMS, proved, solve, table
from tests.solving.test_threads import hard

DUAL = {"branching": "dual"}


def problem() -> mm.SoftMarginStructure:
    return mm.SoftMarginStructure(table(0, 60, 6), gamma=mm.log_odds(0.8))


class Here:
    """Workers in this thread that answer when asked, or later, or never."""

    def __init__(self, slots: int = 3, lose: Callable[[int], bool] = lambda ticket: False) -> None:
        self.common: Any = None
        self.tasks: dict[int, tuple[Callable[..., Any], tuple[Any, ...]]] = {}
        self.count, self.number, self.lose = 0, slots, lose
        self.lost = 0

    def slots(self) -> int:
        return self.number

    def share(self, content: Any) -> None:
        self.common = content

    def submit(self, task: Callable[..., Any], *given: Any) -> int:
        self.count += 1
        self.tasks[self.count] = task, given
        return self.count

    def answers(self, seconds: float) -> Iterator[tuple[int, Any]]:
        for ticket in list(self.tasks)[::-1]:  # not in the order in which they were given out
            task, given = self.tasks[ticket]
            answer = task(self.common, *given)
            if self.lose(ticket):
                self.lost += 1  # it died with its answer: the packet is given out again
                answer = task(self.common, *given)
            del self.tasks[ticket]
            yield ticket, answer

    def cancel(self) -> None:
        self.tasks.clear()

    def close(self) -> None:
        self.tasks.clear()


@pytest.fixture
def brief(monkeypatch: pytest.MonkeyPatch) -> None:
    """Packets come back after a box or two."""
    monkeypatch.setattr(_coordinator, "LONG_SEC", 0.02)
    monkeypatch.setattr(_coordinator, "SHORT_SEC", 0.0)


def given_to(workers: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mmbn_opt.solving.dispatch._workers", lambda cluster, engine: workers)


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.usefixtures("brief")
def test_packets_give_the_optimum_and_a_proof(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given_to(Here(lose=lambda ticket: ticket % 3 == 0), monkeypatch)
    one = mm.solve(PROBLEMS[name](), BRANCH)
    many = solve(PROBLEMS[name](), tmp_path, cluster="here", options=DUAL)
    assert many.termination_status is mm.TerminationStatus.OPTIMAL
    assert many.bounds.primal_bound == pytest.approx(one.bounds.primal_bound, rel=1e-12)
    if one.stats["ties_settled"] and many.stats["ties_settled"]:
        assert many.model.structure == one.model.structure
    assert many.certificate.ok
    found = proved(PROBLEMS[name](), tmp_path)
    scale = max(1.0, abs(found.bound))
    assert found.overstated <= 1e-9 * scale
    assert -found.bound == pytest.approx(many.bounds.dual_bound, abs=2e-9 * scale)


@pytest.mark.usefixtures("brief")
def test_many_packets_without_a_file_and_workers_that_come_and_go(monkeypatch: pytest.MonkeyPatch) -> None:
    workers, there = Here(), itertools.cycle((3, 0, 1, 4, 0, 2))  # nobody, now and then
    monkeypatch.setattr(Here, "slots", lambda self: next(there))
    given_to(workers, monkeypatch)
    one, many = mm.solve(problem(), BRANCH), mm.solve(problem(), BRANCH, cluster="here", options=DUAL)
    assert many.stats["packets"] > 20
    assert many.bounds.primal_bound == pytest.approx(one.bounds.primal_bound, rel=1e-12)
    assert many.bounds.dual_bound == pytest.approx(one.bounds.primal_bound, rel=1e-9)
    assert many.model.structure == one.model.structure


@pytest.mark.usefixtures("brief")
def test_a_cluster_goes_on_with_what_one_process_began_and_the_other_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given_to(Here(), monkeypatch)
    options, kinds = DUAL | {"node_limit": 60}, []
    for turn in range(40):
        cluster = "here" if turn % 2 else None
        result = solve(problem(), tmp_path, cluster=cluster, options=options)
        found = proved(problem(), tmp_path)
        assert -found.bound == pytest.approx(result.bounds.dual_bound, abs=1e-8)
        kinds.append(result.termination_status.name)
        if kinds[-1] == "OPTIMAL":
            break
    assert kinds[-1] == "OPTIMAL"
    assert len(kinds) > 3
    assert result.bounds.primal_bound == pytest.approx(mm.solve(problem(), BRANCH).bounds.primal_bound, rel=1e-12)
    assert not found.boxes


@pytest.mark.usefixtures("brief")
def test_a_cluster_that_is_lost_ends_the_run_with_what_there_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(ticket: int) -> bool:
        if ticket > 12:
            raise WorkersLost("the cluster was lost: its scheduler does not answer any more")
        return False

    given_to(Here(lose=gone), monkeypatch)
    result = solve(problem(), tmp_path, cluster="here", options=DUAL)
    assert result.termination_status is mm.TerminationStatus.INTERRUPTED
    assert "the cluster was lost" in result.raw_status
    assert -proved(problem(), tmp_path).bound == pytest.approx(result.bounds.dual_bound, abs=1e-8)
    assert solve(problem(), tmp_path, options=DUAL).termination_status is mm.TerminationStatus.OPTIMAL


class Deserting(Here):
    """Workers that take packets, and are gone with them after so many; after so many looks some are there again."""

    def __init__(self, stay: int, away: float = float("inf")) -> None:
        super().__init__()
        self.stay, self.away, self.looks = stay, away, 0

    @property
    def gone(self) -> bool:
        return self.count >= self.stay and self.looks < self.away

    def slots(self) -> int:
        self.looks += self.gone
        return 0 if self.gone else self.number

    def answers(self, seconds: float) -> Iterator[tuple[int, Any]]:
        return iter(()) if self.gone else super().answers(seconds)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_coordinator, "ALONE_SEC", 0.0)


@pytest.mark.parametrize(("stay", "away"), [(0, 2), (1, float("inf")), (7, 5)])
@pytest.mark.usefixtures("brief", "impatient")
def test_while_nobody_is_there_the_coordinator_says_so_and_searches_itself(
    stay: int, away: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    given_to(Deserting(stay, away), monkeypatch)
    one = mm.solve(problem(), BRANCH)
    result = solve(problem(), tmp_path, cluster="here", options=DUAL)
    assert result.termination_status is mm.TerminationStatus.OPTIMAL
    assert result.bounds.primal_bound == pytest.approx(one.bounds.primal_bound, rel=1e-12)
    assert result.model.structure == one.model.structure
    assert result.stats["packets_here"] > 0
    events = [record.event for record in result.trace if "workers" in record.event]
    assert events == (["no workers"] if away == float("inf") else ["no workers", "workers"])
    assert caplog.text.count("no worker is there") == 1
    assert caplog.text.count("workers are there again") == len(events) - 1
    assert ("no worker of the cluster was there at the end" in result.raw_status) == (len(events) == 1)
    found = proved(problem(), tmp_path)
    assert not found.boxes
    assert found.overstated <= 1e-8


@pytest.mark.usefixtures("brief", "impatient")
def test_alone_it_ends_at_the_limit_with_the_bound_that_the_file_proves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given_to(Deserting(3), monkeypatch)
    begin = time.monotonic()
    result = solve(hard(), tmp_path, cluster="here", options=DUAL, time_limit=6.0)
    assert time.monotonic() - begin < 9.0
    assert result.termination_status is mm.TerminationStatus.TIME_LIMIT
    assert "no worker of the cluster was there at the end" in result.raw_status
    assert result.stats["packets_here"] > 0
    found = proved(hard(), tmp_path)
    assert found.boxes
    assert -found.bound == pytest.approx(result.bounds.dual_bound, abs=1e-8)


@pytest.mark.parametrize("error", [MemoryError("full"), ValueError("odd")])
def test_what_a_packet_fails_with_is_raised(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(ticket: int) -> bool:
        raise error

    given_to(Here(lose=fails), monkeypatch)
    with pytest.raises(type(error), match=str(error)):
        mm.solve(problem(), BRANCH, cluster="here", options=DUAL)


def test_what_is_no_cluster_is_refused_by_name() -> None:
    pytest.importorskip("distributed")
    for cluster, words in (
        (3, "cluster must be a distributed.Client, or the address of a scheduler like 'tcp://host:8786', got 3"),
        ("tcp://127.0.0.1:9", "cluster: no Dask scheduler answers at 'tcp://127.0.0.1:9'"),
        ("nonsense://x", "cluster: no Dask scheduler answers at 'nonsense://x'"),
    ):
        with pytest.raises(mm.InputError, match=re.escape(words)):
            mm.solve(problem(), BRANCH, cluster=cluster)
    with pytest.raises(mm.InputError, match="cluster must be left out with 'highs'"):
        mm.solve(problem(), "highs", cluster="tcp://127.0.0.1:9")


def test_without_dask_it_is_said_how_to_come_by_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "distributed", None)
    with pytest.raises(mm.MissingDependencyError, match=r"pip install 'mmbn-opt\[dask\]'"):
        mm.solve(problem(), BRANCH, cluster="tcp://127.0.0.1:8786")


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    distributed, dask = pytest.importorskip("distributed"), pytest.importorskip("dask")
    with (
        dask.config.set({"distributed.deploy.lost-worker-timeout": "1h"}),  # else it closes what has just begun again
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as local,
        distributed.Client(local) as client,
    ):
        yield client


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # what Dask says while its processes come and go
def test_a_real_cluster_proves_the_optimum(cluster: Any, tmp_path: Path) -> None:
    one = mm.solve(problem(), BRANCH)
    for target in (cluster, cluster.scheduler.address):
        folder = tmp_path / str(type(target).__name__)
        many = solve(problem(), folder, cluster=target)
        assert many.termination_status is mm.TerminationStatus.OPTIMAL
        assert many.bounds.primal_bound == pytest.approx(one.bounds.primal_bound, rel=1e-12)
        assert many.model.structure == one.model.structure
        assert proved(problem(), folder).overstated <= 1e-8
    assert cluster.status == "running"


@pytest.mark.slow
def test_nobody_is_told_that_a_problem_is_large_for_dask(cluster: Any) -> None:
    dask = pytest.importorskip("dask")
    with (
        dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 kB"}),
        warnings.catch_warnings(record=True) as told,
    ):
        warnings.simplefilter("always")
        assert mm.solve(problem(), BRANCH, cluster=cluster).stats["packets"] > 0
    assert not [each for each in told if "large graph" in str(each.message)]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_workers_of_another_version_are_refused(cluster: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mmbn_opt.interop.with_dask.package_version", lambda: "99.0")
    with pytest.raises(mm.InputError, match=r"worker tcp.* has mmbn_opt .*, here it is 99.0. Install one version"):
        mm.solve(problem(), BRANCH, cluster=cluster)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.filterwarnings("ignore")
def test_a_worker_that_is_killed_now_and_then_loses_and_repeats_nothing(
    cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_coordinator, "LONG_SEC", 0.5)
    begun, ended, killed = threading.Event(), threading.Event(), []

    def hear(record: Any) -> None:
        if record.nodes and record.nodes > 20:
            begun.set()

    def kill() -> None:
        begun.wait()
        while not ended.is_set():
            nanny = list(cluster.cluster.workers.values())[len(killed) % 2]
            killed.append(nanny.pid)
            os.kill(nanny.pid, 9)
            ended.wait(12.0)

    killer = threading.Thread(target=kill)
    killer.start()
    larger = mm.SoftMarginStructure(table(0, 60, 6), gamma=mm.log_odds(0.7))
    try:
        begin = time.monotonic()
        result = solve(larger, tmp_path, cluster=cluster, options=DUAL, time_limit=260.0, callback=hear)
        assert time.monotonic() - begin < 290
    finally:
        ended.set()
        begun.set()
        killer.join()
    assert killed
    one = mm.solve(larger, BRANCH)
    assert result.termination_status is mm.TerminationStatus.OPTIMAL
    assert result.bounds.primal_bound == pytest.approx(one.bounds.primal_bound, rel=1e-12)
    assert result.model.structure == one.model.structure
    found = proved(larger, tmp_path)
    assert found.overstated <= 1e-8
    assert not found.boxes


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.filterwarnings("ignore")
def test_a_real_cluster_that_loses_all_its_workers_for_good_is_done_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    distributed = pytest.importorskip("distributed")
    monkeypatch.setattr(_coordinator, "LONG_SEC", 0.5)
    larger = mm.SoftMarginStructure(table(0, 60, 6), gamma=mm.log_odds(0.7))
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as local,
        distributed.Client(local) as client,
    ):
        heard: list[str] = []

        def leave_once_there_are_boxes(record: Any) -> None:
            heard.append(record.event)
            if record.nodes and record.nodes > 20 and "left" not in heard:
                heard.append("left")
                local.scale(0)

        result = solve(
            larger, tmp_path, cluster=client, options=DUAL, time_limit=260.0, callback=leave_once_there_are_boxes
        )
    one = mm.solve(larger, BRANCH)
    assert result.termination_status is mm.TerminationStatus.OPTIMAL
    assert result.model.structure == one.model.structure
    assert result.stats["packets"] > 0
    assert result.stats["packets_here"] > 0
    assert caplog.text.count("no worker is there") == 1
    assert "no workers" in heard
    assert not proved(larger, tmp_path).boxes


def test_the_engine_takes_workers_itself() -> None:
    program = problem().build(ProgramKind.IMPLICIT_CONCAVE)
    answer = BranchAndCut(options=DUAL).solve_into(None, program, workers=Here(1))
    assert answer.stats["packets"] > 0
    assert answer.bounds.dual_bound == pytest.approx(answer.bounds.primal_bound, rel=1e-9)
