"""Grid of data set x score x p x max_parents for the exact structure search, by `mm.compare`.

    python benchmarks/structure/grid.py --data ../shared/data --out results/grid --sets glass,heart --printed

Every case is prepared alike (kinds of the manifest, rows with a missing cell dropped, the first rows where the
literature uses a training part) and runs in a process of its own, which keeps one file; started again, the script does
what is missing. ``--printed`` runs the paper's rows with HiGHS beside the engine. The folder receives ``grid.csv`` (one
row a case, also where it is bad), ``report.html`` with the gap over time of every case, and with ``--printed``
``printed.csv``: when the engine reached the gap at which the printed program stopped.
"""

import argparse
import json
import math
from collections.abc import Iterator
from pathlib import Path

import pandas as pd

import mmbn_opt as mm
from mmbn_opt.comparison import Comparison
from mmbn_opt.comparison.metrics import SMALLEST_SECONDS, seconds_to_gap
from mmbn_opt.data.preparation import prepare
from mmbn_opt.formulations.structure.base import StructureFormulation
from mmbn_opt.interop.atomic import ensure_directory, write_text_atomic

FIRST_ROWS = {"letter": 15_000, "satimage": 4_435, "adult": 32_561}
PAPER_SETS = (
    "abalone,adult,australian,breast,car,chess,cleve,corral,crx,diabetes,flare,german,glass,glass2,heart,hepatitis,iris,"
    "letter,lymphography,mofn-3-7-10,mushroom,nursery,pima,satimage,segment,soybean-large,spambase,vehicle,vote,"
    "waveform-21"
)
"""Those of the 31 sets of Peharz & Pernkopf (2012) that the reference data hold."""


def load(folder: Path, name: str) -> mm.DiscreteDataset:
    """Data set by name, prepared as the manifest says."""
    entry = next(e for e in json.loads((folder / "manifest.json").read_text()) if e["name"] == name)
    frame = pd.read_csv(folder / entry["file"], dtype=str, keep_default_na=False)
    frame = frame.iloc[: FIRST_ROWS.get(name, len(frame))]
    frame = frame.mask(frame == "")
    kinds = dict(zip(frame.columns[:-1], entry["feature_kinds"], strict=True))
    numeric = {column: float for column, kind in kinds.items() if kind == "numeric"}
    return prepare(frame.astype(numeric), frame.columns[-1], kinds=kinds, missing="drop").data


def make(
    data: mm.DiscreteDataset, score: str, p: float, max_parents: int, *, printed: bool = False
) -> StructureFormulation:
    """Formulation of one case."""
    kind = mm.SoftMarginStructure if score == "sm" else mm.BinarySoftMarginStructure
    return kind(data, max_parents=max_parents, gamma=mm.log_odds(p), acyclicity="order-printed" if printed else "auto")


def cases(folder: Path, given: argparse.Namespace) -> Iterator[tuple[dict[str, object], mm.DiscreteDataset]]:
    """What identifies each case, and its data."""
    for name in given.sets.split(","):
        data = load(folder, name)
        for score in given.scores.split(","):
            for p in given.p.split(","):
                for parents in given.max_parents.split(","):
                    yield {"set": name, "score": score, "p": float(p), "max_parents": int(parents)}, data


def label(case: dict[str, object]) -> str:
    """One line for a case."""
    return "{set} {score} p={p} k={max_parents}".format(**case)


def run(given: argparse.Namespace) -> tuple[pd.DataFrame, list[Comparison]]:
    """All cases; what is on disk is not run again."""
    rows, tables = [], []
    for case, data in cases(given.data, given):
        score, p, parents = str(case["score"]), float(str(case["p"])), int(str(case["max_parents"]))
        formulation = make(data, score, p, parents)
        sizes = {
            "nodes": data.n_features + 1, "merged_rows": formulation.merged.n_samples, "classes": data.n_classes,
            "columns": formulation.candidates.n_columns,
        }  # fmt: skip
        programs = {label(case): (formulation, "branch_and_cut")}
        if given.printed:
            programs[f"{label(case)} printed"] = (make(data, score, p, parents, printed=True), "highs")
        for name, (program, solver) in programs.items():
            table = mm.compare(
                {name: program}, [solver], time_limit=given.budget, seeds=[0], threads=given.threads,
                folder=given.out / "runs",
            )  # fmt: skip
            tables.append(table)
            ended = table.iloc[0]
            trace = table.runs[0].trace
            rows.append(
                case
                | {
                    "budget": given.budget,
                    "program": "printed" if name.endswith("printed") else "projected",
                    "solver": solver,
                }
                | sizes
                | {
                    "status": ended["status"],
                    "primal": ended["primal_bound"],
                    "dual": ended["dual_bound"],
                    "gap_percent": 100 * ended["gap_rel"],
                    "first_incumbent_sec": ended["first_incumbent_sec"],
                    "first_bound_sec": next((r.time_sec for r in trace if r.event == "bound"), math.nan),
                    "seconds": ended["seconds"],
                    "peak_memory_mb": ended["peak_memory_mb"],
                    "bound_ok": ended["bound_ok"],
                    "certificate_ok": ended["certificate_ok"],
                    "detail": ended["detail"],
                }
            )
            gap = 100 * ended["gap_rel"]
            print(f"{name}: {ended['status']}, gap {gap:.3f} %, {ended['seconds']:.1f} s", flush=True)
    return pd.DataFrame(rows), tables


def ratios(tables: list[Comparison]) -> pd.DataFrame:
    """Seconds to the printed program's final gap, printed program against engine."""
    runs = {str(table.runs[0].formulation): table.runs[0] for table in tables if table.runs}
    rows = []
    for name, engine in runs.items():
        printed = runs.get(f"{name} printed")
        if printed is None:
            continue
        gap = printed.bounds.gap_rel
        proved = printed.status is not None and gap <= 1e-6
        theirs = seconds_to_gap(printed.trace, max(gap, 1e-6)) if proved else printed.seconds
        ours = seconds_to_gap(engine.trace, max(gap, 1e-6)) if math.isfinite(gap) else math.nan
        rows.append(
            {
                "case": name, "printed_gap_percent": 100 * gap, "printed_sec": theirs,
                "engine_gap_percent": 100 * engine.bounds.gap_rel, "engine_sec_to_that_gap": ours,
                "ratio": max(theirs, SMALLEST_SECONDS) / max(ours, SMALLEST_SECONDS),
            }
        )  # fmt: skip
    return pd.DataFrame(rows)


def main() -> None:
    """Run what is missing and write tables and page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--sets", default=PAPER_SETS, help="comma-separated names of the manifest")
    parser.add_argument("--scores", default="sm,sbm")
    parser.add_argument("--p", default="0.6,0.9,0.99")
    parser.add_argument("--max-parents", default="1,2")
    parser.add_argument("--budget", type=float, default=600.0, help="seconds a case")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--printed", action="store_true", help="run HiGHS on the paper's rows beside it")
    given = parser.parse_args()
    ensure_directory(given.out)
    grid, tables = run(given)
    write_text_atomic(given.out / "grid.csv", grid.to_csv(index=False, lineterminator="\n"))
    everything = Comparison([one for table in tables for one in table.runs])
    write_text_atomic(given.out / "report.html", everything.report_html("Exact structure search"))
    if given.printed:
        beside = ratios(tables)
        write_text_atomic(given.out / "printed.csv", beside.to_csv(index=False, lineterminator="\n"))
        print(beside.to_string(index=False))


if __name__ == "__main__":
    main()
