"""Tables of any length drawn from a tree-augmented naive Bayes network: 20 features of 4 states, 3 classes.

And how the scripts beside this one run their cases, each in a process of its own.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

__all__ = ["apart", "codes", "frame", "keep"]

FEATURES, STATES, CLASSES = 20, 4, 3


def codes(rows: int, seed: int = 0, part: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Features (rows, 20) and classes (rows,), a byte each; nearly all rows differ. Parts of a seed share a network."""
    rng = np.random.default_rng(seed)
    drawn = rng if part is None else np.random.default_rng([seed, part])
    y = drawn.choice(CLASSES, rows, p=rng.dirichlet(np.full(CLASSES, 10.0))).astype(np.uint8)
    x = np.empty((rows, FEATURES), dtype=np.uint8, order="F")
    for j in range(FEATURES):
        parent = int(rng.integers(-1, j)) if j else -1
        context = y if parent < 0 else y * np.uint8(STATES) + x[:, parent]
        size = CLASSES * (STATES if parent >= 0 else 1)
        edges = rng.dirichlet(np.full(STATES, 8.0), size).cumsum(axis=1)[:, :-1].astype(np.float32)
        draw = drawn.random(rows, dtype=np.float32)
        x[:, j] = sum(draw > edges[context, s] for s in range(STATES - 1))
    return x, y


def frame(rows: int, seed: int = 0, part: int | None = None) -> pd.DataFrame:
    """The same as a table, with the class in column "y"."""
    x, y = codes(rows, seed, part)
    table = pd.DataFrame({f"x{j}": x[:, j] for j in range(FEATURES)})
    return table.assign(y=y)


def apart(script: str, *arguments: str) -> dict[str, Any]:
    """What a script says, with ``--one`` and these arguments, in its last line; printed as well."""
    done = subprocess.run([sys.executable, script, "--one", *arguments], stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    print(pd.Series(found).to_string(), flush=True)
    return found


def keep(found: list[dict[str, Any]], out: Path | None) -> None:
    """Write what was found as CSV, where a path is given."""
    if out:
        out.parent.mkdir(parents=True, exist_ok=True)
        pd.DataFrame(found).to_csv(out, index=False)
