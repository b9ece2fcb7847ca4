"""The engine of another commit and this one, case by case: gap at a limit of processor seconds, or the proof.

    git worktree add ../before COMMIT
    python benchmarks/structure/branching.py --data ../shared/data --old ../before --out branching.csv \
        --cases "vehicle:0.9 adult:0.9" --seconds 60

A case is ``set:p`` or ``set:p:score:max_parents``. Both engines begin with the same structure, found beforehand, run
for two boxes to compile, and then for so many processor seconds of one thread, the older one first, each in a process
of its own. Started again, the script does what is missing.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd

HERE = Path(__file__).resolve()


def one(given: argparse.Namespace) -> None:
    """Run a case by the package that is first on the path; print a row."""
    import numpy as np
    from grid import load, make

    from mmbn_opt import _budget
    from mmbn_opt.programs.base import ProgramKind
    from mmbn_opt.solvers.choice.branch_and_cut import BranchAndCut, _incumbent

    name, p, score, parents = given.case.split(":")
    program_of = make(load(given.data, name), score, float(p), int(parents))
    program = program_of.build(ProgramKind.IMPLICIT_CONCAVE)
    place = given.starts / f"{given.case.replace(':', '_')}.npy"
    if not place.exists():
        found = list(program_of.starts(seed=0))
        values = [program_of.evaluate(start.model) for start in found]
        best = program_of.encode(found[int(np.argmax(values))].model, ProgramKind.IMPLICIT_CONCAVE)
        np.save(place, best)
    start = np.load(place)
    BranchAndCut(options={"node_limit": 2, **given.options}).solve(program, start=start)  # compiles
    _budget.now = _incumbent.now = time.process_time
    begin = time.process_time()
    result = BranchAndCut(time_limit=given.seconds, options=given.options).solve(program, start=start)
    row = {
        "status": result.termination_status.name,
        "gap_percent": 100 * result.bounds.gap_rel,
        "primal": result.bounds.primal_bound,
        "dual": result.bounds.dual_bound,
        "cpu_sec": time.process_time() - begin,
        "boxes": result.nodes,
        "children": result.stats["children"],
        "branching": result.stats.get("branching", "dual"),
        "heuristic_share": result.stats.get("heuristic_share"),
        "steps": result.stats.get("work"),
    }
    print(json.dumps(row))


def run(given: argparse.Namespace, case: str, engine: str, root: Path) -> dict[str, object]:
    """A row of the table."""
    command = [sys.executable, str(HERE), "--data", str(given.data), "--case", case, "--seconds", str(given.seconds)]
    command += ["--starts", str(given.starts), "--options", json.dumps(given.options if engine == "new" else {})]
    environment = os.environ | {"PYTHONPATH": str(root)}
    answer = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if answer.returncode:
        raise SystemExit(f"{case} {engine}: {answer.stderr[-2000:]}")
    return {"case": case, "engine": engine, "limit_cpu_sec": given.seconds} | json.loads(answer.stdout.splitlines()[-1])


def main() -> None:
    """Run what is missing, the older engine and this one in turns."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--old", type=Path, help="checkout of the commit to compare with")
    parser.add_argument("--out", type=Path, default=HERE.parent / "results" / "branching.csv")
    parser.add_argument("--starts", type=Path, default=Path("starts"), help="folder of the structures to begin with")
    parser.add_argument("--cases", default="vehicle:0.9")
    parser.add_argument("--case", help="run this one here, by the package that is first on the path")
    parser.add_argument("--seconds", type=float, default=60.0, help="processor seconds a run")
    parser.add_argument("--options", type=json.loads, default={}, help="of the engine, as JSON")
    given = parser.parse_args()
    if given.case:
        one(given)
        return
    given.starts.mkdir(parents=True, exist_ok=True)
    rows = pd.read_csv(given.out).to_dict("records") if given.out.exists() else []
    done = {(row["case"], row["engine"], row["limit_cpu_sec"]) for row in rows}
    for short in given.cases.split():
        case = ":".join([*short.split(":"), *("sm", "2")[short.count(":") - 1 :]])
        for engine, root in (("old", given.old), ("new", HERE.parents[2])):
            if root is None or (case, engine, given.seconds) in done:
                continue
            rows.append(run(given, case, engine, root))
            pd.DataFrame(rows).to_csv(given.out, index=False, lineterminator="\n", float_format="%.8g")
            print(rows[-1], flush=True)


if __name__ == "__main__":
    main()
