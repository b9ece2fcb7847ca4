"""Where a run took place: machine, versions, and the memory of a process with all that it started."""

import os
import platform
import sys
from collections.abc import Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

__all__ = ["can_measure_memory", "family", "family_bytes", "machine", "own_peak_bytes", "package_versions"]

_PACKAGES = ("mmbn-opt", "numpy", "scipy", "numba", "pandas", "scikit-learn", "cvxpy", "pyomo")
_PROC = Path("/proc")


@cache
def machine() -> str:
    """System, processor and interpreter in one line."""
    return (
        f"{platform.system()} {platform.release()}, {_processor()}, {os.cpu_count()} CPUs, "
        f"Python {platform.python_version()}"
    )


def _processor() -> str:
    try:
        lines = (_PROC / "cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, "") or platform.processor() or platform.machine()


@cache
def package_versions() -> Mapping[str, str]:
    """Versions of this package and of what all runs stand on; a solver's own is told by the solver."""
    found = {}
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def can_measure_memory() -> bool:
    """Whether the memory of another process can be read here (Linux)."""
    return sys.platform == "linux" and (_PROC / "self" / "statm").is_file()


def family(pid: int) -> list[int]:
    """The process and its descendants; only the process itself where they cannot be listed."""
    found, waiting = [], [pid]
    while waiting:
        found.append(waiting.pop())
        try:
            threads = list((_PROC / str(found[-1]) / "task").iterdir())
            waiting += [int(child) for thread in threads for child in (thread / "children").read_text().split()]
        except OSError:
            continue  # it has ended, or this is not Linux
    return found


def family_bytes(pid: int) -> int:
    """Resident memory of the process and its descendants together; 0 when they have ended.

    Examples
    --------
    >>> family_bytes(os.getpid()) > 1_000_000 or not can_measure_memory()
    True
    """
    page = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096
    total = 0
    for member in family(pid):
        try:
            total += int((_PROC / str(member) / "statm").read_text().split()[1]) * page
        except (OSError, IndexError):
            continue
    return total


def own_peak_bytes() -> int | None:
    """Most resident memory that this process held, as far as the system tells.

    Examples
    --------
    >>> (own_peak_bytes() or 10**8) > 1_000_000
    True
    """
    try:
        # Not getrusage on Linux: its figure counts what the parent held when it started this process.
        lines = (_PROC / "self" / "status").read_text(encoding="ascii", errors="replace").splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))
    except (OSError, StopIteration):
        pass
    if sys.platform == "win32":
        return None
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
