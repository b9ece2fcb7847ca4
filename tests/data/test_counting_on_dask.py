"""Counts on a Dask cluster are those of this process, to the last digit."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import mmbn_opt as mm
from mmbn_opt._budget import Budget, OutOfTime, leaving_when
from mmbn_opt.data import block_counts, counts

pytest.importorskip("pyarrow")
distributed = pytest.importorskip("distributed", reason="dask.distributed (extra dask) is not installed")


@pytest.fixture(scope="module")
def client() -> Iterator[object]:
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.fixture
def mapped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> mm.DiscreteDataset:
    monkeypatch.setattr(counts, "BLOCK_ROWS", 64)
    monkeypatch.setattr(block_counts, "BLOCK_ROWS", 64)
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 700)
    frame = pd.DataFrame({f"x{j}": (y * rng.integers(0, 2, 700) + rng.integers(0, 2, 700)) % 3 for j in range(5)})
    frame.assign(y=y).to_parquet(tmp_path / "rows.parquet")
    return mm.DiscreteDataset.from_parquet(tmp_path / "rows.parquet", "y", codes_in=tmp_path / "codes")


@pytest.mark.slow
def test_structures_and_tables_are_the_same_to_the_last_digit(client: object, mapped: mm.DiscreteDataset) -> None:
    def learned() -> tuple[object, ...]:
        mapped.tables.clear()
        tree = mm.BayesianNetwork.fit(mm.tan_cmi(mapped), mapped)
        best = mm.solve(mm.DecomposableStructure(mapped, score="bic"))
        return tree.structure, [t.tobytes() for t in tree.log_cpts], best.model.structure, best.bounds.primal_bound

    here = learned()
    tasks = []
    usual = block_counts._counted_by

    def noted(*arguments: object) -> list[np.ndarray]:
        tasks.append(len(arguments[2]))
        return usual(*arguments)

    with pytest.MonkeyPatch.context() as patch, mm.counting_on(client):
        patch.setattr(block_counts, "_counted_by", noted)
        assert learned() == here
    assert sum(tasks) > 20  # sets of nodes that workers have counted
    assert block_counts._client.get() is None


@pytest.mark.slow
def test_a_limit_ends_the_wait_for_a_cluster(client: object, mapped: mm.DiscreteDataset) -> None:
    with mm.counting_on(client), leaving_when(Budget(limit=0.0).over), pytest.raises(OutOfTime):
        counts.contingency(mapped, [0, 1])


def test_what_is_no_client_is_refused() -> None:
    with pytest.raises(mm.InputError, match=r"client must be a dask.distributed.Client, got str"), mm.counting_on("x"):
        pass
