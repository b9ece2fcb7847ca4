"""Programs as documents of MathOptFormat 1.0, the JSON form of MathOptInterface that JuMP reads and writes.

B. Legat, O. Dowson, J. D. Garcia, M. Lubin: MathOptInterface, a data structure for mathematical optimization problems,
INFORMS Journal on Computing 34 (2022).
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mmbn_opt._arrays import FloatArray
from mmbn_opt.programs.convex import ConvexProgram
from mmbn_opt.programs.log_rows import LogRows
from mmbn_opt.programs.mixed_integer import MixedIntegerProgram

__all__ = ["convex_mof", "linear_mof"]

Document = dict[str, Any]
Numbers = FloatArray | Sequence[float]


def linear_mof(program: MixedIntegerProgram) -> Document:
    """A mixed-integer program with its own names, a minimum.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> program = MixedIntegerProgram(
    ...     c=np.array([-1.0, 0.0]), A=sp.csr_array(np.array([[1.0, 2.0]])), offset=0.5,
    ...     row_lower=np.array([-np.inf]), row_upper=np.array([3.0]), row_names=("room",),
    ...     col_lower=np.zeros(2), col_upper=np.array([1.0, np.inf]), integrality=np.array([True, False]))
    >>> document = linear_mof(program)
    >>> document["objective"]["function"]["terms"], document["objective"]["function"]["constant"]
    ([{'coefficient': -1.0, 'variable': 'x0'}], 0.5)
    >>> [(row.get("name"), row["set"]["type"]) for row in document["constraints"]]
    [('room', 'LessThan'), (None, 'ZeroOne'), (None, 'GreaterThan')]
    """
    program = program.canonical()
    names = program.column_names or tuple(f"x{j}" for j in range(program.c.size))
    rows = program.row_names or tuple(f"row{i}" for i in range(program.A.shape[0]))
    constraints: list[Document] = []
    for i, name in enumerate(rows):
        part = slice(program.A.indptr[i], program.A.indptr[i + 1])
        body = _affine(program.A.data[part], [names[j] for j in program.A.indices[part]])
        if (room := _room(program.row_lower[i], program.row_upper[i])) is not None:
            constraints.append({"name": name, "function": body, "set": room})
    for name, whole, low, high in zip(names, program.integrality, program.col_lower, program.col_upper, strict=True):
        variable = {"type": "Variable", "name": name}
        binary = bool(whole) and low == 0.0 and high == 1.0
        if whole:
            constraints.append({"function": variable, "set": {"type": "ZeroOne" if binary else "Integer"}})
        if not binary and (room := _room(low, high)) is not None:
            constraints.append({"function": variable, "set": room})
    used = np.flatnonzero(program.c)
    objective = _affine(program.c[used], [names[j] for j in used], program.offset)
    return _document(names, objective, constraints)


def convex_mof(program: ConvexProgram, entries: Sequence[str], rows: Sequence[str], sums: Sequence[str]) -> Document:
    """A convex program by exponential cones: ``(w_i, 1, p_i)`` for each log-parameter, the p of a block at most 1.

    Where gamma is free, ``1 / (2 gamma^2)`` is a variable in a power cone with it.

    Parameters
    ----------
    program : ConvexProgram
    entries : sequence of str
        Names of the log-parameters.
    rows : sequence of str
        Names of the margin rows, in the order of `MarginOperator.matrix`.
    sums : sequence of str
        Names of the blocks.
    """
    margins = program.margins
    matrix, sample, rival = margins.matrix(program.max_nonzeros)
    asked = np.broadcast_to(program.delta, (margins.n_samples, margins.n_classes))[sample, rival]
    weight = program.loss_weight
    shares = [f"exp {name}" for name in entries]
    slacks = [f"slack[{m}]" for m in range(margins.n_samples)]
    constraints = list(_margin_constraints(program, matrix, sample, asked, entries, rows, slacks))
    constraints += [
        {"function": {"type": "Variable", "name": name}, "set": {"type": "GreaterThan", "lower": 0.0}}
        for name in slacks
    ]
    for name, share in zip(entries, shares, strict=True):
        cone = _vector([[(1.0, name)], [], [(1.0, share)]], [0.0, 1.0, 0.0])
        constraints.append({"function": cone, "set": {"type": "ExponentialCone"}})
        if np.isfinite(program.log_floor):
            floor = {"type": "GreaterThan", "lower": float(program.log_floor)}
            constraints.append({"function": {"type": "Variable", "name": name}, "set": floor})
    for g, name in enumerate(sums):
        block = shares[program.row_ptr[g] : program.row_ptr[g + 1]]
        constraints.append(
            {"name": name, "function": _affine(np.ones(len(block)), block), "set": {"type": "LessThan", "upper": 1.0}}
        )
    if program.rows is not None:
        constraints += _linear_rows(program.rows, entries)
    used = np.flatnonzero(program.linear)
    values = [*(weight * margins.weight), *(-weight * program.linear[used])]
    variables = [*slacks, *(entries[i] for i in used.tolist())]
    names = [*entries, *shares, *slacks]
    if program.gamma is None:
        names += ["gamma", "half of 1 / gamma^2"]
        values, variables = [*values, 1.0], [*variables, names[-1]]
        cone = _vector([[(1.0, names[-1])], [(1.0, "gamma")], []], [0.0, 0.0, 0.5 ** (1 / 3)])
        constraints.append({"function": cone, "set": {"type": "PowerCone", "exponent": 1 / 3}})
    return _document(names, _affine(values, variables), constraints)


def _margin_constraints(
    program: ConvexProgram,
    matrix: Any,
    sample: NDArray[np.intp],
    asked: FloatArray,
    entries: Sequence[str],
    rows: Sequence[str],
    slacks: Sequence[str],
) -> Iterator[Document]:
    """``Delta w + slack - gamma delta >= 0``, or with gamma on the right where it is fixed."""
    for i, name in enumerate(rows):
        part = slice(matrix.indptr[i], matrix.indptr[i + 1])
        values = [*matrix.data[part], 1.0]
        variables = [*(entries[j] for j in matrix.indices[part]), slacks[sample[i]]]
        lower = 0.0 if program.gamma is None else float(program.gamma * asked[i])
        if program.gamma is None:
            values, variables = [*values, -asked[i]], [*variables, "gamma"]
        yield {"name": name, "function": _affine(values, variables), "set": {"type": "GreaterThan", "lower": lower}}


def _linear_rows(rows: LogRows, entries: Sequence[str]) -> Iterator[Document]:
    for i, name in enumerate(rows.names):
        part = slice(rows.A.indptr[i], rows.A.indptr[i + 1])
        body = _affine(rows.A.data[part], [entries[j] for j in rows.A.indices[part].tolist()])
        yield {"name": name, "function": body, "set": _room(rows.lower[i], rows.upper[i])}


def _document(names: Iterable[str], objective: Document, constraints: list[Document]) -> Document:
    return {
        "version": {"major": 1, "minor": 0},
        "variables": [{"name": name} for name in names],
        "objective": {"sense": "min", "function": objective},
        "constraints": constraints,
    }


def _term(value: float, name: str) -> Document:
    return {"coefficient": float(value), "variable": name}


def _affine(values: Numbers, names: Sequence[str], constant: float = 0.0) -> Document:
    terms = [_term(value, name) for value, name in zip(values, names, strict=True)]
    return {"type": "ScalarAffineFunction", "terms": terms, "constant": float(constant)}


def _vector(parts: Sequence[Sequence[tuple[float, str]]], constants: Sequence[float]) -> Document:
    """A vector of sums, of which each has a constant."""
    terms = [
        {"output_index": place, "scalar_term": _term(value, name)}
        for place, part in enumerate(parts, start=1)
        for value, name in part
    ]
    return {"type": "VectorAffineFunction", "terms": terms, "constants": list(constants)}


def _room(lower: float, upper: float) -> Document | None:
    """The set of a row or a column between two sides; None where both are free."""
    below, above = bool(np.isfinite(lower)), bool(np.isfinite(upper))
    if below and above:
        same = {"type": "EqualTo", "value": float(lower)}
        return same if lower == upper else {"type": "Interval", "lower": float(lower), "upper": float(upper)}
    if below:
        return {"type": "GreaterThan", "lower": float(lower)}
    return {"type": "LessThan", "upper": float(upper)} if above else None
