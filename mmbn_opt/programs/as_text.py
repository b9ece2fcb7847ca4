"""Mixed-integer programs as MPS and LP text, written here digit by digit.

Writers in C follow the process's locale (a decimal comma in Germany), and one solver's LP dialect is another program to
the next. What is written here is plain enough to mean the same to all: no ranges, no abbreviated section, every bound
explicit, names that are no number and no keyword.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TypeVar

import numpy as np
import scipy.sparse as sp

from mmbn_opt._arrays import FloatArray
from mmbn_opt.exceptions import InputError
from mmbn_opt.programs.mixed_integer import MixedIntegerProgram
from mmbn_opt.programs.safe_names import safe_names

__all__ = ["CONSTANT", "lp_blocks", "mps_blocks", "write_program"]

CONSTANT = "one"
"""Column, fixed at 1, whose cost is the constant of the objective: CBC drops it from LP, GLPK turns its sign in MPS."""

Item = TypeVar("Item")

_OBJECTIVE = "obj"
_BLOCK = 512
"""Columns, rows or bounds that are written at once."""
_TERMS_PER_LINE = 5
_WHOLE = 1e-6
"""What a bound of an integer column may miss a whole number by, as solvers see it."""
_NOTHING = 1e-9
"""A coefficient that moves its row by no more, far below any solver's tolerance, is left out: HiGHS warns of it."""


def write_program(program: MixedIntegerProgram, path: str | Path, *, names: bool = False) -> None:
    """Write `program` as MPS or LP, by the ending of `path`, with all digits of its numbers.

    Columns are called ``c0, c1, ...`` and rows ``r0, r1, ...``, in the program's order. A row with two different sides
    is two rows (``r3`` and ``r3u``), one without a side is left out, and bounds of integer columns are whole. The
    constant of the objective is the cost of a last column ``one`` that is fixed at 1.

    Parameters
    ----------
    program : MixedIntegerProgram
    path : str or Path
        Ends in ``.mps`` or ``.lp``.
    names : bool
        Use the program's own names where they are safe for every reader, see `safe_names`.

    Raises
    ------
    InputError
        For another ending, or where a lower side is +inf or an upper one -inf.

    Examples
    --------
    >>> import tempfile
    >>> program = MixedIntegerProgram(
    ...     c=np.array([-1.0, -2.0]), A=sp.csr_array(np.array([[1.0, 0.1]])), offset=0.5,
    ...     row_lower=np.array([-np.inf]), row_upper=np.array([1.0]),
    ...     col_lower=np.zeros(2), col_upper=np.ones(2), integrality=np.array([True, False]))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_program(program, Path(folder, "two.lp"))
    ...     print(Path(folder, "two.lp").read_text())
    Minimize
     obj: - 1.0 c0 - 2.0 c1 + 0.5 one
    Subject To
     r0: + 1.0 c0 + 0.1 c1 <= 1.0
    Bounds
     0.0 <= c0 <= 1.0
     0.0 <= c1 <= 1.0
     one = 1.0
    Generals
     c0
    End
    <BLANKLINE>
    """
    target = Path(path)
    writers = {".mps": mps_blocks, ".lp": lp_blocks}
    if target.suffix.lower() not in writers:
        raise InputError(f"The name of a program ends in .mps or .lp, got {target.name!r}.")
    blocks = writers[target.suffix.lower()](program, names=names)
    with target.open("w", encoding="ascii", newline="\n") as stream:
        stream.writelines(blocks)


def mps_blocks(program: MixedIntegerProgram, *, names: bool = False, constant_column: bool = True) -> Iterator[str]:
    """The text of an MPS file in parts, so that a writer can stop between them.

    Without `constant_column` the constant of the objective is the negative of its right-hand side, as CBC has it.
    """
    constant = (bool(program.offset) and constant_column) or not program.c.size
    if constant:
        program = _with_constant_column(program)
    form = _one_sided(program, names, constant)
    yield "NAME          mmbn_opt\nROWS\n N  obj\n"
    for rows in _batched(zip(form.sense, form.rows, strict=True), _BLOCK):
        yield "".join(f" {_LETTER[sense]}  {row}\n" for sense, row in rows)
    yield "COLUMNS\n"
    matrix = sp.csc_array(sp.vstack([sp.csr_array(program.c[None, :]), form.A]))
    owners = [_OBJECTIVE, *form.rows]
    marked = 0
    for block in _batched(range(program.c.size), _BLOCK):
        lines: list[str] = []
        for j in block:
            if bool(program.integrality[j]) != bool(marked % 2):
                lines.append(_mps_marker(marked))
                marked += 1
            part = slice(matrix.indptr[j], matrix.indptr[j + 1])
            name = form.columns[j]
            entries = list(zip(matrix.indices[part].tolist(), matrix.data[part].tolist(), strict=True)) or [(0, 0.0)]
            lines += [f"    {name:<8}  {owners[i]:<8}  {value!r}\n" for i, value in entries]
        yield "".join(lines)
    if marked % 2:
        yield _mps_marker(marked)
    yield "RHS\n" + (f"    RHS       {_OBJECTIVE:<8}  {-program.offset!r}\n" if program.offset else "")
    for sides in _batched(zip(form.rows, form.rhs.tolist(), strict=True), _BLOCK):
        yield "".join(f"    RHS       {row:<8}  {value!r}\n" for row, value in sides if value)
    yield "BOUNDS\n"
    sides_of = (form.lower.tolist(), form.upper.tolist(), program.integrality.tolist())
    for limits in _batched(zip(form.columns, *sides_of, strict=True), _BLOCK):
        yield "".join(_mps_bounds(*limit) for limit in limits)
    yield "ENDATA\n"


def lp_blocks(program: MixedIntegerProgram, *, names: bool = False) -> Iterator[str]:
    """The text of an LP file in parts, so that a writer can stop between them."""
    constant = bool(program.offset) or not program.c.size
    if constant:
        program = _with_constant_column(program)
    form = _one_sided(program, names, constant)
    # A row or an objective has a term, and a column that stands nowhere else is named here.
    nothing = f" 0.0 {form.columns[0]}"
    told = np.flatnonzero((np.diff(form.A.tocsc().indptr) == 0) | (program.c != 0)).tolist()
    costs = _sum([(program.c[j], form.columns[j]) for j in told])
    yield f"Minimize\n {_OBJECTIVE}:{costs or nothing}\nSubject To\n"
    for block in _batched(enumerate(zip(form.rows, form.sense, form.rhs.tolist(), strict=True)), _BLOCK):
        lines = []
        for i, (row, sense, side) in block:
            part = slice(form.A.indptr[i], form.A.indptr[i + 1])
            entries = zip(form.A.data[part].tolist(), form.A.indices[part].tolist(), strict=True)
            total = _sum([(value, form.columns[j]) for value, j in entries])
            lines.append(f" {row}:{total or nothing} {sense} {side!r}\n")
        yield "".join(lines)
    if not form.rows:
        yield f" r0:{nothing} <= 1.0\n"  # GLPK asks for one
    yield "Bounds\n"
    for limits in _batched(zip(form.columns, form.lower.tolist(), form.upper.tolist(), strict=True), _BLOCK):
        yield "".join(_lp_bounds(*limit) for limit in limits)
    integers = [form.columns[j] for j in np.flatnonzero(program.integrality).tolist()]
    if integers:
        yield "Generals\n" + "".join(f" {' '.join(some)}\n" for some in _batched(integers, _TERMS_PER_LINE))
    yield "End\n"


_LETTER = {"<=": "L", ">=": "G", "=": "E"}


@dataclass(frozen=True, eq=False)
class _OneSided:
    """The rows as every reader knows them: one sense and one side each; and the names of all parts."""

    A: sp.csr_array
    sense: list[str]
    rhs: FloatArray
    lower: FloatArray
    upper: FloatArray
    rows: list[str]
    columns: list[str]


def _one_sided(program: MixedIntegerProgram, names: bool, constant: bool) -> _OneSided:
    canonical = program.canonical()
    _refuse_impossible(canonical)
    n_rows, n_columns = canonical.A.shape
    lower, upper = canonical.row_lower, canonical.row_upper
    equal = lower == upper
    below, above = np.isfinite(lower) & ~equal, np.isfinite(upper) & ~equal
    # Where the bounds of a column cross, a reader may take a negative upper bound for the end of a free column: as a
    # row the lower bound can't be mistaken.
    least, most = canonical.col_lower.copy(), canonical.col_upper.copy()
    whole = canonical.integrality
    least[whole], most[whole] = np.ceil(least[whole] - _WHOLE) + 0.0, np.floor(most[whole] + _WHOLE) + 0.0
    crossed = np.flatnonzero(least > most)
    kinds = [("=", equal, lower), (">=", below, lower), ("<=", above, upper)]
    places = [np.flatnonzero(chosen) for _, chosen, _ in kinds]
    position = np.concatenate(places)
    order = np.argsort(position, kind="stable")
    sense = np.repeat([kind for kind, _, _ in kinds], [len(place) for place in places])[order]
    rhs = np.concatenate([side[place] for (_, _, side), place in zip(kinds, places, strict=True)])[order]
    position = position[order]
    row_names = safe_names(canonical.row_names, "r") if names and canonical.row_names else _counted("r", n_rows)
    columns = safe_names(canonical.column_names, "c") if names and canonical.column_names else _counted("c", n_columns)
    if constant:
        columns[-1] = CONSTANT
    twin = np.concatenate([[False], position[1:] == position[:-1]]) if len(position) else np.zeros(0, dtype=bool)
    unit = sp.csr_array((np.ones(len(crossed)), (np.arange(len(crossed)), crossed)), shape=(len(crossed), n_columns))
    matrix = sp.csr_array(sp.vstack([canonical.A[position], unit]))
    matrix.eliminate_zeros()
    reach = np.maximum(abs(least), abs(most))
    matrix.data[abs(matrix.data) * np.maximum(reach, 1.0)[matrix.indices] <= _NOTHING] = 0.0
    matrix.eliminate_zeros()
    return _OneSided(
        matrix,
        [*sense.tolist(), *[">="] * len(crossed)],
        np.concatenate([rhs, least[crossed]]),
        np.where(least > most, -np.inf, least),
        most,
        [f"r{i}u" if again else row_names[i] for i, again in zip(position.tolist(), twin.tolist(), strict=True)]
        + [f"r{n_rows + k}" for k in range(len(crossed))],
        columns,
    )


def _batched(items: Iterable[Item], size: int) -> Iterator[tuple[Item, ...]]:
    rest = iter(items)
    while block := tuple(islice(rest, size)):
        yield block


def _counted(letter: str, count: int) -> list[str]:
    return [f"{letter}{k}" for k in range(count)]


def _with_constant_column(program: MixedIntegerProgram) -> MixedIntegerProgram:
    """The program with a last column `CONSTANT`, fixed at 1, that costs what the objective's constant was."""
    names = program.column_names or tuple(_counted("c", program.c.size))
    return replace(
        program,
        c=np.append(program.c, program.offset),
        A=sp.csr_array(sp.hstack([program.A, sp.csr_array((program.A.shape[0], 1))])),
        col_lower=np.append(program.col_lower, 1.0),
        col_upper=np.append(program.col_upper, 1.0),
        integrality=np.append(program.integrality, False),
        offset=0.0,
        column_names=(*names, CONSTANT),
    )


def _refuse_impossible(program: MixedIntegerProgram) -> None:
    for name, bad in (("lower", np.inf), ("upper", -np.inf)):
        for part, sides in (("column", getattr(program, f"col_{name}")), ("row", getattr(program, f"row_{name}"))):
            found = np.flatnonzero(sides == bad)
            if found.size:
                raise InputError(f"The {name} side of {part} {found[0]} is {bad}; give a number, or leave it free.")


def _mps_marker(count: int) -> str:
    """Integer columns begin at markers of even number and end at odd ones."""
    return f"    MARK{count:04d}  'MARKER'                 '{'INTEND' if count % 2 else 'INTORG'}'\n"


def _mps_bounds(name: str, lower: float, upper: float, integer: bool) -> str:
    if lower == upper:
        return f" FX BND       {name:<8}  {lower!r}\n"
    if lower == -np.inf:
        # MI comes first: some readers take the upper bound back with it.
        return f" FR BND       {name}\n" if upper == np.inf else f" MI BND       {name}\n" + _mps_upper(name, upper)
    text = f" LO BND       {name:<8}  {lower!r}\n" if lower else ""
    if upper != np.inf:
        return text + _mps_upper(name, upper)
    # An integer column without an upper bound is taken for a binary one by some.
    return text + (f" PL BND       {name}\n" if integer else "")


def _mps_upper(name: str, upper: float) -> str:
    return f" UP BND       {name:<8}  {upper!r}\n"


def _lp_bounds(name: str, lower: float, upper: float) -> str:
    if lower == upper:
        return f" {name} = {lower!r}\n"
    if lower == -np.inf and upper == np.inf:
        return f" {name} free\n"
    if upper == np.inf:
        return f" {name} >= {lower!r}\n"
    return f" {'-inf' if lower == -np.inf else repr(lower)} <= {name} <= {upper!r}\n"


def _sum(terms: Sequence[tuple[float, str]]) -> str:
    """`` + 1.5 c0 - 2.0 c1``, broken into lines."""
    texts = [f"{'-' if value < 0 else '+'} {abs(float(value))!r} {name}" for value, name in terms]
    return "".join(("\n   " if k else " ") + " ".join(some) for k, some in enumerate(_batched(texts, _TERMS_PER_LINE)))
