"""One table in every format that is read."""

import gzip
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

TABLES = ("frame", "csv", "csv.gz", "tsv", "parquet", "arff")
"""The formats; the first one is no file."""


def _quoted(value: Any) -> str:
    text = str(value).replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n").replace("\r", "\\r")
    return "'" + text.replace("\t", "\\t") + "'"


def _arff_cell(value: Any) -> str:
    if pd.isna(value):
        return "?"
    return str(value) if isinstance(value, float | int) and not isinstance(value, bool) else _quoted(value)


def _arff(frame: pd.DataFrame) -> str:
    lines = ["@relation cases"]
    for j, name in enumerate(frame.columns):
        column = frame.iloc[:, j]
        if isinstance(column.dtype, pd.CategoricalDtype):
            kind = "{" + ",".join(_quoted(state) for state in column.cat.categories) + "}"
        elif pd.api.types.is_numeric_dtype(column.dtype) and not pd.api.types.is_bool_dtype(column.dtype):
            kind = "numeric"
        else:
            kind = "string"
        lines.append(f"@attribute {_quoted(name)} {kind}")
    lines.append("@data")
    lines += [",".join(map(_arff_cell, row)) for row in frame.itertuples(index=False)]
    return "\n".join(lines) + "\n"


def write_table(frame: pd.DataFrame, kind: str, path: Path) -> Path:
    """The frame as a file of the kind, with the ending that belongs to it."""
    path = path.with_name(f"{path.name}.{kind}")
    if kind == "parquet":
        pytest.importorskip("pyarrow", reason="pyarrow (extra parquet) is not installed")
        frame.to_parquet(path)
    elif kind == "arff":
        path.write_text(_arff(frame), encoding="utf-8")
    else:
        text = frame.to_csv(index=False, sep="\t" if kind == "tsv" else ",").encode()
        path.write_bytes(gzip.compress(text) if kind.endswith(".gz") else text)
    return path
