"""Names and labels as BIF tokens: bare where every reader takes them, else an alias with the original beside it.

The readers of bnlearn, pgmpy and pyAgrum agree on letters, digits, ``_``, ``.`` and ``-``, and on nothing else: quotes
are dropped by one and refused by another. So a label such as ``(-inf, 0.5]`` is written as the alias ``inf_0_5``, and a
property line, which those readers skip, holds the original in percent-encoding.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from urllib.parse import quote, unquote_to_bytes

__all__ = [
    "LABEL_PROPERTY",
    "NAME_PROPERTY",
    "PREFIX",
    "aliases",
    "decode",
    "encode",
    "is_bare",
    "is_identifier",
    "is_plain",
    "repeated",
]

PREFIX = "mmbn_"
NAME_PROPERTY = "mmbn_name"
LABEL_PROPERTY = "mmbn_label_"

# After leading digits an "e" would be read as a number's exponent, "." and "-" as its fraction and as an operator.
_BARE = re.compile(r"[A-Za-z_][A-Za-z0-9_.\-]*|[0-9]++(?:(?![eE])[A-Za-z_][A-Za-z0-9_.\-]*)?", re.ASCII)
_KEYWORDS = frozenset({"network", "variable", "probability", "property", "type", "discrete", "default", "table"})
_UNSAFE = re.compile(r"[^A-Za-z0-9]+", re.ASCII)
_READABLE = "()[],<>+:-_. "


def is_bare(text: str) -> bool:
    """Whether all readers take the text as one name.

    Examples
    --------
    >>> [t for t in ("yes", "5more", "2", "20-29", "1.5", "1e5", "a b", "table", "") if is_bare(t)]
    ['yes', '5more', '2']
    """
    return _BARE.fullmatch(text) is not None and text.lower() not in _KEYWORDS


def is_identifier(text: str) -> bool:
    """Whether the text is bare and can name a variable too: pyAgrum takes digits in front for a number.

    Examples
    --------
    >>> [t for t in ("yes", "5more", "2", "x.2") if is_identifier(t)]
    ['yes', 'x.2']
    """
    return is_bare(text) and not text[0].isdigit()


def is_plain(text: str) -> bool:
    """Whether the text is bare and of letters, digits and ``_`` only, as pgmpy's XMLBIF writer keeps it."""
    return is_bare(text) and "." not in text and "-" not in text


def aliases(texts: Sequence[str], prefix: str, bare: Callable[[str], bool] = is_bare) -> list[str]:
    """Bare tokens for distinct texts, distinct too whatever their case; a text that is bare stands for itself.

    Examples
    --------
    >>> aliases(["low", "(-inf, 0.5]", "(0.5, inf)", ""], "s")
    ['low', 'inf_0_5', 's_0_5_inf', 's']
    >>> aliases(["A", "a"], "v")
    ['A', 'a_2']
    """
    # Readers may ignore case (pgmpy does), so tokens differ in more than that.
    first = {text.lower(): text for text in reversed(texts) if bare(text)}
    taken = set(first)
    return [text if first.get(text.lower()) == text else _alias(text, prefix, taken) for text in texts]


def _alias(text: str, prefix: str, taken: set[str]) -> str:
    stem = _UNSAFE.sub("_", text).strip("_")[:40]
    if not is_bare(stem) or stem[0].isdigit():
        stem = f"{prefix}_{stem}" if stem else prefix
    candidate, number = stem, 1
    while candidate.lower() in taken:
        number += 1
        candidate = f"{stem}_{number}"
    taken.add(candidate.lower())
    return candidate


def encode(text: str) -> str:
    """Percent-encoding that no reader trips over; interval labels stay readable."""
    safe = quote(text.encode("utf-8", "surrogatepass"), safe=_READABLE)
    # Spaces at the ends would be stripped with the line's own.
    inner = safe.strip(" ")
    before = len(safe) - len(safe.lstrip(" "))
    return "%20" * before + inner + "%20" * (len(safe) - before - len(inner))


def decode(text: str) -> str:
    """Inverse of `encode`.

    Raises
    ------
    UnicodeDecodeError
        If the bytes are not text.
    """
    return unquote_to_bytes(text).decode("utf-8", "surrogatepass")


def repeated(texts: Iterable[str]) -> list[str]:
    """Texts that occur more than once, sorted."""
    return sorted(text for text, count in Counter(texts).items() if count > 1)
