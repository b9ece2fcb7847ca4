"""Grid of data set x score x p x max_parents for the exact structure search: one tidy CSV, resumed where it stopped.

    python benchmarks/structure/grid.py --data ../shared/data --out results/structure.csv --budget 60 --sets glass,heart

Every case is prepared alike (kinds of the manifest, rows with a missing cell dropped, the first rows where the
literature uses a training part). One row a case, also where it is bad.
``--printed`` runs the row form with HiGHS beside it.
"""

import argparse
import csv
import json
import time
from pathlib import Path
from typing import Any

import pandas as pd

import mmbn_opt as mm
from mmbn_opt.formulations import BinarySoftMarginStructure, DecomposableStructure, SoftMarginStructure
from mmbn_opt.formulations.structure_program import StructureFormulation
from mmbn_opt.preparation import prepare
from mmbn_opt.program import ProgramKind
from mmbn_opt.scores import log_odds
from mmbn_opt.solvers.branch_and_cut import BranchAndCut

FIRST_ROWS = {"letter": 15_000, "satimage": 4_435, "adult": 32_561}
COLUMNS = (
    "set", "score", "p", "max_parents", "engine", "nodes_of_graph", "samples_merged", "classes", "columns", "status",
    "primal", "dual", "gap_percent", "root_gap_percent", "first_incumbent_sec", "first_bound_sec",
    "seconds", "boxes", "trace",
)  # fmt: skip


def load(folder: Path, name: str) -> mm.DiscreteDataset:
    """Data set by name, prepared as the manifest says."""
    entry = next(e for e in json.loads((folder / "manifest.json").read_text()) if e["name"] == name)
    frame = pd.read_csv(folder / entry["file"], dtype=str, keep_default_na=False)
    frame = frame.iloc[: FIRST_ROWS.get(name, len(frame))]
    frame = frame.mask(frame == "")
    kinds = dict(zip(frame.columns[:-1], entry["feature_kinds"], strict=True))
    numeric = {column: float for column, kind in kinds.items() if kind == "numeric"}
    return prepare(frame.astype(numeric), frame.columns[-1], kinds=kinds, missing="drop").data


def make(data: mm.DiscreteDataset, score: str, p: float, max_parents: int) -> StructureFormulation:
    """Formulation of one case."""
    if score == "sm":
        return SoftMarginStructure(data, max_parents=max_parents, gamma=log_odds(p))
    if score == "sbm":
        return BinarySoftMarginStructure(data, max_parents=max_parents, gamma=log_odds(p))
    return DecomposableStructure(data, score=score, max_parents=max_parents)  # type: ignore[arg-type]


def projected(formulation: StructureFormulation, budget: float) -> dict[str, Any]:
    """Start heuristics, build and search within one budget."""
    origin = time.perf_counter()
    program = formulation.build(ProgramKind.IMPLICIT_CONCAVE)
    start, first = None, None
    for found in formulation.starts(seed=0, deadline=origin + budget / 10):
        first = first if first is not None else time.perf_counter() - origin
        start = formulation.encode(found.model, ProgramKind.IMPLICIT_CONCAVE)
    before = time.perf_counter() - origin
    result = BranchAndCut(time_limit=max(budget - before, 0.1)).solve(program, start=start)
    dual = next((r.time_sec + before for r in result.trace if r.dual_bound is not None), None)
    root = result.stats.get("root_bound")
    primal = result.bounds.primal_bound
    root_gap = None if root is None or primal is None else 100 * (primal - root) / max(abs(primal), abs(root))
    curve = [[round(before + r.time_sec, 2), r.primal_bound, r.dual_bound] for r in result.trace]
    curve = curve[:: max(1, len(curve) // 60)]
    return {
        "status": str(result.termination_status),
        "primal": None if primal is None else -primal,
        "dual": None if result.bounds.dual_bound is None else -result.bounds.dual_bound,
        "gap_percent": 100 * result.bounds.gap_rel,
        "root_gap_percent": root_gap,
        "first_incumbent_sec": first,
        "first_bound_sec": dual,
        "seconds": time.perf_counter() - origin,
        "boxes": result.stats["nodes"],
        "trace": json.dumps(curve),
    }  # fmt: skip


def printed(formulation: StructureFormulation, budget: float) -> dict[str, Any]:
    """Row form by HiGHS."""
    result = mm.solve(formulation, "highs", time_limit=budget)
    return {
        "status": str(result.termination_status),
        "primal": result.bounds.primal_bound,
        "dual": result.bounds.dual_bound,
        "gap_percent": 100 * result.bounds.gap_rel,
        "first_incumbent_sec": result.trace.first_incumbent_sec(),
        "seconds": result.seconds.total,
        "boxes": result.stats.get("nodes"),
    }


def case(name: str, score: str, p: str, parents: str, engine: str, formulation: StructureFormulation) -> dict[str, Any]:
    """What identifies a case, and its sizes."""
    data, columns = formulation.data, formulation.candidates.n_columns
    sizes = (data.n_features + 1, formulation.merged.n_samples, data.n_classes, columns)
    return dict(zip(COLUMNS, (name, score, p, parents, engine, *sizes), strict=False))


def main() -> None:
    """Run what is not in the CSV yet."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--sets", required=True, help="comma-separated names of the manifest")
    parser.add_argument("--scores", default="sm")
    parser.add_argument("--p", default="0.6,0.9,0.99")
    parser.add_argument("--max-parents", default="1,2")
    parser.add_argument("--budget", type=float, default=60.0, help="seconds a case")
    parser.add_argument("--printed", action="store_true", help="run HiGHS on the row form beside it")
    given = parser.parse_args()
    given.out.parent.mkdir(parents=True, exist_ok=True)
    keys = ("set", "score", "p", "max_parents", "engine")
    done: set[tuple[str, ...]] = set()
    if given.out.exists():
        with given.out.open(newline="") as stream:
            done = {tuple(row[k] for k in keys) for row in csv.DictReader(stream)}
    engines = {"projected": projected} | ({"printed": printed} if given.printed else {})
    with given.out.open("a", newline="") as stream:
        writer = csv.DictWriter(stream, COLUMNS)
        if stream.tell() == 0:
            writer.writeheader()
        for name in given.sets.split(","):
            data = load(given.data, name)
            for score in given.scores.split(","):
                for p in given.p.split(",") if score in ("sm", "sbm") else ("",):
                    for parents in given.max_parents.split(","):
                        for engine, run in engines.items():
                            if (name, score, p, parents, engine) in done:
                                continue
                            formulation = make(data, score, float(p or 0.9), int(parents))
                            sizes = (
                                data.n_features + 1,
                                formulation.merged.n_samples,
                                data.n_classes,
                                formulation.candidates.n_columns,
                            )
                            row = dict(zip(COLUMNS, (name, score, p, parents, engine, *sizes), strict=False))
                            try:
                                row |= run(formulation, given.budget)
                            except mm.MmbnError as error:
                                row["status"] = f"{type(error).__name__}: {error}"
                            writer.writerow(row)
                            stream.flush()
                            print(
                                name,
                                score,
                                p,
                                parents,
                                engine,
                                row.get("status"),
                                row.get("gap_percent"),
                                row.get("seconds"),
                            )


if __name__ == "__main__":
    main()
