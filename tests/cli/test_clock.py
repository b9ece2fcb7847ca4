"""The time limit of a command is shared out between reading, searching and handing over."""

import time

import pytest

from mmbn_opt._budget import leave_in_time
from mmbn_opt.cli import clock
from mmbn_opt.cli.clock import Clock, command_begins


@pytest.fixture
def hands(monkeypatch):
    """A clock whose hands are moved by the test."""
    at = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: at[0])
    monkeypatch.setattr(clock, "now", lambda: at[0])
    monkeypatch.setattr("mmbn_opt._budget.now", lambda: at[0])
    return at


@pytest.mark.parametrize(
    ("limit", "gone", "left"),
    [(60.0, 2.0, 57.5), (60.0, 59.8, 0.0), (60.0, 300.0, 0.0), (1.0, 0.0, 0.9), (0.0, 0.0, 0.0), (None, 50.0, None)],
)
def test_the_search_has_what_reading_and_handing_over_leave(hands, limit, gone, left):
    command_begins()
    hands[0] += gone
    assert Clock(limit).for_search() == (left if left is None else pytest.approx(left))


def test_what_is_no_limit_is_left_for_the_solver_to_refuse(hands):
    assert Clock(-1.0).for_search() == -1.0
    assert Clock(float("nan")).for_search() != Clock(float("nan")).for_search()


def test_handing_over_keeps_what_was_complete_when_the_time_was_up(hands):
    command_begins()
    done = []
    it = Clock(10.0)
    with it.handing_over():
        for part in range(100):
            leave_in_time()
            done.append(part)
            hands[0] += 1.0
    assert done == list(range(10))


def test_a_late_search_leaves_half_a_second_for_handing_over(hands):
    command_begins()
    it, done = Clock(10.0), []
    hands[0] += 15.0
    with it.handing_over():
        for part in range(100):
            leave_in_time()
            done.append(part)
            hands[0] += 0.125
    assert done == [0, 1, 2, 3]


def test_without_a_limit_everything_is_handed_over(hands):
    with Clock(None).handing_over():
        hands[0] += 1e9
        leave_in_time()
        reached = True
    assert reached
