"""A proof file of the convex relaxation: its records, and the way from them to what is proved."""

import json
from collections.abc import Collection
from enum import IntEnum
from math import inf
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mmbn_opt.exceptions import FormatError
from mmbn_opt.relaxation_proofs.relaxation import Relaxation
from mmbn_opt.rigour.frames import beginning, frames
from mmbn_opt.rigour.table import table_of
from mmbn_opt.rigour.verified import Verified

__all__ = ["MAGIC", "verified_multipliers"]

MAGIC = b"\x89MMBNC\r\n"
VERSION = b"\x01\0\0\0\0\0\0\0"

Kind = IntEnum("Kind", "HEADER MULTIPLIERS TABLES")


def verified_multipliers(path: Path, data: Path, na: Collection[str]) -> Verified:
    """Prove again what the file claims; what is wrong with the file raises whatever it is noticed by."""
    if beginning(path) != MAGIC + VERSION:
        raise FormatError(f"{path} is no proof file of version 1. Update mmbn_opt, or write the file anew.")
    records = list(frames(path))
    if [kind for kind, _ in records] != [*Kind]:
        raise FormatError(f"{path} was cut off, or damaged: it has {len(records)} whole records of {len(Kind)}.")
    header = json.loads(records[0][1])
    samples, (first, *rest) = table_of(header, data, na)
    problem, claimed = Relaxation(header, samples), header["claimed"]
    if header["problem"]["min_prob"] is None:
        rest.append("bound over logarithms of at least -1000")
    with np.errstate(all="ignore"):  # what overflows proves nothing
        bound = problem.bound(_multipliers(records[1][1], len(samples.codes), samples.cards[-1]))
        margin = float(claimed["gamma"])
        if not 0.0 < margin < inf:
            raise FormatError(f"{path} has tables for a gamma of {margin}.")
        cost, violation = problem.cost(np.frombuffer(records[2][1], "<f8").astype(np.float64), margin)
    said = float(claimed["bound"])
    return Verified(
        (f"{first}; {problem.size} log-probabilities", *rest),
        bound,
        said,
        max(0.0, said - bound),
        float(cost.value),
        float(cost.error),
        len(records),
        minimize=True,
        violation=violation,
    )


def _multipliers(payload: bytes, n: int, classes: int) -> NDArray[np.float64]:
    """By sample and class; only those that are not 0 stand in the file."""
    sizes = np.frombuffer(payload, "<u4", 2).tolist()
    if sizes != [n, classes]:
        raise FormatError(
            f"The proof has multipliers of {sizes[0]} samples and {sizes[1]} classes, not {n} and {classes}."
        )
    octets = np.frombuffer(payload, "u1", -(-n * classes // 8), 8)
    there = np.unpackbits(octets, bitorder="little")[: n * classes] > 0
    found = np.zeros(n * classes)
    found[there] = np.frombuffer(payload, "<f8", int(there.sum()), 8 + len(octets))
    return found.reshape(n, classes)
