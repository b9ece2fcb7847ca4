"""Who works next: links whose pace is scripted, on a clock that only they move."""

import math
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mmbn_opt.solvers.convex._shares import FIRST_TRY, LAST_RESORT, next_turn


@dataclass
class Scripted:
    """Closes the gap after `needs` seconds of its own, and may give up before.

    One that has to begin anew needs them in one turn.
    """

    name: str
    needs: float
    resumable: bool = True
    eager: bool = False
    reserve: bool = False
    gives_up: float = math.inf
    piece: float = 0.0
    first_turn: float = 1.0
    step: float = 0.0
    spent: float = 0.0
    behind: float = 0.0
    tries: int = 0
    ended: bool = False
    gave_up: bool = False
    turns: list[float] = field(default_factory=list)
    closed: bool = False

    def work(self, seconds: float) -> float:
        """Seconds that the turn took."""
        self.tries += 1
        done = self.spent if self.resumable else 0.0
        if self.resumable and self.piece:
            seconds = self.piece * max(1, math.floor(seconds / self.piece + 1e-9))
            self.step = self.piece
        used = min(seconds, max(self.needs - done, 0.0), max(self.gives_up - done, 0.0))
        self.closed = done + used >= self.needs - 1e-9
        self.gave_up = self.ended = not self.closed and done + used >= self.gives_up - 1e-9
        self.spent += used
        self.turns.append(used)
        return used


def run(links: list[Scripted], limit: float | None, *, stop_at: float = 1e7) -> float:
    """Let the links work until the gap is closed; seconds that went by."""
    now = 0.0
    while not any(link.closed for link in links) and now < stop_at:
        turn = next_turn(links, limit, math.inf if limit is None else limit - now)
        if turn is None:
            break
        link, seconds = turn
        assert isinstance(link, Scripted)
        assert seconds > 0.0
        assert limit is None or seconds <= limit - now + 1e-9
        now += link.work(seconds)
    return now


PACES = st.floats(0.01, 100.0)


@given(PACES, PACES, st.floats(0.1, 100.0), st.booleans())
@settings(max_examples=300, deadline=None)
def test_whoever_would_close_the_gap_with_half_the_time_closes_it_in_the_chain(a, b, limit, last_begins_anew):
    links = [Scripted("first_order", a), Scripted("other", b, resumable=not last_begins_anew)]
    spent = run(links, limit)
    assert spent <= limit * (1 + 1e-9)
    if min(a, b) <= limit / 2:
        assert links[0].closed or links[1].closed
    else:
        assert all(link.spent >= min(limit / 2, link.needs) - 1e-6 for link in links if not link.closed) or any(
            link.closed for link in links
        )


@given(PACES, st.floats(0.01, 3.0), st.floats(1.0, 100.0))
@settings(max_examples=200, deadline=None)
def test_pieces_that_cannot_be_stopped_cost_the_other_one_piece_at_most(needs, piece, limit):
    links = [Scripted("first_order", math.inf), Scripted("interior_point", math.inf, piece=piece)]
    run(links, limit)
    assert links[0].spent >= limit / 2 - piece - 1e-6


@given(PACES, PACES)
@settings(max_examples=200, deadline=None)
def test_without_a_limit_the_chain_takes_three_times_as_long_as_its_best_member_at_most(a, b):
    links = [Scripted("first_order", a), Scripted("interior_point", b)]
    assert run(links, None) <= 3.0 * min(a, b) + 2.0
    assert links[0].closed or links[1].closed


def test_a_problem_that_ends_in_a_second_costs_no_more_than_that_second():
    """Most do: the second method has its first turn without being cut in two."""
    links = [Scripted("first_order", 50.0, first_turn=0.1), Scripted("interior_point", 0.8)]
    assert run(links, None) == pytest.approx(0.9)
    assert links[1].turns == [pytest.approx(0.8)]


def test_one_that_begins_anew_has_its_half_in_one_piece_and_last():
    links = [Scripted("first_order", math.inf), Scripted("clarabel", math.inf, resumable=False)]
    assert run(links, 20.0) == pytest.approx(20.0)
    assert links[1].turns == [pytest.approx(10.0)]
    assert links[0].spent == pytest.approx(10.0)


def test_one_that_cannot_end_in_its_half_leaves_it_to_the_other():
    links = [Scripted("first_order", math.inf), Scripted("clarabel", math.inf, resumable=False, step=11.0)]
    run(links, 20.0)
    assert links[0].spent == pytest.approx(20.0)
    assert links[1].tries == 0


def test_an_eager_one_goes_first_and_not_over_its_half():
    links = [Scripted("first_order", 4.0), Scripted("highs_lp", math.inf, resumable=False, eager=True)]
    assert run(links, 10.0) == pytest.approx(9.0)
    assert links[1].turns == [pytest.approx(5.0)]
    assert links[0].closed


def test_a_reserve_takes_over_what_another_left_when_it_gave_up():
    links = [
        Scripted("first_order", math.inf),
        Scripted("interior_point", math.inf, gives_up=2.0),
        Scripted("clarabel", 7.0, resumable=False, reserve=True),
    ]
    assert run(links, 20.0) <= 20.0
    assert links[2].closed
    assert links[0].spent == pytest.approx(10.0)
    idle = [Scripted("first_order", math.inf), Scripted("interior_point", math.inf), Scripted("c", 0.1, reserve=True)]
    run(idle, 20.0)
    assert idle[2].tries == 0


def test_when_one_gives_up_the_other_has_all_that_is_left():
    links = [Scripted("first_order", 17.0), Scripted("interior_point", math.inf, gives_up=2.0)]
    assert run(links, 20.0) == pytest.approx(19.0)
    assert links[0].closed


def test_without_a_limit_tries_grow_and_nobody_is_waited_for_for_ever():
    """The one that begins anew would need an hour and three quarters, and the others give up."""
    links = [
        Scripted("first_order", math.inf, gives_up=200.0),
        Scripted("interior_point", math.inf, gives_up=100.0),
        Scripted("clarabel", math.inf, resumable=False, reserve=True),
    ]
    spent = run(links, None)
    assert spent < 1e6
    assert links[2].turns[:3] == [FIRST_TRY, 4 * FIRST_TRY, 16 * FIRST_TRY]
    assert links[2].turns[-1] == LAST_RESORT
    assert next_turn(links, None, math.inf) is None


def test_without_a_limit_a_slow_last_resort_still_closes_the_gap():
    links = [
        Scripted("first_order", math.inf, gives_up=200.0),
        Scripted("highs_lp", 1500.0, resumable=False, eager=True),
    ]
    run(links, None)
    assert links[1].closed
    assert links[1].turns[0] == FIRST_TRY


def test_nobody_works_when_no_time_is_left():
    assert next_turn([Scripted("first_order", 1.0)], 0.0, 0.0) is None
