"""``mmbn-opt export``: the program as a file for other solvers."""

from pathlib import Path
from typing import Annotated

import typer

from mmbn_opt.cli import choices
from mmbn_opt.cli import options as opt

__all__ = ["export"]


def export(
    data: opt.Data,
    target: opt.Target,
    out: Annotated[
        Path,
        typer.Option(
            "--out", "-o", metavar="FILE", rich_help_panel=opt.OUTPUT, show_default=False, help="File to write."
        ),
    ],
    format: Annotated[
        choices.FileFormat,
        opt.chosen(
            choices.FileFormat,
            "--format",
            "-f",
            panel=opt.OUTPUT,
            help="lp, mps, nl, mof (MathOptFormat, for JuMP), or jkl (local scores, of mdl, bic, bdeu and loglik).",
        ),
    ] = choices.FileFormat.MPS,
    score: opt.Score = "sm",
    max_parents: opt.MaxParents = 2,
    p: opt.P = 0.9,
    smoothing: opt.Smoothing = 1.0,
    ess: opt.Ess = 1.0,
    categorical: opt.Categorical = "",
    numeric: opt.Numeric = "",
    missing: opt.Missing = choices.Missing.ERROR,
    na: opt.NaValues = "NA,NaN,?",
    drop: opt.Drop = "",
    no_discretize: opt.NoDiscretize = False,
    acyclicity: opt.Acyclicity = choices.Acyclicity.AUTO,
    parent_sets: opt.ParentSets = choices.ParentSets.ALL,
    candidates: opt.Candidates = None,
    require: opt.Require = None,
    forbid: opt.Forbid = None,
    verbose: opt.Verbose = 0,
    quiet: opt.Quiet = False,
) -> None:
    """Write a structure problem for other solvers: LP, MPS, .nl (with .names.json beside it), MathOptFormat, .jkl."""
    from mmbn_opt.cli.problems import Problem
    from mmbn_opt.cli.tables import Table, kinds_of, prepared
    from mmbn_opt.interop.atomic import refuse_unwritable
    from mmbn_opt.interop.name_map import ENDING
    from mmbn_opt.interop.programs import refuse_no_local_scores, write_local_scores, write_program

    problem = Problem(score, max_parents, p, smoothing, ess, acyclicity, parent_sets, require, forbid, candidates)
    tried = problem.tried()
    if format is choices.FileFormat.JKL:
        refuse_no_local_scores(tried)
    kinds = kinds_of(categorical, numeric)
    table = Table(data, target, na, drop)
    refuse_unwritable(out)
    preparation = prepared(table.read().learned, target, kinds, missing, no_discretize)
    formulation = problem.formulation(preparation.data)
    if format is choices.FileFormat.JKL:
        write_local_scores(formulation, out)
    elif format is choices.FileFormat.MOF:
        formulation.to_mof(out)
    else:
        size = write_program(formulation, out, file_format=format.value).size
        typer.echo(
            f"{size.columns:,} columns, {size.integers:,} integers, {size.rows:,} rows, {size.nonzeros:,} non-zeros"
        )
        typer.echo(f"what the columns stand for: {out.name}{ENDING}")
    beside = f", {out.with_suffix('.col').name}" if format is choices.FileFormat.NL else ""
    typer.echo(f"written: {out}{beside}")
