"""How much a file may become in memory: in proportion to the file, and to the memory that there is."""

import os
from pathlib import Path

from mmbn_opt._arguments import whole
from mmbn_opt.exceptions import InputError, SizeLimitError

__all__ = ["ENVIRONMENT", "EXPANSION", "available_bytes", "chosen_limit", "refuse_beyond_memory", "unpacked_limit"]

ENVIRONMENT = "MMBN_MAX_BYTES"
"""Environment variable in place of `max_bytes`, for commands."""
EXPANSION = 200
"""Most that a compressed file may grow: tables and networks grow 5 to 50 times, gzip can do 1,000."""

_USABLE = 0.8
"""Share of the available memory that a table may take."""
_CELL_BYTES, _TEXT_COPIES = 25, 7
"""What reading takes, as measured: bytes a cell, and bytes a byte of the text (numbers of 19 digits)."""


def chosen_limit(max_bytes: int | None) -> int | None:
    """The caller's limit, or else that of the environment; None where neither says anything.

    Examples
    --------
    >>> chosen_limit(1000)
    1000
    """
    if max_bytes is None:
        said = os.environ.get(ENVIRONMENT, "").strip()
        if not said:
            return None
        if not said.isdecimal() or int(said) < 1:
            raise InputError(f"{ENVIRONMENT} must be a whole number of bytes >= 1, got {said!r}.")
        return int(said)
    return whole("max_bytes", max_bytes, 1, expected="a whole number of bytes >= 1 or None")


def unpacked_limit(packed: int, *, least: int, most: int) -> int:
    """Bytes that a file of `packed` bytes may unpack to, where nobody has chosen a limit.

    Examples
    --------
    >>> unpacked_limit(1_000_000, least=32_000_000, most=2_000_000_000)
    200000000
    """
    return min(most, max(least, EXPANSION * packed))


_CURE = f"Read fewer columns or rows, or set a limit of your own: max_bytes of read_table, or {ENVIRONMENT}."


def refuse_beyond_memory(source: str, what: str, n_cells: int, n_bytes: int, cure: str = _CURE) -> None:
    """Raise `SizeLimitError` when reading would take more than most of the memory that is available.

    Parameters
    ----------
    source, what : str
        The file, and what it holds.
    n_cells : int
    n_bytes : int
        Of its text.
    cure : str
    """
    needed, there = _CELL_BYTES * n_cells + _TEXT_COPIES * n_bytes, available_bytes()
    if there is not None and needed > _USABLE * there:
        raise SizeLimitError(
            f"{source}: {what} of {n_cells:,} cells would take about {needed / 2**30:,.1f} GiB to read; "
            f"{there / 2**30:,.1f} GiB of memory are available. {cure}"
        )


def available_bytes() -> int | None:
    """Memory that this process can still take: what machine, container and its own limit leave; None if unknown.

    Examples
    --------
    >>> free = available_bytes()
    >>> free is None or free > 0
    True
    """
    left = [each for each in (_machine(), _container(), _own_limit()) if each is not None]
    return max(min(left), 1) if left else None


def _machine() -> int | None:
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None


def _container() -> int | None:
    folder = Path("/sys/fs/cgroup")
    try:
        return int((folder / "memory.max").read_text()) - int((folder / "memory.current").read_text())
    except (OSError, ValueError):  # "max" stands for no limit
        return None


def _own_limit() -> int | None:
    try:
        import resource

        most, _ = resource.getrlimit(resource.RLIMIT_AS)
        if most == resource.RLIM_INFINITY:
            return None
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        return most - pages * resource.getpagesize()
    except (ImportError, OSError, ValueError, IndexError):
        return None
