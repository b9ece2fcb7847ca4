"""Printed against tightened order rows against the projected program, solver against solver, in one run.

Every row is a fresh call of ``solve`` with one thread; start heuristics count. Times are wall-clock seconds of this
machine at this moment: read the ratios. Usage: ``python benchmarks/structure_forms.py [--time-limit 60] [--out FILE]``.
"""

import argparse
import json
import platform
from pathlib import Path

import mmbn_opt as mm

SETS = ("corral", "iris", "car", "vote")


def dataset(name: str) -> mm.DiscreteDataset:
    frame, info = mm.load_dataset(name, return_info=True)
    return mm.prepare(frame, info.target, kinds=info.kinds, missing="drop").data


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--time-limit", type=float, default=60.0)
    parser.add_argument("--p", type=float, default=0.9)
    parser.add_argument("--out", type=Path, default=None, help="JSON file for the rows")
    options = parser.parse_args()
    table = mm.solvers().set_index("name")
    programs = [solver for solver in ("highs", "scip", "cbc", "scipy") if table.loc[solver, "available"]]
    rows = []
    print(f"{platform.machine()}, Python {platform.python_version()}, p = {options.p}, max_parents = 2")
    print(f"{'set':<8} {'rows of the program':>20} {'form':<14} {'solver':<8} {'seconds':>8} {'gap':>9} status")
    for name in SETS:
        data = dataset(name)
        runs = [
            ("order-printed", "highs"),
            *(("order", solver) for solver in programs),
            ("projected", "branch_and_cut"),
        ]
        for form, solver in runs:
            acyclicity = "auto" if form == "projected" else form
            problem = mm.SoftMarginStructure(data, gamma=mm.log_odds(options.p), acyclicity=acyclicity)
            result = mm.solve(problem, solver, time_limit=options.time_limit)
            row = {
                "set": name,
                "program_rows": result.program_size.rows,
                "form": form,
                "solver": solver,
                "seconds": round(result.seconds.total, 2),
                "gap_percent": round(100 * result.bounds.gap_rel, 4),
                "status": str(result.termination_status),
                "primal": result.bounds.primal_bound,
                "certificate": result.certificate.ok,
            }
            rows.append(row)
            print(
                f"{name:<8} {row['program_rows']:>20,} {form:<14} {solver:<8} {row['seconds']:>8.2f} "
                f"{row['gap_percent']:>8.3f}% {row['status']}",
                flush=True,
            )
        proved = [row for row in rows if row["set"] == name and row["status"] == "OPTIMAL"]
        assert all(abs(row["primal"] - proved[0]["primal"]) < 1e-6 for row in proved), "optimal values disagree"
    if options.out is not None:
        options.out.write_text(json.dumps(rows, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
