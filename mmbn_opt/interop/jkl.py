"""Local scores in the text format of GOBNILP (``.jkl``, also called ``.jaa``).

The first line has the number of variables. Each variable follows with a line ``name number_of_parent_sets`` and a line
``score number_of_parents parent ...`` for each parent set. Structure learners that read it maximise the sum of scores.
"""

import math
from collections.abc import Container, Sequence
from pathlib import Path
from typing import NoReturn

from mmbn_opt._arguments import listed, shown
from mmbn_opt.exceptions import FormatError, InputError, SizeLimitError
from mmbn_opt.interop._reading import read_text
from mmbn_opt.interop.atomic import write_text_atomic
from mmbn_opt.scores.given import LocalScores, check_local_scores

__all__ = ["LocalScores", "read_jkl", "write_jkl"]

MAX_VARIABLES = 1_000_000
"""Most variables that a file may promise."""

MAX_PARENT_SETS = 10_000_000
"""Most parent sets that a file may promise."""

_STRANGERS = 1000


def write_jkl(path: str | Path, names: Sequence[str], local_scores: LocalScores) -> None:
    """Write local scores with all their digits.

    Parameters
    ----------
    path : str or Path
    names : sequence of str
        Variables in the order of the file.
    local_scores : mapping
        For each variable its ``(score, parents)`` pairs; larger is better.

    Raises
    ------
    InputError
        If a name is empty or holds white space (the format cannot keep it), a score is not finite, a variable has no
        parent set, or a parent does not exist.
    """
    known = set(names)
    if len(known) != len(names) or known != set(local_scores):
        raise InputError(
            f"write_jkl needs the scores of exactly the variables [{listed(names)}], got those of "
            f"[{listed(local_scores)}]."
        )
    unfit = [name for name in names if len(name.split()) != 1 or name != name.strip()]
    if unfit:
        raise InputError(
            f"The names {unfit} are empty or hold white space, which a .jkl file cannot keep; rename the columns."
        )
    check_local_scores(local_scores)
    lines = [str(len(names))]
    for name in names:
        options = local_scores[name]
        lines.append(f"{name} {len(options)}")
        lines += [" ".join([repr(float(score)), str(len(parents)), *parents]) for score, parents in options]
    write_text_atomic(path, "\n".join(lines) + "\n")


def read_jkl(path: str | Path) -> dict[str, list[tuple[float, tuple[str, ...]]]]:
    """Read local scores; the result keeps the file's order of variables and parent sets.

    Raises
    ------
    FormatError
        If the file is not in this format; the message has the line.
    SizeLimitError
        If it promises more than `MAX_VARIABLES` or `MAX_PARENT_SETS`.
    """
    reader = _Lines(str(path), read_text(path, "local score file"))
    n_variables = reader.count(reader.next(1)[0], "number of variables")
    if n_variables > MAX_VARIABLES:
        raise SizeLimitError(f"{str(path)!r} promises {n_variables:,} variables; the limit is {MAX_VARIABLES:,}.")
    scores: dict[str, list[tuple[float, tuple[str, ...]]]] = {}
    for _ in range(n_variables):
        scores.update([reader.variable(n_variables, scores)])
    if reader.more():
        reader.fail(
            f"there is more after the {n_variables} variables that the first line promises; mend the first line, or "
            "the number behind the name of the variable above"
        )
    for parent, (line, name) in reader.used.items():
        if parent not in scores:
            raise FormatError(
                f"{str(path)!r}, line {line}: {name!r} has the parent {shown(parent)}, which is no variable of the "
                "file. Mend the line, or add the variable."
            )
    return scores


class _Lines:
    """Takes lines one by one, so that no more is held than what was promised and allowed."""

    def __init__(self, path: str, text: str) -> None:
        self.path = path
        self.text = text
        self.at = 0
        self.number = 0
        self.sets = 0
        self.above = ""
        self.names: dict[str, str] = {}
        self.used: dict[str, tuple[int, str]] = {}
        """Parent -> line and variable of its first use."""

    def fail(self, reason: str) -> NoReturn:
        raise FormatError(f"{self.path!r}, line {max(self.number, 1)}: {reason}.")

    def line(self) -> str | None:
        """The next line that is not blank."""
        while self.at < len(self.text):
            end = self.text.find("\n", self.at)
            end = len(self.text) if end < 0 else end
            line = self.text[self.at : end]
            self.at, self.number = end + 1, self.number + 1
            if line.strip():
                return line
        return None

    def more(self) -> bool:
        return self.line() is not None

    def next(self, n_words: int | None = None, limit: int = 2) -> list[str]:
        line = self.line()
        if line is None:
            raise FormatError(
                f"{self.path!r} ends after line {self.number}, before all variables and parent sets that it promises. "
                "It may be cut off: copy or download it again."
            )
        # One word more than can be right, so that a line of millions is not taken apart.
        words = line.split(None, limit)
        if n_words is not None and len(words) != n_words:
            hint = ", a variable and the number of its parent sets" * (n_words > 1)
            more = f"; perhaps {self.above} has more lines than it says" if self.above else ""
            found = len(line.split(None, 20))
            self.fail(f"expected {n_words} word{'s' if n_words > 1 else ''}{hint}, found {found}{more}")
        return words

    def count(self, word: str, what: str) -> int:
        if not (word.isascii() and word.isdigit() and len(word) < 12):
            self.fail(f"the {what} is {shown(word[:40])}")
        return int(word)

    def promise(self, n_sets: int) -> int:
        self.sets += n_sets
        if self.sets > MAX_PARENT_SETS:
            raise SizeLimitError(
                f"{self.path!r} promises {self.sets:,} parent sets by line {self.number}; the limit is "
                f"{MAX_PARENT_SETS:,}. They were not read; leave out sets that cannot be best."
            )
        return n_sets

    def known(self, name: str, n_variables: int) -> str:
        """The one copy of a name that is kept, however often it comes."""
        kept = self.names.setdefault(name, name)
        if len(self.names) > n_variables + _STRANGERS:
            self.fail(f"there are far more names than the {n_variables} variables that the first line promises")
        return kept

    def variable(self, n_variables: int, others: Container[str]) -> tuple[str, list[tuple[float, tuple[str, ...]]]]:
        """A name and its parent sets."""
        name, size = self.next(2)
        name = self.known(name, n_variables)
        if name in others:
            self.fail(f"the variable {shown(name)} comes twice; rename or remove one")
        n_sets = self.promise(self.count(size, f"number of parent sets of {shown(name)}"))
        if n_sets == 0:
            self.fail(f"{shown(name)} has no parent set; give it at least the one without parents")
        self.above = f"{shown(name)} in line {self.number}"
        lines: dict[frozenset[str], int] = {}
        options = []
        for _ in range(n_sets):
            score, parents = self.parent_set(name, n_variables)
            first = lines.setdefault(frozenset(parents), self.number)
            if first != self.number:
                self.fail(f"{shown(name)} has the parent set [{listed(parents)}] in line {first} too; remove one")
            options.append((score, parents))
        return name, options

    def parent_set(self, name: str, n_variables: int) -> tuple[float, tuple[str, ...]]:
        words = self.next(limit=n_variables + 2)
        try:
            score = float(words[0])
        except ValueError:
            score = math.nan
        if not math.isfinite(score):
            self.fail(
                f"{shown(words[0][:40])} is not a finite score; mend it or leave the set out, or perhaps {self.above} "
                "has fewer lines than it says"
            )
        parents = tuple(self.known(parent, n_variables) for parent in words[2:])
        if (
            len(words) < 2
            or self.count(words[1], "number of parents") != len(parents)
            or len(set(parents)) != len(parents)
        ):
            self.fail("a parent set is written as: score, number of parents, distinct parents")
        for parent in parents:
            self.used.setdefault(parent, (self.number, name))
        if name in parents:
            self.fail(f"{shown(name)} is a parent of itself; remove it from the set, or the line")
        return score, parents
