"""Two trees from one root, one after the other: who has the better bound after the same work goes on alone."""

from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, ExitStack
from functools import partial

from ._search import Search
from ._settings import Branching

__all__ = ["Race"]

LAP_BOXES = 60
"""So many boxes the first tree searches before the second gets as much work."""

LAP_WORK = 5e8
"""... and so many steps, where boxes are small."""

LEAST_BOXES = 12
"""So many boxes at least where a limit is short."""

LAP_SHARE = 0.03
"""Share of a limit, at a step a nanosecond, that each of the two may take beyond `LEAST_BOXES`."""

CLOSE = 0.95, 1.1
"""Between so much of what the first has closed the second is as good: both go on for twice the work ..."""

CLOSE_SHARE = 0.01
"""... up to this share of a limit each."""

LARGE_BOX_WORK = 3e7
"""Steps a box from which on a lap is worth helping with."""

NEAR = 0.5
"""Share of the gap at the root: a first tree that has closed so much ends soon, and the second is left out."""

LEAD = 1.05
"""How much more of the gap than the first tree's the second must have closed to be the one that goes on."""


Runner = tuple[Search, Iterator[None]]
"""A search and what goes on with it, box by box."""


class Race:
    """The search of one tree, or of two of which one is dropped.

    What counts is the work done in steps, never the clock: equal runs drop the same tree.

    Parameters
    ----------
    enter : callable
        A fresh search from the root by a rule of branching, started.
    rules : sequence of Branching
        One or two.
    time_limit : float or None
    root : float
        Bound of the root.
    kept : callable
        Told of the search that goes on alone.
    helped : callable
        A block in which others search the tree of the search that goes on.
    lap_helped : callable
        The same while two race and boxes are large; small ones are searched by one, so that equal runs keep the same.
    finish : callable or None
        Goes on with the boxes of the search that was kept in another way.

    Attributes
    ----------
    searches : list of Search
        In the order in which they began.
    """

    def __init__(
        self,
        enter: Callable[[Branching], Search],
        rules: tuple[Branching, ...],
        time_limit: float | None,
        root: float,
        kept: Callable[[Search], None],
        helped: Callable[[Search], AbstractContextManager[object]],
        lap_helped: Callable[[Search], AbstractContextManager[object]],
        finish: Callable[[Search, Iterator[None]], Iterator[None]] | None,
    ) -> None:
        self._enter, self._rules, self._root, self._kept, self._helped = enter, rules, root, kept, helped
        self._lap_helped, self._finish = lap_helped, finish
        self._lap_work = float("inf") if time_limit is None else LAP_SHARE * 1e9 * time_limit
        self._close_work = 0.0 if time_limit is None else CLOSE_SHARE * 1e9 * time_limit
        self._dropped: list[tuple[int, int, int]] = []
        self._decided = False
        self.searches: list[Search] = [enter(rules[0])]

    @property
    def leader(self) -> Search:
        """The search whose tree proves more."""
        return max(self.searches, key=lambda search: search.proof.bound)

    @property
    def rule(self) -> Branching:
        """Branching rule of the leader."""
        return self.leader.rule

    def counts(self) -> tuple[int, int, int]:
        """Boxes, pivots and children of all trees, of those that were dropped too."""
        ours = [_counts(search) for search in self.searches] + self._dropped
        return sum(c[0] for c in ours), sum(c[1] for c in ours), sum(c[2] for c in ours)

    def run(self) -> Generator[None, None, None]:
        """Search to the end; yields before every box."""
        runner = self.searches[0], self.searches[0].run()
        if len(self._rules) > 1:
            ended = yield from self._lap(*runner, self._had_its_lap)
            first, root = runner[0], self._root
            if not ended and first.proof.bound - root < NEAR * (first.incumbent.loss - root):
                runner, ended = yield from self._compare(runner)
            self._keep(runner[0])
            if ended:
                return
        search, boxes = runner
        if self._finish:
            yield from self._finish(search, boxes)
            return
        with self._helped(search):
            yield from boxes

    def _compare(self, first: Runner) -> Generator[None, None, tuple[Runner, bool]]:
        """Who goes on after a second tree had as much work, or both had more where they are close; whether it ended."""
        challenger = self._enter(self._rules[1])
        self.searches.append(challenger)
        second = challenger, challenger.run()
        work, runners = first[0].tally.work, [second]
        while True:
            for runner in runners:
                if (yield from self._lap(*runner, partial(_has_done, work))):
                    return runner, True
            closed, more = (search.proof.bound - self._root for search, _ in (first, second))
            work, runners = 2.0 * work, [first, second]
            if not CLOSE[0] * closed < more < CLOSE[1] * closed or work > self._close_work:
                return second if more > LEAD * closed else first, False

    def _had_its_lap(self, search: Search) -> bool:
        nodes, work = search.tally.nodes, search.tally.work
        full = nodes >= LAP_BOXES and work >= LAP_WORK
        return full or (work >= self._lap_work and nodes >= LEAST_BOXES)

    def _lap(
        self, search: Search, boxes: Iterator[None], enough: Callable[[Search], bool]
    ) -> Generator[None, None, bool]:
        """Search until it is enough; whether that was to the end."""
        with ExitStack() as until_enough:
            helped = False
            for _ in boxes:
                yield
                if enough(search):
                    return False
                nodes, work = search.tally.nodes, search.tally.work
                if not helped and nodes >= LEAST_BOXES and work > LARGE_BOX_WORK * nodes:
                    helped = True
                    until_enough.enter_context(self._lap_helped(search))
        return True

    def settle(self) -> None:
        """Where the race was ended before it was decided, the better tree counts."""
        if len(self._rules) > 1 and not self._decided:
            self._keep(self.leader)

    def _keep(self, search: Search) -> None:
        self._decided = True
        for other in self.searches:
            if other is not search:
                self._dropped.append(_counts(other))
        self.searches = [search]
        self._kept(search)


def _has_done(work: float, search: Search) -> bool:
    return search.tally.work >= work


def _counts(search: Search) -> tuple[int, int, int]:
    return search.tally.nodes, search.tally.pivots, search.tally.children
