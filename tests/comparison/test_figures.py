"""Figures of runs: times to a gap, integrals, means, profiles, keys."""

import math
from dataclasses import make_dataclass, replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mmbn_opt as mm
from mmbn_opt.comparison import Comparison, RunRecord
from mmbn_opt.comparison.fingerprint import fingerprint
from mmbn_opt.comparison.metrics import primal_integral, seconds_to_gap, seconds_to_objective, shifted_geometric_mean
from mmbn_opt.comparison.record import RunOutcome
from mmbn_opt.results.status import Sense, TerminationStatus
from mmbn_opt.results.trace import BoundTrace, TraceRecord


def trace(*rows, sense=Sense.MAXIMIZE):
    return BoundTrace(sense, tuple(TraceRecord(t, p, d, None, None, "progress", "x") for t, p, d in rows))


def record(solver="a", status=TerminationStatus.OPTIMAL, rows=((0.0, 80.0, 100.0), (4.0, 90.0, 90.0)), **changes):
    base = RunRecord(
        key=solver, formulation="p", solver=solver, seed=0, time_limit=10.0, rel_gap=0.0, abs_gap=0.0,
        sense=Sense.MAXIMIZE, outcome=RunOutcome.ANSWERED, status=status, raw_status="", detail="", trace=trace(*rows),
        claimed_primal=rows[-1][1], own_value=rows[-1][1], certificate_ok=True, failed_checks="", seconds=rows[-1][0],
        peak_memory=2**20, solver_version="1",
    )  # fmt: skip
    return replace(base, **changes)


def test_times_are_those_of_the_trace():
    history = trace((0.0, None, 100.0), (1.0, 50.0, 100.0), (2.0, 99.5, 100.0), (3.0, 99.95, 100.0))
    assert seconds_to_gap(history, 1e-2) == 2.0
    assert seconds_to_gap(history, 1e-3) == 3.0
    assert math.isnan(seconds_to_gap(history, 1e-6))
    assert seconds_to_gap(history, 0.0, abs_gap=0.6) == 2.0
    assert seconds_to_objective(history, 99.95, 1e-6) == 3.0
    assert math.isnan(seconds_to_objective(history, 120.0, 1e-6))
    assert math.isnan(seconds_to_objective(history, None, 1e-6))


def test_the_integral_counts_to_the_limit_and_against_the_best_of_all():
    history = trace((0.0, None, None), (2.0, 50.0, None), (4.0, 100.0, None))
    # 2 s without an incumbent count 1, 2 s at half the best count 1/2, then nothing until the limit.
    assert primal_integral(history, 100.0, 10.0) == pytest.approx(0.3)
    assert primal_integral(history, 200.0, 10.0) == pytest.approx((2 * 1 + 2 * 0.75 + 6 * 0.5) / 10)
    assert primal_integral(history, None, 10.0) == 1.0


@given(st.lists(st.floats(0.0, 1e4), min_size=1, max_size=8), st.floats(0.1, 10.0))
def test_the_shifted_mean_lies_between_smallest_and_arithmetic_mean(values, shift):
    mean = shifted_geometric_mean(values, shift)
    assert min(values) - 1e-6 <= mean <= np.mean(values) + 1e-6 * (1 + np.mean(values))


def test_a_bound_is_judged_by_the_incumbents_of_all_that_stand():
    honest = record("honest")
    liar = record("liar", rows=((0.0, 80.0, 100.0), (1.0, 85.0, 85.0)))
    # Its incumbent would contradict everybody, but its model failed a check.
    cheat = record("cheat", rows=((0.0, 80.0, 200.0), (1.0, 150.0, 200.0)), certificate_ok=False)
    table = Comparison([honest, liar, cheat]).set_index("solver")
    assert table["bound_ok"].to_dict() == {"honest": True, "liar": False, "cheat": True}
    assert table["solved"].to_dict() == {"honest": True, "liar": False, "cheat": False}
    assert table.loc["honest", "sec_to_best"] == 4.0


def test_rounding_is_no_lie():
    table = Comparison([record("a"), record("b", rows=((0.0, 80.0, 100.0), (1.0, 90.00000001, 90.00000001)))])
    assert table["bound_ok"].all()
    assert record(claimed_primal=90.0 + 1e-5).claim_ok
    assert not record(claimed_primal=90.1).claim_ok
    assert not record(claimed_primal=90.0, own_value=None).claim_ok


def test_the_profile_is_dolan_and_mores():
    runs = [
        record("a", key="1", formulation="p"),
        record("b", key="2", formulation="p", rows=((0.0, 80.0, 100.0), (8.0, 90.0, 90.0))),
        record("a", key="3", formulation="q", status=TerminationStatus.TIME_LIMIT, rows=((0.0, 80.0, 100.0),)),
        record("b", key="4", formulation="q"),
    ]
    table = Comparison(runs)
    profile = table.performance_profile()
    assert profile.n_problems == {"a": 2, "b": 2}
    assert [profile.share("a", f) for f in (1.0, 100.0)] == [0.5, 0.5]
    assert [profile.share("b", f) for f in (1.0, 1.99, 2.0)] == [0.5, 0.5, 1.0]
    frame = profile.to_frame()
    assert frame.index.tolist() == [1.0, 2.0]
    assert (frame.diff().dropna() >= 0).all(axis=None)
    only_p = table.performance_profile(formulations=["p"])
    assert only_p.share("a", 1.0) == 1.0
    with pytest.raises(mm.InputError, match="unknown formulations"):
        table.performance_profile(formulations=["z"])
    with pytest.raises(mm.InputError, match="measure must be one of"):
        table.performance_profile("seconds_to_coffee")
    with pytest.raises(mm.InputError, match="no runs"):
        Comparison([]).performance_profile()


def test_records_survive_the_file():
    kept = record(detail='odd "text"\n', peak_memory=None, seconds=1.5, status=None, outcome=RunOutcome.CRASHED)
    assert RunRecord.from_json(kept.to_json()) == kept
    with pytest.raises(mm.FormatError, match="not a run of a comparison"):
        RunRecord.from_json('{"format": "something else"}')
    with pytest.raises(mm.FormatError, match="not a run of a comparison"):
        RunRecord.from_json("[]")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"seconds": 1.5', '"seconds": -1', "seconds must be a number >= 0, got -1"),
        ('"time_limit": 60.0', '"time_limit": -60', "time_limit must be a number >= 0 or null, got -60"),
        ("[\n   0.5,", "[\n   -1,", r"trace\[0\].time_sec must be a number >= 0, got -1"),
        ("[\n   2.0,", "[\n   0.25,", r"trace\[1\].time_sec must not be before that of the record above, got 0.25"),
    ],
)
def test_times_that_run_backwards_are_no_record(old, new, said):
    """Means of logarithms over them were infinite."""
    steps = [TraceRecord(time, 4.0, 9.0, None, None, "bound", "highs") for time in (0.5, 2.0)]
    text = record(seconds=1.5, time_limit=60.0, trace=BoundTrace(Sense.MAXIMIZE, tuple(steps))).to_json()
    assert old in text
    with pytest.raises(mm.FormatError, match=said):
        RunRecord.from_json(text.replace(old, new, 1))


def test_a_key_outlives_the_move_of_a_class_to_another_module():
    here, there = make_dataclass("Setting", ["x"]), make_dataclass("Setting", ["x"])
    there.__module__ = "elsewhere"
    assert fingerprint(here(1)) == fingerprint(there(1)) != fingerprint(there(2))
    assert fingerprint(here) == fingerprint(there) != fingerprint(make_dataclass("Other", ["x"]))


def test_keys_follow_content_and_nothing_else():
    frame = mm.load_dataset("corral")
    data = mm.DiscreteDataset.from_frame(frame, "class")
    form = mm.SoftMarginStructure(data)
    same = mm.SoftMarginStructure(mm.DiscreteDataset.from_frame(frame.copy(), "class"))
    assert form.merged is form.merged  # something is cached now
    assert fingerprint(form) == fingerprint(same)
    others = [
        mm.SoftMarginStructure(data, max_parents=1),
        mm.SoftMarginStructure(data, gamma=1.0),
        mm.BinarySoftMarginStructure(data),
        mm.SoftMarginStructure(data.subset(slice(0, 100))),
        mm.MaxMarginRelaxation(data, mm.naive_bayes(data)),
        mm.MaxMarginRelaxation(data, mm.tan_cmi(data)),
    ]
    assert len({fingerprint(f) for f in [form, *others]}) == 1 + len(others)
    table = pd.DataFrame({"a": [1, 2]})
    assert fingerprint(table) == fingerprint(table.copy()) != fingerprint(table + 1)
    assert fingerprint(np.arange(3)) != fingerprint(np.arange(3).astype(float))
    assert fingerprint({1, 2}) == fingerprint({2, 1})
    assert fingerprint("ab", "c") != fingerprint("a", "bc")
