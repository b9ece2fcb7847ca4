"""The library's messages in the words of the command line: ``max_parents`` is ``--max-parents`` there.

The library speaks of arguments, as its callers in Python do. Which arguments have an option is read off the command
that runs, so that a new option is known here; the few arguments that go by another name are in one table. What stands
in quotes is the user's and is left alone.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["in_options", "options_of", "speak_of"]

_OTHER_NAMES: Mapping[str, tuple[str, ...]] = {
    "gamma": ("p", "lam"),
    "n_components": ("components",),
    "kinds": ("numeric",),
    "k": ("candidates",),
    "candidates": ("candidates",),
    "required_edges": ("require",),
    "forbidden_edges": ("forbid",),
    "na_values": ("na",),
    "n_jobs": ("jobs",),
    "folder": ("out",),
    "file_format": ("format",),
    "name": ("dataset",),
    "test_fraction": ("hold_out",),
    "ignore": ("drop",),
    "n_samples": ("samples",),
    "targets": ("target",),
}
"""Argument -> what the options are called that may stand for it, the first that the command has."""

_PHRASES: tuple[tuple[str, str], ...] = (
    (r"na_values=\([^)]*\) of read_table \(command line: ([^()]*)\)", r"\1"),
    (r"\w+=(?:\[[^\]]*\]|\{[^}]*\}|\S+) \(command line: ([^()]*)\)", r"\1"),
    (r"\(na_values of read_table, (--na) on the command line\)", r"(\1)"),
    (r"na_values of read_table \((--na) on the command line\)", r"\1"),
    (r"\b\w+ \((--[\w-]+) on the command line\)", r"\1"),
    (r"(?:raise max_columns, )?or keep fewer candidates: .*--candidates 5 on the command line",
     "or keep fewer candidates: --candidates 5"),
    (r"a DiscreteDataset or a share of the rows", "a share of the rows"),
    (r"max_bytes of read_table, or (\w+)", r"the environment variable \1"),
    (r"See mmbn_opt\.solvers\(\)", "See mmbn-opt solvers"),
    (r"^\w+( with these constraints)? emits \[(.*?)\], but '([\w-]+)' accepts \[(.*?)\]",
     r"--solver \3 accepts \4; this problem\1 is a \2"),
    (r"Others can be fetched by load_openml\(name\)", "Other tables can be given to mmbn-opt structure"),
    (r", or raise the limits?(?=\.)", ""),
    (r"\bmax_(?:columns|rows|nonzeros|cells|parameters|terms)=(?=\d)", ""),
    (r"use the binary soft margin \(", "use --score sbm ("),
    (r"^kinds names ", "--categorical or --numeric names "),
    (r"(?<=[\])\d]) or None(?=, got)", ""),
    (r', ("\w+") or None(?=, got)', r" or \1"),
    (r"(must be a (?:finite )?number of \w+ > ?=? ?0) or None", r"\1"),
    (r"raise the limit, or take estimate, which samples", "or give --samples 10000"),
    (r"with_class\(name\) makes a node the class; query\(name, evidence\) asks", "mmbn-opt query asks"),
    (r"take it out of the evidence, or out of the targets", "leave one of the two out (a column: --drop)"),
    (r"discretize=False", "--no-discretize"),
    (r"discretize=True", "no --no-discretize"),
    (r"\bX has no rows", "The table has no rows"),
    (r"\by (?=holds|has)", "The class column "),
)  # fmt: skip
"""What can be done in Python only, or is said in its terms, and what takes its place."""

_NUMPY = re.compile(r"\bnp\.(?:(?:int|uint|float|str|bool)\d*_?\(((?:'[^']*'|\"[^\"]*\"|[^()'\"])*)\)|(True|False)_)")
_QUOTED = r"(?<!\w)'(?:[^'\\\n]|\\.)*'(?!\w)|(?<![\w=])\"(?:[^\"\\\n]|\\.)*\"(?!\w)"
_GIVEN = r"(?P<argument>[A-Za-z]\w*)=(?P<value>\"[^\"]*\"|'[^']*'|[\w+-]+(?:\.\w+)?)"
_NAMED = r"(?P<name>\b[A-Za-z]\w*\b)(?P<verb> (?:must|needs|makes|cannot|can't)\b)?"
_BARE = re.compile(r"[\w.+,:-]+")
"""Values that need no quotes on a command line."""
_WORDS = re.compile(f"(?P<quoted>{_QUOTED})|(?<![\\w.-]){_GIVEN}|(?<![\\w.-]){_NAMED}")


@dataclass
class _Speaking:
    options: dict[str, str] = field(default_factory=dict)


_speaking = _Speaking()


def options_of(parameters: Iterable[Any]) -> dict[str, str]:
    """Argument -> option of a command, from its parameters as the command line's library has them."""
    own = {p.name: max(p.opts, key=len) for p in parameters if p.name and any(o.startswith("--") for o in p.opts)}
    found = dict(own)
    for argument, names in _OTHER_NAMES.items():
        option = next((own[name] for name in names if name in own), None)
        if option is not None:
            found.setdefault(argument, option)
    return found


def speak_of(options: Mapping[str, str]) -> None:
    """From here on messages are told in these options."""
    _speaking.options = dict(options)


def in_options(text: str, options: Mapping[str, str] | None = None) -> str:
    r"""A message with arguments of functions as options.

    Parameters
    ----------
    text : str
    options : mapping or None
        Argument -> option; by default those of the command that runs.

    Examples
    --------
    >>> options = {"max_parents": "--max-parents", "missing": "--missing"}
    >>> in_options('max_parents must be a whole number >= 1, got np.int64(0).', options)
    '--max-parents must be a whole number >= 1, got 0.'
    >>> in_options("Missing cells in 'max_parents'. Pass missing=\"drop\" to leave rows out.", options)
    "Missing cells in 'max_parents'. Use --missing drop to leave rows out."
    """
    known = _speaking.options if options is None else options
    text = _NUMPY.sub(lambda found: found[1] or found[2] or "", text)
    for pattern, words in _PHRASES:
        text = re.sub(pattern, words, text)
    said = _WORDS.sub(_word(known), text)
    return re.sub(r"\b(?:Pass|pass) (?=--)", lambda found: f"{'U' if found[0][0] == 'P' else 'u'}se ", said)


def _word(known: Mapping[str, str]) -> Callable[[re.Match[str]], str]:
    def translated(found: re.Match[str]) -> str:
        if found["argument"] in known:
            value = found["value"]
            bare = value.strip("\"'")
            return f"{known[found['argument']]} {bare if _BARE.fullmatch(bare) else value}"
        name = found["name"]
        if name in known and ("_" in name or found["verb"]):  # one word alone may be a word
            return f"{known[name]}{found['verb'] or ''}"
        return found[0]

    return translated
