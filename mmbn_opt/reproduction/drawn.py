"""Tables that are drawn from a known model: networks, chains and protein-like windows of Guo et al. 2005."""

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd
from numpy.typing import NDArray

__all__ = ["AMINO_ACIDS", "DRAWN", "FIGURE_3", "Drawn", "drawn"]

Codes = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Drawn:
    """Features and classes, and of each row the sequence that it is a position of, where they are sequences."""

    X: pd.DataFrame
    y: "pd.Series[str]"
    sequences: Codes | None = None


FIGURE_3: Mapping[str, str] = {
    "top": "class>x1 class>x2 x1>x2 class>x3 x2>x3 class>x4 class>x5 x4>x5",
    "bottom": "class>x3 x1>x3 x2>x3 class>x5 x4>x5 x1>x5",
}
"""The paper shows its two networks without listing their edges; of ours the first is renormalizable, the second not."""

_NODES = ("x1", "x2", "x3", "x4", "x5", "class")
_BETAS = ("0.90", "0.85", "0.80", "0.75", "0.70", "0.65", "0.60")
_ROWS = 6000


def _skewed(edges: str, beta: float) -> Drawn:
    """Rows of a random network: each child is a function of its parents, and flipped with probability 1 - beta."""
    rng = np.random.default_rng([round(100 * beta), len(edges)])
    parents = {v: [_NODES.index(edge[0]) for e in edges.split() if (edge := e.split(">"))[1] == v] for v in _NODES}
    rows, p = np.array(list(itertools.product((0, 1), repeat=len(_NODES)))), np.full(2 ** len(_NODES), 1.0)
    for v, name in enumerate(_NODES):
        if not parents[name]:
            p *= 0.5
            continue
        table = rng.permutation([0, 1] * 2 ** (len(parents[name]) - 1))  # a function that is no constant
        says = table[rows[:, parents[name]] @ (2 ** np.arange(len(parents[name])))]
        p *= np.where(rows[:, v] == says, beta, 1 - beta)
    found = pd.DataFrame(rows[rng.choice(len(p), size=_ROWS, p=p)], columns=list(_NODES)).astype(str)
    return Drawn(found[list(_NODES[:-1])], found["class"])


def _chains(n: int = 1200, length: int = 5, children: int = 4, beta: float = 0.85) -> Drawn:
    """Chains of labels, each label a function of the one before and each child of its label, flipped with 1 - beta."""
    rng = np.random.default_rng(9)
    step, seen = rng.integers(0, 2), rng.integers(0, 2, children)
    y = np.empty((n, length), dtype=np.int64)
    y[:, 0] = rng.integers(0, 2, n)
    for t in range(1, length):
        y[:, t] = y[:, t - 1] ^ step ^ (rng.random(n) > beta)
    x = y[:, :, None] ^ seen ^ (rng.random((n, length, children)) > beta)
    names = [f"x{j + 1}" for j in range(children)]
    found = pd.DataFrame(x.reshape(-1, children), columns=names).astype(str)
    labels = pd.Series(y.ravel(), name="class").astype(str)
    return Drawn(found, labels, np.repeat(np.arange(n), length))


AMINO_ACIDS: Mapping[str, tuple[float, float, float, float]] = {
    "A": (8.25, 1.42, 0.83, 0.66), "R": (5.53, 0.98, 0.93, 0.95), "N": (4.06, 0.67, 0.89, 1.56),
    "D": (5.46, 1.01, 0.54, 1.46), "C": (1.38, 0.70, 1.19, 1.19), "Q": (3.93, 1.11, 1.10, 0.98),
    "E": (6.72, 1.51, 0.37, 0.74), "G": (7.07, 0.57, 0.75, 1.56), "H": (2.27, 1.00, 0.87, 0.95),
    "I": (5.91, 1.08, 1.60, 0.47), "L": (9.65, 1.21, 1.30, 0.59), "K": (5.80, 1.16, 0.74, 1.01),
    "M": (2.41, 1.45, 1.05, 0.60), "F": (3.86, 1.13, 1.38, 0.60), "P": (4.74, 0.57, 0.55, 1.52),
    "S": (6.65, 0.77, 0.75, 1.43), "T": (5.36, 0.83, 1.19, 0.96), "W": (1.10, 1.08, 1.37, 0.96),
    "Y": (2.92, 0.69, 1.47, 1.14), "V": (6.86, 1.06, 1.70, 0.50),
}  # fmt: skip
"""Per cent of all residues, and how much more often than that in helix, strand and turn (Chou & Fasman 1978)."""

_SEGMENTS = {"H": (5, 10.0), "E": (3, 5.0), "C": (2, 6.0)}
"""Shortest and mean length of a helix, a strand, a coil."""

_CAPS = {"H": ("STDNP", "KRG"), "E": ("VIT", "VIY"), "C": ("", "")}
"""What helices and strands like to begin and to end with: three times as often there, so that neighbours tell."""


def _protein_like(n: int = 120, length: int = 60) -> Drawn:
    """Chains of helix, strand and coil: segments of geometric length, residues by what each prefers."""
    rng = np.random.default_rng(10)
    letters = list(AMINO_ACIDS)
    table = np.array(list(AMINO_ACIDS.values()))
    prefers = {label: table[:, 0] * table[:, k] for k, label in enumerate("HEC", start=1)}
    residues, labels = [], []
    for _ in range(n):
        own: list[str] = []
        label = str(rng.choice(list("HEC"), p=[0.25, 0.2, 0.55]))
        while len(own) < length:
            least, mean = _SEGMENTS[label]
            here = least + int(rng.geometric(1.0 / (mean - least + 1.0))) - 1
            for at in range(here):
                weight = prefers[label].copy()
                for place, cap in zip((0, here - 1), _CAPS[label], strict=True):
                    if at == place:
                        weight[[letters.index(letter) for letter in cap]] *= 3.0
                residues.append(str(rng.choice(letters, p=weight / weight.sum())))
            own += label * here
            # Two helices, or a helix and a strand, have a coil between them.
            label = "C" if label != "C" else str(rng.choice(["H", "E"], p=[0.55, 0.45]))
        del residues[len(residues) - (len(own) - length) :]
        labels += own[:length]
    found = pd.DataFrame({"residue": residues})
    return Drawn(found, pd.Series(labels, name="class"), np.repeat(np.arange(n), length))


DRAWN: Mapping[str, Callable[[], Drawn]] = {
    **{
        f"skewed-{name}-{beta}": partial(_skewed, edges, float(beta))
        for name, edges in FIGURE_3.items()
        for beta in _BETAS
    },
    "chains": _chains,
    "protein-like": _protein_like,
}


def drawn(name: str) -> Drawn:
    """The rows of a table of `DRAWN`; the same ones each time.

    Examples
    --------
    >>> table = drawn("chains")
    >>> table.X.shape, int(table.sequences.max()) + 1
    ((6000, 4), 1200)
    """
    return DRAWN[name]()
