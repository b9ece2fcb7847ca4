"""What the columns of a written program stand for, in a JSON file beside it."""

import json
from collections.abc import Sequence
from pathlib import Path

from mmbn_opt.programs.as_text import CONSTANT
from mmbn_opt.programs.mixed_integer import MixedIntegerProgram

from .atomic import write_text_atomic
from .nl import nl_names

__all__ = ["ENDING", "write_name_map"]

ENDING = ".names.json"
"""Appended to the name of the program's file."""


def write_name_map(
    program: MixedIntegerProgram,
    path: str | Path,
    *,
    parent_sets: Sequence[tuple[str, Sequence[str]]] = (),
    file_format: str = "mps",
) -> Path:
    r"""Write the map of the program in `path`; returns the path of the map.

    Names in a program's file are safe for every reader; here they stand beside the program's own ones and, in the
    formulation of a structure, beside the parent set that is chosen where the column is 1. Any text can be the name of
    a feature, so all are JSON strings.

    Parameters
    ----------
    program : MixedIntegerProgram
    path : str or Path
        Where the program was written.
    parent_sets : sequence of (node, parents)
        Of the first columns.
    file_format : str
        ``mps``, ``lp`` or ``nl``, where columns are called as in the ``.col`` file.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np, scipy.sparse as sp
    >>> program = MixedIntegerProgram(
    ...     c=np.array([-1.0]), A=sp.csr_array((0, 1)), row_lower=np.zeros(0), row_upper=np.zeros(0),
    ...     col_lower=np.zeros(1), col_upper=np.ones(1), integrality=np.ones(1, dtype=bool), column_names=("eta_0_0",))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = write_name_map(program, Path(folder, "a.mps"), parent_sets=[("Müll, \"x\"", ["class"])])
    ...     path.name, json.loads(path.read_text())["columns"]
    ('a.mps.names.json', {'c0': {'name': 'eta_0_0', 'node': 'Müll, "x"', 'parents': ['class']}})
    """
    target = Path(path)
    own = program.column_names or tuple(f"x{j}" for j in range(program.c.size))
    written = [f"c{j}" for j in range(program.c.size)] if file_format != "nl" else nl_names(program)
    columns: dict[str, dict[str, object]] = {there: {"name": name} for there, name in zip(written, own, strict=True)}
    for there, (node, parents) in zip(written, parent_sets, strict=False):
        columns[there] |= {"node": node, "parents": list(parents)}
    content = {
        "format": "mmbn_opt names of a program",
        "version": 1,
        "program": target.name,
        "sense": "minimum",
        "constant_column": CONSTANT if file_format != "nl" and program.offset else None,
        "columns": columns,
    }
    return write_text_atomic(target.with_name(target.name + ENDING), json.dumps(content, indent=1) + "\n")
