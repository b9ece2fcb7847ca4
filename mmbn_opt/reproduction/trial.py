"""One run of an experiment: a method on one split of a data set; as a plan, and as a record that is kept as JSON."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar

from mmbn_opt.comparison.record import RunOutcome
from mmbn_opt.exceptions import FormatError
from mmbn_opt.interop.json_fields import mapping_of, member_of, record_fields
from mmbn_opt.interop.json_text import parse_json
from mmbn_opt.reproduction.measures import Removal
from mmbn_opt.reproduction.methods import Context
from mmbn_opt.reproduction.sources import Table
from mmbn_opt.reproduction.splits import Split

__all__ = ["PlannedTrial", "TrialRecord"]

_FORMAT = "mmbn_opt trial 1"


@dataclass(frozen=True, eq=False)
class PlannedTrial:
    """A run before it is done; it can travel to another process or machine.

    `chosen` has the values of this run where held-out rows choose between runs. Runs with the same `work` are the same
    under two labels: one of them is done.
    """

    key: str
    work: str
    method: str
    split: int
    table: Table
    rows: Split
    kind: str
    settings: Mapping[str, Any]
    context: Context
    time_limit: float
    token: str
    chosen: Mapping[str, str] = field(default_factory=dict)
    removal: Removal | None = None
    is_timed: bool = False
    grace: float = 10.0
    memory_limit: float | None = None

    @property
    def dataset(self) -> str:
        """Name of the data set."""
        return self.table.name

    @property
    def label(self) -> str:
        """What the log calls it."""
        return f"{self.method} on {self.dataset}, split {self.split}"


@dataclass(frozen=True)
class TrialRecord:
    """A run that was done.

    Parameters
    ----------
    key : str
        Fingerprint of everything that determines the run.
    dataset, method : str
    split : int
    outcome : RunOutcome
    detail : str
        What went wrong.
    numbers : mapping from a name of `MEASURES` to float
    certificate : str
    chosen : mapping of setting to text
        What the method chose on training rows, or the values of this run where held-out rows choose between runs.
    n_train, n_test : int
        Rows.
    time_limit : float
        Seconds that the method was given to learn.
    seconds : float
        Wall clock, the start of the process included.
    peak_memory : int or None
        Bytes.
    versions : mapping
    machine : str
    """

    key: str
    dataset: str
    method: str
    split: int
    outcome: RunOutcome
    detail: str
    numbers: Mapping[str, float]
    certificate: str
    chosen: Mapping[str, str]
    n_train: int
    n_test: int
    time_limit: float
    seconds: float
    peak_memory: int | None = None
    versions: Mapping[str, str] = field(default_factory=dict)
    machine: str = ""

    names: ClassVar[tuple[str, str, str]] = ("dataset", "method", "split")

    def under(self, trial: PlannedTrial) -> "TrialRecord":
        """The same run, as another label tells it."""
        return replace(self, key=trial.key, method=trial.method, chosen=dict(trial.chosen) or self.chosen)

    def to_json(self) -> str:
        """The record as a JSON text.

        Examples
        --------
        >>> record = TrialRecord("k", "iris", "TAN", 0, RunOutcome.ANSWERED, "", {"accuracy": 0.9}, "none", {}, 120, 30,
        ...                      60.0, 1.5)
        >>> TrialRecord.from_json(record.to_json()) == record
        True
        """
        content = {f.name: getattr(self, f.name) for f in fields(self)} | {"outcome": self.outcome.name}
        return json.dumps({"format": _FORMAT, **content}, indent=1, allow_nan=False) + "\n"

    @classmethod
    def from_json(cls, text: str) -> "TrialRecord":
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
                f"This is not a run of an experiment: {error}. Remove the file to run it again."
            ) from error


_KINDS = {
    **dict.fromkeys(("key", "dataset", "method", "detail", "certificate", "machine"), "text"),
    **dict.fromkeys(("time_limit", "seconds"), "number"),
    **dict.fromkeys(("split", "n_train", "n_test"), "whole"),
    "peak_memory": "whole or null",
}


def _fields(content: Any) -> dict[str, Any]:
    found = record_fields(content, TrialRecord, _FORMAT, _KINDS)
    return found | {
        "outcome": member_of(RunOutcome, "outcome", content["outcome"]),
        "numbers": mapping_of("numbers", content["numbers"], "number"),
        "chosen": mapping_of("chosen", content["chosen"], "text"),
        "versions": mapping_of("versions", content["versions"], "text"),
    }
