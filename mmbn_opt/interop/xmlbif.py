"""Networks as XMLBIF (version 0.3), written and parsed by pgmpy.

pgmpy keeps every digit and escapes names, but replaces what is not a letter, a digit or ``_`` in a state's label. So
such a label is written under an alias, and a property of the variable, which other tools skip, holds the original.
"""

import logging
from pathlib import Path
from typing import Any
from xml.parsers import expat

import numpy as np

from mmbn_opt.data.variable import DiscreteVariable
from mmbn_opt.exceptions import FormatError, InputError
from mmbn_opt.interop import _bif_tokens as tokens
from mmbn_opt.interop import limits
from mmbn_opt.interop._assembly import Family, assemble, normalised_rows, require_target, text_states
from mmbn_opt.interop._optional import optional_module
from mmbn_opt.interop._reading import read_text
from mmbn_opt.interop.atomic import write_text_atomic
from mmbn_opt.interop.with_pgmpy import to_pgmpy
from mmbn_opt.networks.network import BayesianNetwork
from mmbn_opt.networks.structure import Structure

__all__ = ["read_xmlbif", "write_xmlbif"]

logger = logging.getLogger(__name__)

_MAX_DEPTH = 32
_MAX_ELEMENTS = 2 * limits.MAX_NAMES
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


def read_xmlbif(path: str | Path, target: str) -> BayesianNetwork:
    """Read a network from XMLBIF; all variables but the target become features, in the file's order.

    Files with entity declarations are refused, since entities can be made to expand without end.

    Parameters
    ----------
    path : str or Path
        An ``.xml``, ``.xmlbif`` or ``.bifxml`` file, gzip-compressed if it ends in ``.gz``.
    target : str
        Name of the class variable.

    Raises
    ------
    FormatError
        If the file is not XMLBIF.
    SizeLimitError
        If the file is larger than any network that is written.
    MissingDependencyError
        If pgmpy is not installed.
    """
    source = repr(str(path))
    text = read_text(path, "XMLBIF file")
    _refuse_hostile(text, source)
    readwrite = optional_module("pgmpy.readwrite")
    try:
        reader = readwrite.XMLBIFReader(string=text)
    except Exception as error:
        # pgmpy looks for the parts where they belong and fails in many ways where they are not.
        raise FormatError(
            f"{source} is not an XMLBIF network that pgmpy can read ({type(error).__name__}: {error})."
        ) from error
    known = {name: _originals(reader, name, source) for name in reader.variables}
    require_target([name for name, _ in known.values()], target, source)
    try:
        return assemble(_families(reader, known, source), target, source)
    except InputError as error:
        raise FormatError(f"{source} is not a usable network. {error}") from error


def _families(reader: Any, known: dict[str, tuple[str, tuple[str, ...]]], source: str) -> list[Family]:
    families = []
    for name, (original, labels) in known.items():
        if name not in reader.variable_CPD:
            raise InputError(f"It has no table for {name!r}.")
        strangers = [p for p in reader.variable_parents[name] if p not in known]
        if strangers:
            raise InputError(f"It gives {name!r} the parents {strangers}, which it does not declare.")
        table, rescaled = normalised_rows(np.ascontiguousarray(reader.variable_CPD[name].T), original)
        if rescaled:
            logger.info("%s: %d rows of %r were rescaled to sum to 1", source, rescaled, original)
        parents = tuple(known[p][0] for p in reader.variable_parents[name])
        families.append(Family(DiscreteVariable(original, labels), parents, table))
    return families


def _originals(reader: Any, name: str, source: str) -> tuple[str, tuple[str, ...]]:
    """Name and labels of a variable, aliases undone."""
    states = [state or "" for state in reader.variable_states[name]]
    for held in reader.variable_property.get(name, ()):
        key, _, value = (held or "").partition("=")
        if key.strip() == _PROPERTY:
            try:
                texts = [tokens.decode(part) for part in value.strip().split(";")]
            except UnicodeDecodeError:
                raise FormatError(f"{source}: a property of {name!r} holds bytes that are not UTF-8.") from None
            if len(texts) != len(states) + 1:
                raise FormatError(f"{source}: the property {_PROPERTY} of {name!r} does not fit its states.")
            return texts[0], tuple(texts[1:])
    return name or "", tuple(states)


def _refuse_hostile(text: str, source: str) -> None:
    """One pass over the text with a parser that builds nothing."""
    parser = expat.ParserCreate("utf-8")
    depth = elements = 0

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal depth, elements
        depth += 1
        elements += 1
        if depth > _MAX_DEPTH or elements > _MAX_ELEMENTS:
            raise FormatError(
                f"{source} nests elements more than {_MAX_DEPTH} deep or holds more than {_MAX_ELEMENTS:,}; "
                "no network does."
            )

    def end(name: str) -> None:
        nonlocal depth
        depth -= 1

    def entity(*declaration: Any) -> None:
        raise FormatError(f"{source} declares the entity {str(declaration[0])!r}; files with entities are not read.")

    parser.StartElementHandler, parser.EndElementHandler, parser.EntityDeclHandler = start, end, entity
    try:
        parser.Parse(text.encode("utf-8"), True)
    except expat.ExpatError as error:
        raise FormatError(f"{source} is not an XMLBIF file: {error}.") from error
