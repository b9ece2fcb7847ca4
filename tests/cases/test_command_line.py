"""The command line as a user meets it (section C of the list): settings are told before files are read, and in options.

Each command is called in this process, with a reader that may not be called where only settings are wrong.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import mmbn_opt as mm
import mmbn_opt.data.readers as readers
from mmbn_opt.cli import main

CORRAL = {"-d": "corral.csv", "-t": "class", "-o": "out"}
GIVEN = {
    "structure": CORRAL,
    "parameters": CORRAL,
    "compare": CORRAL,
    "cmm": {"-d": "iris.csv", "-t": "class", "-o": "out"},
    "export": {**CORRAL, "-o": "out.mps"},
    "predict": {"-m": "model", "-d": "corral.csv", "-o": "predictions.csv"},
    "demo": {"-o": "out"},
    "solvers": {},
}

PYTHON = re.compile(r"np\.|\b[A-Za-z]+_\w+|\b[A-Za-z]\w*=[\"'\w]|\bNone\b|\bDataFrame\b|DiscreteDataset|`")
"""What only somebody who reads Python would know."""
OWN_WORDS = re.compile("|".join(sorted(map(re.escape, (*mm.solvers().name, "mmbn_opt")), key=len, reverse=True)))


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with two tables."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "300")
    mm.load_dataset("corral").to_csv("corral.csv", index=False)
    mm.load_dataset("iris").to_csv("iris.csv", index=False)
    Path("model").mkdir()
    return tmp_path


@pytest.fixture
def unread(monkeypatch: pytest.MonkeyPatch) -> None:
    """No table may be read."""

    def read_table(path: object, **_: object) -> None:
        raise AssertionError(f"{path} was read before all settings were looked at")

    monkeypatch.setattr(readers, "read_table", read_table)


def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, command: str, *options: str):
    """Exit status, stdout, and stderr without frames."""
    given = {k: v for k, v in GIVEN[command].items() if k not in options}
    arguments = [command, *(word for pair in given.items() for word in pair), *options]
    monkeypatch.setattr(sys, "argv", ["mmbn-opt", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    said = capsys.readouterr()
    return ended.value.code, said.out, " ".join(re.sub("[│╭╮╰╯─]", " ", said.err).split())


SETTINGS = [
    ("structure", "--max-parents 0", "--max-parents must be a whole number >= 1, got 0"),
    ("structure", "-k two", "Invalid value for '--max-parents' / '-k': 'two' is not a whole number"),
    ("structure", "--p .5", "--p must lie in (0.5, 1), got 0.5"),
    ("structure", "--p nan", "--p must lie in (0.5, 1), got nan"),
    ("structure", "--p 90%", "'90%' is not a number"),
    ("structure", "--score bic --p 2", "--p must lie in (0.5, 1), got 2.0"),
    ("structure", "--score bicc", "'bicc' is none of sm, sbm, mdl, bic, bdeu, loglik. Did you mean bic?"),
    ("structure", "--score sbm --smoothing 0", "--smoothing must be > 0 here"),
    ("structure", "--smoothing -1", "--smoothing must be a finite pseudo-count >= 0, got -1.0"),
    ("structure", "--score bdeu --ess 0", "--ess must be a finite number > 0, got 0.0"),
    (
        "structure",
        "--acyclicity orders",
        "'orders' is none of auto, order, order-printed, cluster. Did you",
    ),
    ("structure", "--parent-sets some", "'some' is none of all, margin."),
    ("structure", "--missing statte", "'statte' is none of error, drop, state. Did you mean state?"),
    ("structure", "--candidates 0", "--candidates must be a whole number >= 1, got 0"),
    ("structure", "--require a-b", "--require needs \"parent>child\", got 'a-b'"),
    ("structure", "--forbid >b", "--forbid needs \"parent>child\", got '>b'"),
    ("structure", "--require A0>A1 --forbid A0>A1", "Edge ('A0', 'A1') is both required and forbidden"),
    ("structure", "--require A0>A1 --require A1>A0", "form a cycle"),
    ("structure", "--threads 0", "--threads must be at least 1 and a whole number, got 0"),
    ("structure", "--seed -1", "--seed must be a whole number >= 0, got -1"),
    ("structure", "--rel-gap -1", "--rel-gap must be a finite number >= 0, got -1.0"),
    ("structure", "--time-limit -3", "--time-limit must be a finite number of seconds >= 0, got -3.0"),
    ("structure", "--time-limit nan", "--time-limit must be a finite number of seconds >= 0, got nan"),
    ("structure", "--hold-out 1", "--hold-out must be a number in (0, 1), got 1.0"),
    ("structure", "--test iris.csv --hold-out .3", "Give --test or --hold-out, not both"),
    ("structure", "--test ./corral.csv", "--test is the file that is learned from, 'corral.csv'; see --hold-out"),
    ("structure", "--categorical A0 --numeric A0", "Column 'A0' is named by both --categorical and --numeric"),
    ("structure", "--solver hihgs", "unknown solver 'hihgs'"),
    ("structure", "--solver hihgs", "Did you mean highs?"),
    (
        "structure",
        "--solver ecos",
        "--solver ecos accepts 'convex program', 'linearly constrained convex program'; this problem is a",
    ),
    ("structure", "--solver Branch-And-Cut --max-parents 0", "--max-parents must be"),
    ("structure", "spare", "unexpected extra argument"),
    ("structure", "--thread 1", "--threads"),
    ("parameters", "--method em", "'em' is none of ml, cg-mm, cg-cl, relaxation."),
    ("parameters", "--structure chain", "--structure must be one of nb, tan-cmi, tan-cr, omi, omisp, ro or a BIF file"),
    ("parameters", "--structure chain.bif", "There is no BIF file 'chain.bif'"),
    ("parameters", "--lam 0", "--lam must be a number > 0 or \"cv\", got '0'"),
    ("parameters", "--lam much", "--lam must be a number > 0 or \"cv\", got 'much'"),
    ("parameters", "--lam 1 --B 2 --method relaxation", "Give --lam or --B, not both"),
    ("parameters", "--lam cv --method cg-cl", "--lam cv chooses the scale of cg-mm"),
    ("parameters", "--iterations few", "--iterations must be a whole number >= 0 or \"cv\", got 'few'"),
    ("parameters", "--iterations -1", "--iterations must be a whole number >= 0"),
    ("parameters", "--validation 1.5", "--validation must be a share of the rows in (0, 1), got 1.5"),
    ("parameters", "--kappa -1", "--kappa must be a number in [0, 1e+06], got -1.0"),
    ("parameters", "--method ml --smoothing -1", "--smoothing must be a finite pseudo-count >= 0, got -1.0"),
    ("parameters", "--method relaxation --alpha 0", "--alpha must be a finite number > 0, got 0.0"),
    ("parameters", "--method relaxation --min-prob .7", "--min-prob must lie in (0, 1/2)"),
    ("parameters", "--method relaxation --B -2", "--B must be a finite number > 0, got -2.0"),
    ("parameters", "--method relaxation --lam 1e-320", "--lam must be a finite number > 0"),
    ("parameters", "--normalization none", "'none' is none of hybrid, floor, published."),
    ("parameters", "--solver highs", "--solver highs accepts 'mixed-integer linear program'; this problem is a"),
    ("parameters", "--time-limit -1", "--time-limit must be a finite number of seconds >= 0, got -1.0"),
    ("parameters", "--seed -1", "--seed must be a whole number >= 0, got -1"),
    ("cmm", "--components 0", "--components must be a whole number of at least 1, got 0"),
    ("cmm", "--tau 0", "--tau must be a number in (0, 1e+06], got 0.0"),
    ("cmm", "--xi -1", "--xi must be a number in (0, 1e+12], got -1.0"),
    ("cmm", "--xi-growth 0", "--xi-growth must be a number in [1, 1e+06], got 0.0"),
    ("cmm", "--h 0", "--h must be a number in [1, 1e+06], got 0.0"),
    ("cmm", "--penalty interior", "'interior' is none of exterior, printed. Did you mean exterior?"),
    ("cmm", "--strategy tree", "'tree' is none of one-vs-one, one-vs-rest."),
    ("cmm", "--missing state", "'state' is none of error, drop, marginalize."),
    ("cmm", "--solver highs", "--solver highs accepts 'mixed-integer linear program'; this problem is a"),
    ("export", "--format lpp", "'lpp' is none of lp, mps, nl, mof, jkl. Did you mean lp?"),
    ("export", "--format jkl", "margins are not sums of them. Use --score mdl, bic, bdeu or loglik, or --format mps"),
    ("export", "-o .", "Cannot write '.': it is a folder"),
    ("export", "-o none/out.mps", "does not exist. Make it or choose another path"),
    ("compare", "--solvers hihgs", "Did you mean highs?"),
    ("compare", "--solvers ,", "',' names no solver"),
    ("compare", "--solvers ecos", "No solver can run any of the formulations"),
    ("compare", "--seeds a", "'a' is not a list of whole numbers separated by commas"),
    ("compare", "--seeds -1", "--seeds must be whole numbers >= 0, got -1"),
    ("compare", "--seeds 0,0", "--seeds must be distinct and at least one"),
    ("compare", "--jobs 0", "--jobs must be a whole number other than 0 (-1 for all cores), got 0"),
    ("compare", "--grace -1", "--grace must be a number of seconds >= 0, got -1.0"),
    ("compare", "--memory-limit 0", "--memory-limit must be a number of megabytes > 0, got 0.0"),
    (
        "demo",
        "--dataset zzz",
        "No data set 'zzz' comes with mmbn_opt. There are: iris, car, vote, corral",
    ),
    ("demo", "--p 2", "--p must lie in (0.5, 1), got 2.0"),
    ("predict", "--unseen maybe", "'maybe' is none of warn, missing, error."),
    ("predict", "-o .", "Cannot write '.': it is a folder"),
    ("predict", "-m nothing", "There is no model file 'nothing'"),
]


@pytest.mark.parametrize(("command", "options", "message"), SETTINGS, ids=lambda text: text[:40])
@pytest.mark.usefixtures("unread")
def test_a_wrong_setting_is_told_by_its_option_before_a_file_is_read(command, options, message, capsys, monkeypatch):
    status, said, errors = run(capsys, monkeypatch, command, *options.split())
    assert status == 2
    assert message in errors
    assert said == ""
    assert not PYTHON.search(_told(errors)), PYTHON.search(_told(errors))
    assert not Path("out").exists(), "a run that can't begin leaves nothing"


def _told(errors: str) -> str:
    """What we say, without what the user said (in quotes) and names that the command line knows too."""
    return OWN_WORDS.sub("", re.sub(r"(?<!\w)'[^']*'", "", errors))


def table(rows: dict[str, list[object]]) -> str:
    import pandas as pd

    return pd.DataFrame(rows).to_csv(index=False)


HALF = [0, 1] * 20
WIDE = {f"c{j}": [(i * (j + 3) // 5) % 3 for i in range(40)] for j in range(60)} | {"k": HALF}
CONTENTS = [
    ("structure", "", {"a": [0, 1] * 20, "k": [1] * 40}, "holds only 1; margins need at least two classes"),
    ("structure", "", {"a": [0, 1, None, 1] * 10, "k": HALF}, "Missing cells in 'a' (10 cells). Use --missing drop"),
    ("structure", "--numeric zzz", {"a": HALF, "k": HALF}, "names the unknown column 'zzz'"),
    ("structure", "--no-discretize", {"a": [i / 3 for i in range(40)], "k": HALF}, "discretization is off"),
    ("structure", "--numeric a", {"a": [*range(39), "inf"], "k": HALF}, "only finite numbers can be used"),
    ("structure", "--require zz>k", {"a": HALF, "k": HALF}, "names the unknown node 'zz'"),
    ("structure", "-k 4", WIDE, "the limit is 200,000. Lower --max-parents, drop features, or keep fewer candidates: "
     "--candidates 5."),
    ("structure", "-k 1 --require c0>c1 --require c2>c1", WIDE, "raise --max-parents or relax the edges"),
    ("structure", "--hold-out .001", {"a": HALF, "k": HALF}, "--hold-out 0.001 cannot be drawn class by class"),
    ("structure", "--test iris.csv", {"a": HALF, "k": HALF}, "the columns ['a', 'k'] of table.csv are absent"),
    ("export", "--acyclicity cluster", WIDE, "Lower --max-parents, use --score sbm (one row a sample), forbid edges."),
    ("cmm", "", {"a": HALF, "k": [4, *HALF[1:]]}, "Class 4 has 1 samples, fewer than --components 3; lower"),
    ("cmm", "", {"a": [None, *HALF[1:]], "k": HALF}, "with --missing marginalize"),
    ("cmm", "", {"a": HALF, "k": [3] * 40}, "holds one class only, 3"),
    ("parameters", "--validation .001", {"a": HALF, "k": HALF}, "--validation 0.001 of 40 rows leaves no row"),
    ("parameters", "--method relaxation --min-prob .4", {"a": [0, 1, 2, 3] * 10, "k": HALF}, "--min-prob must lie in"),
]  # fmt: skip


@pytest.mark.parametrize(("command", "options", "content", "message"), CONTENTS)
def test_what_a_table_does_not_allow_is_told_in_options_too(command, options, content, message, capsys, monkeypatch):
    Path("table.csv").write_text(table(content))
    place = ["-o", "out.mps"] if command == "export" else ["-o", "out"]
    arguments = ["-d", "table.csv", "-t", "k", *place, *options.split()]
    status, _, errors = run(capsys, monkeypatch, command, *arguments)
    assert status == 2
    assert message in errors
    told = _told(errors[errors.index("error:") :])
    assert not PYTHON.search(told), PYTHON.search(told)


def test_unseen_numbers_are_told_as_numbers(capsys, monkeypatch):
    Path("table.csv").write_text(table({"a": [0, 1, 2, 1] * 10, "k": HALF}))
    run(capsys, monkeypatch, "structure", "-d", "table.csv", "-t", "k", "-l", "2", "-q", "-o", "out")
    Path("other.csv").write_text(table({"a": [0, 7], "k": [0, 1]}))
    status, _, errors = run(
        capsys, monkeypatch, "predict", "-m", "out", "-d", "other.csv", "-o", "p.csv", "--unseen", "error"
    )
    assert status == 2
    assert "Column 'a' holds 7, never seen in training; known states: 0, 1, 2." in errors
    assert "use --unseen missing to treat it as missing" in errors


@pytest.mark.parametrize("place", ["out", "corral.csv/out"])
@pytest.mark.usefixtures("unread")
def test_a_place_that_cannot_be_written_is_told_before_a_file_is_read(place, capsys, monkeypatch):
    if place == "out":
        Path("out").write_text("a file")
    status, _, errors = run(capsys, monkeypatch, "structure", "-o", place)
    assert status == 2
    assert place in errors


@pytest.mark.parametrize(("path", "message"), [
    ("model", "model is a directory. Name the data file in it."),
    ("corall.csv", "No such file: corall.csv. Did you mean 'corral.csv'?"),
])  # fmt: skip
@pytest.mark.parametrize("command", ["structure", "parameters", "cmm", "compare", "export"])
def test_a_path_that_is_no_file_leaves_no_folder_behind(command, path, message, capsys, monkeypatch):
    status, _, errors = run(capsys, monkeypatch, command, "-d", path)
    assert status == 2
    assert message in errors
    assert not Path("out").exists()


def test_options_before_the_command_are_put_right(capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["mmbn-opt", "--data", "my cars.csv", "structure", "-t", "class"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    said = " ".join(capsys.readouterr().err.split())
    assert "Options come after the command: mmbn-opt structure --data 'my cars.csv' -t class" in said


BIC = ("--score", "bic", "-k", "1", "-o", "out")


def test_quiet_leaves_the_answer_only_and_louder_adds_the_log(capsys, monkeypatch):
    usual = run(capsys, monkeypatch, "structure", *BIC)
    quiet = run(capsys, monkeypatch, "structure", *BIC, "-q")
    loud = run(capsys, monkeypatch, "structure", *BIC, "-vv", "--solver", "highs")
    assert usual[0] == quiet[0] == loud[0] == 0
    assert "incumbent" in usual[2]
    assert quiet[2] == ""
    assert "status: OPTIMAL" in quiet[1]
    assert "mmbn_opt.solvers" in loud[2]  # the logger's name
    assert "HiGHS" in loud[2]  # the solver's own log
    assert "HiGHS" not in usual[2]


def test_a_warning_of_the_library_is_a_line_and_quiet_drops_it(capsys, monkeypatch):
    for options, heard in (((), True), (("-q",), False)):
        Path("out").mkdir(exist_ok=True)
        Path("out/.mmbn-stage-1").mkdir()  # what a killed run leaves, which the log tells
        errors = run(capsys, monkeypatch, "structure", *BIC, *options)[2]
        assert ("warning: out/.mmbn-stage-1 was left by a run that was killed" in errors) is heard


def test_loudness_can_stand_before_the_command_and_ends_with_it(capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["mmbn-opt", "-q", "structure", "-d", "corral.csv", "-t", "class", *BIC])
    with pytest.raises(SystemExit):
        main()
    assert capsys.readouterr().err == ""
    assert "incumbent" in run(capsys, monkeypatch, "structure", *BIC)[2]


COMMANDS = list(GIVEN)


@pytest.mark.parametrize("width", [40, 80])
@pytest.mark.parametrize("command", [None, *COMMANDS])
def test_help_fits_the_terminal_and_cuts_no_option(command, width):
    words = [] if command is None else [command]
    text = shell(*words, "-h", env={"COLUMNS": str(width)}).stdout
    # A terminal this narrow gets plain text, in which no word is cut; names of files and options are not broken.
    assert max(map(len, text.splitlines())) <= max(width, 50)
    assert "…" not in text
    assert text == shell(*words, "--help", env={"COLUMNS": str(width)}).stdout
    assert "Exit status" in text or command is not None


def shell(*arguments, env=None, **settings):
    return subprocess.run(
        [sys.executable, "-m", "mmbn_opt", *arguments], capture_output=True, text=True, timeout=120, check=False,
        env={**os.environ, **(env or {})}, **settings,
    )  # fmt: skip


def test_no_colour_where_none_is_wanted_or_nobody_sees_it():
    for env in ({"NO_COLOR": "1", "FORCE_COLOR": ""}, {}):
        assert "\x1b" not in shell("structure", "-h", env=env).stdout
        assert "\x1b" not in shell("structure", "-s", "hihgs", env=env).stderr


@pytest.mark.skipif(os.name != "posix", reason="pipes as POSIX has them")
def test_a_reader_who_leaves_is_no_failed_solver(tmp_path):
    command = f"{sys.executable} -m mmbn_opt solvers | true; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout.splitlines()[-1] == "141"
    assert done.stderr == ""


@pytest.mark.skipif(not Path("/dev/stdin").exists(), reason="the system has no /dev/stdin")
def test_a_hyphen_reads_the_table_from_stdin():
    text = Path("corral.csv").read_text()
    done = shell("structure", "-d", "-", "-t", "class", *BIC, "-q", input=text)
    assert done.returncode == 0, done.stderr
    assert "accuracy on the 128 training rows" in done.stdout


@pytest.mark.parametrize(("words", "offered"), [
    ("structure --score b", {"bic", "bdeu"}),
    ("parameters --method cg", {"cg-mm", "cg-cl"}),
    ("parameters --structure tan", {"tan-cmi", "tan-cr"}),
    ("structure --solver hi", {"highs"}),
    ("demo --dataset c", {"car", "corral"}),
])  # fmt: skip
def test_tab_offers_the_values(words, offered):
    words = f"mmbn-opt {words}"
    env = {"_MMBN_OPT_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(len(words.split()) - 1)}
    done = subprocess.run(
        [sys.executable, "-c", "import sys; sys.argv[0] = 'mmbn-opt'; from mmbn_opt.cli import main; main()"],
        capture_output=True, text=True, timeout=120, check=False, env={**os.environ, **env},
    )  # fmt: skip
    assert offered <= set(done.stdout.split())


@pytest.mark.parametrize(("words", "told"), [
    (["--method", "ml", "--lam", "5"], "--lam plays no part in --method ml; it is of cg-mm and relaxation"),
    (["--method", "ml", "--iterations", "3"], "--iterations plays no part in --method ml"),
    (["--method", "cg-cl", "--kappa", "1"], "--kappa plays no part in --method cg-cl; it is of cg-mm\n"),
    (["-M", "cg-mm", "--iterations", "2", "--alpha", "1"], "--alpha plays no part in --method cg-mm"),
    (["-M", "cg-mm", "--iterations", "2", "--lam", "1"], None),
    (["-M", "ml"], None),
])  # fmt: skip
def test_an_option_that_plays_no_part_is_told(words, told):
    done = shell("parameters", "-d", "corral.csv", "-t", "class", "-o", "unused", *words)
    assert done.returncode == 0, done.stderr
    assert "plays no part" not in done.stderr if told is None else told in done.stderr


def test_of_many_columns_the_first_are_told_and_how_many_there_are_more(command, tmp_path):
    rows = np.random.default_rng(0).normal(size=(60, 55))
    frame = pd.DataFrame(rows, columns=[f"f{j}" for j in range(55)])
    frame.assign(**{"class": np.where(rows[:, 0] > 0, "p", "n")}).to_csv(tmp_path / "wide.csv", index=False)
    done = command(
        "structure", "--data", tmp_path / "wide.csv", "--target", "class", "--score", "bic", "--max-parents", "1",
        "--out", tmp_path / "run", "--time-limit", "20",
    )  # fmt: skip
    told = [line for line in done.err.splitlines() if ": numeric, MDLP cuts" in line]
    assert told[0].startswith("f0: ")
    assert len(told) == 40
    assert "... and 15 further columns; model.json has their states and cut points" in done.err
