"""A drawing in two sizes: the page shows the one that fits, so that text is never shrunk."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from mmbn_opt.display._chart import SHEETS, Sheet
from mmbn_opt.display.comparison_curves import gaps_svg, profile_svg
from mmbn_opt.display.curves import trace_svg
from mmbn_opt.display.svg import network_svg
from mmbn_opt.networks.network import BayesianNetwork
from mmbn_opt.networks.structure import Structure
from mmbn_opt.results.trace import BoundTrace

__all__ = ["Picture", "gaps_picture", "network_picture", "profile_picture", "trace_picture"]


@dataclass(frozen=True)
class Picture:
    """What a page needs of a drawing.

    Parameters
    ----------
    name : str
        What the region is called for those who hear it.
    wide, narrow : Markup
    """

    name: str
    wide: Markup
    narrow: Markup


def trace_picture(trace: BoundTrace, value_name: str = "Objective") -> Picture:
    """The curve of a run."""
    return _both(
        "Objective and bound over time", lambda s: trace_svg(trace, standalone=False, value_name=value_name, sheet=s)
    )


def network_picture(network: BayesianNetwork | Structure) -> Picture:
    """The drawing of a network."""
    return Picture(
        "Drawing of the network",
        Markup(network_svg(network, standalone=False)),
        Markup(network_svg(network, standalone=False, narrow=True)),
    )


def gaps_picture(traces: Sequence[tuple[str, BoundTrace]]) -> Picture:
    """Gap over time, one line a run."""
    return _both("Gap over time", lambda sheet: gaps_svg(traces, standalone=False, sheet=sheet))


def profile_picture(ratios: dict[str, Sequence[float]], n_problems: dict[str, int]) -> Picture:
    """A performance profile."""
    return _both("Performance profile", lambda s: profile_svg(ratios, n_problems, standalone=False, sheet=s))


def _both(name: str, draw: Callable[[Sheet], str]) -> Picture:
    return Picture(name, Markup(draw(SHEETS["wide"])), Markup(draw(SHEETS["narrow"])))
