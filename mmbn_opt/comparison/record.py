"""One run of a comparison as plain data: its outcome, what the solver said, what we found, where it ran; as JSON."""

import json
import math
import reprlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar

from mmbn_opt.exceptions import FormatError
from mmbn_opt.interop.json_fields import checked_value, mapping_of, member_of, record_fields
from mmbn_opt.interop.json_text import parse_json
from mmbn_opt.results.bounds import ObjectiveBounds
from mmbn_opt.results.status import Sense, TerminationStatus, _Described
from mmbn_opt.results.trace import BoundTrace, TraceRecord

__all__ = ["CLAIM_TOLERANCE", "RunOutcome", "RunRecord"]


class RunOutcome(_Described):
    """What became of the process of one run.

    Examples
    --------
    >>> RunOutcome.HUNG.sentence
    'The run did not end within the budget and the grace and was killed.'
    """

    ANSWERED = ("ANSWERED", "The run ended by itself; its termination status says why.")
    REFUSED = ("REFUSED", "The solver or the formulation refused the problem and said why.")
    RAISED = ("RAISED", "The run ended with an error; its text is kept.")
    CRASHED = ("CRASHED", "The process of the run died.")
    HUNG = ("HUNG", "The run did not end within the budget and the grace and was killed.")
    OUT_OF_MEMORY = ("OUT_OF_MEMORY", "The run used more memory than it was given and was ended.")


CLAIM_TOLERANCE = 1e-6
"""Relative difference between a claimed objective and the recomputed one that is put down to rounding."""

_FORMAT = "mmbn_opt run 1"


@dataclass(frozen=True)
class RunRecord:
    """One run: a formulation, a solver, a seed, and what came of it.

    Parameters
    ----------
    key : str
        Fingerprint of everything that determines the run.
    formulation, solver : str
        Labels.
    seed : int
    time_limit : float or None
        Seconds.
    rel_gap, abs_gap : float
        Gaps at which the run was asked to stop.
    sense : Sense
    outcome : RunOutcome
    status : TerminationStatus or None
        None unless the run answered.
    raw_status, detail : str
        The solver's own words; what went wrong.
    trace : BoundTrace
        Incumbents are recomputed by us; bounds are those of the run.
    claimed_primal, own_value : float or None
        Objective of the solver's vector as the solver says, and as the formulation evaluates it.
    certificate_ok : bool or None
    failed_checks : str
    seconds : float
        Wall-clock seconds of the run.
    peak_memory : int or None
        Bytes, of the process of the run with all that it started.
    solver_version : str
    size : mapping
        ``columns, integers, rows, nonzeros`` of the program.
    versions : mapping
    machine : str
    """

    key: str
    formulation: str
    solver: str
    seed: int
    time_limit: float | None
    rel_gap: float
    abs_gap: float
    sense: Sense
    outcome: RunOutcome
    status: TerminationStatus | None
    raw_status: str
    detail: str
    trace: BoundTrace
    claimed_primal: float | None
    own_value: float | None
    certificate_ok: bool | None
    failed_checks: str
    seconds: float
    peak_memory: int | None
    solver_version: str
    size: Mapping[str, int] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    machine: str = ""

    names: ClassVar[tuple[str, str, str]] = ("formulation", "solver", "seed")

    @property
    def bounds(self) -> ObjectiveBounds:
        """Bounds at the end of the run."""
        return ObjectiveBounds(self.sense, self.trace.bounds.primal_bound, self.trace.bounds.dual_bound)

    @property
    def label(self) -> str:
        """One word for why the run ended: the solver's status, or what became of its process."""
        return self.outcome.label if self.status is None else self.status.label

    @property
    def claim_ok(self) -> bool:
        """Whether the objective that the solver claims is the one that we compute for its vector."""
        if self.claimed_primal is None:
            return True
        if self.own_value is None:
            return False
        return abs(self.claimed_primal - self.own_value) <= CLAIM_TOLERANCE * max(1.0, abs(self.own_value))

    def to_json(self) -> str:
        """The record as a JSON text.

        Examples
        --------
        >>> from mmbn_opt.comparison import RunRecord
        >>> record = RunRecord("k", "car", "highs", 0, 60.0, 0.0, 0.0, Sense.MAXIMIZE, RunOutcome.HUNG, None, "", "",
        ...                    BoundTrace(Sense.MAXIMIZE), None, None, None, "", 70.0, None, "1.16")
        >>> RunRecord.from_json(record.to_json()) == record
        True
        """
        content = {f.name: _plain(getattr(self, f.name)) for f in fields(self)}
        return json.dumps({"format": _FORMAT, **content}, indent=1, allow_nan=False) + "\n"

    @classmethod
    def from_json(cls, text: str) -> "RunRecord":
        """Read what `to_json` wrote.

        Raises
        ------
        FormatError
            If the text is something else.
        """
        try:
            return cls(**_fields(parse_json(text)))
        except ValueError as error:
            raise FormatError(
                f"This is not a run of a comparison: {error}. Remove the file to run it again."
            ) from error


def _fields(content: Any) -> dict[str, Any]:
    """The fields of a record; `ValueError` with the place of what is wrong."""
    found = record_fields(content, RunRecord, _FORMAT, _KINDS)
    sense = member_of(Sense, "sense", content["sense"], by_value=True)
    status = content["status"]
    return found | {
        "sense": sense,
        "outcome": member_of(RunOutcome, "outcome", content["outcome"]),
        "status": None if status is None else member_of(TerminationStatus, "status", status),
        "trace": BoundTrace(sense, tuple(_records(content["trace"]))),
        "size": mapping_of("size", content["size"], "whole"),
        "versions": mapping_of("versions", content["versions"], "text"),
    }


_KINDS = {
    **dict.fromkeys(("key", "formulation", "solver", "raw_status", "detail", "failed_checks"), "text"),
    **dict.fromkeys(("solver_version", "machine"), "text"),
    **dict.fromkeys(("rel_gap", "abs_gap", "seconds"), "size"),
    **dict.fromkeys(("claimed_primal", "own_value"), "number or null"),
    "time_limit": "size or null",
    "seed": "whole",
    "peak_memory": "count or null",
    "certificate_ok": "bool or null",
}
_TRACE_KINDS = ("size", "number or null", "number or null", "count or null", "count or null", "text", "text")


def _records(rows: Any) -> Iterator[TraceRecord]:
    if not isinstance(rows, list):
        raise ValueError(f"trace must be a list, got {reprlib.repr(rows)}")
    names, last = [f.name for f in fields(TraceRecord)], 0.0
    for k, row in enumerate(rows):
        if not isinstance(row, list) or len(row) != len(names):
            raise ValueError(f"trace[{k}] must be a list of {', '.join(names)}, got {reprlib.repr(row)}")
        places = (f"trace[{k}].{name}" for name in names)
        record = TraceRecord(*(checked_value(w, v, kind) for w, v, kind in zip(places, row, _TRACE_KINDS, strict=True)))
        if record.time_sec < last:
            raise ValueError(f"trace[{k}].time_sec must not be before that of the record above, got {record.time_sec}")
        last = record.time_sec
        yield record


def _plain(value: Any) -> Any:
    if isinstance(value, BoundTrace):
        return [[_plain(getattr(r, f.name)) for f in fields(r)] for r in value.records]
    if isinstance(value, Sense):
        return value.value
    if isinstance(value, (RunOutcome, TerminationStatus)):
        return value.name
    if isinstance(value, Mapping):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
