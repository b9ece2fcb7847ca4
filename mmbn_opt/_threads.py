"""Threads of the libraries below NumPy, SciPy and scikit-learn: no more than were asked for."""

from contextlib import AbstractContextManager
from functools import cache
from typing import Any, Literal

__all__ = ["limited_threads"]


def limited_threads(count: int, api: Literal["blas", "openmp"]) -> AbstractContextManager[Any]:
    """Run a block with at most `count` threads in linear algebra, or in OpenMP loops.

    On small data more threads only wait for each other. The libraries are looked for when this is first called for an
    `api`, so import what is to be limited before.
    """
    limited: AbstractContextManager[Any] = _controller(api).limit(limits=count)
    return limited


@cache
def _controller(api: str) -> Any:
    from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

    return ThreadpoolController().select(user_api=api)
