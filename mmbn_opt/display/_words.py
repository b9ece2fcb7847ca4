"""The words of the trade that reports use, each in plain ones."""

import re
from collections.abc import Sequence

__all__ = ["glossary"]

_WORDS: tuple[tuple[str, str, str], ...] = (
    (
        "Bound (dual bound)",
        r"\bbounds?\b",
        "What no answer can be better than; the solver proves it while it searches.",
    ),
    (
        "Certificate",
        r"checks? passed|checks failed",
        "What was computed again from data and model, by other code than the search's.",
    ),
    (
        "Claimed",
        r"\bclaim",
        "Told by the solver and not proved again here.",
    ),
    (
        "Closed boxes",
        r"closed[ _]boxes",
        "Parts of the search of which it was shown that nothing better lies in them.",
    ),
    (
        "Columns, rows, non-zeros",
        r"non-zeros",
        "Size of the program: its variables, its constraints, and the numbers in them.",
    ),
    (
        "Confusion matrix",
        r"confusion matrix",
        "How many rows of each class were taken for which class; right ones stand on the diagonal.",
    ),
    (
        "CPT",
        r"\bCPTs?\b",
        "Conditional probability table: how probable each state of a node is, given the states of its parents.",
    ),
    (
        "Cuts",
        r"\bcuts\b",
        "Constraints that were added during the search because a point had violated them.",
    ),
    (
        "Fixed columns",
        r"fixed[ _]columns",
        "Variables whose value was settled, since any other would cost more than the bound allows.",
    ),
    (
        "Gap",
        r"\bgap\b",
        "Distance between incumbent and bound, relative to the larger of the two; 0 % means that nothing is better.",
    ),
    (
        "Held-out rows",
        r"held[- ]out",
        "Rows that were not used for learning, and so tell how new rows are predicted.",
    ),
    (
        "Incumbent",
        r"\bincumbent\b",
        "The best answer found so far.",
    ),
    (
        "Markov blanket",
        r"Markov blanket",
        "The nodes that tell all there is to know of a node: its parents, its children, and their parents.",
    ),
    (
        "Multipliers",
        r"\bmultipliers\b",
        "Weights of the constraints, from which a bound can be computed without repeating the search.",
    ),
    (
        "Nat",
        r"\bnats?\b",
        "Unit of natural logarithms: a margin of 1 nat says that the true class is 2.72 times as probable as "
        "its rival.",
    ),
    (
        "Primal integral",
        r"primal integral",
        "Mean distance of the incumbent from the best value known, over the time of the run: small where good "
        "answers came early.",
    ),
    (
        "Program",
        r"\bprograms?\b",
        "The optimization problem as the solver sees it: numbers and constraints.",
    ),
    (
        "Program vector",
        r"program vector",
        "The numbers that stand for the answer in the solver's program.",
    ),
    (
        "Soft margin",
        r"soft[- ]margin",
        "Sum over all rows of how much more probable the true class is than its strongest rival, each row "
        "counted up to a limit.",
    ),
    (
        "Tree exhausted",
        r"tree exhausted",
        "The search has looked into or ruled out every case.",
    ),
    (
        "Xi",
        r"\bxi\b",
        "The log-odds of the true class that every row is asked for.",
    ),
)


def glossary(texts: Sequence[str]) -> list[tuple[str, str]]:
    """Those words that occur in the texts, with what they mean.

    Examples
    --------
    >>> [word for word, _ in glossary(["gap 2.5 %", "tree exhausted"])]
    ['Gap', 'Tree exhausted']
    """
    text = " ".join(texts)
    return [(word, meaning) for word, pattern, meaning in _WORDS if re.search(pattern, text, re.IGNORECASE)]
