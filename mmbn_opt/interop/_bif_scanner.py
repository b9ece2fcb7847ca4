"""Tokens of the Bayesian Interchange Format, in time linear in the text."""

import re
from collections.abc import Iterator
from typing import NoReturn

from mmbn_opt._arguments import shown
from mmbn_opt.exceptions import FormatError, SizeLimitError
from mmbn_opt.interop import limits

__all__ = ["MAX_NAMES", "Scanner", "Token"]

MAX_NAMES = limits.MAX_NAMES
"""Most names that a file, and any list in it, may have: what a hostile file can make us hold."""

# No alternative can match in two ways, so that no input makes the engine go back and try again.
# In early releases of Python 3.11 possessive groups of alternatives match too little: there are none here.
_TOKEN = re.compile(
    r"""(?P<skip>\s+|//[^\n]*|/\*.*?\*/)
      |(?P<mark>[{}()\[\],;|])
      |(?P<quoted>"[^"\\]*+(?:\\.[^"\\]*+)*+")
      |(?P<word>(?:[^\s{}()\[\],;|"/]++|/(?![/*]))+)""",
    re.VERBOSE | re.DOTALL,
)
_NUMBERS = re.compile(r"([-+.,0-9eE\s]++);")
_WORDS = re.compile(r"\S+")
_PROPERTY = re.compile(r'([^;"]*+(?:"[^"\\]*+(?:\\.[^"\\]*+)*+"[^;"]*+)*+);', re.DOTALL)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)


class Token(str):
    """Text of a word or mark; `is_name` tells a quoted ``"{"`` from the mark."""

    __slots__ = ("is_name",)
    is_name: bool

    def __new__(cls, text: str, is_name: bool) -> "Token":
        token = super().__new__(cls, text)
        token.is_name = is_name
        return token


class Scanner:
    """Reads tokens off a text and knows the line it is at.

    Parameters
    ----------
    text : str
    name : str
        The file's name, for messages.

    Examples
    --------
    >>> list(Scanner('variable "a b" { // note', "x.bif"))
    ['variable', 'a b', '{']
    """

    def __init__(self, text: str, name: str) -> None:
        self._text = text
        self._name = name
        self._position = 0
        self._last = 0
        self._ahead: Token | None = None

    def __iter__(self) -> Iterator[Token]:
        while (token := self.next_or_none()) is not None:
            yield token

    def fail(self, reason: str) -> NoReturn:
        """Raise `FormatError` with the line of the last token."""
        line = self._text.count("\n", 0, self._last) + 1
        raise FormatError(f"{self._name!r}, line {line}: {reason}")

    def next_or_none(self) -> Token | None:
        """The next token, or None at the end."""
        if self._ahead is not None:
            token, self._ahead = self._ahead, None
            return token
        text, position = self._text, self._position
        while position < len(text):
            match = _TOKEN.match(text, position)
            self._last = position
            if match is None:
                what = (
                    "comment"
                    if text.startswith("/*", position)
                    else "quoted text"
                    if text[position] == '"'
                    else "token"
                )
                self.fail(f"a {what} that starts here does not end.")
            position = self._position = match.end()
            kind = match.lastgroup
            if kind == "word":
                return Token(match.group(), True)
            if kind == "mark":
                return Token(match.group(), False)
            if kind == "quoted":
                return Token(_ESCAPE.sub(r"\1", match.group()[1:-1]), True)
        return None

    def next(self) -> Token:
        """The next token; the end of the file is an error."""
        token = self.next_or_none()
        if token is None:
            self._last = len(self._text)
            self.fail("the file ends in the middle of a block.")
        return token

    def peek(self) -> Token:
        """The next token, left in place."""
        token = self.next()
        self._ahead = token
        return token

    def at(self, mark: str) -> bool:
        """Whether the next token is the given mark."""
        token = self.peek()
        return token == mark and not token.is_name

    def expect(self, text: str, *, word: bool = False) -> None:
        """Consume the given mark (or word)."""
        token = self.next()
        if token != text or token.is_name is not word:
            self.fail(f"expected {shown(text)}, found {shown(str(token))}.")

    def name(self) -> str:
        """Consume a name."""
        token = self.next()
        if not token.is_name:
            self.fail(f"expected a name, found {shown(str(token))}.")
        return str(token)

    def groups(self, close: str, limit: int = MAX_NAMES) -> list[list[str]]:
        """At most `limit` names up to the mark `close`, grouped by the commas between them."""
        found: list[list[str]] = [[]]
        count = 0
        while True:
            token = self.next()
            if token.is_name:
                count += 1
                if count > limit:
                    raise SizeLimitError(f"{self._name!r} holds a list of more than {limit:,} words; it was not read.")
                found[-1].append(str(token))
            elif token == close:
                return found if found[-1] else found[:-1]
            elif token == "," and found[-1]:
                found.append([])
            else:
                self.fail(f"expected a name or {shown(close)}, found {shown(str(token))}.")

    def names(self, close: str, count: int | None) -> list[str]:
        """Names up to the mark `close`.

        Some writers separate names by spaces, others allow spaces within names and separate by commas; `count` decides
        where both could be meant.
        """
        groups = self.groups(close)
        words = [w for group in groups for w in group]
        if len(words) == len(groups) or (len(words) == count and len(groups) < len(words)):
            return words
        return [" ".join(group) for group in groups]

    def numbers(self, count: int, of: str) -> list[float]:
        """Exactly `count` numbers up to and with the next semicolon, separated by commas or spaces.

        Parameters
        ----------
        count : int
        of : str
            What they are the numbers of, for messages.
        """
        match = _NUMBERS.match(self._text, self._position) if self._ahead is None else None
        if match is not None:
            self._last, self._position = self._position, match.end()
            text = match.group(1).replace(",", " ")
            words = text.split(None, count)
            found = len(words) if len(words) <= count else sum(1 for _ in _WORDS.finditer(text))
        else:
            words = [w for group in self.groups(";", max(count + 1, MAX_NAMES)) for w in group]
            found = len(words)
        if found != count:
            self.fail(f"the probability of {shown(of)} has {found} numbers where {count} belong.")
        try:
            return [float(w) for w in words]
        except ValueError:
            strangers = [w for w in words if not _is_float(w)]
            self.fail(f"{shown(strangers[0])} is not a number.")

    def skip_property(self) -> str:
        """Consume the rest of a property line; returns its raw text."""
        match = _PROPERTY.match(self._text, self._position)
        if match is None or self._ahead is not None:
            self.fail("a property line does not end with a semicolon.")
        self._last, self._position = self._position, match.end()
        return match.group(1).strip()


def _is_float(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True
