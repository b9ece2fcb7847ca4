"""Exact search with trees hung one way and with every way looked at: boxes, processor seconds and the gap.

A structure with two parents is a forest of features below the class, of which most can hang from any of their nodes and
be worth the same (Dirichlet prior) or nearly the same (Laplace smoothing of many rows). Both searches are of the same
program, but for what it says of that; they run one after the other in one process, of one thread, each with the
same limit of seconds.

Usage: ``python benchmarks/structure/hanging.py [--data FOLDER] [--sets heart,rows-100k] [--limit 60] [--out CSV]``.
"""

import argparse
import os
import sys
import time
from pathlib import Path

import pandas as pd

import mmbn_opt as mm
from mmbn_opt.programs import ProgramKind

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "rows"))
from synthetic import frame  # a folder of scripts, no package

SYNTHETIC = {"rows-2k": 2_000, "rows-20k": 20_000, "rows-100k": 100_000}


def problem_of(name: str, folder: Path) -> mm.SoftMarginStructure:
    """p = 0.9, two parents; a Dirichlet prior worth 10 samples on real sets, a pseudo-count of 1 on synthetic ones."""
    if name in SYNTHETIC:
        data = mm.DiscreteDataset.from_frame(frame(SYNTHETIC[name]), target="y")
        return mm.SoftMarginStructure(data, max_parents=2, gamma=mm.log_odds(0.9))
    data = mm.prepare(mm.read_table(folder / f"{name}.csv.gz"), target="class", missing="drop").data
    return mm.SoftMarginStructure(data, max_parents=2, gamma=mm.log_odds(0.9), smoothing=mm.Dirichlet(10.0))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("data"))
    parser.add_argument("--sets", default="heart,cleve,car,breast,rows-20k,rows-100k")
    parser.add_argument("--limit", type=float, default=60.0)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    found = []
    for name in given.sets.split(","):
        problem = problem_of(name, given.data)
        program = problem.build(ProgramKind.IMPLICIT_CONCAVE)
        mm.solve(program, "branch_and_cut", time_limit=2.0)  # compiles
        for trees, one in (("one way", program), ("any way", program.hung_anyhow())):
            before = time.process_time()
            result = mm.solve(one, "branch_and_cut", time_limit=given.limit)
            found.append(
                {
                    "set": name,
                    "trees": trees,
                    "smoothing": str(problem.prior),
                    "boxes": result.stats["nodes"],
                    "cpu_sec": round(time.process_time() - before, 2),
                    "objective": round(result.bounds.primal_bound, 4),
                    "gap_percent": round(100 * result.bounds.gap_rel, 4),
                    "turning_cost_percent": round(100 * program.turning_cost / abs(result.bounds.primal_bound), 4),
                    "load": round(os.getloadavg()[1], 1),
                }
            )
            print(pd.Series(found[-1]).to_frame().T.to_string(index=False, header=len(found) == 1), flush=True)
        if given.out:
            given.out.parent.mkdir(parents=True, exist_ok=True)
            pd.DataFrame(found).to_csv(given.out, index=False)


if __name__ == "__main__":
    main()
