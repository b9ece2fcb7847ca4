"""Tuning on a Dask cluster: other processes do the runs, the answer is the same."""

import os

import joblib
import numpy as np
import pytest
from strategies import dataset_of

import mmbn_opt as mm

distributed = pytest.importorskip("distributed", reason="dask.distributed (extra dask) is not installed")


# Dask's own deprecations and late log lines are not what is tested here.
@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_a_dask_cluster_tunes_as_one_process_does():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, 240)
    codes = np.where(rng.random((240, 6)) < 0.4, labels[:, None], rng.integers(0, 3, (240, 6)))
    data = dataset_of(np.column_stack([codes, labels]).tolist(), [3] * 6 + [3])
    formulation, grid = mm.SmoothMargin(data, mm.naive_bayes(data)), {"lam": [0.05, 0.5]}
    here = mm.tune(formulation, grid, max_iterations=8)
    # joblib itself does the work of a cluster with a single thread.
    with (
        distributed.LocalCluster(n_workers=1, threads_per_worker=2, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
        joblib.parallel_config(backend="dask"),
    ):
        there = mm.tune(formulation, grid, max_iterations=8)
        workers = client.run(lambda dask_worker: (os.getpid(), len(list(dask_worker.state.log))))
    assert here.table.equals(there.table)
    assert (there.settings, there.iterations, there.rate) == (here.settings, here.iterations, here.rate)
    assert all(pid != os.getpid() and tasks > 0 for pid, tasks in workers.values())
