"""What every pytest run here shares: Hypothesis profiles, the doctests of the prose, and which folders are links."""

import contextlib
import doctest
import os
import tempfile
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from sybil import Sybil
from sybil.parsers.myst import PythonCodeBlockParser, SkipParser

# The root links lead to folders that are collected under their real names; importing conf.py belongs to Sphinx.
collect_ignore = ["formulations", "solvers", "docs/conf.py"]

# One seed in CI, so that a red run can be repeated; fresh examples elsewhere. No deadline: the first call compiles.
settings.register_profile("ci", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("local", deadline=None)
settings.load_profile("ci" if os.environ.get("CI") else "local")


@pytest.fixture(autouse=True)
def _examples_write_elsewhere(request: pytest.FixtureRequest) -> Iterator[None]:
    """Run the example of a docstring in an empty folder, so that the files it writes are its own."""
    if not isinstance(request.node, pytest.DoctestItem):
        yield
        return
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        yield


def _enter_workspace(namespace: dict[str, Any]) -> None:
    """Run a page in an empty folder, so that the files it writes are its own."""
    stack = namespace["_workspace"] = contextlib.ExitStack()
    stack.enter_context(contextlib.chdir(stack.enter_context(tempfile.TemporaryDirectory())))


def _leave_workspace(namespace: dict[str, Any]) -> None:
    namespace.pop("_workspace").close()


# The blocks of one page run in order and share their names.
pytest_collect_file = Sybil(
    parsers=[PythonCodeBlockParser(doctest_optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS), SkipParser()],
    patterns=["README.md", "docs/*.md", "docs/**/*.md"],
    excludes=["docs/_build/**", "docs/_generated/**"],
    setup=_enter_workspace,
    teardown=_leave_workspace,
).pytest()
