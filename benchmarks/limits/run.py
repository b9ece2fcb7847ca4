"""Whether time limits are kept: wall seconds of every entry, at shapes where preparing alone takes long.

Each cell is a process of its own with the kernels in the cache; the data are synthetic, so that anyone can run it.
What a call may take is the limit, 1 s and 2 %. A command's time includes the interpreter's start, which no limit can
know of; a call's begins with the call.

With ``--processor`` limits and seconds are those of the processor, which others on the machine do not move.

Usage: ``python benchmarks/limits/run.py --out limits.csv [--limits 1,5,30] [--entries solve,...] [--shapes tall,...]``.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

SHAPES = {
    "tall": "100,000 rows x 20 columns of 4 labels, 3 classes",
    "wide": "2,000 x 256 numbers, 10 classes",
    "many": "20,000 x 16 numbers, 60 classes",
    "cols": "1,000 x 120 numbers, 3 classes",
}


def frame(shape: str) -> pd.DataFrame:
    """A table of the shape, with its class in column "y"."""
    rng = np.random.default_rng(0)
    if shape == "tall":
        y = rng.integers(0, 3, 100_000)
        codes = (y[:, None] * rng.integers(0, 2, 20) + rng.integers(0, 3, (100_000, 20))) % 4
        table = pd.DataFrame(codes.astype(str)).add_prefix("x")
        return table.assign(y=flipped(rng, y, 3).astype(str))
    n, d, k = {"wide": (2_000, 256, 10), "many": (20_000, 16, 60), "cols": (1_000, 120, 3)}[shape]
    y = rng.integers(0, k, n)
    centres = rng.normal(size=(k, d))
    table = pd.DataFrame(np.round(centres[y] + rng.normal(scale=1.5, size=(n, d)), 3)).add_prefix("x")
    return table.assign(y=[f"c{label}" for label in flipped(rng, y, k)])


def flipped(rng: np.random.Generator, y: np.ndarray, k: int) -> np.ndarray:
    """Every seventh label drawn anew: what can be separated is solved at once, and keeps every limit."""
    return np.where(rng.random(len(y)) < 1 / 7, rng.integers(0, k, len(y)), y)


def call(entry: str, shape: str, limit: float) -> Callable[[], Any]:
    """What is timed; what it returns says what came of it."""
    import mmbn_opt as mm

    assert callable(mm.solve)  # imported now, and not by the call
    table = frame(shape)
    if entry in ("solve", "start", "relaxation", "mdl"):
        data = mm.prepare(table, "y").data

        formulation: Any
        if entry == "relaxation":
            formulation = mm.MaxMarginRelaxation(data, mm.tan_cmi(data), gamma=10.0)
        elif entry == "mdl":
            formulation = mm.DecomposableStructure(data, score="mdl")
        else:
            formulation = mm.SoftMarginStructure(data, gamma=mm.log_odds(0.9), max_columns=10_000_000)

        def run() -> str:
            if entry == "start":
                with mm.start(formulation, time_limit=limit) as handle:
                    result = handle.result()
            else:
                result = mm.solve(formulation, time_limit=limit)
            return f"{result.termination_status}, gap {result.bounds.gap_rel:.2%}, {type(result.model).__name__}"

        return run
    X, y = table.drop(columns="y"), table["y"]
    classifier = {
        "structure-classifier": mm.MaxMarginStructureClassifier,
        "bayes-classifier": mm.MaxMarginBayesClassifier,
        "cmm-classifier": mm.CMMClassifier,
    }[entry](time_limit=limit)
    if entry == "cmm-classifier" and shape == "tall":
        X = X.apply(pd.to_numeric)
    return lambda: f"{type(classifier.fit(X, y)).__name__} fitted"


COMMANDS = {
    "structure": ["structure"],
    "parameters": ["parameters"],
    "parameters relaxation": ["parameters", "--method", "relaxation"],
    "cmm": ["cmm"],
}
CALLS = ("solve", "start", "relaxation", "mdl", "structure-classifier", "bayes-classifier", "cmm-classifier")


def processor_of_children() -> float:
    """Seconds of the processor that ended child processes took."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def module(processor: bool) -> list[str]:
    """Arguments of the interpreter for the command line, on either clock."""
    if not processor:
        return ["-m", "mmbn_opt"]
    run = "runpy.run_module('mmbn_opt', run_name='__main__', alter_sys=True)"
    return ["-c", f"import runpy, time; time.monotonic = time.process_time; {run}"]


def one(entry: str, shape: str, limit: float, processor: bool) -> dict[str, Any]:
    """One cell: seconds and what came of it."""
    if processor:
        time.monotonic = time.process_time
    if entry in COMMANDS:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "table.csv"
            frame(shape).to_csv(path, index=False)
            line = [sys.executable, *module(processor), *COMMANDS[entry], "--data", str(path), "--target", "y"]
            line += ["--out", str(Path(folder) / "out"), "--time-limit", str(limit)]
            before, spent = time.monotonic(), processor_of_children()
            done = subprocess.run(line, capture_output=True, text=True, check=False)
            seconds = processor_of_children() - spent if processor else time.monotonic() - before
            has_model = (Path(folder) / "out" / "model.json").exists()
            what = f"exit {done.returncode}, {'a model' if has_model else 'NO MODEL: ' + done.stderr[-300:]}"
            return {"seconds": seconds, "what": what}
    run = call(entry, shape, limit)
    before = time.monotonic()
    try:
        what = run()
    except Exception as error:
        what = f"{type(error).__name__}: {str(error)[:300]}"
    return {"seconds": time.monotonic() - before, "what": what}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--limits", default="1,5,30")
    parser.add_argument("--entries", default=",".join((*CALLS, *COMMANDS)))
    parser.add_argument("--shapes", default=",".join(SHAPES))
    parser.add_argument("--processor", action="store_true")
    parser.add_argument("--out", type=Path, default=None)
    parser.add_argument("--one", nargs=3, metavar=("ENTRY", "SHAPE", "LIMIT"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        print(json.dumps(one(given.one[0], given.one[1], float(given.one[2]), given.processor)))
        return
    rows = []
    for entry in given.entries.split(","):
        for shape in given.shapes.split(","):
            for limit in map(float, given.limits.split(",")):
                line = [sys.executable, __file__, "--one", entry, shape, str(limit)]
                line += ["--processor"] * given.processor
                said = subprocess.run(line, capture_output=True, text=True, check=False)
                answer = (
                    json.loads(said.stdout.splitlines()[-1]) if said.stdout else {"seconds": -1, "what": said.stderr}
                )
                over = answer["seconds"] - 1.02 * limit
                rows.append({"entry": entry, "shape": shape, "limit": limit, "over": over, **answer})
                print(
                    f"{entry:22} {shape:5} {limit:4.0f} {answer['seconds']:7.2f} {over:+6.2f}  {answer['what']}",
                    flush=True,
                )
    if given.out is not None:
        pd.DataFrame(rows).to_csv(given.out, index=False, float_format="%.2f")


if __name__ == "__main__":
    main()
