"""Names of columns and rows that every reader of MPS and LP takes for names."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence

__all__ = ["safe_names", "unique_names"]

_LONGEST = 64

# "e" and "E" may begin the exponent of the number before them, "inf" and "nan" are numbers to some.
_PLAIN = re.compile(r"(?![iI][nN][fF]|[nN][aA][nN])[A-DF-Za-df-z_][A-Za-z0-9_]*")
_OURS = re.compile(r"[cr]\d+u?", re.IGNORECASE)
_WORDS = frozenset(
    re.findall(
        r"\w+",
        "bin binaries binary bnd bound bounds bv columns constraints end endata fr free fx gen general generals in inf "
        "infinity int integer integers lo marker max maximise maximize maximum mi min minimise minimize minimum name "
        "nan obj objective objsense one pl ranges rhs rows sec semi sos sos1 sos2 st subject such that to up",
    )
)


def unique_names(names: Iterable[str]) -> tuple[str, ...]:
    """The names, with ``#2`` and so on behind one that came before.

    Examples
    --------
    >>> unique_names(["a", "b", "a"])
    ('a', 'b', 'a#2')
    """
    seen: Counter[str] = Counter()
    found = []
    for name in names:
        seen[name] += 1
        found.append(name if seen[name] == 1 else f"{name}#{seen[name]}")
    return tuple(found)


def safe_names(names: Sequence[str], letter: str) -> list[str]:
    """The names where every reader takes them for names, ``c17`` (letter and position) where not.

    Examples
    --------
    >>> safe_names(["width", "e1", "free", "a b", "größe", "width_2", "Width"], "c")
    ['c0', 'c1', 'c2', 'c3', 'c4', 'width_2', 'c6']
    """
    times = Counter(name.lower() for name in names)  # some readers fold cases
    return [
        name
        if _PLAIN.fullmatch(name)
        and len(name) <= _LONGEST
        and not _OURS.fullmatch(name)
        and name.lower() not in _WORDS
        and times[name.lower()] == 1
        else f"{letter}{position}"
        for position, name in enumerate(names)
    ]
