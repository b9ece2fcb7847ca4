"""``mmbn-opt export``: the program as a file for other solvers."""

from pathlib import Path
from typing import Annotated

import typer

from mmbn_opt.cli import options as opt
from mmbn_opt.exceptions import InputError

__all__ = ["export"]


def export(
    data: opt.Data,
    target: opt.Target,
    out: Annotated[Path, typer.Option("--out", help="File to write.", show_default=False)],
    format: Annotated[
        str, typer.Option("--format", help="lp, mps, nl, or jkl (local scores of decomposable scores).")
    ] = "mps",
    score: opt.Score = "sm",
    max_parents: opt.MaxParents = 2,
    p: opt.Gamma = 0.9,
    smoothing: opt.Smoothing = 1.0,
    ess: opt.Ess = 1.0,
    categorical: opt.Categorical = "",
    numeric: opt.Numeric = "",
    missing: opt.Missing = "error",
    na: opt.NaValues = "NA,NaN,?",
    drop: opt.Drop = "",
    no_discretize: opt.NoDiscretize = False,
    acyclicity: opt.Acyclicity = "auto",
    parent_sets: opt.ParentSets = "all",
    require: opt.Require = None,
    forbid: opt.Forbid = None,
    candidates: opt.Candidates = None,
) -> None:
    """Write the program of a formulation as LP, MPS or .nl, or local scores; what its columns mean as .names.json."""
    if format not in ("lp", "mps", "nl", "jkl"):
        raise InputError(f"--format must be lp, mps, nl or jkl for structure programs, got {format!r}.")
    preparation = opt.make_preparation(data, target, categorical, numeric, missing, na, no_discretize, drop)
    formulation = opt.make_formulation(
        preparation.data, score=score, max_parents=max_parents, p=p, smoothing=smoothing, ess=ess,
        acyclicity=acyclicity, parent_sets=parent_sets, require=require, forbid=forbid, candidates=candidates,
    )  # fmt: skip
    from mmbn_opt.interop.name_map import ENDING
    from mmbn_opt.interop.programs import write_local_scores, write_program

    if format == "jkl":
        write_local_scores(formulation, out)
    else:
        size = write_program(formulation, out, file_format=format).size
        typer.echo(
            f"{size.columns:,} columns, {size.integers:,} integers, {size.rows:,} rows, {size.nonzeros:,} non-zeros"
        )
        typer.echo(f"what the columns stand for: {out.name}{ENDING}")
    typer.echo(f"written: {out}" + (f", {out.with_suffix('.col').name}" if format == "nl" else ""))
