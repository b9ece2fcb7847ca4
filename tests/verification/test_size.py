"""A verifier is to be read by whoever doubts: how long it is, and that the page says so."""

import ast
import re
import tokenize
from pathlib import Path

import pytest

import mmbn_opt

PACKAGE = Path(mmbn_opt.__file__).parent
PAGE = Path(__file__).parents[2] / "docs" / "verify.md"
BESIDE = {"branching.py", "limits.py", "side.py"}
"""Parts without which a tree is proved as well, if not as far, or without limits on structures."""


def lines_of_code(path: Path) -> int:
    docstrings: set[int] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            docstrings.update(range(node.lineno, node.end_lineno + 1))
    code: set[int] = set()
    with path.open("rb") as stream:
        for token in tokenize.tokenize(stream.readline):
            if token.string.strip() and token.type not in (tokenize.COMMENT, tokenize.ENCODING):
                code.update(range(token.start[0], token.end[0] + 1))
    return len(code - docstrings)


def size(room: str, names: set[str] | None = None) -> int:
    return sum(lines_of_code(p) for p in (PACKAGE / room).glob("*.py") if names is None or p.name in names)


def test_a_tree_is_proved_again_by_at_most_600_lines() -> None:
    assert size("verification") - size("verification", BESIDE) <= 600


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (r"a tree is proved again by (\d+) lines", size("verification") - size("verification", BESIDE)),
        (r"(\d+) lines that find maximum branchings", size("verification", {"branching.py"})),
        (r"and (\d+) for limits", size("verification", BESIDE - {"branching.py"})),
        (r"(\d+) in all", size("verification")),
        (r"verifier of relaxations has (\d+)", size("relaxation_proofs")),
        (r"what they share (\d+)", size("rigour")),
    ],
)
def test_the_page_says_how_long_it_is(words: str, found: int) -> None:
    said = re.search(words, PAGE.read_text())
    assert said is not None
    assert int(said.group(1)) == found
