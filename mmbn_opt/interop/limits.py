"""Sizes of files of networks: one set of limits for those who write and those who read.

Whatever `BayesianNetwork.fit` makes can be written, and whatever is written can be read.
"""

import gzip
import logging
from pathlib import Path

from mmbn_opt._arguments import listed, shown
from mmbn_opt.data import counts
from mmbn_opt.data.readers.limits import unpacked_limit
from mmbn_opt.exceptions import SizeLimitError
from mmbn_opt.networks.network import BayesianNetwork

__all__ = ["MAX_NAMES", "check_network", "max_cells", "max_packed_text", "max_text", "max_values", "pack"]

logger = logging.getLogger(__name__)

CELL_BYTES = 26
"""Most that a number takes in a file: 17 digits, sign, point, exponent and separator."""
TEXT_BYTES = 256 * 2**20
"""For names, labels and what stands between the numbers."""
SMALL_TEXT = 256 * 2**20
"""What any compressed file may unpack to."""
MAX_NAMES = 10_000_000
"""Most variables, states and parents together."""
LARGE_CELLS = 5_000_000
"""Above, a network is named with its largest tables before it is written: a hundred megabytes or more."""


def max_cells() -> int:
    """Most cells of all tables of a network, in files as in memory."""
    return counts.MAX_NETWORK_CELLS


def max_text() -> int:
    """Bytes of the longest text that is read: that of a network of `max_cells` numbers."""
    return CELL_BYTES * max_cells() + TEXT_BYTES


def max_values() -> int:
    """Most values of a JSON file: each number, the list of each row, and as many names and labels."""
    return 3 * max_cells() + 20_000_000


def max_packed_text(packed: int) -> int:
    """Bytes that a compressed file of a network may unpack to."""
    return unpacked_limit(packed, least=SMALL_TEXT, most=max_text())


def check_network(network: BayesianNetwork, path: str | Path) -> None:
    """Refuse a network whose file could not be read again; warn of a large one, with the tables that make it so."""
    total = sum(table.size for table in network.log_cpts)
    names = sum(1 + v.cardinality + len(ps) for v, ps in zip(network.variables, network.structure.parents, strict=True))
    if names > MAX_NAMES:
        raise SizeLimitError(
            f"The network has {names:,} variables, states and parents; files of networks hold at most {MAX_NAMES:,}, "
            f"so that {str(path)!r} was not written. Leave columns that name each row out."
        )
    if total <= min(LARGE_CELLS, max_cells()):
        return
    largest = _largest_tables(network)
    if total > max_cells():
        raise SizeLimitError(
            f"The network has {total:,} table cells (the largest tables: {largest}); files of networks hold at most "
            f"{max_cells():,}, so that {str(path)!r} was not written. Use fewer parents, merge states, or leave such "
            "columns out."
        )
    logger.warning(
        "%s will hold %s table cells, some %s MB (the largest tables: %s)",
        path,
        f"{total:,}",
        f"{20 * total // 1_000_000:,}",
        largest,
    )


def _largest_tables(network: BayesianNetwork) -> str:
    """The three largest tables, each with its parents, one of which is what makes it large."""
    names, parents = network.structure.names, network.structure.parents
    ranked = sorted(range(len(names)), key=lambda node: -network.log_cpts[node].size)[:3]
    return "; ".join(
        f"{shown(names[node])}{' given ' * bool(parents[node])}{listed(names[p] for p in parents[node])} "
        f"{network.log_cpts[node].size:,}"
        for node in ranked
    )


def pack(content: bytes, path: str | Path) -> bytes:
    """Compress what can be read again; the time stamp is left out, so that equal networks give equal files."""
    packed = gzip.compress(content, mtime=0)
    limit = max_packed_text(len(packed))
    if len(content) > limit:
        raise SizeLimitError(
            f"{str(path)!r} would unpack {len(packed):,} bytes to {len(content):,}, which the readers take for a trap "
            f"(the limit is {limit:,}); it was not written. Write it without .gz."
        )
    return packed
