"""The engine's root runs in the caller's thread, whatever HiGHS did in other threads before."""

import subprocess
import sys

import pytest

CODE = """
import mmbn_opt as mm
data = mm.DiscreteDataset.from_arrays([["a", "u"], ["a", "v"], ["b", "u"], ["b", "v"]] * 5, [0, 1, 1, 0] * 5)
problem = mm.SoftMarginStructure(data, max_parents=1)
first = mm.solve(problem, "highs", threads={threads}, starts=[])
second = mm.solve(problem, "branch_and_cut", starts=[])
assert str(second.termination_status) == "OPTIMAL", second.raw_status
assert abs(first.bounds.primal_bound - second.bounds.primal_bound) < 1e-6
"""


@pytest.mark.parametrize("threads", [1, 2])
def test_the_engine_runs_after_highs_in_another_thread(threads):
    # In a process of its own: what a thread's scheduler remembers must not come from other tests.
    subprocess.run([sys.executable, "-c", CODE.format(threads=threads)], check=True)
