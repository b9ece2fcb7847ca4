"""Column names as a file gives them."""

from collections import Counter
from collections.abc import Sequence

from mmbn_opt._arguments import listed, shown
from mmbn_opt.exceptions import FormatError

__all__ = ["refuse_bad_names"]


def refuse_bad_names(names: Sequence[str], source: str) -> None:
    """Refuse a header with duplicate or empty names: pandas would rename them without a word."""
    repeated = [f"{shown(name)} ({count} times)" for name, count in Counter(names).items() if count > 1 and name]
    if repeated:
        raise FormatError(
            f"{source}: column names that occur more than once: {listed(repeated, show=str)}. "
            "Rename them; if the first row is data, add a row with names above it."
        )
    nameless = [str(j + 1) for j, name in enumerate(names) if not name]
    if nameless:
        raise FormatError(
            f"{source}: column {listed(nameless, show=str)} of {len(names)} has no name. Name it in the first row, "
            "or leave it out (a row index that was written along?)."
        )
