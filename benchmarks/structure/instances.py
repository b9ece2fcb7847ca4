"""A library of instances for other solvers: row forms as MPS, with the best bounds known and their proofs.

    python benchmarks/structure/instances.py --data ../shared/data --out instances --sets iris,glass --limit 60

For each set, score and p (two parents at most) the folder receives ``NAME.mps.gz``, what its columns stand for
(``NAME.mps.names.json.gz``), and ``NAME.mmbn.xz``, the tree file of the search: unpacked,
``mmbn-opt verify NAME.mmbn --data SET.csv.gz`` proves the bound again from the raw table. ``instances.csv`` has a line
for each: sizes, best value, bound, what was proved and verified, in the score's units (a maximum). What is there is
kept; called again, a search begins where it stopped. A row form of over `--max-nonzeros` entries is left out, and its
line says so. See ``instances.md``.
"""

import argparse
import gzip
import json
import lzma
import tempfile
from pathlib import Path

import pandas as pd

import mmbn_opt as mm
from mmbn_opt.exceptions import SizeLimitError
from mmbn_opt.interop.atomic import ensure_directory, write_bytes_atomic, write_text_atomic
from mmbn_opt.interop.programs import write_program
from mmbn_opt.verification import verify

SMALL = "iris,corral,mofn-3-7-10,pima,diabetes,glass2,glass,breast,car,abalone"
KINDS = {"sm": mm.SoftMarginStructure, "sbm": mm.BinarySoftMarginStructure}


def made(table: Path, name: str, score: str, p: float, given: argparse.Namespace) -> dict[str, object]:
    """Write one instance, go on with its search, and verify what that proved."""
    entry = f"{name}-{score}-{p:g}"
    data = mm.prepare(mm.read_table(table), "class", missing="drop").data
    formulation = KINDS[score](data, gamma=mm.log_odds(p), max_nonzeros=given.max_nonzeros)
    line: dict[str, object] = {"instance": entry, "set": name, "score": score, "p": p, "samples": data.n_samples}
    if score == "sbm" and data.n_classes == 2:
        return line | {"said": "two classes: the instance of sm"}
    with tempfile.TemporaryDirectory() as folder:
        try:
            path = Path(folder) / f"{entry}.mps"
            size = write_program(formulation, path, file_format="mps").size
        except SizeLimitError as error:
            return line | {"said": str(error)}
        for written in sorted(Path(folder).iterdir()):
            write_bytes_atomic(given.out / f"{written.name}.gz", gzip.compress(written.read_bytes(), mtime=0))
        line |= {"columns": size.columns, "integers": size.integers, "rows": size.rows, "nonzeros": size.nonzeros}
        run, kept = Path(folder) / "run", given.out / f"{entry}.mmbn.xz"
        if kept.exists():
            run.mkdir()
            (run / "tree.mmbn").write_bytes(lzma.decompress(kept.read_bytes()))
        result = mm.solve(formulation, "branch_and_cut", time_limit=given.limit, checkpoint=run)
        tree = run / "tree.mmbn"
        found = verify(tree, table)
        write_bytes_atomic(kept, lzma.compress(tree.read_bytes()))
    return line | {
        "value": found.value,
        "bound": found.bound,
        "gap": max(0.0, found.bound - found.value) / max(abs(found.bound), 1e-12),
        "status": str(result.termination_status),
        "verified": "rounding included" if found.holds else "weaker than claimed",
        "said": "",
    }


def as_csv(lines: list[dict[str, object]]) -> str:
    """The table of all instances, whole numbers as such."""
    frame = pd.DataFrame(sorted(lines, key=lambda line: str(line["instance"])))
    counts = [name for name in ("columns", "integers", "rows", "nonzeros") if name in frame]
    return frame.astype(dict.fromkeys(counts, "Int64")).to_csv(index=False)


def main() -> None:
    """All instances asked for; the table is written after each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--sets", default=SMALL)
    parser.add_argument("--scores", default="sm,sbm")
    parser.add_argument("--p", default="0.6,0.9,0.99")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds a search")
    parser.add_argument("--max-nonzeros", type=int, default=20_000_000)
    given = parser.parse_args()
    ensure_directory(given.out)
    table = given.out / "instances.csv"
    lines = {} if not table.exists() else {r["instance"]: r for r in pd.read_csv(table).to_dict("records")}
    names = {
        entry["name"]: given.data / entry["file"] for entry in json.loads((given.data / "manifest.json").read_text())
    }
    for name in given.sets.split(","):
        for score in given.scores.split(","):
            for p in map(float, given.p.split(",")):
                line = made(names[name], name, score, p, given)
                lines[str(line["instance"])] = line
                write_text_atomic(table, as_csv(list(lines.values())))
                print(", ".join(f"{k} {v}" for k, v in line.items() if v != ""), flush=True)


if __name__ == "__main__":
    main()
