"""Names that are looked up when they are first used, so that core modules import nothing to their right."""

import sys
import warnings
from collections.abc import Callable
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from importlib.abc import Loader

_DELEGATES = {
    "solvers": "mmbn_opt.solving.dispatch",
    "renormalizability": "mmbn_opt.networks.renormalizability",
    "renormalize": "mmbn_opt.networks.renormalization",
    "plot_trace": "mmbn_opt.display.plots",
    "plot_network": "mmbn_opt.display.plots",
    "plot_trade_off": "mmbn_opt.display.trade_off_plot",
    "trace_html": "mmbn_opt.display.html",
    "network_html": "mmbn_opt.display.html",
    "structure_html": "mmbn_opt.display.html",
    "run_html": "mmbn_opt.display.html",
    "show_run": "mmbn_opt.display.live",
    "result_html": "mmbn_opt.display.html",
    "certificate_html": "mmbn_opt.display.html",
    "classifier_html": "mmbn_opt.display.html",
    "waterfall_svg": "mmbn_opt.display.waterfall",
    "plot_waterfall": "mmbn_opt.display.waterfall",
    "explanation_html": "mmbn_opt.display.html",
    "result_conflict": "mmbn_opt.solving.conflict_table",
    "result_duals": "mmbn_opt.solving.duals",
    "result_summary": "mmbn_opt.display.keeping",
    "result_report": "mmbn_opt.display.keeping",
    "save_result": "mmbn_opt.display.keeping",
    "save_proof": "mmbn_opt.interop.proof_file",
    "classifier_summary": "mmbn_opt.display.keeping",
    "classifier_report": "mmbn_opt.display.keeping",
    "reasons_of": "mmbn_opt.display.reasons",
    "open_cluster": "mmbn_opt.interop.with_dask",
    "open_checkpoint": "mmbn_opt.interop.checkpoint",
    "open_curve": "mmbn_opt.interop.curve_folder",
    "tree_header": "mmbn_opt.interop.tree_header",
    "write_bif": "mmbn_opt.interop.bif",
    "read_bif": "mmbn_opt.interop.bif",
    "dataset_of_parquet": "mmbn_opt.data.by_column",
    "save_network": "mmbn_opt.interop.json_model",
    "load_network": "mmbn_opt.interop.json_model",
    "save_sequence_model": "mmbn_opt.interop.sequence_json",
    "save_calibrated": "mmbn_opt.interop.calibrated_json",
    "save_mixture": "mmbn_opt.interop.mixture_json",
    "load_mixture": "mmbn_opt.interop.mixture_json",
    "predict_file": "mmbn_opt.interop.predicting",
    "make_scorer": "mmbn_opt.interop.scorer",
    "write_scorer": "mmbn_opt.interop.scorer",
    "write_xmlbif": "mmbn_opt.interop.xmlbif",
    "read_xmlbif": "mmbn_opt.interop.xmlbif",
    "write_uai": "mmbn_opt.interop.uai",
    "read_uai": "mmbn_opt.interop.uai",
    "to_pgmpy": "mmbn_opt.interop.with_pgmpy",
    "from_pgmpy": "mmbn_opt.interop.with_pgmpy",
    "to_pyagrum": "mmbn_opt.interop.with_pyagrum",
    "from_pyagrum": "mmbn_opt.interop.with_pyagrum",
    "to_highspy": "mmbn_opt.interop.native_models",
    "to_scip": "mmbn_opt.interop.native_models",
    "to_pyomo": "mmbn_opt.interop.native_models",
    "to_cvxpy": "mmbn_opt.interop.native_models",
    "to_linopy": "mmbn_opt.interop.native_models",
    "to_mof": "mmbn_opt.interop.mof",
    "to_dot": "mmbn_opt.interop.dot",
    "to_svg": "mmbn_opt.display.drawing",
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


def names_on_demand(room: str, *own: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """``__getattr__``, ``__dir__`` and ``__all__`` of a room that imports none of its modules before it is asked.

    What the room hands on is what its type stub imports, the ``__init__.pyi`` beside it, a name a line: one list for
    people, type checkers and Python.

    Parameters
    ----------
    room : str
        ``__name__`` of the room.
    *own : str
        Names that the room defines itself.
    """
    module = sys.modules[room]
    homes = {}
    with open(f"{module.__path__[0]}/__init__.pyi", encoding="utf-8") as stub:
        for line in stub:
            match line.split():
                case ["from", home, "import", _, "as", name]:
                    homes[name] = home

    def look_up(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {room!r} has no attribute {name!r}")
        # A room of that name, which this import brought along, stays in its place: it can be called as the function.
        return vars(module).setdefault(name, getattr(import_module(homes[name]), name))

    names = [*own, *homes]
    return look_up, lambda: sorted(names), names


_MOVED = {
    "comparison": ("experiments", "experiments.holdout"),
    "data": ("datasets", "discretize", "experiments", "experiments.holdout", "preparation", "readers", "variable"),
    "formulations": (
        "formulations.binary_soft_margin",
        "formulations.conditional_likelihood",
        "formulations.constrained_maximum_margin",
        "formulations.decomposable",
        "formulations.max_margin_markov_network",
        "formulations.max_margin_relaxation",
        "formulations.multiclass_margin",
        "formulations.smooth_margin",
        "formulations.soft_margin",
    ),
    "mixtures": ("mixture", "mixture_density", "mixture_parts"),
    "networks": ("candidates", "gauge", "log_linear", "network", "renormalization", "smoothing", "structure"),
    "programs": (
        "algebraic_program",
        "choice_program",
        "convex_export",
        "convex_program",
        "margin_operator",
        "markov_program",
        "program",
        "tree_proof",
    ),
    "results": ("bounds", "result", "status", "trace"),
    "solvers": (
        "solvers.branch_and_cut",
        "solvers.cbc",
        "solvers.conjugate_gradient",
        "solvers.convex_chain",
        "solvers.cvxpy_conic",
        "solvers.cvxpy_quadratic",
        "solvers.exterior_penalty",
        "solvers.first_order",
        "solvers.highs",
        "solvers.interior_point",
        "solvers.linear_form",
        "solvers.log_barrier",
        "solvers.pyomo_ipopt",
        "solvers.scip",
        "solvers.scip_cuts",
        "solvers.scipy_constrained",
        "solvers.scipy_milp",
        "solvers.scipy_minimize",
        "solvers.subset_search",
    ),
    "solving": ("certificate", "convex_certificate", "dispatch", "job", "multiclass", "run"),
    "tuning": ("selection",),
}
"""Rooms, and the modules of before there were rooms whose public names they hand on (one of them shared by two)."""


class _OldPaths:
    """Makes the modules of `_MOVED`: their names are those of the rooms and come with a DeprecationWarning."""

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> ModuleSpec | None:
        package, _, old = fullname.partition(".")
        if package != "mmbn_opt" or not any(old in paths for paths in _MOVED.values()):
            return None
        return ModuleSpec(fullname, cast("Loader", self), is_package=True)

    def create_module(self, spec: ModuleSpec) -> None:
        """None: an ordinary module."""

    def exec_module(self, module: ModuleType) -> None:
        old = module.__name__.removeprefix("mmbn_opt.")
        rooms = [f"mmbn_opt.{room}" for room, paths in _MOVED.items() if old in paths]

        def look_up(name: str) -> Any:
            for room in rooms:
                if name in import_module(room).__all__:
                    said = f"mmbn_opt.{old} has moved: import {name} from {room}"
                    warnings.warn(said, DeprecationWarning, stacklevel=2)
                    return getattr(import_module(room), name)
            raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}")

        vars(module)["__getattr__"] = look_up


def lead_old_paths_to_their_rooms() -> None:
    """Answer imports from the modules of `_MOVED`, after all that really are there."""
    if not any(isinstance(finder, _OldPaths) for finder in sys.meta_path):
        sys.meta_path.append(_OldPaths())
