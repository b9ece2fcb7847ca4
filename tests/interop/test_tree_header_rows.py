"""What a tree file says of its rows: the same from blocks as from the whole table, and in the memory of a block."""

import base64
import hashlib
import tracemalloc
import zlib
from dataclasses import replace

import numpy as np

import mmbn_opt as mm
from mmbn_opt.interop import tree_header


def test_rows_are_told_in_the_memory_of_a_block(monkeypatch) -> None:
    rng = np.random.default_rng(0)
    n = 30_000
    data = mm.DiscreteDataset.from_arrays(rng.integers(0, 4, (n, 9)), rng.integers(0, 3, n))
    data = replace(data, sample_weight=rng.random(n) + 0.5)
    whole = np.zeros(n, dtype=[("codes", "<i4", (10,)), ("weight", "<f8")])
    whole["codes"], whole["weight"] = np.column_stack([data.target_codes, data.codes]), data.sample_weight
    rows = np.ascontiguousarray(np.column_stack([data.codes, data.target_codes]), dtype="<i4")
    sums = np.array([zlib.crc32(row.tobytes()) for row in rows], dtype="<u4")
    monkeypatch.setattr(tree_header, "_ROWS_AT_ONCE", 999)
    tracemalloc.start()
    told = tree_header.table_told(data, data)["data"]
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert told["sha256"] == hashlib.sha256(whole.tobytes()).hexdigest()
    assert told["row_crc32"] == base64.b64encode(sums.tobytes()).decode()
    assert most < whole.nbytes // 2
