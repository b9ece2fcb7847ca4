"""The command line as a user meets it: files written whole, exit statuses, errors that name column, value and cure."""

import json
import os
import signal
import subprocess
import sys
import time
from functools import partial

import pandas as pd
import pytest
from commands import run_command

import mmbn_opt as mm

FILES = {"result.json", "model.json", "network.bif", "trace.csv", "report.html", "manifest.json"}


run = partial(run_command, COLUMNS="300")  # so that no message is broken into lines


@pytest.fixture(scope="module")
def corral(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "corral.csv"
    mm.load_dataset("corral").to_csv(path, index=False)
    return path


@pytest.fixture(scope="module")
def solved(corral, tmp_path_factory):
    out = tmp_path_factory.mktemp("out") / "corral"
    return run("structure", "--data", corral, "--target", "class", "--p", "0.9", "--out", out), out


def test_fewer_candidates_are_told(corral, tmp_path):
    process = run(
        "structure", "--data", corral, "--target", "class", "--score", "mdl", "--candidates", 1, "--out", tmp_path / "r"
    )
    assert process.returncode == 0, process.stderr
    assert "a restricted class, every claim is within k = 1 candidate parents a node" in process.stdout


def test_structure_proves_and_writes_everything(solved):
    process, out = solved
    assert process.returncode == 0, process.stderr
    assert {p.name for p in out.iterdir()} == FILES
    answer = json.loads((out / "result.json").read_text())
    # Optimum of corral at p = 0.9 with two parents, found by enumeration elsewhere.
    assert answer["primal_bound"] == pytest.approx(261.1347997401562, abs=1e-6)
    assert answer["termination_status"] == "OPTIMAL"
    assert answer["certificate"]["ok"] is True
    assert answer["sense"] == "maximize"
    assert answer["data"] == {"samples": 128, "samples_merged": 64, "features": 6, "classes": 2, "dropped": 0}
    assert set(answer["program"]) == {"columns", "integers", "rows", "nonzeros"}
    assert set(answer["seconds"]) == {"build", "heuristics", "solve", "total"}
    assert set(answer["parents"]) == set(mm.load_dataset("corral").columns)
    assert "status: OPTIMAL" in process.stdout
    assert "certificate:" in process.stdout
    assert "incumbent" in process.stderr
    assert "gap" in process.stderr
    trace = pd.read_csv(out / "trace.csv")
    assert trace["primal_bound"].is_monotonic_increasing
    assert trace["dual_bound"].is_monotonic_decreasing
    report = (out / "report.html").read_text()
    assert "<svg" in report
    assert "http://" not in report.replace("http://www.w3.org", "")


def test_predict_reads_what_structure_wrote(solved, corral, tmp_path):
    _, out = solved
    target = tmp_path / "predictions.csv"
    process = run("predict", "--model", out, "--data", corral, "--out", target)
    assert process.returncode == 0, process.stderr
    predictions = pd.read_csv(target)
    frame = pd.read_csv(corral)
    right = int((predictions["class"] == frame["class"]).sum())
    assert f"({right} of 128 labelled rows)" in process.stdout
    probabilities = predictions.filter(like="P(class=").to_numpy()
    assert probabilities.sum(axis=1) == pytest.approx(1.0)
    model = mm.load_model(out)
    assert probabilities == pytest.approx(model.predict_proba(frame), abs=1e-12)


def test_fewer_candidates_are_exported(corral, tmp_path):
    from mmbn_opt.interop.jkl import read_jkl

    path = tmp_path / "few.jkl"
    few = ("--format", "jkl", "--candidates", 1, "--out", path)
    process = run("export", "--data", corral, "--target", "class", "--score", "bic", *few)
    assert process.returncode == 0, process.stderr
    rule = mm.restrict_candidates(
        mm.DiscreteDataset.from_frame(pd.read_csv(corral, dtype=str), "class"), k=1, score="bic"
    )
    scores = read_jkl(path)
    names = list(scores)
    assert names[-1] == "class"
    for node, options in enumerate(scores.values()):
        for _, parents in options:
            assert rule.allows(node, tuple(names.index(name) for name in parents)), (names[node], parents)


@pytest.mark.parametrize(("score", "file_format"), [("sm", "lp"), ("sbm", "mps"), ("bic", "lp"), ("bdeu", "mps")])
def test_exported_programs_have_the_same_optimum(corral, tmp_path, score, file_format):
    import highspy

    path = tmp_path / f"program.{file_format}"
    process = run(
        "export", "--data", corral, "--target", "class", "--score", score, "--format", file_format, "--out", path
    )
    assert process.returncode == 0, process.stderr
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    highs.setOptionValue("mip_rel_gap", 0.0)
    assert highs.readModel(str(path)) == highspy.HighsStatus.kOk
    highs.run()
    data = mm.DiscreteDataset.from_frame(pd.read_csv(corral, dtype=str), "class")
    form = {"sm": mm.SoftMarginStructure, "sbm": mm.BinarySoftMarginStructure}.get(score)
    expected = mm.solve(form(data) if form else mm.DecomposableStructure(data, score=score)).bounds.primal_bound
    assert -highs.getInfo().objective_function_value == pytest.approx(expected, abs=1e-6)


def test_an_nl_file_comes_with_the_names_of_its_columns(corral, tmp_path):
    path = tmp_path / "corral.nl"
    process = run("export", "--data", corral, "--target", "class", "--format", "nl", "--out", path)
    assert process.returncode == 0, process.stderr
    assert process.stdout.splitlines()[-1] == f"written: {path}, corral.col"
    assert len((tmp_path / "corral.col").read_text().split()) == int(process.stdout.split(" columns")[0])
    columns = int(path.read_text().splitlines()[1].split()[0])  # the header's first count
    assert columns == int(process.stdout.split(" columns")[0])


def test_exported_local_scores_have_the_same_optimum(corral, tmp_path):
    """Rebuild the decomposable program from the .jkl file alone, by enumeration of its parent sets."""
    import itertools

    from mmbn_opt.interop.jkl import read_jkl

    path = tmp_path / "scores.jkl"
    process = run("export", "--data", corral, "--target", "class", "--score", "bic", "--format", "jkl", "--out", path)
    assert process.returncode == 0, process.stderr
    scores = read_jkl(path)
    names = list(scores)
    options = list(scores.values())
    best = -float("inf")
    for choice in itertools.product(*options):
        value = sum(score for score, _ in choice)
        if value > best and _acyclic(names, [parents for _, parents in choice]):
            best = value
    assert best == pytest.approx(-570.5008502679095, abs=1e-6)  # found by enumeration elsewhere
    refused = run("export", "--data", corral, "--target", "class", "--score", "sm", "--format", "jkl", "--out", path)
    assert refused.returncode == 2
    assert "margins are not sums" in refused.stderr


def _acyclic(names, parents):
    left = set(names)
    of = dict(zip(names, parents, strict=True))
    while left:
        free = {v for v in left if not left & set(of[v])}
        if not free:
            return False
        left -= free
    return True


def test_a_limit_before_anything_is_found_leaves_honest_files(corral, tmp_path):
    out = tmp_path / "out"
    process = run("structure", "--data", corral, "--target", "class", "--time-limit", "0.001", "--out", out)
    assert process.returncode == 0, process.stderr
    answer = json.loads((out / "result.json").read_text())
    assert answer["termination_status"] == "TIME_LIMIT"
    assert answer["certificate"]["ok"] is True
    assert answer["primal_bound"] < answer["dual_bound"]
    assert {p.name for p in out.iterdir()} == FILES


def test_solvers_are_listed():
    process = run("solvers")
    assert process.returncode == 0, process.stderr
    assert "highs" in process.stdout
    assert "MIT" in process.stdout
    assert "auto chooses the first line that fits:" in process.stdout


def write(path, text):
    path.write_text(text)
    return path


BAD_INPUT = {
    "missing target": (
        ["--target", "label"],
        "a,class\nx,n\ny,p\n",
        "no target column 'label'; the columns are ['a', 'class']",
    ),
    "missing cells": ([], "a,class\nx,n\n,p\ny,n\n", "Missing cells in 'a' (1 cells)"),
    "one class": ([], "a,class\nx,n\ny,n\n", "'class' holds only 'n'; margins need at least two classes"),
    "zero rows": ([], "a,class\n", "no rows"),
    "duplicate names": ([], "a,a,class\nx,y,n\ny,x,p\n", "'a'"),
    "numeric column": (["--no-discretize"], "a,class\n0.5,n\n1.5,p\n", "['a'] are numeric and discretization is off"),
    "max_parents": (["--max-parents", "0"], "a,class\nx,n\ny,p\n", "--max-parents must be a whole number >= 1, got 0"),
    "p": (["--p", "0.5"], "a,class\nx,n\ny,p\n", "--p must lie in (0.5, 1), got 0.5"),
    "p above": (["--p", "1"], "a,class\nx,n\ny,p\n", "--p must lie in (0.5, 1), got 1.0"),
    "unknown solver": (["--solver", "hihgs"], "a,class\nx,n\ny,p\n", "unknown solver 'hihgs'"),
    "score": (
        ["--score", "aic"],
        "a,class\nx,n\ny,p\n",
        "'aic' is none of sm, sbm, mdl, bic, bdeu, loglik.",
    ),
    "edge": (["--require", "a-class"], "a,class\nx,n\ny,p\n", "--require needs \"parent>child\", got 'a-class'"),
    "missing label": ([], "a,class\nx,n\ny,\nx,p\n", "'class' is missing in 1 of 3 rows"),
    "kinds": (["--numeric", "zzz"], "a,class\nx,n\ny,p\n", "unknown column 'zzz'"),
    "text in numbers": (["--numeric", "a"], "a,class\n1,n\ntwo,p\n", "Column 'a' is numeric, but row 1 holds 'two'"),
    "time limit": (
        ["--time-limit", "-1"],
        "a,class\nx,n\ny,p\n",
        "--time-limit must be a finite number of seconds",
    ),
}


@pytest.mark.parametrize("case", BAD_INPUT)
def test_bad_input_ends_with_status_2_and_a_sentence(case, tmp_path):
    options, text, message = BAD_INPUT[case]
    path = write(tmp_path / "table.csv", text)
    base = ["structure", "--data", path, "--out", tmp_path / "out"]
    process = run(*base, *([] if "--target" in options else ["--target", "class"]), *options)
    assert process.returncode == 2, process.stderr
    assert message in process.stderr
    assert "Traceback" not in process.stderr


def test_unreadable_and_unwritable_places(corral, tmp_path):
    absent = run("structure", "--data", tmp_path / "none.csv", "--target", "class", "--out", tmp_path / "out")
    assert absent.returncode == 2
    assert "none.csv" in absent.stderr
    wrong = write(tmp_path / "table.parquet", "a,class\nx,n\ny,p\n")
    process = run("structure", "--data", wrong, "--target", "class", "--out", tmp_path / "out")
    assert process.returncode == 2
    assert "table.parquet" in process.stderr
    occupied = write(tmp_path / "file", "not a folder")
    process = run("structure", "--data", corral, "--target", "class", "--out", occupied)
    assert process.returncode == 2
    assert "file" in process.stderr
    assert "Traceback" not in process.stderr


def test_ctrl_c_keeps_the_incumbent(tmp_path):
    path = tmp_path / "mofn.csv"
    mm.load_dataset("mofn-3-7-10").to_csv(path, index=False)
    out = tmp_path / "out"
    command = [
        sys.executable,
        "-m",
        "mmbn_opt",
        "structure",
        "--data",
        str(path),
        "--target",
        "class",
        "--max-parents",
        "3",
        "--out",
        str(out),
    ]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ})
    seen = ""
    while "local_search" not in seen:  # a first incumbent has been printed
        line = process.stderr.readline()
        assert line, seen
        seen += line
    time.sleep(1.0)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 130, errors
    answer = json.loads((out / "result.json").read_text())
    assert answer["termination_status"] == "INTERRUPTED"
    assert answer["certificate"]["ok"] is True
    assert {p.name for p in out.iterdir()} == FILES


@pytest.mark.parametrize("method", ["ml", "cg-mm", "cg-cl", "relaxation"])
def test_parameters_are_learned_and_predict_reads_them(method, corral, tmp_path):
    out = tmp_path / "out"
    process = run(
        "parameters", "--data", corral, "--target", "class", "--structure", "tan-cmi", "--method", method, "--out", out
    )
    assert process.returncode == 0, process.stderr
    assert {p.name for p in out.iterdir()} == FILES | ({"proof.mmbn"} if method == "relaxation" else set())
    assert json.loads((out / "result.json").read_text())["certificate"]["ok"] is True
    frame = pd.read_csv(corral)
    data = mm.DiscreteDataset.from_frame(frame, "class")
    network = mm.BayesianNetwork.load(out / "model.json")
    assert network.structure == mm.tan_cmi(data)
    rate = (network.predict(frame) == frame["class"]).mean()
    assert f"accuracy on the 128 training rows: {rate:.4f}" in process.stdout
    again = run(
        "parameters",
        "--data",
        corral,
        "--target",
        "class",
        "--structure",
        out / "network.bif",
        "--method",
        "ml",
        "--out",
        tmp_path / "2",
    )
    assert again.returncode == 0, again.stderr
    assert mm.BayesianNetwork.load(tmp_path / "2" / "model.json").structure == network.structure


@pytest.mark.parametrize(("name", "order"), [("omi", "OMI"), ("ro", "RO")])
def test_parameters_on_an_order_based_structure(corral, tmp_path, name, order):
    out = tmp_path / "out"
    base = ("parameters", "--data", corral, "--target", "class", "--method", "ml", "--out", out)
    process = run(*base, "--structure", name, "--seed", 7)
    assert process.returncode == 0, process.stderr
    data = mm.DiscreteDataset.from_frame(pd.read_csv(corral, dtype=str), "class")
    assert mm.BayesianNetwork.load(out / "model.json").structure == mm.order_mi(data, order, seed=7)


def test_parameters_refuse_unknown_methods_and_structures(corral, tmp_path):
    base = ["parameters", "--data", corral, "--target", "class", "--out", tmp_path / "out"]
    for extra, text in (
        (["--method", "em"], "'em' is none of ml, cg-mm, cg-cl, relaxation."),
        (
            ["--structure", "chain"],
            "--structure must be one of nb, tan-cmi, tan-cr, omi, omisp, ro or a BIF file, got 'chain'",
        ),
        (["--lam", "0"], "--lam must be a number > 0 or \"cv\", got '0'"),
        (["--lam", "much"], "--lam must be a number > 0 or \"cv\", got 'much'"),
        (["--lam", "1", "--B", "2", "--method", "relaxation"], "Give --lam or --B, not both."),
        (["--iterations", "few"], "--iterations must be a whole number >= 0 or \"cv\", got 'few'"),
        (["--lam", "cv", "--method", "cg-cl"], "--lam cv chooses the scale of cg-mm"),
        (["--validation", "1.5"], "--validation must be a share of the rows in (0, 1), got 1.5"),
    ):
        process = run(*base, *extra)
        assert process.returncode == 2, process.stderr
        assert text in process.stderr


@pytest.mark.slow
@pytest.mark.parametrize("method", ["cg-mm", "relaxation"])
def test_lambda_is_chosen_on_held_out_rows(corral, tmp_path, method):
    base = ["parameters", "--data", corral, "--target", "class", "--method", method, "--lam", "cv"]
    process = run(*base, "--rel-gap", "1e-3", "--out", tmp_path / "out")
    assert process.returncode == 0, process.stderr
    assert "rate" in process.stderr
    assert (tmp_path / "out" / "model.json").exists()


def test_demo_runs_on_a_small_set(tmp_path):
    process = run("demo", "--dataset", "corral", "--out", tmp_path / "out")
    assert process.returncode == 0, process.stderr
    assert "held-out accuracy" in process.stdout
    for name in ("naive Bayes", "TAN", "soft-margin optimum"):
        assert name in process.stdout
        assert name in (tmp_path / "out" / "report.html").read_text()
    assert "proved gap: 0.0000%" in process.stdout
