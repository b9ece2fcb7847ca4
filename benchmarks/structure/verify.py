"""Proofs of structure searches, verified from the raw tables: seconds, bytes, bounds and what rounding takes.

    python benchmarks/structure/verify.py --data ../shared/data --cases car:0.9,heart:0.6,heart:0.9:MaxEdges=8

Each case, a set, its p and a limit on the structures where there is one, is solved with a checkpoint for two parents at
most, and its tree file verified. Prints processor seconds of both, the size of the file, the bound that is vouched for,
and what rounding took from it.
"""

import argparse
import tempfile
import time
from pathlib import Path

import mmbn_opt as mm
from mmbn_opt.verification import verify

CASES = "car:0.9,vote:0.6,heart:0.6,heart:0.9,glass:0.9,crx:0.95,crx:0.9,german:0.99,german:0.95"


def main() -> None:
    """One line a case."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--cases", default=CASES)
    parser.add_argument("--time-limit", type=float, default=120.0)
    given = parser.parse_args()
    print("| set | p | limit | records | kB | solved, s | verified, s | value | bound vouched for | rounding | |")
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    for case in given.cases.split(","):
        name, p, *limits = case.split(":")
        table = given.data / f"{name}.csv.gz"
        data = mm.prepare(mm.read_table(table), "class", missing="drop").data
        formulation = mm.SoftMarginStructure(data, gamma=mm.log_odds(float(p)))
        for kind, most in (limit.split("=") for limit in limits):
            formulation = formulation.with_constraints(getattr(mm, kind)(int(most)))
        with tempfile.TemporaryDirectory() as folder:
            begin = time.process_time()
            mm.solve(formulation, "branch_and_cut", time_limit=given.time_limit, checkpoint=folder)
            middle = time.process_time()
            tree = Path(folder) / "tree.mmbn"
            found = verify(tree, table)
            end = time.process_time()
            size = tree.stat().st_size / 1e3
        gap = max(0.0, found.bound - found.value) / abs(found.bound)
        said = "as the file says" if found.holds else "weaker than the file says"
        cells = (
            name, p, " ".join(limits), f"{found.records:,}", f"{size:,.0f}", f"{middle - begin:.1f}",
            f"{end - middle:.1f}", f"{found.value:.9f}", f"{found.bound:.9f}",
            f"{found.rounding / abs(found.bound):.0e}", f"{said}, gap {gap:.0e}",
        )  # fmt: skip
        print("| " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
