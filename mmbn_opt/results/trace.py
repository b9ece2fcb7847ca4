"""The history of a run: incumbents and bounds over time, monotone by construction."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from mmbn_opt._budget import now
from mmbn_opt._lazy import delegate
from mmbn_opt.results.bounds import ObjectiveBounds
from mmbn_opt.results.status import Sense

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["BoundTrace", "TraceRecord", "TraceRecorder"]


@dataclass(frozen=True)
class TraceRecord:
    """One line of a trace.

    Parameters
    ----------
    time_sec : float
        Wall-clock seconds since `solve` was called.
    primal_bound, dual_bound : float or None
        Best known at that time, in the sense of the trace.
    nodes, iterations : int or None
        Work counters of the solver, where it tells.
    event : str
        ``"start"``, ``"incumbent"``, ``"bound"``, ``"progress"`` or ``"final"``; on a cluster ``"no workers"`` where
        all of them are gone, and ``"workers"`` where some are there again.
    source : str
        Who found it: a heuristic's or a solver's name.
    """

    time_sec: float
    primal_bound: float | None
    dual_bound: float | None
    nodes: int | None
    iterations: int | None
    event: str
    source: str

    @property
    def gap_rel(self) -> float:
        """Relative gap of the two bounds, which is the same in either sense; inf when one is missing."""
        return ObjectiveBounds(Sense.MINIMIZE, self.primal_bound, self.dual_bound).gap_rel


@dataclass(frozen=True)
class BoundTrace:
    """Incumbent and bound over time; both only ever improve.

    Examples
    --------
    >>> from mmbn_opt.results import Sense, TraceRecorder
    >>> recorder = TraceRecorder(Sense.MAXIMIZE, clock=iter([0.0, 0.5, 2.0]).__next__)
    >>> recorder.record(primal=8.0, dual=16.0, event="start", source="naive_bayes")
    >>> recorder.record(primal=12.0, event="incumbent", source="highs")
    >>> trace = recorder.finish()
    >>> trace.to_frame()[["time_sec", "primal_bound", "dual_bound"]].values.tolist()
    [[0.0, 8.0, 16.0], [0.5, 12.0, 16.0], [2.0, 12.0, 16.0]]
    >>> trace.primal_integral()
    0.08333333333333333
    """

    sense: Sense
    records: tuple[TraceRecord, ...] = ()

    def __repr__(self) -> str:
        last = f"{self.records[-1].time_sec:.2f} s, {self.bounds}" if self.records else "empty"
        return f"BoundTrace({len(self.records)} records, {last})"

    def __len__(self) -> int:
        return len(self.records)

    def __iter__(self) -> Iterator[TraceRecord]:
        return iter(self.records)

    @property
    def bounds(self) -> ObjectiveBounds:
        """Bounds at the end of the trace."""
        if not self.records:
            return ObjectiveBounds(self.sense)
        return ObjectiveBounds(self.sense, self.records[-1].primal_bound, self.records[-1].dual_bound)

    def to_frame(self) -> "pd.DataFrame":
        """One row a record: ``time_sec, primal_bound, dual_bound, nodes, iterations, event, source``."""
        import pandas as pd

        columns = list(TraceRecord.__dataclass_fields__)
        frame = pd.DataFrame([[getattr(r, c) for c in columns] for r in self.records], columns=columns)
        return frame.astype(
            dict.fromkeys(("time_sec", "primal_bound", "dual_bound"), "float64")
            | dict.fromkeys(("nodes", "iterations"), "Int64")
        )

    def first_incumbent_sec(self) -> float | None:
        """Seconds to the first incumbent, or None."""
        return next((r.time_sec for r in self.records if r.primal_bound is not None), None)

    def primal_integral(self, best: float | None = None) -> float:
        """Time-average of the incumbent's relative gap to `best` over the run (Berthold 2013); 1 while there is none.

        `best` defaults to the last incumbent.
        """
        if not self.records:
            return 1.0
        end = self.records[-1].time_sec
        target = self.bounds.primal_bound if best is None else best
        if end <= 0.0 or target is None:
            return 0.0 if target is not None and self.records[-1].primal_bound == target else 1.0
        area, gap, since = 0.0, 1.0, 0.0
        for record in self.records:
            area += gap * (record.time_sec - since)
            since = record.time_sec
            if record.primal_bound is not None:
                scale = max(abs(target), abs(record.primal_bound))
                gap = (
                    1.0
                    if target * record.primal_bound < 0
                    else min(1.0, abs(target - record.primal_bound) / scale if scale else 0.0)
                )
        return area / end

    def plot(self, ax: Any = None, *, value_name: str = "Objective") -> Any:
        """Draw both curves with matplotlib (extra ``plot``); `value_name` is what the vertical axis shows."""
        return delegate("plot_trace")(self, ax=ax, value_name=value_name)

    def _repr_html_(self) -> str:
        html: str = delegate("trace_html")(self)
        return html


@dataclass
class TraceRecorder:
    """Collects records and keeps them monotone: a worse incumbent or a weaker bound is not recorded as such.

    Parameters
    ----------
    sense : Sense
    clock : callable returning seconds; by default the wall clock since construction.
    listener : callable or None
        Called with each new record.
    """

    sense: Sense
    clock: Callable[[], float] | None = None
    listener: Callable[[TraceRecord], object] | None = None
    _records: list[TraceRecord] = field(default_factory=list)
    _bounds: ObjectiveBounds | None = None
    _origin: float = field(default_factory=now)

    @property
    def bounds(self) -> ObjectiveBounds:
        """Best bounds so far."""
        return self._bounds if self._bounds is not None else ObjectiveBounds(self.sense)

    def now(self) -> float:
        """Seconds on the recorder's clock."""
        return self.clock() if self.clock is not None else now() - self._origin

    def record(
        self,
        *,
        primal: float | None = None,
        dual: float | None = None,
        nodes: int | None = None,
        iterations: int | None = None,
        event: str = "progress",
        source: str = "",
        time_sec: float | None = None,
    ) -> None:
        """Add a record; bounds that do not improve are replaced by the best so far."""
        bounds = self.bounds
        new_primal = primal if primal is not None and bounds.better_primal(primal) else bounds.primal_bound
        new_dual = dual if dual is not None and bounds.better_dual(dual) else bounds.dual_bound
        if event in ("bound", "incumbent") and (new_primal, new_dual) == (bounds.primal_bound, bounds.dual_bound):
            return
        self._bounds = ObjectiveBounds(self.sense, new_primal, new_dual)
        last = self._records[-1].time_sec if self._records else 0.0
        moment = max(last, self.now() if time_sec is None else time_sec)
        record = TraceRecord(moment, new_primal, new_dual, nodes, iterations, event, source)
        self._records.append(record)
        if self.listener is not None:
            self.listener(record)

    def finish(self, *, nodes: int | None = None, iterations: int | None = None, source: str = "") -> BoundTrace:
        """Append the final record and return the trace."""
        self.record(event="final", nodes=nodes, iterations=iterations, source=source)
        return self.snapshot()

    def snapshot(self) -> BoundTrace:
        """The trace so far."""
        return BoundTrace(self.sense, tuple(self._records))
