"""A trade-off curve: points, each with its bound."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from mmbn_opt._arguments import listed, shown
from mmbn_opt._lazy import delegate
from mmbn_opt.exceptions import InputError
from mmbn_opt.formulations.base import Formulation
from mmbn_opt.networks.constraints import StructureConstraint
from mmbn_opt.results.bounds import ObjectiveBounds
from mmbn_opt.results.status import TerminationStatus
from mmbn_opt.solving._scouting import structure_of

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["TradeOff", "TradeOffPoint"]


@dataclass(frozen=True, eq=False)
class TradeOffPoint:
    """What is known at one limit.

    Parameters
    ----------
    limit : float
    constraint : StructureConstraint
    model : BayesianNetwork, Structure or None
        The best that was found under the limit; None where nothing keeps it.
    bounds : ObjectiveBounds
    status : TerminationStatus
        INFEASIBLE where nothing keeps the limit.
    seconds : float
        0 where a looser limit had told all; of all calls with one ``checkpoint``.
    """

    limit: float
    constraint: StructureConstraint
    model: Any
    bounds: ObjectiveBounds
    status: TerminationStatus
    seconds: float


@dataclass(frozen=True, eq=False)
class TradeOff:
    """A score against a limit, with a bound at every point.

    Parameters
    ----------
    formulation : Formulation
        Without the limit.
    points : tuple of TradeOffPoint
        From the tightest limit to the loosest.
    interrupted : bool
        Whether points are missing because of Ctrl-C.
    """

    formulation: Formulation
    points: tuple[TradeOffPoint, ...] = field(repr=False)
    interrupted: bool = False

    def at(self, limit: float) -> TradeOffPoint:
        """The point of a limit.

        Raises
        ------
        InputError
            For a limit that was not asked for.
        """
        for point in self.points:
            if point.limit == limit:
                return point
        raise InputError(
            f"The limit {shown(limit)} was not asked for; there are [{listed(p.limit for p in self.points)}]."
        )

    def to_frame(self) -> "pd.DataFrame":
        """One row a limit: ``limit``, ``primal_bound``, ``dual_bound``, ``gap_rel``, ``edges``, ``status``, seconds."""
        import pandas as pd

        rows = []
        for point in self.points:
            structure = None if point.model is None else structure_of(point.model)
            rows.append(
                {
                    "limit": point.limit,
                    "primal_bound": point.bounds.primal_bound,
                    "dual_bound": point.bounds.dual_bound,
                    "gap_rel": point.bounds.gap_rel,
                    "edges": None if structure is None else len(structure.edges),
                    "status": str(point.status),
                    "seconds": point.seconds,
                }
            )
        return pd.DataFrame(rows)

    def plot(self, ax: Any = None) -> Any:
        """The curve with its bounds, drawn with matplotlib (extra ``plot``)."""
        return delegate("plot_trade_off")(self, ax)
