"""The kinds of methods that a declaration can name, each in one line."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import Any

from mmbn_opt._arguments import listed
from mmbn_opt.exceptions import InputError

__all__ = [
    "METHOD_KINDS", "Context", "MethodKind", "availability", "build", "check_settings", "same_settings", "version_of",
]  # fmt: skip


@dataclass(frozen=True)
class Context:
    """What a method is told beside its settings.

    Parameters
    ----------
    kinds : mapping of column to {"numeric", "categorical"}
    missing : {"drop", "state"}
        With "drop" no row has a missing cell.
    time_limit : float
        Seconds to learn, the inner choice included; for methods that can keep a limit.
    seed : int
    """

    kinds: Mapping[str, str]
    missing: str
    time_limit: float
    seed: int


@dataclass(frozen=True)
class MethodKind:
    """Where a method is made, and what it needs.

    Parameters
    ----------
    place : str
        Module and function; its keyword arguments are the settings.
    module : str
        That must be there to be imported.
    package : str
        What to install; its version is part of what a run is known by.
    missing_cells : str
        What becomes of a missing cell at prediction.
    of_sequences : bool
        Rows are positions of sequences, whose numbers come as a column.
    """

    place: str
    module: str
    package: str
    missing_cells: str
    of_sequences: bool = False


_OURS = "summed out"
_FILLED = "filled in"


def _ours(function: str, missing_cells: str = _OURS) -> MethodKind:
    return MethodKind(f"mmbn_opt.reproduction.methods.ours.{function}", "mmbn_opt", "mmbn-opt", missing_cells)


def _by_tests(function: str, missing_cells: str) -> MethodKind:
    return MethodKind(f"mmbn_opt.reproduction.methods.ours.{function}", "pgmpy", "pgmpy", missing_cells)


def _mixtures(function: str) -> MethodKind:
    return MethodKind(f"mmbn_opt.reproduction.methods.mixtures.{function}", "mmbn_opt", "mmbn-opt", _FILLED)


def _sklearn(function: str, missing_cells: str = _FILLED) -> MethodKind:
    return MethodKind(f"mmbn_opt.reproduction.methods.rivals.{function}", "sklearn", "scikit-learn", missing_cells)


def _rival(function: str, module: str, package: str, missing_cells: str = _FILLED) -> MethodKind:
    return MethodKind(f"mmbn_opt.reproduction.methods.readable.{function}", module, package, missing_cells)


METHOD_KINDS: Mapping[str, MethodKind] = {
    "naive-bayes": _ours("naive_bayes"),
    "tan": _ours("tan"),
    "tan-bins": _ours("tan_bins"),
    "structure": _ours("structure"),
    "parameters": _ours("parameters"),
    "markov-network": _ours("markov_network", "filled in"),
    "parameters-by-tests": _by_tests("parameters_by_tests", _OURS),
    "markov-network-by-tests": _by_tests("markov_network_by_tests", _FILLED),
    "sequences": MethodKind(
        "mmbn_opt.reproduction.methods.sequences.sequences", "mmbn_opt", "mmbn-opt", _OURS, of_sequences=True
    ),
    "crfsuite": MethodKind(
        "mmbn_opt.reproduction.methods.sequences.crfsuite",
        "pycrfsuite",
        "python-crfsuite",
        "left out",
        of_sequences=True,
    ),
    "cmm": _mixtures("cmm"),
    "mixture": _mixtures("mixture"),
    "logistic-regression": _sklearn("logistic_regression"),
    "svm": _sklearn("svm"),
    "random-forest": _sklearn("random_forest"),
    "histogram-boosting": _sklearn("histogram_boosting", "a branch of its own"),
    "categorical-nb": _sklearn("categorical_nb", "a state"),
    "pyagrum": _rival("pyagrum_classifier", "pyagrum", "pyagrum", "a state"),
    "aode": _rival("aode", "skbn", "scikit-bayes", "a state"),
    "explainable-boosting": _rival("explainable_boosting", "interpret", "interpret-core", "a bin of its own"),
    "optimal-tree": _rival("optimal_tree", "pystreed", "pystreed"),
    "risk-score": _rival("risk_score", "imodels", "imodels"),
    "weka": MethodKind("mmbn_opt.reproduction.methods.weka.weka", "mmbn_opt", "mmbn-opt", "a state"),
}


def check_settings(kind: str, settings: Mapping[str, Any]) -> None:
    """Refuse settings that a kind does not have.

    Raises
    ------
    InputError

    Examples
    --------
    >>> check_settings("tan", {"smoothing": 1.0})
    >>> check_settings("tan", {"smooth": 1.0})
    Traceback (most recent call last):
    mmbn_opt.exceptions.InputError: 'tan' has no setting 'smooth'; it has 'smoothing'.
    """
    known = list(inspect.signature(_function(kind)).parameters)[1:]
    for name in settings:
        if name not in known:
            raise InputError(f"{kind!r} has no setting {name!r}; it has {listed(known, 20) or 'none'}.")


def availability(kind: str) -> str | None:
    """Why a kind cannot be used here; None where it can.

    Examples
    --------
    >>> availability("tan") is None
    True
    """
    entry = METHOD_KINDS[kind]
    if find_spec(entry.module) is None:
        return f"{entry.package} is not installed (pip install {entry.package})"
    reason: str | None = import_module("mmbn_opt.reproduction.methods.weka").unavailable() if kind == "weka" else None
    return reason


def build(kind: str, context: Context, settings: Mapping[str, Any]) -> Any:
    """An estimator by scikit-learn's conventions: ``fit(X, y)``, ``predict(X)``, most have ``predict_proba(X)``."""
    return _function(kind)(context, **settings)


def same_settings(kind: str, settings: Mapping[str, Any], n_classes: int) -> dict[str, Any]:
    """The settings under which a run is told from others: with two classes SBM is SM, since a row has one margin.

    Examples
    --------
    >>> same_settings("structure", {"criterion": "sbm", "p": 0.9}, 2)
    {'criterion': 'sm', 'p': 0.9}
    """
    if kind == "structure" and n_classes == 2 and settings.get("criterion") == "sbm":
        return {**settings, "criterion": "sm"}
    return dict(settings)


def version_of(kind: str) -> str:
    """Version of the package that a kind stands on."""
    try:
        return version(METHOD_KINDS[kind].package)
    except PackageNotFoundError:
        return ""


def _function(kind: str) -> Callable[..., Any]:
    module, _, name = METHOD_KINDS[kind].place.rpartition(".")
    function: Callable[..., Any] = import_module(module).__dict__[name]
    return function
