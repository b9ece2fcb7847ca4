"""Mixed-integer programs as .nl files with the names of their columns beside them."""

import re
import tempfile
from collections import Counter
from pathlib import Path

from mmbn_opt.exceptions import InputError
from mmbn_opt.programs.as_pyomo import pyomo_linear_model
from mmbn_opt.programs.mixed_integer import MixedIntegerProgram

from .atomic import write_bytes_atomic, write_text_atomic

__all__ = ["nl_names", "write_nl"]

_PLAIN = re.compile(r"[!-~]{1,255}")


def nl_names(program: MixedIntegerProgram) -> list[str]:
    r"""Names of the columns as a ``.col`` file can keep them: without spaces, ``x17`` (its position) where none can.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> import numpy as np
    >>> program = MixedIntegerProgram(
    ...     c=np.ones(3), A=sp.csr_array((0, 3)), row_lower=np.zeros(0), row_upper=np.zeros(0), col_lower=np.zeros(3),
    ...     col_upper=np.ones(3), integrality=np.ones(3, dtype=bool), column_names=("eta_0", "two\nlines", "größe"))
    >>> nl_names(program)
    ['eta_0', 'x1', 'x2']
    """
    count = program.c.size
    own = program.column_names or tuple(f"x{j}" for j in range(count))
    own = tuple(name.replace(" ", "") for name in own)
    times = Counter(own)
    places = {f"x{j}": j for j in range(count)}
    return [
        name if _PLAIN.fullmatch(name) and times[name] == 1 and places.get(name, j) == j else f"x{j}"
        for j, name in enumerate(own)
    ]


def write_nl(program: MixedIntegerProgram, path: str | Path) -> Path:
    """Write the program, and the names of its columns in the file's order beside it; returns the path of the names.

    An .nl file has no names and puts integer columns last, so a solver's answer is read with the help of the ``.col``
    file, one name a line, as AMPL writes it; for names that no line can keep see `nl_names`. Columns that are in no row
    and not in the objective are left out.

    Raises
    ------
    InputError
        Where nothing is left to write, or a row without columns can't hold.
    """
    from pyomo.common.errors import InfeasibleConstraintException

    from mmbn_opt.programs.as_pyomo import write_nl as write_model

    target = Path(path)
    column_file = target.with_suffix(".col")
    if column_file == target:
        raise InputError(f"{target.name} is where the names of the columns go; let the name of the program end in .nl.")
    with tempfile.TemporaryDirectory() as folder:
        draft = Path(folder) / "program.nl"
        try:
            variables, _ = write_model(pyomo_linear_model(program), str(draft))
        except InfeasibleConstraintException as error:
            raise InputError(f"The program has no solution, as a row without columns shows: {error}") from error
        text = draft.read_bytes()
    if not variables:
        raise InputError("The program has no columns in its rows and its objective; there is nothing to solve.")
    names = nl_names(program)
    write_text_atomic(column_file, "".join(f"{names[variable.index()]}\n" for variable in variables))
    write_bytes_atomic(target, text)
    return column_file
