"""The version of this package as its files tell it."""

from importlib.metadata import PackageNotFoundError, version

__all__ = ["package_version"]


def package_version() -> str:
    """Version, or "unknown" where the package is not installed."""
    try:
        return version("mmbn-opt")
    except PackageNotFoundError:
        return "unknown"
