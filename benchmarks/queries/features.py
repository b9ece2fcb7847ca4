"""What can be asked of a network here, in pyAgrum, pgmpy and scikit-learn: each cell is a run.

A feature is there when its call answers, with the right number where there is one; the word in a cell says how it
ended. Then the seconds (of the processor, one thread) of 1,000 mixed questions, of 100 explanations, of 10,000 samples,
and of one question to 1,000 rows at once. bnlearn (R) is not run here; its column says so.

    python benchmarks/queries/features.py --data ../shared/data [--networks alarm,child,insurance,hepar2] [--quick]
"""

import argparse
import contextlib
import io
import logging
import math
import random
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import mmbn_opt as mm

PATIENCE = 60.0
"""Seconds after which a peer's time is told for as many questions as it has answered."""

EVIDENCE = {"smoke": "yes", "dysp": "yes"}
LUNG = 0.14833407


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--networks", default="alarm,child,insurance,hepar2")
    parser.add_argument("--quick", action="store_true", help="a tenth of the questions")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    folder = asked.data / "networks"
    print(table(features(mm.BayesianNetwork.from_bif(folder / "asia.bif.gz"))))
    for name in asked.networks.split(","):
        print(f"\n{name}: seconds\n")
        network = mm.BayesianNetwork.from_bif(folder / f"{name}.bif.gz")
        print(table(times(network, 10 if asked.quick else 1)), flush=True)


def table(rows: dict[str, dict[str, str]]) -> str:
    frame = pd.DataFrame(rows).T
    lines = ["| | " + " | ".join(frame.columns) + " |", "|---" * (len(frame.columns) + 1) + "|"]
    return "\n".join(lines + [f"| {name} | " + " | ".join(map(str, row)) + " |" for name, row in frame.iterrows()])


def tried(call: Callable[[], Any] | None, wanted: float | None = None) -> str:
    """How a call ended: yes, a wrong number, or the name of its error."""
    if call is None:
        return "no such call"
    try:
        found = call()
    except Exception as error:  # a peer may raise anything, and that is the finding
        return f"no ({type(error).__name__}: {str(error).strip()[:50]})"
    if wanted is not None and not np.isclose(
        float(found), wanted, atol=2e-3 if isinstance(found, np.floating) else 1e-6
    ):
        return f"{float(found):.4f} for {wanted:.4f}"
    return "yes"


def features(asia: mm.BayesianNetwork) -> dict[str, dict[str, str]]:
    """Feature by tool, on the chest clinic of Lauritzen & Spiegelhalter."""
    import pyagrum as gum
    from pgmpy.factors.discrete import TabularCPD
    from pgmpy.inference import ApproxInference, VariableElimination

    agrum, pgm = asia.to_pyagrum(), asia.to_pgmpy()
    exact = VariableElimination(pgm)
    rows = asia.sample(50, random_state=0)
    gaps = rows.mask(np.random.default_rng(0).random(rows.shape) < 0.3)
    soft = {"xray": [0.9, 0.1]}
    virtual = TabularCPD("xray", 2, [[0.9], [0.1]], state_names={"xray": ["yes", "no"]})
    joint = float(asia.query(["lung", "bronc"], EVIDENCE)["yes", "yes"])
    likely = asia.probability(EVIDENCE)
    weighed = float(asia.query("lung", soft)["yes"])

    def lazy(evidence: dict[str, Any], *joint_target: str) -> Any:
        engine = gum.LazyPropagation(agrum)
        engine.setEvidence(evidence)
        if joint_target:
            engine.addJointTarget(set(joint_target))
        engine.makeInference()
        return engine

    def agrum_joint() -> float:
        values = lazy(EVIDENCE, "lung", "bronc").jointPosterior({"lung", "bronc"})
        return values[{"lung": "yes", "bronc": "yes"}]

    def agrum_samples() -> float:
        generator = gum.BNDatabaseGenerator(agrum)
        generator.drawSamples(1000, EVIDENCE)
        return float((generator.to_pandas()["smoke"] == "yes").mean())

    def pgm_samples() -> float:
        drawn = pgm.simulate(200, evidence=EVIDENCE, show_progress=False)
        return float((drawn["smoke"] == "yes").mean())

    def pgm_value(answer: Any, **states: str) -> float:
        return float(answer.get_value(**states))

    graph = asia.structure
    found: dict[str, dict[str, str]] = {}

    def row(feature: str, ours: Any, theirs: Any, other: Any, wanted: float | None = None, sklearn: Any = None) -> None:
        found[feature] = {
            "mmbn_opt": tried(ours, wanted), "pyAgrum": tried(theirs, wanted), "pgmpy": tried(other, wanted),
            "bnlearn": BNLEARN, "scikit-learn": tried(sklearn, wanted),
        }  # fmt: skip

    def pgm_query(targets: list[str], evidence: dict[str, str] | None = None, **more: Any) -> Any:
        return exact.query(targets, evidence, show_progress=False, **more)

    def pgm_map(targets: list[str]) -> Any:
        return exact.map_query(targets, EVIDENCE, show_progress=False)

    rest = [name for name in graph.names if name not in EVIDENCE]
    cases = gaps.drop(columns="lung")
    row(
        "posterior of a node", lambda: asia.query("lung", EVIDENCE)["yes"], lambda: lazy(EVIDENCE).posterior("lung")[0],
        lambda: pgm_value(pgm_query(["lung"], EVIDENCE), lung="yes"), LUNG,
    )  # fmt: skip
    row(
        "joint posterior", lambda: asia.query(["lung", "bronc"], EVIDENCE)["yes", "yes"], agrum_joint,
        lambda: pgm_value(pgm_query(["lung", "bronc"], EVIDENCE), lung="yes", bronc="yes"), joint,
    )  # fmt: skip
    row(
        "probability of evidence", lambda: asia.probability(EVIDENCE), lambda: lazy(EVIDENCE).evidenceProbability(),
        lambda: pgm.get_state_probability(EVIDENCE), likely,
    )  # fmt: skip
    row(
        "virtual evidence", lambda: asia.query("lung", soft)["yes"], lambda: lazy(soft).posterior("lung")[0],
        lambda: pgm_value(pgm_query(["lung"], virtual_evidence=[virtual]), lung="yes"), weighed,
    )  # fmt: skip
    row(
        "most probable explanation", lambda: len(asia.map_query(evidence=EVIDENCE)),
        lambda: len(lazy(EVIDENCE).mpe().todict()) - len(EVIDENCE), lambda: len(pgm_map(rest)), 6,
    )  # fmt: skip
    row(
        "MAP of some nodes, the others summed out", lambda: len(asia.map_query(["lung", "bronc"], EVIDENCE)), None,
        lambda: len(pgm_map(["lung", "bronc"])), 2,
    )  # fmt: skip
    row(
        "a table of cases in one call, gaps anywhere", lambda: len(asia.query("lung", cases)), None,
        lambda: len(pgm.predict_probability(cases)), 50,
    )  # fmt: skip
    row(
        "samples given evidence", lambda: (asia.sample(1000, EVIDENCE)["smoke"] == "yes").mean(), agrum_samples,
        pgm_samples, 1.0,
    )  # fmt: skip
    row(
        "an estimate by sampling", lambda: asia.estimate("lung", EVIDENCE, random_state=0).shape[0],
        lambda: agrum_sampling(gum, agrum),
        lambda: ApproxInference(pgm).query(["lung"], n_samples=1000, evidence=EVIDENCE, show_progress=False),
    )  # fmt: skip
    row(
        "its standard error", lambda: asia.estimate("lung", EVIDENCE)["standard_error"].max(), None, None,
    )  # fmt: skip
    row(
        "log-likelihood of a table", lambda: asia.log_likelihood(rows), lambda: agrum_likelihood(agrum, rows), None,
        asia.log_likelihood(rows),
    )  # fmt: skip
    row(
        "log-likelihood with gaps", lambda: asia.log_likelihood(gaps), lambda: agrum_likelihood(agrum, gaps), None,
        asia.log_likelihood(gaps),
    )  # fmt: skip
    row(
        "Markov blanket", lambda: len(graph.markov_blanket("either")),
        lambda: len(gum.MarkovBlanket(agrum, "either").nodes()) - 1, lambda: len(pgm.get_markov_blanket("either")), 5,
    )  # fmt: skip
    row(
        "d-separation", lambda: graph.is_d_separated("asia", "smoke"), lambda: agrum.isIndependent("asia", "smoke", []),
        lambda: not pgm.is_dconnected("asia", "smoke"), 1,
    )  # fmt: skip
    row(
        "ancestors", lambda: len(graph.ancestors("dysp")), lambda: len(agrum.ancestors("dysp")),
        lambda: len(pgm.get_ancestors("dysp")) - 1, 6,
    )  # fmt: skip
    row(
        "equivalence class (CPDAG)", lambda: len(graph.cpdag().undirected),
        lambda: len(gum.EssentialGraph(agrum).edges()), lambda: len(list(pgm.to_pdag().undirected_edges)),
        len(graph.cpdag().undirected),
    )  # fmt: skip
    row(
        "structural Hamming distance", lambda: graph.structural_hamming_distance(graph), lambda: agrum_shd(agrum),
        lambda: pgm_shd(pgm), 0,
    )  # fmt: skip
    row("drawing with probabilities", lambda: asia.to_svg(evidence=EVIDENCE), lambda: agrum_drawing(agrum), None)
    row(
        "the likeliest name for a misspelt one", lambda: says(lambda: asia.query("lung", {"Smoke": "yes"}), "'smoke'?"),
        lambda: says(lambda: lazy({"Smoke": "yes"}), "smoke"),
        lambda: says(lambda: pgm_query(["lung"], {"Smoke": "yes"}), "'smoke'?"),
    )  # fmt: skip
    row(
        "impossible evidence is refused", lambda: says(lambda: asia.query("lung", IMPOSSIBLE), "probability 0"),
        lambda: says(lambda: lazy(IMPOSSIBLE).posterior("lung"), ""), lambda: pgm_refuses(pgm_query),
    )  # fmt: skip
    row("naive Bayes over categories", naive_bayes, None, None, sklearn=sklearn_naive_bayes)
    return found


IMPOSSIBLE = {"tub": "yes", "either": "no"}
BNLEARN = "not run"


def says(call: Callable[[], Any], text: str) -> bool:
    try:
        call()
    except Exception as error:  # the message is what is looked at
        if text in str(error):
            return True
        raise
    raise AssertionError("nothing was refused")


def agrum_sampling(gum: Any, model: Any) -> Any:
    engine = gum.WeightedSampling(model)
    engine.setEvidence(EVIDENCE)
    engine.makeInference()
    return engine.posterior("lung")


def agrum_likelihood(model: Any, rows: pd.DataFrame) -> float:
    from pyagrum.lib.bn2scores import computeScores

    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):  # it prints each gap
        rows.to_csv(f"{folder}/rows.csv", index=False)
        scores = computeScores(model, f"{folder}/rows.csv")
    return float(scores[1]["likelihood"]) * math.log(2.0)


def agrum_shd(model: Any) -> Any:
    import pyagrum.lib.bn_vs_bn as compared

    return compared.GraphicalBNComparator(model, model).hamming()["structural hamming"]


def agrum_drawing(model: Any) -> str:
    import pyagrum.lib.notebook as notebook

    drawing: str = notebook.getInference(model, evs=EVIDENCE)
    return drawing


def pgm_shd(model: Any) -> Any:
    from pgmpy.metrics import SHD

    return SHD()(model, model)


def pgm_refuses(ask: Callable[..., Any]) -> None:
    answer = ask(["lung"], IMPOSSIBLE)
    raise AssertionError(f"answers {answer.values}")


def naive_bayes() -> Any:
    data = mm.DiscreteDataset.from_arrays([[0], [1]], [0, 1])
    return mm.BayesianNetwork.fit(mm.naive_bayes(data), data).predict_proba([[0]])


def sklearn_naive_bayes() -> Any:
    from sklearn.naive_bayes import CategoricalNB

    return CategoricalNB().fit([[0], [1]], [0, 1]).predict_proba([[0]])


def times(network: mm.BayesianNetwork, share: int) -> dict[str, dict[str, str]]:
    """Seconds by task and tool; the same questions for all."""
    import pyagrum as gum
    from pgmpy.inference import VariableElimination

    gum.setNumberOfThreads(1)
    rng = random.Random(0)
    names = [v.name for v in network.variables if v.cardinality > 1]
    rows = network.sample(1000, random_state=0)
    mixed = []
    for row in rows.to_dict("records")[::share]:
        target, *known = rng.sample(names, 5)
        mixed.append((target, {name: row[name] for name in known}))
    target = names[-1]
    known = [name for name in rng.sample(names, min(9, len(names))) if name != target]
    cases = rows[known][::share]
    agrum, pgm = network.to_pyagrum(), network.to_pgmpy()
    exact, lazy, batch = VariableElimination(pgm), gum.LazyPropagation(agrum), gum.LazyPropagation(agrum)
    batch.addTarget(target)
    network.query(*mixed[0])
    network.map_query(evidence=mixed[0][1])

    def ask_agrum(question: tuple[str, dict[str, str]]) -> Any:
        lazy.eraseAllTargets()
        lazy.addTarget(question[0])
        lazy.setEvidence(question[1])
        lazy.makeInference()
        return lazy.posterior(question[0]).toarray()

    def explain_agrum(evidence: dict[str, str]) -> Any:
        lazy.eraseAllTargets()
        lazy.setEvidence(evidence)
        lazy.makeInference()
        return lazy.mpe()

    def ask_agrum_row(row: dict[str, str]) -> Any:
        batch.setEvidence(row)
        batch.makeInference()
        return batch.posterior(target).toarray()

    def agrum_samples(n: int) -> Any:
        generator = gum.BNDatabaseGenerator(agrum)
        generator.drawSamples(n)
        return generator.to_pandas()

    quiet = {"show_progress": False}
    records = cases.to_dict("records")
    n = 10_000 // share
    mpe = [evidence for _, evidence in mixed[: 100 // share]]
    return {
        f"{len(mixed):,} mixed questions, one by one": {
            "mmbn_opt": each(lambda q: network.query(*q), mixed), "pyAgrum": each(ask_agrum, mixed),
            "pgmpy": each(lambda q: exact.query([q[0]], q[1], **quiet), mixed),
        },
        f"one question to {len(cases):,} rows": {
            "mmbn_opt": each(lambda table: network.query(target, table), [cases]),
            "pyAgrum": each(ask_agrum_row, records),
            "pgmpy": each(lambda row: exact.query([target], row, **quiet), records),
        },
        f"{len(mpe)} explanations": {
            "mmbn_opt": each(lambda e: network.map_query(evidence=e), mpe), "pyAgrum": each(explain_agrum, mpe),
            "pgmpy": each(
                lambda e: exact.map_query([v for v in network.structure.names if v not in e], e, **quiet), mpe
            ) if len(network.variables) <= 20 else "more than 4 GB each",
        },
        f"{n:,} samples": {
            "mmbn_opt": each(lambda n: network.sample(n, random_state=0), [n]), "pyAgrum": each(agrum_samples, [n]),
            "pgmpy": each(lambda n: pgm.simulate(n, show_progress=False, seed=0), [n]),
        },
    }  # fmt: skip


def each(ask: Callable[[Any], Any], questions: list[Any]) -> str:
    """Seconds for all questions; after `PATIENCE` for those that were answered."""
    before = time.process_time()
    try:
        for done, question in enumerate(questions, 1):
            ask(question)
            if time.process_time() - before > PATIENCE and done < len(questions):
                return f"{time.process_time() - before:.0f} for {done} of {len(questions)}"
    except Exception as error:  # a peer's own failure is the finding
        return f"fails ({str(error)[:60]})"
    return f"{time.process_time() - before:.3f}"


if __name__ == "__main__":
    main()
