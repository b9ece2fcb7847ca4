"""What becomes of proofs that were tampered with: they may be refused, be about something else, or be weaker."""

from collections import Counter
from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path
from typing import Any

from mmbn_opt.exceptions import InputError
from mmbn_opt.verification import Verified, verify

__all__ = ["outcomes_of"]


def outcomes_of(
    contents: Iterable[tuple[str, bytes]], file: Path, table: Path, whole: Verified, best: Any, slack: float = 0.0
) -> Counter:
    """How often which tampering ended how; fails where a bound is false.

    Parameters
    ----------
    contents : iterable of (str, bytes)
        How each file was made another one, and what it holds.
    file, table : Path
        Where a content is put, and the rows that it is about.
    whole : Verified
        What the file said before.
    best : number
        The optimum, which a bound must not be better than, by more than `slack`.
    """
    seen: Counter = Counter()
    sign = -1 if whole.minimize else 1
    for how, content in contents:
        file.write_bytes(content)
        try:
            found = verify(file, table)
        except InputError:
            seen[how, "refused"] += 1
            continue
        if found.statement != whole.statement:  # it says itself that it is about something else
            seen[how, "another statement"] += 1
            continue
        spare = sign * found.bound
        assert spare == float("inf") or Fraction(spare) >= sign * Fraction(best) - Fraction(slack), (how, found)
        seen[how, "weaker" if sign * (found.bound - whole.bound) > 1e-9 else "the same"] += 1
    return seen
