"""XMLBIF as a list of what it declares: one pass over the elements, each refusal with its line.

Version 0.3 (``OUTCOME``, ``DEFINITION``) and its forerunners (``VALUE``, ``PROBABILITY``) are read, whatever prefix a
namespace gives the elements. Comments may stand anywhere; elements that are not of the format are passed over.
"""

from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NoReturn
from xml.parsers import expat

import numpy as np

from mmbn_opt._arrays import FloatArray
from mmbn_opt.exceptions import FormatError, SizeLimitError
from mmbn_opt.interop import limits

__all__ = ["Definition", "Document", "Variable", "parse_xmlbif"]

_MAX_DEPTH = 32
_MAX_ELEMENTS = 2 * limits.MAX_NAMES
_BLANKS = " \t\r\n"
_KINDS = {"VARIABLE": "VARIABLE", "DEFINITION": "DEFINITION", "PROBABILITY": "DEFINITION"}
_TEXTS = {
    "VARIABLE": {"NAME": "NAME", "OUTCOME": "OUTCOME", "VALUE": "OUTCOME", "PROPERTY": "PROPERTY", "TYPE": "TYPE"},
    "DEFINITION": {"FOR": "FOR", "GIVEN": "GIVEN", "TABLE": "TABLE", "PROPERTY": "PROPERTY"},
}


@dataclass(frozen=True)
class Variable:
    """A variable as it is declared."""

    name: str
    states: tuple[str, ...]
    properties: tuple[str, ...]
    line: int


@dataclass(frozen=True, eq=False)
class Definition:
    """A table as it is declared: the child's state varies fastest, then the last parent."""

    child: str
    parents: tuple[str, ...]
    numbers: FloatArray
    line: int


@dataclass(frozen=True)
class Document:
    """All that a file declares, in its order."""

    variables: tuple[Variable, ...]
    definitions: tuple[Definition, ...]


@dataclass
class _Part:
    """A VARIABLE or DEFINITION that is being read: its kind, its line, and the texts of its elements."""

    kind: str
    line: int
    attributes: dict[str, str]
    texts: dict[str, list[str]] = field(default_factory=dict)


class _Reader:
    """What expat calls."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.variables: list[Variable] = []
        self.definitions: list[Definition] = []
        self._stack: list[str] = []
        self._elements = 0
        self._networks = 0
        self._cells = 0
        self._part: _Part | None = None
        self._text: list[str] | None = None
        parser = expat.ParserCreate("utf-8")
        parser.buffer_text = True
        parser.StartElementHandler, parser.EndElementHandler = self._start, self._end
        parser.CharacterDataHandler = self._characters
        parser.EntityDeclHandler, parser.SkippedEntityHandler = self._entity, self._skipped
        self.parser = parser

    def refuse(self, told: str, line: int | None = None) -> NoReturn:
        line = self.parser.CurrentLineNumber if line is None else line
        raise FormatError(f"{self.source} is not an XMLBIF network: line {line}: {told}")

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        tag = name.rpartition(":")[2].upper()
        self._elements += 1
        if len(self._stack) >= _MAX_DEPTH or self._elements > _MAX_ELEMENTS:
            raise FormatError(
                f"{self.source} nests elements more than {_MAX_DEPTH} deep or holds more than {_MAX_ELEMENTS:,}; "
                "no network does."
            )
        if not self._stack and tag not in ("BIF", "NETWORK"):
            self.refuse(f"the outermost element is <{name[:60]}>, not <BIF>. Check that it is the file you mean.")
        if self._text is not None:
            self.refuse(f"<{self._stack[-1]}> holds the element <{name[:60]}>; it can hold text only.")
        if tag == "NETWORK":
            self._networks += 1
            if self._networks > 1:
                self.refuse("a second <NETWORK> begins. Put each network into a file of its own.")
        elif tag in _KINDS and self._part is not None:
            self.refuse(f"<{tag}> begins within the <{self._part.kind}> of line {self._part.line}.")
        elif tag in _KINDS and self._stack[-1:] not in (["BIF"], ["NETWORK"]):
            self.refuse(f"<{tag}> stands within <{self._stack[-1][:60]}>; it belongs into <NETWORK>.")
        elif tag in _KINDS:
            line = self.parser.CurrentLineNumber
            self._part = _Part(_KINDS[tag], line, {key.upper(): value for key, value in attributes.items()})
        elif self._part is not None and self._stack[-1] in _KINDS and tag in _TEXTS[self._part.kind]:
            self._text = []
        self._stack.append(tag)

    def _characters(self, text: str) -> None:
        if self._text is not None:
            self._text.append(text)

    def _end(self, name: str) -> None:
        tag, part = self._stack.pop(), self._part
        if part is not None and self._text is not None:
            text = "".join(self._text).strip(_BLANKS)
            part.texts.setdefault(_TEXTS[part.kind][tag], []).append(text)
            self._text = None
        elif part is not None and tag in _KINDS:
            self._part = None
            if part.kind == "VARIABLE":
                self._variable(part)
            else:
                self._definition(part)

    def _variable(self, part: _Part) -> None:
        name = self._only(part, "NAME")
        kind = part.attributes.get("TYPE", "nature").strip().lower()
        if kind in ("decision", "utility"):
            self.refuse(f"variable {name!r} is a {kind}; networks of chance variables are read only.", part.line)
        states = tuple(part.texts.get("OUTCOME", ()))
        if not states:
            self.refuse(f"variable {name!r} has no <OUTCOME>: its states are not known.", part.line)
        self.variables.append(Variable(name, states, tuple(part.texts.get("PROPERTY", ())), part.line))

    def _definition(self, part: _Part) -> None:
        child = self._only(part, "FOR")
        words = self._only(part, "TABLE", f" of {child!r}").split()
        self._cells += len(words)
        if self._cells > limits.max_cells():
            raise SizeLimitError(f"{self.source} has more than {limits.max_cells():,} table cells, the limit.")
        numbers = np.empty(len(words))
        for k, word in enumerate(words):
            numbers[k] = self._number(word, child, part.line)
        self.definitions.append(Definition(child, tuple(part.texts.get("GIVEN", ())), numbers, part.line))

    def _number(self, word: str, child: str, line: int) -> float:
        # float() also takes "1_000".
        with suppress(ValueError):
            if "_" not in word:
                return float(word.removesuffix(","))
        cure = " Decimals are written with a point." if "," in word else ""
        return self.refuse(f"the table of {child!r} holds {word[:60]!r}, which is no number.{cure}", line)

    def _only(self, part: _Part, tag: str, of: str = "") -> str:
        texts = part.texts.get(tag, [])
        if len(texts) != 1:
            found = "no" if not texts else f"{len(texts)} times"
            told = f"<{part.kind}>{of} has {found} <{tag}>; it needs one."
            self.refuse(told, part.line)
        return texts[0]

    def _entity(self, *declaration: Any) -> None:
        raise FormatError(
            f"{self.source} declares the entity {str(declaration[0])[:60]!r}; files with entities are not read."
        )

    def _skipped(self, name: str, is_parameter: bool) -> None:
        self.refuse(f"the entity {name[:60]!r} is nowhere declared. Write its characters.")


def parse_xmlbif(text: str, source: str) -> Document:
    """What a file declares; nothing is looked up, so that names may come in any order.

    Parameters
    ----------
    text : str
        Without the XML declaration.
    source : str
        The file, for messages.

    Raises
    ------
    FormatError
        If it is not XML, nests too deeply, declares entities, or an element is not as the format has it.
    SizeLimitError
        If there are more numbers than a network may have.
    """
    reader = _Reader(source)
    try:
        reader.parser.Parse(text.encode("utf-8"), True)
    except expat.ExpatError as error:
        raise FormatError(f"{source} is not an XMLBIF file: {error}.") from error
    return Document(tuple(reader.variables), tuple(reader.definitions))
