"""The words for an outcome: status, bounds, trace, check, result."""

from typing import TYPE_CHECKING

from mmbn_opt._lazy import names_on_demand

if TYPE_CHECKING:
    from mmbn_opt.results.bounds import ObjectiveBounds as ObjectiveBounds
    from mmbn_opt.results.result import Certificate as Certificate
    from mmbn_opt.results.result import Check as Check
    from mmbn_opt.results.result import CheckSubject as CheckSubject
    from mmbn_opt.results.result import Result as Result
    from mmbn_opt.results.result import Seconds as Seconds
    from mmbn_opt.results.status import BoundKind as BoundKind
    from mmbn_opt.results.status import Sense as Sense
    from mmbn_opt.results.status import SolutionStatus as SolutionStatus
    from mmbn_opt.results.status import TerminationStatus as TerminationStatus
    from mmbn_opt.results.trace import BoundTrace as BoundTrace
    from mmbn_opt.results.trace import TraceRecord as TraceRecord
    from mmbn_opt.results.trace import TraceRecorder as TraceRecorder

_HOMES = {
    "BoundKind": "status",
    "BoundTrace": "trace",
    "Certificate": "result",
    "Check": "result",
    "CheckSubject": "result",
    "ObjectiveBounds": "bounds",
    "Result": "result",
    "Seconds": "result",
    "Sense": "status",
    "SolutionStatus": "status",
    "TerminationStatus": "status",
    "TraceRecord": "trace",
    "TraceRecorder": "trace",
}

__all__ = [*_HOMES]

__getattr__, __dir__ = names_on_demand(__name__, _HOMES)
