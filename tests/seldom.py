"""Which of many alike cases `make test` runs; `make test-slow` runs the others."""

from collections.abc import Iterable
from typing import Any

import pytest

__all__ = ["mostly_slow"]


def mostly_slow(values: Iterable[Any], always: int) -> list[Any]:
    """The values, of which those after the first few are marked as slow."""
    return [value if k < always else pytest.param(value, marks=pytest.mark.slow) for k, value in enumerate(values)]
