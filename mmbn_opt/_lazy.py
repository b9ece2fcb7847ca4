"""Names that are looked up when they are first used, so that core modules import nothing to their right."""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

_DELEGATES = {
    "solvers": "mmbn_opt.solving.dispatch",
    "renormalizability": "mmbn_opt.networks.renormalizability",
    "renormalize": "mmbn_opt.networks.renormalization",
    "plot_trace": "mmbn_opt.display.plots",
    "plot_network": "mmbn_opt.display.plots",
    "trace_html": "mmbn_opt.display.html",
    "network_html": "mmbn_opt.display.html",
    "structure_html": "mmbn_opt.display.html",
    "run_html": "mmbn_opt.display.html",
    "show_run": "mmbn_opt.display.live",
    "result_html": "mmbn_opt.display.html",
    "certificate_html": "mmbn_opt.display.html",
    "classifier_html": "mmbn_opt.display.html",
    "write_bif": "mmbn_opt.interop.bif",
    "read_bif": "mmbn_opt.interop.bif",
    "save_network": "mmbn_opt.interop.json_model",
    "load_network": "mmbn_opt.interop.json_model",
    "save_mixture": "mmbn_opt.interop.mixture_json",
    "load_mixture": "mmbn_opt.interop.mixture_json",
    "write_xmlbif": "mmbn_opt.interop.xmlbif",
    "read_xmlbif": "mmbn_opt.interop.xmlbif",
    "write_uai": "mmbn_opt.interop.uai",
    "read_uai": "mmbn_opt.interop.uai",
    "to_pgmpy": "mmbn_opt.interop.with_pgmpy",
    "from_pgmpy": "mmbn_opt.interop.with_pgmpy",
    "to_pyagrum": "mmbn_opt.interop.with_pyagrum",
    "from_pyagrum": "mmbn_opt.interop.with_pyagrum",
    "to_networkx": "mmbn_opt.interop.graphs",
    "from_networkx": "mmbn_opt.interop.graphs",
    "structure_from_networkx": "mmbn_opt.interop.graphs",
    "network_to_networkx": "mmbn_opt.interop.graphs",
    "network_from_networkx": "mmbn_opt.interop.graphs",
    "to_edge_list": "mmbn_opt.interop.graphs",
    "from_edge_list": "mmbn_opt.interop.graphs",
}


def delegate(name: str) -> Any:
    """Return the function `name` from the room that owns it."""
    return getattr(import_module(_DELEGATES[name]), name)


def names_on_demand(room: str, homes: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """``__getattr__`` and ``__dir__`` of a room that hands on names of its modules and imports none before it is asked.

    Parameters
    ----------
    room : str
        ``__name__`` of the room.
    homes : mapping
        Name -> module of the room.
    """

    def look_up(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {room!r} has no attribute {name!r}")
        return getattr(import_module(f"{room}.{homes[name]}"), name)

    return look_up, lambda: sorted(homes)
