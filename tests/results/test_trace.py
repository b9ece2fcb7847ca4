"""Bounds only improve, whatever a solver reports, and the gap has one formula."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmbn_opt.results.bounds import ObjectiveBounds
from mmbn_opt.results.status import Sense, SolutionStatus, TerminationStatus
from mmbn_opt.results.trace import TraceRecorder

values = st.one_of(st.none(), st.floats(-1e6, 1e6))


@given(
    st.sampled_from(Sense),
    st.lists(st.tuples(values, values, st.sampled_from(["start", "bound", "incumbent", "progress"]))),
)
def test_traces_are_monotone(sense, reports):
    recorder = TraceRecorder(sense)
    for primal, dual, event in reports:
        recorder.record(primal=primal, dual=dual, event=event, source="test")
    trace = recorder.finish()
    primals = [sense.sign * r.primal_bound for r in trace if r.primal_bound is not None]
    duals = [sense.sign * r.dual_bound for r in trace if r.dual_bound is not None]
    times = [r.time_sec for r in trace]
    assert primals == sorted(primals, reverse=True)
    assert duals == sorted(duals)
    assert times == sorted(times)
    given_primals = [sense.sign * p for p, _, _ in reports if p is not None]
    assert (trace.bounds.primal_bound is None) == (not given_primals)
    if given_primals:
        assert sense.sign * trace.bounds.primal_bound == min(given_primals)


def test_records_that_change_nothing_are_left_out():
    recorder = TraceRecorder(Sense.MAXIMIZE)
    recorder.record(primal=1.0, dual=3.0, event="start", source="a")
    recorder.record(primal=0.5, event="incumbent", source="b")
    recorder.record(dual=3.5, event="bound", source="b")
    assert len(recorder.finish()) == 2


@pytest.mark.parametrize(
    ("primal", "dual", "gap_abs", "gap_rel"),
    [
        (90.0, 100.0, 10.0, 0.1),
        (-100.0, -90.0, 10.0, 0.1),
        (0.0, 0.0, 0.0, 0.0),
        (0.0, 5.0, 5.0, 1.0),
        (-1.0, 1.0, 2.0, 2.0),
        (None, 5.0, math.inf, math.inf),
        (5.0, None, math.inf, math.inf),
    ],
)
def test_the_gap(primal, dual, gap_abs, gap_rel):
    bounds = ObjectiveBounds(Sense.MAXIMIZE, primal, dual)
    assert (bounds.gap_abs, bounds.gap_rel) == (gap_abs, gap_rel)


def test_a_bound_on_the_wrong_side_is_inconsistent():
    assert not ObjectiveBounds(Sense.MAXIMIZE, 10.0, 9.0).is_consistent()
    assert ObjectiveBounds(Sense.MAXIMIZE, 10.0, 10.0 - 1e-9).is_consistent()
    assert not ObjectiveBounds(Sense.MINIMIZE, 9.0, 10.0).is_consistent()
    assert ObjectiveBounds(Sense.MINIMIZE, 9.0, None).is_consistent()


def test_frames_have_the_documented_columns():
    recorder = TraceRecorder(Sense.MINIMIZE)
    recorder.record(primal=2.0, nodes=3, event="incumbent", source="x")
    frame = recorder.finish(iterations=9).to_frame()
    assert list(frame.columns) == ["time_sec", "primal_bound", "dual_bound", "nodes", "iterations", "event", "source"]
    assert frame["nodes"].tolist()[0] == 3
    assert frame["event"].tolist() == ["incumbent", "final"]
    assert frame["dual_bound"].isna().all()


def test_every_status_has_a_sentence():
    for member in (*TerminationStatus, *SolutionStatus):
        assert member.sentence.endswith(".")
        assert str(member) == member.name
    assert TerminationStatus.TIME_LIMIT.is_limit
    assert not TerminationStatus.OPTIMAL.is_limit
