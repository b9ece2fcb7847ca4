"""The host that can be killed: whatever happens to the child, what it had sent is returned."""

import json
import logging
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from conformance.fake_engines import KNAPSACK, FakeSolver
from conformance.programs import soft_margin_program

from mmbn_opt.exceptions import InputError, SolverError
from mmbn_opt.results.status import SolutionStatus, TerminationStatus

TESTS = Path(__file__).resolve().parents[2]
needs_posix = pytest.mark.skipif(os.name != "posix", reason="signals as POSIX has them")

PREAMBLE = f"""
import sys
sys.path[:0] = [{str(TESTS.parent)!r}, {str(TESTS)!r}]
from conformance.fake_engines import KNAPSACK, FakeSolver
"""


def check_kept(result) -> None:
    """The incumbent and the bound that every broken engine sends before it breaks."""
    assert result.solution_status is SolutionStatus.FEASIBLE
    assert result.bounds.primal_bound == -8.0
    assert result.bounds.dual_bound == -10.0
    np.testing.assert_array_equal(result.solution, [1.0, 0.0, 1.0])
    assert result.trace.bounds == result.bounds


def test_an_engine_that_hangs_is_killed_at_the_limit() -> None:
    began = time.monotonic()
    result = FakeSolver(engine="hang", time_limit=1.0).solve(KNAPSACK)
    assert time.monotonic() - began < 10.0
    assert result.termination_status is TerminationStatus.TIME_LIMIT
    assert "killed" in result.raw_status
    check_kept(result)


@needs_posix
def test_a_crash_is_named_and_loses_nothing() -> None:
    result = FakeSolver(engine="crash").solve(KNAPSACK)
    assert result.termination_status is TerminationStatus.SOLVER_ERROR
    assert "SIGSEGV" in result.raw_status
    check_kept(result)


@needs_posix
def test_a_killed_child_is_named_and_loses_nothing() -> None:
    result = FakeSolver(engine="be_killed").solve(KNAPSACK)
    assert result.termination_status is TerminationStatus.SOLVER_ERROR
    assert "SIGKILL" in result.raw_status
    assert "memory" in result.raw_status
    check_kept(result)


def test_an_early_exit_is_told_with_the_last_words() -> None:
    result = FakeSolver(engine="leave").solve(KNAPSACK)
    assert result.termination_status is TerminationStatus.SOLVER_ERROR
    assert "exit code 3" in result.raw_status
    assert "out of luck" in result.raw_status
    assert result.solution is None


@pytest.mark.parametrize("isolate", [True, False])
def test_an_exception_of_the_engine_is_a_status_and_keeps_the_incumbent(isolate, caplog) -> None:
    with caplog.at_level(logging.ERROR):
        result = FakeSolver(engine="fail", isolate=isolate).solve(KNAPSACK)
    assert result.termination_status is TerminationStatus.SOLVER_ERROR
    assert result.raw_status == "ZeroDivisionError: the engine divided by zero"
    assert result.bounds.primal_bound == -8.0
    assert "fake_engines.py" in caplog.text


@pytest.mark.parametrize("isolate", [True, False])
def test_an_input_error_of_the_engine_is_raised(isolate) -> None:
    with pytest.raises(InputError, match="cannot use this input"):
        FakeSolver(engine="refuse", isolate=isolate).solve(KNAPSACK)


def test_noise_does_not_reach_the_messages(capfd) -> None:
    result = FakeSolver(engine="be_noisy").solve(KNAPSACK)
    assert result.termination_status is TerminationStatus.OPTIMAL
    assert capfd.readouterr() == ("", "")


def test_noise_is_the_log_when_it_is_wanted(caplog) -> None:
    with caplog.at_level(logging.INFO, logger="mmbn_opt.solvers"):
        FakeSolver(engine="be_noisy", verbose=True).solve(KNAPSACK)
    assert "fake: noise on standard error" in caplog.text
    assert "noise from Python" in caplog.text


def test_the_child_finds_the_same_package_and_few_threads() -> None:
    stats = FakeSolver(engine="describe_process", threads=1).solve(KNAPSACK).stats
    assert stats["pid"] != os.getpid()
    assert stats["path"] == [entry or os.getcwd() for entry in sys.path]
    assert stats["omp"] == "1"
    assert stats["host"] == "child process"


def test_a_large_program_travels_unchanged() -> None:
    program = soft_margin_program(seed=0, samples=200, groups=10, choices=20, rivals=3)
    start = np.zeros(program.c.size)
    start[[int(group[0]) for group in program.choice_groups]] = 1.0
    start[200:] = -50.0
    result = FakeSolver(engine="work_until_stopped", time_limit=1.0).solve(program, start=start)
    assert result.termination_status is TerminationStatus.TIME_LIMIT
    assert result.bounds.primal_bound == program.value(start)


def test_without_an_interpreter_the_error_says_so(monkeypatch) -> None:
    monkeypatch.setattr(sys, "executable", "")
    with pytest.raises(SolverError, match="isolate=False"):
        FakeSolver(engine="best").solve(KNAPSACK)


@pytest.mark.parametrize("way", ["-c", "script", "stdin"])
def test_any_kind_of_parent_will_do(way, tmp_path) -> None:
    code = PREAMBLE + 'print(FakeSolver(engine="best").solve(KNAPSACK).bounds.primal_bound)\n'
    script = tmp_path / "without main guard.py"
    script.write_text(code, encoding="utf-8")
    arguments = {"-c": ["-c", code], "script": [str(script)], "stdin": ["-"]}[way]
    done = subprocess.run(
        [sys.executable, *arguments],
        input=code if way == "stdin" else "",
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
        cwd=tmp_path,
    )
    assert done.stdout.split() == ["-9.0"]


def _start(code: str, tmp_path: Path) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", PREAMBLE + code], stdout=subprocess.PIPE, text=True, cwd=tmp_path, start_new_session=True
    )


@needs_posix
@pytest.mark.parametrize("engine", ["hang", "work_until_stopped"])
@pytest.mark.parametrize("isolate", [True, False])
def test_control_c_returns_the_incumbent(engine, isolate, tmp_path) -> None:
    code = f"""
import json
def tell(event):
    print("ready" if event.solution is not None else "waiting", flush=True)
result = FakeSolver(engine={engine!r}, isolate={isolate!r}).solve(KNAPSACK, callback=tell)
print(json.dumps([str(result.termination_status), result.bounds.primal_bound, result.solution.tolist()]), flush=True)
import os; os._exit(0)
"""
    parent = _start(code, tmp_path)
    assert parent.stdout is not None
    with parent.stdout:
        while "ready" not in parent.stdout.readline():
            pass
        began = time.monotonic()
        parent.send_signal(signal.SIGINT)
        lines = [line for line in parent.stdout if line.startswith("[")]
    assert time.monotonic() - began < 10.0
    assert json.loads(lines[-1]) == ["INTERRUPTED", -8.0, [1.0, 0.0, 1.0]]
    parent.wait(10)


@needs_posix
def test_the_child_ends_when_its_parent_is_killed(tmp_path) -> None:
    code = """
import subprocess
from mmbn_opt.solvers.hosting import child as _child
spawn = _child._spawn
def spawn_and_tell(*given):
    process = spawn(*given)
    print(process.pid, flush=True)
    return process
_child._spawn = spawn_and_tell
FakeSolver(engine="hang").solve(KNAPSACK, callback=lambda event: print("event", event.primal_bound, flush=True))
"""
    parent = _start(code, tmp_path)
    assert parent.stdout is not None
    with parent.stdout:
        child = int(parent.stdout.readline())
        while "-8.0" not in parent.stdout.readline():
            pass
        parent.kill()
        parent.wait(10)
        # The pipe ends when the last process that holds it is gone.
    end = time.monotonic() + 20.0
    while time.monotonic() < end and _is_alive(child):
        time.sleep(0.02)
    assert not _is_alive(child)


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    status = Path(f"/proc/{pid}/stat")
    # A zombie that nobody has waited for yet has ended all the same.
    return not status.exists() or status.read_text().rpartition(")")[2].split()[0] != "Z"
