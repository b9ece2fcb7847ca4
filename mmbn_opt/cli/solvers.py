"""``mmbn-opt solvers``: what is installed and what each solver accepts."""

import typer

from mmbn_opt.cli import options as opt

__all__ = ["solvers"]


def solvers(verbose: opt.Verbose = 0, quiet: opt.Quiet = False) -> None:
    """List the solvers: version, licence, what they accept, why one is not available."""
    from mmbn_opt.solving.auto import AUTO_RULES
    from mmbn_opt.solving.dispatch import solvers as table

    rows = list(table().itertuples())
    width = max(len(str(row.name)) for row in rows)
    for row in rows:
        state = f"{row.version}" if row.available else "not available"
        typer.echo(f"{row.name:<{width}}  {row.title}, {state}; {row.licence}")
        typer.echo(f"{'':<{width}}  accepts: {row.accepts}")
        if not row.available:
            typer.echo(f"{'':<{width}}  {row.reason}")
    typer.echo("auto chooses the first line that fits:")
    for rule in AUTO_RULES:
        typer.echo(f"  {rule.solver:<{width}}  {rule.kind}, {rule.condition}")
