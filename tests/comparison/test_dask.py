"""Comparisons on a local Dask cluster, through joblib's own way to it."""

import joblib
import pytest
import rogue_solvers as rogue

import mmbn_opt as mm

distributed = pytest.importorskip("distributed", reason="dask.distributed (extra dask) is not installed")


# Dask's own deprecations and late log lines are not what is tested here.
@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_a_dask_cluster_does_the_runs(tmp_path):
    data = mm.DiscreteDataset.from_arrays([["a", "u"], ["a", "v"], ["b", "u"], ["b", "v"]] * 5, [0, 1, 1, 0] * 5)
    forms = {"xor": mm.SoftMarginStructure(data)}
    seen = []
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": None}
    with (
        distributed.LocalCluster(**options) as cluster,
        distributed.Client(cluster) as client,
        joblib.parallel_config(backend="dask"),
    ):
        workers = set(client.run(lambda: __import__("os").getpid()).values())
        table = mm.compare(
            forms, ["highs", rogue.Exiting()], time_limit=60, seeds=[0, 1], folder=tmp_path,
            progress=lambda run, done, total: seen.append((run.solver, done, total)),
        )  # fmt: skip
        ran = sum(len(tasks) for tasks in client.run(lambda dask_worker: list(dask_worker.state.log)).values())
    assert len(workers) == 2
    assert ran > 0
    assert table[["solver", "seed", "status"]].values.tolist() == [
        ["highs", 0, "OPTIMAL"], ["highs", 1, "OPTIMAL"], ["exiting", 0, "CRASHED"], ["exiting", 1, "CRASHED"],
    ]  # fmt: skip
    assert [done for _, done, _ in seen] == [1, 2, 3, 4]
    assert len(list((tmp_path / "runs").glob("*.json"))) == 4
