"""Messages survive the pipe bit by bit, arrays writable; a closed pipe is an end, not a crash."""

import io

import numpy as np
import pytest
from conformance.programs import PROGRAMS

from mmbn_opt.solvers.base import SolverEvent
from mmbn_opt.solvers.hosting.link import EngineFailure, EngineLink, HostDied, LogLine, Started
from mmbn_opt.solvers.hosting.wire import read_message, write_message


def test_messages_come_back_in_order() -> None:
    stream = io.BytesIO()
    messages = [Started(), LogLine("line"), HostDied("why"), EngineFailure.of(ValueError("x")), None, 3.5]
    for message in messages:
        write_message(stream, message)
    stream.seek(0)
    assert [read_message(stream) for _ in messages] == messages
    with pytest.raises(EOFError):
        read_message(stream)


def test_arrays_and_programs_are_equal_to_the_last_bit() -> None:
    stream = io.BytesIO()
    program = next(case.program for case in PROGRAMS if case.name == "soft_margin")
    solution = np.random.default_rng(0).normal(size=1000)
    write_message(stream, SolverEvent(1.0, solution=solution))
    write_message(stream, program)
    stream.seek(0)
    event, copy = read_message(stream), read_message(stream)
    np.testing.assert_array_equal(event.solution, solution)
    event.solution[0] = 1.0
    np.testing.assert_array_equal(copy.A.data, program.A.data)
    np.testing.assert_array_equal(copy.A.indptr, program.A.indptr)
    assert copy.value(np.ones(program.c.size)) == program.value(np.ones(program.c.size))


@pytest.mark.parametrize("kept", [2, 8, 40])
def test_a_message_that_breaks_off_is_an_end_of_file(kept) -> None:
    stream = io.BytesIO()
    write_message(stream, SolverEvent(1.0, solution=np.arange(100.0)))
    with pytest.raises(EOFError):
        read_message(io.BytesIO(stream.getvalue()[:kept]))


def test_infinite_bounds_are_reported_as_none() -> None:
    sent: list[SolverEvent] = []
    EngineLink(sent.append, 0.0).report(primal_bound=float("inf"), dual_bound=float("-inf"))
    assert (sent[0].primal_bound, sent[0].dual_bound) == (None, None)


def test_a_hook_hears_of_a_request_that_came_before_it_and_may_fail() -> None:
    calls: list[bool] = []
    link = EngineLink(lambda message: None, 0.0)
    link.request_stop()
    link.on_stop(calls.append)
    assert calls == [False]
    link.request_stop(hard=True)
    assert calls == [False, True]

    def refuse(hard: bool) -> None:
        raise RuntimeError("not now")

    link.on_stop(refuse)
    link.on_stop(None)
    assert link.stop_requested


def test_an_offer_is_taken_once_and_the_newest_wins() -> None:
    link = EngineLink(lambda message: None, 0.0)
    link.offer(np.zeros(1))
    link.offer(np.ones(1))
    taken = link.take_offer()
    assert taken is not None
    assert taken.tolist() == [1.0]
    assert link.take_offer() is None
