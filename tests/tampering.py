"""What becomes of proofs that were tampered with: they may be refused, be about something else, or be weaker."""

import json
import struct
from collections import Counter
from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from small_proofs import BEGINS, HEADER, framed

from mmbn_opt.exceptions import InputError
from mmbn_opt.verification import Verified, verify

__all__ = ["outcomes_of", "tampered"]

BAD_NUMBERS = (np.nan, np.inf, -np.inf, -1.0, 0.0, 0.5, 5.0, 1e99, 1e308)


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


def tampered(header, records, rng):
    """Bytes of a file in which one thing is another, with all checksums right."""
    header, records = json.dumps(header).encode(), list(records)
    some, other = rng.integers(0, len(records), size=2)
    kind, payload = records[some]
    how = rng.choice(["bytes", "left out", "swapped", "twice", "header", "number"])
    if how == "bytes" and payload:
        changed = bytearray(payload)
        for place in rng.integers(0, len(payload), size=rng.integers(1, 4)):
            changed[place] = rng.integers(0, 256)
        records[some] = kind, bytes(changed)
    elif how == "left out":
        del records[some]
    elif how == "swapped":
        records[some], records[other] = records[other], records[some]
    elif how == "twice":
        records.insert(other, records[some])
    elif how == "header":
        changed = bytearray(header)
        changed[rng.integers(0, len(header))] = rng.integers(32, 127)
        header = bytes(changed)
    elif len(payload) >= 8:
        place = len(payload) - 8 * rng.integers(1, len(payload) // 8 + 1)
        number = struct.pack("<d", rng.choice(BAD_NUMBERS))
        records[some] = kind, payload[:place] + number + payload[place + 8 :]
    return how, BEGINS + framed(HEADER, header) + b"".join(framed(*record) for record in records)
