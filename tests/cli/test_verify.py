"""``mmbn-opt verify``: its words, its exit status, and what it notes in the folder of the run."""

import json
import re

import pytest
from commands import run_command
from small_proofs import taken_apart, tree_file
from typer.testing import CliRunner

import mmbn_opt as mm
from mmbn_opt.cli.app import app
from mmbn_opt.exceptions import InputError
from mmbn_opt.verification import verify
from mmbn_opt.verification.tree_file import Kind

WORDS = "verified independently, rounding included"


def run_here(*arguments):
    """In this process; what `main` makes an exit status of 2 of is raised."""
    return CliRunner().invoke(app, list(map(str, arguments)), catch_exceptions=False)


@pytest.fixture(scope="module")
def solved(tmp_path_factory):
    folder = tmp_path_factory.mktemp("verify")
    mm.load_dataset("corral").to_csv(folder / "corral.csv", index=False)
    process = run_command(
        "structure", "-d", folder / "corral.csv", "-t", "class", "--p", "0.9", "-o", folder / "out",
        "--solver", "branch_and_cut", "--checkpoint", folder / "run",
    )  # fmt: skip
    assert process.returncode == 0, process.stderr
    return folder


def test_a_proof_is_verified_in_words_and_in_the_folder(solved):
    process = run_command("verify", solved / "run", "--data", solved / "corral.csv")
    assert process.returncode == 0, process.stderr
    lines = process.stdout.splitlines()
    assert lines[0].startswith("table: corral.csv, 128 rows")
    assert {"score: sm", "gamma: 2.1972245773362196", "max_parents: 2", "A0: ('0', '1')"} <= set(lines)
    assert "objective: 261.134800  bound: 261.134800  gap: 0.0000%" in lines
    at = lines.index("certificate:")
    assert lines[at + 1].startswith(f"  [ok] {WORDS}: no structure is worth more than 261.1347997")
    assert lines[at + 2].startswith("  [ok] bound proved: the file says 261.1347997")
    noted = json.loads((solved / "run" / "run.json").read_text(encoding="utf-8"))
    assert next(iter(noted)) == "verified"
    assert noted["verified"]["certificate"] == [line.strip() for line in lines[at + 1 :]]
    assert noted["verified"]["bound"] == pytest.approx(261.1347997401562, abs=1e-6)
    assert noted["verified"]["value"] == pytest.approx(261.1347997401562, abs=1e-9)
    assert noted["state"] == "OPTIMAL"
    again = run_here("verify", solved / "run" / "tree.mmbn", "--data", solved / "corral.csv")
    assert again.stdout == process.stdout


def test_a_long_proof_says_how_far_it_is(solved, monkeypatch):
    monkeypatch.setattr("mmbn_opt.verification.tree_file.OFTEN", 16)
    monkeypatch.setattr("mmbn_opt.cli.progress._SECONDS_BETWEEN_ROWS", 0.0)
    told = run_here("verify", solved / "run", "--data", solved / "corral.csv").stderr.splitlines()
    pattern = re.compile(r"([\d,]+) records, (\d+)% of the file; about .* left")
    found = [pattern.fullmatch(line.strip()) for line in told]
    numbers = [(int(line[1].replace(",", "")), int(line[2])) for line in found if line is not None]
    assert len(numbers) == len(told) > 10
    assert numbers == sorted(numbers)
    assert numbers[0] == (16, numbers[0][1])
    assert 90 <= numbers[-1][1] <= 100
    heard = []
    proof = solved / "run" / "tree.mmbn"
    found = verify(proof, solved / "corral.csv", progress=lambda number, share: heard.append((number, share)))
    assert [number for number, _ in heard] == [number for number, _ in numbers]
    assert heard[-1][0] <= found.records < heard[-1][0] + 17
    assert all(0.0 < share <= 1.0 for _, share in heard)
    with pytest.raises(ZeroDivisionError):  # the caller's own, and no word about the file
        verify(proof, solved / "corral.csv", progress=lambda number, share: number / 0)


def test_a_proof_under_limits_says_under_which(solved):
    costs = solved / "costs.csv"
    costs.write_text("feature,cost\nA0,1.5\nA1,1\nB0,0.25\n", encoding="utf-8")
    process = run_command(
        "structure", "-d", solved / "corral.csv", "-t", "class", "--p", "0.9", "-o", solved / "small", "--solver",
        "branch_and_cut", "--checkpoint", solved / "few", "--max-edges", "5", "--max-features", "3", "--feature-costs",
        costs, "--budget", "2.5",
    )  # fmt: skip
    assert process.returncode == 0, process.stderr
    process = run_command("verify", solved / "few", "--data", solved / "corral.csv")
    assert process.returncode == 0, process.stderr
    lines = process.stdout.splitlines()
    assert lines[1:4] == [
        "limit: edges, most: 5",
        "limit: features, most: 3",
        "limit: weights, of: [['A0', 1.5], ['A1', 1.0], ['B0', 0.25]], most: 2.5",
    ]
    said = json.loads((solved / "small" / "result.json").read_text(encoding="utf-8"))
    bound = next(line for line in lines if WORDS in line).rsplit(" ", 1)[1]
    assert float(bound) == pytest.approx(said["primal_bound"], rel=1e-9)
    assert float(bound) < 261.0
    noted = json.loads((solved / "few" / "run.json").read_text(encoding="utf-8"))
    assert noted["verified"]["bound"] == float(bound)
    assert noted["verified"]["limits"] == lines[1:4]
    assert "limits" not in noted["problem"]


def test_another_row_is_named_and_the_status_tells(solved):
    lines = (solved / "corral.csv").read_text(encoding="utf-8").splitlines()
    first, rest = lines[40].split(",", 1)
    lines[40] = f"{1 - int(first)},{rest}"
    (solved / "other.csv").write_text("\n".join(lines), encoding="utf-8")
    process = run_command("verify", solved / "run", "--data", solved / "other.csv")
    assert process.returncode == 2
    assert "line 41 differs from the data of the proof" in process.stderr
    assert process.stdout == ""


@pytest.mark.parametrize("what", ["folder", "table", "no proof"])
def test_what_is_not_there_is_told(what, solved, tmp_path):
    (tmp_path / "tree.mmbn").write_bytes(b"nothing of the kind")
    folder = {"folder": solved / "nowhere", "table": solved / "run", "no proof": tmp_path}[what]
    table = solved / ("nothing.csv" if what == "table" else "corral.csv")
    told = {"folder": "There is no file", "table": "nothing.csv", "no proof": "is no tree file of version 1"}[what]
    with pytest.raises(InputError, match=told):
        run_here("verify", folder, "--data", table)


def test_a_file_that_claims_more_than_it_proves_fails(solved, tmp_path):
    header, records = taken_apart((solved / "run" / "tree.mmbn").read_bytes())
    kept = [record for record in records if record[0] not in (Kind.BOUND, Kind.BRANCHING)]
    assert len(kept) < len(records)
    (tmp_path / "tree.mmbn").write_bytes(tree_file(header, kept))
    result = run_here("verify", tmp_path, "--data", solved / "corral.csv")
    assert result.exit_code == 1
    assert "[FAILED] bound proved: the file says" in result.stdout
    assert float(result.stdout.partition("bound: ")[2].split()[0]) > 261.1348


@pytest.fixture(scope="module")
def relaxed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("relaxed")
    mm.load_dataset("corral").to_csv(folder / "corral.csv", index=False)
    process = run_here(
        "parameters", "-d", folder / "corral.csv", "-t", "class", "--method", "relaxation", "--lam", "0.5",
        "--normalization", "floor", "--rel-gap", "1e-6", "-o", folder / "out",
    )  # fmt: skip
    assert process.exit_code == 0, process.output
    return folder


def test_the_proof_of_a_relaxation_is_verified_in_words(relaxed):
    process = run_command("verify", relaxed / "out", "--data", relaxed / "corral.csv")
    assert process.returncode == 0, process.stderr
    lines = process.stdout.splitlines()
    assert lines[0] == "table: corral.csv, 128 rows; 26 log-probabilities"
    assert {"gamma: 2.0", "normalization: floor", "min_prob: 1e-06", "A0: ('0', '1')"} <= set(lines)
    said = json.loads((relaxed / "out" / "result.json").read_text(encoding="utf-8"))
    assert f"objective: {said['primal_bound']:.6f}  bound: {said['dual_bound']:.6f}  gap: 0.0000%" in lines
    at = lines.index("certificate:")
    words, bound = lines[at + 1].rsplit(" ", 1)
    assert words == f"  [ok] {WORDS}: no tables on the structure cost less than"
    assert float(bound) == pytest.approx(48.0, rel=1e-6)  # what cones say too, see test_relaxation
    assert lines[at + 2] == f"  [ok] bound proved: the file says {said['dual_bound']!r}"
    assert run_here("verify", relaxed / "out" / "proof.mmbn", "-d", relaxed / "corral.csv").stdout == process.stdout


def test_a_row_that_is_not_of_the_relaxation_is_named(relaxed, tmp_path):
    lines = (relaxed / "corral.csv").read_text(encoding="utf-8").splitlines()
    lines[40] = lines[40][:-1] + str(1 - int(lines[40][-1]))
    (tmp_path / "other.csv").write_text("\n".join(lines), encoding="utf-8")
    with pytest.raises(InputError, match="line 41 differs from the data of the proof"):
        run_here("verify", relaxed / "out", "--data", tmp_path / "other.csv")


def test_a_folder_without_a_proof_is_told_what_was_looked_for(relaxed, tmp_path):
    with pytest.raises(InputError, match=r"There is no file '.*tree\.mmbn' and no file '.*proof\.mmbn'"):
        run_here("verify", tmp_path, "--data", relaxed / "corral.csv")
