"""What proves a dual bound beside the search that found it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["Proof"]


@dataclass(frozen=True)
class Proof:
    """A dual bound that was computed anew, by other code than the search's, while it ran.

    Parameters
    ----------
    value : float
        The bound, in the sense of the program.
    counts : mapping
        What the proof consists of: how many bounds, boxes, multipliers.

    Examples
    --------
    >>> print(Proof(-3.5, {"closed_boxes": 1200, "bounds": 14}))
    1,200 closed boxes, 14 bounds
    """

    value: float
    counts: Mapping[str, int] = field(default_factory=dict)

    def __str__(self) -> str:
        return ", ".join(f"{count:,} {name.replace('_', ' ')}" for name, count in self.counts.items())
