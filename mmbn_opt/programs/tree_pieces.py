"""Pieces of a concave term that become rows of a tree proof: the proof asks for them itself, by their points."""

import numpy as np
from numpy.typing import NDArray

from mmbn_opt._arrays import FloatArray
from mmbn_opt.programs.choice import ConcaveTerm, GroupCuts, WantedGroups
from mmbn_opt.programs.tree_ledger import TreeLedger
from mmbn_opt.programs.tree_rows import Point, TreeRows

__all__ = ["AsksPieces"]


class AsksPieces:
    """Who asks a term for its pieces at points, and keeps some of them as rows.

    Parameters
    ----------
    term : ConcaveTerm or None
    store : TreeRows
    ledger : TreeLedger
        Counts the rows.
    """

    def __init__(self, term: ConcaveTerm | None, store: TreeRows, ledger: TreeLedger) -> None:
        self._term, self.store, self.ledger = term, store, ledger
        self._asked: tuple[GroupCuts, FloatArray, Point | None] | None = None

    def ask_of(self, term: ConcaveTerm | None) -> None:
        """Take cuts from another term that is the same sum in the same groups."""
        self._term = term

    def ask(self, point: FloatArray, wanted: WantedGroups | None = None) -> GroupCuts:
        """The term's pieces at `point`; `set_cut_rows` keeps some of them as rows."""
        return self._ask(point, wanted, None)

    def ask_again(self, point: Point, wanted: WantedGroups) -> GroupCuts:
        """The pieces at a point at which there were rows before."""
        return self._ask(point.full(self.store.n_columns), wanted, point)

    def _ask(self, x: FloatArray, wanted: WantedGroups | None, point: Point | None) -> GroupCuts:
        assert self._term is not None
        cuts = self._term.cuts(x, wanted)
        self._asked = cuts, x, point
        return cuts

    def set_cut_rows(self, slots: NDArray[np.int64], places: NDArray[np.intp]) -> None:
        """Rows of the pieces last asked about, by their places in the answer."""
        assert self._asked is not None
        cuts, x, point = self._asked
        if len(slots):
            self.store.set_cuts(slots, cuts, places, Point.of(x) if point is None else point)
        self.ledger.count("cuts", len(slots))
