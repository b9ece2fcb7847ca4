"""Imports of the packages that networks travel to; absent ones are told by the extra that installs them."""

import warnings
from importlib import import_module
from typing import Any

from mmbn_opt.exceptions import MissingDependencyError

__all__ = ["optional_module"]


def optional_module(name: str) -> Any:
    """The module, imported quietly: what a package says about its own parts while it loads is not our caller's affair.

    Raises
    ------
    MissingDependencyError
        If its package is not installed.

    Examples
    --------
    >>> optional_module("json").dumps([1])
    '[1]'
    """
    package = name.partition(".")[0]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return import_module(name)
    except ImportError as error:
        raise MissingDependencyError(
            f"Exchange with {package} needs the package {package}; install it with: pip install 'mmbn-opt[interop]'"
        ) from error
