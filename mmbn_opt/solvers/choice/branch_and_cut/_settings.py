"""How the tree is searched: settings of one search."""

from dataclasses import dataclass, fields
from typing import Literal, Self, get_args

from ...._arguments import checked_number, choice_of, whole
from ....exceptions import InputError
from ...base import Solver

__all__ = ["FEW_GROUPS", "LARGE_BYTES", "WIDE_ROOT_GAP", "Branching", "SearchSettings", "many_groups"]

WIDE_ROOT_GAP = 0.05
"""As a share of the objective: from there on more groups are used."""

FEW_GROUPS = 96
"""Groups of (merged) samples, each with a loss of its own: more make cuts tighter, and pivots more and dearer."""

LARGE_BYTES = 70_000_000
"""Of a program as it is sent: above, threads share it, whose long passes seldom wait for each other."""

Branching = Literal["dual", "mixture"]
"""How the node to branch on is chosen."""

Helpers = Literal["auto", "processes", "threads"]
"""What searches beside the first of several threads."""


@dataclass(frozen=True)
class SearchSettings:
    """How the root is bounded and the tree is searched.

    Parameters
    ----------
    groups : int or None
        Into how many the parts of the concave term are grouped, a loss each; None: `FEW_GROUPS`, or `many_groups` where
        the gap at the root is wide.
    root_rounds : int
        Most cut rounds at the root.
    node_limit : int or None
        Boxes that are looked at.
    rounds : int
        Most cut rounds at a popped box.
    strong : int or None
        Nodes whose children are all evaluated before one is branched on, at small depth; None: 16 up to 250 columns,
        4 above.
    strong_depth : int or None
        Depth up to which that is done; None: everywhere up to 250 columns, to depth 2 above.
    max_pivots : int
        Most pivots of a child's linear program.
    work_limit : float
        Table entries touched between two looks at the clock.
    memory_limit : int
        Bytes of stored rows; above, those of the least promising boxes are dropped, to be made again when needed. With
        a checkpoint, half as much again for open boxes; above, the less promising ones wait on the disk.
    tail : float
        A cut round that closes less than this share of the gap for each box that would take the same work is the last.
    ahead : float
        A box waits once its bound is so far above the least that the work would have to grow by so many e-folds until
        it is due (see `_pace`). 0: whenever another has a lesser bound; inf: never.
    reach : float or None
        A box's program begins without the columns whose reduced costs are above this share of the gap; those that are
        missed come in (see `_narrow`). inf: with all; None: with all up to 550 columns, and .04 above.
    seed : int
        Of the cost perturbation.
    branching : {"race", "dual", "mixture"}
        The node to branch on: by one dual step of the tableau, confirmed by the children of some nodes ("dual"); by
        what its mixture of columns is worth ("mixture"); or both for a while, see `_race`. Without a concave term
        mixtures are worth nothing, and "dual" it is.
    helpers : {"auto", "processes", "threads"}
        What searches beside the first of several threads: processes, each with a share of the boxes and of the memory,
        or threads of this one, which wait for each other where boxes are small. "auto": processes up to
        `LARGE_BYTES` of tables.
    heuristic : float
        Times the heuristic's usual share of the work; less where a good start leaves it little to find.

    Raises
    ------
    InputError
        For a value that is none of these, by the name of the field.
    """

    groups: int | None = None
    root_rounds: int = 1000
    node_limit: int | None = None
    rounds: int = 8
    strong: int | None = None
    strong_depth: int | None = None
    max_pivots: int = 400
    work_limit: float = 5e7
    memory_limit: int = 500_000_000
    tail: float = 0.08
    ahead: float = 0.25
    reach: float | None = None
    seed: int = 0
    branching: Branching | Literal["race"] = "race"
    heuristic: float = 1.0
    helpers: Helpers = "auto"

    def __post_init__(self) -> None:
        for field in fields(self):
            name, value = field.name, getattr(self, field.name)
            if value is None and field.default is None:
                continue
            if name in _WHOLE:
                value = whole(name, value, _WHOLE[name])
            elif name in _NUMBERS:
                value = checked_number(
                    name, value, open_low=_NUMBERS[name] == "> 0", expected=f"a number {_NUMBERS[name]}"
                )
            elif name == "memory_limit":  # 2e9 is as good
                value = int(checked_number(name, value, open_high=True, expected="a number of bytes"))
            object.__setattr__(self, name, value)
        choice_of("branching", self.branching, (*get_args(Branching), "race"))
        choice_of("helpers", self.helpers, get_args(Helpers))

    @classmethod
    def of(cls, solver: Solver) -> Self:
        """Of a solver's options."""
        known = {f.name for f in fields(cls)}
        if unknown := sorted(set(solver.options) - known):
            raise InputError(f"{solver.name} has no option {', '.join(unknown)}; known: {', '.join(sorted(known))}.")
        return cls(**{"seed": solver.seed, **solver.options})


_WHOLE = {
    "groups": 1, "root_rounds": 0, "node_limit": 0, "rounds": 0, "strong": 1, "strong_depth": 0, "max_pivots": 1,
    "seed": 0,
}  # fmt: skip
"""Whole numbers, and the least that each may be."""

_NUMBERS = {"work_limit": "> 0", "tail": ">= 0", "ahead": ">= 0", "reach": ">= 0", "heuristic": ">= 0"}
"""Other numbers, and what each must be."""


def many_groups(n_parts: int) -> int:
    """Groups where the gap at the root is above `WIDE_ROOT_GAP`."""
    return min(max(FEW_GROUPS, n_parts // 32), 400)
