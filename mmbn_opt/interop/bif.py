"""Networks in the Bayesian Interchange Format, as bnlearn, pgmpy and pyAgrum write and read it."""

import logging
from pathlib import Path

import numpy as np

from mmbn_opt._arguments import listed
from mmbn_opt.data.variable import DiscreteVariable
from mmbn_opt.exceptions import FormatError, InputError
from mmbn_opt.interop import _bif_tokens as tokens
from mmbn_opt.interop import limits
from mmbn_opt.interop._assembly import Family, assemble, require_target, text_states
from mmbn_opt.interop._bif_parser import parse_bif
from mmbn_opt.interop._reading import read_text
from mmbn_opt.interop.atomic import write_bytes_atomic
from mmbn_opt.networks.network import BayesianNetwork

__all__ = ["bif_content", "read_bif", "write_bif"]

logger = logging.getLogger(__name__)

_SUM_TOLERANCE = 1e-6
_PLACE = "a BIF file"


def write_bif(network: BayesianNetwork, path: str | Path) -> None:
    """Write a network as BIF (gzip-compressed when the name ends in ``.gz``), whole or not at all.

    BIF knows text only, so a label is written as ``str(label)`` and read back as a string; probabilities keep all their
    digits. A name or label that is not a plain token for every reader gets an alias, and a property line keeps the
    original, which `read_bif` restores.

    Raises
    ------
    InputError
        If two labels of a column have the same text, or the path cannot be written.
    SizeLimitError
        If the file could not be read again: more than 50 million cells, or too many for a compressed one.
    """
    limits.check_network(network, path)
    content = bif_content(network)
    write_bytes_atomic(path, limits.pack(content, path) if Path(path).suffix == ".gz" else content)


def bif_content(network: BayesianNetwork) -> bytes:
    """What `write_bif` writes."""
    return "".join(_blocks(network)).encode("ascii")


def read_bif(path: str | Path, target: str | None = None, *, max_cells: int | None = None) -> BayesianNetwork:
    """Read a network from BIF; all variables but the target become features, in the file's order.

    Rows may come in any order, as ``(states) numbers;``, ``default`` or ``table`` (the child's state varying slowest).
    Rows of rounded numbers, up to 0.01 away from a sum of 1, are rescaled; how many is logged.

    Parameters
    ----------
    path : str or Path
        A ``.bif`` or ``.bif.gz`` file.
    target : str or None
        Name of the class variable; None for a network without a class.
    max_cells : int or None
        Limit on the cells of all tables together, checked before they are allocated. None: that of all networks.

    Raises
    ------
    FormatError
        If the file is not BIF; the message has the line.
    SizeLimitError
        If the tables exceed `max_cells`.
    InputError
        If there is no such file, or no such variable.
    """
    source = repr(str(path))
    document = parse_bif(read_text(path, "BIF file"), str(path), limits.max_cells() if max_cells is None else max_cells)
    if document.n_rescaled:
        logger.info("%s: %d rows of rounded probabilities were rescaled to sum to 1", path, document.n_rescaled)
    declared, tables = document.variables, document.tables
    if not declared:
        raise FormatError(f"{source} is not a BIF file: it declares no variable.")
    labels = [d.name for d in declared.values()]
    if again := tokens.repeated(labels):
        raise FormatError(f"{source} declares the variables [{listed(again)}] twice.")
    require_target(labels, target, source)
    without = [d.name for token, d in declared.items() if token not in tables]
    if without:
        raise FormatError(f"{source} has no probability block for {without[:20]}.")
    try:
        families = [
            Family(
                DiscreteVariable(d.name, tuple(d.labels)),
                tuple(declared[p].name for p in tables[token].parents),
                tables[token].values,
            )
            for token, d in declared.items()
        ]
        return assemble(families, target, source)
    except InputError as error:
        raise FormatError(f"{source} is not a usable network. {error}") from error


def _blocks(network: BayesianNetwork) -> list[str]:
    names = tokens.aliases(network.structure.names, "v", tokens.is_identifier)
    states = [tokens.aliases(text_states(v, _PLACE), "s") for v in network.variables]
    blocks = ["network mmbn_opt {\n}\n"]
    for name, aliases, variable in zip(names, states, network.variables, strict=True):
        lines = [f"variable {name} {{\n  type discrete [ {len(aliases)} ] {{ {', '.join(aliases)} }};\n"]
        if name != variable.name:
            lines.append(f"  property {tokens.NAME_PROPERTY} = {tokens.encode(variable.name)};\n")
        lines += [
            f"  property {tokens.LABEL_PROPERTY}{alias} = {tokens.encode(text)};\n"
            for alias, text in zip(aliases, text_states(variable, _PLACE), strict=True)
            if alias != text
        ]
        blocks += [*lines, "}\n"]
    for node, parents in enumerate(network.structure.parents):
        rows = _rows(network, node)
        if not parents:
            blocks.append(f"probability ( {names[node]} ) {{\n  table {rows[0]};\n}}\n")
            continue
        configurations = _configurations([states[p] for p in parents])
        given = ", ".join(names[p] for p in parents)
        body = "".join(f"  ({states_}) {row};\n" for states_, row in zip(configurations, rows, strict=True))
        blocks.append(f"probability ( {names[node]} | {given} ) {{\n{body}}}\n")
    return blocks


def _rows(network: BayesianNetwork, node: int) -> list[str]:
    table = np.exp(network.log_cpts[node])
    if np.abs(table.sum(axis=1) - 1.0).max() > _SUM_TOLERANCE:
        raise InputError(
            f"The CPT of {network.structure.names[node]!r} is not normalised, so it cannot be written as BIF."
        )
    lost = int(((table == 0) & ~np.isneginf(network.log_cpts[node])).sum())
    if lost:
        logger.warning("%s: %d probabilities below 1e-323 are written as 0", network.structure.names[node], lost)
    return [", ".join(map(repr, row)) for row in table.tolist()]


def _configurations(states: list[list[str]]) -> list[str]:
    """Parent configurations as text, the last parent varying fastest."""
    texts = states[0]
    for more in states[1:]:
        texts = [f"{text}, {state}" for text in texts for state in more]
    return texts
