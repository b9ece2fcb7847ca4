"""Options that several commands share: their flags, how they are read, and where the help lists them."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from mmbn_opt.cli import choices
from mmbn_opt.cli.parsing import number, whole_number
from mmbn_opt.cli.remarks import Loudness, set_loudness

__all__ = [
    "DATA",
    "OUTPUT",
    "PROBLEM",
    "SEARCH",
    "Acyclicity",
    "Calibration",
    "Candidates",
    "Categorical",
    "Checkpoint",
    "CodesIn",
    "Data",
    "DataIfAny",
    "Drop",
    "Ess",
    "Forbid",
    "HoldOut",
    "MaxParents",
    "Missing",
    "NaValues",
    "NoDiscretize",
    "Numeric",
    "Out",
    "P",
    "ParentSets",
    "Quiet",
    "RelGap",
    "Require",
    "Score",
    "Scores",
    "Seed",
    "Smoothing",
    "Solver",
    "Spreadsheet",
    "Target",
    "TargetIfAny",
    "Test",
    "Threads",
    "TimeLimit",
    "Verbose",
    "chosen",
    "num",
    "solver_log",
    "text",
    "whole",
]

DATA, PROBLEM, SEARCH, OUTPUT = "Data", "Problem", "Search", "Output"
"""Panels of the help."""


def chosen(kind: type[StrEnum], *flags: str, panel: str, help: str) -> Any:
    """An option whose values are those of an enumeration; Tab offers them."""
    return typer.Option(
        *flags, parser=choices.one_of(kind), metavar="NAME", autocompletion=choices.completing(lambda: list(kind)),
        rich_help_panel=panel, help=help,
    )  # fmt: skip


def num(*flags: str, panel: str, help: str, metavar: str = "NUMBER") -> Any:
    """An option that is a number."""
    return typer.Option(*flags, parser=number, metavar=metavar, rich_help_panel=panel, help=help)


def whole(*flags: str, panel: str, help: str, metavar: str = "N") -> Any:
    """An option that is a whole number."""
    return typer.Option(*flags, parser=whole_number, metavar=metavar, rich_help_panel=panel, help=help)


def solver_log(verbose: int) -> bool | None:
    """Whether the solver is to write its log, from the count of ``-v``; None leaves it to the solver."""
    return True if verbose > 1 else None


def text(*flags: str, panel: str, help: str, metavar: str, required: bool = False) -> Any:
    """An option that is a text or a path."""
    return typer.Option(*flags, metavar=metavar, rich_help_panel=panel, help=help, show_default=not required)


def _louder(count: int) -> int:
    if count:
        set_loudness(Loudness(min(Loudness.USUAL + count, Loudness.DEBUG)))
    return count


def _quiet(wanted: bool) -> bool:
    if wanted:
        set_loudness(Loudness.QUIET)
    return wanted


_DATA = text(
    "--data", "-d", panel=DATA, metavar="FILE", required=True,
    help="Table to learn from: CSV (.gz), Parquet or ARFF; - reads stdin.",
)  # fmt: skip
_TARGET = text("--target", "-t", panel=DATA, metavar="COLUMN", required=True, help="Name of the class column.")
Data = Annotated[Path, _DATA]
Target = Annotated[str, _TARGET]
DataIfAny = Annotated[Path | None, _DATA]
TargetIfAny = Annotated[str | None, _TARGET]
Scores = Annotated[
    Path | None,
    text(
        "--scores", panel=DATA, metavar="FILE",
        help="Local scores (.jkl, also .gz) in place of a table: the structure with the largest sum of them.",
    ),
]  # fmt: skip
Categorical = Annotated[
    str, text("--categorical", panel=DATA, metavar="COLUMNS", help="Columns to take as they are, between commas.")
]
Numeric = Annotated[
    str, text("--numeric", panel=DATA, metavar="COLUMNS", help="Columns to discretize by MDLP, between commas.")
]
Missing = Annotated[
    choices.Missing,
    chosen(
        choices.Missing, "--missing", panel=DATA,
        help="Missing cells: error, drop (leave their rows out) or state (a value of its own).",
    ),
]  # fmt: skip
NaValues = Annotated[
    str,
    text(
        "--na", panel=DATA, metavar="TEXTS",
        help="Cell texts that mean missing, between commas (an empty cell always does).",
    ),
]  # fmt: skip
NoDiscretize = Annotated[
    bool,
    typer.Option("--no-discretize", rich_help_panel=DATA, help="Refuse numeric columns instead of cutting them."),
]
CodesIn = Annotated[
    Path | None,
    text(
        "--codes-in", panel=DATA, metavar="FOLDER",
        help="For tables larger than memory: --data is a Parquet file or a folder of them, read a column at a time, "
        "and its codes are kept in a new file in FOLDER, which passes read block by block.",
    ),
]  # fmt: skip
Drop = Annotated[str, text("--drop", panel=DATA, metavar="COLUMNS", help="Columns to leave out, between commas.")]
Test = Annotated[
    Path | None,
    text(
        "--test", panel=DATA, metavar="FILE",
        help="Other rows, with their classes: the accuracy on them is told, and nothing is learned from them.",
    ),
]  # fmt: skip
HoldOut = Annotated[
    float | None,
    num(
        "--hold-out", panel=DATA, metavar="SHARE",
        help="Hold out this share of the rows, class by class, and tell the accuracy on them; in (0, 1).",
    ),
]  # fmt: skip

Score = Annotated[
    str,
    typer.Option(
        "--score", "-c", parser=choices.one_of_names(choices.scores), metavar="NAME", rich_help_panel=PROBLEM,
        autocompletion=choices.completing(choices.scores),
        help="What is maximised: sm (soft margin), sbm (binary soft margin), mdl, bic, bdeu or loglik.",
    ),
]  # fmt: skip
MaxParents = Annotated[
    int, whole("--max-parents", "-k", panel=PROBLEM, help="Most parents of a node, the class counted.")
]
P = Annotated[
    float,
    num("--p", "-p", panel=PROBLEM, help="Desired posterior of the true class against a rival, in (0.5, 1)."),
]
Smoothing = Annotated[float, num("--smoothing", panel=PROBLEM, help="Pseudo-count of the parameters (1 is Laplace's).")]
Ess = Annotated[float, num("--ess", panel=PROBLEM, help="Equivalent sample size, of bdeu only.")]
Acyclicity = Annotated[
    choices.Acyclicity,
    chosen(
        choices.Acyclicity, "--acyclicity", panel=PROBLEM,
        help="Rows that forbid cycles: auto, order, order-printed (as in the paper) or cluster.",
    ),
]  # fmt: skip
ParentSets = Annotated[
    choices.ParentSets,
    chosen(
        choices.ParentSets, "--parent-sets", panel=PROBLEM,
        help="For mdl, bic, bdeu, loglik: all, or the papers' restricted ones (margin).",
    ),
]  # fmt: skip
Candidates = Annotated[
    int | None,
    whole("--candidates", panel=PROBLEM, help="Keep N candidate parents a node (a restricted class); else all."),
]
Require = Annotated[
    list[str] | None,
    text(
        "--require", panel=PROBLEM, metavar="EDGE",
        help='Edge "parent>child" that must be there (quote it); can be given again.',
    ),
]  # fmt: skip
Forbid = Annotated[
    list[str] | None,
    text(
        "--forbid", panel=PROBLEM, metavar="EDGE",
        help='Edge "parent>child" that must not be there (quote it); can be given again.',
    ),
]  # fmt: skip

Calibration = Annotated[
    str,
    text(
        "--calibration", panel=PROBLEM, metavar="NAME|NUMBER",
        help="Of the probabilities: auto (for what is trained for margins or conditional likelihood, chosen on rows "
        "held out inside), temperature (for counts too), none, or a temperature.",
    ),
]  # fmt: skip

Solver = Annotated[
    str,
    typer.Option(
        "--solver", "-s", parser=choices.solver_name, metavar="NAME", rich_help_panel=SEARCH,
        autocompletion=choices.completing(choices.solver_names_and_auto),
        help="Solver, or auto, which chooses one; mmbn-opt solvers lists them.",
    ),
]  # fmt: skip
TimeLimit = Annotated[
    float | None,
    num(
        "--time-limit", "-l", panel=SEARCH, metavar="SECONDS",
        help="Seconds for all of it, reading included; without it the search goes on to its own end.",
    ),
]  # fmt: skip
RelGap = Annotated[
    float,
    num(
        "--rel-gap", panel=SEARCH,
        help="Stop when this relative gap between the answer and the bound is proved; 0 asks for the optimum.",
    ),
]  # fmt: skip
Checkpoint = Annotated[
    Path | None,
    text(
        "--checkpoint", panel=SEARCH, metavar="FOLDER",
        help="Keep the tree of branch_and_cut here as it grows; the same command again goes on from it.",
    ),
]  # fmt: skip
Cluster = Annotated[
    str | None,
    text(
        "--cluster", panel=SEARCH, metavar="ADDRESS",
        help="Dask scheduler, like tcp://host:8786, whose workers search the tree of branch_and_cut.",
    ),
]  # fmt: skip
Threads = Annotated[int, whole("--threads", "-j", panel=SEARCH, help="Threads of the solver.")]
Seed = Annotated[int, whole("--seed", panel=SEARCH, help="Of everything that is drawn at random.")]

Out = Annotated[
    Path, text("--out", "-o", panel=OUTPUT, metavar="FOLDER", required=True, help="Folder for the results.")
]
Spreadsheet = Annotated[
    bool,
    typer.Option(
        "--spreadsheet", rich_help_panel=OUTPUT,
        help="Put an apostrophe before texts that a spreadsheet would run as formulas (=cmd, @x, -1+2, +1).",
    ),
]  # fmt: skip
Verbose = Annotated[
    int,
    typer.Option(
        "--verbose", "-v", count=True, callback=_louder, is_eager=True, rich_help_panel=OUTPUT, show_default=False,
        help="Say more on stderr: the log; -vv also what helps to find a fault, and the solver's own log.",
    ),
]  # fmt: skip
Quiet = Annotated[
    bool,
    typer.Option(
        "--quiet", "-q", callback=_quiet, is_eager=True, rich_help_panel=OUTPUT, show_default=False,
        help="Say nothing on stderr but errors: no progress, no remarks.",
    ),
]  # fmt: skip
