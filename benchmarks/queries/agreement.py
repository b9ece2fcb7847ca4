"""Posteriors, probabilities of evidence and explanations beside pgmpy and pyAgrum, on the networks of the repository.

Each tool answers the same questions in a process of its own, with 60 s and 8 GB; what a tool does not answer is a row
that says why. Seconds are those of the processor, without reading the network.

    python benchmarks/queries/agreement.py --data ../shared/data --out agreement.csv \
        [--networks asia,child] [--tools pyagrum]
"""

import argparse
import csv
import json
import random
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

import mmbn_opt as mm

SECONDS, BYTES = 60, 8 * 2**30
MOST_EXPLAINED = 20
"""Nodes up to which pgmpy is asked for explanations: it makes one table of them, 4.8 GB on alarm."""
COLUMNS = [
    "network", "nodes", "tool", "questions", "seconds", "largest_difference", "explanation_seconds", "explanation",
    "note",
]  # fmt: skip
"""`explanation`: log-probability of a tool's most probable explanation, less that of ours."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--networks", default="")
    parser.add_argument("--tools", default="pgmpy,pyagrum", help="beside this package")
    parser.add_argument("--child", default="", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    files = sorted((asked.data / "networks").glob("*.bif.gz"), key=lambda file: file.stat().st_size)
    chosen = asked.networks.split(",") if asked.networks else [file.name.partition(".")[0] for file in files]
    if asked.child:
        (name,) = chosen
        sys.stdout.write(json.dumps(answer(asked.child, asked.data / "networks" / f"{name}.bif.gz")))
        return
    for name in chosen:
        rows = compared(name, asked.data, ("mmbn_opt", *asked.tools.split(",")))
        for row in rows:
            print("  ".join(str(row[column]) for column in COLUMNS), flush=True)
        new = not asked.out.exists()
        with asked.out.open("a", newline="", encoding="utf-8") as stream:
            writer = csv.DictWriter(stream, COLUMNS)
            if new:
                writer.writeheader()
            writer.writerows(rows)


def compared(name: str, data: Path, tools: tuple[str, ...]) -> list[dict]:
    told = {}
    for tool in tools:
        command = [sys.executable, __file__, "--data", str(data), "--out", "-", "--networks", name, "--child", tool]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=2 * SECONDS)
            told[tool] = json.loads(done.stdout) if done.returncode == 0 else {"note": last_line(done)}
        except subprocess.TimeoutExpired:
            told[tool] = {"note": f"no answer in {SECONDS} s"}
    ours, rows = told["mmbn_opt"], []
    for tool in tools:
        theirs = told[tool]
        row = dict.fromkeys(COLUMNS, "") | {"network": name, "tool": tool, "note": theirs.get("note", "")}
        if "numbers" in ours:
            row["nodes"] = ours["nodes"]
        if "numbers" in theirs and "numbers" in ours:
            pairs = [(a, b) for a, b in zip(ours["numbers"], theirs["numbers"], strict=False)]
            difference = max(float(np.abs(np.subtract(a, b)).max()) for a, b in pairs)
            row |= {"questions": len(pairs), "seconds": f"{theirs['seconds']:.3f}"}
            row["largest_difference"] = f"{difference:.1e}"
            if theirs["explanation"] is not None and ours["explanation"] is not None:
                row["explanation_seconds"] = theirs["explaining"]
                row["explanation"] = f"{theirs['explanation'] - ours['explanation']:.1e}"
        rows.append(row)
    return rows


def last_line(done: subprocess.CompletedProcess) -> str:
    lines = done.stderr.strip().splitlines()
    if "MemoryError" in done.stderr or "bad_alloc" in done.stderr or "Unable to allocate" in done.stderr:
        return "more than 8 GB"
    return (lines[-1] if lines else f"exit status {done.returncode}")[:120]


def answer(tool: str, file: Path) -> dict:
    """Numbers of a tool, its seconds, and the log-probability of its explanation; cut off after `SECONDS`."""
    network = mm.BayesianNetwork.from_bif(file)
    questions = questions_for(network)
    peer = {"pgmpy": Pgmpy, "pyagrum": PyAgrum, "mmbn_opt": Ours}[tool](network)
    resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (int(time.process_time()) + SECONDS, int(time.process_time()) + SECONDS))
    peer.query([questions[0][0][0]], {})
    before, seconds, explaining = time.process_time(), 0.0, ""
    numbers, note, explanation = [], "", None
    try:
        for targets, evidence in questions:
            numbers.append(peer.query(targets, evidence))
        seconds = time.process_time() - before
        evidence, before = questions[0][1], time.process_time()
        best = peer.explain(evidence)
        if best is not None:
            explaining = f"{time.process_time() - before:.3f}"
            explanation = network.probability({**best, **evidence}, log=True)
    except Exception as error:  # a peer may raise anything, and that is the finding
        note = f"{type(error).__name__}: {error}"[:120]
    return {
        "numbers": numbers, "seconds": seconds, "explaining": explaining, "explanation": explanation,
        "nodes": len(network.variables),
        "note": note if numbers else note or "nothing answered",
    }  # fmt: skip


def questions_for(network: mm.BayesianNetwork) -> list[tuple[list[str], dict]]:
    """Eight posteriors of one node and two of a pair, given four nodes as they are in a random row."""
    rng = random.Random(0)
    names = [v.name for v in network.variables if v.cardinality > 1]
    rows = network.sample(10, random_state=0).to_dict("records")
    found = []
    for k, row in enumerate(rows):
        n_targets = 1 if k < 8 else 2
        drawn = rng.sample(names, min(len(names), n_targets + 4))
        found.append((drawn[:n_targets], {name: row[name] for name in drawn[n_targets:]}))
    return found


class Ours:
    """This package."""

    def __init__(self, network: mm.BayesianNetwork) -> None:
        self.network = network
        network.map_query(network.structure.names[0])  # compiles what is compiled

    def query(self, targets: list[str], evidence: dict) -> list[float]:
        return self.network.query(targets, evidence).to_list()

    def explain(self, evidence: dict) -> dict | None:
        return self.network.map_query(evidence=evidence)


class Pgmpy:
    """pgmpy's variable elimination."""

    def __init__(self, network: mm.BayesianNetwork) -> None:
        import logging

        logging.getLogger("pgmpy").setLevel(logging.ERROR)
        from pgmpy.inference import VariableElimination

        self.engine = VariableElimination(network.to_pgmpy())
        self.names = list(network.structure.names)

    def query(self, targets: list[str], evidence: dict) -> list[float]:
        answer = self.engine.query(targets, evidence=evidence, show_progress=False)
        axes = [answer.variables.index(name) for name in targets]
        return answer.values.transpose(axes).ravel().tolist()

    def explain(self, evidence: dict) -> dict | None:
        if len(self.names) > MOST_EXPLAINED:
            return None
        rest = [name for name in self.names if name not in evidence]
        return dict(self.engine.map_query(rest, evidence=evidence, show_progress=False))


class PyAgrum:
    """pyAgrum's lazy propagation."""

    def __init__(self, network: mm.BayesianNetwork) -> None:
        import pyagrum

        self.tool, self.model = pyagrum, network.to_pyagrum()
        pyagrum.setNumberOfThreads(1)

    def query(self, targets: list[str], evidence: dict) -> list[float]:
        engine = self.tool.LazyPropagation(self.model)
        engine.setEvidence({name: str(state) for name, state in evidence.items()})
        if len(targets) == 1:
            engine.addTarget(targets[0])
            engine.makeInference()
            return engine.posterior(targets[0]).toarray().tolist()
        engine.addJointTarget(set(targets))
        engine.makeInference()
        joint = engine.jointPosterior(set(targets))
        axes = [list(joint.names).index(name) for name in targets]
        values = np.asarray(joint.toarray())
        # toarray has the last variable of `names` on the first axis.
        return values.transpose([values.ndim - 1 - axis for axis in axes]).ravel().tolist()

    def explain(self, evidence: dict) -> dict | None:
        engine = self.tool.LazyPropagation(self.model)
        engine.setEvidence({name: str(state) for name, state in evidence.items()})
        engine.makeInference()
        best = engine.mpe()
        found = {best.variable(k).name(): best.variable(k).label(best.val(k)) for k in range(best.nbrDim())}
        return {name: state for name, state in found.items() if name not in evidence}


if __name__ == "__main__":
    main()
