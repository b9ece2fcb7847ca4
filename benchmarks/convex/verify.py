"""Proofs of the convex relaxation, verified from the raw tables: seconds, bytes, bounds and what rounding takes.

    python benchmarks/convex/verify.py --data ../shared/data --cases car:nb:10:hybrid,satimage:nb:1:floor

Each case, a set, its structure, gamma and normalization, is solved, its proof file written and verified. Prints
processor seconds of both, the size of the file, the bound that is vouched for and how far it is below the file's.
"""

import argparse
import tempfile
import time
from pathlib import Path

import mmbn_opt as mm
from mmbn_opt.verification import verify

CASES = (
    "car:nb:10:hybrid,german:tan:10:hybrid,vehicle:tan:1:floor,segment:tan:10:hybrid,satimage:nb:10:hybrid,"
    "satimage:nb:1:floor,letter:nb:10:hybrid,letter:nb:1:floor"
)
GRAPHS = {"nb": mm.naive_bayes, "tan": mm.tan_cmi}


def main() -> None:
    """One line a case."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--cases", default=CASES)
    parser.add_argument("--time-limit", type=float, default=12.0)
    given = parser.parse_args()
    print(
        "| set | structure | gamma | | parameters | file, kB | solved, s | verified, s | value | bound vouched for |",
        end="",
    )
    print(" below the file's, share | gap |")
    print("|---|---|---|---|---|---|---|---|---|---|---|---|")
    for case in given.cases.split(","):
        name, graph, gamma, normalization = case.split(":")
        table = given.data / f"{name}.csv.gz"
        data = mm.prepare(mm.read_table(table), "class", missing="drop").data
        formulation = mm.MaxMarginRelaxation(
            data, GRAPHS[graph](data), gamma=float(gamma), normalization=normalization
        )  # fmt: skip
        with tempfile.TemporaryDirectory() as folder:
            begin = time.process_time()
            result = mm.solve(formulation, rel_gap=1e-4, time_limit=given.time_limit)
            middle = time.process_time()
            proof = result.save_proof(Path(folder) / "proof.mmbn")
            written = time.process_time()
            found = verify(proof, table)
            end = time.process_time()
            size = proof.stat().st_size / 1e3
        cells = (
            name, graph, gamma, normalization, f"{formulation.build().size.columns:,}", f"{size:,.0f}",
            f"{middle - begin:.1f}", f"{end - written:.1f}", f"{found.value:.6f}", f"{found.bound:.6f}",
            f"{found.rounding / abs(found.bound):.0e}" if found.holds else "weaker than the file says",
            f"{found.gap:.0e}",
        )  # fmt: skip
        print("| " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
