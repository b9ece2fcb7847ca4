"""The background handle: the same answer as `solve`, at any moment, and nothing left behind."""

import gc
import subprocess
import sys
import threading
import time
import weakref

import numpy as np
import pytest
from strategies import dataset_of

import mmbn_opt as mm
from mmbn_opt.exceptions import InputError
from mmbn_opt.results.status import TerminationStatus
from mmbn_opt.solvers.registry import get_solver_class, solver_names

PROMPT_SEC = 20.0
"""Far above what a stop takes (half a second), far below the runs that are stopped here, which would take minutes."""


@pytest.fixture(scope="module")
def easy():
    return mm.SoftMarginStructure(mm.DiscreteDataset.from_frame(mm.load_dataset("corral"), target="class"))


@pytest.fixture(scope="module")
def hard():
    """Pure noise, whose proof takes minutes in any solver."""
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 3, (500, 14)).tolist()
    return mm.SoftMarginStructure(dataset_of(rows, [3] * 14))


def our_threads():
    return [t for t in threading.enumerate() if t.name.startswith("mmbn_opt run")]


def wait_until(condition, seconds=PROMPT_SEC):
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.02)
    return condition()


def test_the_background_gives_the_answer_of_the_foreground(easy):
    expected = mm.solve(easy, seed=3)
    run = mm.start(easy, seed=3)
    assert run.wait(PROMPT_SEC)
    result = run.result()
    assert run.result() is result
    assert result.model.structure == expected.model.structure
    assert result.bounds == expected.bounds
    assert result.termination_status is run.termination_status is TerminationStatus.OPTIMAL
    assert [(r.primal_bound, r.dual_bound, r.event) for r in result.trace][:4] == [
        (r.primal_bound, r.dual_bound, r.event) for r in expected.trace
    ][:4]
    assert run.best() is result.model
    assert run.trace == result.trace
    assert run.bounds == result.bounds


@pytest.mark.parametrize("solver", ["branch_and_cut", "highs", pytest.param("scip", marks=pytest.mark.slow)])
def test_stop_returns_what_there_is(hard, solver):
    run = mm.start(hard, solver, starts=[])
    assert wait_until(lambda: any(r.source == solver for r in run.trace))
    assert not run.done()
    assert run.time_left() is None
    run.stop()
    result = run.result(timeout=PROMPT_SEC)
    assert result.termination_status is TerminationStatus.INTERRUPTED
    assert result.certificate.ok
    assert result.bounds.primal_bound == pytest.approx(hard.evaluate(result.model))
    assert result.bounds.primal_bound < result.bounds.dual_bound
    assert run.done()
    assert not run.stopping


def test_stop_reaches_the_heuristics(hard):
    run = mm.start(hard)
    assert wait_until(lambda: any(r.source == "local_search" for r in run.trace))
    run.stop()
    result = run.result(timeout=PROMPT_SEC)
    assert result.termination_status is TerminationStatus.INTERRUPTED
    assert result.seconds.solve == 0.0
    assert result.raw_status == "solver not called"


@pytest.mark.parametrize("solver", ["first_order", "clarabel", "convex"])
def test_convex_runs_stop_with_a_model(solver):
    data = mm.DiscreteDataset.from_frame(mm.load_dataset("car"), target="class")
    relaxation = mm.MaxMarginRelaxation(data, mm.tan_cmi(data))
    run = mm.start(relaxation, solver, abs_gap=1e-12)
    run.stop()
    result = run.result(timeout=PROMPT_SEC)
    assert result.termination_status is TerminationStatus.INTERRUPTED
    assert result.bounds.primal_bound == pytest.approx(relaxation.evaluate(result.model))


def test_a_caller_sees_the_trace_that_the_result_will_have(hard):
    heard, seen = [], []
    run = mm.start(hard, time_limit=3.0, callback=heard.append)
    while not run.wait(0.05):
        seen.append((run.trace, run.best(), run.bounds))
    final = run.result().trace
    assert tuple(heard) == final.records
    assert len({len(trace) for trace, _, _ in seen}) > 3, "the run was looked at while it moved"
    for trace, model, bounds in seen:
        assert trace.records == final.records[: len(trace)]
        if len(trace):
            assert trace.records[0].time_sec == 0.0
            # A model is there before its record is, never after.
            assert hard.evaluate(model) >= trace.bounds.primal_bound - 1e-9
        assert bounds.dual_bound is None or bounds.dual_bound >= final.bounds.dual_bound
    assert final.records[-1].event == "final"


def test_several_runs_at_once_do_not_mix(easy, hard):
    binary = mm.BinarySoftMarginStructure(easy.data)
    with mm.start(hard) as long, mm.start(easy) as short, mm.start(binary) as other:
        assert short.result().bounds == mm.solve(easy).bounds
        assert other.result().bounds.primal_bound == pytest.approx(mm.solve(binary).bounds.primal_bound)
        assert not long.done()
    assert long.done()
    assert long.termination_status is TerminationStatus.INTERRUPTED


def test_errors_come_out_of_result_and_wrong_input_at_once(easy):
    def fail(record):
        raise ZeroDivisionError("in the caller's own code")

    with mm.start(easy, callback=fail) as run:
        for _ in range(2):
            with pytest.raises(ZeroDivisionError, match="own code"):
                run.result()
    assert run.done()
    assert run.termination_status is None
    assert isinstance(run.error, ZeroDivisionError)
    assert "failed: ZeroDivisionError" in repr(run)
    with pytest.raises(InputError, match="unknown solver 'hihgs'"):
        mm.start(easy, "hihgs")


def test_waiting_can_end_before_the_run(hard):
    with mm.start(hard) as run:
        assert not run.wait(0.05)
        with pytest.raises(TimeoutError, match=r"the run goes on after 0.05 s; wait longer, or call stop\(\)"):
            run.result(timeout=0.05)
        assert "running" in repr(run)


def test_ctrl_c_while_waiting_returns_what_there_is(hard, monkeypatch):
    run = mm.start(hard)
    real, calls = run.wait, []

    def interrupted(timeout=None):
        calls.append(timeout)
        if len(calls) == 1:
            raise KeyboardInterrupt
        return real(timeout)

    monkeypatch.setattr(run, "wait", interrupted)
    assert run.result().termination_status is TerminationStatus.INTERRUPTED


def test_a_dropped_handle_stops_its_run(hard):
    before = len(our_threads())
    run = mm.start(hard)
    course = weakref.ref(run._course)
    assert len(our_threads()) == before + 1
    del run
    gc.collect()
    assert wait_until(lambda: len(our_threads()) == before), "the thread of a dropped handle went on"
    gc.collect()
    assert course() is None


def test_the_budget_counts_in_the_background(hard):
    run = mm.start(hard, time_limit=1.0)
    left = run.time_left()
    assert 0.0 <= left <= 1.0
    result = run.result(timeout=PROMPT_SEC)
    assert result.termination_status is TerminationStatus.TIME_LIMIT
    assert run.time_left() == 0.0
    assert run.elapsed() == result.seconds.total


def test_those_who_watch_hear_of_the_end(easy, hard):
    heard = []
    run = mm.start(hard)
    run.watch(lambda: heard.append(run.done()))
    run.wait(0.1)
    assert heard
    assert not any(heard)
    run.stop()
    run.result()
    assert heard[-1]


@pytest.mark.parametrize("solver", ["branch_and_cut", pytest.param("highs", marks=pytest.mark.slow)])
def test_an_exit_in_the_middle_is_clean(solver):
    code = f"""
import numpy as np
import mmbn_opt as mm
rng = np.random.default_rng(0)
data = mm.DiscreteDataset.from_arrays(rng.integers(0, 3, (2000, 14)), rng.integers(0, 2, 2000))
run = mm.start(mm.SoftMarginStructure(data), {solver!r}, starts=[])
while not any(r.source == {solver!r} for r in run.trace):
    run.wait(0.1)
assert not run.done()
print("leaving")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "leaving"
    assert done.stderr == ""


@pytest.fixture(scope="module")
def small_problems():
    """One for each kind of program."""
    rng = np.random.default_rng(1)
    data = dataset_of(rng.integers(0, 2, (60, 4)).tolist(), [2] * 4)
    tree = mm.naive_bayes(data)
    measures = rng.normal(size=(40, 2))
    return {
        "structure": mm.SoftMarginStructure(data),
        "decomposable": mm.DecomposableStructure(data, score="bdeu"),
        "relaxation": mm.MaxMarginRelaxation(data, tree, normalization="floor", gamma=1.0, min_prob=1e-3),
        "published": mm.MaxMarginRelaxation(data, tree, B=1.0, normalization="published"),
        "smooth": mm.SmoothMargin(data, tree),
        "mixture": mm.ConstrainedMaximumMargin(measures, (measures[:, 0] > 0).astype(int), n_components=1),
    }


@pytest.mark.slow
@pytest.mark.parametrize("solver", solver_names())
def test_every_solver_tells_an_outside_caller_what_its_trace_will_be(small_problems, solver):
    solver_class = get_solver_class(solver)
    if not solver_class.is_available():
        pytest.skip(solver_class.availability().reason)
    wanted = {"highs_lp": "published", "subset_search": "decomposable", "exterior_penalty": "mixture",
              "slsqp": "mixture", "trust_constr": "mixture", "ipopt_nlp": "mixture"}  # fmt: skip
    fitting = [key for key, form in small_problems.items() if form.emits & solver_class.accepts]
    if not fitting:
        pytest.skip(f"no formulation here emits {', '.join(map(str, solver_class.accepts))}")
    form = small_problems[wanted.get(solver, fitting[0])]
    heard = []
    with mm.start(form, solver, time_limit=20.0, callback=heard.append) as run:
        while not run.wait(0.02):
            seen = run.trace.records
            assert tuple(heard[: len(seen)]) == seen[: len(heard)]
        result = run.result()
    assert tuple(heard) == result.trace.records == run.trace.records
    assert run.best() is result.model
    assert run.bounds == result.bounds == result.trace.bounds
    if result.bounds.primal_bound is not None:
        assert result.bounds.primal_bound == pytest.approx(form.evaluate(result.model))
