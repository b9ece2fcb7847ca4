"""The raw table that a proof is about, held against what the proof says of it."""

import zlib
from base64 import b64decode
from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np

from mmbn_opt.exceptions import InputError
from mmbn_opt.rigour.cells import Column, read_codes
from mmbn_opt.rigour.samples import Samples

__all__ = ["table_of"]


def table_of(header: dict[str, Any], data: Path, na: Collection[str]) -> tuple[Samples, tuple[str, ...]]:
    """Rows of a table as the header of a proof reads them, merged, and in words the problem and how columns are read.

    Raises
    ------
    InputError
        If it is another table; the first row that differs is named.
    """
    said = header["data"]
    columns = [
        Column(v["name"], tuple(map(str, v["states"])), v["cuts"], v["has_missing_state"]) for v in header["nodes"]
    ]
    rows = read_codes(data, columns, na, drop=said["dropped"] > 0)
    checksums = np.frombuffer(b64decode(said["row_crc32"] or ""), "<u4").tolist()
    for (line, row), checksum in zip(rows.items(), checksums, strict=False):
        if zlib.crc32(np.array(row, dtype="<i4").tobytes()) != checksum:
            raise InputError(f"{data}: line {line} differs from the data of the proof. Give the table that was solved.")
    if not len(rows) == said["rows"] == said["total_weight"]:
        told = f"{data} has {len(rows)} rows, the proof is about {said['rows']} that weigh {said['total_weight']:g}"
        raise InputError(f"{told}. Give the table that was solved, and repeat rows in place of weights.")
    samples = Samples.of(np.array(list(rows.values())), tuple(len(column.states) for column in columns))
    statement = [f"table: {data.name}, {len(rows)} rows"]
    statement += [f"{key}: {value}" for key, value in header["problem"].items() if value not in (None, [])]
    return samples, (*statement, *(f"{column.name}: {column.cuts or column.states}" for column in columns))
