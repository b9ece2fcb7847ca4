"""Programs as HiGHS objects: built from arrays in one call, never row by row."""

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

import highspy
import numpy as np
from highspy._core import _Highs

from ...exceptions import InputError, SolverError
from ...programs.mixed_integer import MixedIntegerProgram

__all__ = [
    "check_options",
    "fresh_scheduler",
    "load_program",
    "quiet_highs",
    "require_ok",
    "set_option",
]

_TYPES: dict[str, tuple[type, ...]] = {
    "kBool": (bool, np.bool_),
    "kInt": (int, np.integer),
    "kDouble": (float, int, np.floating, np.integer),
    "kString": (str,),
}


def quiet_highs() -> Any:
    """A HiGHS instance that prints nothing.

    ``highspy.Highs()`` prints a banner on standard output while it is constructed, before its output can be turned
    off; the class that it derives from does not, and has all that is needed here.
    """
    highs = _Highs()
    require_ok(highs.setOptionValue("output_flag", False), "output_flag = False")
    return highs


def fresh_scheduler() -> None:
    """Forget the scheduler of this thread: one left over from a run elsewhere makes the next run fail."""
    _Highs.resetGlobalScheduler(True)


def require_ok(status: Any, what: str) -> None:
    """Raise when a call to HiGHS was refused: it says so by a status only, never by an exception."""
    if status == highspy.HighsStatus.kError:
        raise SolverError(f"HiGHS refused: {what}.")


def set_option(highs: Any, name: str, value: Any) -> None:
    """Set an option and check that it was taken."""
    require_ok(highs.setOptionValue(name, value), f"option {name} = {value!r}")


def load_program(highs: Any, program: MixedIntegerProgram) -> None:
    """Hand `program` to HiGHS through row-wise arrays."""
    if program.A.nnz > np.iinfo(np.int32).max:
        raise InputError(f"the program has {program.A.nnz:,} non-zeros; HiGHS counts them in 32 bits.")
    matrix = program.A
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    lp = highspy.HighsLp()
    lp.num_row_, lp.num_col_ = (int(size) for size in matrix.shape)
    lp.col_cost_ = program.c
    lp.offset_ = program.offset
    lp.col_lower_, lp.col_upper_ = program.col_lower, program.col_upper
    lp.row_lower_, lp.row_upper_ = program.row_lower, program.row_upper
    lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    lp.a_matrix_.start_ = matrix.indptr.astype(np.int32, copy=False)
    lp.a_matrix_.index_ = matrix.indices.astype(np.int32, copy=False)
    lp.a_matrix_.value_ = matrix.data
    # Of full length for an LP too: HiGHS reads past the end of an empty one.
    kinds = (highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger)
    lp.integrality_ = [kinds[int(flag)] for flag in program.integrality]
    if highs.passModel(lp) == highspy.HighsStatus.kError:
        raise InputError(
            "HiGHS refused the program: look for coefficients of 1e15 and more, or for a lower bound of +inf "
            "or an upper bound of -inf."
        )


def check_options(options: Mapping[str, Any], reserved: Mapping[str, str]) -> None:
    """Refuse options that HiGHS does not know, of another type, or that a field of the solver stands for.

    Parameters
    ----------
    reserved : mapping
        Option -> the field that sets it.
    """
    if not options:
        return
    highs = quiet_highs()
    for name, value in options.items():
        if name in reserved:
            raise InputError(f"the HiGHS option {name!r} is set by {reserved[name]}; give that instead.")
        status, kind = highs.getOptionType(name)
        if status != highspy.HighsStatus.kOk:
            known = _option_names(highs)
            close = get_close_matches(name, known, n=1)
            hint = f" Did you mean {close[0]!r}?" if close else ""
            raise InputError(f"HiGHS has no option {name!r}.{hint}")
        if not isinstance(value, _TYPES[kind.name]) or (kind.name != "kBool" and isinstance(value, bool)):
            raise InputError(f"the HiGHS option {name!r} takes a {kind.name[1:].lower()}, got {value!r}.")
        if highs.setOptionValue(name, value) == highspy.HighsStatus.kError:
            raise InputError(f"HiGHS refuses the value {value!r} for its option {name!r}.")


def _option_names(highs: Any) -> list[str]:
    return [name for name in dir(highs.getOptions()) if not name.startswith("_")]
