"""Networks as XMLBIF (version 0.3), written by pgmpy, read without it.

pgmpy keeps every digit and escapes names, but replaces what is not a letter, a digit or ``_`` in a state's label. So
such a label is written under an alias, and a property of the variable, which other tools skip, holds the original.
"""

import logging
from collections.abc import Callable, Iterable, Mapping
from math import prod
from pathlib import Path
from typing import TypeVar

from mmbn_opt.data.variable import DiscreteVariable
from mmbn_opt.exceptions import FormatError, InputError
from mmbn_opt.interop import _bif_tokens as tokens
from mmbn_opt.interop import limits
from mmbn_opt.interop._assembly import Family, assemble, normalised_rows, require_target, text_states
from mmbn_opt.interop._optional import optional_module
from mmbn_opt.interop._reading import read_bytes
from mmbn_opt.interop._xml_text import decode_xml
from mmbn_opt.interop._xmlbif_parser import Definition, Document, Variable, parse_xmlbif
from mmbn_opt.interop.atomic import write_text_atomic
from mmbn_opt.interop.with_pgmpy import to_pgmpy
from mmbn_opt.networks.network import BayesianNetwork
from mmbn_opt.networks.structure import Structure

__all__ = ["read_xmlbif", "write_xmlbif"]

logger = logging.getLogger(__name__)

_PROPERTY = tokens.PREFIX + "aliases"


def write_xmlbif(network: BayesianNetwork, path: str | Path) -> None:
    """Write a network as XMLBIF, whole or not at all; labels become text, probabilities keep all their digits.

    Raises
    ------
    MissingDependencyError
        If pgmpy is not installed.
    InputError
        If two labels of a column have the same text, a text cannot stand in XML, or the path cannot be written.
    SizeLimitError
        If the tables have more cells than are read again (50 million).
    """
    limits.check_network(network, path)
    names = tokens.aliases(network.structure.names, "v", tokens.is_plain)
    variables = []
    originals = {}
    for name, variable in zip(names, network.variables, strict=True):
        texts = text_states(variable, "an XMLBIF file")
        states = tokens.aliases(texts, "s", tokens.is_plain)
        variables.append(DiscreteVariable(name, tuple(states)))
        if name != variable.name or states != texts:
            # pgmpy parts a property at "="; in the encoded texts there is none.
            originals[name] = ";".join(tokens.encode(text) for text in (variable.name, *texts))
    parents = network.structure.parents
    plain = BayesianNetwork(
        Structure(tuple(names[:-1]), names[-1], parents), tuple(variables[:-1]), variables[-1], network.log_cpts
    )
    model = to_pgmpy(plain)
    model.name = "mmbn_opt"
    for name, held in originals.items():
        model.nodes[name][_PROPERTY] = held
    writer = optional_module("pgmpy.readwrite").XMLBIFWriter(model)
    # pgmpy sorts the variables by name; the order of the features is part of what should come back.
    position = {name: k for k, name in enumerate(names)}
    writer.network[:] = sorted(writer.network, key=lambda part: position.get(part.findtext("NAME"), len(names)))
    write_text_atomic(path, str(writer) + "\n")


def read_xmlbif(path: str | Path, target: str | None = None) -> BayesianNetwork:
    """Read a network from XMLBIF; all variables but the target become features, in the file's order.

    Reading needs no other package. The encoding is that of the byte order mark, else the declared one, else UTF-8;
    blanks around names and labels do not count. Files with entity declarations are refused, since entities can be made
    to expand without end.

    Parameters
    ----------
    path : str or Path
        An ``.xml``, ``.xmlbif`` or ``.bifxml`` file, gzip-compressed if it ends in ``.gz``.
    target : str or None
        Name of the class variable; None for a network without a class.

    Raises
    ------
    FormatError
        If the file is not XMLBIF, or declares a variable or its table twice or not at all; the message has the line.
    SizeLimitError
        If the file is larger than any network that is written.
    InputError
        If there is no such file, or no such variable.
    """
    source = repr(str(path))
    document = parse_xmlbif(decode_xml(read_bytes(path, "XMLBIF file"), source), source)
    if not document.variables:
        raise FormatError(f"{source} is not an XMLBIF network: it declares no variable.")
    declared = _by_name(document.variables, lambda v: v.name, "variable", source)
    tables = _by_name(document.definitions, lambda d: d.child, "the table of", source)
    known = {name: _original(variable, source) for name, variable in declared.items()}
    require_target([variable.name for variable in known.values()], target, source)
    _refuse_strangers(document, known, source)
    try:
        return assemble([_family(tables[name], known, source) for name in declared], target, source)
    except InputError as error:
        raise FormatError(f"{source} is not a usable network. {error}") from error


Declared = TypeVar("Declared", Variable, Definition)


def _by_name(
    parts: Iterable[Declared], name_of: Callable[[Declared], str], what: str, source: str
) -> dict[str, Declared]:
    found: dict[str, Declared] = {}
    for part in parts:
        first = found.setdefault(name_of(part), part)
        if first is not part:
            raise FormatError(
                f"{source} declares {what} {name_of(part)!r} twice, in lines {first.line} and {part.line}. "
                "Remove one of them."
            )
    return found


def _refuse_strangers(document: Document, known: Mapping[str, DiscreteVariable], source: str) -> None:
    for definition in document.definitions:
        strangers = [name for name in (definition.child, *definition.parents) if name not in known]
        if strangers:
            raise FormatError(
                f"{source}: the table in line {definition.line} is of {definition.child!r} given "
                f"{list(definition.parents)}; there is no variable {strangers[0]!r}."
            )
        if again := tokens.repeated(definition.parents):
            raise FormatError(f"{source}: the table in line {definition.line} lists the parents {again} twice.")
    without = [name for name in known if name not in {definition.child for definition in document.definitions}]
    if without:
        raise FormatError(f"{source} has no table for {without[:20]}.")


def _family(definition: Definition, known: Mapping[str, DiscreteVariable], source: str) -> Family:
    child = known[definition.child]
    parents = [known[p] for p in definition.parents]
    rows = prod(p.cardinality for p in parents)
    if definition.numbers.size != rows * child.cardinality:
        raise InputError(
            f"The table of {child.name!r} in line {definition.line} has {definition.numbers.size:,} numbers; its "
            f"states and parents call for {rows:,} x {child.cardinality}."
        )
    table, rescaled = normalised_rows(definition.numbers.reshape(rows, child.cardinality), child.name)
    if rescaled:
        logger.info("%s: %d rows of %r were rescaled to sum to 1", source, rescaled, child.name)
    return Family(child, tuple(p.name for p in parents), table)


def _original(variable: Variable, source: str) -> DiscreteVariable:
    """The variable with its aliases undone."""
    for held in variable.properties:
        key, _, value = held.partition("=")
        if key.strip() == _PROPERTY:
            try:
                texts = [tokens.decode(part) for part in value.strip().split(";")]
            except UnicodeDecodeError:
                raise FormatError(
                    f"{source}: line {variable.line}: a property of {variable.name!r} holds bytes that are not UTF-8."
                ) from None
            if len(texts) != len(variable.states) + 1:
                raise FormatError(
                    f"{source}: line {variable.line}: the property {_PROPERTY} of {variable.name!r} does not fit its "
                    "states."
                )
            return _variable(texts[0], tuple(texts[1:]), variable.line, source)
    return _variable(variable.name, variable.states, variable.line, source)


def _variable(name: str, states: tuple[str, ...], line: int, source: str) -> DiscreteVariable:
    if again := tokens.repeated(states):
        raise FormatError(f"{source}: line {line}: variable {name!r} lists the states {again} twice.")
    return DiscreteVariable(name, states)
