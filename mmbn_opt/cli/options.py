"""Options that several commands share, and what they make."""

from pathlib import Path
from typing import Annotated, Any

import typer

from mmbn_opt.exceptions import InputError

__all__ = [
    "Acyclicity",
    "Candidates",
    "Categorical",
    "Data",
    "Drop",
    "Ess",
    "Forbid",
    "Gamma",
    "MaxParents",
    "Missing",
    "NaValues",
    "NoDiscretize",
    "Numeric",
    "ParentSets",
    "Require",
    "Score",
    "Smoothing",
    "Spreadsheet",
    "Target",
    "make_formulation",
    "make_preparation",
    "na_values",
    "names_in",
    "read",
]

Data = Annotated[Path, typer.Option("--data", help="CSV (.gz), Parquet or ARFF file.", show_default=False)]
Target = Annotated[str, typer.Option("--target", help="Name of the class column.", show_default=False)]
Score = Annotated[str, typer.Option("--score", help="sm, sbm, mdl, bic, bdeu or loglik.")]
MaxParents = Annotated[int, typer.Option("--max-parents", help="Most parents of a node, the class counted.")]
Gamma = Annotated[float, typer.Option("--p", help="Desired posterior of the true class against a rival, in (0.5, 1).")]
Smoothing = Annotated[float, typer.Option("--smoothing", help="Pseudo-count of the parameters (1 is Laplace's).")]
Ess = Annotated[float, typer.Option("--ess", help="Equivalent sample size of bdeu.")]
Categorical = Annotated[str, typer.Option("--categorical", help="Columns to take as they are, separated by commas.")]
Numeric = Annotated[str, typer.Option("--numeric", help="Columns to discretize by MDLP, separated by commas.")]
Missing = Annotated[str, typer.Option("--missing", help="Missing cells: error, drop (their rows) or state.")]
NaValues = Annotated[
    str, typer.Option("--na", help="Cell texts that mean missing, separated by commas (an empty cell always does).")
]
NoDiscretize = Annotated[bool, typer.Option("--no-discretize", help="Refuse numeric columns instead of cutting them.")]
Drop = Annotated[str, typer.Option("--drop", help="Columns to leave out, separated by commas.")]
Acyclicity = Annotated[str, typer.Option("--acyclicity", help="auto, order, order-printed or cluster.")]
ParentSets = Annotated[
    str, typer.Option("--parent-sets", help="For decomposable scores: all, or the papers' restricted ones (margin).")
]
Candidates = Annotated[
    int | None,
    typer.Option("--candidates", help="Keep K candidate parents a node (a restricted class); all without it."),
]
Require = Annotated[
    list[str] | None, typer.Option("--require", help='Edge "parent>child" that must be there; repeatable.')
]
Forbid = Annotated[
    list[str] | None, typer.Option("--forbid", help='Edge "parent>child" that must not be there; repeatable.')
]

Spreadsheet = Annotated[
    bool,
    typer.Option(
        "--spreadsheet",
        help="Put an apostrophe before texts that a spreadsheet would run as formulas (=cmd, @x, -1+2, +1).",
    ),
]


def make_preparation(
    data: Path, target: str, categorical: str, numeric: str, missing: str, na: str, no_discretize: bool, drop: str
) -> Any:
    """Read and prepare a table."""
    from mmbn_opt.data.preparation import Kind, prepare
    from mmbn_opt.interop.writable import refuse_unwritable

    if missing not in ("error", "drop", "state"):
        raise InputError(f"--missing must be error, drop or state, got {missing!r}.")
    kinds: dict[str, Kind] = dict.fromkeys(names_in(categorical), "categorical")
    for name in names_in(numeric):
        if name in kinds:
            raise InputError(f"Column {name!r} is named by both --categorical and --numeric.")
        kinds[name] = "numeric"
    frame = read(data, target, na, drop)
    made = prepare(frame, target, kinds=kinds, missing=missing, discretize=not no_discretize)  # type: ignore[arg-type]
    refuse_unwritable((*made.data.features, made.data.target))
    return made


def read(data: Path, target: str, na: str, drop: str) -> Any:
    """The table without the columns to leave out; the class column must stay."""
    from mmbn_opt.data.columns import left_out
    from mmbn_opt.data.readers import read_table

    return left_out(read_table(data, na_values=na_values(na)), names_in(drop), target)


def na_values(text: str) -> tuple[str, ...]:
    """Cell texts that mean missing; an empty cell always does."""
    return ("", *names_in(text))


def make_formulation(
    dataset: Any,
    *,
    score: str,
    max_parents: int,
    p: float,
    smoothing: float,
    ess: float,
    acyclicity: str,
    parent_sets: str,
    require: list[str] | None,
    forbid: list[str] | None,
    candidates: int | None = None,
) -> Any:
    """Formulation of the ``structure`` and ``export`` commands."""
    from mmbn_opt.formulations.structure.by_score import SCORES, score_names, structure_formulation
    from mmbn_opt.heuristics import restrict_candidates

    if score not in SCORES:
        raise InputError(f"--score must be {score_names()}, got {score!r}.")
    shared: dict[str, Any] = {
        "max_parents": max_parents,
        "smoothing": smoothing,
        "acyclicity": acyclicity,
        "required_edges": _edges("--require", require),
        "forbidden_edges": _edges("--forbid", forbid),
        "restriction": None if candidates is None else restrict_candidates(dataset, candidates),
    }
    return structure_formulation(score, dataset, p=p, ess=ess, parent_sets=parent_sets, **shared)


def names_in(text: str) -> list[str]:
    """Names that are separated by commas."""
    return [name.strip() for name in text.split(",") if name.strip()]


def _edges(option: str, texts: list[str] | None) -> tuple[tuple[str, str], ...]:
    edges = []
    for text in texts or ():
        parent, arrow, child = text.partition(">")
        if not (parent.strip() and arrow and child.strip()):
            raise InputError(f'{option} needs "parent>child", got {text!r}.')
        edges.append((parent.strip(), child.strip()))
    return tuple(edges)
