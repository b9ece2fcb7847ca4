"""Comparisons from the outside: what is caught, what is kept, what is left out."""

import json
import math
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pandas as pd
import pytest
import rogue_solvers as rogue

import mmbn_opt as mm
from mmbn_opt.comparison import RunRecord, _isolated
from mmbn_opt.comparison.machine import can_measure_memory, family

TESTS = Path(__file__).resolve().parent.parent
OPTIMUM = 261.1347997401562  # of corral at p = 0.9 with two parents, found by enumeration elsewhere
needs_posix = pytest.mark.skipif(os.name != "posix", reason="processes as POSIX has them")
needs_memory = pytest.mark.skipif(not can_measure_memory(), reason="the memory of a process is read on Linux only")


@pytest.fixture(scope="module")
def corral():
    return mm.DiscreteDataset.from_frame(mm.load_dataset("corral"), "class")


@pytest.fixture(scope="module")
def xor():
    return mm.DiscreteDataset.from_arrays([["a", "u"], ["a", "v"], ["b", "u"], ["b", "v"]] * 5, [0, 1, 1, 0] * 5)


@pytest.fixture(scope="module")
def mischief(corral):
    """One honest solver among some that are not."""
    liars = [rogue.Boasting(), rogue.Overclaiming(), rogue.Exiting(), rogue.Absent()]
    return mm.compare({"corral": rogue.Unaided(corral)}, ["highs", *liars], time_limit=60, seeds=[0], n_jobs=2)


def row(table, solver):
    return table.set_index("solver").loc[solver]


def test_an_honest_answer_is_solved_whatever_its_neighbours_do(mischief):
    highs = row(mischief, "highs")
    assert highs["status"] == "OPTIMAL"
    assert highs["solved"]
    assert highs["primal_bound"] == pytest.approx(OPTIMUM, rel=1e-9)
    assert highs["dual_bound"] == pytest.approx(OPTIMUM, rel=1e-6)
    assert 0.0 <= highs["first_incumbent_sec"] <= highs["sec_to_best"] <= highs["sec_to_proof"] <= highs["seconds"]
    assert highs["sec_to_gap_1e-2"] <= highs["sec_to_gap_1e-3"] <= highs["sec_to_proof"]
    assert 0.0 < highs["primal_integral"] < 1.0
    assert highs["peak_memory_mb"] > 50.0
    assert "numpy" in highs["versions"]
    assert "Python" in highs["machine"]


def test_a_claimed_objective_that_the_data_do_not_give_is_flagged(mischief):
    boasting = row(mischief, "boasting")
    assert not boasting["claim_ok"]
    assert not boasting["solved"]
    assert boasting["claimed_primal"] == pytest.approx(boasting["own_value"] + 5.0)
    assert boasting["primal_bound"] == pytest.approx(boasting["own_value"])  # ours, not the claim
    assert math.isnan(boasting["sec_to_proof"])


def test_a_bound_that_another_incumbent_beats_is_contradicted(mischief):
    liar = row(mischief, "overclaiming")
    assert liar["status"] == "OPTIMAL"  # alone it would have been believed
    assert liar["dual_bound"] < OPTIMUM - 1.0
    assert liar["claim_ok"]
    assert not liar["bound_ok"]
    assert not liar["solved"]
    assert math.isnan(liar["sec_to_proof"])
    assert math.isnan(liar["sec_to_gap_1e-2"])
    assert set(mischief.flagged["solver"]) == {"boasting", "overclaiming"}


def test_a_crash_is_a_row_that_keeps_its_start(mischief):
    crashed = row(mischief, "exiting")
    assert crashed["status"] == "CRASHED"
    assert "exit code 7" in crashed["detail"]
    assert not crashed["solved"]
    assert math.isfinite(crashed["primal_bound"])
    assert crashed["gap_rel"] > 0


def test_what_is_not_installed_is_listed_with_its_reason(mischief):
    assert [(pair.solver, pair.reason) for pair in mischief.left_out] == [("absent", "it was never written")]


def test_summary_profile_and_page_agree_with_the_rows(mischief):
    summary = mischief.summary()
    assert summary.loc["highs", ["solved", "flagged", "failed"]].tolist() == [1, 0, 0]
    assert summary.loc["exiting", ["solved", "flagged", "failed"]].tolist() == [0, 0, 1]
    assert summary.loc["boasting", ["solved", "flagged", "failed"]].tolist() == [0, 1, 0]
    assert summary.loc["highs", "sec_to_proof"] == pytest.approx(row(mischief, "highs")["sec_to_proof"])
    assert summary.loc["exiting", "sec_to_proof"] == pytest.approx(60.0)  # counts with its limit
    profile = mischief.performance_profile()
    assert {s: profile.share(s, 1.0) for s in ("highs", "boasting", "exiting")} == {
        "highs": 1.0, "boasting": 0.0, "exiting": 0.0,
    }  # fmt: skip
    page = mischief.report_html(title="A & B")
    assert "A &amp; B" in page
    assert page.count("claims another objective") == 1
    assert page.count("bound contradicted") == 1
    assert "CRASHED" in page
    assert "it was never written" in page
    assert "<script" not in page
    assert "http" not in page.replace("http-equiv", "")


def test_the_table_is_a_frame_and_its_parts_are_plain(mischief):
    assert isinstance(mischief, pd.DataFrame)
    assert type(mischief[mischief["solved"]]) is pd.DataFrame
    assert len(mischief.runs) == len(mischief) == 4
    assert mischief.groupby("status").size().sum() == 4


def test_plots(mischief):
    matplotlib = pytest.importorskip("matplotlib", reason="matplotlib (extra plot) is not installed")
    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    axes = mischief.plot_traces()
    drawn = {line.get_label(): line for line in axes[0].get_lines()}
    assert set(drawn) == {"highs", "boasting", "overclaiming", "exiting"}
    times = drawn["highs"].get_xdata()
    assert times[-1] == pytest.approx(row(mischief, "highs")["seconds"], rel=0.5)
    ax = mischief.performance_profile().plot()
    assert max(dict(zip(*_legend(ax), strict=True))["highs"].get_ydata()) == 1.0
    plt.close("all")


def _legend(ax):
    handles, labels = ax.get_legend_handles_labels()
    return labels, handles


@needs_posix
def test_a_hang_is_killed_after_limit_and_grace(xor):
    table = mm.compare(mm.SoftMarginStructure(xor), rogue.Hanging(), time_limit=0.5, grace=0.5, seeds=[0])
    hung = row(table, "hanging")
    assert hung["status"] == "HUNG"
    assert "0.5 s after its limit of 0.5 s" in hung["detail"]
    assert hung["seconds"] < 300  # it sleeps for 600


@needs_memory
def test_a_memory_blow_up_is_ended_at_its_limit(xor):
    table = mm.compare(mm.SoftMarginStructure(xor), rogue.Hungry(), time_limit=120, memory_limit=450, seeds=[0])
    hungry = row(table, "hungry")
    assert hungry["status"] == "OUT_OF_MEMORY"
    assert "the limit is 450 MB" in hungry["detail"]
    assert hungry["peak_memory_mb"] > 450


@pytest.mark.slow
@needs_posix
def test_more_ways_to_fail(corral):
    table = mm.compare(
        {"corral": rogue.Unaided(corral)}, [rogue.Segfaulting(), rogue.Raising(), "highs_lp"], time_limit=60, seeds=[0]
    )
    crashed = row(table, "segfaulting")
    assert crashed["status"] == "CRASHED"
    assert "SIGSEGV" in crashed["detail"]
    # What it had told before it died is kept.
    assert crashed["dual_bound"] == pytest.approx(crashed["primal_bound"] + 1.0)
    raising = row(table, "raising")
    assert raising["status"] == "RAISED"
    assert raising["detail"] == "ZeroDivisionError: an accident"
    assert [pair.solver for pair in table.left_out] == ["highs_lp"]
    assert "accepts convex program" in table.left_out[0].reason


@pytest.mark.slow
def test_all_means_all_that_take_the_problem(xor):
    forms = {"sm": mm.SoftMarginStructure(xor), "hybrid": mm.MaxMarginRelaxation(xor, mm.naive_bayes(xor))}
    table = mm.compare(forms, time_limit=60, rel_gap=1e-3, seeds=[0], n_jobs=2)
    on = {label: set(part["solver"]) for label, part in table.groupby("formulation")}
    available = set(mm.solvers().query("available")["name"])
    assert on["sm"] == {"branch_and_cut", "highs", "scipy", "scip", "cbc", "scip_cuts"} & available
    convex = {
        "convex",
        "proximal_newton",
        "interior_point",
        "first_order",
        "barrier",
        "clarabel",
        "ecos",
        "scs",
        "ipopt",
    }
    assert on["hybrid"] == convex & available
    refused = {pair.solver: pair.reason for pair in table.left_out}
    assert "Only the published problem" in refused["highs_lp"]
    assert table["claim_ok"].all()
    assert table["bound_ok"].all()
    best = table[table["solved"]].groupby("formulation")["primal_bound"].agg(["min", "max"])
    assert best["min"].tolist() == pytest.approx(best["max"].tolist(), rel=3e-3)


def test_kept_runs_are_read_and_not_done_again(xor, tmp_path):
    form, log = mm.SoftMarginStructure(xor), tmp_path / "log"
    solver = rogue.Counting(log=str(log))
    first = mm.compare({"xor": form}, solver, time_limit=60, seeds=[0, 1], folder=tmp_path / "out", n_jobs=2)
    assert sorted(log.read_text().split()) == ["0", "1"]
    files = sorted((tmp_path / "out" / "runs").iterdir())
    assert len(files) == 2
    assert {RunRecord.from_json(f.read_text()).key for f in files} == set(first["key"])
    again = mm.compare(
        {"xor": mm.SoftMarginStructure(xor)}, solver, time_limit=60, seeds=[0, 1], folder=tmp_path / "out"
    )
    assert len(log.read_text().split()) == 2
    pd.testing.assert_frame_equal(pd.DataFrame(again), pd.DataFrame(first))
    # A file that was cut short counts as not done.
    files[0].write_text(files[0].read_text()[:100])
    mm.compare({"xor": form}, solver, time_limit=60, seeds=[0, 1], folder=tmp_path / "out")
    assert len(log.read_text().split()) == 3


KILLED = f"""
import sys
sys.path[:0] = [{str(TESTS)!r}]
import mmbn_opt as mm, rogue_solvers as rogue
data = mm.DiscreteDataset.from_arrays([["a", "u"], ["a", "v"], ["b", "u"], ["b", "v"]] * 5, [0, 1, 1, 0] * 5)
table = mm.compare({{"xor": mm.SoftMarginStructure(data)}}, rogue.Counting(log=sys.argv[1], pause=0.5), time_limit=60,
                   seeds=range(4), folder=sys.argv[2])
print(len(table), table["solved"].sum())
"""


@pytest.mark.slow
@needs_posix
def test_killed_in_the_middle_it_goes_on_where_it_was(tmp_path):
    log, out = tmp_path / "log", tmp_path / "out"
    command = [sys.executable, "-c", KILLED, str(log), str(out)]
    process = subprocess.Popen(command, cwd=tmp_path)
    try:
        deadline = time.monotonic() + 120
        while len(list(out.glob("runs/*.json"))) < 2:
            assert process.poll() is None, "it ended before it could be killed"
            assert time.monotonic() < deadline
            time.sleep(0.02)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    done = [json.loads(path.read_text())["seed"] for path in out.glob("runs/*.json")]
    assert 2 <= len(done) < 4
    finished = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=200, check=True)
    assert finished.stdout.split() == ["4", "4"]
    started = log.read_text().split()
    assert all(started.count(str(seed)) == 1 for seed in done)
    assert set(started) == {"0", "1", "2", "3"}
    assert len(started) <= 5  # the one that was going on at the kill may have begun twice
    assert len(list(out.glob("runs/*.json"))) == 4


@needs_posix
def test_ctrl_c_returns_what_is_done_and_leaves_no_process(xor, tmp_path, monkeypatch):
    def interrupt(record, done, total):
        raise KeyboardInterrupt

    class SlowToStart(_isolated._RunHost):
        """So that the interruption comes while the next process is being started."""

        def __init__(self, job):
            time.sleep(0.5)
            super().__init__(job)
            pids.append(self.pid)

    pids = []
    monkeypatch.setattr(_isolated, "_RunHost", SlowToStart)
    solver = rogue.Counting(log=str(tmp_path / "log"), pause=0.2)
    table = mm.compare(
        {"xor": mm.SoftMarginStructure(xor)}, solver, seeds=range(6), folder=tmp_path, progress=interrupt, n_jobs=2
    )
    begun = len(pids)
    assert table.interrupted
    assert len(table) == 1
    assert len(list((tmp_path / "runs").iterdir())) == 1
    deadline = time.monotonic() + 60
    while _children() and time.monotonic() < deadline:
        time.sleep(0.05)  # a killed process may take its time to go
    time.sleep(1.0)
    assert not _children()
    assert len(pids) == begun, "a run began after the comparison had returned"


def _children():
    """Command lines of runs below this one (none are found elsewhere than on Linux)."""
    found = []
    for pid in family(os.getpid())[1:]:
        with suppress(OSError):  # it ended while we looked
            found.append((Path("/proc") / str(pid) / "cmdline").read_bytes())
    return [command for command in found if b"comparison._child" in command]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"solvers": ["hihgs"]}, "unknown solver 'hihgs'"),
        ({"solvers": []}, "solvers is empty"),
        ({"seeds": []}, "seeds must be distinct and at least one"),
        ({"seeds": [0, 0]}, "seeds must be distinct"),
        ({"seeds": [-1]}, "seeds must be whole numbers >= 0, got -1"),
        ({"time_limit": -1.0}, "time_limit must be a finite number of seconds >= 0"),
        ({"grace": -1.0}, "grace must be a number of seconds >= 0, got -1.0"),
        ({"memory_limit": 0.0}, "memory_limit must be a number of megabytes > 0"),
        ({"threads": 0}, "threads must be at least 1"),
        ({"solvers": ["ecos"]}, "No solver can run any of the formulations. ecos on Soft-margin structure: accepts"),
    ],
)
def test_wrong_input_is_named(xor, arguments, message):
    with pytest.raises(mm.InputError, match=message.replace(".", r"\.")):
        mm.compare(mm.SoftMarginStructure(xor), **arguments)


def test_formulations_must_be_some(xor):
    with pytest.raises(mm.InputError, match="formulations is empty"):
        mm.compare([])
    with pytest.raises(mm.InputError, match="formulations must be a Formulation or a list"):
        mm.compare([xor])


def test_two_kinds_of_one_problem_are_each_recovered_in_their_own_way():
    data = mm.prepare(mm.load_dataset("corral"), "class").data
    problem = mm.ConditionalLikelihood(data, mm.naive_bayes(data))
    table = mm.compare({"corral": problem}, ["interior_point", "lbfgs"], time_limit=60, seeds=[0])
    assert table["claim_ok"].all()
    assert table["own_value"].to_list() == pytest.approx(table["primal_bound"].to_list(), rel=1e-9)
    assert row(table, "interior_point")["solved"]
