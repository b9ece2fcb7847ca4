"""The course of a run as a curve shows it: with every step that a method of descent has taken."""

import math

from mmbn_opt.results.result import Result
from mmbn_opt.results.trace import BoundTrace, TraceRecorder

__all__ = ["history"]

_AGREES = 1e-6


def history(result: Result) -> BoundTrace:
    """The trace of a result; where no bound is claimed, with the values that the solver passed on its way.

    Methods without a bound improve in each of hundreds of steps, of which the result's own trace keeps the few whose
    model was made. The solver's trace has them all, in the sense of the program and by a clock that began later.
    """
    own, steps = result.trace, result.solver_trace
    if result.bounds.dual_bound is not None or steps is None or len(steps) <= len(own) or not own.records:
        return own
    last, value = steps.bounds.primal_bound, result.bounds.primal_bound
    sign = result.sense.sign
    if last is None or value is None or abs(sign * last - value) > _AGREES * max(1.0, abs(value)):
        return own  # what the program minimises is not the objective with its sign turned
    later = own.records[-1].time_sec - steps.records[-1].time_sec
    recorder = TraceRecorder(result.sense, clock=lambda: 0.0)
    moments = [(r.time_sec, r.primal_bound, r.source) for r in own]
    moments += [
        (later + r.time_sec, sign * r.primal_bound, r.source)
        for r in steps
        if r.primal_bound is not None and math.isfinite(r.primal_bound)
    ]
    for time, primal, source in sorted(moments, key=lambda moment: moment[0]):
        recorder.record(primal=primal, event="progress", source=source, time_sec=max(0.0, time))
    return recorder.snapshot()
