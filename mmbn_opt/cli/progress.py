"""Progress on stderr: a live line on a terminal, plain lines otherwise."""

import math
import sys
from types import TracebackType
from typing import Any

from mmbn_opt.cli.remarks import Loudness, loudness, remark
from mmbn_opt.results.trace import TraceRecord

__all__ = ["Progress"]

_SECONDS_BETWEEN_LINES = 1.0
"""A log is for reading: bounds that follow one another faster than this are left out of it."""


class Progress:
    """Shows incumbent, bound and gap while a run goes on; use as a context manager and pass as callback.

    Events named in `paced` come so often that one line a second is enough.
    """

    def __init__(
        self, time_limit: float | None, *, sought: str = "structure", paced: tuple[str, ...] = ("bound",)
    ) -> None:
        self._time_limit = time_limit
        self._sought = sought
        self._paced = paced
        self._live: Any = None
        self._task: Any = None
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

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()

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


def _number(value: float | None) -> str:
    return "none" if value is None else f"{value:.4f}"
