"""IPOPT as a program on PATH: a stand-in that speaks the AMPL protocol and solves by CasADi."""

import os
import stat
import sys

import numpy as np
import pytest

import mmbn_opt as mm
from mmbn_opt.results.status import TerminationStatus
from mmbn_opt.solvers.convex import ipopt
from mmbn_opt.solvers.convex.interior_point import InteriorPointSolver
from mmbn_opt.solvers.ipopt_executable import iterations_of_log

STAND_IN = """#!{python}
import sys
if "-v" in sys.argv:
    print("Ipopt 3.14.0 (stand-in)")
    raise SystemExit
import numpy as np
from mmbn_opt.solvers.ipopt_executable import solve_nl
path = sys.argv[1] if sys.argv[1].endswith(".nl") else sys.argv[1] + ".nl"
answer = solve_nl(path, {{}})
print("iter    objective    inf_pr   inf_du lg(mu)  ||d||  lg(rg) alpha_du alpha_pr  ls")
for row in answer.trace:
    print("%4d %.7e %.2e %.2e %5.1f %.2e    -  1.00e+00 1.00e+00h  1" % (
        row["iteration"], row["objective"], row["primal_infeasibility"], row["dual_infeasibility"], row["log_mu"], 0.0))
print("EXIT: Optimal Solution Found.")
lines = ["Ipopt: Optimal Solution Found", "", "Options", "3", "1", "1", "0"]
lines += [str(n) for n in (len(answer.duals), len(answer.duals), len(answer.x), len(answer.x))]
lines += [repr(float(-x)) for x in answer.duals] + [repr(float(x)) for x in answer.x] + ["objno 0 0"]
open(path[:-3] + ".sol", "w").write("\\n".join(lines) + "\\n")
"""


@pytest.fixture
def on_path(tmp_path, monkeypatch):
    pytest.importorskip("casadi", reason="the stand-in solves by CasADi")
    program = tmp_path / "ipopt"
    program.write_text(STAND_IN.format(python=sys.executable))
    program.chmod(program.stat().st_mode | stat.S_IEXEC)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    ipopt._probe.cache_clear()
    yield program
    ipopt._probe.cache_clear()


def problem():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (60, 3))
    data = mm.DiscreteDataset.from_arrays(X, (X[:, 0] + rng.integers(0, 2, 60)) % 3)
    return mm.MaxMarginRelaxation(data, mm.naive_bayes(data), gamma=2.0, min_prob=1e-3).build()


def test_an_executable_on_the_path_is_used_and_its_answer_proved(on_path):
    assert ipopt.IpoptSolver.availability().version == str(on_path)
    answer = ipopt.IpoptSolver(rel_gap=1e-5).solve(problem())
    assert answer.stats["executable"] == str(on_path)
    assert answer.termination_status is TerminationStatus.OPTIMAL, answer.raw_status
    truth = InteriorPointSolver(rel_gap=1e-6).solve(problem()).bounds
    assert answer.bounds.primal_bound == pytest.approx(truth.primal_bound, rel=1e-5)
    trace = answer.stats["iteration_trace"]
    assert [row["iteration"] for row in trace] == list(range(len(trace)))
    assert answer.stats["iterations"] == len(trace) - 1
    assert trace[-1]["objective"] * problem().margins.weight.sum() == pytest.approx(truth.primal_bound, rel=1e-4)


def test_a_broken_executable_is_reported_with_its_path(on_path):
    on_path.write_text(f"#!{sys.executable}\nraise SystemExit(3)\n")
    found = ipopt.IpoptSolver.availability()
    assert not found.available
    assert str(on_path) in found.reason


def test_the_bridge_gives_the_same_trace(monkeypatch):
    pytest.importorskip("casadi", reason="the bridge is CasADi's")
    monkeypatch.setattr(ipopt, "executable", lambda: None)
    answer = ipopt.IpoptSolver(rel_gap=1e-5).solve(problem())
    trace = answer.stats["iteration_trace"]
    assert len(trace) == answer.stats["iterations"] + 1
    assert trace[-1]["dual_infeasibility"] < 1e-6 < trace[0]["dual_infeasibility"]
    assert "executable" not in answer.stats


def test_lines_that_are_no_iterations_are_passed_over():
    log = "iter objective\n   0  1.0e+00 1.0e-01 2.0e-01  -1.0 0.00e+00    -  0.00e+00 0.00e+00   0\nEXIT: Optimal.\n"
    assert [row["log_mu"] for row in iterations_of_log(log)] == [-1.0]
