"""Progress on stderr: a live line on a terminal, plain lines otherwise."""

import math
import sys
from types import TracebackType
from typing import Any

from mmbn_opt._budget import now
from mmbn_opt.cli.remarks import Loudness, loudness, remark
from mmbn_opt.results.pace import Pace, duration
from mmbn_opt.results.trace import TraceRecord

__all__ = ["Progress", "RowsProgress", "RunsProgress"]

_SECONDS_BETWEEN_LINES = 1.0
"""A log is for reading: bounds that follow one another faster than this are left out of it."""


_SECONDS_BETWEEN_ROWS = 5.0


class _Live:
    """What is shown on a terminal, once it has begun, and taken away at the end."""

    _live: Any = None
    _task: Any = None

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()


class Progress(_Live):
    """Shows incumbent, bound and gap while a run goes on; use as a context manager and pass as callback.

    Events named in `paced` come so often that one line a second is enough.
    """

    def __init__(
        self, time_limit: float | None, *, sought: str = "structure", paced: tuple[str, ...] = ("bound",)
    ) -> None:
        self._time_limit = time_limit
        self._sought = sought
        self._paced = paced
        self._next_line = 0.0

    def __enter__(self) -> "Progress":
        if sys.stderr.isatty() and loudness() > Loudness.QUIET:
            from rich.console import Console
            from rich.progress import BarColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
            from rich.progress import Progress as Bar

            self._live = Bar(
                SpinnerColumn(), TimeElapsedColumn(), BarColumn(bar_width=20), TextColumn("{task.description}"),
                console=Console(stderr=True), transient=False,
            )  # fmt: skip
            self._live.start()
            limit = "to proof" if self._time_limit is None else f"at most {self._time_limit:g} s"
            self._task = self._live.add_task(f"looking for a first {self._sought}, {limit}", total=1.0)
        return self

    def __call__(self, record: TraceRecord) -> None:
        """Show one record."""
        gap = record.gap_rel
        line = (
            f"incumbent {_number(record.primal_bound)}  bound {_number(record.dual_bound)}  "
            f"gap {'-' if math.isinf(gap) else format(gap, '.3%')}"
        )
        if self._live is not None:
            self._live.update(
                self._task,
                description=f"{line}  ({record.source})",
                completed=1.0 - min(1.0, gap),
            )
        elif record.event not in self._paced or record.time_sec >= self._next_line:
            self._next_line = record.time_sec + _SECONDS_BETWEEN_LINES
            nodes = "" if record.nodes is None else f"  nodes {record.nodes:,}"
            remark(f"{record.time_sec:9.2f} s  {line}{nodes}  {record.event} by {record.source}")


class RunsProgress(_Live):
    """Shows how many runs of many are done and when the others will be; use as a context manager.

    On a terminal a bar below the lines of the runs, elsewhere the time that is left at the end of each line.
    """

    def __init__(self) -> None:
        self._before: int | None = None

    def __enter__(self) -> "RunsProgress":
        self._pace = Pace(0)
        if sys.stderr.isatty() and loudness() > Loudness.QUIET:
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
            from rich.progress import Progress as Bar

            self._live = Bar(
                TimeElapsedColumn(), BarColumn(bar_width=30), MofNCompleteColumn(), TextColumn("{task.description}"),
                console=Console(stderr=True),
            )  # fmt: skip
            self._task = self._live.add_task("runs", total=None)
            self._live.start()
        return self

    def say(self, line: str, done: int, total: int) -> None:
        """Show the line of a run that has ended, the `done`-th of `total`."""
        if self._before is None:  # runs of an earlier call tell nothing of how long the others take
            self._before = done - 1
        seconds = self._pace.left(done - self._before, total - done)
        left = "" if done == total else f"about {duration(seconds)} left"
        if self._live is None:
            remark(line + (f"; {left}" if left else ""))
        else:
            self._live.console.print(line, markup=False, highlight=False)
            self._live.update(self._task, total=total, completed=done, description=left)


class RowsProgress(_Live):
    """Shows how much of a file is done; use as a context manager and call with rows, or what it has, and the share.

    On a terminal a bar, elsewhere a line every few seconds; files that are done before see neither.
    """

    def __init__(self, what: str = "rows") -> None:
        self._what = what

    def __enter__(self) -> "RowsProgress":
        self._began = self._last = now()
        return self

    def __call__(self, rows: int, share: float) -> None:
        """Show how far it is."""
        if share >= 1.0 and self._live is None:
            return
        if sys.stderr.isatty() and loudness() > Loudness.QUIET:
            if self._live is None:
                self._begin()
            self._live.update(self._task, completed=share, description=f"{rows:,} {self._what}")
        elif now() - self._last >= _SECONDS_BETWEEN_ROWS:
            self._last = now()
            left = (self._last - self._began) * (1.0 - share) / max(share, 1e-9)
            remark(f"{rows:,} {self._what}, {share:.0%} of the file; about {duration(left)} left")

    def _begin(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as Bar

        self._live = Bar(
            BarColumn(bar_width=30), TextColumn("{task.description}"), TimeRemainingColumn(),
            console=Console(stderr=True),
        )  # fmt: skip
        self._task = self._live.add_task("", total=1.0)
        self._live.start()


def _number(value: float | None) -> str:
    return "none" if value is None else f"{value:.4f}"
