"""How the tree is searched: settings of one search."""

from dataclasses import dataclass
from typing import Literal

__all__ = ["Branching", "SearchSettings"]

Branching = Literal["dual", "mixture"]
"""How the node to branch on is chosen."""


@dataclass(frozen=True)
class SearchSettings:
    """How the tree is searched.

    Parameters
    ----------
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
        Bytes of stored rows; above, those of the least promising boxes are dropped, to be made again when needed.
    tail : float
        A cut round that closes less than this share of the gap is the last.
    seed : int
        Of the cost perturbation.
    branching : {"race", "dual", "mixture"}
        The node to branch on: by one dual step of the tableau, confirmed by the children of some nodes ("dual"); by
        what its mixture of columns is worth ("mixture"); or both for a while, see `_race`. Without a concave term
        mixtures are worth nothing, and "dual" it is.
    heuristic : float
        Times the heuristic's usual share of the work; less where a good start leaves it little to find.
    """

    rounds: int = 2
    strong: int | None = None
    strong_depth: int | None = None
    max_pivots: int = 400
    work_limit: float = 5e7
    memory_limit: int = 500_000_000
    tail: float = 0.03
    seed: int = 0
    branching: Branching | Literal["race"] = "race"
    heuristic: float = 1.0
