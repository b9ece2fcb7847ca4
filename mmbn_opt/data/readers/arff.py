"""ARFF files as Weka, OpenML and KEEL write them; nominal attributes keep their declared states."""

import logging
import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mmbn_opt._arguments import listed
from mmbn_opt.data.readers.cell_texts import WHOLE_NUMBER
from mmbn_opt.data.readers.limits import refuse_beyond_memory
from mmbn_opt.data.readers.names import refuse_bad_names
from mmbn_opt.exceptions import FormatError

__all__ = ["read_arff"]

logger = logging.getLogger(__name__)

# No pattern can go back and match its text in another way, and a quote opens only where a word could begin, so that
# no line takes longer than its length. An apostrophe within a word is a letter.
_QUOTED = r"""(?<![^\s,{])(?:'[^'\\]*+(?:\\.[^'\\]*+)*+'|"[^"\\]*+(?:\\.[^"\\]*+)*+\")"""
_NAME = re.compile(rf"({_QUOTED}|[^\s{{]++)\s*+(.*)", re.DOTALL)
_CELL = re.compile(rf"\s*+(?:({_QUOTED})\s*+(,|$)|([^,]*+)(,|$))")
_WORD = re.compile(rf"{_QUOTED}|[^\s,]++")
_SPARSE_INDEX = re.compile(r"\s*+([0-9]{1,9})\s++")
# A comment begins where a word could: "50%" is a value, " % half" is not.
_COMMENT = re.compile(rf"{_QUOTED}|(?<!\S)%.*+", re.DOTALL)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_CONTROL = {"n": "\n", "r": "\r", "t": "\t"}
_NUMERIC = ("numeric", "real", "integer")
_AS_TEXT = ("string", "date")


@dataclass(frozen=True)
class _Attribute:
    """One declared column; `states` is None unless it is nominal."""

    name: str
    kind: str
    states: tuple[str, ...] | None = None


class _Quoted(str):
    """A cell that was quoted, so that '?' is a state and ? is missing."""

    __slots__ = ()


@dataclass(frozen=True)
class _Rows:
    cells: list[list[str]]
    lines: list[int]


def read_arff(text: bytes, source: str, missing: frozenset[str], *, trusted: bool = False) -> pd.DataFrame:
    r"""Parse UTF-8 text with \n line ends; see `read_table` for the rules. `trusted`: whatever memory it takes."""
    lines = text.decode("utf-8").split("\n")
    attributes, data_line = _header(lines, source)
    if not trusted:  # a sparse row of two characters is a row of all attributes
        refuse_beyond_memory(source, "a table", len(attributes) * (len(lines) - data_line), len(text))
    rows = _data(lines, data_line, attributes, source)
    columns = zip(*rows.cells, strict=True) if rows.cells else ([] for _ in attributes)
    return pd.DataFrame(
        {
            attribute.name: _column(attribute, cells, rows.lines, missing, source)
            for attribute, cells in zip(attributes, columns, strict=True)
        }
    )


def _header(lines: Sequence[str], source: str) -> tuple[list[_Attribute], int]:
    attributes: list[_Attribute] = []
    for number, raw in enumerate(lines, start=1):
        line = _without_comment(raw).strip()
        if not line:
            continue
        keyword, *rest = line.split(maxsplit=1)
        match keyword.lower():
            case "@relation" | "@inputs" | "@input" | "@outputs" | "@output":  # KEEL says what the class is
                continue
            case "@attribute":
                attributes.append(_attribute("".join(rest), number, source))
            case "@data":
                if not attributes:
                    raise FormatError(f"{source}: no @attribute line stands before @data. Check the file's header.")
                refuse_bad_names([attribute.name for attribute in attributes], source)
                return attributes, number
            case _:
                raise FormatError(
                    f"{source}: line {number} of the ARFF header is {line[:60]!r}; expected @relation, @attribute or "
                    "@data (comments begin with %)."
                )
    raise FormatError(f"{source}: the ARFF file has no @data line. It may be cut off; copy or download it again.")


def _attribute(declaration: str, number: int, source: str) -> _Attribute:
    found = _NAME.match(declaration)
    name, kind = (_plain(found[1]), found[2].strip()) if found else ("", "")
    if kind.startswith("{") and kind.endswith("}"):
        inner = kind[1:-1].strip()
        # Weka takes blanks between states as well as commas.
        parts = _split(inner) if "," in inner else [_plain(word) for word in _WORD.findall(inner)]
        states = tuple(str(part) for part in (parts[:-1] if parts and not parts[-1] else parts))
        repeated = sorted(state for state, count in Counter(states).items() if count > 1)
        if not states or repeated:
            what = f"declares {listed(repeated)} twice" if repeated else "declares no states"
            raise FormatError(f"{source}: line {number}: attribute {name!r} {what}. List each state once.")
        return _Attribute(name, "nominal", states)
    # KEEL adds the range of the numbers: "real [4.3, 7.9]".
    word = re.split(r"[\s\[]", kind, maxsplit=1)[0].lower()
    if word not in (*_NUMERIC, *_AS_TEXT):
        raise FormatError(
            f"{source}: line {number}: attribute {name!r} has the type {kind[:60]!r}. Types that can be read are "
            "numeric, real, integer, string, date and {state, state, ...}."
        )
    return _Attribute(name, word)


def _data(lines: Sequence[str], first: int, attributes: Sequence[_Attribute], source: str) -> _Rows:
    width = len(attributes)
    rows = _Rows([], [])
    for number, line in enumerate(lines[first:], start=first + 1):
        if any(mark in line for mark in "'\"{%\\"):
            text = _without_comment(line).strip()
            cells = _careful_row(text, attributes, number, source)
        else:
            text = line.strip()
            cells = [cell.strip() for cell in text.split(",")]
        if not text:
            continue
        if len(cells) == width + 1 and not cells[-1]:
            cells.pop()
        if len(cells) != width:
            words = [_plain(word) for word in _WORD.findall(text)]
            if len(words) != width:
                raise FormatError(
                    f"{source}: line {number} has {len(cells)} values, the header declares {width} attributes. "
                    "Mend the line; quote values that hold commas."
                )
            cells = words
        rows.cells.append(cells)
        rows.lines.append(number)
    return rows


def _careful_row(text: str, attributes: Sequence[_Attribute], number: int, source: str) -> list[str]:
    """Cells of a line with quotes, escapes or braces."""
    braces = re.sub(_QUOTED, "", text)
    if "{" not in braces:
        return _split(text)
    if not text.startswith("{") or not text.endswith("}") or braces.count("{") > 1:
        raise FormatError(
            f"{source}: line {number} ends in a weight in braces. Weights in ARFF rows are not read: "
            "put them in a column of their own, or remove them."
        )
    cells: list[str] = [_Quoted(a.states[0]) if a.states else "0" for a in attributes]
    filled = set()
    inner, at = text[1:-1].strip(), 0
    while at < len(inner):
        index = _SPARSE_INDEX.match(inner, at)
        j = int(index[1]) if index else -1
        found = _CELL.match(inner, index.end()) if index else None
        if found is None or not 0 <= j < len(cells) or j in filled:
            raise FormatError(
                f"{source}: line {number}: {inner[at : at + 30].strip()!r} is not a sparse value. "
                f"Write {{index value, ...}} with each index once, from 0 to {len(cells) - 1}."
            )
        cells[j] = _cell(found)
        filled.add(j)
        at = found.end()
    left = [a.name for j, a in enumerate(attributes) if a.kind in _AS_TEXT and j not in filled]
    if left:
        raise FormatError(
            f"{source}: line {number} is sparse and leaves out text attribute {left[0]!r}, which has no zero. "
            "Write the value, or ? if it is missing."
        )
    return cells


def _column(
    attribute: _Attribute, cells: Sequence[str], lines: Sequence[int], missing: frozenset[str], source: str
) -> "pd.Series[Any]":
    if attribute.states is not None:
        return _nominal(attribute, attribute.states, cells, lines, missing, source)
    if attribute.kind in _NUMERIC:
        values = np.empty(len(cells))
        for i, cell in enumerate(cells):
            values[i] = math.nan if _is_missing(cell, missing) else _number(cell, attribute, lines[i], source)
        return pd.Series(values) if attribute.kind == "real" else _whole_where_all_are(values, cells)
    texts = [None if _is_missing(cell, missing) else str(cell) for cell in cells]
    states = pd.Index(list(dict.fromkeys(text for text in texts if text is not None)))
    return pd.Series(pd.Categorical(texts, categories=states)).astype(states.dtype)


def _whole_where_all_are(values: NDArray[np.float64], cells: Sequence[str]) -> "pd.Series[Any]":
    """Integers if all cells are written as such, as in a delimited file: one table is one table in every format."""
    present = ~np.isnan(values)
    texts = {cells[i] for i in np.flatnonzero(present).tolist()}
    # From 2**53 on a float is not the number that was written.
    if not texts or not all(map(WHOLE_NUMBER.fullmatch, texts)) or np.abs(values[present]).max() >= 2**53:
        return pd.Series(values)
    integers = np.where(present, values, 0.0).astype(np.int64)
    return pd.Series(integers) if present.all() else pd.Series(pd.arrays.IntegerArray(integers, ~present))


def _nominal(
    attribute: _Attribute,
    states: tuple[str, ...],
    cells: Sequence[str],
    lines: Sequence[int],
    missing: frozenset[str],
    source: str,
) -> "pd.Series[Any]":
    lookup = {state: code for code, state in enumerate(states)}
    codes = np.empty(len(cells), dtype=np.int64)
    for i, cell in enumerate(cells):
        code = lookup.get(cell, -1)
        if code < 0 and not _is_missing(cell, missing):
            raise FormatError(
                f"{source}: line {lines[i]}: {cell!r} is not a declared state of {attribute.name!r}; declared are "
                f"{listed(states)}. Add it to the @attribute line, or mend the value."
            )
        codes[i] = -1 if cell == "?" and not isinstance(cell, _Quoted) else code
    kept = sorted(missing.intersection(states))
    if kept:
        logger.info("%s: %s are declared states of %r, so not missing cells", source, kept, attribute.name)
    return pd.Series(pd.Categorical.from_codes(codes, categories=pd.Index(list(states))))


def _number(cell: str, attribute: _Attribute, line: int, source: str) -> float:
    try:
        value = float(cell)
    except ValueError:
        value = math.nan
    # float() also takes "nan", "inf" and "1_000"; none of them is a number in ARFF.
    if not math.isfinite(value) or "_" in cell:
        raise FormatError(
            f"{source}: line {line}: {str(cell)!r} is not a finite number, but attribute {attribute.name!r} is "
            f"{attribute.kind}. Write ? for a missing value."
        )
    return value


def _is_missing(cell: str, missing: frozenset[str]) -> bool:
    return (cell == "?" or cell in missing) and not isinstance(cell, _Quoted)


def _split(text: str) -> list[str]:
    cells = []
    at = 0
    while (found := _CELL.match(text, at)) is not None:
        cells.append(_cell(found))
        at = found.end()
        if "," not in (found[2], found[4]):
            break
    return cells


def _cell(found: re.Match[str]) -> str:
    """Content of a cell; an opening quote without its end, or with text after it, is kept as it stands."""
    return _plain(found[1]) if found[1] is not None else found[3].strip()


def _plain(token: str) -> str:
    """A token without its quotes and escapes."""
    if len(token) > 1 and token[0] == token[-1] and token[0] in "'\"":
        return _Quoted(_ESCAPE.sub(lambda m: _CONTROL.get(m[1], m[1]), token[1:-1]))
    return token


def _without_comment(line: str) -> str:
    if "%" not in line:
        return line
    return _COMMENT.sub(lambda m: "" if m[0].startswith("%") else m[0], line)
