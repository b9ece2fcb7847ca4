"""Passes over data in a file are the same on a Dask cluster as in this process, to the last digit."""

import os
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import mmbn_opt as mm
from mmbn_opt._budget import Budget, OutOfTime, leaving_when
from mmbn_opt.data import block_counts, block_passes, counts
from mmbn_opt.formulations.parameters import relaxation
from mmbn_opt.programs import ProgramKind
from mmbn_opt.solvers.nonlinear.conjugate_gradient import ConjugateGradientSolver

pytest.importorskip("pyarrow")
distributed = pytest.importorskip("distributed", reason="dask.distributed (extra dask) is not installed")

N_ROWS = 700


@pytest.fixture(scope="module")
def client() -> Iterator[object]:
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.fixture
def mapped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> mm.DiscreteDataset:
    for module in (block_passes, block_counts, counts):
        monkeypatch.setattr(module, "BLOCK_ROWS", 64)
    monkeypatch.setattr(relaxation, "HELD_MARGINS", 0)
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, N_ROWS)
    columns = {f"x{j}": (y * rng.integers(0, 2, N_ROWS) + rng.integers(0, 2, N_ROWS)) % 3 for j in range(5)}
    pd.DataFrame(columns).assign(y=y).to_parquet(tmp_path / "rows.parquet")
    return mm.DiscreteDataset.from_parquet(tmp_path / "rows.parquet", "y", codes_in=tmp_path / "codes")


@pytest.fixture
def blocks_by_workers(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many blocks each pass on a cluster had."""
    found: list[int] = []
    usual = block_passes._sums_by

    def noted(client: object, data: object, starts: range, work: object) -> list[np.ndarray]:
        found.append(len(starts))
        return usual(client, data, starts, work)

    monkeypatch.setattr(block_passes, "_sums_by", noted)
    return found


def learned(data: mm.DiscreteDataset) -> tuple[object, ...]:
    data.tables.clear()
    tree = mm.BayesianNetwork.fit(mm.tan_cmi(data), data)
    best = mm.solve(mm.DecomposableStructure(data, score="bic"))
    return tree.structure, [t.tobytes() for t in tree.log_cpts], best.model.structure, best.bounds.primal_bound


def trained(make: Callable[..., mm.SmoothMargin]) -> Callable[[mm.DiscreteDataset], tuple[object, ...]]:
    def train(data: mm.DiscreteDataset) -> tuple[object, ...]:
        result = mm.solve(make(data, mm.tan_cmi(data)), ConjugateGradientSolver(max_iterations=8))
        return [t.tobytes() for t in result.model.log_cpts], result.bounds.primal_bound, result.certificate.ok

    return train


def relaxed(data: mm.DiscreteDataset) -> tuple[object, ...]:
    problem = mm.MaxMarginRelaxation(data, mm.tan_cmi(data), gamma=1.5)
    result = mm.solve(problem, rel_gap=1e-2)
    assert result.termination_status.name == "OPTIMAL"
    assert result.certificate.ok
    return result.solution.tobytes(), result.bounds.primal_bound, result.bounds.dual_bound


def cut(data: mm.DiscreteDataset) -> tuple[object, ...]:
    problem = mm.SoftMarginStructure(data, max_parents=2)
    program = problem.build(ProgramKind.IMPLICIT_CONCAVE)
    trees = [program.vector(problem.choice_of(make(data))) for make in (mm.naive_bayes, mm.tan_cmi)]
    point = 0.25 * trees[0] + 0.75 * trees[1]
    cuts = program.term.cuts(point)
    exchanged = program.term.exchanged(point, program.offsets)
    return cuts.values.tobytes(), cuts.gradients.tobytes(), exchanged.tobytes(), program.value(point)


@pytest.mark.slow
@pytest.mark.parametrize(
    "learn", [learned, trained(mm.SmoothMargin), trained(mm.ConditionalLikelihood), relaxed, cut],
    ids=["counts", "smooth margin", "conditional likelihood", "relaxation", "cuts"],
)  # fmt: skip
def test_answers_are_the_same_to_the_last_digit(
    client: object,
    mapped: mm.DiscreteDataset,
    blocks_by_workers: list[int],
    learn: Callable[[mm.DiscreteDataset], tuple[object, ...]],
) -> None:
    here = learn(mapped)
    assert not blocks_by_workers
    mapped.tables.clear()
    with mm.passes_on(client):
        assert learn(mapped) == here
    assert len(blocks_by_workers) > 1
    assert set(blocks_by_workers) == {11}
    assert not block_passes.on_cluster()


@pytest.mark.slow
def test_a_run_in_the_background_passes_where_it_was_started(
    client: object, mapped: mm.DiscreteDataset, blocks_by_workers: list[int]
) -> None:
    problem = mm.SmoothMargin(mapped, mm.naive_bayes(mapped))
    with mm.passes_on(client):
        run = mm.start(problem, ConjugateGradientSolver(max_iterations=3))
    there = run.result()
    assert blocks_by_workers
    assert there.bounds == mm.solve(problem, ConjugateGradientSolver(max_iterations=3)).bounds


@pytest.mark.slow
def test_a_worker_that_is_killed_in_the_middle_changes_no_digit(client: object, mapped: mm.DiscreteDataset) -> None:
    tree = mm.tan_cmi(mapped)
    program = mm.SmoothMargin(mapped, tree).build()
    expected = program.value_and_gradient(program.x0)
    victim = next(iter(client.run(os.getpid).values()))  # type: ignore[attr-defined]
    kill = threading.Timer(0.05, lambda: os.kill(victim, signal.SIGKILL))
    with mm.passes_on(client):
        kill.start()
        for _ in range(20):
            value, gradient = program.value_and_gradient(program.x0)
            assert value == expected[0]
            assert (gradient == expected[1]).all()
    kill.join()
    assert victim not in client.run(os.getpid).values()  # type: ignore[attr-defined]


@pytest.mark.slow
def test_a_limit_ends_the_wait_for_a_cluster(client: object, mapped: mm.DiscreteDataset) -> None:
    with mm.passes_on(client), leaving_when(Budget(limit=0.0).over), pytest.raises(OutOfTime):
        counts.contingency(mapped, [0, 1])


@pytest.mark.slow
def test_an_error_of_a_worker_is_that_of_the_pass(client: object, mapped: mm.DiscreteDataset) -> None:
    tree = mm.tan_cmi(mapped)
    Path(mapped.file).unlink()
    with mm.passes_on(client), pytest.raises(FileNotFoundError):
        mm.SmoothMargin(mapped, tree).build().value_and_gradient(np.zeros(mm.SmoothMargin(mapped, tree).layout.size))


def test_what_is_no_client_is_refused() -> None:
    with pytest.raises(mm.InputError, match=r"client must be a dask.distributed.Client, got str"), mm.passes_on("x"):
        pass


@pytest.mark.slow
def test_the_former_name_does_the_same_and_says_so(client: object) -> None:
    with pytest.warns(DeprecationWarning, match="now called passes_on"), mm.counting_on(client):
        assert block_passes.on_cluster()
