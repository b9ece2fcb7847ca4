"""Networks in the UAI model format (``BAYES``): numbers only, so names and labels have to be given back.

The text is ``BAYES``, the number of variables, their numbers of states, the number of tables, for each table its scope
(its length, the parents, the child last), then for each table its length and its numbers, the last variable of the
scope varying fastest.

It is written and parsed here because neither tool keeps it: pyAgrum 3.3 writes six digits, reads single precision,
takes a declared size at its word and lets the first of several parents vary faster than the last; pgmpy 1.1 lets the
child vary slowest and cannot read exponents.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from math import prod
from pathlib import Path
from typing import Literal, NoReturn

import numpy as np
from numpy.typing import NDArray

from mmbn_opt._arguments import shown
from mmbn_opt.data.variable import DiscreteVariable
from mmbn_opt.exceptions import FormatError, InputError, SizeLimitError
from mmbn_opt.interop import limits
from mmbn_opt.interop._assembly import Family, assemble, normalised_rows, require_target
from mmbn_opt.interop._reading import read_text
from mmbn_opt.interop.atomic import write_text_atomic
from mmbn_opt.networks.network import BayesianNetwork

__all__ = ["read_uai", "write_uai"]

_MAX_VARIABLES = 1_000_000
_TOKEN = re.compile(r"#[^\n]*|[^\s#]+")

Layout = Literal["uai", "pyagrum"]
Names = Mapping[str, Sequence[object]] | Sequence[DiscreteVariable]


def write_uai(network: BayesianNetwork, path: str | Path, *, layout: Layout = "uai") -> None:
    """Write the numbers of a network, features first and the class last, all digits kept, whole or not at all.

    Names and labels are lost: keep ``network.variables`` and hand them to `read_uai`.

    Parameters
    ----------
    network : BayesianNetwork
    path : str or Path
    layout : {"uai", "pyagrum"}
        Which parent varies fastest: the last one, as the format has it, or the first one, as pyAgrum has it.

    Raises
    ------
    InputError
        If the path cannot be written.
    SizeLimitError
        If the tables have more cells than are read again (50 million).
    """
    step = _step(layout)
    limits.check_network(network, path)
    parents = [ps[::step] for ps in network.structure.parents]
    lines = ["BAYES", str(len(parents)), " ".join(map(str, network.cardinalities)), str(len(parents))]
    lines += [" ".join(map(str, (len(ps) + 1, *ps, node))) for node, ps in enumerate(parents)]
    for table in network.log_cpts:
        lines += ["", str(table.size), *(" ".join(map(repr, row)) for row in np.exp(table).tolist())]
    write_text_atomic(path, "\n".join(lines) + "\n")


def read_uai(
    path: str | Path,
    target: str | int | None = None,
    *,
    variables: Names | None = None,
    layout: Layout = "uai",
    max_cells: int | None = None,
) -> BayesianNetwork:
    """Read a network from UAI; all variables but the target become features, in the file's order.

    Parameters
    ----------
    path : str or Path
        A ``.uai`` file, gzip-compressed if it ends in ``.gz``.
    target : str, int or None
        The class, by its name or its number in the file. None: the last of `variables`, as a network's own have it; a
        network without a class where there are none.
    variables : sequence of DiscreteVariable, mapping of name to labels, or None
        What the variables of the file are, in its order; None calls them ``x0, x1, ...`` with states 0, 1, ...
    layout : {"uai", "pyagrum"}
        Which parent varies fastest: the last one, as the format has it, or the first one, as in files of pyAgrum.
    max_cells : int or None
        Limit on the cells of all tables together, checked before they are allocated. None: that of all networks.

    Raises
    ------
    FormatError
        If the file is not a Bayesian network in this format; the message has the line.
    SizeLimitError
        If the tables exceed `max_cells`.
    InputError
        If `variables` or `target` do not fit the file.
    """
    reader = _Reader(read_text(path, "UAI file"), str(path))
    step = _step(layout)
    max_cells = limits.max_cells() if max_cells is None else max_cells
    cards, scopes = reader.preamble()
    shapes = [(prod(cards[p] for p in scope[:-1]), cards[scope[-1]]) for scope in scopes]
    if (cells := sum(map(prod, shapes))) > max_cells:
        raise SizeLimitError(
            f"The tables of {str(path)!r} have {cells:,} cells; the limit is max_cells={max_cells:,}. "
            "Nothing was allocated for them; raise max_cells to read the file."
        )
    reader.refuse_shorter_than(cells)
    known = _variables(variables, cards, repr(str(path)))
    names = [v.name for v in known]
    if isinstance(target, str):
        chosen: str | None = target
    else:
        chosen = None if target is None and variables is None else names[_position(target, len(names))]
    require_target(names, chosen, repr(str(path)))
    families = {}
    for scope, shape in zip(scopes, shapes, strict=True):
        table = reader.table(shape, names[scope[-1]])
        families[scope[-1]] = Family(known[scope[-1]], tuple(names[p] for p in scope[:-1][::step]), table)
    reader.end()
    try:
        return assemble([families[v] for v in range(len(known))], chosen, repr(str(path)))
    except InputError as error:
        raise FormatError(f"{str(path)!r} is not a usable network. {error}") from error


def _step(layout: Layout) -> int:
    if layout not in ("uai", "pyagrum"):
        raise InputError(f'layout must be "uai" or "pyagrum", got {shown(layout)}.')
    return 1 if layout == "uai" else -1


def _variables(given: Names | None, cards: list[int], source: str) -> list[DiscreteVariable]:
    if given is None:
        return [DiscreteVariable(f"x{k}", tuple(range(card))) for k, card in enumerate(cards)]
    if isinstance(given, Mapping):
        known = [DiscreteVariable(str(name), tuple(labels)) for name, labels in given.items()]
    else:
        known = list(given)
    if [v.cardinality for v in known] != cards:
        raise InputError(
            f"{source} has variables with {cards} states; those in variables= have {[v.cardinality for v in known]}. "
            "List them in the order of the file."
        )
    return known


def _position(target: int | None, count: int) -> int:
    if target is None:
        return count - 1
    if not 0 <= target < count:
        raise InputError(f"target={target} is not the number of a variable; the file has {count}, counted from 0.")
    return target


class _Reader:
    """Takes tokens one by one, so that no more is held than what was declared and allowed."""

    def __init__(self, text: str, name: str) -> None:
        self.text = text
        self.name = name
        self.at = 0

    def tokens(self) -> Iterator[str]:
        while (found := _TOKEN.search(self.text, self.at)) is not None:
            self.at = found.end()
            if not found.group().startswith("#"):
                yield found.group()

    def fail(self, reason: str) -> NoReturn:
        line = self.text.count("\n", 0, self.at) + 1
        raise FormatError(f"{self.name!r}, line {line}: {reason}")

    def next(self, what: str) -> str:
        token = next(self.tokens(), None)
        if token is None:
            self.fail(f"the file ends where {what} belongs.")
        return token

    def count(self, what: str, low: int, high: int) -> int:
        token = self.next(what)
        number = int(token) if token.isascii() and token.isdigit() and len(token) < 12 else -1
        if not low <= number <= high:
            self.fail(f"{what} must be a whole number from {low} to {high:,}, found {shown(token[:40])}.")
        return number

    def preamble(self) -> tuple[list[int], list[list[int]]]:
        kind = self.next("BAYES")
        if kind != "BAYES":
            self.fail(f"expected BAYES, found {shown(kind[:40])}; only Bayesian networks are read.")
        n = self.count("the number of variables", 1, _MAX_VARIABLES)
        most = limits.max_cells()
        cards = [self.count("a number of states", 1, most) for _ in range(n)]
        if sum(cards) > most:
            raise SizeLimitError(f"{self.name!r} declares {sum(cards):,} states; the limit is {most:,}.")
        if self.count("the number of tables", 1, _MAX_VARIABLES) != n:
            self.fail(f"a Bayesian network of {n} variables has as many tables.")
        scopes, left = [], n + most
        for _ in range(n):
            size = self.count("the size of a scope", 1, n)
            left -= size
            if left < 0:
                raise SizeLimitError(f"The scopes of {self.name!r} list more than {most:,} parents.")
            scope = [self.count("a variable", 0, n - 1) for _ in range(size)]
            if len(set(scope)) != size:
                self.fail("a table names a variable twice.")
            scopes.append(scope)
        if len({scope[-1] for scope in scopes}) != n:
            self.fail("two tables have the same child, which is the last variable of a scope.")
        return cards, scopes

    def refuse_shorter_than(self, n_numbers: int) -> None:
        """Refuse a text that is too short for its numbers, before anything is made for their states."""
        if 2 * n_numbers > len(self.text) + 1:
            self.fail(f"the file ends long before the {n_numbers:,} numbers that its tables must have.")

    def table(self, shape: tuple[int, int], name: str) -> NDArray[np.float64]:
        cells = prod(shape)
        if self.count(f"the size of the table of {shown(name)}", 0, max(cells, limits.max_cells())) != cells:
            self.fail(f"the table of {shown(name)} must have {cells:,} numbers, as its scope calls for.")
        try:
            values = np.fromiter(map(float, islice(self.tokens(), cells)), dtype=np.float64)
        except ValueError:
            self.fail(f"the table of {shown(name)} holds something that is not a number.")
        if len(values) < cells:
            self.fail(f"the file ends within the table of {shown(name)}.")
        try:
            return normalised_rows(values.reshape(shape), name)[0]
        except InputError as error:
            self.fail(str(error))

    def end(self) -> None:
        if (token := next(self.tokens(), None)) is not None:
            self.fail(f"there is more after the last table: {shown(token[:40])}.")
