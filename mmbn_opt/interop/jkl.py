"""Local scores in the text format of GOBNILP (``.jkl``, also called ``.jaa``).

The first line has the number of variables. Each variable follows with a line ``name number_of_parent_sets`` and a line
``score number_of_parents parent ...`` for each parent set. Structure learners that read it maximise the sum of scores.
"""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NoReturn

from mmbn_opt._arguments import listed, shown
from mmbn_opt.exceptions import FormatError, InputError, SizeLimitError
from mmbn_opt.interop._reading import read_text
from mmbn_opt.interop.atomic import write_text_atomic

__all__ = ["LocalScores", "read_jkl", "write_jkl"]

MAX_VARIABLES = 1_000_000
"""Most variables that a file may promise."""

MAX_PARENT_SETS = 10_000_000
"""Most parent sets that a file may promise."""

_STRANGERS = 1000

LocalScores = Mapping[str, Sequence[tuple[float, tuple[str, ...]]]]
"""For each variable its ``(score, parents)`` pairs."""


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
    lines = [str(len(names))]
    for name in names:
        options = local_scores[name]
        if not options:
            raise InputError(f"Variable {shown(name)} has no parent set; give it at least the empty one.")
        lines.append(f"{name} {len(options)}")
        for score, parents in options:
            if not math.isfinite(score):
                raise InputError(
                    f"The parent set [{listed(parents)}] of {shown(name)} has the score {shown(score)}; leave it out."
                )
            if name in parents or not known.issuperset(parents) or len(set(parents)) != len(parents):
                raise InputError(f"Variable {shown(name)} has the impossible parent set [{listed(parents)}].")
            lines.append(" ".join([repr(float(score)), str(len(parents)), *parents]))
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
        name, size = reader.next(2)
        name = reader.known(name, n_variables)
        if name in scores:
            reader.fail(f"the variable {shown(name)} comes twice")
        n_sets = reader.promise(reader.count(size, "number of parent sets"))
        scores[name] = [reader.parent_set(n_variables) for _ in range(n_sets)]
    if reader.more():
        reader.fail(f"there is more after the {n_variables} variables that the first line promises")
    for name, options in scores.items():
        strangers = {p for _, parents in options for p in parents if p not in scores or p == name}
        if strangers:
            raise FormatError(f"{str(path)!r} gives {name!r} the impossible parents [{listed(sorted(strangers))}].")
    return scores


class _Lines:
    """Takes lines one by one, so that no more is held than what was promised and allowed."""

    def __init__(self, path: str, text: str) -> None:
        self.path = path
        self.text = text
        self.at = 0
        self.number = 0
        self.sets = 0
        self.names: dict[str, str] = {}

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
            raise FormatError(f"{self.path!r} ends before all variables and parent sets that it promises.")
        # One word more than can be right, so that a line of millions is not taken apart.
        words = line.split(None, limit)
        if n_words is not None and len(words) != n_words:
            self.fail(f"expected {n_words} word{'s' if n_words > 1 else ''}, found {len(line.split(None, 20))}")
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

    def parent_set(self, n_variables: int) -> tuple[float, tuple[str, ...]]:
        words = self.next(limit=n_variables + 2)
        try:
            score = float(words[0])
        except ValueError:
            score = math.nan
        if not math.isfinite(score):
            self.fail(f"{shown(words[0][:40])} is not a finite score")
        parents = tuple(words[2:])
        if (
            len(words) < 2
            or self.count(words[1], "number of parents") != len(parents)
            or len(set(parents)) != len(parents)
        ):
            self.fail("a parent set is written as: score, number of parents, distinct parents")
        return score, tuple(self.known(parent, n_variables) for parent in parents)
