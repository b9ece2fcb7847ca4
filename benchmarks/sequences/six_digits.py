"""Processor seconds to proved gaps of 1e-3 to 1e-6 on label sequences, by each method.

50 chains of five labels (Figure 9 of Guo et al. 2005), 20 protein-like sequences in windows of seven (Figure 10), the
first 200 words of fold 1 of the handwriting (128 pixels), all its 626 words; the margin with a likelihood term
("hybrid"), with a floor alone, with B in place of gamma, and the Markov network. A gap is reached when the solver's own
bounds say so; one thread; nothing where it takes longer than the limit.
Usage: ``python benchmarks/sequences/six_digits.py --data FOLDER [--limit 120] [--cases NAMES] [--methods NAMES]
[--out FILE]``; rows of the same case, form and method in the file are replaced.
"""

import argparse
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

import mmbn_opt as mm
from mmbn_opt.reproduction.sources import Source
from mmbn_opt.solvers import get_solver_class

GAPS = (1e-3, 1e-4, 1e-5, 1e-6)
FORMS = {
    "hybrid": lambda data: mm.SequenceMaxMargin(data),
    "floor": lambda data: mm.SequenceMaxMargin(data, normalization="floor"),
    "B": lambda data: mm.SequenceMaxMargin(data, B=0.1),
    "B, floor": lambda data: mm.SequenceMaxMargin(data, B=0.1, normalization="floor"),
    "network": lambda data: mm.SequenceMarkovNetwork(data, C=0.1),
}
CASES = {"chains": 50, "protein-like": 20, "words-200": 200, "words-626": None}


def data_of(case, folder):
    """The sequences of a case."""
    words = case.startswith("words")
    table = Source(folder).find("ocr-letters" if words else case)
    numbers = np.unique(table.sequences[table.folds == 1] if words else table.sequences)[: CASES[case]]
    parts = [np.flatnonzero(table.sequences == i) for i in numbers]
    X, y = table.X.to_numpy(), table.y.to_numpy()
    window = (3, 3) if case == "protein-like" else (0, 0)
    return mm.SequenceDataset.from_lists([X[p] for p in parts], [y[p].tolist() for p in parts], window=window)


def reached(formulation, method, limit):
    """Processor seconds at which each gap was proved, and the last gap."""
    program, solver = formulation.program, get_solver_class(method)
    solver(rel_gap=1e-2, time_limit=5.0).solve(program)  # compiles what is compiled
    seconds, before, last = {}, time.process_time(), np.inf

    def listen(event):
        nonlocal last
        spent = time.process_time() - before
        if event.primal_bound is not None and event.dual_bound is not None:
            last = (event.primal_bound - event.dual_bound) / max(abs(event.primal_bound), 1e-300)
            for gap in GAPS:
                if last <= gap:
                    seconds.setdefault(gap, spent)
        return spent > limit

    answer = solver(rel_gap=GAPS[-1], time_limit=2.0 * limit, threads=1).solve(program, callback=listen)
    if answer.bounds.gap_rel <= GAPS[-1]:
        seconds.setdefault(GAPS[-1], time.process_time() - before)
    return seconds, answer.bounds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--limit", type=float, default=120.0, help="processor seconds for each method")
    parser.add_argument("--cases", default=",".join(CASES))
    parser.add_argument("--forms", default="hybrid;floor;B;B, floor;network", help="between semicolons")
    parser.add_argument("--methods", default="first_order,constraint_generation,sequence_chain")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    for case in given.cases.split(","):
        data = data_of(case, given.data)
        for form in given.forms.split(";"):
            for method in given.methods.split(","):
                if method == "constraint_generation" and case.startswith("words"):
                    continue  # a master of some thousand exponential cones each round
                seconds, bounds = reached(FORMS[form](data), method, given.limit)
                row = {"data": case, "form": form, "method": method}
                row |= {f"{gap:g}": round(seconds[gap], 3) if gap in seconds else None for gap in GAPS}
                row |= {"last_gap": f"{bounds.gap_rel:.2e}", "value": f"{bounds.primal_bound:.9g}"}
                print(row, flush=True)
                if given.out is not None:
                    kept = pd.DataFrame([row])
                    if given.out.exists():
                        old = pd.read_csv(given.out, dtype=str)
                        same = (old["data"] == case) & (old["form"] == form) & (old["method"] == method)
                        kept = pd.concat([old[~same], kept.astype(str).replace({"None": None, "nan": None})])
                    kept.sort_values(["data", "form", "method"]).to_csv(given.out, index=False)


if __name__ == "__main__":
    main()
