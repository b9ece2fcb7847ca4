"""Options with a fixed set of values: their names, how a value is read, and what is offered by Tab."""

from collections.abc import Callable, Iterable
from difflib import get_close_matches
from enum import StrEnum
from typing import TypeVar

import typer

__all__ = [
    "Acyclicity",
    "FileFormat",
    "Method",
    "Missing",
    "MissingNumbers",
    "Normalization",
    "ParentSets",
    "Penalty",
    "SequenceMethod",
    "Strategy",
    "Unseen",
    "completing",
    "nearest",
    "one_of",
    "one_of_names",
    "scores",
    "solver_list",
    "solver_name",
    "solver_names_and_auto",
]

Choice = TypeVar("Choice", bound=StrEnum)


class Acyclicity(StrEnum):
    """Of ``--acyclicity``."""

    AUTO = "auto"
    ORDER = "order"
    ORDER_PRINTED = "order-printed"
    CLUSTER = "cluster"


class ParentSets(StrEnum):
    """Of ``--parent-sets``."""

    ALL = "all"
    MARGIN = "margin"


class Missing(StrEnum):
    """Of ``--missing`` where columns become discrete."""

    ERROR = "error"
    DROP = "drop"
    STATE = "state"


class MissingNumbers(StrEnum):
    """Of ``--missing`` where columns stay numbers."""

    ERROR = "error"
    DROP = "drop"
    MARGINALIZE = "marginalize"


class Method(StrEnum):
    """Of ``--method``."""

    ML = "ml"
    CG_MM = "cg-mm"
    CG_CL = "cg-cl"
    RELAXATION = "relaxation"


class SequenceMethod(StrEnum):
    """Of ``--method`` where sequences are labelled."""

    MAX_MARGIN = "max-margin"
    MARKOV_NETWORK = "markov-network"
    CONDITIONAL_LIKELIHOOD = "conditional-likelihood"
    CG_MM = "cg-mm"
    ML = "ml"


class Normalization(StrEnum):
    """Of ``--normalization``."""

    HYBRID = "hybrid"
    FLOOR = "floor"
    PUBLISHED = "published"


class Penalty(StrEnum):
    """Of ``--penalty``."""

    EXTERIOR = "exterior"
    PRINTED = "printed"


class Strategy(StrEnum):
    """Of ``--strategy``."""

    ONE_VS_ONE = "one-vs-one"
    ONE_VS_REST = "one-vs-rest"


class FileFormat(StrEnum):
    """Of ``--format``."""

    LP = "lp"
    MPS = "mps"
    NL = "nl"
    MOF = "mof"
    JKL = "jkl"


class Unseen(StrEnum):
    """Of ``--unseen``."""

    WARN = "warn"
    MISSING = "missing"
    ERROR = "error"


def nearest(text: str, known: Iterable[str]) -> str | None:
    """The name that is meant, whatever its case and whether hyphens or underscores join it; None if there is none.

    Examples
    --------
    >>> nearest("CG_MM", ["ml", "cg-mm"]), nearest("em", ["ml", "cg-mm"])
    ('cg-mm', None)
    """
    return {_bare(name): name for name in known}.get(_bare(text))


def one_of(kind: type[Choice]) -> Callable[[str], Choice]:
    """Reads a value of an option whose values are those of an enumeration.

    Examples
    --------
    >>> one_of(Acyclicity)("order_printed")
    <Acyclicity.ORDER_PRINTED: 'order-printed'>
    """

    def read(text: str) -> Choice:
        return kind(_known(text, list(kind)))

    return read


def scores() -> list[str]:
    """What ``--score`` takes: the library's registry, so that a score that is added there is known here."""
    from mmbn_opt.formulations.structure.by_score import SCORES

    return list(SCORES)


def one_of_names(names: Callable[[], Iterable[str]]) -> Callable[[str], str]:
    """Reads a value of an option whose values a registry of the library holds.

    Examples
    --------
    >>> one_of_names(scores)("BIC")
    'bic'
    """

    def read(text: str) -> str:
        return _known(text, list(names()))

    return read


def completing(names: Callable[[], Iterable[str]]) -> Callable[[str], list[str]]:
    """What Tab offers: the names that begin with what is there."""

    def offer(incomplete: str) -> list[str]:
        return [name for name in names() if name.startswith(incomplete)]

    return offer


def solver_names_and_auto() -> list[str]:
    """What ``--solver`` takes."""
    from mmbn_opt.solvers.registry import solver_names

    return ["auto", *solver_names()]


def solver_name(text: str) -> str:
    """Reads the name of a solver; hyphens and underscores are one.

    Examples
    --------
    >>> solver_name("Branch-and-Cut")
    'branch_and_cut'
    """
    return _known(text, solver_names_and_auto(), "unknown solver {text!r}; known are {known}.")


def solver_list(text: str) -> str:
    """Reads names of solvers between commas, or "all".

    Examples
    --------
    >>> solver_list("HiGHS, scip")
    'highs,scip'
    """
    names = [part for part in str(text).split(",") if part.strip()]
    if not names:
        raise typer.BadParameter(f"{text!r} names no solver.")
    if len(names) == 1 and _bare(names[0]) == "all":
        return "all"
    return ",".join(solver_name(name) for name in names)


def _known(text: str, known: list[str], refusal: str = "{text!r} is none of {known}.") -> str:
    found = nearest(text, known)
    if found is None:
        close = get_close_matches(_bare(text), list(map(_bare, known)), n=1)
        hint = f" Did you mean {nearest(close[0], known)}?" if close else ""
        raise typer.BadParameter(refusal.format(text=str(text), known=", ".join(known)) + hint)
    return found


def _bare(name: str) -> str:
    return str(name).strip().lower().replace("_", "-")
