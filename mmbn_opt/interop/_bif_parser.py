"""From the text of a BIF file to its declarations and tables, with the sizes checked before anything is allocated."""

from dataclasses import dataclass, field
from math import prod

import numpy as np
from numpy.typing import NDArray

from mmbn_opt._arguments import listed, shown
from mmbn_opt.exceptions import InputError, SizeLimitError
from mmbn_opt.interop import _bif_tokens as tokens
from mmbn_opt.interop._assembly import normalised_rows
from mmbn_opt.interop._bif_scanner import MAX_NAMES, Scanner

__all__ = ["BifDeclaration", "BifDocument", "BifTable", "parse_bif"]


@dataclass
class BifDeclaration:
    """A ``variable`` block: the tokens of its states, and the labels that they stand for."""

    name: str
    tokens: list[str]
    labels: list[str]


@dataclass(frozen=True, eq=False)
class BifTable:
    """A ``probability`` block: parents as the file orders them, probabilities (configurations, states)."""

    parents: list[str]
    values: NDArray[np.float64]


@dataclass
class BifDocument:
    """What a file says, under the names as written; `n_rescaled` counts rows whose rounded numbers did not sum to 1."""

    variables: dict[str, BifDeclaration] = field(default_factory=dict)
    tables: dict[str, BifTable] = field(default_factory=dict)
    n_rescaled: int = 0


def parse_bif(text: str, name: str, max_cells: int) -> BifDocument:
    """Parse a whole file.

    Parameters
    ----------
    text : str
    name : str
        The file's name, for messages.
    max_cells : int
        Limit on the cells of all tables together.
    """
    return _Parser(Scanner(text, name), max_cells).run()


class _Parser:
    def __init__(self, scanner: Scanner, max_cells: int) -> None:
        self.scanner = scanner
        self.document = BifDocument()
        self.max_cells = max_cells
        self.cells = 0
        self.names = 0

    def run(self) -> BifDocument:
        blocks = {"network": self.network, "variable": self.variable, "probability": self.probability}
        while (token := self.scanner.next_or_none()) is not None:
            if token not in blocks:
                self.scanner.fail(f"expected network, variable or probability, found {shown(str(token))}.")
            blocks[token]()
        return self.document

    def hold(self, names: int) -> None:
        """Count names that are kept until the file is read."""
        self.names += names
        if self.names > MAX_NAMES:
            raise SizeLimitError(f"The file declares more than {MAX_NAMES:,} variables, states and parents together.")

    def network(self) -> None:
        while not self.scanner.at("{"):
            self.scanner.name()
        self.scanner.expect("{")
        self.properties()

    def properties(self) -> None:
        """Property lines up to the closing brace, passed over."""
        while (token := self.scanner.next()) != "}":
            if token != "property":
                self.scanner.fail(f"expected property or '}}', found {shown(str(token))}.")
            self.scanner.skip_property()

    def variable(self) -> None:
        scanner = self.scanner
        words: list[str] = []
        while not scanner.at("{"):
            words.append(scanner.name())
            self.hold(1)
        name = " ".join(words)
        if not words or name in self.document.variables:
            scanner.fail(f"variable {shown(name)} is declared twice." if words else "a variable has no name.")
        scanner.expect("{")
        states: list[str] | None = None
        properties: dict[str, str] = {}
        while not scanner.at("}"):
            token = scanner.next()
            if token == "type" and states is None:
                states = self.states(name)
            elif token == "property":
                key, _, value = scanner.skip_property().partition("=")
                if key.strip().startswith(tokens.PREFIX):
                    self.hold(1)
                    properties[key.strip()] = value.strip()
            else:
                scanner.fail(f"expected type, property or '}}' in variable {shown(name)}, found {shown(str(token))}.")
        scanner.expect("}")
        if states is None:
            scanner.fail(f"variable {shown(name)} has no type line.")
        self.document.variables[name] = self.declaration(name, states, properties)

    def states(self, name: str) -> list[str]:
        scanner = self.scanner
        scanner.expect("discrete", word=True)
        scanner.expect("[")
        size = scanner.name()
        scanner.expect("]")
        scanner.expect("{")
        count = int(size) if size.isascii() and size.isdigit() and len(size) < 10 else None
        states = scanner.names("}", count)
        self.hold(len(states))
        if not scanner.at("}"):
            scanner.expect(";")
        if count != len(states) or not states:
            scanner.fail(
                f"variable {shown(name)} declares {size} states and lists {len(states)}; "
                "labels with commas or brackets need quotes."
            )
        if again := tokens.repeated(states):
            scanner.fail(f"variable {shown(name)} lists the states [{listed(again)}] twice.")
        return states

    def declaration(self, name: str, states: list[str], properties: dict[str, str]) -> BifDeclaration:
        try:
            label = tokens.decode(properties.get(tokens.NAME_PROPERTY, tokens.encode(name)))
            labels = [tokens.decode(properties.get(tokens.LABEL_PROPERTY + s, tokens.encode(s))) for s in states]
        except UnicodeDecodeError:
            self.scanner.fail(f"a property of variable {shown(name)} holds bytes that are not UTF-8.")
        if again := tokens.repeated(labels):
            self.scanner.fail(f"two states of variable {shown(name)} stand for the same label: [{listed(again)}].")
        return BifDeclaration(label, states, labels)

    def probability(self) -> None:
        scanner, declared = self.scanner, self.document.variables
        scanner.expect("(")
        words: list[str] = []
        while scanner.peek().is_name:
            words.append(scanner.name())
            self.hold(1)
        child, parents = " ".join(words), list[str]()
        if scanner.at("|"):
            scanner.next()
            groups = scanner.groups(")")
            words = [w for group in groups for w in group]
            # Names may hold spaces, and lists may go without commas: what is declared decides.
            parents = words if all(w in declared for w in words) else [" ".join(group) for group in groups]
        elif scanner.at(","):
            scanner.next()
            parents = scanner.names(")", None)
        else:
            scanner.expect(")")
            if child not in declared and words:
                # The oldest dialect: the child first, then its parents, without a bar.
                child, *parents = words
        self.hold(len(parents))
        for name in (child, *parents):
            if name not in declared:
                scanner.fail(
                    f"probability of {shown(child)} names the variable {shown(name)}, which is not declared above it."
                )
        if child in self.document.tables:
            scanner.fail(f"there are two probability blocks for {shown(child)}.")
        if len({child, *parents}) != 1 + len(parents):
            scanner.fail(f"probability of {shown(child)} names a variable twice.")
        shape = self.checked_shape(child, parents)
        self.document.tables[child] = BifTable(parents, self.table(child, parents, shape))

    def checked_shape(self, child: str, parents: list[str]) -> tuple[int, int]:
        declared = self.document.variables
        shape = (prod(len(declared[p].tokens) for p in parents), len(declared[child].tokens))
        self.cells += prod(shape)
        if self.cells > self.max_cells:
            sizes = " x ".join(str(len(declared[v].tokens)) for v in (*parents, child))
            raise SizeLimitError(
                f"The table of {shown(child)} has {sizes} = {prod(shape):,} cells, which brings the file to "
                f"{self.cells:,}; "
                f"the limit is max_cells={self.max_cells:,}. Nothing was allocated for it; raise max_cells to read it."
            )
        return shape

    def table(self, child: str, parents: list[str], shape: tuple[int, int]) -> NDArray[np.float64]:
        scanner = self.scanner
        scanner.expect("{")
        values = np.full(shape, np.nan)
        default: list[float] | None = None
        codes = [{token: k for k, token in enumerate(self.document.variables[p].tokens)} for p in parents]
        filled = np.zeros(shape[0], dtype=bool)
        while not scanner.at("}"):
            token = scanner.next()
            if token == "(" and not token.is_name:
                row = self.row_number(child, codes)
                if filled[row]:
                    scanner.fail(f"the probability of {shown(child)} gives one row twice.")
                values[row] = scanner.numbers(shape[1], child)
                filled[row] = True
            elif token == "table" and not filled.any():
                values = self.whole_table(child, shape)
                filled[:] = True
            elif token == "default" and default is None:
                default = scanner.numbers(shape[1], child)
            elif token == "property":
                scanner.skip_property()
            else:
                scanner.fail(
                    f"expected a row, table, default, property or '}}' for {shown(child)}, found {shown(str(token))}."
                )
        scanner.expect("}")
        if default is not None:
            values[~filled] = default
        elif not filled.all():
            scanner.fail(
                f"the probability of {shown(child)} lacks {int((~filled).sum())} of its {shape[0]} rows and has "
                "no default."
            )
        return self.normalised(child, values)

    def row_number(self, child: str, codes: list[dict[str, int]]) -> int:
        scanner = self.scanner
        states = scanner.names(")", len(codes))
        if len(states) != len(codes):
            scanner.fail(f"a row of {shown(child)} names {len(states)} states for {len(codes)} parents.")
        row = 0
        for state, code in zip(states, codes, strict=True):
            if state not in code:
                scanner.fail(f"a row of {shown(child)} names the state {shown(state)}; known: [{listed(code)}].")
            row = row * len(code) + code[state]
        return row

    def whole_table(self, child: str, shape: tuple[int, int]) -> NDArray[np.float64]:
        # The child's state varies slowest and the last parent's fastest.
        return np.array(self.scanner.numbers(prod(shape), child)).reshape(shape[::-1]).T.copy()

    def normalised(self, child: str, values: NDArray[np.float64]) -> NDArray[np.float64]:
        try:
            rows, rescaled = normalised_rows(values, child)
        except InputError as error:
            self.scanner.fail(str(error))
        self.document.n_rescaled += rescaled
        return rows
