"""Where the CBC executable is."""

import importlib
import importlib.util
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

__all__ = ["ask", "executable_version", "find_executable", "plain_environment"]

_ASK_SEC = 20.0


def find_executable() -> str | None:
    """``cbc`` on the path, else the one in an installed ``pulp`` or ``cbcbox``; None when there is none."""
    found = shutil.which("cbc")
    return found or next((str(path) for path in _candidates() if os.access(path, os.X_OK)), None)


def _candidates() -> Iterator[Path]:
    suffix = ".exe" if sys.platform == "win32" else ""
    spec = importlib.util.find_spec("pulp")
    if spec is not None and spec.origin is not None:
        system = {"linux": "linux", "darwin": "osx", "win32": "win"}.get(sys.platform, "")
        native = "arm64" if platform.machine().lower() in ("arm64", "aarch64") else "i64"
        # pulp ships an Intel build for macOS, which runs on both kinds of machine.
        for architecture in dict.fromkeys((native, "i64" if sys.platform == "darwin" else native)):
            yield Path(spec.origin).parent / "solverdir" / "cbc" / system / architecture / f"cbc{suffix}"
    # A build of the development branch, quicker to stop, but seen to abort on tiny programs.
    if importlib.util.find_spec("cbcbox") is not None:
        yield Path(importlib.import_module("cbcbox").cbc_bin_path())


def plain_environment() -> dict[str, str]:
    """The environment with a decimal point: what CBC prints is read by us, and a build of it may follow the locale."""
    return {**os.environ, "LC_ALL": "C", "LC_NUMERIC": "C"}


def ask(executable: str, *arguments: str) -> str:
    """What CBC prints for `arguments`."""
    done = subprocess.run(
        [executable, *arguments, "-quit"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=_ASK_SEC,
        check=False,
        env=plain_environment(),
        encoding="utf-8",
        errors="replace",
    )
    return done.stdout + done.stderr


@cache
def executable_version(executable: str) -> str | None:
    """The version that the executable prints about itself."""
    text = ask(executable)
    match = re.search(r"Version:\s*(\S+)", text) or re.search(r"CBC (devel \(\S+\)|\d\S*)", text)
    return match.group(1) if match else None
