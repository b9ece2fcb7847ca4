"""``mmbn-opt verify``: a proof checked again from the raw table, by code that shares nothing with the search."""

from pathlib import Path
from typing import Annotated

import typer

from mmbn_opt.cli import options as opt

__all__ = ["verify"]


def verify(
    run: Annotated[Path, typer.Argument(metavar="FOLDER", help="What --checkpoint wrote, or its tree.mmbn.")],
    data: Annotated[
        Path,
        opt.text(
            "--data",
            "-d",
            panel=opt.DATA,
            metavar="FILE",
            required=True,
            help="The table that was solved: CSV (.gz).",
        ),
    ],
    na: opt.NaValues = "NA,NaN,?",
    verbose: opt.Verbose = 0,
    quiet: opt.Quiet = False,
) -> None:
    """Prove a bound again, roundings included; exit status 1 if that does not come out as the run says."""
    from mmbn_opt.cli.tables import na_values, refuse_absent
    from mmbn_opt.verification import verify

    tree = run / "tree.mmbn" if run.is_dir() else run
    refuse_absent(data)
    refuse_absent(tree)
    found = verify(tree, data, na=na_values(na))
    for line in found.lines():
        typer.echo(line)
    if not found.holds:
        raise typer.Exit(1)
